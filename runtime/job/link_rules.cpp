#include "runtime/job/link_rules.hpp"

#include "runtime/job/fanout.hpp"
#include "runtime/job/walk_rules.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <string>

namespace troupe {
namespace {

std::optional<EdgeTypeId> edge_type_named(const GraphInfo& graph, const std::string& name) {
  const auto found = std::ranges::find(graph.edge_types, name, &EdgeTypeInfo::name);
  return found == graph.edge_types.end()
             ? std::nullopt
             : std::optional(static_cast<EdgeTypeId>(found - graph.edge_types.begin()));
}

/// \param reverse  name that the job gives; empty: none
void check_reverse(const std::string& reverse, const GraphInfo& graph, EdgeTypeId links,
                   ProblemList& problems) {
  if (reverse.empty()) {
    return;
  }
  const auto& forth = graph.edge_types[raw(links)];
  std::string candidates;
  for (const auto& type : graph.edge_types) {
    if (type.source == forth.destination && type.destination == forth.source) {
      candidates += fmt::format("{}\"{}\"", candidates.empty() ? "" : " | ", type.name);
    }
  }
  const auto back = edge_type_named(graph, reverse);
  if (!back || graph.edge_types[raw(*back)].source != forth.destination ||
      graph.edge_types[raw(*back)].destination != forth.source) {
    problems.add({"/task/reverse",
                  candidates.empty() ? fmt::format("\"\": no edges lead from \"{}\" to \"{}\"",
                                                   graph.node_types[raw(forth.destination)].name,
                                                   graph.node_types[raw(forth.source)].name)
                                     : candidates,
                  fmt::format("\"{}\"", reverse),
                  candidates.empty()
                      ? ""
                      : fmt::format("the reverse of \"{}\" leads from \"{}\" to \"{}\"", forth.name,
                                    graph.node_types[raw(forth.destination)].name,
                                    graph.node_types[raw(forth.source)].name)});
  }
}

/// Files of links to evaluate: one, or one for each edge type.
void check_pair_files(const Job& job, const SplitInfo::LinkRole& train, ProblemList& problems) {
  const auto types = std::max<std::size_t>(1, train.edge_types.size());
  const auto expected =
      train.edge_types.empty()
          ? std::string("one file with links of one edge type")
          : fmt::format("a list of files, one for each, with links of {} edge types", types);
  const auto check = [&](const char* key, const auto& files) {
    for (const auto& [role, of_role] : files) {
      const auto pointer = fmt::format("/eval/{}/{}", key, role);
      if (of_role.size() != types && !problems.has(pointer)) {
        problems.add({pointer, expected, fmt::format("{}", of_role.size()), ""});
      }
    }
  };
  check("negatives", job.eval.negative_files);
  check("candidates", job.eval.candidate_files);
}

/// Of links of several edge types: what the job says of each, and what it may not say.
void check_relations(const Job& job, const GraphInfo& graph, const SplitInfo::LinkRole& train,
                     ProblemList& problems) {
  const auto& task = job.task;
  const auto refuse = [&](const char* key, const std::string& expected, const std::string& found,
                          const char* hint = "") {
    if (!problems.has(key)) {
      problems.add(
          {key, fmt::format("{} with links of {} edge types", expected, train.edge_types.size()),
           found, hint});
    }
  };
  if (!task.predicts_links()) {
    problems.add({"/dataset/split",
                  fmt::format("links of one edge type with task.kind \"{}\"", task.kind),
                  fmt::format("links of {} edge types", train.edge_types.size()),
                  task.knowledge() ? "import the triples with --relations one"
                                   : "\"link\" learns those of several"});
    return;
  }
  if (!task.reverse.empty()) {
    refuse("/task/reverse", "a list, one for each,", fmt::format("\"{}\"", task.reverse));
  } else if (!task.reverses.empty() && task.reverses.size() != train.edge_types.size()) {
    refuse("/task/reverse", "one for each", fmt::format("{}", task.reverses.size()));
  }
  for (std::size_t i = 0; i < std::min(task.reverses.size(), train.edge_types.size()); ++i) {
    check_reverse(task.reverses[i], graph, train.edge_types[i], problems);
  }
  check_pair_files(job, train, problems);
}

/// Whether all edges of some types are the links, in the place of a split's or a file's.
bool learns_all_edges(const Job& job) {
  return job.task.embeds() && !job.task.from_walks && !job.dataset.seeds.contains("train");
}

std::string names_of_types(const GraphInfo& graph, const std::vector<EdgeTypeId>& types) {
  std::vector<std::string> names;
  for (const EdgeTypeId type : types) {
    names.push_back(graph.edge_types[raw(type)].name);
  }
  return quoted_list(names);
}

/// Those of links that have no edges.
std::vector<EdgeTypeId> types_without_edges(const GraphInfo& graph,
                                            const SplitInfo::LinkRole& links) {
  auto types = edge_types_of(links);
  std::erase_if(types, [&](EdgeTypeId type) { return graph.edge_types[raw(type)].count > 0; });
  return types;
}

/// All edges of some types are learned, of which each needs some. \param train  null: no links are given
bool lacks_edges_to_learn(const Job& job, const GraphInfo& graph,
                          const SplitInfo::LinkRole* train) {
  return train != nullptr && learns_all_edges(job) && !types_without_edges(graph, *train).empty();
}

/// \param train  those to train on, of which there are none; null: none are given
JobProblem without_links(const Job& job, const GraphInfo& graph, const SplitInfo::LinkRole* train) {
  if (lacks_edges_to_learn(job, graph, train)) {
    return {"/task/edges", "edges to learn",
            "none of " + names_of_types(graph, types_without_edges(graph, *train)),
            "name an edge type that has some"};
  }
  return {"/dataset/split", "a split with links to train on",
          fmt::format("\"{}\" without them", job.dataset.split),
          "import the data with links, or set task.kind to \"node\""};
}

/// Ends drawn by degree are ends of edges, of which each type needs some.
void check_degrees(const Job& job, const GraphInfo& graph, ProblemList& problems) {
  const auto* links = links_by_degree(job, graph);
  if (links == nullptr) {
    return;
  }
  const auto types = types_without_edges(graph, *links);
  if (!types.empty()) {
    problems.add({"/task/negatives/by", "\"uniform\" with links of an edge type without edges",
                  fmt::format("\"degree\", and no edges of {}", names_of_types(graph, types)), ""});
  }
}

/// Whether rows of both ends are learned. \param pairs  empty: pairs are of nodes of `type`
bool are_of_pairs(const EndTypes& ends, NodeTypeId type, const std::vector<LinkEndTypes>& pairs) {
  const auto learned = [&](NodeTypeId end) {
    return pairs.empty() ? end == type
                         : std::ranges::find(pairs, end, &LinkEndTypes::source) != pairs.end();
  };
  return learned(ends.source) && learned(ends.destination);
}

}  // namespace

std::optional<EdgeTypeId> reverse_type(const TaskJob& task, const GraphInfo& graph,
                                       EdgeTypeId links) {
  if (!task.reverse.empty()) {
    return edge_type_named(graph, task.reverse);
  }
  const auto& type = graph.edge_types[raw(links)];
  return type.source == type.destination ? std::optional(links) : std::nullopt;
}

EndTypes end_types_of(const GraphInfo& graph, const SplitInfo::LinkRole& links) {
  if (links.pairs_of) {
    return {*links.pairs_of, *links.pairs_of};
  }
  const auto& type = graph.edge_types[raw(links.edge_type)];
  return {type.source, type.destination};
}

std::vector<EdgeTypeId> edge_types_of(const SplitInfo::LinkRole& links) {
  return links.edge_types.empty() ? std::vector{links.edge_type} : links.edge_types;
}

std::map<EdgeTypeId, std::optional<EdgeTypeId>> reverse_types(const TaskJob& task,
                                                              const GraphInfo& graph,
                                                              const SplitInfo::LinkRole& links) {
  std::map<EdgeTypeId, std::optional<EdgeTypeId>> reverses;
  for (std::size_t i = 0; i < links.edge_types.size(); ++i) {
    TaskJob of_type;
    of_type.reverse = i < task.reverses.size() ? task.reverses[i] : std::string();
    reverses[links.edge_types[i]] = reverse_type(of_type, graph, links.edge_types[i]);
  }
  return reverses;
}

const SplitInfo::LinkRole* training_links(const Job& job, const GraphInfo& graph) {
  const auto* split = job.task.links() ? graph.find_split(job.dataset.split) : nullptr;
  if (split == nullptr) {
    return nullptr;
  }
  const auto train = split->links.find("train");
  return train == split->links.end() ? nullptr : &train->second;
}

const SplitInfo::LinkRole* links_by_degree(const Job& job, const GraphInfo& graph) {
  const auto& negatives = job.task.negatives;
  return negatives.by_degree && negatives.drawn() > 0 ? training_links(job, graph) : nullptr;
}

Status take_edge_ends(SampleOptions& options, const Job& job, const PartitionedStore& store) {
  const auto* links = links_by_degree(job, store.info());
  if (links == nullptr) {
    return ok_status();
  }
  const auto& ends = store.partition().ends;
  if (ends.empty()) {
    return Error(Errc::failed_precondition,
                 fmt::format("{}: negatives by degree need a store with the ends of "
                             "edges, found one without\ntry: partition the graph again",
                             store.dir().string()));
  }
  const auto sums = [](const std::vector<std::uint64_t>& edges) {
    std::vector<std::uint64_t> before{0};
    for (const auto of_part : edges) {
      before.push_back(before.back() + of_part);
    }
    return before;
  };
  for (const EdgeTypeId edge_type : edge_types_of(*links)) {
    const auto& of_type = ends[raw(edge_type)];
    options.links->edges_before[edge_type] = {sums(of_type.in.edges), sums(of_type.out.edges)};
  }
  return ok_status();
}

Result<std::shared_ptr<const Part>> with_ends_of(std::shared_ptr<const Part> part, const Job& job,
                                                 const PartitionedStore& store) {
  const auto* links = links_by_degree(job, store.info());
  if (links == nullptr) {
    return part;
  }
  for (const EdgeTypeId type : edge_types_of(*links)) {
    TROUPE_ASSIGN_OR_RETURN(part, store.with_ends(*part, type));
  }
  return part;
}

void check_links(const Job& job, const GraphInfo& graph, JobTrainer trainer,
                 ProblemList& problems) {
  if (!job.task.links()) {
    return;
  }
  const auto* train = training_links(job, graph);
  const bool lacks =
      train != nullptr && (train->count == 0 || lacks_edges_to_learn(job, graph, train));
  if (train == nullptr || (lacks && trainer != JobTrainer::none)) {
    problems.add(without_links(job, graph, train));
    return;
  }
  for (const auto& [role, links] : graph.find_split(job.dataset.split)->links) {
    if (edge_types_of(links) != edge_types_of(*train) && links.count > 0 &&
        !(links.edge_types.empty() && train->edge_types.empty())) {
      problems.add({"/dataset/split",
                    fmt::format("{} links of the edge types that training has, {}", role,
                                edge_types_of(*train).size()),
                    fmt::format("links of {}, or of others", edge_types_of(links).size()), ""});
      return;
    }
    if (train->pairs_of && links.count > 0) {
      const auto ends = end_types_of(graph, links);
      if (!are_of_pairs(ends, *train->pairs_of, types_of_pairs(job, graph))) {
        const auto& name = graph.node_types[raw(*train->pairs_of)].name;
        problems.add({"/dataset/split",
                      job.task.walk.all_pairs
                          ? fmt::format("{} links between nodes that pairs on walks are of", role)
                          : fmt::format("{} links between \"{}\" nodes", role, name),
                      fmt::format("links of \"{}\"", graph.edge_types[raw(links.edge_type)].name),
                      "another split, or none, has no such links"});
        return;
      }
      continue;
    }
    if (links.edge_type != train->edge_type && links.count > 0) {
      problems.add({"/dataset/split",
                    fmt::format("{} links of \"{}\", as those of training are", role,
                                graph.edge_types[raw(train->edge_type)].name),
                    fmt::format("links of \"{}\"", graph.edge_types[raw(links.edge_type)].name),
                    ""});
    }
  }
  if (trainer != JobTrainer::none) {
    check_degrees(job, graph, problems);
  }
  if (!train->edge_types.empty()) {
    return check_relations(job, graph, *train, problems);
  }
  if (!job.task.reverses.empty()) {
    problems.add({"/task/reverse", "one name with links of one edge type",
                  fmt::format("a list of {}", job.task.reverses.size()), ""});
  }
  check_pair_files(job, *train, problems);
  check_reverse(job.task.reverse, graph, train->edge_type, problems);
}

void check_task(const TaskJob& task, ProblemList& problems) {
  if (task.links() && !task.knowledge()) {
    return;
  }
  const auto refuse = [&](const char* key, const char* expected, const std::string& found) {
    problems.add({fmt::format("/task/{}", key),
                  fmt::format("{} with kind \"{}\"", expected, task.kind), found,
                  "set task.kind to \"link\""});
  };
  if (task.negatives.kind != Negatives::none) {
    refuse("negatives/kind", "\"none\"",
           task.negatives.kind == Negatives::binary ? "\"binary\"" : "\"triplet\"");
  }
  if (!task.exclude) {
    refuse("exclude", "\"batch\"", "\"none\"");
  }
  if (!task.reverses.empty()) {
    refuse("reverse", "\"\"", "a list");
  }
  if (!task.reverse.empty()) {
    refuse("reverse", "\"\"", fmt::format("\"{}\"", task.reverse));
  }
}

void check_times_of_split(const Job& job, const GraphInfo& graph, ProblemList& problems) {
  const auto* split = graph.find_split(job.dataset.split);
  if (!job.sample.time.of_split || split == nullptr) {
    return;
  }
  std::string without;
  std::string hint = "import the data with times of its seeds";
  const auto check = [&](const auto& roles) {
    for (const auto& [role, seeds] : roles) {
      if (!seeds.has_times && seeds.count > 0) {
        without += fmt::format("{}{}", without.empty() ? "" : ", ", role);
        if (job.dataset.seeds.contains(role)) {
          hint = fmt::format(
              "name the file of the times of dataset.seeds.{0} as "
              "dataset.seeds.times.{0}",
              role);
        }
      }
    }
  };
  if (job.task.links()) {
    check(split->links);
  } else {
    check(split->roles);
  }
  if (!without.empty()) {
    problems.add({"/sample/time/of", "\"at\" where seeds of the split have no times",
                  fmt::format("\"split\", and no times of {}", without), hint});
  }
}

}  // namespace troupe
