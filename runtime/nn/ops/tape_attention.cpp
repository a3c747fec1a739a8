// Attention of tape.hpp, and its gradients.
#include "runtime/base/assert.hpp"
#include "runtime/nn/ops/tape_state.hpp"

namespace troupe::nn {

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

/// The operation that made weights, which may have been dropped since.
const Tape::Operation& Tape::attention_of(Rows weights) const {
  const Operation& made = *operations_[weights.index];
  return made.kind == Operation::Kind::drop ? *operations_[made.source.index] : made;
}

Term Tape::attend(Rows rows, Rows weights, const LayerBlock& block, bool mean) {
  const ConstMatrix of_edges = value(weights);
  const std::size_t cols = value(rows).cols;
  const Operation& attention = attention_of(weights);
  const auto& shape = attention.shape();
  TROUPE_ASSERT(attention.is_attention() && shape.block == &block && cols % shape.heads == 0,
                "attention of another block", shape.heads, cols);
  Path path;
  path.reach = Reach::attend;
  path.block = &block;
  path.attention = shape;
  path.weights = of_edges;
  path.out_cols = mean ? cols / shape.heads : cols;
  return {rows, path, {}, weights, terms_++};
}

std::vector<Rows> Tape::pair_attention(std::span<const Pair> parts) {
  std::vector<PairAttention> work;
  std::vector<Rows> result;
  for (const Pair& of : parts) {
    const ConstMatrix from = value(of.source);
    const ConstMatrix to = value(of.destination);
    const ConstMatrix vectors = of.vectors ? list_->matrix_of(*of.vectors, parameters_)
                                           : ConstMatrix{nullptr, from.cols, 1};
    const ConstMatrix edges = of.edges ? value(*of.edges) : ConstMatrix{};
    const LayerBlock& block = *of.block;
    TROUPE_ASSERT(block.num_src <= from.rows && block.num_dst <= to.rows && from.cols == to.cols &&
                      block.num_dst == parts.front().block->num_dst &&
                      from.cols % vectors.rows == 0 &&
                      (!of.one_loop || block.num_dst <= block.num_src),
                  "rows for attention", block.num_src, from.rows, block.num_dst, to.rows, from.cols,
                  to.cols, vectors.rows);
    const std::size_t columns = of.score == PairScore::dynamic ? from.cols / vectors.rows : 1;
    TROUPE_ASSERT(vectors.cols == columns, "vectors of attention", vectors.cols, columns);
    TROUPE_ASSERT(
        !of.edges || (of.score == PairScore::dynamic && !of.one_loop && edges.cols == from.cols &&
                      edges.rows == AttentionShape{&block}.edges()),
        "rows of edges", edges.rows, edges.cols, from.cols);
    Operation& operation = append();
    operation.begin(Operation::Kind::pair_attention, true);
    const AttentionShape shape{&block, vectors.rows, of.one_loop};
    const MutMatrix weights = operation.slot.finish.output_memory.matrix(shape.rows(), shape.heads);
    operation.pair = {shape, of.score, of.slope, of.scale, from, to, vectors, weights, edges};
    operation.value = weights;
    operation.source = of.source;
    operation.destination = of.destination;
    operation.vectors = of.vectors.value_or(0);
    operation.fixed_vectors = !of.vectors;
    operation.edges = of.edges;
    operation.order = terms_;
    operation.parts = parts.size();
    operation.part = work.size();
    terms_ += 3;
    work.push_back(operation.pair);
    result.push_back(last());
  }
  ops_.pair_attention(*executor_, work);
  return result;
}

// ---- backward ----

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

/// All parts at once, where the first of them comes in turn: the last to come.
void Tape::pair_attention_backward(Operation& first, ParameterGradients& gradients) {
  if (first.part > 0) {
    return;
  }
  const auto at = std::ranges::find(operations_, &first, [](const auto& o) { return o.get(); });
  const std::span parts(at, first.parts);
  std::vector<PairAttention> work;
  std::vector<PairGradient> grads;
  for (const auto& part : parts) {
    if (part->gradient.data == nullptr) {  // no use of its weights reached the result
      part->gradient = part->slot.gradient.matrix(part->value.rows, part->value.cols);
      ops_.zero(part->gradient.flat());
    }
    auto& memory = part->slot.term(0).grad_summed;
    work.push_back(part->pair);
    grads.push_back({part->gradient,
                     memory.matrix(part->pair.shape.block->num_dst, part->pair.destination.cols)});
    if (part->edges && operations_[part->edges->index]->wants_gradient) {
      const ConstMatrix edges = part->pair.edges;
      grads.back().edges = part->slot.term(1).grad_summed.matrix(edges.rows, edges.cols);
    }
  }
  ops_.pair_attention_backward(*executor_, work, grads);
  for (std::size_t p = 0; p < parts.size(); ++p) {
    Operation& part = *parts[p];
    const ConstMatrix grad = part.gradient;
    const std::vector<std::size_t> vectors(part.fixed_vectors ? 0 : 1, part.vectors);
    gradients.add(vectors, [&](std::span<float> out) {
      ops_.pair_vectors_gradient(*executor_, part.pair, grad,
                                 {out.data(), part.pair.vectors.rows, part.pair.vectors.cols});
    });
    Path path;
    path.reach = Reach::pair;
    path.block = part.pair.shape.block;
    path.attention = part.pair.shape;
    use(part.source, part.order, {path, &by_source(*path.block), grad, {}, {}, &part.pair});
    use(part.destination, part.order + 1, {{}, nullptr, grads[p].destination, {}, {}});
    if (grads[p].edges.data != nullptr) {
      use(*part.edges, part.order + 2, {{}, nullptr, grads[p].edges, {}, {}});
    }
  }
}

}  // namespace troupe::nn
