// Products by head and gates of tape.hpp, and their gradients.
#include "runtime/base/assert.hpp"
#include "runtime/nn/ops/tape_state.hpp"

namespace troupe::nn {

Rows Tape::head_products(Rows rows, std::size_t count, std::size_t weights) {
  const ConstMatrix x = value(rows);
  const ConstMatrix of_heads = list_->matrix_of(weights, parameters_);
  TROUPE_ASSERT(count <= x.rows && of_heads.rows == x.cols, "products of heads", count, x.rows,
                of_heads.rows, x.cols);
  Operation& operation = append();
  operation.begin(Operation::Kind::head_products, true);
  const MutMatrix out = operation.slot.finish.output_memory.matrix(count, x.cols);
  ops_.head_products(*executor_, x.slice(0, count), of_heads, out);
  operation.value = out;
  operation.source = rows;
  operation.vectors = weights;
  operation.order = terms_++;
  return last();
}

Rows Tape::gate(Rows fresh, Rows old, std::size_t gate) {
  const ConstMatrix from = value(fresh);
  const ConstMatrix before = value(old);
  TROUPE_ASSERT(from.rows <= before.rows && from.cols == before.cols, "gate", from.rows,
                before.rows, from.cols, before.cols);
  Operation& operation = append();
  operation.begin(Operation::Kind::gate, true);
  const MutMatrix out = operation.slot.finish.output_memory.matrix(from.rows, from.cols);
  ops_.gate(*executor_, list_->vector_of(gate, parameters_), from, before.slice(0, from.rows), out);
  operation.value = out;
  operation.source = fresh;
  operation.destination = old;
  operation.vectors = gate;
  operation.order = terms_;
  terms_ += 2;
  return last();
}

void Tape::head_products_backward(Operation& operation, ConstMatrix grad,
                                  ParameterGradients& gradients) {
  const ConstMatrix weights = list_->matrix_of(operation.vectors, parameters_);
  gradients.add({operation.vectors}, [&](std::span<float> out) {
    ops_.head_products_gradient(*executor_, grad, value(operation.source).slice(0, grad.rows),
                                {out.data(), weights.rows, weights.cols});
  });
  Path path;
  path.reach = Reach::head_product;
  use(operation.source, operation.order, {path, nullptr, grad, weights, {}});
}

void Tape::gate_backward(Operation& operation, MutMatrix grad, ParameterGradients& gradients) {
  const MutMatrix grad_old = operation.slot.term(0).grad_summed.matrix(grad.rows, grad.cols);
  gradients.add({operation.vectors}, [&](std::span<float> out) {
    ops_.gate_backward(*executor_, list_->vector_of(operation.vectors, parameters_),
                       value(operation.source), value(operation.destination).slice(0, grad.rows),
                       grad, grad_old, out);
  });
  use(operation.source, operation.order, {{}, nullptr, grad, {}, {}});
  use(operation.destination, operation.order + 1, {{}, nullptr, grad_old, {}, {}});
}

}  // namespace troupe::nn
