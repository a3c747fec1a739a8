#include "runtime/job/subgraph_rules.hpp"

#include "runtime/job/fanout.hpp"
#include "runtime/job/link_rules.hpp"
#include "runtime/sample/batch_builder.hpp"

#include <cstddef>
#include <fmt/format.h>
#include <string>

namespace troupe {
namespace {

std::optional<EdgeTypeId> reverse_of(const EdgeTypeInfo& type, std::size_t own,
                                     const GraphInfo& graph) {
  if (type.source == type.destination) {
    return static_cast<EdgeTypeId>(own);
  }
  std::optional<EdgeTypeId> found;
  for (std::size_t e = 0; e < graph.edge_types.size(); ++e) {
    const auto& other = graph.edge_types[e];
    if (other.source == type.destination && other.destination == type.source) {
      if (found) {
        return std::nullopt;
      }
      found = static_cast<EdgeTypeId>(e);
    }
  }
  return found;
}

}  // namespace

std::vector<std::optional<EdgeTypeId>> reverses_of_sampled(
    const std::vector<std::vector<std::int32_t>>& fanout, const GraphInfo& graph) {
  std::vector<std::optional<EdgeTypeId>> reverses(graph.edge_types.size());
  for (std::size_t e = 0; e < reverses.size(); ++e) {
    if (is_sampled(fanout, e)) {
      reverses[e] = reverse_of(graph.edge_types[e], e, graph);
    }
  }
  return reverses;
}

void check_subgraph(const Job& job, const GraphInfo& graph, ProblemList& problems) {
  if (job.sample.subgraph != Subgraph::bidirectional) {
    return;
  }
  const auto fanout = fanout_by_hop(job.sample, graph);
  const auto reverses = reverses_of_sampled(fanout, graph);
  for (std::size_t e = 0; e < reverses.size(); ++e) {
    if (is_sampled(fanout, e) && !reverses[e]) {
      problems.add({"/sample/subgraph",
                    fmt::format("\"directional\" or \"induced\" where not one edge type leads "
                                "back from \"{}\"",
                                graph.edge_types[e].name),
                    "\"bidirectional\"", ""});
      return;
    }
  }
  const auto* links = training_links(job, graph);
  if (links == nullptr || !job.task.exclude) {
    return;
  }
  const auto left_out = reverse_types(job.task, graph, *links);
  for (const EdgeTypeId type : edge_types_of(*links)) {
    const auto found = left_out.find(type);
    const auto reverse =
        found == left_out.end() ? reverse_type(job.task, graph, type) : found->second;
    if (reverses[raw(type)] && !reverse) {
      const auto& back = graph.edge_types[raw(*reverses[raw(type)])].name;
      problems.add({"/task/reverse",
                    fmt::format("\"{}\" with sample.subgraph \"bidirectional\"", back), "\"\"",
                    "else the reverses of these edges would show the links"});
      return;
    }
  }
}

}  // namespace troupe
