#pragma once
/// \file drive_links.hpp
/// Drives batches of links with parts in memory, and draws the same links slowly from the edge list, as
/// decision 0030 has it.
#include "runtime/sample/sampling_work.hpp"
#include "tests/runtime/sample/drive.hpp"

#include <set>
#include <utility>
#include <vector>

namespace troupe::testing {

/// Links by original ids.
struct PlainLinks {
  std::uint16_t edge_type = 0;
  std::vector<TestEdge> links;
  std::vector<std::int64_t> times = {};  ///< [links] or empty
};

inline PositiveLinks positives_of(const CutGraph& cut, const PlainLinks& plain) {
  const auto& type = cut.info.edge_types[plain.edge_type];
  PositiveLinks links;
  links.edge_type = static_cast<EdgeTypeId>(plain.edge_type);
  for (const auto& [source, destination] : plain.links) {
    links.sources.push_back(cut.global(source, raw(type.source)));
    links.destinations.push_back(cut.global(destination, raw(type.destination)));
  }
  links.times = plain.times;
  return links;
}

inline SamplingWork::Arrived answer_of(const CutGraph& cut, const SampleQuestion& question) {
  const auto& part = *cut.parts[raw(question.part)];
  if (const auto* nodes = std::get_if<FindNodes>(&question.request)) {
    return {question.id, std::make_shared<const NodesFound>(*find_nodes(part, *nodes))};
  }
  if (const auto* edges = std::get_if<HasEdges>(&question.request)) {
    return {question.id, std::make_shared<const EdgesThere>(*has_edges(part, *edges))};
  }
  const auto& hop = std::get<HopRequest>(question.request);
  return {question.id,
          std::make_shared<const HopReply>(*sample_one_hop(part, hop, question.lists_of))};
}

/// \param here  parts whose lists need not be asked for; the answers of the others arrive last first
inline SampledBatch drive_links(const CutGraph& cut, const SampleOptions& options, BatchKey key,
                                const PlainLinks& links, std::uint32_t here = 0) {
  const auto halos = std::make_shared<const std::vector<std::shared_ptr<const Part>>>();
  SamplingInputs inputs;
  inputs.graph = std::make_shared<const GraphInfo>(cut.info);
  inputs.book = cut.book;
  auto with_ends = std::make_shared<SampleOptions>(options);
  if (options.links->negatives.by_degree) {
    with_ends->links->edges_before[static_cast<EdgeTypeId>(links.edge_type)] = {
        edges_before(cut, links.edge_type, EdgeDir::in),
        edges_before(cut, links.edge_type, EdgeDir::out)};
  }
  inputs.options = std::move(with_ends);
  inputs.halos = halos;
  inputs.lists_here = [&](PartId part) {
    return raw(part) < here ? cut.parts[raw(part)] : std::shared_ptr<const Part>();
  };
  OrderedSeeds seeds;
  seeds.links = positives_of(cut, links);
  SamplingWork work(std::move(inputs), key, std::move(seeds));
  std::vector<SampleQuestion> open;
  std::vector<SamplingWork::Arrived> arrived;
  for (int steps = 0; steps < 100'000; ++steps) {
    auto step = work.step(std::exchange(arrived, {}));
    EXPECT_OK(step);
    if (!step || step->done) {
      break;
    }
    for (auto& question : step->ask) {
      open.push_back(std::move(question));
    }
    if (!step->more) {
      EXPECT_FALSE(open.empty()) << "the batch waits but asks nothing";
      arrived.push_back(answer_of(cut, open.back()));
      open.pop_back();
    }
  }
  EXPECT_TRUE(open.empty());
  return std::move(work).take();
}

/// One end of each edge, in order of original ids.
inline std::vector<std::uint64_t> ends_in_order(const TestEdgeType& type, bool of_source) {
  std::vector<std::uint64_t> ends;
  for (const auto& edge : type.edges) {
    ends.push_back(of_source ? edge.source : edge.destination);
  }
  std::ranges::sort(ends);
  return ends;
}

/// Draws negatives one by one, looks edges up in a set, and grows the batch from the edge list.
inline PlainBatch reference_links(const TestGraph& graph, const SampleOptions& options,
                                  BatchKey key, const PlainLinks& links) {
  const auto& type = graph.edges[links.edge_type];
  const auto& negatives = options.links->negatives;
  std::set<std::pair<std::uint64_t, std::uint64_t>> there;
  for (const auto& [source, destination] : type.edges) {
    there.emplace(source, destination);
  }
  PlainBatch::Links drawn;
  std::vector<std::pair<std::uint64_t, std::int64_t>> sources;  // drawn ones, with their times
  std::vector<std::pair<std::uint64_t, std::int64_t>> destinations;
  const std::uint32_t tries = negatives.strict ? negatives.tries : 1;
  const bool any = negatives.kind != Negatives::none;
  for (std::size_t i = 0; i < links.links.size(); ++i) {
    const auto& [source, destination] = links.links[i];
    drawn.sources.push_back(source);
    drawn.destinations.push_back(destination);
    for (std::uint32_t k = 0; k < negatives.per_positive && any; ++k) {
      const bool of_source = negatives.kind == Negatives::binary && k % 2 == 1;
      const auto end_type = of_source ? type.source : type.destination;
      const auto stream_of_type = stream_key(options.job_seed, {.domain = Domain::negatives,
                                                                .type = end_type,
                                                                .epoch = key.stream_epoch(),
                                                                .batch = key.number});
      std::vector<std::uint64_t> candidates;
      std::optional<std::uint64_t> chosen;
      for (std::uint32_t t = 0; t < tries; ++t) {
        DrawStream stream(stream_of_type, i, k * tries + t);
        candidates.push_back(
            negatives.by_degree
                ? ends_in_order(type, of_source)[stream.below64(type.edges.size())]
                : stream.below(static_cast<std::uint32_t>(graph.nodes[end_type].count)));
        const auto pair = of_source ? std::pair(candidates.back(), destination)
                                    : std::pair(source, candidates.back());
        if (!chosen && !(negatives.strict && there.contains(pair))) {
          chosen = candidates.back();
        }
      }
      drawn.edges_drawn += chosen ? 0U : 1U;
      const auto end = chosen.value_or(candidates.front());
      drawn.negative_sources.push_back(of_source ? end : source);
      drawn.negative_destinations.push_back(of_source ? destination : end);
      (of_source ? sources : destinations)
          .emplace_back(end, links.times.empty() ? 0 : links.times[i]);
    }
  }
  std::vector<ReferenceSampler::Seed> seeds;
  std::vector<std::int64_t> times = links.times;
  times.insert(times.end(), links.times.begin(), links.times.end());
  for (const auto source : drawn.sources) {
    seeds.push_back({type.source, source});
  }
  for (const auto destination : drawn.destinations) {
    seeds.push_back({type.destination, destination});
  }
  for (const auto* ends : {&sources, &destinations}) {
    for (const auto& [end, time] : *ends) {
      seeds.push_back({ends == &sources ? type.source : type.destination, end});
      if (!links.times.empty()) {
        times.push_back(time);
      }
    }
  }
  std::set<ReferenceSampler::Excluded> excluded;
  for (const auto& [source, destination] : links.links) {
    const bool in = options.dir == EdgeDir::in;
    if (options.links->exclude) {
      excluded.insert({links.edge_type, in ? destination : source, in ? source : destination});
    }
    if (options.links->exclude && options.links->reverse) {
      excluded.insert(
          {raw(*options.links->reverse), in ? source : destination, in ? destination : source});
    }
  }
  auto batch = ReferenceSampler(graph, options, key).sample_seeds(seeds, times, excluded);
  batch.links = std::move(drawn);
  return batch;
}

}  // namespace troupe::testing
