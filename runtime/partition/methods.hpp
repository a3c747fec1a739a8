#pragma once
/// \file methods.hpp
/// The partition methods that a job or `troupe partition` can name, one row each, and the options
/// that they read. Job schema, command line, docs/partitioning.md and the bench read these tables. A
/// new method is an assigner (a file pair) and a row; a new option is a field of MethodOptions and a
/// row.
#include "runtime/base/kinds.hpp"
#include "runtime/partition/assign.hpp"
#include "runtime/partition/constraints.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe {

/// Parts of all nodes, from the store alone.
using NodeAssigner = std::function<Result<Assignment>(
    const GraphStore& graph, const AssignOptions& options, Executor& executor)>;
/// Parts of all vertices of the undirected view, within the limits of the constraints.
using VertexAssigner = std::function<Result<std::vector<std::uint32_t>>(
    const Adjacency& graph, const Constraints& constraints, const AssignOptions& options,
    Executor& executor)>;

/// One of both assigners is set: with `assign_vertices` the undirected view is made first.
struct PartitionMethod {
  std::string_view name;                       ///< Word in job files and on the command line
  std::string_view help;                       ///< Input and best use, one line
  std::vector<std::string_view> options = {};  ///< Rows of partition_options() that it reads
  bool metis = false;                          ///< Needs a build with METIS
  NodeAssigner assign_nodes = {};
  VertexAssigner assign_vertices = {};
};

struct PartitionOption : OptionRow<MethodOptions> {
  /// Key of a job's section `partition`; others follow from the job's data and sampling.
  bool job_key = true;
  /// Appends name and text for `partition.json` and the partition's hash; null: name and value.
  void (*show)(const AssignOptions& options,
               std::vector<std::pair<std::string, std::string>>& shown) = nullptr;
};

/// All rows in the order of the documentation.
std::span<const PartitionMethod> partition_methods();
std::span<const PartitionOption> partition_options();

/// Assigns and measures by a method of the caller's table; `options.method` and `own` are not read.
/// \errors as assign(); those of the method
Result<Assigned> assign(const GraphStore& graph, const AssignOptions& options,
                        const PartitionMethod& method, Executor& executor);

/// The same as options_of(options), for a method of the caller's table.
std::vector<std::pair<std::string, std::string>> options_of(const AssignOptions& options,
                                                            const PartitionMethod& method);

}  // namespace troupe
