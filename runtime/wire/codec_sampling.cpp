#include "runtime/base/section_cutter.hpp"
#include "runtime/wire/codec_by_hand.hpp"
#include "runtime/wire/codec_support.hpp"
#include "schema/sampling.capnp.h"

#include <algorithm>
#include <limits>

namespace troupe::net {
namespace {

constexpr std::int32_t largest_fanout = 1 << 20;  // as the job file has it
constexpr std::uint64_t section_overhead_bytes =
    40;  // of a reply: its head, and zeros before its ids
static_assert(sizeof(ExcludedEdges) == 16, "they travel as (place, neighbor)");

Result<EdgeDir> to_edge_dir(wire::Direction direction) {
  switch (direction) {
    case wire::Direction::IN:
      return EdgeDir::in;
    case wire::Direction::OUT:
      return EdgeDir::out;
  }
  return corrupt_message("HopRequest",
                         fmt::format("direction: expected in (0) or out (1), found {}",
                                     static_cast<unsigned>(direction)));
}

Result<HopSection> read_hop_section(wire::HopSection::Reader in, std::size_t frontiers) {
  HopSection out;
  out.edge_type = static_cast<EdgeTypeId>(in.getEdgeType());
  out.frontier = in.getFrontier();
  if (out.frontier >= frontiers) {
    return corrupt_message("HopRequest", fmt::format("frontier: expected below {}, found {}",
                                                     frontiers, out.frontier));
  }
  out.fanout = in.getFanout();
  if (out.fanout < all_neighbours || out.fanout > largest_fanout) {
    return corrupt_message("HopRequest", fmt::format("fanout: expected -1 to {}, found {}",
                                                     largest_fanout, out.fanout));
  }
  out.key.words = {in.getKeyLow(), in.getKeyHigh()};
  out.first_position = in.getFirstPosition();
  out.edge_data = {in.getWithEdgeIds(), in.getWithWeights(), in.getWithTimes(),
                   in.getWithEntries()};
  if (in.getWithin() > frontiers || (in.getWithin() > 0 && out.fanout != all_neighbours)) {
    return corrupt_message("HopRequest",
                           fmt::format("set of neighbors: expected one of {} with fanout -1, found "
                                       "{} with fanout {}",
                                       frontiers, in.getWithin(), out.fanout));
  }
  if (in.getWithin() > 0) {
    out.within = in.getWithin() - 1;
  }
  return out;
}

Result<HopRequest> read_hop_request(const Frame& frame, wire::HopRequest::Reader in) {
  const SegmentReader segments(frame, "HopRequest");
  TROUPE_RETURN_IF_ERROR(segments.at_most(4));
  HopRequest out;
  TROUPE_ASSIGN_OR_RETURN(out.dir, to_edge_dir(in.getDirection()));
  out.choice = in.getChoice();
  if (out.choice >= choice_kinds().size()) {
    return corrupt_message("HopRequest", fmt::format("choice: expected below {}, found {}",
                                                     choice_kinds().size(), out.choice));
  }
  out.replace = in.getReplace();
  out.time = {in.getInclusive(), in.getWindow()};
  if (out.time.window >> 63 != 0) {
    return corrupt_message("HopRequest",
                           fmt::format("window: expected below 2^63, found {}", out.time.window));
  }
  out.max_edges = in.getMaxEdges();
  out.flow = in.getFlow();
  TROUPE_ASSIGN_OR_RETURN(const IdList ids, segments.ids(0, in.getFrontierWidth()));
  IdUnpacker nodes(ids, "HopRequest");
  TROUPE_ASSIGN_OR_RETURN(const auto all_trees, segments.pooled<std::uint32_t>(1));
  SectionCutter<std::uint32_t> trees(all_trees, "HopRequest", "trees");
  TROUPE_ASSIGN_OR_RETURN(const auto all_times, segments.pooled<std::int64_t>(2));
  SectionCutter<std::int64_t> times(all_times, "HopRequest", "times");
  TROUPE_ASSIGN_OR_RETURN(const auto all_excluded, segments.pooled<ExcludedEdges>(3));
  SectionCutter<ExcludedEdges> excluded(all_excluded, "HopRequest", "excluded edges");
  const auto frontier_list = in.getFrontiers();
  TROUPE_RETURN_IF_ERROR(check_entries("HopRequest", "frontiers", frontier_list.size()));
  const auto section_list = in.getSections();
  TROUPE_RETURN_IF_ERROR(check_entries("HopRequest", "sections", section_list.size()));
  for (const auto frontier : frontier_list) {
    TROUPE_ASSIGN_OR_RETURN(auto of_frontier, nodes.take(frontier.getNodes()));
    TROUPE_ASSIGN_OR_RETURN(const auto its_trees,
                            trees.take(frontier.getHasTrees() ? of_frontier.size() : 0));
    TROUPE_ASSIGN_OR_RETURN(const auto its_times,
                            times.take(frontier.getHasTimes() ? of_frontier.size() : 0));
    out.frontiers.push_back({static_cast<NodeTypeId>(frontier.getNodeType()),
                             std::move(of_frontier),
                             {its_trees.begin(), its_trees.end()},
                             {its_times.begin(), its_times.end()}});
  }
  TROUPE_RETURN_IF_ERROR(trees.finish());
  TROUPE_RETURN_IF_ERROR(times.finish());
  TROUPE_RETURN_IF_ERROR(nodes.finish());
  for (const auto section : section_list) {
    TROUPE_ASSIGN_OR_RETURN(auto of_edge_type, read_hop_section(section, out.frontiers.size()));
    TROUPE_ASSIGN_OR_RETURN(const auto its_excluded, excluded.take(section.getExcluded()));
    of_edge_type.excluded.assign(its_excluded.begin(), its_excluded.end());
    out.sections.push_back(std::move(of_edge_type));
  }
  TROUPE_RETURN_IF_ERROR(excluded.finish());
  // With replacement any degree gives the full fanout, so nothing else bounds the answer.
  const auto most = frame.head.max_reply_bytes;
  if (out.replace && most != 0 && reply_bytes(out) > most) {
    return corrupt_message(
        "HopRequest",
        fmt::format("largest answer: expected room for the fanouts of {} nodes, {} bytes, found {}",
                    out.num_nodes(), reply_bytes(out), most));
  }
  return out;
}

Result<HopReply> read_hop_reply(const Frame& frame, wire::HopReply::Reader in) {
  const SegmentReader segments(frame, "HopReply");
  TROUPE_RETURN_IF_ERROR(segments.at_most(4));
  HopReply out;
  const auto section_list = in.getSections();
  TROUPE_RETURN_IF_ERROR(check_entries("HopReply", "sections", section_list.size()));
  for (const auto section : section_list) {
    out.sections.push_back({.nodes = section.getNodes(),
                            .width_bytes = section.getNeighbourWidth(),
                            .resume_position = section.getResumePosition(),
                            .edge_data = {section.getHasEdgeIds(), section.getHasWeights(),
                                          section.getHasTimes(), section.getHasEntries()}});
    if (section.getListed() > 0) {
      out.sections.back().listed = section.getListed() - 1;
    }
  }
  TROUPE_ASSIGN_OR_RETURN(out.counts, segments.pooled<std::uint32_t>(0));
  TROUPE_ASSIGN_OR_RETURN(out.places, segments.pooled<std::uint32_t>(3));
  out.neighbours = segments.aligned(1);
  out.edge_data = segments.aligned(2);
  if (const auto sizes = sections_of(out); !sizes) {
    return sizes.error();
  }
  return out;
}

/// Most edges of a section's answer.
std::uint64_t most_edges(const HopRequest& message, const HopSection& section) {
  const std::uint64_t nodes = message.frontiers[section.frontier].nodes.size();
  // A hub alone can have so many; at least one edge is returned if there is any.
  const std::uint64_t limit = std::max<std::uint64_t>(message.max_edges, 1);
  if (section.fanout >= 0) {
    // Such answers are cut only between nodes.
    const auto fanout =
        most_taken(choice_kinds()[message.choice], static_cast<std::uint32_t>(section.fanout));
    return std::min(saturating_mul(nodes, fanout), std::max(limit, fanout));
  }
  return limit == std::numeric_limits<std::uint64_t>::max() ? saturating_mul(nodes, assumed_degree)
                                                            : limit;
}

}  // namespace

void encode_by_hand(const HopRequest& message, Frame& frame) {
  IdList nodes = pack_lists(
      message.frontiers, [](const HopFrontier& frontier) -> const auto& { return frontier.nodes; });
  write_message<wire::HopRequest>(frame, [&](wire::HopRequest::Builder out) {
    out.setDirection(message.dir == EdgeDir::in ? wire::Direction::IN : wire::Direction::OUT);
    out.setChoice(message.choice);
    out.setReplace(message.replace);
    out.setInclusive(message.time.inclusive);
    out.setWindow(message.time.window);
    out.setMaxEdges(message.max_edges);
    out.setFrontierWidth(nodes.width_bytes);
    out.setFlow(message.flow);
    auto frontiers = out.initFrontiers(static_cast<unsigned>(message.frontiers.size()));
    for (unsigned i = 0; i < frontiers.size(); ++i) {
      frontiers[i].setNodeType(raw(message.frontiers[i].node_type));
      frontiers[i].setNodes(message.frontiers[i].nodes.size());
      frontiers[i].setHasTrees(!message.frontiers[i].trees.empty());
      frontiers[i].setHasTimes(!message.frontiers[i].times.empty());
    }
    auto sections = out.initSections(static_cast<unsigned>(message.sections.size()));
    for (unsigned i = 0; i < sections.size(); ++i) {
      const auto& section = message.sections[i];
      sections[i].setEdgeType(raw(section.edge_type));
      sections[i].setFrontier(section.frontier);
      sections[i].setFanout(section.fanout);
      sections[i].setKeyLow(section.key.words[0]);
      sections[i].setKeyHigh(section.key.words[1]);
      sections[i].setFirstPosition(section.first_position);
      sections[i].setWithEdgeIds(section.edge_data.edge_ids);
      sections[i].setWithWeights(section.edge_data.weights);
      sections[i].setWithTimes(section.edge_data.times);
      sections[i].setWithEntries(section.edge_data.entries);
      sections[i].setExcluded(section.excluded.size());
      sections[i].setWithin(section.within ? *section.within + 1 : 0);
    }
  });
  PooledVector<std::uint32_t> trees;
  PooledVector<std::int64_t> times;
  for (const auto& frontier : message.frontiers) {
    trees.insert(trees.end(), frontier.trees.begin(), frontier.trees.end());
    times.insert(times.end(), frontier.times.begin(), frontier.times.end());
  }
  PooledVector<ExcludedEdges> excluded;
  for (const auto& section : message.sections) {
    excluded.insert(excluded.end(), section.excluded.begin(), section.excluded.end());
  }
  frame.segments = {std::move(nodes.segment)};
  if (!trees.empty() || !times.empty() || !excluded.empty()) {
    frame.segments.push_back(Segment::of(std::move(trees)));
    frame.segments.push_back(Segment::of(std::move(times)));
  }
  if (!excluded.empty()) {
    frame.segments.push_back(Segment::of(std::move(excluded)));
  }
}

Result<HopRequest> decode_by_hand(const Frame& frame, ReadAs<HopRequest>) {
  return read_message<HopRequest, wire::HopRequest>(
      frame, "HopRequest", [&](auto in) { return read_hop_request(frame, in); });
}

std::uint64_t reply_bytes(const HopRequest& message) {
  std::uint64_t edges = 0;
  std::uint64_t largest = 0;
  std::uint64_t data_bytes = 0;
  for (const auto& section : message.sections) {
    const auto its_edges = most_edges(message, section);
    data_bytes = std::max(data_bytes, section.edge_data.bytes());
    edges = saturating_add(edges, its_edges);
    largest = std::max(largest, its_edges);
  }
  // All sections together keep to the limit, but for a list that passes alone.
  edges = std::min(edges, std::max(message.max_edges, largest));
  const std::uint64_t edge_bytes = 8 + data_bytes;
  const std::uint64_t heads =
      saturating_add(4 * message.num_nodes(), section_overhead_bytes * message.sections.size());
  return saturating_add(saturating_mul(edges, edge_bytes),
                        saturating_add(heads, small_reply_bytes));
}

void encode_by_hand(const HopReply& message, Frame& frame) {
  write_message<wire::HopReply>(frame, [&](wire::HopReply::Builder out) {
    auto sections = out.initSections(static_cast<unsigned>(message.sections.size()));
    for (unsigned i = 0; i < sections.size(); ++i) {
      sections[i].setNodes(message.sections[i].nodes);
      sections[i].setNeighbourWidth(message.sections[i].width_bytes);
      sections[i].setResumePosition(message.sections[i].resume_position);
      sections[i].setHasEdgeIds(message.sections[i].edge_data.edge_ids);
      sections[i].setHasWeights(message.sections[i].edge_data.weights);
      sections[i].setHasTimes(message.sections[i].edge_data.times);
      sections[i].setHasEntries(message.sections[i].edge_data.entries);
      if (const auto listed = message.sections[i].listed) {
        sections[i].setListed(*listed + 1);
      }
    }
  });
  frame.segments = {copy_segment(message.counts), message.neighbours, message.edge_data,
                    copy_segment(message.places)};
}

Result<HopReply> decode_by_hand(const Frame& frame, ReadAs<HopReply>) {
  return read_message<HopReply, wire::HopReply>(frame, "HopReply",
                                                [&](auto in) { return read_hop_reply(frame, in); });
}

}  // namespace troupe::net
