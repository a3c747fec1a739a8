#pragma once
/// \file store_plots.hpp
/// What `troupe inspect --plots` draws.
#include "runtime/base/result.hpp"
#include "runtime/graph/store.hpp"

#include <filesystem>

namespace troupe {

/// Writes `degrees.svg` into the new folder: how many nodes have how many neighbours, by edge type, in
/// steps of powers of two.
/// \errors failed_precondition: the folder exists or cannot be made
Status write_plots(const GraphStore& store, const std::filesystem::path& folder);

/// The same, and `sizes.svg`: what each part has of the nodes of each type and of the edges, over the
/// average.
Status write_plots(const PartitionedStore& store, const std::filesystem::path& folder);

}  // namespace troupe
