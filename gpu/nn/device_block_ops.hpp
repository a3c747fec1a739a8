#pragma once
/// \file device_block_ops.hpp
/// Block operations (runtime/nn/ops/block_ops.hpp) on a device, for any stream: the emulated one
/// (emulated_block_ops.hpp) and CUDA's (cuda_block_ops.cu). Sums have the CPU's order, so that all but
/// products and exponentials have its bits; on the emulated device those too.
#include "gpu/base/array.hpp"
#include "gpu/nn/attention_bodies.hpp"
#include "gpu/nn/row_bodies.hpp"
#include "gpu/nn/sum_bodies.hpp"
#include "runtime/nn/ops/block_ops.hpp"
#include "runtime/nn/ops/linear.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

namespace troupe::gpu {

/// \tparam Stream    EmulatedStream or CudaStream
/// \tparam Products  matrix products on such a stream, into results that may be added to:
///   forward(stream, x [n, in], weight [out, in], y [n, out], add): x times the weight's transpose
///   backward(stream, grad [n, out], weight [out, in], grad_x [n, in], add): grad times the weight
///   weight_gradient(stream, grad [n, out], x [n, in], grad_weight [out, in])
/// Threads: one caller at a time; the executors that are passed in are not used
template <class Stream, class Products>
class DeviceBlockOps final : public nn::BlockOps, private nn::PassMemory {
 public:
  DeviceBlockOps(Stream stream, Products products)
      : stream_(std::move(stream)), products_(std::move(products)) {}

  nn::PassMemory* memory() override { return this; }
  void upload(const void* host, void* to, std::size_t size_bytes) override {
    stream_.upload(host, to, size_bytes);
  }
  Status download(const void* from, void* host, std::size_t size_bytes) override {
    stream_.download(from, host, size_bytes);
    return stream_.finish();
  }
  void copy(std::span<const float> from, std::span<float> to) override {
    stream_.copy(from.data(), to.data(), from.size_bytes());
  }
  void add(std::span<const float> from, std::span<float> to) override {
    stream_.for_each(from.size(), PutElement{from.data(), to.data(), true});
  }
  void zero(std::span<float> values) override { stream_.zero(values.data(), values.size_bytes()); }

  void combine(Executor& /*executor*/, const nn::Combination& combination) override {
    bool add = false;
    for (const nn::TermWork& term : combination.terms) {
      add_term(term, combination.conv, add);
      add = true;
    }
    const MutMatrix rows = combination.conv;
    if (!combination.bias.empty()) {
      stream_.for_rows(rows.rows, rows.cols,
                       AddBias{combination.bias.data(), rows.cols, rows.data});
    }
    finish(combination);
  }

  std::span<const float> finish_backward(Executor& /*executor*/, const nn::Finish& finish,
                                         const nn::FinishState& state, MutMatrix grad) override {
    const std::size_t cols = grad.cols;
    const std::size_t chunks = nn::chunk_count(grad.rows);
    const std::size_t pitch = 3 * cols;
    const auto partials = stream_.template array<float>(chunks * pitch);
    if (finish.relu) {
      stream_.for_each(grad.size(), ReluBackward{state.output.data, finish.mask.scale, grad.data});
    } else if (finish.mask.active()) {
      drop_rows(grad, finish.mask, finish.ids, grad);
    }
    if (finish.norm()) {
      stream_.for_rows(chunks, cols,
                       NormSums{state.conv.data, state.stats.data(), grad.data, grad.rows, cols,
                                nn::chunk_rows, pitch, partials.data() + cols});
      stream_.for_each(grad.rows, LayerNormBackward{state.conv.data, state.stats.data(),
                                                    finish.norm_gain.data(), cols, grad.data});
    } else {
      stream_.zero(partials.data(), partials.size_bytes());
    }
    if (finish.l2) {
      stream_.for_each(grad.rows,
                       L2Backward{state.conv.data, state.lengths.data(), cols, grad.data});
    }
    stream_.for_rows(
        chunks, cols,
        ColumnSums{grad.data, grad.rows, cols, nn::chunk_rows, pitch, partials.data()});
    column_sums_ = stream_.template array<float>(pitch);
    add_partials(partials.data(), chunks, {column_sums_.data(), pitch});
    return {column_sums_.data(), pitch};
  }

  void weight_gradient(Executor& /*executor*/, ConstMatrix grad, ConstMatrix x,
                       MutMatrix grad_weight) override {
    products_.weight_gradient(stream_, grad, x, grad_weight);
  }

  void product_backward(Executor& /*executor*/, ConstMatrix grad, ConstMatrix weight,
                        MutMatrix grad_x) override {
    products_.backward(stream_, grad, weight, grad_x, false);
  }

  void sort_by_source(Executor& /*executor*/, std::span<const SortWork> blocks) override {
    for (const SortWork& work : blocks) {
      const nn::EdgesBySource::Lists lists = work.by_source->prepare(*work.block);
      const Edges edges = edges_of(*work.block);
      const std::size_t count = lists.edges.size();
      const auto keys = stream_.template array<std::uint32_t>(count);
      const auto destinations = stream_.template array<std::uint32_t>(count);
      const auto order = stream_.template array<std::uint32_t>(count);
      stream_.for_each(
          work.block->num_dst,
          SpreadDestination{edges, keys.data(), destinations.data(), lists.inverse_degree.data()});
      stream_.stable_order(keys.data(), count, work.block->num_src, order.data());
      stream_.for_each(count, PlaceEdge{order.data(), destinations.data(), edges.offsets,
                                        lists.destinations.data(), lists.edges.data()});
      stream_.for_each(lists.offsets.size(),
                       FindOffset{keys.data(), order.data(), static_cast<std::uint32_t>(count),
                                  lists.offsets.data()});
    }
  }

  /// On the CPU a chunk that the first use does not reach to its end begins with zeros, to which the
  /// use is added; so it is here.
  void source_gradient(Executor& /*executor*/, std::span<const nn::UseWork> uses,
                       MutMatrix out) override {
    bool first = true;
    for (const nn::UseWork& use : uses) {
      const std::size_t reached = std::min(reached_by(use), out.rows);
      if (!first) {
        add_use(use, 0, out.slice(0, reached), true);
        continue;
      }
      first = false;
      const std::size_t whole =
          reached == out.rows ? reached : reached / nn::chunk_rows * nn::chunk_rows;
      const MutMatrix rest = out.slice(whole, out.rows - whole);
      stream_.zero(rest.data, rest.size() * sizeof(float));
      add_use(use, 0, out.slice(0, whole), false);
      add_use(use, whole, out.slice(whole, reached - whole), true);
    }
  }

  void head_scores(Executor& /*executor*/, ConstMatrix x, ConstMatrix vectors,
                   MutMatrix scores) override {
    stream_.for_rows(scores.rows, scores.cols,
                     HeadScore{x.data, vectors.data, vectors.rows, vectors.cols, scores.data});
  }
  void head_scores_gradient(Executor& /*executor*/, ConstMatrix grad, ConstMatrix x,
                            MutMatrix grad_vectors) override {
    const std::size_t chunks = nn::chunk_count(grad.rows);
    const auto partials = stream_.template array<float>(chunks * grad_vectors.size());
    stream_.for_rows(chunks, grad_vectors.size(),
                     HeadScoreSums{grad.data, x.data, grad.rows, grad_vectors.rows,
                                   grad_vectors.cols, nn::chunk_rows, partials.data()});
    add_partials(partials.data(), chunks, grad_vectors.flat());
  }

  void attention(Executor& /*executor*/, const AttentionWork& work) override {
    const Attending shape = shape_of(work.shape);
    stream_.for_rows(
        shape.destinations, shape.heads,
        EdgeSoftmax{shape, work.slope, work.source.data, work.destination.data, work.weights.data});
  }
  void attention_backward(Executor& /*executor*/, const AttentionWork& work, MutMatrix grad,
                          MutMatrix grad_destination) override {
    const Attending shape = shape_of(work.shape);
    stream_.for_rows(shape.destinations, shape.heads,
                     EdgeSoftmaxBackward{shape, work.slope, work.source.data, work.destination.data,
                                         work.weights.data, grad.data, grad_destination.data});
  }
  void attend_weights_gradient(Executor& /*executor*/, const nn::AttentionShape& shape,
                               ConstMatrix x, ConstMatrix grad, MutMatrix grad_weights) override {
    stream_.for_rows(grad.rows, shape.heads,
                     AttendWeights{shape_of(shape), heads_of(shape, x.cols, grad.cols), x.data,
                                   grad.data, grad_weights.data});
  }

  nn::EdgeFactors degree_factors(const LayerBlock& block, const LayerBlock* below,
                                 nn::GcnFactors& memory) override {
    const auto room = memory.prepare(block);
    stream_.for_each(room.destination.size(), DegreeFactor{edges_of(block), room.destination.size(),
                                                           room.destination.data()});
    // Destinations are the first sources; other sources have what they got below.
    const std::size_t counted = below == nullptr ? 0 : below->num_dst;
    stream_.for_each(room.source.size(), DegreeFactor{below == nullptr ? Edges{} : edges_of(*below),
                                                      counted, room.source.data()});
    stream_.copy(room.destination.data(), room.source.data(), room.destination.size_bytes());
    return room.factors();
  }

  void drop(Executor& /*executor*/, ConstMatrix x, const nn::DropoutMask& mask,
            std::span<const OriginalId> ids, MutMatrix out) override {
    drop_rows(x, mask, ids, out);
  }

  void add_parameters(std::span<const std::span<const float>> values,
                      std::span<float> sum) override {
    zero(sum);
    for (const auto& value : values) {
      add(value, sum);
    }
  }

  nn::LossResult cross_entropy(ConstMatrix logits, std::span<const std::int64_t> labels,
                               MutMatrix grad_logits) override {
    return nn::cross_entropy(logits, labels, grad_logits);
  }
  nn::LossResult bce_logits(ConstMatrix logits, ConstMatrix targets, float pos_weight,
                            MutMatrix grad_logits) override {
    return nn::bce_logits(logits, targets, pos_weight, grad_logits);
  }

 private:
  Buffer take(std::size_t size_bytes) override {
    auto array = std::make_shared<Array<std::byte>>(stream_.template array<std::byte>(size_bytes));
    std::byte* const first = array->data();
    return {std::shared_ptr<std::byte>(std::move(array), first), size_bytes};
  }

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
      copy(x.flat(), out.flat());
    }
  }

  void put_rows(const float* in, MutMatrix out, bool add) {
    stream_.for_each(out.size(), PutElement{in, out.data, add});
  }
  void put_scaled(const nn::Path& path, const float* in, std::size_t first, MutMatrix out,
                  bool add) {
    const float* const scale = path.scale.empty() ? nullptr : path.scale.data() + first;
    stream_.for_rows(out.rows, out.cols,
                     PutScaled{in, scale, path.factor, out.cols, out.data, add});
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

  void finish(const nn::Combination& combination) {
    const nn::Finish& finish = combination.finish;
    const nn::FinishState& state = combination.state;
    const MutMatrix conv = combination.conv;
    const MutMatrix out = combination.out;
    if (finish.l2) {
      stream_.for_each(conv.rows, L2Normalize{conv.cols, conv.data, state.lengths.data()});
    }
    const float* before_relu = conv.data;
    if (finish.norm()) {
      stream_.for_each(conv.rows,
                       LayerNorm{conv.data, finish.norm_gain.data(), finish.norm_bias.data(),
                                 conv.cols, state.stats.data(), out.data});
      before_relu = out.data;
    }
    if (finish.relu) {
      stream_.for_each(out.size(), Relu{before_relu, out.data});
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
  Array<float> column_sums_;
};

}  // namespace troupe::gpu
