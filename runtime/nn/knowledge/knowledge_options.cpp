#include "runtime/nn/knowledge/knowledge_options.hpp"

#include <numbers>

namespace troupe::nn {

float relation_bound(const TripleScore& score, double margin, std::uint64_t cols) {
  if (score.row().angles) {
    return std::numbers::pi_v<float>;
  }
  if (score.comparison() == Comparison::product) {
    return 0.1F;
  }
  return static_cast<float>((margin + 2) / static_cast<double>(cols));
}

}  // namespace troupe::nn
