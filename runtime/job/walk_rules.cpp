#include "runtime/job/walk_rules.hpp"

#include "runtime/base/nearest.hpp"
#include "runtime/base/saturating.hpp"
#include "runtime/job/json_places.hpp"
#include "runtime/job/walk_positives.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <fmt/format.h>
#include <optional>
#include <set>
#include <string>

namespace troupe {
namespace {

/// Places of EdgeTypeIds; nothing where a name is unknown.
std::vector<std::optional<EdgeTypeId>> types_of_steps(const WalkJob& walk, const GraphInfo& graph) {
  std::vector<std::optional<EdgeTypeId>> types;
  for (const auto& name : walk.along) {
    const auto found = std::ranges::find(graph.edge_types, name, &EdgeTypeInfo::name);
    types.push_back(found == graph.edge_types.end()
                        ? std::nullopt
                        : std::optional(static_cast<EdgeTypeId>(found - graph.edge_types.begin())));
  }
  if (walk.along.empty() && graph.edge_types.size() == 1) {
    types.emplace_back(EdgeTypeId{0});
  }
  return types;
}

bool has_unknown_types(const WalkJob& walk, const GraphInfo& graph, ProblemList& problems) {
  std::vector<std::string> names;
  for (const auto& type : graph.edge_types) {
    names.push_back(type.name);
  }
  const auto types = types_of_steps(walk, graph);
  bool unknown = false;
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (!types[i]) {
      const Nearest best = nearest(walk.along[i], names);
      problems.add({fmt::format("/task/walk/along/{}", i), "an edge type of the graph",
                    fmt::format("\"{}\"", walk.along[i]),
                    best.close ? fmt::format("did you mean \"{}\"?", best.word) : ""});
      unknown = true;
    }
  }
  if (types.empty()) {
    problems.add({"/task/walk/along",
                  fmt::format("edge types of the steps, as the graph has {}", names.size()), "[]",
                  ""});
  }
  return unknown || types.empty();
}

bool is_second_order(const WalkJob& walk) {
  return walk.p != 1 || walk.q != 1;
}

void check_steps(const Job& job, const GraphInfo& graph, NodeTypeId seeds, ProblemList& problems) {
  const auto& walk = job.task.walk;
  const auto types = types_of_steps(walk, graph);
  auto at = seeds;
  for (std::uint32_t step = 0; step < walk.length; ++step) {
    const auto& type = graph.edge_types[raw(*types[step % types.size()])];
    if (type.list_type(job.sample.edge_dir) != at) {
      problems.add({"/task/walk/along",
                    fmt::format("edge types that lead on from \"{}\" nodes at step {}",
                                graph.node_types[raw(at)].name, step + 1),
                    fmt::format("\"{}\"", type.name), "sample.edge_dir says which way they lead"});
      return;
    }
    at = type.neighbour_type(job.sample.edge_dir);
  }
  const auto& first = graph.edge_types[raw(*types.front())];
  if (is_second_order(walk) && (types.size() > 1 || first.source != first.destination)) {
    problems.add({"/task/walk/along",
                  "one edge type that joins nodes of one type, with p or q other than 1",
                  fmt::format("{} types from \"{}\" on", types.size(), first.name), ""});
  }
}

/// Node types of the places of a walk; nothing where a step's type is unknown.
std::vector<NodeTypeId> types_of_places(const Job& job, const GraphInfo& graph) {
  std::vector<NodeTypeId> places;
  const auto types = types_of_steps(job.task.walk, graph);
  for (std::uint32_t step = 0; step < job.task.walk.length; ++step) {
    if (types.empty() || !types[step % types.size()]) {
      return {};
    }
    const auto& edges = graph.edge_types[raw(*types[step % types.size()])];
    if (step == 0) {
      places.push_back(edges.list_type(job.sample.edge_dir));
    }
    places.push_back(edges.neighbour_type(job.sample.edge_dir));
  }
  return places;
}

/// Steps apart that two nodes of the type that walks begin at are at least; 0: there are no two.
std::uint32_t steps_between(const Job& job, const GraphInfo& graph) {
  const auto places = types_of_places(job, graph);
  std::uint32_t since = 0;
  std::uint32_t least = 0;
  for (std::size_t place = 1; place < places.size(); ++place) {
    ++since;
    if (places[place] == places.front()) {
      least = least == 0 ? since : std::min(least, since);
      since = 0;
    }
  }
  return least;
}

/// Nodes of the type that the walks begin at make pairs.
void check_steps_of_pairs(const Job& job, const GraphInfo& graph, ProblemList& problems) {
  const auto types = types_of_steps(job.task.walk, graph);
  const auto type = type_of_pairs(job, graph, *types.front());
  check_steps(job, graph, type, problems);
  if (problems.has("/task/walk/along")) {
    return;
  }
  const auto& name = graph.node_types[raw(type)].name;
  const auto least = job.task.walk.all_pairs ? 1 : steps_between(job, graph);
  if (least == 0) {
    problems.add({"/task/walk/along",
                  fmt::format("steps that lead back to \"{}\" nodes, of which pairs are", name),
                  fmt::format("none in {} steps", job.task.walk.length), ""});
  } else if (least > job.task.walk.window && !problems.has("/task/walk/window")) {
    problems.add({"/task/walk/window",
                  fmt::format("{} or more: as many steps are between \"{}\" nodes", least, name),
                  fmt::format("{}", job.task.walk.window), ""});
  }
  const bool one_type = std::ranges::all_of(types, [&](const auto& step) {
    const auto& edges = graph.edge_types[raw(*step)];
    return edges.source == type && edges.destination == type;
  });
  const auto refuse = [&](const char* key, const char* expected, const char* found) {
    if (!problems.has(key)) {
      problems.add({key,
                    fmt::format("{} with walks along edges between several node types", expected),
                    found, "pairs are no edges of a type then"});
    }
  };
  if (!one_type && job.task.exclude) {
    refuse("/task/exclude", "\"none\"", "\"batch\"");
  }
  if (!one_type && job.task.negatives.strict) {
    refuse("/task/negatives/strict", "false", "true");
  }
  if (!one_type && job.task.negatives.by_degree) {
    refuse("/task/negatives/by", "\"uniform\"", "\"degree\"");
  }
}

bool is_default(const WalkJob& walk) {
  const WalkJob none;
  return walk.length == none.length && walk.per_seed == none.per_seed &&
         walk.restart == none.restart && !is_second_order(walk) && walk.along.empty() &&
         walk.window == none.window && walk.all_pairs == none.all_pairs;
}

}  // namespace

void take_fanout_from_walks(nlohmann::json& root) {
  const auto kind = root.find("task");
  if (kind == root.end() || !kind->is_object() || kind->value("kind", nlohmann::json()) != "walk" ||
      (root.contains("sample") && !root["sample"].is_object()) ||
      (root.contains("sample") && root["sample"].contains("fanout"))) {
    return;
  }
  WalkJob walk;
  for (const auto& name :
       kind->value(nlohmann::json::json_pointer("/walk/along"), nlohmann::json())) {
    if (name.is_string()) {
      walk.along.push_back(name.get<std::string>());
    }
  }
  root["sample"]["fanout"] = fanout_of_walks(walk);
}

nlohmann::json fanout_of_walks(const WalkJob& walk) {
  const auto list = [](int fanout) { return nlohmann::json::array({fanout}); };
  if (walk.along.empty()) {
    return list(1);
  }
  auto fanout = nlohmann::json::object();
  fanout["*"] = list(0);
  for (const auto& name : walk.along) {
    fanout[name] = list(1);
  }
  return fanout;
}

void take_fanout_from_walks(Job& job) {
  if (!job.task.walks()) {
    return;
  }
  const auto& along = job.task.walk.along;
  job.sample.fanout = {along.empty() ? 1 : 0};
  job.sample.fanout_of.clear();
  for (const auto& name : along) {
    job.sample.fanout_of[name] = {1};
  }
}

void check_walk_keys(const Job& job, ProblemList& problems) {
  const auto& walk = job.task.walk;
  if (!job.task.walks()) {
    if (!job.task.from_walks && !is_default(walk)) {
      problems.add({"/task/walk", fmt::format("none with kind \"{}\"", job.task.kind), "some",
                    "set task.kind to \"walk\", or task.positives to \"walks\""});
    }
    return;
  }
  const auto refuse = [&](const char* key, const char* expected, const std::string& found) {
    problems.add({key, fmt::format("{} with task.kind \"walk\"", expected), found, ""});
  };
  if (job.sample.choice != "uniform" && job.sample.choice != "weighted") {
    refuse("/sample/choice", "\"uniform\" or \"weighted\"",
           fmt::format("\"{}\"", job.sample.choice));
  }
  if (job.sample.subgraph != Subgraph::directional) {
    refuse("/sample/subgraph", "\"directional\"", "another");
  }
  if (job.sample.disjoint) {
    refuse("/sample/disjoint", "false", "true");
  }
  if (job.sample.edge_data != EdgeData{}) {
    refuse("/sample/edge_data", "[]", "some");
  }
  if (walk.all_pairs) {
    refuse("/task/walk/pairs", "\"seeds\"", "\"all\", pairs(window) of a batch are of all nodes");
  }
  const auto walks = times(job.sample.batch_size, walk.per_seed);
  if (times(walks, walk.length + std::uint64_t{1}) >> 32 != 0 ||
      (is_second_order(walk) && walks >> 24 != 0)) {
    problems.add({"/sample/batch_size",
                  is_second_order(walk) ? "fewer than 2^24 walks in a batch with p or q"
                                        : "fewer than 2^32 nodes on the walks of a batch",
                  fmt::format("{} walks of {} steps", walks, walk.length), ""});
  }
}

void check_walks(const Job& job, const GraphInfo& graph, ProblemList& problems) {
  const bool pairs = job.task.from_walks;
  if ((!job.task.walks() && !pairs) || has_unknown_types(job.task.walk, graph, problems)) {
    return;
  }
  if (pairs) {
    return check_steps_of_pairs(job, graph, problems);
  }
  const auto* split = graph.find_split(job.dataset.split);
  if (split == nullptr) {
    return;
  }
  for (const auto& [role, list] : split->roles) {
    if (list.count > 0) {
      return check_steps(job, graph, list.node_type, problems);
    }
  }
}

std::vector<EdgeTypeId> walked_types(const Job& job, const GraphInfo& graph) {
  if (!job.task.walks() && !job.task.from_walks) {
    return {};
  }
  std::set<EdgeTypeId> walked;
  for (const auto& type : types_of_steps(job.task.walk, graph)) {
    if (type) {
      walked.insert(*type);
    }
  }
  return {walked.begin(), walked.end()};
}

std::vector<LinkEndTypes> types_of_pairs(const Job& job, const GraphInfo& graph) {
  const auto& walk = job.task.walk;
  if (!job.task.from_walks || !walk.all_pairs) {
    return {};
  }
  const auto places = types_of_places(job, graph);
  std::set<LinkEndTypes> ends;
  for (std::size_t center = 0; center < places.size(); ++center) {
    for (std::size_t apart = 1; apart <= walk.window && center + apart < places.size(); ++apart) {
      ends.insert({places[center], places[center + apart]});
      ends.insert({places[center + apart], places[center]});
    }
  }
  return {ends.begin(), ends.end()};
}

namespace {

/// A chance below that of one word is that of one word, not none.
std::uint32_t restart_threshold(double chance) {
  const auto words = static_cast<std::uint32_t>(std::floor(chance * 0x1p32));
  return chance > 0 ? std::max(words, std::uint32_t{1}) : 0;
}

}  // namespace

WalkOptions walk_options(const WalkJob& walk, const GraphInfo& graph) {
  WalkOptions options;
  options.length = walk.length;
  options.per_seed = walk.per_seed;
  options.restart_below = restart_threshold(walk.restart);
  for (const auto& type : types_of_steps(walk, graph)) {
    options.along.push_back(*type);
  }
  if (is_second_order(walk)) {
    options.second_order = candidate_thresholds(walk.p, walk.q);
  }
  options.window = walk.window;
  return options;
}

Reach reach_of_batch(const Job& job, const GraphInfo& graph,
                     const std::vector<std::uint64_t>& seeds) {
  return job.task.walks() ? walk_reach(job, graph, seeds) : reach(job.sample, graph, seeds);
}

Reach walk_reach(const Job& job, const GraphInfo& graph, const std::vector<std::uint64_t>& seeds) {
  Reach total{.nodes = seeds,
              .edges = std::vector<std::uint64_t>(graph.edge_types.size()),
              .asked = 0,
              .after = {}};
  const auto& walk = job.task.walk;
  const auto types = types_of_steps(walk, graph);
  std::uint64_t walks = 0;
  for (const auto count : seeds) {
    walks = plus(walks, times(count, walk.per_seed));
  }
  for (std::uint32_t step = 0; step < walk.length && !types.empty(); ++step) {
    const auto& type = types[step % types.size()];
    if (type) {
      const auto to = raw(graph.edge_types[raw(*type)].neighbour_type(job.sample.edge_dir));
      total.nodes[to] = std::min(plus(total.nodes[to], walks), graph.node_types[to].count);
      total.asked = plus(total.asked, walks);
    }
  }
  total.after = {{seeds, total.edges}, {total.nodes, total.edges}};
  return total;
}

}  // namespace troupe
