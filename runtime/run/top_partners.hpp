#pragma once
/// \file top_partners.hpp
/// What a trained model recommends: which nodes a decoder scores highest with a node, or which entities
/// complete a triple best.
#include "runtime/base/executor.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/matrix.hpp"
#include "runtime/base/result.hpp"
#include "runtime/nn/knowledge/known_answers.hpp"
#include "runtime/nn/knowledge/triple_score.hpp"
#include "runtime/nn/network.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace troupe {

struct TopPartners {
  static constexpr std::int64_t none = -1;

  /// [sources or triples, k] of destinations or entities, best first, level ones in ascending order.
  std::vector<std::int64_t> rows;
  Matrix scores;  ///< Of the same shape; NaN where there is none
};

/// Checks that the results fit into memory.
/// \param asking  sources or triples \param k  of each
/// \errors invalid_argument: they do not, with both numbers of bytes
Status check_top_fits(std::uint64_t asking, std::uint64_t k, std::uint64_t free_bytes);

struct TopRequest {
  EdgeTypeId edge_type{};  ///< whose parameters of the decoder score
  ConstMatrix sources;
  ConstMatrix destinations;
  std::size_t k = 10;
};
/// Scores are those of pair_outputs(), bit for bit, for any executor.
/// \param left_out  of each source rows of destinations that are not named
/// \requires a decoder with one output, as many lists as sources, fewer than 2^32 destinations
TopPartners top_partners(Executor& executor, const nn::Network& network,
                         std::span<const float> parameters, const TopRequest& request,
                         const nn::KnownRows& left_out);

struct TopTriples {
  ReplacedEnd replaced = ReplacedEnd::tail;  ///< the end that is asked for
  std::span<const std::uint32_t> known;      ///< [triples] rows of the other ends
  std::span<const std::uint32_t> relations;  ///< [triples]
  ConstMatrix entities;
  std::size_t k = 10;
};
/// As top_partners().
/// \param left_out  of each triple rows of entities that are not named
/// \requires relations below those of the model, as many lists as triples, fewer than 2^32 entities
TopPartners top_entities(Executor& executor, const nn::Network& network,
                         std::span<const float> parameters, const nn::TripleScore& score,
                         const TopTriples& request, const nn::KnownRows& left_out);

}  // namespace troupe
