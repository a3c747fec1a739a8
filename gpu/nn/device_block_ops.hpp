#pragma once
/// \file device_block_ops.hpp
/// Block operations (runtime/nn/ops/block_ops.hpp) on a device, for any stream: the emulated one
/// (emulated_block_ops.hpp) and CUDA's (cuda_block_ops.cu). Sums have the CPU's order, so that all but
/// products and exponentials have its bits; on the emulated device those too.
#include "gpu/base/array.hpp"
#include "gpu/base/host_copies.hpp"
#include "gpu/base/on_stream.hpp"
#include "gpu/nn/block_launches.hpp"
#include "gpu/nn/learning_stage.hpp"
#include "gpu/nn/link_loss_stage.hpp"
#include "gpu/nn/pair_score_stage.hpp"
#include "gpu/nn/triple_stage.hpp"
#include "runtime/base/assert.hpp"
#include "runtime/nn/ops/block_ops.hpp"
#include "runtime/nn/ops/linear.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace troupe::gpu {

/// \tparam Stream    EmulatedStream or CudaStream
/// \tparam Products  matrix products on such a stream, into results that may be added to:
///   forward(stream, x [n, in], weight [out, in], y [n, out], add): x times the weight's transpose
///   backward(stream, grad [n, out], weight [out, in], grad_x [n, in], add): grad times the weight
///   weight_gradient(stream, grad [n, out], x [n, in], grad_weight [out, in])
///   piece_rows(): nn::BlockOps::product_rows(), of forward()
/// Threads: one caller at a time; the executors that are passed in are not used
template <class Stream, class Products>
class DeviceBlockOps final : public nn::BlockOps,
                             public OnStream<Stream>,
                             private nn::PassMemory,
                             private BlockLaunches<Stream, Products> {
  using Launches = BlockLaunches<Stream, Products>;

 public:
  DeviceBlockOps(Stream stream, Products products)
      : Launches(std::move(stream), std::move(products)) {}
  DeviceBlockOps(const DeviceBlockOps&) = delete;
  DeviceBlockOps& operator=(const DeviceBlockOps&) = delete;
  ~DeviceBlockOps() override { stream_.drain(); }

  Stream stream() const override { return stream_; }
  nn::PassMemory* memory() override { return this; }
  std::size_t product_rows() const override { return products_.piece_rows(); }
  void upload(const void* host, void* to, std::size_t size_bytes) override {
    stream_.upload(host, to, size_bytes);
  }
  Status download(const void* from, void* host, std::size_t size_bytes) override {
    stream_.download(from, host, size_bytes);
    return stream_.finish();
  }
  Status finish() override { return stream_.finish(); }
  nn::LaterNumber number_later(const double* from) override {
    auto place = numbers_.take(stream_, sizeof(double));
    auto* const number = reinterpret_cast<double*>(place.data());
    if (!stream_.failed()) {
      stream_.for_each(1, PutNumber{from, number});
    }
    auto done = stream_.record();
    return [on = stream_, done = std::move(done), place = std::move(place),
            number]() -> Result<double> {
      TROUPE_RETURN_IF_ERROR(on.wait_here(done));
      return *number;
    };
  }
  void copy(std::span<const float> from, std::span<float> to) override {
    stream_.copy(from.data(), to.data(), from.size_bytes());
  }
  void add(std::span<const float> from, std::span<float> to) override {
    stream_.for_each(from.size(), PutElement{from.data(), to.data(), true});
  }
  void zero(std::span<float> values) override { stream_.zero(values.data(), values.size_bytes()); }
  void scale(float factor, std::span<float> values) override {
    stream_.for_each(values.size(), ScaleElement{factor, values.data()});
  }
  void join_columns(ConstMatrix left, ConstMatrix right, MutMatrix out) override {
    stream_.for_each(out.size(), JoinColumns{left.data, right.data, left.cols, out.cols, out.data});
  }
  void count_up(std::uint32_t first, std::span<std::uint32_t> numbers) override {
    stream_.for_each(numbers.size(), CountUp{numbers.data(), first});
  }

  void combine(Executor& /*executor*/, const nn::Combination& combination) override {
    bool add = false;
    for (const nn::TermWork& term : combination.terms) {
      add_term(term, combination.conv, add);
      add = true;
    }
    put_finish(combination.finish, combination.state, combination.bias, combination.conv,
               combination.out);
  }

  std::span<const float> finish_backward(Executor& /*executor*/, const nn::Finish& finish,
                                         const nn::FinishState& state, MutMatrix grad) override {
    const std::size_t cols = grad.cols;
    const std::size_t chunks = nn::chunk_count(grad.rows);
    const std::size_t pitch = finish.norm() ? 3 * cols : cols;
    const auto partials = stream_.template array<float>(chunks * pitch);
    if (finish.relu && !finish.norm() && !finish.l2) {
      stream_.for_rows(chunks, cols,
                       PassBackWithSums<ReluBackward>{{finish.mask.scale},
                                                      state.output.data,
                                                      grad.data,
                                                      grad.rows,
                                                      cols,
                                                      nn::chunk_rows,
                                                      partials.data()});
    } else {
      activation_backward(finish, state, grad);
      if (finish.norm()) {
        stream_.for_rows(chunks, cols,
                         NormSums{state.conv.data, state.stats.data(), grad.data, grad.rows, cols,
                                  nn::chunk_rows, pitch, partials.data() + cols});
        norm_backward_stage(stream_, finish, state, grad);
      }
      if (finish.l2) {
        length_backward_stage(stream_, state, grad);
      }
      stream_.for_rows(
          chunks, cols,
          ColumnSums{grad.data, grad.rows, cols, nn::chunk_rows, pitch, partials.data()});
    }
    column_sums_ = stream_.template array<float>(3 * cols);
    const std::span<float> sums{column_sums_.data(), 3 * cols};
    add_partials(partials.data(), chunks, pitch, sums);
    return sums;
  }

  void weight_gradient(Executor& /*executor*/, ConstMatrix grad, ConstMatrix x,
                       MutMatrix grad_weight) override {
    products_.weight_gradient(stream_, grad, x, grad_weight);
  }

  void product_backward(Executor& /*executor*/, ConstMatrix grad, ConstMatrix weight,
                        MutMatrix grad_x) override {
    products_.backward(stream_, grad, weight, grad_x, false);
  }

  /// All blocks by one sort, each with keys above those of the blocks before it.
  void sort_by_source(Executor& /*executor*/, std::span<const SortWork> blocks) override {
    std::size_t count = 0;
    std::size_t keys_end = 0;
    for (const SortWork& work : blocks) {
      count += work.block->num_edges();
      keys_end += work.block->num_src;
    }
    TROUPE_ASSERT(keys_end <= std::numeric_limits<std::uint32_t>::max(), "sources of all blocks",
                  keys_end);
    const auto place = [&] { return stream_.template array<std::uint32_t>(count); };
    const auto keys = place();
    const auto positions = place();
    const auto destinations = place();
    const auto sorted_keys = place();
    const auto sorted_positions = place();
    std::vector<nn::EdgesBySource::Lists> lists;
    std::size_t first = 0;
    std::uint32_t first_key = 0;
    for (const SortWork& work : blocks) {
      lists.push_back(work.by_source->prepare(*work.block));
      stream_.for_each(
          work.block->num_dst,
          SpreadDestination{edges_of(*work.block), work.block->first_edge(), first_key,
                            keys.data() + first, positions.data() + first,
                            destinations.data() + first, lists.back().inverse_degree.data()});
      first += lists.back().edges.size();
      first_key += work.block->num_src;
    }
    stream_.sort_pairs({keys.data(), positions.data(), count, first_key, sorted_keys.data(),
                        sorted_positions.data()});
    first = 0;
    first_key = 0;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const std::size_t edges = lists[i].edges.size();
      const std::size_t ends = lists[i].offsets.size();
      stream_.for_each(
          std::max(edges, ends),
          PlaceEdges{sorted_keys.data() + first, first_key, sorted_positions.data() + first,
                     destinations.data() + first, blocks[i].block->first_edge(),
                     static_cast<std::uint32_t>(edges), static_cast<std::uint32_t>(ends),
                     lists[i].destinations.data(), lists[i].edges.data(), lists[i].offsets.data()});
      first += edges;
      first_key += blocks[i].block->num_src;
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
    add_partials(partials.data(), chunks, grad_vectors.size(), grad_vectors.flat());
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
                                 nn::DegreeFactors how, nn::GcnFactors& memory) override {
    const auto room = memory.prepare(block, how);
    const std::span<float> destination = room.destination;
    if (how == nn::DegreeFactors::mean) {
      stream_.for_each(destination.size(), MeanFactor{edges_of(block), destination.data()});
      return room.factors;
    }
    const bool weighted = how == nn::DegreeFactors::weighted;
    stream_.for_each(destination.size(), DegreeFactor{edges_of(block), destination.size(), weighted,
                                                      weights_of(block), destination.data()});
    // Destinations are the first sources; other sources have what they got below.
    const std::size_t counted = below == nullptr ? 0 : below->num_dst;
    stream_.for_each(
        room.source.size(),
        DegreeFactor{below == nullptr ? Edges{} : edges_of(*below), counted, weighted,
                     below == nullptr ? nullptr : weights_of(*below), room.source.data()});
    stream_.copy(destination.data(), room.source.data(), destination.size_bytes());
    return room.factors;
  }

  void pair_attention(Executor& /*executor*/, std::span<const nn::PairAttention> parts) override {
    pair_attention_stage(stream_, std::span<const Pairs>(all_pairs_of(parts)));
  }
  void pair_attention_backward(Executor& /*executor*/, std::span<const nn::PairAttention> parts,
                               std::span<const nn::PairGradient> grads) override {
    pair_attention_backward_stage(stream_, std::span<const Pairs>(all_pairs_of(parts)), grads);
  }
  void pair_vectors_gradient(Executor& /*executor*/, const nn::PairAttention& part,
                             ConstMatrix grad, MutMatrix grad_vectors) override {
    const std::size_t chunks = nn::chunk_count(part.shape.block->num_dst);
    const auto partials = stream_.template array<float>(chunks * grad_vectors.size());
    stream_.for_rows(chunks, grad_vectors.size(),
                     PairVectorSums{pairs_of(part), grad.data, nn::chunk_rows, partials.data()});
    add_partials(partials.data(), chunks, grad_vectors.size(), grad_vectors.flat());
  }

  void batch_norm(Executor& /*executor*/, const nn::BatchNorm& norm, const nn::FinishState& state,
                  MutMatrix out) override {
    if (norm.training) {
      batch_statistics(norm);
    }
    stream_.for_rows(out.rows, out.cols, NormalizeColumns{normalizing(norm), out.data});
    put_finish(norm.after, state, {}, out, out);
  }
  std::span<const float> batch_norm_backward(Executor& executor, const nn::BatchNorm& norm,
                                             const nn::FinishState& state,
                                             MutMatrix grad) override {
    finish_backward(executor, norm.after, state, grad);
    const std::size_t chunks = nn::chunk_count(grad.rows);
    const std::size_t pitch = 2 * grad.cols;
    const auto partials = stream_.template array<float>(chunks * pitch);
    stream_.for_rows(
        chunks, grad.cols,
        ColumnGradientSums{normalizing(norm), grad.data, nn::chunk_rows, partials.data()});
    column_sums_ = stream_.template array<float>(pitch);
    add_partials(partials.data(), chunks, pitch, {column_sums_.data(), pitch});
    stream_.for_rows(grad.rows, grad.cols,
                     NormalizeBackward{normalizing(norm), column_sums_.data(), grad.data});
    return {column_sums_.data(), pitch};
  }

  void mix_parameters(std::span<const float> coefficients, ConstMatrix bases,
                      MutMatrix sum) override {
    stream_.for_each(sum.size(), MixBases{coefficients.data(), coefficients.size(), bases.data,
                                          sum.size(), sum.data});
  }
  void mix_coefficients_gradient(ConstMatrix grad, ConstMatrix bases,
                                 std::span<float> grad_coefficients) override {
    sum_products(grad.data, 0, bases.flat(), grad.size(), grad_coefficients);
  }
  void mix_bases_gradient(ConstMatrix grad, std::span<const float> coefficients,
                          MutMatrix grad_bases) override {
    stream_.for_rows(coefficients.size(), grad.size(),
                     SpreadToBases{grad.data, coefficients.data(), grad.size(), grad_bases.data});
  }
  void factor_gradient(Executor& /*executor*/, ConstMatrix grad, ConstMatrix x,
                       std::span<float> sum) override {
    const std::size_t chunks = nn::chunk_count(grad.rows);
    const auto partials = stream_.template array<float>(chunks);
    const std::size_t size = nn::chunk_rows * grad.cols;
    sum_products(grad.data, size, {x.data, grad.size()}, size, {partials.data(), chunks});
    add_partials(partials.data(), chunks, 1, sum);
  }

  void head_products(Executor& /*executor*/, ConstMatrix x, ConstMatrix weights,
                     MutMatrix y) override {
    put_head_products(x, weights, y, false, false);
  }
  void head_products_gradient(Executor& /*executor*/, ConstMatrix grad, ConstMatrix x,
                              MutMatrix grad_weights) override {
    const std::size_t columns = grad_weights.cols;
    const auto of_grad = stream_.template array<float>(grad.rows * columns);
    const auto of_x = stream_.template array<float>(grad.rows * columns);
    for (std::size_t h = 0; h < x.cols / columns; ++h) {
      stream_.for_rows(grad.rows, columns,
                       TakeHead{grad.data, grad.cols, columns, h, of_grad.data()});
      stream_.for_rows(grad.rows, columns, TakeHead{x.data, x.cols, columns, h, of_x.data()});
      products_.weight_gradient(stream_, {of_grad.data(), grad.rows, columns},
                                {of_x.data(), grad.rows, columns},
                                grad_weights.slice(h * columns, columns));
    }
  }
  void gate(Executor& /*executor*/, std::span<const float> gate, ConstMatrix fresh, ConstMatrix old,
            MutMatrix y) override {
    stream_.for_each(y.size(), Gate{gate.data(), fresh.data, old.data, y.data});
  }
  void gate_backward(Executor& /*executor*/, std::span<const float> gate, ConstMatrix fresh,
                     ConstMatrix old, MutMatrix grad, MutMatrix grad_old,
                     std::span<float> grad_gate) override {
    const std::size_t chunks = nn::chunk_count(grad.rows);
    const auto partials = stream_.template array<float>(chunks);
    stream_.for_each(chunks, GateSums{grad.data, fresh.data, old.data, grad.rows, grad.cols,
                                      nn::chunk_rows, partials.data()});
    stream_.for_each(1, GateGradient{gate.data(), partials.data(), chunks, grad_gate.data()});
    stream_.for_each(grad.size(), GateBackward{gate.data(), grad.data, grad_old.data});
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

  void pair_scores(Executor& /*executor*/, const nn::RowPairs& pairs, ConstMatrix relations,
                   MutMatrix scores) override {
    pair_scores_stage(stream_, pairs, relations, scores);
  }
  void pair_scores_gradient(Executor& /*executor*/, const nn::RowPairs& pairs,
                            ConstMatrix relations, ConstMatrix grad,
                            const nn::PairGradients& to) override {
    pair_scores_gradient_stage(stream_, pairs, relations, grad, to);
  }

  void seed_loss(const nn::SeedLossWork& work) override { seed_loss_stage(stream_, work); }
  void link_loss(const nn::LinkLossWork& work) override { link_loss_stage(stream_, work); }
  void triple_loss(Executor& /*executor*/, const nn::TripleLossWork& work) override {
    TripleStage(stream_, products_, work).run();
  }
  void mean_of_one(float divisor, std::span<float> values) override {
    stream_.for_each(values.size(), MeanOfOne{divisor, values.data()});
  }
  const float* clip_factor(std::span<const float> gradient, double limit) override {
    clip_factor_ = stream_.template array<float>(1);
    clip_factor_stage(stream_, gradient, limit, clip_factor_.data());
    return clip_factor_.data();
  }
  void optimizer_step(const nn::OptimizerStep& step, const nn::StepArrays& arrays) override {
    optimizer_step_stage(stream_, step, arrays);
  }

 private:
  Buffer take(std::size_t size_bytes) override {
    auto array = std::make_shared<Array<std::byte>>(stream_.template array<std::byte>(size_bytes));
    std::byte* const first = array->data();
    return {std::shared_ptr<std::byte>(std::move(array), first), size_bytes};
  }

  using Launches::activation_backward;
  using Launches::add_partials;
  using Launches::add_term;
  using Launches::add_use;
  using Launches::all_pairs_of;
  using Launches::batch_statistics;
  using Launches::drop_rows;
  using Launches::edges_of;
  using Launches::heads_of;
  using Launches::normalizing;
  using Launches::pairs_of;
  using Launches::products_;
  using Launches::put_finish;
  using Launches::put_head_products;
  using Launches::reached_by;
  using Launches::shape_of;
  using Launches::stream_;
  using Launches::sum_products;
  using Launches::weights_of;

  PinnedPool numbers_;  ///< of number_later()
  Array<float> column_sums_;
  Array<float> clip_factor_;
};

}  // namespace troupe::gpu
