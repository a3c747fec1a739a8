#pragma once
/// \file list_places.hpp
/// Whom a batch asks for the lists of nodes. For builders of batches only.
#include "runtime/graph/part.hpp"
#include "runtime/partition/partition_book.hpp"
#include "runtime/sample/one_hop.hpp"

#include <cstdint>
#include <memory>
#include <span>

namespace troupe {

/// Places are parts by their numbers, and past them the halos of parts that lie here.
/// Threads: immutable; any number at once. Borrows its arguments
class ListPlaces {
 public:
  /// \param here  parts that lie here and keep lists of nodes around them
  ListPlaces(const PartitionBook& book, std::span<const std::shared_ptr<const Part>> here)
      : book_(book), here_(here) {}

  std::uint32_t count() const { return book_.parts() + static_cast<std::uint32_t>(here_.size()); }

  /// The place of the node's owner; if that part is not here, a halo here that has the node's lists.
  std::uint32_t of(NodeTypeId type, NodeId id) const {
    const auto owner = book_.owner(type, id);
    auto found = raw(owner);
    for (std::uint32_t h = 0; h < here_.size(); ++h) {
      if (here_[h]->id == owner) {
        return raw(owner);
      }
      if (here_[h]->nodes_of(type).halo_listed.contains(raw(id))) {
        found = book_.parts() + h;
      }
    }
    return found;
  }

  PartId part(std::uint32_t place) const {
    return place < book_.parts() ? static_cast<PartId>(place) : here_[place - book_.parts()]->id;
  }
  ListsOf lists_of(std::uint32_t place) const {
    return place < book_.parts() ? ListsOf::owned : ListsOf::halo;
  }

 private:
  const PartitionBook& book_;
  std::span<const std::shared_ptr<const Part>> here_;
};

}  // namespace troupe
