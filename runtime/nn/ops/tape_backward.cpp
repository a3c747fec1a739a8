// Gradients of tape.hpp.
#include "runtime/base/assert.hpp"
#include "runtime/nn/ops/tape_state.hpp"

#include <algorithm>

namespace troupe::nn {

ConstMatrix Tape::gradient(Rows input) const {
  TROUPE_ASSERT(input.index < used_ && operations_[input.index]->wants_gradient,
                "gradient of an input that did not ask for it", input.index, used_);
  return operations_[input.index]->gradient;
}

Tape::SortedBlock* Tape::find_sorted(const LayerBlock* block) const {
  const auto of_pass = std::span(sorted_).first(blocks_sorted_);
  const auto found = std::ranges::find(of_pass, block, [](const auto& s) { return s->block; });
  return found == of_pass.end() ? nullptr : found->get();
}

const EdgesBySource& Tape::by_source(const LayerBlock& block) const {
  const auto* found = find_sorted(&block);
  TROUPE_ASSERT(found != nullptr, "a block whose edges are not sorted", blocks_sorted_);
  return found->edges;
}

/// Lists by source of all blocks along which a gradient comes back.
void Tape::sort_by_source() {
  blocks_sorted_ = 0;
  const auto add = [&](const LayerBlock* block) {
    if (find_sorted(block) != nullptr) {
      return;
    }
    if (blocks_sorted_ == sorted_.size()) {
      sorted_.push_back(std::make_unique<SortedBlock>(ops_.memory()));
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
  ParameterGradients gradients{ops_, *list_, gradient, std::vector<bool>(list_->layout().size()),
                               shared_gradient_};
  sort_by_source();
  Operation& last = *operations_[result.index];
  last.gradient = last.slot.gradient.matrix(grad.rows, grad.cols);
  ops_.copy(grad.flat(), last.gradient.flat());
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
    ops_.zero(operation.gradient.flat());
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
                [&](std::span<float> out) { ops_.copy(sums.first(cols), out); });
  if (operation.ending.norm) {
    const std::size_t gain = operation.ending.norm_gain;
    gradients.add({gain}, [&](std::span<float> out) { ops_.copy(sums.subspan(cols, cols), out); });
    gradients.add({gain + 1}, [&](std::span<float> out) { ops_.copy(sums.last(cols), out); });
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
