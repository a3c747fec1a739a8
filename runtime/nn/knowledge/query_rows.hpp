#pragma once
/// \file query_rows.hpp
/// Queries of triples (triple_score.hpp) of rows that are read where they are, and their gradients row by
/// row, so that nobody has to keep them all.
#include "runtime/nn/knowledge/placed_rows.hpp"
#include "runtime/nn/knowledge/triple_score.hpp"

#include <cstddef>
#include <span>

namespace troupe::nn {

/// As query_rows() of matrices.
void query_rows(const TripleScore& score, ReplacedEnd replaced, const PlacedRows& known,
                const PlacedRows& factors, MutMatrix queries);

/// What a query was made of, and its gradient; each has as many numbers as an entity.
struct QueryRow {
  const float* known;
  const float* factors;  ///< as relation_factors() gives them
  const float* grad;
};
/// The gradient by the row of the known end. \param out  [columns], overwritten
void known_gradient(const TripleScore& score, ReplacedEnd replaced, const QueryRow& query,
                    std::span<float> out);
/// The gradient by the row of the relation. \param out  [relation columns], overwritten
void relation_gradient(const TripleScore& score, ReplacedEnd replaced, const QueryRow& query,
                       std::span<float> out);

}  // namespace troupe::nn
