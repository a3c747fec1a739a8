// Blocks with listed rows: terms along edges that end at few rows.
#include "runtime/base/assert.hpp"
#include "runtime/nn/ops/tape_state.hpp"

#include <algorithm>

namespace troupe::nn {

void Tape::Listed::begin(const LayerBlock& from) {
  of = &from;
  compact = {};
  picked = {};
  const auto& listed = *from.listed;
  places = listed.rows;
  if (listed.first_row > 0) {
    const auto moved = rows_memory.get(listed.rows.size());
    for (std::size_t i = 0; i < moved.size(); ++i) {
      moved[i] = listed.destination(i);
    }
    places = moved;
  }
  block = {.num_dst = static_cast<std::uint32_t>(places.size()),
           .num_src = from.num_src,
           .offsets = listed.offsets,
           .sources = from.sources,
           .weights = from.weights};
}

void Tape::Listed::pick_sources() {
  if (!compact.offsets.empty()) {
    return;
  }
  const std::size_t first = block.offsets.front();
  const std::size_t end = block.offsets.back();
  const auto taken = block.sources.subspan(first, end - first);
  const auto sorted = picked_memory.get(taken.size());
  std::ranges::copy(taken, sorted.begin());
  std::ranges::sort(sorted);
  const auto behind = std::unique(sorted.begin(), sorted.end());
  picked = sorted.first(static_cast<std::size_t>(behind - sorted.begin()));
  const auto numbered = numbered_memory.get(end);  // by position, as offsets have it
  for (std::size_t e = first; e < end; ++e) {
    const auto at = std::ranges::lower_bound(picked, block.sources[e]);
    numbered[e] = static_cast<std::uint32_t>(at - picked.begin());
  }
  compact = block;
  compact.num_src = static_cast<std::uint32_t>(picked.size());
  compact.sources = numbered;
}

std::size_t Tape::listed_block(const LayerBlock& block) {
  TROUPE_ASSERT(ops_.has_places(), "listed rows on a device", block.num_dst);
  if (blocks_listed_ == listed_.size()) {
    listed_.push_back(std::make_unique<Listed>(ops_.memory()));
  }
  listed_[blocks_listed_]->begin(block);
  return blocks_listed_++;
}

Term Tape::aggregate_products(Rows rows, const LayerBlock& block, Aggregator aggregator,
                              std::size_t weight) {
  if (!block.listed) {
    return aggregate(linear(rows, block.num_src, weight), block, aggregator);
  }
  const std::size_t number = listed_block(block);
  Listed& listed = *listed_[number];
  listed.pick_sources();
  Term products = own(rows, {weight});
  products.path.places = listed.picked;
  products.listed = number;
  Term term = aggregate(combine({std::move(products)}, listed.picked.size(), {}), listed.compact,
                        aggregator);
  term.path.places = listed.places;
  return term;
}

/// Sources that edges take, of all blocks along which a gradient comes back.
void Tape::pick_sources() {
  std::vector<Listed*> wanted;
  for (std::size_t i = 0; i < used_; ++i) {
    for (const Term& term : operations_[i]->terms) {
      if (term.listed && operations_[term.source.index]->wants_gradient) {
        wanted.push_back(listed_[*term.listed].get());
      }
    }
  }
  executor_->parallel_for(wanted.size(), [&](std::size_t i) { wanted[i]->pick_sources(); });
}

/// Gradients of the products of all terms with places, side by side.
void Tape::placed_backward(Operation& operation, ConstMatrix grad) {
  std::vector<PlacedGradient> gradients;
  for (std::size_t t = 0; t < operation.terms.size(); ++t) {
    const Term& term = operation.terms[t];
    const TermWork& work = operation.work[t];
    if (!term.path.places) {
      continue;
    }
    auto& memory = operation.slot.term(t);
    const bool own = term.path.reach == Reach::own;
    const bool product = !term.weights.empty();
    const bool wanted = operations_[term.source.index]->wants_gradient;
    const std::size_t places = term.path.places->size();
    memory.placed_rows = own ? MutMatrix{} : memory.grad_rows.matrix(places, grad.cols);
    memory.placed_weight =
        product ? memory.grad_weight.matrix(work.weight.rows, work.weight.cols) : MutMatrix{};
    memory.placed_x = product && wanted && !own
                          ? memory.grad_summed.matrix(places, work.weight.cols)
                          : MutMatrix{};
    gradients.push_back({.grad = grad,
                         .own = own,
                         .places = *term.path.places,
                         .rows = own ? listed_[*term.listed]->of->num_src : grad.rows,
                         .x = work.summed,
                         .weight = work.weight,
                         .grad_rows = memory.placed_rows,
                         .grad_weight = memory.placed_weight,
                         .grad_x = memory.placed_x});
  }
  if (!gradients.empty()) {
    ops_.placed_gradients(*executor_, gradients);
  }
}

void Tape::placed_term_backward(Operation& operation, std::size_t position, ConstMatrix grad,
                                ParameterGradients& gradients) {
  const Term& term = operation.terms[position];
  const TermWork& work = operation.work[position];
  const auto& memory = operation.slot.term(position);
  gradients.add(term.weights,
                [&](std::span<float> out) { ops_.copy(memory.placed_weight.flat(), out); });
  if (!operations_[term.source.index]->wants_gradient) {
    return;
  }
  UseWork use_work{term.path, nullptr, grad, {}, {}};
  use_work.path.places.reset();
  const bool own = term.path.reach == Reach::own;
  if (own) {
    use_work.weight = work.weight;
  } else {
    use_work.grad = term.weights.empty() ? memory.placed_rows : memory.placed_x;
  }
  if (term.listed) {
    const Listed& listed = *listed_[*term.listed];
    use_work.path.places = listed.picked;
    use_work.path.block = own ? nullptr : &listed.compact;
    use_work.rows = listed.of->num_src;
  }
  if (!own) {
    use_work.by_source = &by_source(*use_work.path.block);
  }
  use(term.source, term.order, use_work);
}

}  // namespace troupe::nn
