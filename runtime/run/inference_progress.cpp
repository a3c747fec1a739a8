#include "runtime/run/inference_progress.hpp"

#include <algorithm>

namespace troupe {
namespace {

double share_of(const InferenceReport& report) {
  return report.total == 0 ? 1.0
                           : static_cast<double>(std::min(report.done, report.total)) /
                                 static_cast<double>(report.total);
}

}  // namespace

std::uint64_t inference_work(const nn::InferStage& stage, std::uint64_t in_cols,
                             std::uint64_t out_cols, std::uint64_t nodes, std::uint64_t edges) {
  constexpr std::uint64_t per_edge = 20;           // sampling and numbering
  constexpr std::uint64_t products_per_work = 12;  // of one node's row with two matrices
  const std::uint64_t row = stage.neighbor_rows ? in_cols : 0;
  return edges * (per_edge + row) + nodes * (in_cols + in_cols * out_cols / products_per_work);
}

void InferenceProgress::report(const InferenceReport& report, double now) {
  const auto before = processes_.find(report.process);
  if (before != processes_.end() && report.done < before->second.done) {
    processes_.clear();
  }
  const bool first = processes_.empty();
  processes_.insert_or_assign(report.process, report);
  if (first) {
    began_ = now;
    share_at_begin_ = share_of(report);
  }
}

std::optional<InferenceProgress::State> InferenceProgress::state(double now) const {
  const auto slowest = std::ranges::min_element(
      processes_, {}, [](const auto& process) { return share_of(process.second); });
  if (slowest == processes_.end()) {
    return std::nullopt;
  }
  const auto share = share_of(slowest->second);
  if (share >= 1) {
    return std::nullopt;
  }
  State state{slowest->second.layer, slowest->second.layers, share, now - began_, std::nullopt};
  if (const auto gained = share - share_at_begin_; gained > 0) {
    state.left = state.seconds * (1 - share) / gained;
  }
  return state;
}

}  // namespace troupe
