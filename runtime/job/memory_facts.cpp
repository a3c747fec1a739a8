#include "runtime/job/memory_facts.hpp"

#include "runtime/base/id_list.hpp"
#include "runtime/job/job_file.hpp"
#include "runtime/job/link_rules.hpp"
#include "runtime/job/walk_rules.hpp"
#include "runtime/nn/catalog.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>

namespace troupe {
namespace {

/// Pairs of the files of evaluation, while they are found in the parts and after that: four ids each
/// beside those of the file, whose ids take two bytes at least.
std::uint64_t bytes_of_pairs(const EvalJob& eval) {
  std::uint64_t bytes = 0;
  for (const auto* files : {&eval.negative_files, &eval.candidate_files}) {
    for (const auto& [role, of_role] : *files) {
      for (const auto& file : of_role) {
        std::error_code error;
        const auto size = std::filesystem::file_size(file, error);
        bytes = plus(bytes, error ? 0 : times(size, 32));
      }
    }
  }
  return bytes;
}

/// Training links that every process makes, while it makes them: those of files, nodes that walks begin
/// at, or all edges of some types. Those of a split stay in their file.
std::uint64_t bytes_of_made_links(const Job& job, const GraphInfo& graph,
                                  const SplitInfo::LinkRole& links) {
  constexpr std::uint64_t word = sizeof(std::uint64_t);
  if (job.dataset.seeds.contains("train")) {
    return times(links.count, 10 * word);
  }
  if (!job.task.embeds()) {
    return 0;
  }
  if (job.task.from_walks) {
    return times(links.count, 3 * word);
  }
  std::set<NodeTypeId> ends;
  std::uint64_t kept = 0;
  std::uint64_t making = 0;  // of one type after the other
  for (const auto type : edge_types_of(links)) {
    const auto& edges = graph.edge_types[raw(type)];
    const auto sources = graph.node_types[raw(edges.source)].count;
    const auto destinations = graph.node_types[raw(edges.destination)].count;
    ends.insert({edges.source, edges.destination});
    kept = plus(kept, times(edges.count, id_width_bytes(destinations)));
    kept = plus(kept, times(std::min(sources, edges.count), 2 * word));
    making = std::max(making, times(plus(times(sources, 2), destinations), word));
  }
  for (const auto type : ends) {
    kept = plus(kept, times(graph.node_types[raw(type)].count, word));
  }
  return plus(kept, making);
}

/// Seeds, or links, of the roles of a split that are scored.
template <class Roles>
std::uint64_t scored_in(const Roles& roles) {
  std::uint64_t scored = 0;
  for (const auto& [role, list] : roles) {
    scored = plus(scored, role == "train" ? 0 : list.count);
  }
  return scored;
}

/// Links and pairs that every process keeps. \param scored  links to validate and test
std::uint64_t bytes_of_links(const Job& job, const GraphInfo& graph,
                             const SplitInfo::LinkRole& links, std::uint64_t scored) {
  const auto bytes = plus(bytes_of_pairs(job.eval), bytes_of_made_links(job, graph, links));
  if (links.edge_types.empty() || job.task.knowledge()) {
    return bytes;
  }
  // Those of a split are put type by type: a place and a time of each.
  return plus(bytes, times(plus(job.task.embeds() ? 0 : links.count, scored), 16));
}

}  // namespace

void MemoryLoad::add(const ProcessPlan& process) {
  ranks += process.ranks.size();
  paths += std::max(process.ranks.size(), process.samples_for.size());
  evaluators += process.serves.empty() ? 0U : 1U;
  served += process.serves.size();
  mapped += process.maps.size();
  topologies += 1;
  directs = directs || process.directs;
}

MemoryFacts::MemoryFacts(const Job& given, const GraphInfo& info, const GraphFacts& known,
                         const Plan& planned)
    : job(given), graph(info), facts(known), plan(planned) {
  fit_to_graph(job, graph);
  if (auto made = nn::make_network(job.model); made) {
    model = *std::move(made);
  }
  for (const auto& type : graph.node_types) {
    nodes = plus(nodes, type.count);
  }
  for (const auto& type : graph.edge_types) {
    edges = plus(edges, type.count);
  }
  if (const auto* links = training_links(job, graph); links != nullptr) {
    largest = links->count;  // the list itself stays in its file
    batch_seeds = seeds_of_batch(job, graph, *links);
    pairs = job.task.knowledge() ? 0 : pairs_of_batch(job, links->count);
    triples = job.task.knowledge() ? std::min(job.sample.batch_size, links->count) : 0;
    scored = scored_in(graph.find_split(job.dataset.split)->links);
    pair_bytes = bytes_of_links(job, graph, *links, scored);
    seeds = job.task.embeds() ? nodes : 0;
  } else if (const auto* split = graph.find_split(job.dataset.split); split != nullptr) {
    scored = scored_in(split->roles);
    for (const auto& [role, list] : split->roles) {
      seeds = plus(seeds, list.count);
      // Sampled evaluation has batches of its own.
      const bool has_batches = role == "train" || job.eval.mode == "sampled";
      if (has_batches && list.count > largest) {
        largest = list.count;
        batch_seeds = seeds_of_batch(job, graph, list);
      }
    }
  }
  batch_seeds.resize(graph.node_types.size());
  reach = reach_of_batch(job, graph, batch_seeds);
}

std::uint64_t MemoryFacts::remote(std::uint64_t bytes) const {
  const auto owners = std::max<std::size_t>(1, plan.layout.evaluators().size());
  return proportion(bytes, owners - 1, owners);
}

}  // namespace troupe
