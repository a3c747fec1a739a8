#include "runtime/partition/assign_file.hpp"

#include "runtime/graph/npy.hpp"

#include <fmt/format.h>

namespace troupe {
namespace {

Status check_array(const NpyArray& array, const NodeTypeInfo& type,
                   const std::filesystem::path& path) {
  const bool integers = array.type.kind == 'i' || array.type.kind == 'u';
  if (integers && array.shape.size() == 1 && array.shape[0] == type.count) {
    return ok_status();
  }
  return Error(Errc::invalid_argument,
               fmt::format("{}: expected integers of shape [{}], the part of each node of type "
                           "\"{}\", found {} of shape {}",
                           path.string(), type.count, type.name, to_string(array.type),
                           shape_text(array.shape)));
}

template <class T>
Result<std::vector<PartId>> read_parts(std::span<const T> values, std::uint32_t parts,
                                       const std::filesystem::path& path) {
  std::vector<PartId> part_of;
  part_of.reserve(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto part = static_cast<std::uint64_t>(+values[i]);  // below zero: beyond all parts
    if (part >= parts) {
      return Error(Errc::invalid_argument,
                   fmt::format("{}: row {}: expected a part from 0 to {}, found {}\ntry: --parts "
                               "with the number of parts in the file",
                               path.string(), i, parts - 1, values[i]));
    }
    part_of.push_back(static_cast<PartId>(part));
  }
  return part_of;
}

}  // namespace

std::vector<std::filesystem::path> node_files(const GraphInfo& graph,
                                              const std::filesystem::path& file) {
  if (graph.node_types.size() == 1) {
    return {file};
  }
  auto name = file;
  if (name.extension() == ".npy") {
    name.replace_extension();
  }
  std::vector<std::filesystem::path> files;
  for (const auto& type : graph.node_types) {
    files.emplace_back(name.string() + "-" + type.name + ".npy");
  }
  return files;
}

Result<Assignment> assign_from_file(const GraphInfo& graph, std::uint32_t parts,
                                    const std::filesystem::path& file) {
  if (file.empty()) {
    return Error(Errc::invalid_argument,
                 "partition method \"file\": expected a file with the part of each node, got none\n"
                 "try: --file PARTS.npy");
  }
  Assignment assignment;
  const auto files = node_files(graph, file);
  for (std::size_t type = 0; type < files.size(); ++type) {
    TROUPE_ASSIGN_OR_RETURN(const auto array, map_npy(files[type]));
    TROUPE_RETURN_IF_ERROR(check_array(array, graph.node_types[type], files[type]));
    auto read = visit_elements(array, [&](auto values) -> Result<std::vector<PartId>> {
      if constexpr (std::is_integral_v<typename decltype(values)::value_type>) {
        return read_parts(values, parts, files[type]);
      } else {
        return Error(Errc::internal, "an array of integers with floating point elements");
      }
    });
    if (!read) {
      return std::move(read).error();
    }
    assignment.push_back(*std::move(read));
  }
  return assignment;
}

}  // namespace troupe
