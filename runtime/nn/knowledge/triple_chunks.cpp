#include "runtime/nn/knowledge/triple_chunks.hpp"

#include "runtime/base/even_share.hpp"

#include <algorithm>

namespace troupe::nn {
namespace {

/// Rows of a task: enough that it takes longer than its start.
constexpr std::size_t rows_at_once = 64;

void set_row(std::span<const float> row, std::span<float> sum) {
  const float* __restrict in = row.data();
  float* __restrict out = sum.data();
  for (std::size_t c = 0; c < sum.size(); ++c) {
    out[c] = 0.0F + in[c];  // as a sum that begins at 0, which is not -0
  }
}

void add_row(std::span<const float> row, std::span<float> sum) {
  const float* __restrict in = row.data();
  float* __restrict out = sum.data();
  for (std::size_t c = 0; c < sum.size(); ++c) {
    out[c] += in[c];
  }
}

/// Sums what is added to each row of a part of a matrix.
/// \param gradient_of  (element, scratch) -> its gradient, in `scratch` or elsewhere
template <class GradientOf>
void sum_part(std::size_t part, const RowTouches& touches, MutMatrix sums,
              const GradientOf& gradient_of) {
  std::vector<float> scratch(sums.cols);
  const std::size_t end = std::min(sums.rows, (part + 1) * rows_at_once);
  for (std::size_t row = part * rows_at_once; row < end; ++row) {
    const auto sum = sums.row(row);
    const auto elements = touches.of_row(row);
    if (elements.empty()) {
      std::ranges::fill(sum, 0.0F);
      continue;
    }
    set_row(gradient_of(elements.front(), std::span<float>(scratch)), sum);
    for (const std::uint32_t element : elements.subspan(1)) {
      add_row(gradient_of(element, std::span<float>(scratch)), sum);
    }
  }
}

}  // namespace

/// Cosines and sines of the relations that occur, once each; no rows where relations are their factors.
ConstMatrix TripleChunks::factors_of(Executor& executor, const TripleLossWork& work) {
  if (!work.options.score.row().angles) {
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
  touch_entities(work);
  sum_rows(executor, work);
}

void TripleChunks::touch_entities(const TripleLossWork& work) {
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
}

void TripleChunks::sum_rows(Executor& executor, const TripleLossWork& work) {
  const std::size_t of_chunk = work.options.chunk;
  const std::size_t elements = 2 * of_chunk + work.options.negatives;  // of all chunks but the last
  const auto relation_parts = chunks_of(work.grad_relations.rows, rows_at_once);
  const auto entity_parts = chunks_of(work.grad_entities.rows, rows_at_once);
  executor.parallel_for(relation_parts + entity_parts, [&](std::size_t part) {
    if (part < relation_parts) {  // first: some relations occur often
      sum_part(part, relations_, work.grad_relations, [&](std::uint32_t triple, auto scratch) {
        return chunks_[triple / of_chunk]->relation_gradient(triple % of_chunk, scratch);
      });
    } else {
      sum_part(part - relation_parts, entities_, work.grad_entities,
               [&](std::uint32_t element, auto scratch) {
                 return chunks_[element / elements]->entity_gradient(element % elements, scratch);
               });
    }
  });
}

}  // namespace troupe::nn
