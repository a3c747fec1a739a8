#pragma once
/// \file link_options.hpp
/// Links as seeds: what comes with the positive ones, and what their batches leave out.
#include "runtime/base/ids.hpp"
#include "runtime/base/pooled_vector.hpp"
#include "runtime/sample/knowledge/chunk_candidates.hpp"

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace troupe {

/// Which pairs of nodes are drawn as negative links: with one end of a positive link by turns, the
/// destination first, or with its source alone.
enum class Negatives : std::uint8_t { none, binary, triplet };

struct NegativeOptions {
  Negatives kind = Negatives::none;
  std::uint32_t per_positive = 1;
  bool by_degree = false;   ///< Nodes are as likely as their edges of the links' type are many
  bool strict = false;      ///< A pair with an edge is drawn again, `tries` times in all
  std::uint32_t tries = 4;  ///< Of each negative, where strict

  /// Ends that are drawn for each positive link.
  std::uint64_t drawn() const { return kind == Negatives::none ? 0 : per_positive; }
};

/// [parts + 1] each: edges of a type whose destination, or source, is in the slices of the directory
/// before a part's.
struct EdgesBefore {
  std::vector<std::uint64_t> in;
  std::vector<std::uint64_t> out;
};

/// Node types of the ends of links.
struct LinkEndTypes {
  NodeTypeId source{};
  NodeTypeId destination{};
  friend auto operator<=>(const LinkEndTypes&, const LinkEndTypes&) = default;
};

struct LinkOptions {
  NegativeOptions negatives = {};
  /// Links are triples, which are compared with these in place of `negatives`.
  std::optional<SharedCandidates> shared = {};
  bool exclude = true;  ///< No edge of a batch's positive links is drawn in it
  /// Type of the edges from their destinations back, left out too.
  std::optional<EdgeTypeId> reverse = {};
  /// The same of links of several edge types, by type; `reverse` is not read then.
  std::map<EdgeTypeId, std::optional<EdgeTypeId>> reverses = {};

  /// Both ends are nodes of this type, whatever the links' edge type joins: pairs on walks, which begin there.
  std::optional<NodeTypeId> pairs_of = {};
  /// Of pairs on walks the types of their ends, which batches take by turns; empty: both are `pairs_of`.
  std::vector<LinkEndTypes> pair_types = {};

  std::optional<EdgeTypeId> reverse_of(EdgeTypeId links) const {
    const auto found = reverses.find(links);
    return found == reverses.end() ? reverse : found->second;
  }
  /// Of each edge type of the links, where negatives are drawn by degree.
  std::map<EdgeTypeId, EdgesBefore> edges_before = {};
};

/// The positive links of one batch. All lists are in the order of the links.
struct PositiveLinks {
  EdgeTypeId edge_type{};
  PooledVector<NodeId> sources;
  PooledVector<NodeId> destinations;  ///< [sources]
  /// [sources], or empty: SampleOptions::seed_time, where read.
  PooledVector<std::int64_t> times = {};
  PooledVector<float> labels = {};  ///< [sources], or empty
  friend bool operator==(const PositiveLinks&, const PositiveLinks&) = default;
};

}  // namespace troupe
