#pragma once
/// \file hinted_batches.hpp
/// Batches that a sampler samples before they are requested. Knows no actors.
#include "runtime/feature/batch_trace.hpp"
#include "runtime/feature/ready_batch.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>

namespace troupe {

struct HintedBatchesOptions {
  std::size_t most = 32;  ///< Batches that are hinted at and not yet requested
  /// Bytes of those that are sampled, each that is under way as large as the largest so far. 0: not
  /// bounded. One batch passes whatever its size.
  std::uint64_t most_bytes = 0;
};

/// A batch that was sampled before its request came.
struct HintedBatch {
  std::shared_ptr<const SampledBatch> sampled;
  BatchTrace trace;
};

/// Samples on hints, keeps what is sampled until its request comes. Nothing depends on it: a batch that
/// is not here is sampled when it is requested. All hints are sampled at once as far as bytes allow: where
/// the data path is what a rank waits for, requests would otherwise come as early as their hints are
/// sampled, and nothing would be known ahead.
/// Lifecycle: add() hints; begin() until it gives nothing, keep() or drop() each batch that it gave;
///   take() with each request
/// Threads:   one at a time
/// Guarantees: requests come in the order of turns: those that come after them were forgotten by whoever
///   hinted at them, and are dropped here
class HintedBatches {
 public:
  using Hint = std::shared_ptr<const SampleBatch>;

  explicit HintedBatches(HintedBatchesOptions options) : options_(options) {}

  /// One that is not in order, that is known, or that is one too many is dropped.
  void add(Hint hint);
  /// The next batch to sample; null while there is none, or no room.
  Hint begin();
  /// One that begin() gave is sampled.
  /// \returns whether it waits for its request now; else it is not wanted
  bool keep(const SampleBatch& hint, HintedBatch batch);
  /// One that begin() gave is not sampled.
  void drop(const SampleBatch& hint);

  enum class Found : std::uint8_t { nothing, under_way, whole };
  struct Taken {
    Found found = Found::nothing;
    HintedBatch batch = {};  ///< If whole
    Hint hint = nullptr;     ///< If under way
  };
  /// What is here of a batch that is requested. It is no longer kept; one that is under way is not
  /// wanted by keep() any more.
  Taken take(const SampleBatch& request);

  std::size_t batches() const { return batches_.size(); }
  std::uint64_t kept_bytes() const { return kept_bytes_; }

 private:
  struct Ahead {
    Hint hint;
    bool under_way = false;
    std::optional<HintedBatch> whole = std::nullopt;
    std::uint64_t bytes = 0;
  };
  using Batches = std::map<Turn, Ahead>;

  Batches::iterator find(const SampleBatch& hint);
  Batches::iterator erase(Batches::iterator at);
  bool has_room() const;

  HintedBatchesOptions options_;
  Batches batches_;
  std::size_t under_way_ = 0;  ///< Also of batches that are no longer wanted
  std::uint64_t kept_bytes_ = 0;
  std::uint64_t largest_ = 0;
};

}  // namespace troupe
