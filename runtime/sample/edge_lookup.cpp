#include "runtime/sample/edge_lookup.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace troupe {
namespace {

Error bad_answer(PartId part, const std::string& what) {
  return {Errc::data_corruption, fmt::format("edges, part {}: {}", raw(part), what)};
}

}  // namespace

DegreeLookup::DegreeLookup(const PartitionBook& book, NodeTypeId type, const CountEdges& about,
                           std::span<const NodeId> nodes)
    : degrees_(nodes.size()) {
  std::map<PartId, std::size_t> by_part;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto part = book.owner(type, nodes[i]);
    const auto [at, is_new] = by_part.try_emplace(part, questions_.size());
    if (is_new) {
      questions_.push_back({part, {about.edge_type, about.out, {}}});
      places_.emplace_back();
    }
    questions_[at->second].request.nodes.push_back(nodes[i]);
    places_[at->second].push_back(i);
  }
}

Status DegreeLookup::answer(std::size_t question, const EdgesCounted& counted) {
  const auto& places = places_.at(question);
  if (counted.degrees.size() != places.size()) {
    return bad_answer(
        questions_[question].part,
        fmt::format("expected {} degrees, got {}", places.size(), counted.degrees.size()));
  }
  for (std::size_t i = 0; i < places.size(); ++i) {
    degrees_[places[i]] = counted.degrees[i];
  }
  return ok_status();
}

EdgeLookup::EdgeLookup(const PartitionBook& book, const EdgeTypeInfo& type, EdgeTypeId number,
                       std::span<const EdgeId> edges)
    : book_(book),
      source_type_(type.source),
      destination_type_(type.destination),
      name_(type.name),
      question_{number, {edges.begin(), edges.end()}} {
  auto& asked = question_.edges;
  std::ranges::sort(asked);
  asked.erase(std::unique(asked.begin(), asked.end()), asked.end());
  places_.reserve(edges.size());
  for (const auto edge : edges) {
    const auto at = std::ranges::lower_bound(asked, edge);
    places_.push_back(static_cast<std::uint64_t>(at - asked.begin()));
  }
  ends_ = {std::vector<NodeId>(asked.size(), unknown), std::vector<NodeId>(asked.size(), unknown)};
  parts_.resize(asked.size());
  entries_.resize(asked.size());
}

Status EdgeLookup::answer(PartId part, const EdgesFound& found) {
  const auto count = found.places.size();
  if (found.sources.size() != count || found.destinations.size() != count) {
    return bad_answer(part, fmt::format("expected {} sources and destinations, got {} and {}",
                                        count, found.sources.size(), found.destinations.size()));
  }
  for (std::size_t i = 0; i < count; ++i) {
    const auto place = found.places[i];
    if (place >= ends_.sources.size() || ends_.sources[place] != unknown) {
      return bad_answer(part, fmt::format("expected each of {} edges once, got number {}",
                                          ends_.sources.size(), place));
    }
    if (!book_.contains(source_type_, found.sources[i]) ||
        !book_.contains(destination_type_, found.destinations[i])) {
      return bad_answer(part, fmt::format("expected ids below {} and {}, got {} and {}",
                                          book_.count(source_type_), book_.count(destination_type_),
                                          raw(found.sources[i]), raw(found.destinations[i])));
    }
    ends_.sources[place] = found.sources[i];
    ends_.destinations[place] = found.destinations[i];
    parts_[place] = part;
    if (!found.entries.empty()) {
      entries_[place] = found.entries[i];
    }
  }
  all_say_where_ = all_say_where_ && found.entries.size() == count;
  return ok_status();
}

Status EdgeLookup::check_found() const {
  const auto missing = std::ranges::find(ends_.sources, unknown);
  if (missing != ends_.sources.end()) {
    const auto place = static_cast<std::size_t>(missing - ends_.sources.begin());
    return Error(
        Errc::not_found,
        fmt::format("edges: edge {} of type {} is not in the graph: the import has left it "
                    "out, as a loop, a parallel edge or a link of an edge split",
                    raw(question_.edges[place]), name_));
  }
  return ok_status();
}

Result<EdgePlaces> EdgeLookup::take_places() && {
  TROUPE_RETURN_IF_ERROR(check_found());
  if (!all_say_where_) {
    return Error(
        Errc::unimplemented,
        fmt::format("edges: rows of type {} by edge id need holders of this version", name_));
  }
  EdgePlaces places;
  for (const auto place : places_) {
    places.parts.push_back(parts_[place]);
    places.entries.push_back(entries_[place]);
  }
  return places;
}

Result<EdgeNodes> EdgeLookup::take() && {
  TROUPE_RETURN_IF_ERROR(check_found());
  EdgeNodes nodes;
  nodes.sources.reserve(places_.size());
  nodes.destinations.reserve(places_.size());
  for (const auto place : places_) {
    nodes.sources.push_back(ends_.sources[place]);
    nodes.destinations.push_back(ends_.destinations[place]);
  }
  return nodes;
}

}  // namespace troupe
