#pragma once
/// \file constraints.hpp
/// What the parts of a graph share evenly, and how much each may hold.
#include "runtime/base/result.hpp"
#include "runtime/graph/store.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace troupe {

struct BalanceOptions {
  /// Any of "nodes", "edges", "train", "val", "test". Nodes are always balanced.
  std::vector<std::string> names = {};
  std::string split = {};   ///< whose seeds
  double imbalance = 1.03;  ///< largest part over average part
};

/// What the parts share evenly: the nodes (of each node type, where there are several), the edges
/// (by the part of their destination), the seeds of roles of a split. Each constraint gives every
/// vertex (adjacency.hpp) a weight, computed when it is asked for; seeds cost a bit per vertex.
/// Threads: immutable; any number at once
/// Owns:    a share of the store's arrays
class Constraints {
 public:
  /// \errors invalid_argument: an unknown name, imbalance below 1; not_found: a role that the split lacks
  static Result<Constraints> make(const GraphStore& graph, const BalanceOptions& options);

  std::size_t size() const { return all_.size(); }
  /// "nodes", "nodes of TYPE", "edges", "train", …
  const std::string& name(std::size_t c) const { return all_[c].name; }
  std::uint64_t total(std::size_t c) const { return all_[c].total; }
  std::uint64_t vertices() const { return first_vertex_.back(); }

  /// Weight of a vertex under each constraint.
  /// \param out  [size()]
  void weights(std::uint64_t v, std::span<std::uint64_t> out) const;

  /// What one part may hold: imbalance * total / parts, rounded up, but never less than what can
  /// always be met for this constraint alone, total / parts + heaviest * (1 - 1 / parts).
  /// \param slack  how much of the imbalance may be used: 1 all, 0 none
  std::uint64_t limit(std::size_t c, std::uint32_t parts, double slack = 1) const;

 private:
  enum class Kind : std::uint8_t { nodes, edges, seeds };
  struct Constraint {
    Kind kind = Kind::nodes;
    std::string name;
    std::size_t type = 0;             ///< of nodes and seeds
    std::vector<std::uint64_t> bits;  ///< of seeds: one per node of the type
    std::uint64_t total = 0;
    std::uint64_t heaviest = 1;
  };

  Status add_seeds(const GraphStore& graph, const std::string& split, const std::string& role);
  void add_edges();
  std::size_t type_of(std::uint64_t v) const;
  std::uint64_t in_degree(std::size_t type, std::uint64_t node) const;

  double imbalance_ = 1;
  std::vector<std::uint64_t> first_vertex_;
  std::shared_ptr<const Part> graph_;
  std::vector<std::vector<std::size_t>> edge_types_into_;  ///< [node type]
  std::vector<Constraint> all_;
};

}  // namespace troupe
