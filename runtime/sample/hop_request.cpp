#include "runtime/sample/hop_request.hpp"

#include "runtime/base/section_cutter.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <numeric>
#include <string_view>

namespace troupe {
namespace {

/// Takes a datum of the edges of all sections that have it.
template <class T>
Status cut_column(SectionCutter<std::byte>& bytes, std::span<HopSectionView> views,
                  bool EdgeData::*has, std::span<const T> HopSectionView::*column) {
  for (auto& view : views) {
    const auto edges = view.edge_data.*has ? view.neighbours.size() : 0;
    TROUPE_ASSIGN_OR_RETURN(const auto values, bytes.take(edges * sizeof(T)));
    view.*column = {reinterpret_cast<const T*>(values.data()), edges};
  }
  return ok_status();
}

/// \errors data_corruption: more or less data of edges than counts and sections say
Status cut_edge_data(const HopReply& reply, std::span<HopSectionView> views,
                     std::string_view message) {
  SectionCutter<std::byte> bytes(reply.edge_data.bytes, message, "bytes of edge data");
  TROUPE_RETURN_IF_ERROR(cut_column(bytes, views, &EdgeData::edge_ids, &HopSectionView::edge_ids));
  TROUPE_RETURN_IF_ERROR(cut_column(bytes, views, &EdgeData::entries, &HopSectionView::entries));
  TROUPE_RETURN_IF_ERROR(cut_column(bytes, views, &EdgeData::times, &HopSectionView::times));
  TROUPE_RETURN_IF_ERROR(cut_column(bytes, views, &EdgeData::weights, &HopSectionView::weights));
  return bytes.finish();
}

/// \errors data_corruption: listed places that do not rise, or that no covered node has; a listed node
///   without neighbors
Status check_listed(const HopSectionView& view, std::string_view message) {
  const auto& places = *view.places;
  // No branch for each place; which one is wrong is asked afterwards.
  bool rises = true;
  for (std::size_t i = 1; i < places.size(); ++i) {
    rises = rises & (places[i - 1] < places[i]);
  }
  if (!rises || (!places.empty() && places.back() >= view.nodes)) {
    const auto bad = std::ranges::adjacent_find(places, std::ranges::greater_equal());
    return Error(Errc::data_corruption,
                 fmt::format("{}: expected listed places that rise below {}, found {}", message,
                             view.nodes, bad == places.end() ? places.back() : *bad));
  }
  if (std::ranges::count(view.counts, 0U) > 0) {
    return Error(Errc::data_corruption,
                 fmt::format("{}: expected listed nodes with neighbors, found 0", message));
  }
  return ok_status();
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
  constexpr std::string_view message = "hop reply";
  SectionCutter<std::uint32_t> counts(reply.counts, message, "counts");
  SectionCutter<std::uint32_t> places(reply.places, message, "listed places");
  SectionCutter<std::byte> ids(reply.neighbours.bytes, message, "bytes of ids");
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
    view.edge_data = section.edge_data;
    view.nodes = section.nodes;
    TROUPE_ASSIGN_OR_RETURN(view.counts, counts.take(section.listed.value_or(section.nodes)));
    if (section.listed) {
      TROUPE_ASSIGN_OR_RETURN(view.places, places.take(*section.listed));
      TROUPE_RETURN_IF_ERROR(check_listed(view, message));
    }
    const std::uint64_t its_edges =
        std::accumulate(view.counts.begin(), view.counts.end(), std::uint64_t{0});
    // One id more than there can be is as wrong as any number, and its bytes can be counted.
    const std::uint64_t its_ids = std::min(its_edges, ids.left() + 1);
    TROUPE_ASSIGN_OR_RETURN(const auto bytes, ids.take_aligned(its_ids * width));
    view.neighbours = {bytes, section.width_bytes};
  }
  TROUPE_RETURN_IF_ERROR(counts.finish());
  TROUPE_RETURN_IF_ERROR(places.finish());
  TROUPE_RETURN_IF_ERROR(ids.finish());
  TROUPE_RETURN_IF_ERROR(cut_edge_data(reply, views, message));
  return views;
}

}  // namespace troupe
