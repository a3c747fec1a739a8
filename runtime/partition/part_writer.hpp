#pragma once
/// \file part_writer.hpp
/// Writes one part of a partitioned store. Used by partition_writer.cpp only.
#include "runtime/base/result.hpp"
#include "runtime/graph/store.hpp"
#include "runtime/partition/halo.hpp"
#include "runtime/partition/relabel.hpp"

#include <cstdint>
#include <filesystem>
#include <vector>

namespace troupe {

/// What all parts have in common.
struct PartSource {
  const GraphStore& graph;
  const Relabelling& relabelling;
  const KeptLists& lists;
  HaloOptions halo;
  bool features_later = false;  ///< leave them out
  std::filesystem::path dir;    ///< of the store
};

struct WrittenPart {
  std::vector<std::uint64_t> edges;       ///< by edge type, in the main lists
  std::vector<std::uint64_t> halo_nodes;  ///< by node type
  std::vector<FileInfo> files;
};

/// Writes array by array in blocks: memory is that of the halo and of a few blocks.
/// Threads: different parts at once
/// \errors failed_precondition: it cannot be written
Result<WrittenPart> write_part(const PartSource& source, PartId part);

}  // namespace troupe
