#include "runtime/job/store_memory.hpp"

#include "runtime/base/saturating.hpp"

#include <algorithm>

namespace troupe {

Result<StoreMemory> store_memory(const Job& job, const Layout& layout,
                                 const PartitionedStore& store, HostId host,
                                 std::uint64_t free_bytes) {
  if (job.dataset.memory) {
    return *job.dataset.memory;
  }
  const bool one_machine = job.cluster.launch == "simulate" || job.cluster.launch == "local";
  std::uint64_t bytes = 0;
  for (const auto& process : layout.processes) {
    if (process.host != host && !one_machine) {
      continue;
    }
    for (const auto part : process.maps) {
      TROUPE_ASSIGN_OR_RETURN(const auto of_part, store.part_bytes(part));
      bytes = plus(bytes, of_part);
    }
    const bool samples = !process.ranks.empty() || !process.samples_for.empty();
    for (std::uint32_t p = 0;
         samples && job.partition.replicated_topology && p < store.partition().parts; ++p) {
      if (std::ranges::find(process.maps, static_cast<PartId>(p)) == process.maps.end()) {
        // Lists alone: less than the part.
        TROUPE_ASSIGN_OR_RETURN(const auto of_part, store.part_bytes(static_cast<PartId>(p)));
        bytes = plus(bytes, of_part);
      }
    }
  }
  return bytes <= free_bytes / 2 ? StoreMemory::copied : StoreMemory::mapped;
}

}  // namespace troupe
