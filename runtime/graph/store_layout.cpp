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

}  // namespace troupe::store_layout
