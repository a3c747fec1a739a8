#include "runtime/nn/knowledge/triple_chunks.hpp"

#include <algorithm>

namespace troupe::nn {
namespace {

/// Rows of a task: enough that it takes longer than its start.
constexpr std::size_t rows_at_once = 64;

/// Calls `body(row, scratch)` for all rows of a matrix; `scratch` is a row of it.
template <class Body>
void for_each_row(Executor& executor, MutMatrix rows, const Body& body) {
  executor.parallel_for((rows.rows + rows_at_once - 1) / rows_at_once, [&](std::size_t part) {
    std::vector<float> scratch(rows.cols);
    const std::size_t end = std::min(rows.rows, (part + 1) * rows_at_once);
    for (std::size_t row = part * rows_at_once; row < end; ++row) {
      body(row, std::span<float>(scratch));
    }
  });
}

void add_row(std::span<const float> row, std::span<float> sum) {
  const float* __restrict in = row.data();
  float* __restrict out = sum.data();
  for (std::size_t c = 0; c < sum.size(); ++c) {
    out[c] += in[c];
  }
}

}  // namespace

/// Cosines and sines of the relations that occur, once each; no rows where relations are their factors.
ConstMatrix TripleChunks::factors_of(Executor& executor, const TripleLossWork& work) {
  if (work.options.score.kind != ScoreKind::rotate) {
    return {};
  }
  const MutMatrix factors = factors_.matrix(work.relations.rows, work.entities.cols);
  constexpr std::size_t relations_at_once = 8;
  executor.parallel_for(
      (factors.rows + relations_at_once - 1) / relations_at_once, [&](std::size_t part) {
        const std::size_t end = std::min(factors.rows, (part + 1) * relations_at_once);
        for (std::size_t r = part * relations_at_once; r < end; ++r) {
          if (!relations_.of_row(r).empty()) {
            relation_factors(work.options.score, work.relations.slice(r, 1), factors.slice(r, 1));
          }
        }
      });
  return factors;
}

void TripleChunks::run(Executor& executor, const TripleLossWork& work, Precision precision) {
  const std::size_t count = work.chunks();
  while (chunks_.size() < count) {
    chunks_.push_back(std::make_unique<TripleChunk>());
  }
  relations_.assign(work.relations.rows, {&work.relation, 1});
  const ConstMatrix factors = factors_of(executor, work);
  std::vector<double> sums(count);
  executor.parallel_for(
      count, [&](std::size_t c) { sums[c] = chunks_[c]->run(work, c, factors, precision); });
  *work.sum = 0;
  for (const double sum : sums) {
    *work.sum += sum;
  }
  add_entities(executor, work);
  add_relations(executor, work);
}

void TripleChunks::add_entities(Executor& executor, const TripleLossWork& work) {
  const std::size_t of_chunk = work.options.chunk;
  const std::size_t negatives = work.options.negatives;
  lists_.clear();
  for (std::size_t c = 0; c < work.chunks(); ++c) {
    const std::size_t first = c * of_chunk;
    const std::size_t triples = std::min(of_chunk, work.known.size() - first);
    lists_.push_back(work.known.subspan(first, triples));
    lists_.push_back(work.answer.subspan(first, triples));
    lists_.push_back(work.candidates.subspan(c * negatives, negatives));
  }
  entities_.assign(work.entities.rows, lists_);
  const std::size_t elements = 2 * of_chunk + negatives;  // of all chunks but the last
  for_each_row(executor, work.grad_entities, [&](std::size_t row, std::span<float> scratch) {
    const auto sum = work.grad_entities.row(row);
    std::ranges::fill(sum, 0.0F);
    for (const std::uint32_t element : entities_.of_row(row)) {
      chunks_[element / elements]->entity_gradient(element % elements, scratch);
      add_row(scratch, sum);
    }
  });
}

void TripleChunks::add_relations(Executor& executor, const TripleLossWork& work) {
  const std::size_t of_chunk = work.options.chunk;
  for_each_row(executor, work.grad_relations, [&](std::size_t row, std::span<float> scratch) {
    const auto sum = work.grad_relations.row(row);
    std::ranges::fill(sum, 0.0F);
    for (const std::uint32_t triple : relations_.of_row(row)) {
      chunks_[triple / of_chunk]->relation_gradient(triple % of_chunk, scratch);
      add_row(scratch, sum);
    }
  });
}

}  // namespace troupe::nn
