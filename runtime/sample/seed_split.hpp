#pragma once
/// \file seed_split.hpp
/// Divides seeds between ranks: nodes, or edges by the node that owns them. What
/// `seed_order: "local"` deals out, and for trainers that divide seeds themselves.
#include "runtime/base/ids.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace troupe {

/// [rank] -> ascending positions in the list of seeds. Every position is in one share; the first
/// ranks have one more than the others, if the number does not divide.
using SeedShares = std::vector<std::vector<std::uint64_t>>;

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

}  // namespace troupe
