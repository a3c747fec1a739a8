#pragma once
/// \file in_place_memory.hpp
/// Memory of exact inference in a process that has all of the graph (run/in_place_stage.hpp).
#include "runtime/graph/graph_info.hpp"
#include "runtime/job/job.hpp"
#include "runtime/nn/network.hpp"

#include <cstdint>
#include <optional>

namespace troupe {

/// Bytes beside the outputs: float32 rows of features, products of sources, rows of blocks under way.
/// \returns nothing where some stage goes by sampled blocks
std::optional<std::uint64_t> in_place_bytes(const nn::Network& network, const GraphInfo& graph,
                                            Normalize normalize, std::uint64_t parts);

}  // namespace troupe
