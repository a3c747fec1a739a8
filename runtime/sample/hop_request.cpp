#include "runtime/sample/hop_request.hpp"

#include <fmt/format.h>
#include <numeric>

namespace troupe {
namespace {

Error corrupt(std::string_view what, std::uint64_t expected, std::uint64_t found) {
  return {Errc::data_corruption,
          fmt::format("hop reply: expected {} {}, found {}", expected, what, found)};
}

}  // namespace

std::uint64_t HopRequest::num_nodes() const {
  std::uint64_t nodes = 0;
  for (const auto& section : sections) {
    nodes += frontiers[section.frontier].nodes.size();
  }
  return nodes;
}

Result<std::vector<HopSectionView>> sections_of(const HopReply& reply) {
  const std::span<const std::uint32_t> counts = reply.counts;
  const auto edge_ids = reply.edge_ids.as<std::uint64_t>();
  std::vector<HopSectionView> views;
  views.reserve(reply.sections.size());
  std::uint64_t nodes = 0;
  std::uint64_t edges = 0;
  std::uint64_t bytes = 0;
  for (const auto& section : reply.sections) {
    const std::uint64_t width = section.width_bytes;
    if (width != 4 && width != 8) {
      return Error(Errc::data_corruption,
                   fmt::format("hop reply: expected ids of 4 or 8 bytes, found {}", width));
    }
    if (section.nodes > counts.size() - nodes) {
      return corrupt("counts or more", nodes + section.nodes, counts.size());
    }
    const auto of_section = counts.subspan(nodes, section.nodes);
    const std::uint64_t its_edges =
        std::accumulate(of_section.begin(), of_section.end(), std::uint64_t{0});
    const std::uint64_t begin = section_begin(bytes);
    if (its_edges > reply.neighbours.bytes.size()) {
      return corrupt("ids or more", its_edges, reply.neighbours.bytes.size() / width);
    }
    bytes = begin + its_edges * width;
    if (bytes > reply.neighbours.bytes.size()) {
      return corrupt("bytes of ids or more", bytes, reply.neighbours.bytes.size());
    }
    if (!edge_ids.empty() && its_edges > edge_ids.size() - edges) {
      return corrupt("edge ids or more", edges + its_edges, edge_ids.size());
    }
    views.push_back(
        {of_section,
         {reply.neighbours.bytes.subspan(begin, its_edges * width), section.width_bytes},
         edge_ids.empty() ? edge_ids : edge_ids.subspan(edges, its_edges),
         section.resume_position});
    nodes += section.nodes;
    edges += its_edges;
  }
  if (nodes != counts.size()) {
    return corrupt("counts", nodes, counts.size());
  }
  if (bytes != reply.neighbours.bytes.size()) {
    return corrupt("bytes of ids", bytes, reply.neighbours.bytes.size());
  }
  const std::uint64_t id_bytes = reply.edge_ids.bytes.size();
  if (id_bytes != 0 && id_bytes != edges * sizeof(std::uint64_t)) {
    return corrupt("bytes of edge ids", edges * sizeof(std::uint64_t), id_bytes);
  }
  return views;
}

}  // namespace troupe
