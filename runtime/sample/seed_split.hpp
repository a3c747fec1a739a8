#pragma once
/// \file seed_split.hpp
/// Divides seeds between ranks: nodes, or edges by the node that owns them. What
/// `seed_order: "local"` deals out, and for trainers that divide seeds themselves.
#include "runtime/base/ids.hpp"
#include "runtime/graph/link_list.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace troupe {

/// [rank] -> ascending positions in the list of seeds. Every position is in one share; the first
/// ranks have one more than the others, if the number does not divide.
using SeedShares = std::vector<std::vector<std::uint64_t>>;

/// What becomes of the seeds at the end of an order, or of a rank's share, that do not fill a batch.
enum class ShortBatch : std::uint8_t { kept, dropped };

/// How seeds are cut into batches.
struct BatchSizes {
  std::uint64_t size = 1;
  ShortBatch last = ShortBatch::kept;

  std::uint64_t batches_of(std::uint64_t seeds) const {
    const bool short_one = last == ShortBatch::kept && seeds % size != 0;
    return seeds / size + (short_one ? 1 : 0);
  }
};

/// One stretch of the list after the other.
/// \requires world >= 1
SeedShares even_split(std::uint64_t seeds, std::uint32_t world);

/// Shares of the same sizes, of seeds that lie near their rank where there are enough: the seeds of a
/// part are dealt by turns to the ranks that it is near, until these have their share; what is left
/// goes to the ranks that lack some. Which seeds a rank has depends on the partition.
/// \param owners         [seeds] the part that owns each; of an edge that which has its list
/// \param parts_of_rank  [world] the parts near each rank
/// \requires a rank at least
SeedShares local_split(std::span<const PartId> owners,
                       std::span<const std::vector<PartId>> parts_of_rank);

/// The same of links of several edge types, type by type. Ranks take turns in having one link more
/// where that makes a batch more, so that the first ranks have at most one batch more than the others.
/// \param groups  that follow each other and have all links
/// \returns positions in the whole list
SeedShares local_split_of_groups(std::span<const LinkGroup> groups, std::span<const PartId> owners,
                                 std::span<const std::vector<PartId>> parts_of_rank,
                                 const BatchSizes& batches);

}  // namespace troupe
