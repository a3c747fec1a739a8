#pragma once
/// \file link_queries.hpp
/// What holders of nodes are asked to rank the ends of links by, where a decoder's score is a product
/// (decision 0045).
#include "runtime/base/matrix.hpp"
#include "runtime/nn/knowledge/triple_score.hpp"

#include <cstdint>
#include <span>

namespace troupe {

/// Scores are those of DistMult, Σ q v, of a query q = u r and any node's row v.
inline constexpr nn::TripleScore link_product{.kind = nn::ScoreKind::distmult};

/// Rows of both ends of some links.
struct LinkEnds {
  ConstMatrix sources;
  ConstMatrix destinations;
  std::span<const std::uint32_t> of;  ///< [links] rows of `sources`
  std::span<const std::uint32_t> to;  ///< [links] rows of `destinations`
  std::span<const float> factors;     ///< [columns] r; empty: ones
};

/// Columns of add_link_queries(): two queries with the keys of their answers.
inline std::size_t link_query_cols(std::size_t cols) {
  return 2 * (cols + 1);
}

/// Of each link the query for its destination and that one's key, then the same for its source.
/// \requires at most nn::queries_at_once links
/// \param out  [links, link_query_cols()]
void add_link_queries(const LinkEnds& ends, MutMatrix out);

}  // namespace troupe
