#include "runtime/nn/ops/tape.hpp"

#include "runtime/base/assert.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace troupe::nn {

/// Memory of an operation, kept for the operation in the same place of the next pass.
struct Tape::Slot {
  struct OfTerm {
    GrowBuffer<float> weight;  ///< sum of several parameters
    GrowBuffer<float> summed;
    GrowBuffer<std::uint32_t> argmax;
    GrowBuffer<float> grad_summed;
    GrowBuffer<float> grad_weights;  ///< of edges
  };
  FinishState finish;
  GrowBuffer<float> bias;  ///< sum of several parameters
  GrowBuffer<float> gradient;
  std::vector<std::unique_ptr<OfTerm>> terms;

  OfTerm& term(std::size_t position) {
    while (terms.size() <= position) {
      terms.push_back(std::make_unique<OfTerm>());
    }
    return *terms[position];
  }
};

struct Tape::Operation {
  struct OrderedUse {
    std::uint32_t order;
    UseWork work;
  };
  enum class Kind : std::uint8_t { input, drop, combination, head_scores, attention };

  Kind kind = Kind::input;
  ConstMatrix value;
  bool wants_gradient = false;
  // A combination:
  std::vector<Term> terms;
  std::vector<TermWork> work;
  Ending ending;  ///< also the mask of a dropout
  Finish finish;
  // Others:
  Rows source;
  Rows destination;         ///< of attention
  std::uint32_t order = 0;  ///< of the use of the source; the destination's is the next
  std::size_t vectors = 0;  ///< parameter of head scores
  BlockOps::AttentionWork attention;
  // Of backward:
  std::vector<OrderedUse> uses;
  MutMatrix gradient;
  Slot slot;

  /// For the next pass; memory stays.
  void begin(Kind of, bool gradient_wanted) {
    kind = of;
    wants_gradient = gradient_wanted;
    terms.clear();
    work.clear();
    ending = {};
    finish = {};
    uses.clear();
    gradient = {};
  }
};

/// The flat gradient, slice by slice: the first to write a slice overwrites it.
struct Tape::ParameterGradients {
  const ParameterList& list;
  std::span<float> flat;
  std::vector<bool> written;
  std::vector<float> scratch;

  /// Lets `write` fill the gradient of one of equal parameters, and gives all of them the same.
  template <class Write>
  void add(const std::vector<std::size_t>& numbers, const Write& write) {
    if (numbers.empty()) {
      return;
    }
    const auto first = list.vector_of(numbers.front(), flat);
    std::span<float> fresh = first;
    const bool any_written = std::ranges::any_of(numbers, [&](auto n) { return written[n]; });
    if (any_written) {
      scratch.resize(first.size());
      fresh = scratch;
    }
    write(fresh);
    for (const std::size_t number : numbers) {
      const auto to = list.vector_of(number, flat);
      if (written[number]) {
        std::ranges::transform(to, fresh, to.begin(), std::plus<>());
      } else if (to.data() != fresh.data()) {
        std::ranges::copy(fresh, to.begin());
      }
      written[number] = true;
    }
  }
  void clear_unwritten() {
    for (std::size_t number = 0; number < written.size(); ++number) {
      if (!written[number]) {
        std::ranges::fill(list.vector_of(number, flat), 0.0F);
      }
    }
  }
};

Tape::Tape(BlockOps& ops) : ops_(ops) {}

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
}

Tape::Operation& Tape::append() {
  if (used_ == operations_.size()) {
    operations_.push_back(std::make_unique<Operation>());
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

Term Tape::aggregate(Rows rows, const LayerBlock& block, Aggregator aggregator,
                     std::vector<std::size_t> weights) {
  Path path;
  path.reach = Reach::aggregate;
  path.aggregator = aggregator;
  path.block = &block;
  return {rows, path, std::move(weights), {}, terms_++};
}

Term Tape::weighted_sum(Rows rows, const LayerBlock& block, const EdgeFactors& factors,
                        std::vector<std::size_t> weights) {
  Path path;
  path.reach = Reach::weighted_sum;
  path.block = &block;
  path.factors = factors;
  return {rows, path, std::move(weights), {}, terms_++};
}

Rows Tape::head_scores(Rows rows, std::size_t count, std::size_t vectors) {
  const ConstMatrix x = value(rows);
  const ConstMatrix of_heads = list_->matrix_of(vectors, parameters_);
  TROUPE_ASSERT(count <= x.rows && of_heads.size() == x.cols, "scores of heads", count, x.rows,
                of_heads.rows, of_heads.cols, x.cols);
  Operation& operation = append();
  operation.begin(Operation::Kind::head_scores, true);
  const MutMatrix scores = operation.slot.finish.output_memory.matrix(count, of_heads.rows);
  ops_.head_scores(*executor_, x.slice(0, count), of_heads, scores);
  operation.value = scores;
  operation.source = rows;
  operation.vectors = vectors;
  operation.order = terms_++;
  return last();
}

Rows Tape::attention(Rows source, Rows destination, const LayerBlock& block, const Attention& how) {
  const ConstMatrix from = value(source);
  const ConstMatrix to = value(destination);
  TROUPE_ASSERT(block.num_src <= from.rows && block.num_dst <= to.rows && from.cols == to.cols &&
                    (!how.one_loop || block.num_dst <= block.num_src),
                "scores for attention", block.num_src, from.rows, block.num_dst, to.rows, from.cols,
                to.cols);
  Operation& operation = append();
  operation.begin(Operation::Kind::attention, true);
  const AttentionShape shape{&block, from.cols, how.one_loop};
  const MutMatrix weights = operation.slot.finish.output_memory.matrix(shape.rows(), from.cols);
  operation.attention = {shape, how.slope, from, to, weights};
  ops_.attention(*executor_, operation.attention);
  operation.value = weights;
  operation.source = source;
  operation.destination = destination;
  operation.order = terms_;
  terms_ += 2;
  return last();
}

Term Tape::attend(Rows rows, Rows weights, const LayerBlock& block, bool mean) {
  const ConstMatrix of_edges = value(weights);
  const auto& shape = operations_[weights.index]->attention.shape;
  TROUPE_ASSERT(operations_[weights.index]->kind == Operation::Kind::attention &&
                    shape.block == &block && cols(rows) % shape.heads == 0,
                "attention of another block", shape.heads, cols(rows));
  Path path;
  path.reach = Reach::attend;
  path.block = &block;
  path.attention = shape;
  path.weights = of_edges;
  path.out_cols = mean ? cols(rows) / shape.heads : cols(rows);
  return {rows, path, {}, weights, terms_++};
}

EdgeFactors Tape::degree_factors(const LayerBlock& block, const LayerBlock* below) {
  if (factors_ == factor_memory_.size()) {
    factor_memory_.push_back(std::make_unique<GcnFactors>());
  }
  return factor_memory_[factors_++]->build(block, below);
}

/// One parameter, or the sum of several in `sum`: as a matrix.
MutMatrix Tape::parameters_of(const std::vector<std::size_t>& numbers,
                              GrowBuffer<float>& sum) const {
  if (numbers.empty()) {
    return {};
  }
  const ConstMatrix first = list_->matrix_of(numbers.front(), parameters_);
  if (numbers.size() == 1) {
    // Views of parameters are read only; the type serves both cases.
    return {const_cast<float*>(first.data), first.rows, first.cols};  // NOLINT
  }
  std::vector<std::span<const float>> values;
  values.reserve(numbers.size());
  for (const std::size_t number : numbers) {
    values.push_back(list_->vector_of(number, parameters_));
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

ConstMatrix Tape::gradient(Rows input) const {
  TROUPE_ASSERT(input.index < used_ && operations_[input.index]->wants_gradient,
                "gradient of an input that did not ask for it", input.index, used_);
  return operations_[input.index]->gradient;
}

const EdgesBySource& Tape::by_source(const LayerBlock& block) const {
  const auto end = sorted_.begin() + static_cast<std::ptrdiff_t>(blocks_sorted_);
  const auto found = std::find_if(sorted_.begin(), end,
                                  [&](const auto& sorted) { return sorted->block == &block; });
  TROUPE_ASSERT(found != end, "a block whose edges are not sorted", blocks_sorted_);
  return (*found)->edges;
}

/// Lists by source of all blocks along which a gradient comes back.
void Tape::sort_by_source() {
  blocks_sorted_ = 0;
  const auto add = [&](const LayerBlock* block) {
    const auto end = sorted_.begin() + static_cast<std::ptrdiff_t>(blocks_sorted_);
    if (std::any_of(sorted_.begin(), end, [&](const auto& s) { return s->block == block; })) {
      return;
    }
    if (blocks_sorted_ == sorted_.size()) {
      sorted_.push_back(std::make_unique<SortedBlock>());
    }
    sorted_[blocks_sorted_++]->block = block;
  };
  for (std::size_t i = 0; i < used_; ++i) {
    const Operation& operation = *operations_[i];
    if (operation.kind == Operation::Kind::attention) {
      add(operation.attention.shape.block);
    }
    for (const Term& term : operation.terms) {
      if (term.path.reach != Reach::own && operations_[term.source.index]->wants_gradient) {
        add(term.path.block);
      }
    }
  }
  std::vector<BlockOps::SortWork> blocks;
  for (std::size_t i = 0; i < blocks_sorted_; ++i) {
    blocks.push_back({sorted_[i]->block, &sorted_[i]->edges});
  }
  ops_.sort_by_source(*executor_, blocks);
}

void Tape::backward(Rows result, ConstMatrix grad, std::span<float> gradient) {
  TROUPE_ASSERT(keep_ && gradient.size() == parameters_.size(), "backward", keep_, gradient.size(),
                parameters_.size());
  const ConstMatrix out = value(result);
  TROUPE_ASSERT(grad.rows == out.rows && grad.cols == out.cols, "gradient of the result", grad.rows,
                grad.cols, out.rows, out.cols);
  ParameterGradients gradients{*list_, gradient, std::vector<bool>(list_->layout().size()), {}};
  sort_by_source();
  Operation& last = *operations_[result.index];
  last.gradient = last.slot.gradient.matrix(grad.rows, grad.cols);
  std::ranges::copy(grad.flat(), last.gradient.data);
  for (std::size_t i = std::size_t{result.index} + 1; i-- > 0;) {
    Operation& operation = *operations_[i];
    if (operation.wants_gradient && (i == result.index || collect_gradient(operation))) {
      operation_backward(operation, operation.gradient, gradients);
    }
  }
  gradients.clear_unwritten();
}

bool Tape::collect_gradient(Operation& operation) {
  const bool is_input = operation.kind == Operation::Kind::input;
  if (operation.uses.empty() && !is_input) {
    return false;
  }
  std::ranges::sort(operation.uses, {}, &Operation::OrderedUse::order);
  std::vector<UseWork> uses;
  uses.reserve(operation.uses.size());
  for (const auto& use : operation.uses) {
    uses.push_back(use.work);
  }
  const ConstMatrix value = operation.value;
  operation.gradient = operation.slot.gradient.matrix(value.rows, value.cols);
  if (uses.empty()) {
    std::ranges::fill(operation.gradient.flat(), 0.0F);
  } else {
    ops_.source_gradient(*executor_, uses, operation.gradient);
  }
  return !is_input;
}

void Tape::operation_backward(Operation& operation, MutMatrix grad, ParameterGradients& gradients) {
  switch (operation.kind) {
    case Operation::Kind::input:
      return;
    case Operation::Kind::drop:
      return drop_backward(operation, grad);
    case Operation::Kind::combination:
      return combination_backward(operation, grad, gradients);
    case Operation::Kind::head_scores:
      return head_scores_backward(operation, grad, gradients);
    case Operation::Kind::attention:
      return attention_backward(operation, grad);
  }
}

void Tape::use(Rows rows, std::uint32_t order, const UseWork& work) {
  Operation& source = *operations_[rows.index];
  if (source.wants_gradient) {
    source.uses.push_back({order, work});
  }
}

void Tape::drop_backward(Operation& operation, MutMatrix grad) {
  ops_.drop(*executor_, grad, operation.ending.mask, operation.ending.ids, grad);
  use(operation.source, operation.order, {{}, nullptr, grad, {}, {}});
}

void Tape::head_scores_backward(Operation& operation, ConstMatrix grad,
                                ParameterGradients& gradients) {
  const ConstMatrix vectors = list_->matrix_of(operation.vectors, parameters_);
  gradients.add({operation.vectors}, [&](std::span<float> out) {
    ops_.head_scores_gradient(*executor_, grad, value(operation.source).slice(0, grad.rows),
                              {out.data(), vectors.rows, vectors.cols});
  });
  Path path;
  path.reach = Reach::head_scores;
  use(operation.source, operation.order, {path, nullptr, grad, vectors, {}});
}

void Tape::attention_backward(Operation& operation, MutMatrix grad) {
  const auto& shape = operation.attention.shape;
  const MutMatrix of_destinations =
      operation.slot.term(0).grad_summed.matrix(shape.block->num_dst, shape.heads);
  ops_.attention_backward(*executor_, operation.attention, grad, of_destinations);
  Path path;
  path.reach = Reach::attention;
  path.block = shape.block;
  path.attention = shape;
  use(operation.source, operation.order, {path, &by_source(*shape.block), grad, {}, {}});
  use(operation.destination, operation.order + 1, {{}, nullptr, of_destinations, {}, {}});
}

void Tape::combination_backward(Operation& operation, MutMatrix grad,
                                ParameterGradients& gradients) {
  const auto sums = ops_.finish_backward(*executor_, operation.finish, operation.slot.finish, grad);
  const std::size_t cols = grad.cols;
  gradients.add(operation.ending.biases,
                [&](std::span<float> out) { std::ranges::copy(sums.first(cols), out.begin()); });
  if (operation.ending.norm) {
    const std::size_t gain = operation.ending.norm_gain;
    gradients.add({gain}, [&](std::span<float> out) {
      std::ranges::copy(sums.subspan(cols, cols), out.begin());
    });
    gradients.add({gain + 1},
                  [&](std::span<float> out) { std::ranges::copy(sums.last(cols), out.begin()); });
  }
  for (std::size_t t = 0; t < operation.terms.size(); ++t) {
    term_backward(operation, t, grad, gradients);
  }
}

void Tape::term_backward(Operation& operation, std::size_t position, ConstMatrix grad,
                         ParameterGradients& gradients) {
  const Term& term = operation.terms[position];
  const TermWork& work = operation.work[position];
  auto& memory = operation.slot.term(position);
  const bool own = term.path.reach == Reach::own;
  const bool product = !term.weights.empty();
  if (product) {
    const ConstMatrix x = own ? work.source.slice(0, grad.rows) : ConstMatrix(work.summed);
    gradients.add(term.weights, [&](std::span<float> out) {
      ops_.weight_gradient(*executor_, grad, x, {out.data(), work.weight.rows, work.weight.cols});
    });
  }
  UseWork use_work{term.path, nullptr, grad, {}, work.argmax};
  if (own) {
    use_work.weight = work.weight;
    return use(term.source, term.order, use_work);
  }
  const bool wanted = operations_[term.source.index]->wants_gradient;
  if (product && (wanted || term.weights_of_edges)) {
    const MutMatrix grad_summed = memory.grad_summed.matrix(grad.rows, work.weight.cols);
    ops_.product_backward(*executor_, grad, work.weight, grad_summed);
    use_work.grad = grad_summed;
  }
  if (term.weights_of_edges) {
    const auto& shape = term.path.attention;
    const MutMatrix of_weights = memory.grad_weights.matrix(shape.rows(), shape.heads);
    ops_.attend_weights_gradient(*executor_, shape, work.source, use_work.grad, of_weights);
    use(*term.weights_of_edges, term.order, {{}, nullptr, of_weights, {}, {}});
  }
  if (wanted) {
    use_work.by_source = &by_source(*term.path.block);
    use(term.source, term.order, use_work);
  }
}

}  // namespace troupe::nn
