#include "runtime/partition/methods.hpp"

#include "runtime/partition/assign_file.hpp"
#include "runtime/partition/assign_hotness.hpp"
#include "runtime/partition/assign_range.hpp"
#include "runtime/partition/metis.hpp"
#include "runtime/partition/multilevel.hpp"
#include "runtime/partition/rebalance.hpp"
#include "runtime/partition/streaming.hpp"

#include <algorithm>

namespace troupe {
namespace {

using Shown = std::vector<std::pair<std::string, std::string>>;

VertexAssigner streaming(StreamingOptions::Score score) {
  return [score](const Adjacency& graph, const Constraints& constraints,
                 const AssignOptions& options, Executor& executor) {
    return assign_streaming(graph, constraints,
                            {.score = score, .parts = options.parts, .passes = options.more.passes},
                            executor);
  };
}

std::vector<PartitionMethod> method_rows() {
  const std::vector<std::string_view> of_streams = {"balance", "split", "imbalance", "passes"};
  const std::vector<std::string_view> of_metis = {"balance",   "split", "imbalance", "objective",
                                                  "recursive", "tries", "seed"};
  return {
      {.name = "random",
       .help = "ids; no time at all, parts differ by one node",
       .options = {"seed"},
       .assign_nodes =
           [](const GraphStore& graph, const AssignOptions& options, Executor&) {
             return assign_random(graph.info(), options.parts, options.seed);
           }},
      {.name = "hash",
       .help = "ids; the part of a node does not depend on others, balance only on average",
       .options = {"seed"},
       .assign_nodes =
           [](const GraphStore& graph, const AssignOptions& options, Executor&) {
             return assign_hash(graph.info(), options.parts, options.seed);
           }},
      {.name = "range",
       .help = "ids; contiguous ranges, for ids that follow the graph as those of a crawl do",
       .assign_nodes = [](const GraphStore& graph, const AssignOptions& options, Executor&)
           -> Result<Assignment> { return assign_range(graph.info(), options.parts); }},
      {.name = "ldg",
       .help =
           "edges, node by node, weighed by the room left; graphs of any size, 4 bytes per node",
       .options = of_streams,
       .assign_vertices = streaming(StreamingOptions::Score::ldg)},
      {.name = "fennel",
       .help = "edges, node by node, less a penalty for load; graphs of any size, 4 bytes per node",
       .options = of_streams,
       .assign_vertices = streaming(StreamingOptions::Score::fennel)},
      {.name = "metis",
       .help = "edges; the smallest cuts, within its memory and 32-bit indices",
       .options = of_metis,
       .metis = true,
       .assign_vertices = [](const Adjacency& graph, const Constraints& constraints,
                             const AssignOptions& options,
                             Executor&) -> Result<std::vector<std::uint32_t>> {
         TROUPE_ASSIGN_OR_RETURN(auto part_of, assign_metis(graph, constraints, options));
         rebalance(graph, constraints, part_of, options.parts);
         return part_of;
       }},
      {.name = "multilevel",
       .help = "edges; cuts as small as METIS' in a seventh of its memory, on larger graphs too",
       .options = of_metis,
       .metis = true,
       .assign_vertices = assign_multilevel},
      {.name = "hotness",
       .help = "training seeds or links; parts hold what batches of their own seeds need, equal "
               "node counts",
       .options = {"seed", "split", "fanout"},
       .assign_nodes = assign_by_hotness},
      {.name = "file",
       .help = "a file with the part of each node, computed elsewhere",
       .options = {"file"},
       .assign_nodes =
           [](const GraphStore& graph, const AssignOptions& options, Executor&) {
             return assign_from_file(graph.info(), options.parts, options.more.file);
           }},
  };
}

/// Shown with the constraints that read it; hotness shows it among its own.
void show_split(const AssignOptions& options, Shown& shown) {
  const auto role = [](const std::string& name) { return name != "nodes" && name != "edges"; };
  if (std::ranges::any_of(options.more.balance, role)) {
    shown.emplace_back("split", options.more.split);
  }
}

std::vector<PartitionOption> option_rows() {
  return {
      {{"balance",
        "quantities that parts share evenly besides the number of nodes",
        {.type = ValueType::choice_list,
         .words = {"nodes", "edges", "train", "val", "test"},
         .max_items = 5},
        &MethodOptions::balance}},
      {{"split", "split of the seeds that are balanced, or that heat nodes; none: the default one",
        text_rule(0), &MethodOptions::split},
       false,
       show_split},
      {{"imbalance", "largest part over average part, at most", number_rule({.low = 1, .high = 10}),
        &MethodOptions::imbalance}},
      {{"passes", "passes over all nodes; 10 cut better", integer_rule(1, 1000),
        &MethodOptions::passes}},
      {{"objective", "quantity to minimize: cut edges, or the rows that one hop of all nodes moves",
        choice_rule({"cut", "volume"}), &MethodOptions::objective}},
      {{"recursive", "recursive bisection instead of k-way", boolean_rule(),
        &MethodOptions::recursive}},
      {{"tries", "cuts, of which the best counts; 0: 4 on small graphs, 1 on large ones",
        integer_rule(0, 1000), &MethodOptions::tries}},
      {{"file", ".npy file with the part of each node", text_rule(1), &MethodOptions::file},
       true,
       // Its content is part of the hash (partition_hash), wherever it lies.
       [](const AssignOptions&, Shown&) {}},
      {{"seed", "random seed", {}, {}},
       false,
       [](const AssignOptions& options, Shown& shown) {
         shown.emplace_back("seed", std::to_string(options.seed));
       }},
      {{"fanout", "sampling of batches that hotness is computed for", {}, {}},
       false,
       [](const AssignOptions& options, Shown& shown) {
         add_hotness_options(options.more, shown);
       }},
  };
}

}  // namespace

std::span<const PartitionMethod> partition_methods() {
  static const auto rows = method_rows();
  return rows;
}

std::span<const PartitionOption> partition_options() {
  static const auto rows = option_rows();
  return rows;
}

}  // namespace troupe
