#include "runtime/nn/ops/tape.hpp"

#include "runtime/base/assert.hpp"
#include "runtime/nn/ops/tape_state.hpp"

#include <utility>

namespace troupe::nn {

Tape::Tape(BlockOps& ops) : ops_(ops), shared_gradient_(ops.memory()) {}

Tape::~Tape() = default;

void Tape::begin(Executor& executor, const ParameterList& list, std::span<const float> parameters,
                 bool keep) {
  const auto expected = num_parameters(list.layout());
  TROUPE_ASSERT(parameters.size() == expected, "parameters", parameters.size(), expected);
  executor_ = &executor;
  list_ = &list;
  parameters_ = parameters;
  keep_ = keep;
  terms_ = 0;
  used_ = 0;
  factors_ = 0;
  mixed_ = 0;
  blocks_listed_ = 0;
  edge_blocks_used_ = 0;
}

Tape::Operation& Tape::append() {
  if (used_ == operations_.size()) {
    operations_.push_back(std::make_unique<Operation>(ops_.memory()));
  }
  return *operations_[used_++];
}

Rows Tape::input(ConstMatrix rows, bool gradient) {
  Operation& operation = append();
  operation.begin(Operation::Kind::input, gradient);
  operation.value = rows;
  return last();
}

Rows Tape::drop(Rows rows, const DropoutMask& mask, std::span<const OriginalId> ids) {
  const ConstMatrix x = value(rows);
  Operation& operation = append();
  operation.begin(Operation::Kind::drop, operations_[rows.index]->wants_gradient);
  const MutMatrix out = operation.slot.finish.output_memory.matrix(x.rows, x.cols);
  ops_.drop(*executor_, x, mask, ids, out);
  operation.value = out;
  operation.source = rows;
  operation.order = terms_++;
  operation.ending.mask = mask;
  operation.ending.ids = ids;
  return last();
}

Term Tape::own(Rows rows, std::vector<std::size_t> weights) {
  return {rows, {}, std::move(weights), {}, terms_++};
}

Term Tape::scaled(Rows rows, std::span<const float> factors) {
  Path path;
  path.scale = factors;
  return {rows, path, {}, {}, terms_++};
}

Term Tape::scaled(Rows rows, float factor) {
  Path path;
  path.factor = factor;
  return {rows, path, {}, {}, terms_++};
}

Term Tape::scaled_by(Rows rows, float factor, std::size_t parameter) {
  Term term = scaled(rows, factor);
  term.path.factor_parameter = list_->vector_of(parameter, parameters_).data();
  term.factor = parameter;
  return term;
}

Term Tape::aggregate(Rows rows, const LayerBlock& block, Aggregator aggregator,
                     std::vector<std::size_t> weights) {
  Path path;
  path.reach = Reach::aggregate;
  path.aggregator = aggregator;
  path.block = &block;
  Term term{rows, path, std::move(weights), {}, terms_++};
  if (block.listed) {
    TROUPE_ASSERT(aggregator != Aggregator::max, "maximum along a block with listed rows");
    term.listed = listed_block(block);
    term.path.block = &listed_[*term.listed]->block;
    term.path.places = listed_[*term.listed]->places;
  }
  return term;
}

Term Tape::weighted_sum(Rows rows, const LayerBlock& block, const EdgeFactors& factors,
                        std::vector<std::size_t> weights) {
  Path path;
  path.reach = Reach::weighted_sum;
  path.block = &block;
  path.factors = factors;
  return {rows, path, std::move(weights), {}, terms_++};
}

Tape::EdgeBlock& Tape::next_edge_block(const LayerBlock& block) {
  TROUPE_ASSERT(!block.listed, "edges of a block with listed rows", block.num_dst);
  if (edge_blocks_used_ == edge_blocks_.size()) {
    edge_blocks_.push_back(std::make_unique<EdgeBlock>(ops_.memory()));
  }
  return *edge_blocks_[edge_blocks_used_++];
}

const LayerBlock& Tape::block_to_edges(const LayerBlock& block) {
  EdgeBlock& to = next_edge_block(block);
  const std::uint32_t edges = block.num_edges();
  const auto offsets = to.numbers.get(std::size_t{edges} + 1);
  ops_.count_up(block.first_edge(), offsets);
  to.block = {.num_dst = edges,
              .num_src = block.num_src,
              .offsets = offsets,
              .sources = block.sources,
              .edges = block.edges};
  return to.block;
}

const LayerBlock& Tape::block_from_edges(const LayerBlock& block) {
  EdgeBlock& from = next_edge_block(block);
  const std::uint32_t first = block.first_edge();
  const std::uint32_t edges = block.num_edges();
  const auto sources = from.numbers.get(std::size_t{first} + edges);
  ops_.count_up(0U - first, sources);  // 0 at the first edge
  from.block = {.num_dst = block.num_dst,
                .num_src = edges,
                .offsets = block.offsets,
                .sources = sources,
                .weights = block.weights,
                .edges = block.edges};
  return from.block;
}

GcnFactors& Tape::next_factors() {
  if (factors_ == factor_memory_.size()) {
    factor_memory_.push_back(std::make_unique<GcnFactors>(ops_.memory()));
  }
  return *factor_memory_[factors_++];
}

EdgeFactors Tape::degree_factors(const LayerBlock& block, const LayerBlock* below) {
  return ops_.degree_factors(block, below, DegreeFactors::normalized, next_factors());
}

EdgeFactors Tape::weighted_degree_factors(const LayerBlock& block, const LayerBlock* below) {
  return ops_.degree_factors(block, below, DegreeFactors::weighted, next_factors());
}

Term Tape::weighted_aggregate(Rows rows, const LayerBlock& block, Aggregator aggregator,
                              std::vector<std::size_t> weights) {
  if (block.weights.empty()) {
    return aggregate(rows, block, aggregator, std::move(weights));
  }
  TROUPE_ASSERT(aggregator != Aggregator::max, "maximum of weighted rows");
  const bool mean = aggregator == Aggregator::mean;
  const EdgeFactors factors =
      mean ? ops_.degree_factors(block, nullptr, DegreeFactors::mean, next_factors())
           : EdgeFactors{.source = {}, .destination = {}, .edge = block.weights};
  return weighted_sum(rows, block, factors, std::move(weights));
}

std::size_t Tape::mix(std::size_t bases, std::size_t coefficients) {
  const ConstMatrix all = list_->matrix_of(bases, parameters_);
  const auto of_each = list_->vector_of(coefficients, parameters_);
  TROUPE_ASSERT(!of_each.empty() && all.rows % of_each.size() == 0, "mixture", all.rows,
                of_each.size());
  if (mixed_ == mixtures_.size()) {
    mixtures_.push_back(std::make_unique<Mixture>(ops_.memory()));
  }
  Mixture& mixture = *mixtures_[mixed_];
  mixture.bases = bases;
  mixture.coefficients = coefficients;
  const MutMatrix sum = mixture.memory.matrix(all.rows / of_each.size(), all.cols);
  ops_.mix_parameters(of_each, all, sum);
  mixture.value = sum;
  return list_->layout().size() + mixed_++;
}

/// A parameter, or a mixture of some.
ConstMatrix Tape::parameter(std::size_t number) const {
  const std::size_t own = list_->layout().size();
  TROUPE_ASSERT(number < own + mixed_, "number of a parameter", number, own, mixed_);
  return number < own ? list_->matrix_of(number, parameters_) : mixtures_[number - own]->value;
}

/// One parameter, or the sum of several in `sum`: as a matrix.
MutMatrix Tape::parameters_of(const std::vector<std::size_t>& numbers,
                              GrowBuffer<float>& sum) const {
  if (numbers.empty()) {
    return {};
  }
  const ConstMatrix first = parameter(numbers.front());
  if (numbers.size() == 1) {
    // Views of parameters are read only; the type serves both cases.
    return {const_cast<float*>(first.data), first.rows, first.cols};  // NOLINT
  }
  std::vector<std::span<const float>> values;
  values.reserve(numbers.size());
  for (const std::size_t number : numbers) {
    values.push_back(parameter(number).flat());
  }
  const MutMatrix result = sum.matrix(first.rows, first.cols);
  ops_.add_parameters(values, result.flat());
  return result;
}

namespace {

/// Columns of a term before its product.
std::size_t summed_cols(const Path& path, ConstMatrix source) {
  return path.reach == Reach::attend ? path.out_cols : source.cols;
}

}  // namespace

TermWork Tape::work_of(const Term& term, std::size_t position, std::size_t rows, bool first,
                       Slot& slot) {
  auto& memory = slot.term(position);
  const ConstMatrix source = value(term.source);
  TermWork work{term.path, source, parameters_of(term.weights, memory.weight), {}, {}};
  TROUPE_ASSERT(term.weights.empty() || work.weight.cols == summed_cols(term.path, source),
                "columns of a product", work.weight.cols, source.cols);
  if (term.path.places) {
    const auto& places = *term.path.places;
    const bool own = term.path.reach == Reach::own;
    const std::size_t end = own ? source.rows : rows;
    TROUPE_ASSERT((own ? rows : term.path.block->num_dst) == places.size() &&
                      (places.empty() || places.back() < end) && (!own || !term.weights.empty()),
                  "places of a term", rows, places.size(), end);
    work.summed = memory.summed.matrix(places.size(), source.cols);
    return work;
  }
  if (term.path.reach == Reach::own) {
    TROUPE_ASSERT(rows <= source.rows, "own rows", rows, source.rows);
    return work;
  }
  const LayerBlock& block = *term.path.block;
  TROUPE_ASSERT(block.num_dst == rows && block.num_src <= source.rows &&
                    block.offsets.size() == std::size_t{rows} + 1,
                "block of a term", block.num_dst, rows, block.num_src, source.rows,
                block.offsets.size());
  if (!term.weights.empty() || !first) {
    work.summed = memory.summed.matrix(rows, summed_cols(term.path, source));
  }
  if (keep_ && term.path.reach == Reach::aggregate && term.path.aggregator == Aggregator::max) {
    work.argmax = memory.argmax.get(rows * source.cols);
  }
  return work;
}

Rows Tape::combine(std::vector<Term> terms, std::size_t rows, const Ending& ending,
                   MutMatrix into) {
  TROUPE_ASSERT(!terms.empty(), "a combination of nothing");
  Operation& operation = append();
  operation.begin(Operation::Kind::combination, true);
  Slot& slot = operation.slot;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    operation.work.push_back(work_of(terms[i], i, rows, i == 0, slot));
  }
  const TermWork& first = operation.work.front();
  const std::size_t cols =
      terms.front().weights.empty() ? summed_cols(first.path, first.source) : first.weight.rows;
  operation.finish = {.l2 = ending.l2,
                      .norm_gain = {},
                      .norm_bias = {},
                      .relu = ending.relu,
                      .activation = ending.activation,
                      .slope = ending.slope,
                      .mask = ending.mask,
                      .ids = ending.ids};
  if (ending.norm) {
    operation.finish.norm_gain = list_->vector_of(ending.norm_gain, parameters_);
    operation.finish.norm_bias = list_->vector_of(ending.norm_gain + 1, parameters_);
  }
  const MutMatrix out = into.data != nullptr ? into : slot.finish.output_memory.matrix(rows, cols);
  TROUPE_ASSERT(out.rows == rows && out.cols == cols, "shape of a combination", out.rows, out.cols,
                rows, cols);
  const MutMatrix conv = begin_finish(operation.finish, out, slot.finish);
  const auto bias = parameters_of(ending.biases, slot.bias).flat();
  ops_.combine(*executor_, {operation.work, bias, operation.finish, slot.finish, conv, out});
  operation.value = out;
  operation.terms = std::move(terms);
  operation.ending = ending;
  return last();
}

Rows Tape::linear(Rows rows, std::size_t count, std::size_t weight) {
  return combine({own(rows, {weight})}, count, {});
}

ConstMatrix Tape::value(Rows rows) const {
  TROUPE_ASSERT(rows.index < used_, "rows of another pass", rows.index, used_);
  return operations_[rows.index]->value;
}

}  // namespace troupe::nn
