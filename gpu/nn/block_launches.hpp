#pragma once
/// \file block_launches.hpp
/// What block operations on a device launch: for device_block_ops.hpp only.
#include "gpu/base/array.hpp"
#include "gpu/nn/attention_bodies.hpp"
#include "gpu/nn/batch_norm_bodies.hpp"
#include "gpu/nn/finish_stage.hpp"
#include "gpu/nn/pair_attention_stage.hpp"
#include "gpu/nn/parameter_bodies.hpp"
#include "gpu/nn/row_bodies.hpp"
#include "gpu/nn/sum_bodies.hpp"
#include "runtime/nn/ops/block_ops.hpp"
#include "runtime/nn/ops/linear.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
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
      add_partials(partials.data(), chunks, cols, out);
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

  /// \param partials  [chunks, cols]  \param sums  [cols or more], 0 past the columns
  void add_partials(const float* partials, std::size_t chunks, std::size_t cols,
                    std::span<float> sums) {
    stream_.for_each(sums.size(), AddChunks{partials, chunks, cols, sums.data()});
  }

  static Activating activating_of(const nn::Finish& finish) {
    return {finish.relu, finish.activation, finish.slope};
  }
  static Dropping dropping_of(const nn::DropoutMask& mask, std::span<const OriginalId> ids) {
    return {mask.key.words, mask.p, mask.scale, ids.data()};
  }
  void drop_rows(ConstMatrix x, const nn::DropoutMask& mask, std::span<const OriginalId> ids,
                 MutMatrix out) {
    if (mask.active()) {
      finish_rows_stage(stream_, x, {.dropping = dropping_of(mask, ids)}, out.data);
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
    if (path.reach == nn::Reach::attend) {
      return stream_.for_rows(
          out.rows, out.cols,
          Attend{shape_of(path.attention), heads_of(path.attention, term.source.cols, out.cols),
                 path.weights.data, x, out.data});
    }
    std::uint32_t* const argmax = term.argmax.empty() ? nullptr : term.argmax.data();
    by_width(in_fours(out.cols, {x, out.data, argmax}), [&](auto width) {
      const std::size_t packs = out.cols / width();
      if (path.reach == nn::Reach::weighted_sum) {
        stream_.for_rows(
            out.rows, packs,
            WeightedInEdges<width()>{block, factors_of(path.factors), x, out.cols, out.data});
      } else if (path.aggregator == nn::Aggregator::max) {
        stream_.for_rows(out.rows, packs,
                         MaxInEdges<width()>{block, x, out.cols, out.data, argmax});
      } else {
        const bool mean = path.aggregator == nn::Aggregator::mean;
        stream_.for_rows(out.rows, packs, SumInEdges<width()>{block, x, out.cols, mean, out.data});
      }
    });
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

  template <class Back>
  void pass_back(const Back& back, ConstMatrix kept, MutMatrix grad) {
    by_width(in_fours(grad.size(), {kept.data, grad.data}), [&](auto width) {
      stream_.for_each(grad.size() / width(), PassBack<Back, width()>{back, kept.data, grad.data});
    });
  }
  void activation_backward(const nn::Finish& finish, const nn::FinishState& state, MutMatrix grad) {
    if (finish.relu) {
      return pass_back(ReluBackward{finish.mask.scale}, state.output, grad);
    }
    if (finish.mask.active()) {
      drop_rows(grad, finish.mask, finish.ids, grad);
    }
    if (finish.activation == nn::Activation::gelu) {
      pass_back(GeluBackward{}, state.conv, grad);
    } else if (finish.activates()) {
      pass_back(ActivateBackward{finish.activation, finish.slope, finish.mask.scale}, state.output,
                grad);
    }
  }

  /// The end of a combination, from its sum without the bias.
  void put_finish(const nn::Finish& finish, const nn::FinishState& state,
                  std::span<const float> bias, MutMatrix conv, MutMatrix out) {
    if ((finish.l2 || finish.norm()) && !bias.empty()) {
      finish_rows_stage(stream_, conv, {.bias = bias}, conv.data);
      bias = {};
    }
    if (finish.l2) {
      divide_by_length_stage(stream_, conv, state.lengths);
    }
    FinishPass pass{.bias = bias,
                    .activating = activating_of(finish),
                    .dropping = dropping_of(finish.mask, finish.ids)};
    if (finish.norm()) {
      norm_stats_stage(stream_, conv, state.stats);
      pass.normed = {state.stats.data(), finish.norm_gain.data(), finish.norm_bias.data()};
    }
    // Backward needs the sum itself, where it is not overwritten.
    pass.sum = bias.empty() || conv.data == out.data ? nullptr : conv.data;
    if (!bias.empty() || finish.norm() || finish.activates() || finish.mask.active()) {
      finish_rows_stage(stream_, conv, pass, out.data);
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
    const OutEdges out_edges = out_edges_of(*use.by_source);
    // Bodies count rows from the first source.
    float* const from_start = rows.data - first * rows.cols;
    const auto launch = [&](std::size_t cols, auto body) {
      stream_.for_rows(rows.rows, cols, Shifted<decltype(body)>{body, first});
    };
    if (path.reach == nn::Reach::attend) {
      launch(rows.cols,
             AttendBackward{shape_of(path.attention),
                            heads_of(path.attention, rows.cols, use.grad.cols), out_edges,
                            path.weights.data, use.grad.data, from_start, add});
    } else if (path.reach == nn::Reach::pair) {
      launch(rows.cols, PairSource{pairs_of(*use.pair), out_edges, use.grad.data, from_start, add});
    } else if (path.reach == nn::Reach::attention) {
      launch(rows.cols,
             SoftmaxSource{shape_of(path.attention), out_edges, use.grad.data, from_start, add});
    } else {
      const bool max = path.reach == nn::Reach::aggregate && path.aggregator == nn::Aggregator::max;
      by_width(in_fours(rows.cols, {use.grad.data, rows.data, max ? use.argmax.data() : nullptr}),
               [&](auto width) {
                 const std::size_t packs = rows.cols / width();
                 if (path.reach == nn::Reach::weighted_sum) {
                   launch(packs, WeightedOutEdges<width()>{out_edges, factors_of(path.factors),
                                                           use.grad.data, use.grad.rows, rows.cols,
                                                           from_start, add});
                 } else {
                   by_passing(path.aggregator, [&](auto how) {
                     launch(packs,
                            SumOutEdges<how(), width()>{out_edges, use.grad.data, use.argmax.data(),
                                                        rows.cols, from_start, add});
                   });
                 }
               });
    }
  }

  /// Calls launch(how aggregation's gradient reaches a source, as a type).
  template <class Launch>
  static void by_passing(nn::Aggregator aggregator, const Launch& launch) {
    switch (aggregator) {
      case nn::Aggregator::max:
        return launch(std::integral_constant<Passing, Passing::max>());
      case nn::Aggregator::sum:
        return launch(std::integral_constant<Passing, Passing::sum>());
      case nn::Aggregator::mean:
        break;
    }
    launch(std::integral_constant<Passing, Passing::mean>());
  }

  /// sums[s] of the products of `size` elements of both from s * size on, or of what is there of them.
  /// \param a_step  `size`, or 0: all sums are of the same elements of `a`
  void sum_products(const float* a, std::size_t a_step, std::span<const float> b, std::size_t size,
                    std::span<float> sums) {
    const auto lanes = stream_.template array<float>(sums.size() * sum_lanes);
    stream_.for_rows(sums.size(), sum_lanes,
                     ProductLanes{a, a_step, b.data(), size, b.size(), lanes.data()});
    stream_.for_each(sums.size(), AddLanes{lanes.data(), sums.data()});
  }

  Stream stream_;
  Products products_;
};

}  // namespace troupe::gpu
