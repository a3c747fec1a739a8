#pragma once
/// \file link_queries.hpp
/// What holders of nodes are asked to rank the ends of links by (decisions 0045, 0047): queries of a
/// product, or of a perceptron what the known end adds before the ReLU.
#include "runtime/base/buffer.hpp"
#include "runtime/base/matrix.hpp"
#include "runtime/nn/decoder.hpp"
#include "runtime/nn/knowledge/triple_score.hpp"
#include "runtime/nn/network.hpp"

#include <cstdint>
#include <optional>
#include <span>

namespace troupe {

/// Scores are those of DistMult, Σ q v, of a query q = u r and any node's row v.
inline constexpr nn::TripleScore link_product{.kind = nn::ScoreKind::distmult};

/// Rows of both ends of some links.
struct LinkEnds {
  ConstMatrix sources;
  ConstMatrix destinations;
  std::span<const std::uint32_t> of;                     ///< [links] rows of `sources`
  std::span<const std::uint32_t> to;                     ///< [links] rows of `destinations`
  std::span<const float> factors;                        ///< [columns] r; empty: ones
  std::optional<nn::PerceptronOfPairs> perceptron = {};  ///< in the place of a product
};

/// Columns of one query.
std::size_t query_cols(const nn::ModelOptions& model);
/// Columns of add_link_queries(): two queries with the keys of their answers.
inline std::size_t link_query_cols(const nn::ModelOptions& model) {
  return 2 * (query_cols(model) + 1);
}

/// Of a perceptron, as RankEntities::queries begin with them: those that holders of destinations, and of sources,
/// compute with; of a product nothing.
struct LinkWeights {
  Segment of_destinations = {};
  Segment of_sources = {};
};
/// \param parameters  the decoder's
LinkWeights link_weights(const nn::ModelOptions& model, std::span<const float> parameters);

/// Of each link the query for its destination and that one's key, then the same for its source.
/// \requires at most nn::queries_at_once links
/// \param out  [links, link_query_cols()], or as many columns as the perceptron says
void add_link_queries(const LinkEnds& ends, MutMatrix out);

}  // namespace troupe
