#include "runtime/sample/hop_request.hpp"

#include "runtime/base/section_cutter.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <string_view>

namespace troupe {
std::uint64_t HopRequest::num_nodes() const {
  std::uint64_t nodes = 0;
  for (const auto& section : sections) {
    nodes += frontiers[section.frontier].nodes.size();
  }
  return nodes;
}

Result<std::vector<HopSectionView>> sections_of(const HopReply& reply) {
  constexpr std::string_view message = "hop reply";
  SectionCutter<std::uint32_t> counts(reply.counts, message, "counts");
  SectionCutter<std::byte> ids(reply.neighbours.bytes, message, "bytes of ids");
  SectionCutter<std::uint64_t> edge_ids(reply.edge_ids.as<std::uint64_t>(), message, "edge ids");
  const bool with_edge_ids = edge_ids.left() != 0;
  std::uint64_t edges = 0;
  std::vector<HopSectionView> views;
  views.reserve(reply.sections.size());
  for (const auto& section : reply.sections) {
    const std::uint64_t width = section.width_bytes;
    if (width != 4 && width != 8) {
      return Error(Errc::data_corruption,
                   fmt::format("{}: expected ids of 4 or 8 bytes, found {}", message, width));
    }
    auto& view = views.emplace_back();
    view.resume_position = section.resume_position;
    TROUPE_ASSIGN_OR_RETURN(view.counts, counts.take(section.nodes));
    const std::uint64_t its_edges =
        std::accumulate(view.counts.begin(), view.counts.end(), std::uint64_t{0});
    // One id more than there can be is as wrong as any number, and its bytes can be counted.
    const std::uint64_t its_ids = std::min(its_edges, ids.left() + 1);
    TROUPE_ASSIGN_OR_RETURN(const auto bytes, ids.take_aligned(its_ids * width));
    view.neighbours = {bytes, section.width_bytes};
    TROUPE_ASSIGN_OR_RETURN(view.edge_ids, edge_ids.take(with_edge_ids ? its_edges : 0));
    edges += its_edges;
  }
  TROUPE_RETURN_IF_ERROR(counts.finish());
  TROUPE_RETURN_IF_ERROR(ids.finish());
  const std::uint64_t id_bytes = reply.edge_ids.bytes.size();
  if (id_bytes != 0 && id_bytes != edges * sizeof(std::uint64_t)) {
    return Error(Errc::data_corruption,
                 fmt::format("{}: expected {} bytes of edge ids, found {}", message,
                             edges * sizeof(std::uint64_t), id_bytes));
  }
  return views;
}

}  // namespace troupe
