#pragma once
/// \file assign_file.hpp
/// Assignments that were computed elsewhere.
#include "runtime/base/result.hpp"
#include "runtime/graph/graph_info.hpp"
#include "runtime/partition/assign.hpp"

#include <cstdint>
#include <filesystem>
#include <vector>

namespace troupe {

/// The files with numbers of nodes that `file` means: itself for a graph of one node type, else
/// NAME-TYPE.npy for each type where `file` is NAME or NAME.npy.
std::vector<std::filesystem::path> node_files(const GraphInfo& graph,
                                              const std::filesystem::path& file);

/// Reads the part of every node: .npy arrays of integers, [nodes of the type].
/// \errors not_found; invalid_argument: not integers, another shape, a part that is not in
///   [0, parts), with the row; data_corruption: no .npy file
Result<Assignment> assign_from_file(const GraphInfo& graph, std::uint32_t parts,
                                    const std::filesystem::path& file);

}  // namespace troupe
