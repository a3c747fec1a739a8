#include "runtime/net/codec.hpp"
#include "runtime/net/codec_support.hpp"
#include "schema/sampling.capnp.h"

#include <algorithm>
#include <limits>

namespace troupe::net {
namespace {

constexpr std::int32_t largest_fanout = 1 << 20;  // as the job file has it

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

Result<HopRequest> read_hop_request(const Frame& frame, wire::HopRequest::Reader in) {
  const SegmentReader segments(frame, "HopRequest");
  TROUPE_RETURN_IF_ERROR(segments.at_most(1));
  HopRequest out;
  out.edge_type = static_cast<EdgeTypeId>(in.getEdgeType());
  out.node_type = static_cast<NodeTypeId>(in.getNodeType());
  TROUPE_ASSIGN_OR_RETURN(out.dir, to_edge_dir(in.getDirection()));
  out.fanout = in.getFanout();
  if (out.fanout < all_neighbours || out.fanout > largest_fanout) {
    return corrupt_message("HopRequest", fmt::format("fanout: expected -1 to {}, found {}",
                                                     largest_fanout, out.fanout));
  }
  out.replace = in.getReplace();
  out.with_edge_ids = in.getWithEdgeIds();
  out.key.words = {in.getKeyLow(), in.getKeyHigh()};
  out.first_position = in.getFirstPosition();
  out.max_edges = in.getMaxEdges();
  out.flow = in.getFlow();
  TROUPE_ASSIGN_OR_RETURN(const IdList frontier, segments.ids(0, in.getFrontierWidth()));
  out.frontier = unpack_ids(frontier);
  // With replacement any degree gives the full fanout, so nothing else bounds the answer.
  const auto most = frame.head.max_reply_bytes;
  if (out.replace && most != 0 && Wire<HopRequest>::reply_bytes(out) > most) {
    return corrupt_message(
        "HopRequest",
        fmt::format("largest answer: expected room for fanout {} of {} nodes, {} "
                    "bytes, found {}",
                    out.fanout, out.frontier.size(), Wire<HopRequest>::reply_bytes(out), most));
  }
  return out;
}

Result<HopReply> read_hop_reply(const Frame& frame, wire::HopReply::Reader in) {
  const SegmentReader segments(frame, "HopReply");
  TROUPE_RETURN_IF_ERROR(segments.at_most(3));
  HopReply out;
  TROUPE_ASSIGN_OR_RETURN(out.counts, segments.vector<std::uint32_t>(0));
  TROUPE_ASSIGN_OR_RETURN(out.neighbours, segments.ids(1, in.getNeighbourWidth()));
  TROUPE_ASSIGN_OR_RETURN(out.edge_ids, segments.elements(2, sizeof(std::uint64_t)));
  out.resume_position = in.getResumePosition();
  std::uint64_t edges = 0;
  for (const auto count : out.counts) {
    edges += count;
  }
  TROUPE_RETURN_IF_ERROR(expect_equal("HopReply", "neighbours, as many as the counts add up to",
                                      edges, out.neighbours.size()));
  if (!out.edge_ids.empty()) {
    TROUPE_RETURN_IF_ERROR(expect_equal("HopReply", "edge ids, as many as neighbours", edges,
                                        out.edge_ids.bytes.size() / sizeof(std::uint64_t)));
  }
  return out;
}

}  // namespace

void Wire<HopRequest>::encode(const HopRequest& message, Frame& frame) {
  IdList frontier = pack_ids(message.frontier);
  write_message<wire::HopRequest>(frame, [&](wire::HopRequest::Builder out) {
    out.setEdgeType(raw(message.edge_type));
    out.setNodeType(raw(message.node_type));
    out.setDirection(message.dir == EdgeDir::in ? wire::Direction::IN : wire::Direction::OUT);
    out.setFanout(message.fanout);
    out.setReplace(message.replace);
    out.setWithEdgeIds(message.with_edge_ids);
    out.setKeyLow(message.key.words[0]);
    out.setKeyHigh(message.key.words[1]);
    out.setFirstPosition(message.first_position);
    out.setMaxEdges(message.max_edges);
    out.setFrontierWidth(frontier.width_bytes);
    out.setFlow(message.flow);
  });
  frame.segments = {std::move(frontier.segment)};
}

Result<HopRequest> Wire<HopRequest>::decode(const Frame& frame) {
  return read_message<HopRequest, wire::HopRequest>(
      frame, "HopRequest", [&](auto in) { return read_hop_request(frame, in); });
}

std::uint64_t Wire<HopRequest>::reply_bytes(const HopRequest& message) {
  const std::uint64_t nodes = message.frontier.size();
  const std::uint64_t any = std::numeric_limits<std::uint64_t>::max();
  // A hub alone can have so many; at least one edge is returned if there is any.
  std::uint64_t edges = std::max<std::uint64_t>(message.max_edges, 1);
  if (message.fanout >= 0) {
    // Such answers are cut only between nodes.
    const auto fanout = static_cast<std::uint64_t>(message.fanout);
    edges = std::min(saturating_mul(nodes, fanout), std::max(edges, fanout));
  } else if (edges == any) {
    edges = saturating_mul(nodes, assumed_degree);
  }
  const std::uint64_t edge_bytes = message.with_edge_ids ? 16 : 8;
  return saturating_add(saturating_mul(edges, edge_bytes), 4 * nodes + reply_overhead_bytes);
}

void Wire<HopReply>::encode(const HopReply& message, Frame& frame) {
  write_message<wire::HopReply>(frame, [&](wire::HopReply::Builder out) {
    out.setNeighbourWidth(message.neighbours.width_bytes);
    out.setResumePosition(message.resume_position);
  });
  frame.segments = {copy_segment(message.counts), message.neighbours.segment, message.edge_ids};
}

Result<HopReply> Wire<HopReply>::decode(const Frame& frame) {
  return read_message<HopReply, wire::HopReply>(frame, "HopReply",
                                                [&](auto in) { return read_hop_reply(frame, in); });
}

}  // namespace troupe::net
