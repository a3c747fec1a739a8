#include "runtime/run/original_rows.hpp"

#include "runtime/base/executor.hpp"
#include "runtime/run/node_request.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <span>
#include <string>
#include <utility>

namespace troupe {

namespace fs = std::filesystem;

Result<Table> open_table(const fs::path& file) {
  const bool npy = file.extension() == ".npy";
  return Table::open({file.parent_path(), {}}, {file.filename().string()},
                     npy ? TableFormat::npy : TableFormat::text);
}

Result<RowIds> read_rows(const fs::path& file, const RowIds& ends, const std::string& columns) {
  TROUPE_ASSIGN_OR_RETURN(const auto table, open_table(file));
  const bool npy = table.format() == TableFormat::npy;
  const bool empty_text = !npy && table.cols() == 0;
  const bool column = npy && ends.size() == 1 && table.matrix();
  if ((table.cols() != ends.size() && !empty_text) || column) {
    return Error(Errc::invalid_argument,
                 fmt::format("{}: expected {}, got {}", table.file(),
                             !columns.empty()   ? columns
                             : ends.size() == 1 ? "one node id per row, [seeds]"
                             : ends.size() == 2 ? "the two ends of a link per row, [links, 2]"
                                                : "head, relation and tail per row, [triples, 3]",
                             table.shape()));
  }
  RowIds ids;
  InlineExecutor executor;
  TROUPE_RETURN_IF_ERROR(
      table.read_integers(executor, ends, [&ids](std::span<const std::int64_t> some) {
        std::ranges::transform(some, std::back_inserter(ids),
                               [](std::int64_t id) { return static_cast<std::uint64_t>(id); });
        return ok_status();
      }));
  if (ids.empty()) {
    return Error(Errc::invalid_argument,
                 fmt::format("{}: expected one seed or more, found none", table.file()));
  }
  return ids;
}

Result<DistinctNodes> distinct_nodes(const PartitionedStore& store, NodeTypeId type,
                                     const RowIds& original) {
  auto distinct = original;
  std::ranges::sort(distinct);
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  DistinctNodes all;
  all.nodes.node_type = type;
  all.nodes.original.reserve(distinct.size());
  for (const auto id : distinct) {
    all.nodes.original.push_back(static_cast<OriginalId>(id));
  }
  TROUPE_ASSIGN_OR_RETURN(all.nodes.global, locate_nodes(store, type, all.nodes.original));
  all.places.reserve(original.size());
  for (const auto id : original) {
    all.places.push_back(
        static_cast<std::uint64_t>(std::ranges::lower_bound(distinct, id) - distinct.begin()));
  }
  return all;
}

Result<std::vector<NodeId>> global_ids(const PartitionedStore& store, NodeTypeId type,
                                       const RowIds& original) {
  TROUPE_ASSIGN_OR_RETURN(const auto distinct, distinct_nodes(store, type, original));
  std::vector<NodeId> all;
  all.reserve(original.size());
  for (const auto place : distinct.places) {
    all.push_back(distinct.nodes.global[place]);
  }
  return all;
}

}  // namespace troupe
