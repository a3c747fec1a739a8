#pragma once
/// \file store_memory.hpp
/// Whether a process maps its parts or copies them.
#include "runtime/graph/store.hpp"
#include "runtime/job/job.hpp"
#include "runtime/job/layout.hpp"

#include <cstdint>

namespace troupe {

/// As the job says. With "auto" copied, into huge pages, where the copies of all processes of the host
/// (those on one machine are known with `simulate` and `local`) take at most half of the memory that is free there; else mapped. Results are the same.
/// \errors those of PartitionedStore::part_bytes
Result<StoreMemory> store_memory(const Job& job, const Layout& layout,
                                 const PartitionedStore& store, HostId host,
                                 std::uint64_t free_bytes);

}  // namespace troupe
