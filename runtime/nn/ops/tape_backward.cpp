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
  pick_sources();
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
    if (operation.is_attention()) {
      add(operation.shape().block);
    }
    for (const Term& term : operation.terms) {
      if (term.path.reach != Reach::own && operations_[term.source.index]->wants_gradient) {
        add(term.listed ? &listed_[*term.listed]->compact : term.path.block);
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
  const Result only{result, grad};
  backward({&only, 1}, gradient);
}

void Tape::backward(std::span<const Result> results, std::span<float> gradient) {
  TROUPE_ASSERT(keep_ && gradient.size() == parameters_.size(), "backward", keep_, gradient.size(),
                parameters_.size());
  const std::span mixtures = std::span(mixtures_).first(mixed_);
  for (const auto& mixture : mixtures) {
    mixture->gradient = mixture->gradient_memory.matrix(mixture->value.rows, mixture->value.cols);
  }
  ParameterGradients gradients{ops_,
                               *list_,
                               gradient,
                               std::vector<bool>(list_->layout().size() + mixed_),
                               shared_gradient_,
                               mixtures};
  sort_by_source();
  std::vector<bool> given(used_);
  std::size_t end = 0;
  for (const auto& [rows, grad] : results) {
    const ConstMatrix out = value(rows);
    TROUPE_ASSERT(grad.rows == out.rows && grad.cols == out.cols, "gradient of the result",
                  grad.rows, grad.cols, out.rows, out.cols);
    Operation& last = *operations_[rows.index];
    if (last.kind == Operation::Kind::input) {                                // nobody changes it
      last.gradient = {const_cast<float*>(grad.data), grad.rows, grad.cols};  // NOLINT
    } else {
      last.gradient = last.slot.gradient.matrix(grad.rows, grad.cols);
      ops_.copy(grad.flat(), last.gradient.flat());
    }
    given[rows.index] = true;
    end = std::max(end, std::size_t{rows.index} + 1);
  }
  for (std::size_t i = end; i-- > 0;) {
    Operation& operation = *operations_[i];
    if (operation.wants_gradient && (given[i] || collect_gradient(operation))) {
      operation_backward(operation, operation.gradient, gradients);
    }
  }
  mixtures_backward(gradients);
  gradients.clear_unwritten();
}

void Tape::mixtures_backward(ParameterGradients& gradients) {
  for (std::size_t i = 0; i < mixed_; ++i) {
    if (!gradients.written[list_->layout().size() + i]) {
      continue;
    }
    const Mixture& mixture = *mixtures_[i];
    const ConstMatrix bases = list_->matrix_of(mixture.bases, parameters_);
    const auto coefficients = list_->vector_of(mixture.coefficients, parameters_);
    gradients.add({mixture.coefficients}, [&](std::span<float> out) {
      ops_.mix_coefficients_gradient(mixture.gradient, bases, out);
    });
    gradients.add({mixture.bases}, [&](std::span<float> out) {
      ops_.mix_bases_gradient(mixture.gradient, coefficients, {out.data(), bases.rows, bases.cols});
    });
  }
}

bool Tape::collect_gradient(Operation& operation) {
  const bool is_input = operation.kind == Operation::Kind::input;
  // The first part of an attention works for the others too.
  const bool first_part = operation.kind == Operation::Kind::pair_attention && operation.part == 0;
  if (operation.uses.empty() && !is_input && !first_part) {
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
    case Operation::Kind::head_products:
      return head_products_backward(operation, grad, gradients);
    case Operation::Kind::gate:
      return gate_backward(operation, grad, gradients);
    case Operation::Kind::batch_norm:
      return batch_norm_backward(operation, grad, gradients);
    case Operation::Kind::pair_attention:
      return pair_attention_backward(operation, gradients);
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
  placed_backward(operation, grad);
  for (std::size_t t = 0; t < operation.terms.size(); ++t) {
    term_backward(operation, t, grad, gradients);
  }
}

void Tape::term_backward(Operation& operation, std::size_t position, ConstMatrix grad,
                         ParameterGradients& gradients) {
  const Term& term = operation.terms[position];
  if (term.path.places) {
    return placed_term_backward(operation, position, grad, gradients);
  }
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
  if (term.factor) {
    gradients.add({*term.factor}, [&](std::span<float> out) {
      ops_.factor_gradient(*executor_, grad, work.source.slice(0, grad.rows), out);
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
