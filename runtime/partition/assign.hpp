#pragma once
/// \file assign.hpp
/// Which part each node goes to, by the method asked for. The methods and their options are the
/// tables of methods.hpp; relabelling and writing are partitioner.hpp.
#include "runtime/base/executor.hpp"
#include "runtime/base/result.hpp"
#include "runtime/graph/store.hpp"
#include "runtime/partition/adjacency.hpp"
#include "runtime/partition/assignment.hpp"
#include "runtime/partition/measures.hpp"
#include "runtime/partition/method_options.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe {

/// Told when a stage of partitioning begins, on the calling thread: "view" (the graph as undirected
/// lists, where the method works on them), the method's name, "measures", "order" (numbering the nodes), "writing".
using StageHook = std::function<void(std::string_view stage)>;
inline void begin_stage(const StageHook& hook, std::string_view stage) {
  if (hook) {
    hook(stage);
  }
}

/// A method of the caller's: a part below `parts` for every node of every type.
using Assigner = std::function<Result<Assignment>(const GraphStore& graph, std::uint32_t parts,
                                                  Executor& executor)>;

struct AssignOptions {
  std::string method = "random";  ///< A row of partition_methods(); with `own`, another name
  std::uint32_t parts = 1;
  std::uint64_t seed = 0;  ///< Random seed of methods that read "seed"
  MethodOptions more = {};
  AdjacencyOptions view = {};  ///< how the undirected view is put together; changes no result
  StageHook on_stage = {};
  Assigner own = {};
};

struct Assigned {
  Assignment parts;
  Measures measures;
};

/// Assigns all nodes of a graph and measures the result. Equal for any number of threads.
/// \errors those of `own`; invalid_argument: an unknown method, an own one that has a known name or
///   leaves nodes out, no part, more parts than nodes of the largest type,
///   an unknown balance or objective, a file that does not fit; not_found: the file or a split;
///   unimplemented: METIS is not built in, a graph past its indices
Result<Assigned> assign(const GraphStore& graph, const AssignOptions& options, Executor& executor);

/// How batches were sampled that hotness was computed for.
void add_hotness_options(const MethodOptions& more,
                         std::vector<std::pair<std::string, std::string>>& shown);

/// The options that a method looks at, as name and text, by name: what `partition.json` shows
/// and what a partition's hash is about.
std::vector<std::pair<std::string, std::string>> options_of(const AssignOptions& options);

/// Assigns nodes at random in shares that differ by at most one node: position i of a keyed
/// permutation (domain `generators`, type = node type) goes to part i * parts / count.
/// \errors invalid_argument: no part, or more parts than nodes of the largest type
Result<Assignment> assign_random(const GraphInfo& graph, std::uint32_t parts, std::uint64_t seed);

/// Node i of type t goes to the part that the first draw below `parts` of the stream (domain
/// `generators`, type t, hop 1, id i) says: the part of a node does not depend on the others.
/// \errors as assign_random
Result<Assignment> assign_hash(const GraphInfo& graph, std::uint32_t parts, std::uint64_t seed);

}  // namespace troupe
