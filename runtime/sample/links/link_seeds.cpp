#include "runtime/sample/links/link_seeds.hpp"

#include "runtime/base/assert.hpp"
#include "runtime/base/philox.hpp"
#include "runtime/graph/directory.hpp"
#include "runtime/sample/random_node.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>
#include <string>
#include <tuple>
#include <utility>

namespace troupe {

LinkEndTypes end_types(const GraphInfo& graph, const LinkOptions& options, EdgeTypeId links) {
  if (options.pairs_of) {
    return {*options.pairs_of, *options.pairs_of};
  }
  const auto& type = graph.edge_types[raw(links)];
  return {type.source, type.destination};
}

LinkSeeds::LinkSeeds(const GraphInfo& graph, const PartitionBook& book,
                     std::shared_ptr<const SampleOptions> options, BatchKey key,
                     PositiveLinks links, LinkEndTypes types)
    : graph_(graph),
      book_(book),
      options_(std::move(options)),
      key_(key),
      links_(std::move(links)),
      types_(types) {
  TROUPE_ASSERT(options_->links.has_value(), "options of links");
  TROUPE_ASSERT(links_.sources.size() == links_.destinations.size(), "ends of links",
                links_.sources.size(), links_.destinations.size());
  const auto& shared = options_->links->shared;
  if (shared) {
    draw_shared(*shared);
  } else {
    draw_candidates();
  }
  if (candidates_.empty() || (shared && !shared->of_ranks.empty())) {
    stage_ = Stage::done;
  } else {
    ask_for_nodes();
  }
}

NodeTypeId LinkSeeds::drawn_type(const Candidate& candidate) const {
  return candidate.is_source ? types_.source : types_.destination;
}

std::uint32_t LinkSeeds::tries() const {
  const auto& negatives = options_->links->negatives;
  return negatives.strict ? negatives.tries : 1;
}

const std::vector<std::uint64_t>& LinkSeeds::edges_before(bool is_source) const {
  const auto& of_type = options_->links->edges_before.at(links_.edge_type);
  return is_source ? of_type.out : of_type.in;
}

std::uint64_t LinkSeeds::draw(StreamKey key, std::uint64_t positive, std::uint32_t candidate,
                              bool is_source) const {
  DrawStream stream(key, positive, candidate);
  if (options_->links->negatives.by_degree) {
    return stream.below64(edges_before(is_source).back());
  }
  return random_original_id(stream, book_.count(drawn_type({.is_source = is_source})));
}

/// The part whose slice of the directory has a candidate.
/// \param place  its place there, or by degree the number of its edge, is set
PartId LinkSeeds::part_with(const Candidate& candidate, std::uint64_t& place) const {
  if (options_->links->negatives.by_degree) {
    const auto& before = edges_before(candidate.is_source);
    const auto behind = std::ranges::upper_bound(before, candidate.drawn);
    place = candidate.drawn - *(behind - 1);
    return static_cast<PartId>(behind - before.begin() - 1);
  }
  const DirectorySlices slices{book_.count(drawn_type(candidate)), book_.parts()};
  const auto part = slices.part_of(static_cast<OriginalId>(candidate.drawn));
  place = candidate.drawn - slices.first(raw(part));
  return part;
}

FindNodes LinkSeeds::question_for(const Candidate& candidate) const {
  FindNodes question;
  question.node_type = drawn_type(candidate);
  question.by_edge = options_->links->negatives.by_degree;
  if (question.by_edge) {
    question.edge_type = links_.edge_type;
    question.out = candidate.is_source;
  }
  return question;
}

void LinkSeeds::draw_candidates() {
  const auto& negatives = options_->links->negatives;
  if (negatives.kind == Negatives::none) {
    return;
  }
  const auto key_of = [&](bool is_source) {
    return stream_key(options_->job_seed, {.domain = Domain::negatives,
                                           .type = raw(drawn_type({.is_source = is_source})),
                                           .hop = 0,
                                           .epoch = key_.stream_epoch(),
                                           .batch = key_.number});
  };
  const std::array keys{key_of(false), key_of(true)};
  candidates_.reserve(links_.sources.size() * negatives.drawn() * tries());
  for (std::size_t positive = 0; positive < links_.sources.size(); ++positive) {
    for (std::uint32_t number = 0; number < negatives.per_positive * tries(); ++number) {
      Candidate candidate;
      candidate.is_source = negatives.kind == Negatives::binary && number / tries() % 2 == 1;
      candidate.drawn =
          draw(keys[candidate.is_source ? 1 : 0], positive, number, candidate.is_source);
      candidates_.push_back(candidate);
    }
  }
}

/// Of the rank's own parts they are found already.
void LinkSeeds::draw_shared(const SharedCandidates& shared) {
  const bool is_source = replaced_in(key_) == ReplacedEnd::head;
  const auto type = drawn_type({.is_source = is_source});
  CandidateNodes nodes{.count = book_.count(type)};
  if (!shared.of_ranks.empty()) {
    nodes.own = shared.of_ranks[key_.number % shared.of_ranks.size()];
  }
  for (const auto drawn : chunk_candidates(options_->job_seed, key_, type,
                                           shared.chunks.chunks_of(links_.sources.size()),
                                           shared.chunks.negatives, nodes)) {
    Candidate candidate;
    candidate.is_source = is_source;
    candidate.drawn = drawn;
    candidate.node = nodes.local() ? static_cast<NodeId>(drawn) : NodeId{};
    candidates_.push_back(candidate);
  }
}

void LinkSeeds::ask_for_nodes() {
  const bool by_degree = options_->links->negatives.by_degree;
  // To its place in pending_. By degree sources and destinations of one type are found apart.
  std::map<std::tuple<NodeTypeId, bool, PartId>, std::size_t> by_part;
  for (std::uint32_t i = 0; i < candidates_.size(); ++i) {
    const auto type = drawn_type(candidates_[i]);
    std::uint64_t place = 0;
    const auto part = part_with(candidates_[i], place);
    const auto [at, is_new] =
        by_part.try_emplace({type, by_degree && candidates_[i].is_source, part}, pending_.size());
    if (is_new) {
      pending_.push_back(
          {static_cast<std::uint32_t>(asked_.size()), part, question_for(candidates_[i])});
      asked_.push_back({part, type, {}});
    }
    auto& question = pending_[at->second];
    std::get<FindNodes>(question.request).places.push_back(place);
    asked_[question.id].candidates.push_back(i);
  }
  open_ = pending_.size();
}

void LinkSeeds::ask_for_edges() {
  const auto& type = graph_.edge_types[raw(links_.edge_type)];
  const bool in = options_->dir == EdgeDir::in;
  std::map<PartId, std::size_t> by_part;  // to its place in pending_
  for (std::uint32_t i = 0; i < candidates_.size(); ++i) {
    const auto [source, destination] = ends(i);
    const auto node = in ? destination : source;
    const auto part = book_.owner(in ? type.destination : type.source, node);
    const auto [at, is_new] = by_part.try_emplace(part, pending_.size());
    if (is_new) {
      pending_.push_back({static_cast<std::uint32_t>(asked_.size()), part,
                          HasEdges{links_.edge_type, !in, {}, {}}});
      asked_.push_back({part, {}, {}});
    }
    auto& question = pending_[at->second];
    auto& request = std::get<HasEdges>(question.request);
    request.nodes.push_back(node);
    request.neighbours.push_back(in ? source : destination);
    asked_[question.id].candidates.push_back(i);
  }
  open_ = pending_.size();
}

std::vector<LinkQuestion> LinkSeeds::questions() {
  return std::exchange(pending_, {});
}

/// The question if it waits for so many answers.
Result<LinkSeeds::Asked*> LinkSeeds::open(std::uint32_t question, std::size_t answers) {
  if (question >= asked_.size() || asked_[question].candidates.empty()) {
    return Error(Errc::invalid_argument,
                 fmt::format("links: no answer is awaited for question {}; {} were asked", question,
                             asked_.size()));
  }
  auto& asked = asked_[question];
  if (answers != asked.candidates.size()) {
    return Error(Errc::data_corruption,
                 fmt::format("links, part {}: expected {} answers, got {}", raw(asked.part),
                             asked.candidates.size(), answers));
  }
  return &asked;
}

Status LinkSeeds::answer(std::uint32_t question, const NodesFound& found) {
  TROUPE_ASSIGN_OR_RETURN(auto* const asked, open(question, found.nodes.size()));
  for (std::size_t i = 0; i < found.nodes.size(); ++i) {
    if (!book_.contains(asked->node_type, found.nodes[i])) {
      return Error(Errc::data_corruption,
                   fmt::format("links, part {}: expected ids below {}, got {}", raw(asked->part),
                               book_.count(asked->node_type), raw(found.nodes[i])));
    }
    candidates_[asked->candidates[i]].node = found.nodes[i];
  }
  asked->candidates.clear();
  go_on();
  return ok_status();
}

Status LinkSeeds::answer(std::uint32_t question, const EdgesThere& there) {
  TROUPE_ASSIGN_OR_RETURN(auto* const asked, open(question, there.has.size()));
  for (std::size_t i = 0; i < there.has.size(); ++i) {
    candidates_[asked->candidates[i]].is_edge = there.has[i] != 0;
  }
  asked->candidates.clear();
  go_on();
  return ok_status();
}

/// An answer was taken.
void LinkSeeds::go_on() {
  if (--open_ > 0) {
    return;
  }
  if (stage_ == Stage::find && options_->links->negatives.strict) {
    stage_ = Stage::check;
    ask_for_edges();
  } else {
    stage_ = Stage::done;
  }
}

bool LinkSeeds::done() const {
  return stage_ == Stage::done;
}

std::size_t LinkSeeds::positive_of(std::size_t candidate) const {
  return candidate / (options_->links->negatives.drawn() * tries());
}

std::pair<NodeId, NodeId> LinkSeeds::ends(std::size_t candidate) const {
  const auto positive = positive_of(candidate);
  const auto& drawn = candidates_[candidate];
  return {drawn.is_source ? drawn.node : links_.sources[positive],
          drawn.is_source ? links_.destinations[positive] : drawn.node};
}

void LinkSeeds::exclude(Exclusions& exclusions) const {
  const auto reverse = options_->links->reverse_of(links_.edge_type);
  const bool in = options_->dir == EdgeDir::in;
  for (std::size_t i = 0; i < links_.sources.size(); ++i) {
    const auto list_end = in ? links_.destinations[i] : links_.sources[i];
    const auto other_end = in ? links_.sources[i] : links_.destinations[i];
    exclusions.add(links_.edge_type, list_end, other_end);
    if (reverse) {
      exclusions.add(*reverse, other_end, list_end);
    }
  }
  exclusions.finish();
}

/// The first candidate of each negative that is no edge; the first one where all are.
PooledVector<std::size_t> LinkSeeds::chosen(std::uint64_t& edges_drawn) const {
  PooledVector<std::size_t> chosen;
  for (std::size_t first = 0; first < candidates_.size(); first += tries()) {
    std::size_t at = first;
    while (at < first + tries() && candidates_[at].is_edge) {
      ++at;
    }
    const bool all_are_edges = at == first + tries();
    edges_drawn += all_are_edges ? 1 : 0;
    chosen.push_back(all_are_edges ? first : at);
  }
  return chosen;
}

/// Those of the positive links: sources are the first seeds, destinations those after them.
BatchLinks LinkSeeds::links_of_batch() const {
  BatchLinks links;
  links.edge_type = links_.edge_type;
  links.source_type = types_.source;
  links.destination_type = types_.destination;
  const auto positives = static_cast<std::uint32_t>(links_.sources.size());
  for (std::uint32_t i = 0; i < positives; ++i) {
    links.sources.push_back(i);
    links.destinations.push_back(positives + i);
  }
  links.labels.assign(links_.labels.begin(), links_.labels.end());
  links.times.assign(links_.times.begin(), links_.times.end());
  return links;
}

LinkSeeds::Seeds LinkSeeds::take_shared() {
  Seeds out;
  out.links = links_of_batch();
  auto place = static_cast<std::uint32_t>(2 * links_.sources.size());
  SeedGroup candidates{drawn_type({.is_source = replaced_in(key_) == ReplacedEnd::head}), {}};
  for (const Candidate& candidate : candidates_) {
    candidates.nodes.push_back(candidate.node);
    out.links.candidates.push_back(place++);
  }
  out.seeds.groups = {{out.links.source_type, std::move(links_.sources)},
                      {out.links.destination_type, std::move(links_.destinations)},
                      std::move(candidates)};
  return out;
}

LinkSeeds::Seeds LinkSeeds::take() && {
  TROUPE_ASSERT(done(), "the ends of the links are not complete");
  if (options_->links->shared) {
    return take_shared();
  }
  Seeds out;
  out.links = links_of_batch();
  const auto positives = static_cast<std::uint32_t>(links_.sources.size());
  const auto negatives = chosen(out.links.edges_drawn);
  SeedGroup drawn_sources{types_.source, {}};
  SeedGroup drawn_destinations{types_.destination, {}};
  std::array<PooledVector<std::int64_t>, 2> drawn_times;  // of destinations, of sources
  const auto sources = static_cast<std::uint32_t>(std::ranges::count_if(
      negatives, [this](std::size_t number) { return candidates_[number].is_source; }));
  // Places among the seeds: sources, destinations, drawn sources, drawn destinations.
  const std::uint32_t first_source = 2 * positives;
  const std::uint32_t first_destination = first_source + sources;
  for (const auto number : negatives) {
    const auto& [is_source, drawn, node, is_edge] = candidates_[number];
    const auto positive = static_cast<std::uint32_t>(positive_of(number));
    auto& group = (is_source ? drawn_sources : drawn_destinations).nodes;
    const auto place =
        static_cast<std::uint32_t>(group.size()) + (is_source ? first_source : first_destination);
    group.push_back(node);
    out.links.negative_sources.push_back(is_source ? place : positive);
    out.links.negative_destinations.push_back(is_source ? positives + positive : place);
    if (!links_.times.empty()) {
      drawn_times[is_source ? 1 : 0].push_back(links_.times[positive]);
    }
  }
  if (options_->links->exclude) {
    auto exclusions = std::make_shared<Exclusions>(graph_.edge_types.size());
    exclude(*exclusions);
    out.seeds.excluded = std::move(exclusions);
  }
  for (const auto* times : {&links_.times, &links_.times, &drawn_times[1], &drawn_times[0]}) {
    out.seeds.times.insert(out.seeds.times.end(), times->begin(), times->end());
  }
  out.seeds.groups = {{types_.source, std::move(links_.sources)},
                      {types_.destination, std::move(links_.destinations)},
                      std::move(drawn_sources),
                      std::move(drawn_destinations)};
  return out;
}

}  // namespace troupe
