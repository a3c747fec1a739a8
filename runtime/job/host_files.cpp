#include "runtime/job/host_files.hpp"

#include "runtime/graph/store_layout.hpp"

#include <algorithm>
#include <set>

namespace troupe {

std::vector<PartId> parts_of_host(const Layout& layout, HostId host) {
  std::set<PartId> parts;
  for (const auto& process : layout.processes) {
    if (process.host == host) {
      parts.insert(process.serves.begin(), process.serves.end());
      parts.insert(process.maps.begin(), process.maps.end());
    }
  }
  return {parts.begin(), parts.end()};
}

std::vector<FileInfo> store_files_of_host(const Layout& layout, HostId host, const GraphInfo& graph,
                                          const PartitionInfo& partition,
                                          FilesOfOtherParts others) {
  auto files = graph.files;
  // Names are text, which no process of a host reads.
  std::erase_if(files, [](const FileInfo& file) { return file.path.ends_with(".txt"); });
  const auto parts = parts_of_host(layout, host);
  const bool samples = std::ranges::any_of(layout.processes, [host](const ProcessPlan& process) {
    return process.host == host && (!process.ranks.empty() || !process.samples_for.empty());
  });
  for (const auto& file : partition.files) {
    const bool needed = std::ranges::any_of(
        parts, [&](PartId part) { return file.path.starts_with(store_layout::part_prefix(part)); });
    const bool labels = others.labels && file.path.ends_with("/labels.npy");
    if (needed || labels || (others.lists && samples && store_layout::is_for_sampling(file.path))) {
      files.push_back(file);
    }
  }
  return files;
}

Result<std::vector<FileInfo>> added_files_of_host(const Layout& layout, HostId host,
                                                  const PartitionedStore& store) {
  std::vector<FileInfo> files;
  for (const auto part : parts_of_host(layout, host)) {
    TROUPE_ASSIGN_OR_RETURN(const auto added, store.added_files(part));
    files.insert(files.end(), added.begin(), added.end());
  }
  return files;
}

}  // namespace troupe
