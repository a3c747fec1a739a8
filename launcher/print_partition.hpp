#pragma once
/// \file print_partition.hpp
/// What a partitioned store holds, as text on standard output.
#include "runtime/graph/store.hpp"

namespace troupe {

void print_partition(const PartitionInfo& partition, const GraphInfo& graph);

}  // namespace troupe
