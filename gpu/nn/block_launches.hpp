#pragma once
/// \file block_launches.hpp
/// What block operations on a device launch: for device_block_ops.hpp only.
#include "gpu/base/array.hpp"
#include "gpu/nn/attention_bodies.hpp"
#include "gpu/nn/batch_norm_bodies.hpp"
#include "gpu/nn/pair_attention_stage.hpp"
#include "gpu/nn/parameter_bodies.hpp"
#include "gpu/nn/row_bodies.hpp"
#include "gpu/nn/sum_bodies.hpp"
#include "runtime/nn/ops/block_ops.hpp"
#include "runtime/nn/ops/linear.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace troupe::gpu {

/// A stream and its products, with the steps that operations share.
template <class Stream, class Products>
class BlockLaunches {
 public:
  BlockLaunches(Stream stream, Products products)
      : stream_(std::move(stream)), products_(std::move(products)) {}

 protected:
  static Edges edges_of(const LayerBlock& block) {
    return {block.offsets.data(), block.sources.data()};
  }
  static OutEdges out_edges_of(const nn::EdgesBySource& lists) {
    return {lists.offsets().data(), lists.destinations().data(), lists.edges().data(),
            lists.inverse_degree().data()};
  }
  static Factors factors_of(const nn::EdgeFactors& factors) {
    const auto data = [](std::span<const float> values) {
      return values.empty() ? nullptr : values.data();
    };
    return {data(factors.source), data(factors.destination), data(factors.edge), factors.one_loop};
  }
  static Attending shape_of(const nn::AttentionShape& shape) {
    return {edges_of(*shape.block), shape.block->num_dst, shape.edges(), shape.heads,
            shape.one_loop};
  }
  static HeadColumns heads_of(const nn::AttentionShape& shape, std::size_t source_cols,
                              std::size_t out_cols) {
    const std::size_t columns = source_cols / shape.heads;
    const bool mean = shape.heads > 1 && out_cols == columns;
    return {shape.heads, columns, mean, mean ? 1.0F / static_cast<float>(shape.heads) : 1.0F};
  }

  static const float* weights_of(const LayerBlock& block) {
    return block.weights.empty() ? nullptr : block.weights.data();
  }
  static Pairs pairs_of(const nn::PairAttention& part) {
    return {shape_of(part.shape),
            part.score == nn::PairScore::dynamic,
            part.slope,
            part.scale,
            part.columns(),
            part.source.data,
            part.destination.data,
            part.vectors.data,
            part.weights.data,
            part.edges.data};
  }
  static std::vector<Pairs> all_pairs_of(std::span<const nn::PairAttention> parts) {
    std::vector<Pairs> pairs;
    for (const nn::PairAttention& part : parts) {
      pairs.push_back(pairs_of(part));
    }
    return pairs;
  }
  static Normalizing normalizing(const nn::BatchNorm& norm) {
    return {norm.x.data,      norm.x.rows,      norm.x.cols,          norm.gain.data(),
            norm.bias.data(), norm.mean.data(), norm.variance.data(), norm.training};
  }
  void batch_statistics(const nn::BatchNorm& norm) {
    const std::size_t cols = norm.x.cols;
    if (norm.x.rows == 0) {
      stream_.zero(norm.mean.data(), norm.mean.size_bytes());
      stream_.for_each(cols, FillElement{1.0F, norm.variance.data()});
      return;
    }
    const std::size_t chunks = nn::chunk_count(norm.x.rows);
    const auto partials = stream_.template array<float>(chunks * cols);
    const auto average = [&](std::span<float> out) {
      add_partials(partials.data(), chunks, out);
      stream_.for_each(cols, DivideElement{static_cast<float>(norm.x.rows), out.data()});
    };
    stream_.for_rows(
        chunks, cols,
        ColumnSums{norm.x.data, norm.x.rows, cols, nn::chunk_rows, cols, partials.data()});
    average(norm.mean);
    stream_.for_rows(chunks, cols,
                     ColumnSquares{normalizing(norm), nn::chunk_rows, partials.data()});
    average(norm.variance);
  }
  /// Products by head. \param backward  of gradients, to those of the rows before the products
  void put_head_products(ConstMatrix x, ConstMatrix weights, MutMatrix y, bool add, bool backward) {
    const std::size_t columns = weights.cols;
    const auto in = stream_.template array<float>(y.rows * columns);
    const auto out = stream_.template array<float>(y.rows * columns);
    for (std::size_t h = 0; h < x.cols / columns; ++h) {
      stream_.for_rows(y.rows, columns, TakeHead{x.data, x.cols, columns, h, in.data()});
      const ConstMatrix of_head{in.data(), y.rows, columns};
      const ConstMatrix weight = weights.slice(h * columns, columns);
      const MutMatrix to{out.data(), y.rows, columns};
      if (backward) {
        products_.backward(stream_, of_head, weight, to, false);
      } else {
        products_.forward(stream_, of_head, weight, to, false);
      }
      stream_.for_rows(y.rows, columns, PutHead{out.data(), y.cols, columns, h, y.data, add});
    }
  }

  void add_partials(const float* partials, std::size_t chunks, std::span<float> sums) {
    stream_.for_rows(1, sums.size(),
                     ColumnSums{partials, chunks, sums.size(), std::max<std::size_t>(chunks, 1),
                                sums.size(), sums.data()});
  }

  void drop_rows(ConstMatrix x, const nn::DropoutMask& mask, std::span<const OriginalId> ids,
                 MutMatrix out) {
    if (mask.active()) {
      stream_.for_rows(
          out.rows, out.cols,
          Drop{mask.key.words, mask.p, mask.scale, ids.data(), out.cols, x.data, out.data});
    } else if (x.data != out.data) {
      stream_.copy(x.data, out.data, x.size() * sizeof(float));
    }
  }

  void put_rows(const float* in, MutMatrix out, bool add) {
    stream_.for_each(out.size(), PutElement{in, out.data, add});
  }
  void put_scaled(const nn::Path& path, const float* in, std::size_t first, MutMatrix out,
                  bool add) {
    const float* const scale = path.scale.empty() ? nullptr : path.scale.data() + first;
    stream_.for_rows(
        out.rows, out.cols,
        PutScaled{in, scale, path.factor, path.factor_parameter, out.cols, out.data, add});
  }

  void sum_in_edges(const nn::TermWork& term, MutMatrix out) {
    const nn::Path& path = term.path;
    const Edges block = edges_of(*path.block);
    const float* const x = term.source.data;
    if (path.reach == nn::Reach::weighted_sum) {
      stream_.for_rows(out.rows, out.cols,
                       WeightedInEdges{block, factors_of(path.factors), x, out.cols, out.data});
    } else if (path.reach == nn::Reach::attend) {
      stream_.for_rows(
          out.rows, out.cols,
          Attend{shape_of(path.attention), heads_of(path.attention, term.source.cols, out.cols),
                 path.weights.data, x, out.data});
    } else if (path.aggregator == nn::Aggregator::max) {
      std::uint32_t* const argmax = term.argmax.empty() ? nullptr : term.argmax.data();
      stream_.for_rows(out.rows, out.cols, MaxInEdges{block, x, out.cols, out.data, argmax});
    } else {
      const bool mean = path.aggregator == nn::Aggregator::mean;
      stream_.for_rows(out.rows, out.cols, SumInEdges{block, x, out.cols, mean, out.data});
    }
  }

  void add_term(const nn::TermWork& term, MutMatrix rows, bool add) {
    const bool product = term.weight.data != nullptr;
    if (term.path.reach == nn::Reach::own) {
      if (product) {
        products_.forward(stream_, term.source.slice(0, rows.rows), term.weight, rows, add);
      } else {
        put_scaled(term.path, term.source.data, 0, rows, add);
      }
      return;
    }
    if (term.summed.data == nullptr) {
      return sum_in_edges(term, rows);
    }
    sum_in_edges(term, term.summed);
    if (product) {
      products_.forward(stream_, term.summed, term.weight, rows, add);
    } else {
      put_rows(term.summed.data, rows, add);
    }
  }

  void activation_backward(const nn::Finish& finish, const nn::FinishState& state, MutMatrix grad) {
    if (finish.mask.active()) {
      drop_rows(grad, finish.mask, finish.ids, grad);
    }
    if (finish.activation == nn::Activation::gelu) {
      stream_.for_each(grad.size(), GeluBackward{state.conv.data, grad.data});
    } else if (finish.activates()) {
      stream_.for_each(grad.size(),
                       ActivateBackward{finish.activation, finish.slope, state.output.data,
                                        finish.mask.scale, grad.data});
    }
  }

  void put_finish(const nn::Finish& finish, const nn::FinishState& state, MutMatrix conv,
                  MutMatrix out) {
    if (finish.l2) {
      stream_.for_each(conv.rows, L2Normalize{conv.cols, conv.data, state.lengths.data()});
    }
    const float* activated = conv.data;
    if (finish.norm()) {
      stream_.for_each(conv.rows,
                       LayerNorm{conv.data, finish.norm_gain.data(), finish.norm_bias.data(),
                                 conv.cols, state.stats.data(), out.data});
      activated = out.data;
    }
    if (finish.relu) {
      stream_.for_each(out.size(), Relu{activated, out.data});
    } else if (finish.activates()) {
      stream_.for_each(out.size(), Activate{finish.activation, finish.slope, activated, out.data});
    }
    if (finish.mask.active()) {
      drop_rows(out, finish.mask, finish.ids, out);
    }
  }

  static std::size_t reached_by(const nn::UseWork& use) {
    return use.by_source == nullptr ? use.grad.rows : use.by_source->num_src();
  }

  /// Rows [first, first + rows.rows) of a use.
  void add_use(const nn::UseWork& use, std::size_t first, MutMatrix rows, bool add) {
    if (rows.rows == 0) {
      return;
    }
    const nn::Path& path = use.path;
    if (path.reach == nn::Reach::own) {
      const ConstMatrix grad = use.grad.slice(first, rows.rows);
      if (use.weight.data != nullptr) {
        products_.backward(stream_, grad, use.weight, rows, add);
      } else {
        put_scaled(path, grad.data, first, rows, add);
      }
      return;
    }
    if (path.reach == nn::Reach::head_product) {
      return put_head_products(use.grad.slice(first, rows.rows), use.weight, rows, add, true);
    }
    if (path.reach == nn::Reach::head_scores) {
      const ConstMatrix grad = use.grad.slice(first, rows.rows);
      stream_.for_rows(rows.rows, rows.cols,
                       HeadScoreBackward{grad.data, use.weight.data, use.weight.rows,
                                         use.weight.cols, rows.data, add});
      return;
    }
    add_out_edges(use, first, rows, add);
  }

  void add_out_edges(const nn::UseWork& use, std::size_t first, MutMatrix rows, bool add) {
    const nn::Path& path = use.path;
    OutEdges out_edges = out_edges_of(*use.by_source);
    // Bodies count rows from the first source.
    float* const from_start = rows.data - first * rows.cols;
    const auto launch = [&](auto body) {
      stream_.for_rows(rows.rows, rows.cols, Shifted<decltype(body)>{body, first});
    };
    if (path.reach == nn::Reach::weighted_sum) {
      launch(WeightedOutEdges{out_edges, factors_of(path.factors), use.grad.data, use.grad.rows,
                              rows.cols, from_start, add});
    } else if (path.reach == nn::Reach::attend) {
      launch(AttendBackward{shape_of(path.attention),
                            heads_of(path.attention, rows.cols, use.grad.cols), out_edges,
                            path.weights.data, use.grad.data, from_start, add});
    } else if (path.reach == nn::Reach::pair) {
      launch(PairSource{pairs_of(*use.pair), out_edges, use.grad.data, from_start, add});
    } else if (path.reach == nn::Reach::attention) {
      launch(SoftmaxSource{shape_of(path.attention), out_edges, use.grad.data, from_start, add});
    } else {
      launch(SumOutEdges{out_edges, passing_of(path.aggregator), use.grad.data, use.argmax.data(),
                         rows.cols, from_start, add});
    }
  }

  static Passing passing_of(nn::Aggregator aggregator) {
    switch (aggregator) {
      case nn::Aggregator::max:
        return Passing::max;
      case nn::Aggregator::sum:
        return Passing::sum;
      case nn::Aggregator::mean:
        break;
    }
    return Passing::mean;
  }

  Stream stream_;
  Products products_;
};

}  // namespace troupe::gpu
