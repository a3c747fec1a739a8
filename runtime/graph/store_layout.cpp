#include "runtime/graph/store_layout.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace troupe::store_layout {

std::string part_prefix(PartId part) {
  return fmt::format("part-{}/", raw(part));
}

std::string nodes_file(const NodeTypeInfo& type, std::string_view what) {
  return fmt::format("nodes-{}/{}.npy", type.name, what);
}

std::string edges_file(const EdgeTypeInfo& type, EdgeDir dir, std::string_view what) {
  return fmt::format("edges-{}/{}/{}.npy", type.name, to_string(dir), what);
}

bool is_for_sampling(std::string_view path) {
  const auto name = path.substr(path.rfind('/') + 1);
  if (name == "original_ids.npy" || name == "directory.npy") {
    return true;
  }
  return path.find("/edges-") != std::string_view::npos && name != "features.npy" &&
         !name.starts_with("halo_");
}

std::string seeds_file(std::string_view split, std::string_view role) {
  return fmt::format("splits/{}.{}.npy", split.empty() ? "default" : split, role);
}

std::string split_file(std::string_view split, std::string_view role, std::string_view what) {
  return fmt::format("splits/{}.{}.{}.npy", split.empty() ? "default" : split, role, what);
}

bool is_valid_name(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  };
  return !name.empty() && name.size() <= 100 && name.front() != '.' &&
         std::ranges::all_of(name, allowed);
}

bool is_safe_path(std::string_view path) {
  while (!path.empty()) {
    const auto slash = path.find('/');
    if (!is_valid_name(path.substr(0, slash))) {
      return false;
    }
    if (slash == std::string_view::npos) {
      return true;
    }
    path.remove_prefix(slash + 1);
  }
  return false;
}

bool is_own_path(std::string_view path) {
  const auto slash = path.find('/');
  const auto folder = path.substr(0, slash);
  if (folder == graph_file || folder == partition_file || folder == features_file ||
      folder == "splits" || folder.starts_with("edges-") || folder.starts_with("part-")) {
    return true;
  }
  // Names of nodes are text files beside the arrays.
  return folder.starts_with("nodes-") &&
         (slash == std::string_view::npos || path.ends_with(".npy") ||
          path.substr(slash).starts_with("/columns"));
}

std::string column_file(const NodeTypeInfo& type, const ColumnInfo& column) {
  return nodes_file(type, "columns/" + column.name);
}

std::string column_file(const EdgeTypeInfo& type, EdgeDir dir, const ColumnInfo& column) {
  return edges_file(type, dir, "columns/" + column.name);
}

std::vector<std::uint64_t> column_shape(const ColumnInfo& column, std::uint64_t rows) {
  std::vector<std::uint64_t> shape = {rows};
  shape.insert(shape.end(), column.shape.begin(), column.shape.end());
  return shape;
}

std::string fault_of(const ColumnInfo& column) {
  if (!is_valid_name(column.name)) {
    return "a column's name of 1 to 100 of a-z A-Z 0-9 _ - . (no '.' first)";
  }
  if (!is_column_dtype(column.dtype)) {
    return "a column's dtype (" + std::string(column_dtypes) + ")";
  }
  std::uint64_t values = 1;
  bool fits = column.shape.size() <= most_extents;
  for (const auto extent : column.shape) {
    fits = fits && extent != 0 && extent <= largest_cols / values;
    values = fits ? values * extent : values;
  }
  return fits ? "" : "a column's rows of up to 3 extents above 0 and 2^24 values together";
}

}  // namespace troupe::store_layout
