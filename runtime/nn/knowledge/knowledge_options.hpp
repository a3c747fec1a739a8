#pragma once
/// \file knowledge_options.hpp
/// What a knowledge task learns with.
#include "runtime/nn/knowledge/chunk_loss.hpp"
#include "runtime/nn/knowledge/triple_score.hpp"

#include <cstdint>

namespace troupe::nn {

struct KnowledgeOptions {
  TripleScore score = {};
  std::uint64_t chunk = 256;      ///< Triples that share negatives
  std::uint32_t negatives = 256;  ///< Of each chunk
  Regularization regularization = Regularization::none;
  double factor = 0;  ///< Of the regularization, for each row as often as triples name it
};

/// Relations start uniform in [-bound, bound): angles in (-π, π), else 0.1 for products and
/// (margin + 2) / columns for distances, as DGL-KE starts entities.
float relation_bound(const TripleScore& score, double margin, std::uint64_t cols);

}  // namespace troupe::nn
