#include "runtime/job/fanout.hpp"

#include "runtime/base/nearest.hpp"
#include "runtime/base/strict_json.hpp"
#include "runtime/job/walk_rules.hpp"
#include "runtime/sample/batch_builder.hpp"
#include "runtime/sample/choice/choices.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string>

namespace troupe {
namespace {

constexpr const char* pointer = "/sample/fanout";
constexpr std::size_t most_named = 8;

}  // namespace

std::string quoted_list(const std::vector<std::string>& names) {
  std::vector<std::string> quoted;
  for (std::size_t i = 0; i < std::min(names.size(), most_named); ++i) {
    quoted.push_back('"' + names[i] + '"');
  }
  return fmt::format("{}{}", fmt::join(quoted, ", "), names.size() > most_named ? ", …" : "");
}

std::vector<std::string> edge_type_names(const GraphInfo& graph) {
  std::vector<std::string> names;
  for (const EdgeTypeInfo& type : graph.edge_types) {
    names.push_back(type.name);
  }
  return names;
}

void check_hops(const Job& job, bool layers_known, ProblemList& problems) {
  const auto hops = job.sample.hops();
  for (const auto& [name, fanout] : job.sample.fanout_of) {
    if (fanout.size() != hops) {
      problems.add({pointer, fmt::format("lists of one length, {} like the others", hops),
                    fmt::format("{} entries for \"{}\"", fanout.size(), name), ""});
      return;
    }
  }
  // Otherwise every layer works on all edges.
  const bool by_hop = job.sample.subgraph == Subgraph::directional && !job.task.walks();
  if (layers_known && by_hop && job.model.layers > 0 && hops != job.model.layers) {
    problems.add({pointer,
                  fmt::format("{} entries, one per layer (/model/layers)", job.model.layers),
                  fmt::format("{} entries", hops), ""});
  }
}

void check_fanout(const Job& job, const GraphInfo& graph, ProblemList& problems) {
  const auto& named = job.sample.fanout_of;
  if (named.empty()) {
    return;
  }
  const auto known = edge_type_names(graph);
  for (const auto& [name, fanout] : named) {
    if (std::ranges::find(known, name) != known.end()) {
      continue;
    }
    const Nearest best = nearest(name, known);
    problems.add({fmt::format("{}/{}", pointer, pointer_token(name)),
                  fmt::format("an edge type of the graph ({}) or \"*\"", quoted_list(known)),
                  "an unknown one",
                  best.close ? fmt::format("did you mean \"{}\"?", best.word) : ""});
  }
  std::vector<std::string> missing;
  std::ranges::copy_if(known, std::back_inserter(missing),
                       [&](const auto& name) { return !named.contains(name); });
  if (job.sample.fanout.empty() && !missing.empty()) {
    problems.add({pointer, "a list for every edge type, or \"*\" for those not named",
                  "none for " + quoted_list(missing), ""});
  }
}

std::vector<std::vector<std::int32_t>> fanout_by_hop(const SampleJob& sample,
                                                     const GraphInfo& graph) {
  std::vector<std::vector<std::int32_t>> fanout(sample.hops());
  for (const EdgeTypeInfo& type : graph.edge_types) {
    const auto named = sample.fanout_of.find(type.name);
    const auto& of_type = named == sample.fanout_of.end() ? sample.fanout : named->second;
    for (std::size_t hop = 0; hop < fanout.size(); ++hop) {
      fanout[hop].push_back(hop < of_type.size() ? of_type[hop] : 0);
    }
  }
  return fanout;
}

std::vector<EdgeTypeId> drawn_edge_types(const Job& job, const GraphInfo& graph) {
  auto types = walked_types(job, graph);
  std::ranges::copy(drawn_types(fanout_by_hop(job.sample, graph)), std::back_inserter(types));
  std::ranges::sort(types);
  const auto repeated = std::ranges::unique(types);
  types.erase(repeated.begin(), repeated.end());
  return types;
}

namespace {

/// Names of the edge types that are drawn along and have not the datum.
std::vector<std::string> drawn_without(bool EdgeTypeInfo::*has, const Job& job,
                                       const GraphInfo& graph) {
  std::vector<std::string> names;
  for (const auto type : drawn_edge_types(job, graph)) {
    if (const auto& info = graph.edge_types[raw(type)]; !(info.*has)) {
      names.push_back(info.name);
    }
  }
  return names;
}

/// What any edges have along which a job samples.
EdgeData sampled_data(const SampleJob& sample, const GraphInfo& graph) {
  const auto fanout = fanout_by_hop(sample, graph);
  EdgeData there;
  for (std::size_t type = 0; type < graph.edge_types.size(); ++type) {
    if (is_sampled(fanout, type)) {
      there = there | edge_data_of(graph.edge_types[type]);
    }
  }
  return there;
}

/// What helps a job whose sampled edges lack some data.
std::string how_to_have(std::string_view data, const SampleJob& sample, const GraphInfo& graph) {
  const auto fanout = fanout_by_hop(sample, graph);
  for (std::size_t type = 0; type < graph.edge_types.size(); ++type) {
    if (is_sampled(fanout, type)) {
      return fmt::format("import the graph with {}", data);
    }
  }
  return "all fanouts are 0: give an edge type another";
}

}  // namespace

void check_times(const Job& job, const GraphInfo& graph, ProblemList& problems) {
  if (!job.sample.time.given()) {
    return;
  }
  if (!sampled_data(job.sample, graph).times) {
    problems.add({job.sample.time.key(), "a graph with times of edges",
                  "no times along any edge type that is sampled",
                  how_to_have("times", job.sample, graph)});
    return;
  }
  const auto* kind = find_kind(choice_kinds(), job.sample.choice);
  const auto missing = drawn_without(&EdgeTypeInfo::has_times, job, graph);
  if (kind != nullptr && kind->needs_times && !missing.empty()) {
    problems.add({"/sample/choice", "\"uniform\" along edges without times",
                  fmt::format("\"{}\", and no times of {}", kind->name, quoted_list(missing)),
                  "import the graph with times, or set fanout -1 or 0 along these"});
  }
}

void check_edge_data(const Job& job, const GraphInfo& graph, ProblemList& problems) {
  each_edge_datum(
      [&](bool wanted, bool found, std::string_view name, std::string_view word) {
        if (wanted && !found) {
          problems.add(
              {"/sample/edge_data", fmt::format("data that sampled edges have", name),
               fmt::format("\"{}\", and no {} along any edge type that is sampled", word, name),
               how_to_have(name, job.sample, graph)});
        }
      },
      job.sample.edge_data, sampled_data(job.sample, graph), edge_data_names, edge_data_words);
}

void check_weights(const Job& job, const GraphInfo& graph, ProblemList& problems) {
  const auto* kind = find_kind(choice_kinds(), job.sample.choice);
  if (kind == nullptr || !kind->needs_weights) {
    return;
  }
  const auto missing = drawn_without(&EdgeTypeInfo::has_weights, job, graph);
  if (!missing.empty()) {
    problems.add({"/sample/choice", "\"uniform\" along edges without weights",
                  fmt::format("\"{}\", and no weights of {}", kind->name, quoted_list(missing)),
                  walked_types(job, graph).empty()
                      ? "import the graph with weights, or set fanout -1 or 0 along these"
                      : "import the graph with weights"});
  }
}

}  // namespace troupe
