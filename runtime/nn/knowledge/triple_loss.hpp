#pragma once
/// \file triple_loss.hpp
/// The loss of a batch's triples, each against the candidates of its chunk, as a set of functions computes
/// it.
#include "runtime/base/matrix.hpp"
#include "runtime/nn/knowledge/knowledge_options.hpp"
#include "runtime/sample/knowledge/replaced_end.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace troupe::nn {

enum class TripleRule : std::uint8_t { softmax, self_adversarial };

/// One of the losses of chunk_loss.hpp.
struct TripleLoss {
  TripleRule rule = TripleRule::softmax;
  double margin = 1;       ///< of self_adversarial
  double temperature = 1;  ///< of self_adversarial
};

/// All arrays are in the memory of the functions.
struct TripleLossWork {
  KnowledgeOptions options;
  TripleLoss loss;
  ReplacedEnd replaced = ReplacedEnd::tail;
  ConstMatrix entities;                       ///< [nodes, columns]
  ConstMatrix relations;                      ///< [relations, their columns]
  std::span<const std::uint32_t> known;       ///< [triples] entities of the ends that stay
  std::span<const std::uint32_t> relation;    ///< [triples]
  std::span<const std::uint32_t> answer;      ///< [triples] the other ends
  std::span<const std::uint32_t> candidates;  ///< [chunks(), options.negatives]
  MutMatrix grad_entities;                    ///< of the entities' shape; overwritten
  MutMatrix grad_relations;                   ///< of the relations' shape; overwritten
  double* sum = nullptr;                      ///< gets the sum of the losses, an element a triple

  std::size_t chunks() const { return (known.size() + options.chunk - 1) / options.chunk; }
};

}  // namespace troupe::nn
