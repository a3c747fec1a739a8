#pragma once
/// \file host_files.hpp
/// Which files of a partitioned store a host needs: its parts, and what every host reads.
#include "runtime/base/result.hpp"
#include "runtime/graph/store.hpp"
#include "runtime/job/layout.hpp"

#include <vector>

namespace troupe {

/// Of all processes of the host; ascending.
std::vector<PartId> parts_of_host(const Layout& layout, HostId host);

/// What hosts read of parts that are not theirs.
struct FilesOfOtherParts {
  bool lists = false;   ///< Neighbor lists, on hosts that sample
  bool labels = false;  ///< Classes of nodes, on every host
};

/// The arrays, without the two descriptions graph.json and partition.json, which every host needs too.
std::vector<FileInfo> store_files_of_host(const Layout& layout, HostId host, const GraphInfo& graph,
                                          const PartitionInfo& partition, FilesOfOtherParts others);

/// What `troupe add-features` has written here of the host's parts, their manifests included.
/// \errors as PartitionedStore::added_files
Result<std::vector<FileInfo>> added_files_of_host(const Layout& layout, HostId host,
                                                  const PartitionedStore& store);

}  // namespace troupe
