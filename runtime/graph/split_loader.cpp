#include "runtime/graph/split_loader.hpp"

#include "runtime/graph/array_checks.hpp"
#include "runtime/graph/store_layout.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace troupe {
namespace {

Error no_such(std::string_view what, std::string_view name, const std::vector<std::string>& known) {
  std::string list;
  for (const auto& entry : known) {
    list += fmt::format("{}\"{}\"", list.empty() ? "" : ", ", entry);
  }
  return Error(Errc::not_found, fmt::format("{} \"{}\": expected one of {}", what, name,
                                            list.empty() ? "none (the store has no such)" : list));
}

/// A role of a split, among its nodes or its links.
template <class Role>
Result<Role> find_role(const GraphInfo& info, std::string_view split_name,
                       std::string_view role_name, std::map<std::string, Role> SplitInfo::*roles,
                       std::string_view what) {
  const auto* split = info.find_split(split_name);
  if (split == nullptr) {
    std::vector<std::string> names;
    for (const auto& entry : info.splits) {
      names.push_back(entry.name);
    }
    return no_such("split", split_name, names);
  }
  const auto role = (split->*roles).find(std::string(role_name));
  if (role == (split->*roles).end()) {
    std::vector<std::string> names;
    for (const auto& entry : split->*roles) {
      names.push_back(entry.first);
    }
    return no_such(fmt::format("split \"{}\", {}", split_name, what), role_name, names);
  }
  return role->second;
}

Error bad_row(const std::string& path, std::uint64_t row, const std::string& expected,
              const std::string& found) {
  return Error(Errc::data_corruption,
               fmt::format("{}: row {}: expected {}, found {}", path, row, expected, found));
}

/// The arrays of one role's links.
struct LinkArrays {
  std::string path;
  std::uint64_t columns = 2;
  std::span<const std::uint64_t> ends;

  std::span<const std::uint64_t> row(std::uint64_t at) const {
    return ends.subspan(at * columns, columns);
  }
};

/// Ids below the counts of the types at the ends, and rows in order of original ids.
/// \param labels  of triples along several edge types: which of the role's each is of
Status check_links(const LinkArrays& links, const GraphInfo& info, const SplitInfo::LinkRole& role,
                   std::span<const float> labels) {
  std::array<std::uint64_t, 2> before{};
  for (std::uint64_t at = 0; at < links.ends.size() / links.columns; ++at) {
    const auto row = links.row(at);
    const auto edge_type = role.edge_types.empty()
                               ? role.edge_type
                               : role.edge_types[static_cast<std::size_t>(labels[at])];
    const auto& type = info.edge_types[raw(edge_type)];
    const std::array<const NodeTypeInfo*, 2> nodes{&info.node_types[raw(type.source)],
                                                   &info.node_types[raw(type.destination)]};
    for (std::size_t column = 0; column < row.size(); ++column) {
      const auto& end = *nodes[column % 2];
      if (row[column] >= end.count) {
        return bad_row(links.path, at,
                       fmt::format("a {} of type {} below {}",
                                   column % 2 == 0 ? "source" : "destination", end.name, end.count),
                       fmt::to_string(row[column]));
      }
    }
    const std::array<std::uint64_t, 2> here{row[0], row[1]};
    if (here < before) {
      return bad_row(
          links.path, at,
          fmt::format("links in order of original ids, from ({}, {}) on", before[0], before[1]),
          fmt::format("({}, {})", here[0], here[1]));
    }
    before = here;
  }
  return ok_status();
}

/// \param relations  labels are whole numbers below it; 0: any finite ones
Status check_labels(const std::string& path, std::span<const float> labels,
                    std::uint64_t relations) {
  const auto bad = std::ranges::find_if(labels, [&](float label) {
    return !std::isfinite(label) ||
           (relations != 0 &&
            (label < 0 || label >= static_cast<float>(relations) || label != std::trunc(label)));
  });
  if (bad != labels.end()) {
    return bad_row(
        path, static_cast<std::uint64_t>(bad - labels.begin()),
        relations == 0 ? "a finite label" : fmt::format("a relation below {}", relations),
        fmt::to_string(*bad));
  }
  return ok_status();
}

/// An array of a role that the store has: where its file is gone, the role is not absent but damaged.
Result<NpyArray> load_of_role(const StoreFiles& files, const std::string& path,
                              const ArrayShape& shape) {
  auto array = files.load(path, shape);
  if (!array && array.error().code() == Errc::not_found) {
    return Error(Errc::data_corruption, fmt::format("{}{}", array.error().what(), damaged_advice));
  }
  return array;
}

}  // namespace

Result<SeedList> load_seeds(const StoreFiles& files, const GraphInfo& info, bool partitioned,
                            std::pair<std::string_view, std::string_view> split_and_role) {
  const auto split = split_and_role.first;
  const auto role_name = split_and_role.second;
  TROUPE_ASSIGN_OR_RETURN(const auto role,
                          find_role(info, split, role_name, &SplitInfo::roles, "role"));
  const auto path = store_layout::seeds_file(split, role_name);
  ArrayShape shape{npy_type(DType::u64), {role.count}};
  if (partitioned) {
    shape.extents.emplace_back(2);
  }
  TROUPE_ASSIGN_OR_RETURN(const auto array, load_of_role(files, path, shape));
  const auto ids = array.as<std::uint64_t>();
  const auto count = info.node_types[raw(role.node_type)].count;
  TROUPE_RETURN_IF_ERROR(check_below(ids, count, path));
  SeedList seeds;
  seeds.node_type = role.node_type;
  const std::size_t step = partitioned ? 2 : 1;
  for (std::size_t i = 0; i < ids.size(); i += step) {
    seeds.original.push_back(static_cast<OriginalId>(ids[i]));
    seeds.global.push_back(static_cast<NodeId>(ids[i + step - 1]));
  }
  if (!std::ranges::is_sorted(seeds.original)) {
    return Error(
        Errc::data_corruption,
        fmt::format("{}: expected seeds in order of original ids, found another order", path));
  }
  if (role.has_times) {
    TROUPE_ASSIGN_OR_RETURN(const auto times,
                            load_of_role(files, store_layout::split_file(split, role_name, "times"),
                                         {npy_type(DType::i64), {role.count}}));
    const auto values = times.as<std::int64_t>();
    seeds.times.assign(values.begin(), values.end());
  }
  return seeds;
}

Result<LinkList> load_links(const StoreFiles& files, const GraphInfo& info, bool partitioned,
                            std::pair<std::string_view, std::string_view> split_and_role) {
  const auto split = split_and_role.first;
  const auto name = split_and_role.second;
  TROUPE_ASSIGN_OR_RETURN(const auto role,
                          find_role(info, split, name, &SplitInfo::links, "role of links"));
  std::vector<std::shared_ptr<const void>> owners;
  const auto load = [&](const std::string& path, const ArrayShape& shape) -> Result<NpyArray> {
    TROUPE_ASSIGN_OR_RETURN(auto array, load_of_role(files, path, shape));
    if (array.data.owner != nullptr) {
      owners.push_back(array.data.owner);
    }
    return array;
  };
  LinkArrays links{store_layout::split_file(split, name, "links"), partitioned ? 4U : 2U, {}};
  TROUPE_ASSIGN_OR_RETURN(const auto ends,
                          load(links.path, {npy_type(DType::u64), {role.count, links.columns}}));
  links.ends = ends.as<std::uint64_t>();
  std::span<const std::int64_t> times;
  if (role.has_times) {
    TROUPE_ASSIGN_OR_RETURN(const auto array,
                            load(store_layout::split_file(split, name, "links.times"),
                                 {npy_type(DType::i64), {role.count}}));
    times = array.as<std::int64_t>();
  }
  std::span<const float> labels;
  if (role.has_labels) {
    const auto path = store_layout::split_file(split, name, "links.labels");
    TROUPE_ASSIGN_OR_RETURN(const auto array, load(path, {npy_type(DType::f32), {role.count}}));
    labels = array.as<float>();
    TROUPE_RETURN_IF_ERROR(check_labels(path, labels, role.relations));
  }
  TROUPE_RETURN_IF_ERROR(check_links(links, info, role, labels));
  return LinkList(role.edge_type, links.ends, links.columns, times, labels, std::move(owners));
}

}  // namespace troupe
