#include "runtime/nn/ops/aggregate.hpp"

#include "runtime/base/hot.hpp"
#include "runtime/nn/ops/row_kernels.hpp"
#include "runtime/nn/ops/rows_ahead.hpp"

#include <algorithm>

namespace troupe::nn {
namespace {

void add_row(const float* __restrict in, float* __restrict out, std::size_t cols) {
  for (std::size_t c = 0; c < cols; ++c) {
    out[c] += in[c];
  }
}

void max_row(const float* __restrict in, std::uint32_t edge, float* __restrict out,
             std::uint32_t* __restrict argmax, std::size_t cols) {
  for (std::size_t c = 0; c < cols; ++c) {
    const bool better = in[c] > out[c];
    out[c] = better ? in[c] : out[c];
    argmax[c] = better ? edge : argmax[c];
  }
}

void max_row(const float* __restrict in, float* __restrict out, std::size_t cols) {
  for (std::size_t c = 0; c < cols; ++c) {
    out[c] = in[c] > out[c] ? in[c] : out[c];
  }
}

/// Passes on the elements that came from `edge`.
void add_chosen_row(const float* __restrict grad, const std::uint32_t* __restrict argmax,
                    std::uint32_t edge, float* __restrict out, std::size_t cols) {
  for (std::size_t c = 0; c < cols; ++c) {
    out[c] += argmax[c] == edge ? grad[c] : 0.0F;
  }
}

const float* source_row(const LayerBlock& block, std::uint32_t edge, ConstMatrix x) {
  const std::uint32_t source = block.sources[edge];
  TROUPE_ASSERT(source < block.num_src, "edge outside its block", edge, source, block.num_src);
  return x.data + source * x.cols;
}

/// max of one destination; [begin, end) is not empty.
/// \param last  behind the edges of all destinations that follow
void aggregate_max(const LayerBlock& block, std::uint32_t begin, std::uint32_t end,
                   std::uint32_t last, ConstMatrix x, float* out, std::uint32_t* argmax) {
  std::copy_n(source_row(block, begin, x), x.cols, out);
  if (argmax == nullptr) {
    for (std::uint32_t e = begin + 1; e < end; ++e) {
      prefetch_row_ahead(block.sources, e, last, x);
      max_row(source_row(block, e, x), out, x.cols);
    }
    return;
  }
  std::fill_n(argmax, x.cols, begin);
  for (std::uint32_t e = begin + 1; e < end; ++e) {
    prefetch_row_ahead(block.sources, e, last, x);
    max_row(source_row(block, e, x), e, out, argmax, x.cols);
  }
}

}  // namespace

TROUPE_HOT void aggregate_rows(Aggregator aggregator, const LayerBlock& block, std::size_t first,
                               ConstMatrix x, MutMatrix out, std::span<std::uint32_t> argmax) {
  TROUPE_ASSERT(first + out.rows <= block.num_dst && block.num_src <= x.rows && out.cols == x.cols,
                "aggregate_rows", first, out.rows, block.num_dst, block.num_src, x.rows, x.cols,
                out.cols);
  const std::size_t cols = x.cols;
  const std::uint32_t last = block.offsets[first + out.rows];
  for (std::size_t r = 0; r < out.rows; ++r) {
    const std::uint32_t begin = block.offsets[first + r];
    const std::uint32_t end = block.offsets[first + r + 1];
    float* row = out.row(r).data();
    std::uint32_t* arg = argmax.empty() ? nullptr : argmax.data() + r * cols;
    if (begin == end) {
      std::fill_n(row, cols, 0.0F);
      if (arg != nullptr) {
        std::fill_n(arg, cols, no_edge);
      }
      continue;
    }
    prefetch_row_ahead(block.sources, begin, last, x);
    if (aggregator == Aggregator::max) {
      aggregate_max(block, begin, end, last, x, row, arg);
      continue;
    }
    std::copy_n(source_row(block, begin, x), cols, row);
    for (std::uint32_t e = begin + 1; e < end; ++e) {
      prefetch_row_ahead(block.sources, e, last, x);
      add_row(source_row(block, e, x), row, cols);
    }
    if (aggregator == Aggregator::mean && end - begin > 1) {
      scale_row(1.0F / static_cast<float>(end - begin), row, cols);
    }
  }
}

EdgesBySource::Lists EdgesBySource::prepare(const LayerBlock& block) {
  const std::size_t edges = block.num_edges();
  offsets_ = offset_memory_.get(std::size_t{block.num_src} + 1);
  destinations_ = destination_memory_.get(edges);
  edges_ = edge_memory_.get(edges);
  inverse_degree_ = inverse_memory_.get(block.num_dst);
  return {offsets_, destinations_, edges_, inverse_degree_};
}

void EdgesBySource::build(const LayerBlock& block) {
  const std::uint32_t begin = block.offsets[0];
  const std::uint32_t end = block.offsets[block.num_dst];
  prepare(block);
  // Counts at [source + 1], then their running sum; placing edges moves each start to its end,
  // which is the next start.
  std::ranges::fill(offsets_, 0U);
  for (std::uint32_t e = begin; e < end; ++e) {
    const std::uint32_t source = block.sources[e];
    TROUPE_ASSERT(source < block.num_src, "edge outside its block", e, source, block.num_src);
    ++offsets_[source + 1];
  }
  for (std::size_t s = 0; s < block.num_src; ++s) {
    offsets_[s + 1] += offsets_[s];
  }
  for (std::uint32_t d = 0; d < block.num_dst; ++d) {
    const std::uint32_t degree = block.offsets[d + 1] - block.offsets[d];
    inverse_degree_[d] = degree == 0 ? 0.0F : 1.0F / static_cast<float>(degree);
    for (std::uint32_t e = block.offsets[d]; e < block.offsets[d + 1]; ++e) {
      const std::uint32_t place = offsets_[block.sources[e]]++;
      destinations_[place] = d;
      edges_[place] = e;
    }
  }
  std::ranges::copy_backward(offsets_.first(block.num_src), offsets_.end());
  offsets_[0] = 0;
}

TROUPE_HOT void aggregate_backward_rows(Aggregator aggregator, const EdgesBySource& by_source,
                                        std::size_t first, ConstMatrix grad_out,
                                        std::span<const std::uint32_t> argmax, MutMatrix grad_x) {
  const std::size_t cols = grad_out.cols;
  TROUPE_ASSERT(first + grad_x.rows <= by_source.num_src() && grad_x.cols == cols &&
                    (aggregator != Aggregator::max || argmax.size() == grad_out.size()),
                "aggregate_backward_rows", first, grad_x.rows, by_source.num_src(), grad_x.cols,
                cols, argmax.size(), grad_out.size());
  const std::uint32_t last = by_source.offsets()[first + grad_x.rows];
  for (std::size_t r = 0; r < grad_x.rows; ++r) {
    float* row = grad_x.row(r).data();
    std::fill_n(row, cols, 0.0F);
    const std::uint32_t end = by_source.offsets()[first + r + 1];
    for (std::uint32_t i = by_source.offsets()[first + r]; i < end; ++i) {
      prefetch_row_ahead(by_source.destinations(), i, last, grad_out);
      const std::size_t d = by_source.destinations()[i];
      const float* grad = grad_out.data + d * cols;
      if (aggregator == Aggregator::mean) {
        add_scaled_row(grad, by_source.inverse_degree()[d], row, cols);
      } else if (aggregator == Aggregator::sum) {
        add_row(grad, row, cols);
      } else {
        add_chosen_row(grad, argmax.data() + d * cols, by_source.edges()[i], row, cols);
      }
    }
  }
}

}  // namespace troupe::nn
