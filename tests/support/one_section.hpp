#pragma once
/// \file one_section.hpp
/// Requests and replies along one edge type or of one node type.
#include "runtime/feature/row_request.hpp"
#include "runtime/sample/hop_request.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace troupe::testing {

/// A hop request with one frontier and one section, to be filled in.
inline HopRequest one_hop_request(std::vector<NodeId> nodes = {}) {
  HopRequest request;
  request.frontiers.push_back({NodeTypeId{}, std::move(nodes)});
  request.sections.emplace_back();
  return request;
}

/// The neighbors of a reply's section; empty where the reply is not sound.
inline std::vector<std::uint64_t> neighbors_of(const HopReply& reply, std::size_t section = 0) {
  std::vector<std::uint64_t> ids;
  const auto sections = sections_of(reply);
  if (sections && section < sections->size()) {
    const auto& neighbors = (*sections)[section].neighbours;
    for (std::size_t i = 0; i < neighbors.size(); ++i) {
      ids.push_back(raw(neighbors[i]));
    }
  }
  return ids;
}

/// The data of the edges of a reply's first section. Borrowed; empty where the reply is not sound.
inline HopSectionView data_of(const HopReply& reply) {
  const auto sections = sections_of(reply);
  return sections && !sections->empty() ? sections->front() : HopSectionView{};
}

inline RowRequest one_row_request(std::vector<NodeId> nodes = {}) {
  RowRequest request;
  request.sections.push_back({.nodes = std::move(nodes)});
  return request;
}

}  // namespace troupe::testing
