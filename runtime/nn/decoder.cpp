#include "runtime/nn/decoder.hpp"

#include "runtime/base/assert.hpp"
#include "runtime/nn/ops/grow_buffer.hpp"
#include "runtime/nn/ops/tape.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace troupe::nn {
namespace {

/// Dot products, and those with a trained vector for each output.
class ProductDecoder final : public Decoder {
 public:
  /// \param vectors  0: plain products
  ProductDecoder(std::size_t vectors, std::size_t cols, BlockOps& ops)
      : ops_(ops), vectors_(vectors), cols_(cols), scores_(ops.memory()) {}

  ConstMatrix forward(Executor& executor, std::span<const float> parameters,
                      const RowPairs& pairs) override {
    executor_ = &executor;
    parameters_ = parameters;
    pairs_ = pairs;
    const MutMatrix scores = scores_.matrix(pairs.size(), std::max<std::size_t>(1, vectors_));
    ops_.pair_scores(executor, pairs, vectors(), scores);
    return scores;
  }

  void backward(ConstMatrix grad, MutMatrix sources, MutMatrix destinations,
                std::span<float> parameters) override {
    const MutMatrix of_vectors{vectors_ == 0 ? nullptr : parameters.data(), vectors_, cols_};
    ops_.pair_scores_gradient(*executor_, pairs_, vectors(), grad,
                              {sources, destinations, of_vectors});
  }

 private:
  ConstMatrix vectors() const {
    return {vectors_ == 0 ? nullptr : parameters_.data(), vectors_, cols_};
  }

  BlockOps& ops_;
  std::size_t vectors_;
  std::size_t cols_;
  Executor* executor_ = nullptr;
  std::span<const float> parameters_;
  RowPairs pairs_;
  GrowBuffer<float> scores_;
};

std::vector<NewParameter> mlp_parameters(const DecoderOptions& options, std::uint64_t cols) {
  const float first = linear_bound(2 * cols);
  const float second = linear_bound(options.hidden);
  return {{.name = "source.weight", .rows = options.hidden, .cols = cols, .bound = first},
          {.name = "destination.weight", .rows = options.hidden, .cols = cols, .bound = first},
          {.name = "bias", .rows = options.hidden, .bound = first},
          {.name = "out.weight", .rows = options.outputs, .cols = options.hidden, .bound = second},
          {.name = "out.bias", .rows = options.outputs, .bound = second}};
}

/// W2 relu(W1 [source | destination] + b1) + b2: a pair takes its ends' rows along blocks in which
/// each destination has one edge, so that the operations of networks compute it.
class MlpDecoder final : public Decoder {
 public:
  MlpDecoder(const DecoderOptions& options, std::uint64_t cols, BlockOps& ops)
      : ops_(ops), tape_(ops), offset_memory_(ops.memory()) {
    for (const auto& parameter : mlp_parameters(options, cols)) {
      list_.add(parameter);
    }
  }

  ConstMatrix forward(Executor& executor, std::span<const float> parameters,
                      const RowPairs& pairs) override {
    const auto offsets = offsets_of(pairs.size());
    one_matrix_ = pairs.sources.data == pairs.destinations.data;
    tape_.begin(executor, list_, parameters, true);
    source_ = tape_.input(pairs.sources, true);
    destination_ = one_matrix_ ? source_ : tape_.input(pairs.destinations, true);
    from_ = block(offsets, pairs.of, pairs.sources.rows);
    to_ = block(offsets, pairs.to, pairs.destinations.rows);
    Ending hidden{.biases = {2}, .relu = true};
    const Rows between = tape_.combine({tape_.aggregate(source_, from_, Aggregator::sum, {0}),
                                        tape_.aggregate(destination_, to_, Aggregator::sum, {1})},
                                       pairs.size(), hidden);
    Ending out;
    out.biases = {4};
    out_ = tape_.combine({tape_.own(between, {3})}, pairs.size(), out);
    return tape_.value(out_);
  }

  void backward(ConstMatrix grad, MutMatrix sources, MutMatrix destinations,
                std::span<float> parameters) override {
    tape_.backward(out_, grad, parameters);
    ops_.add(tape_.gradient(source_).flat(), sources.flat());
    if (!one_matrix_) {
      ops_.add(tape_.gradient(destination_).flat(), destinations.flat());
    }
  }

 private:
  /// [pairs + 1] 0, 1, 2, …; a device gets them when there are more than ever.
  std::span<const std::uint32_t> offsets_of(std::size_t pairs) {
    const bool on_device = ops_.memory() != nullptr;
    if (offsets_.size() < pairs + 1) {
      static_cast<void>(ops_.finish());  // a device may still read the shorter list; an error stays
      offsets_.resize(pairs + 1);
      std::iota(offsets_.begin(), offsets_.end(), 0U);
      if (on_device) {
        ops_.upload(offsets_.data(), offset_memory_.get(offsets_.size()).data(),
                    offsets_.size() * sizeof(std::uint32_t));
      }
    }
    const auto all = on_device ? offset_memory_.get(offsets_.size()) : std::span(offsets_);
    return all.first(pairs + 1);
  }
  static LayerBlock block(std::span<const std::uint32_t> offsets,
                          std::span<const std::uint32_t> rows, std::size_t sources) {
    LayerBlock block;
    block.num_dst = static_cast<std::uint32_t>(rows.size());
    block.num_src = static_cast<std::uint32_t>(sources);
    block.offsets = offsets;
    block.sources = rows;
    block.edges = LayerBlock::Range{0, block.num_dst};
    return block;
  }

  BlockOps& ops_;
  Tape tape_;
  ParameterList list_;
  std::vector<std::uint32_t> offsets_;
  GrowBuffer<std::uint32_t> offset_memory_;  ///< of a device
  LayerBlock from_;
  LayerBlock to_;
  bool one_matrix_ = false;
  Rows source_;
  Rows destination_;
  Rows out_;
};

constexpr std::array decoder_table = {
    DecoderKind{.name = "dot",
                .help = "dot product of the two rows",
                .parameters = [](const DecoderOptions& /*options*/,
                                 std::uint64_t /*cols*/) { return std::vector<NewParameter>(); },
                .make = [](const DecoderOptions& /*options*/, std::uint64_t cols,
                           BlockOps& ops) -> std::unique_ptr<Decoder> {
                  return std::make_unique<ProductDecoder>(0, cols, ops);
                }},
    DecoderKind{.name = "distmult",
                .help = "the same with a trained factor for each column (Yang et al., 2015)",
                .many = true,
                .parameters =
                    [](const DecoderOptions& options, std::uint64_t cols) {
                      const auto rows = options.outputs * options.relation_count();
                      return std::vector<NewParameter>{{.name = "relations",
                                                        .rows = rows,
                                                        .cols = cols,
                                                        .bound = glorot_bound(rows, cols)}};
                    },
                .make = [](const DecoderOptions& options, std::uint64_t cols,
                           BlockOps& ops) -> std::unique_ptr<Decoder> {
                  return std::make_unique<ProductDecoder>(options.outputs, cols, ops);
                }},
    DecoderKind{
        .name = "mlp",
        .help = "perceptron of both rows one after the other: a product to `hidden` columns, ReLU, "
                "a product (DGL's MLPPredictor)",
        .many = true,
        .parameters = mlp_parameters,
        .make = [](const DecoderOptions& options, std::uint64_t cols,
                   BlockOps& ops) -> std::unique_ptr<Decoder> {
          return std::make_unique<MlpDecoder>(options, cols, ops);
        }},
};

const DecoderKind& decoder_kind(const DecoderOptions& options) {
  const auto* kind = find_kind(decoder_table, options.kind);
  TROUPE_ASSERT(kind != nullptr, "a decoder's kind", options.kind);
  return *kind;
}

}  // namespace

std::span<const DecoderKind> decoder_kinds() {
  return decoder_table;
}

std::vector<NewParameter> decoder_parameters(const DecoderOptions& options, std::uint64_t cols) {
  auto parameters = decoder_kind(options).parameters(options, cols);
  for (auto& parameter : parameters) {
    parameter.name = "decoder." + parameter.name;
  }
  return parameters;
}

PerceptronOfPairs perceptron_of(const DecoderOptions& options, std::uint64_t cols,
                                std::span<const float> parameters) {
  ParameterList list;
  for (const auto& parameter : mlp_parameters(options, cols)) {
    list.add(parameter);
  }
  TROUPE_ASSERT(options.kind == "mlp" && options.outputs == 1, "a perceptron with one output",
                options.kind, options.outputs);
  return {.source = list.matrix_of(0, parameters),
          .destination = list.matrix_of(1, parameters),
          .bias = list.vector_of(2, parameters),
          .out = list.vector_of(3, parameters)};
}

ParameterRange parameters_of(const DecoderOptions& options, std::uint64_t cols, EdgeTypeId links) {
  std::size_t all = 0;
  for (const auto& parameter : decoder_parameters(options, cols)) {
    all += parameter.rows * parameter.cols;
  }
  if (options.kind != "distmult" || options.relations.empty()) {
    return {0, all};
  }
  const auto found = std::ranges::find(options.relations, links);
  TROUPE_ASSERT(found != options.relations.end(), "a relation of the decoder", raw(links));
  const auto each = all / options.relations.size();
  return {static_cast<std::size_t>(found - options.relations.begin()) * each, each};
}

std::unique_ptr<Decoder> make_decoder(const DecoderOptions& options, std::uint64_t cols,
                                      BlockOps& ops) {
  return decoder_kind(options).make(options, cols, ops);
}

}  // namespace troupe::nn
