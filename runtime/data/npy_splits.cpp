#include "runtime/data/edge_rows.hpp"
#include "runtime/data/npy_source.hpp"
#include "runtime/graph/store_layout.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace troupe::npy_source {
namespace {

constexpr std::array<std::string_view, 3> roles{"train", "val", "test"};

/// What helps where the masks of several splits lie in columns, as PyG keeps them.
constexpr std::string_view turned_masks = "\ntry: numpy.ascontiguousarray(masks.T).astype(bool)";

/// The split that a file names: "" for ROLE_idx.npy, NAME for ROLE_idx_NAME.npy. Nothing for other
/// files.
Result<std::optional<std::string>> split_of(const std::string& file, const std::string& prefix) {
  const auto rest =
      file.substr(prefix.size(), file.size() - prefix.size() - std::string(".npy").size());
  if (rest.empty()) {
    return std::optional(std::string());
  }
  if (rest.front() != '_') {
    return std::optional<std::string>();
  }
  auto name = rest.substr(1);
  if (!store_layout::is_valid_name(name) || name == "default") {
    return bad_input(
        file, fmt::format("expected a split's name of a-z A-Z 0-9 _ - . other than \"default\", "
                          "got \"{}\"",
                          name));
  }
  return std::optional(std::move(name));
}

Status read_role_files(const Source& source, std::uint64_t nodes, std::string_view role,
                       SeedsByRole& seeds) {
  const auto prefix = std::string(role) + "_idx";
  TROUPE_ASSIGN_OR_RETURN(const auto files, list_files(source.dir, prefix));
  for (const auto& file : files) {
    TROUPE_ASSIGN_OR_RETURN(const auto split, split_of(file, prefix));
    if (!split) {
      continue;
    }
    TROUPE_ASSIGN_OR_RETURN(const auto array, source.read(file));
    if (array.shape.size() != 1) {
      return bad_input(file,
                       fmt::format("expected shape [seeds], got {}", shape_text(array.shape)));
    }
    TROUPE_ASSIGN_OR_RETURN(auto ids,
                            read_ids(array, {file, "a node id", 0, array.shape[0], nodes}));
    std::ranges::sort(ids);
    seeds[{*split, std::string(role)}] = std::move(ids);
  }
  return ok_status();
}

/// Nodes whose mask is set, among `nodes` values.
std::vector<std::uint64_t> set_nodes(std::span<const std::uint8_t> mask) {
  std::vector<std::uint64_t> ids;
  for (std::uint64_t node = 0; node < mask.size(); ++node) {
    if (mask[node] != 0) {
      ids.push_back(node);
    }
  }
  return ids;
}

Status read_masks(const Source& source, std::uint64_t nodes, std::string_view role,
                  SeedsByRole& seeds) {
  const auto file = std::string(role) + "_masks.npy";
  if (!source.has(file)) {
    return ok_status();
  }
  TROUPE_ASSIGN_OR_RETURN(const auto array, source.read(file));
  const bool fits = array.type.kind == 'b' && !array.shape.empty() && array.shape.size() <= 2 &&
                    array.shape.back() == nodes;
  if (!fits) {
    const bool turned = array.shape.size() == 2 && array.shape.front() == nodes;
    return bad_input(file, fmt::format("expected bool [masks, {0}] or [{0}], got {1} {2}{3}", nodes,
                                       to_string(array.type), shape_text(array.shape),
                                       turned ? turned_masks : ""));
  }
  const auto values = array.as<std::uint8_t>();
  if (array.shape.size() == 1) {
    seeds.try_emplace({"", std::string(role)}, set_nodes(values));
    return ok_status();
  }
  if (array.shape[0] > most_types) {
    return bad_input(file,
                     fmt::format("expected at most {} masks, got {}", most_types, array.shape[0]));
  }
  for (std::uint64_t k = 0; k < array.shape[0]; ++k) {
    const auto name = fmt::format("mask{}", k);
    seeds.try_emplace({name, std::string(role)}, set_nodes(values.subspan(k * nodes, nodes)));
  }
  return ok_status();
}

/// Reads ROLE_mask.npy, a mask of the default split as PyG names it.
Status read_mask(const Source& source, std::uint64_t nodes, std::string_view role,
                 SeedsByRole& seeds) {
  const auto file = std::string(role) + "_mask.npy";
  if (!source.has(file)) {
    return ok_status();
  }
  TROUPE_ASSIGN_OR_RETURN(const auto array, source.read(file));
  const bool fits = (array.type.kind == 'b' || array.type == npy_type(DType::u8)) &&
                    array.shape == std::vector<std::uint64_t>{nodes};
  if (!fits) {
    const bool masks = array.shape.size() == 2 && array.shape.front() == nodes;
    return bad_input(
        file, fmt::format("expected bool or uint8 [{}], got {} {}{}", nodes, to_string(array.type),
                          shape_text(array.shape),
                          masks ? fmt::format("{} as {}_masks.npy", turned_masks, role) : ""));
  }
  const auto values = array.as<std::uint8_t>();
  const auto bad = std::ranges::find_if(values, [](std::uint8_t value) { return value > 1; });
  if (bad != values.end()) {
    return bad_input(file,
                     fmt::format("row {}: expected 0 or 1, got {}", bad - values.begin(), *bad));
  }
  if (!seeds.try_emplace({"", std::string(role)}, set_nodes(values)).second) {
    return bad_input(file, fmt::format("expected no such file beside {}_masks.npy", role));
  }
  return ok_status();
}

}  // namespace

Result<SeedsByRole> read_seeds(const Source& source, std::uint64_t nodes) {
  SeedsByRole from_files;
  SeedsByRole from_masks;
  for (const auto role : roles) {
    TROUPE_RETURN_IF_ERROR(read_role_files(source, nodes, role, from_files));
  }
  const bool default_in_files =
      std::ranges::any_of(from_files, [](const auto& entry) { return entry.first.first.empty(); });
  for (const auto role : roles) {
    TROUPE_RETURN_IF_ERROR(read_masks(source, nodes, role, from_masks));
    TROUPE_RETURN_IF_ERROR(read_mask(source, nodes, role, from_masks));
  }
  for (auto& [name, ids] : from_masks) {
    if (name.first.empty() && default_in_files) {
      continue;  // files win over [N] masks
    }
    if (!from_files.try_emplace(name, std::move(ids)).second) {
      return bad_input(
          fmt::format("{}_masks.npy", name.second),
          fmt::format("expected no file for split \"{}\" beside the masks, found {}_idx_{}.npy",
                      name.first, name.second, name.first));
    }
  }
  return from_files;
}

Result<graph_source::AllLinks> open_links(const Source& source, std::uint64_t nodes) {
  graph_source::AllLinks links;
  for (const auto role : roles) {
    const auto file = [role](std::string_view what) {
      return fmt::format("{}_links{}.npy", role, what);
    };
    PairFiles files{{file("")}, PairLayout::either_rows_first};
    files.each = "link";
    files.times = source.has(file("_times")) ? file("_times") : "";
    files.weights = source.has(file("_labels")) ? file("_labels") : "";
    if (source.has(file(""))) {
      auto& of_role = links[{"", std::string(role)}];
      TROUPE_ASSIGN_OR_RETURN(of_role.rows, open_pairs(source, files, {nodes, nodes}));
    } else if (!files.times.empty() || !files.weights.empty()) {
      return bad_input(files.times.empty() ? files.weights : files.times,
                       fmt::format("expected {} beside it, found none", file("")));
    }
  }
  return links;
}

}  // namespace troupe::npy_source
