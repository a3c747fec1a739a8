#include "runtime/nn/ops/pair_scores.hpp"

#include "runtime/base/assert.hpp"
#include "runtime/nn/ops/by_row.hpp"
#include "runtime/nn/ops/linear.hpp"
#include "runtime/nn/ops/row_kernels.hpp"

#include <algorithm>
#include <functional>
#include <vector>

namespace troupe::nn {
namespace {

void check_pairs(const RowPairs& pairs, ConstMatrix relations, ConstMatrix scores) {
  const std::size_t cols = pairs.sources.cols;
  const bool related = relations.data != nullptr;
  TROUPE_ASSERT(pairs.destinations.cols == cols && pairs.to.size() == pairs.size() &&
                    scores.rows == pairs.size() && scores.cols == (related ? relations.rows : 1) &&
                    (!related || relations.cols == cols),
                "pairs of rows", cols, pairs.destinations.cols, pairs.size(), pairs.to.size(),
                scores.rows, scores.cols, relations.rows, relations.cols);
}

/// sum of a[c] * b[c] * r[c]
float product_of_three(const float* a, const float* r, const float* b, std::size_t cols,
                       std::vector<float>& scratch) {
  scratch.resize(cols);
  for (std::size_t c = 0; c < cols; ++c) {
    scratch[c] = a[c] * r[c];
  }
  return dot_row(scratch.data(), b, cols);
}

/// One end of the pairs, and where its gradient goes.
struct End {
  std::span<const std::uint32_t> row_of;
  ConstMatrix others;
  std::span<const std::uint32_t> other_of;
  MutMatrix to;
};

void add_end(Executor& executor, const End& end, ConstMatrix relations, ConstMatrix grad) {
  const ByRow<std::size_t> by_row(end.row_of, end.to.rows);
  const std::size_t cols = end.to.cols;
  for_each_chunk(executor, end.to.rows, [&](std::size_t first, std::size_t count) {
    std::vector<float> mixed(cols);
    for (std::size_t row = first; row < first + count; ++row) {
      float* const to = end.to.row(row).data();
      for (std::size_t i = by_row.offsets[row]; i < by_row.offsets[row + 1]; ++i) {
        const std::uint32_t pair = by_row.list[i];
        const float* const other = end.others.row(end.other_of[pair]).data();
        if (relations.data == nullptr) {
          add_scaled_row(other, grad.row(pair)[0], to, cols);
          continue;
        }
        std::ranges::fill(mixed, 0.0F);
        for (std::size_t r = 0; r < relations.rows; ++r) {
          add_scaled_row(relations.row(r).data(), grad.row(pair)[r], mixed.data(), cols);
        }
        for (std::size_t c = 0; c < cols; ++c) {
          to[c] += mixed[c] * other[c];
        }
      }
    }
  });
}

void add_relations(Executor& executor, const RowPairs& pairs, ConstMatrix grad, MutMatrix to) {
  std::vector<std::vector<float>> sums(chunk_count(pairs.size()));
  for_each_chunk(executor, pairs.size(), [&](std::size_t first, std::size_t count) {
    auto& sum = sums[first / chunk_rows];
    sum.resize(to.size());
    std::vector<float> product(to.cols);
    for (std::size_t pair = first; pair < first + count; ++pair) {
      const auto a = pairs.sources.row(pairs.of[pair]);
      const auto b = pairs.destinations.row(pairs.to[pair]);
      std::ranges::transform(a, b, product.begin(), std::multiplies<>());
      for (std::size_t r = 0; r < to.rows; ++r) {
        add_scaled_row(product.data(), grad.row(pair)[r], sum.data() + r * to.cols, to.cols);
      }
    }
  });
  for (const auto& sum : sums) {
    std::ranges::transform(to.flat(), sum, to.data, std::plus<>());
  }
}

}  // namespace

void pair_scores(Executor& executor, const RowPairs& pairs, ConstMatrix relations,
                 MutMatrix scores) {
  check_pairs(pairs, relations, scores);
  const std::size_t cols = pairs.sources.cols;
  for_each_chunk(executor, pairs.size(), [&](std::size_t first, std::size_t count) {
    std::vector<float> scratch;
    for (std::size_t pair = first; pair < first + count; ++pair) {
      const float* const a = pairs.sources.row(pairs.of[pair]).data();
      const float* const b = pairs.destinations.row(pairs.to[pair]).data();
      const auto to = scores.row(pair);
      if (relations.data == nullptr) {
        to[0] = dot_row(a, b, cols);
        continue;
      }
      for (std::size_t r = 0; r < relations.rows; ++r) {
        to[r] = product_of_three(a, relations.row(r).data(), b, cols, scratch);
      }
    }
  });
}

void pair_scores_gradient(Executor& executor, const RowPairs& pairs, ConstMatrix relations,
                          ConstMatrix grad, const PairGradients& to) {
  check_pairs(pairs, relations, grad);
  add_end(executor, {pairs.of, pairs.destinations, pairs.to, to.sources}, relations, grad);
  add_end(executor, {pairs.to, pairs.sources, pairs.of, to.destinations}, relations, grad);
  if (relations.data != nullptr) {
    add_relations(executor, pairs, grad, to.relations);
  }
}

}  // namespace troupe::nn
