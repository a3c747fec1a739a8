#pragma once
/// \file inference_progress.hpp
/// Progress of exact inference: what an evaluator reports after each block, and the share done and the
/// time left of all evaluators together.
#include "runtime/base/ids.hpp"
#include "runtime/nn/network.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <span>

namespace troupe {

/// State of one process' exact inference, after a block. Work counts over all layers.
struct InferenceReport {
  ProcessId process{};
  std::uint32_t layer = 0;  ///< Layer that the block belongs to, from 0
  std::uint32_t layers = 0;
  std::uint64_t done = 0;   ///< Work that is done, as inference_work counts it; at most `total`
  std::uint64_t total = 0;  ///< Work of all layers
};

/// Work of one stage for `nodes` nodes of an output's type with `edges` edges, roughly in
/// nanoseconds of a core: the reading of rows along edges, and the matrix products. Only ratios
/// matter.
/// \param in_cols  of the rows it reads
std::uint64_t inference_work(const nn::InferStage& stage, std::uint64_t in_cols,
                             std::uint64_t out_cols, std::uint64_t nodes, std::uint64_t edges);

/// Adds up the reports of all processes. The slowest one counts, because all wait for it between layers.
class InferenceProgress {
 public:
  struct State {
    std::uint32_t layer = 0;  ///< Layer of the slowest process, from 0
    std::uint32_t layers = 0;
    double share = 0;            ///< Share of the work of all layers that is done, 0..1
    double seconds = 0;          ///< Time since the first report of this inference
    std::optional<double> left;  ///< Expected seconds; nothing: not known yet
  };

  /// A report of less work than before begins the next inference.
  /// \param now  seconds on a clock that does not go back
  void report(const InferenceReport& report, double now);
  /// Ends the inference under way, for example because its scores are there.
  void end() { processes_.clear(); }
  /// Nothing: no inference is under way.
  std::optional<State> state(double now) const;

 private:
  std::map<ProcessId, InferenceReport> processes_;
  double began_ = 0;
  double share_at_begin_ = 0;
};

}  // namespace troupe
