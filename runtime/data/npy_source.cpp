#include "runtime/data/npy_source.hpp"

#include "runtime/base/files.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/mapped_file.hpp"
#include "runtime/data/json_document.hpp"
#include "runtime/graph/json_reader.hpp"
#include "runtime/graph/store_layout.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <type_traits>

namespace troupe::npy_source {
namespace {

using nlohmann::json;

Result<std::optional<std::uint64_t>> read_count(const json& meta, const char* key,
                                                std::uint64_t largest) {
  if (!meta.contains(key)) {
    return std::optional<std::uint64_t>();
  }
  const auto& value = meta[key];
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > largest) {
    return bad_input("meta.json", fmt::format("/{}: expected an integer in 0..{}, found {}", key,
                                              largest, text_of_json(value, {.ascii = true})));
  }
  return std::optional(value.get<std::uint64_t>());
}

Status read_name(const json& meta, const char* key, std::string& name) {
  if (!meta.contains(key)) {
    return ok_status();
  }
  if (!meta[key].is_string() || !store_layout::is_valid_name(meta[key].get<std::string>())) {
    return bad_input("meta.json",
                     fmt::format("/{}: expected a name of 1 to 100 of a-z A-Z 0-9 _ - . , found {}",
                                 key, text_of_json(meta[key], {.ascii = true})));
  }
  name = meta[key].get<std::string>();
  return ok_status();
}

}  // namespace

Error bad_input(const std::string& file, const std::string& what) {
  return Error(Errc::invalid_argument, fmt::format("{}: {}", file, what));
}

Result<Meta> read_meta(const std::filesystem::path& dir) {
  Meta meta;
  if (!has_name(dir / "meta.json")) {
    return meta;
  }
  TROUPE_ASSIGN_OR_RETURN(const auto parsed, read_json_document(dir / "meta.json"));
  if (!parsed.is_object()) {
    return bad_input("meta.json",
                     fmt::format("expected a JSON object, found {}", parsed.type_name()));
  }
  TROUPE_ASSIGN_OR_RETURN(meta.num_nodes,
                          read_count(parsed, "num_nodes", store_layout::largest_count));
  TROUPE_ASSIGN_OR_RETURN(meta.num_features,
                          read_count(parsed, "num_features", store_layout::largest_feature_cols));
  TROUPE_ASSIGN_OR_RETURN(meta.num_classes,
                          read_count(parsed, "num_classes", store_layout::largest_cols));
  if (parsed.contains("labels")) {
    const auto& labels = parsed["labels"];
    if (labels != "classes" && labels != "numbers") {
      return bad_input(
          "meta.json",
          fmt::format("labels: expected \"classes\" or \"numbers\", found {}", labels.dump()));
    }
    meta.numbers = labels == "numbers";
  }
  TROUPE_RETURN_IF_ERROR(read_name(parsed, "node_type", meta.node_type));
  TROUPE_RETURN_IF_ERROR(read_name(parsed, "edge_type", meta.edge_type));
  return meta;
}

bool Source::has(const std::string& file) const {
  return has_name(dir / file);
}

Result<NpyArray> Source::read(const std::string& file) const {
  if (taken != nullptr) {
    taken->insert(file);
  }
  TROUPE_ASSIGN_OR_RETURN(const auto bytes, map_file(dir / file));
  auto array = parse_npy(bytes, file);
  if (!array.ok()) {  // a user's file, not a damaged store
    return Error(Errc::invalid_argument, array.error().what());
  }
  return array;
}

Result<std::vector<std::uint64_t>> read_ids(const NpyArray& array, const IdRange& range) {
  if (array.type.kind != 'i' && array.type.kind != 'u') {
    return bad_input(range.file,
                     fmt::format("expected integers, got dtype {}", to_string(array.type)));
  }
  return visit_elements(array, [&](auto values) -> Result<std::vector<std::uint64_t>> {
    std::vector<std::uint64_t> ids(range.count);
    for (std::uint64_t i = 0; i < range.count; ++i) {
      const auto value = values[range.begin + i * range.stride];
      if (value < 0 || static_cast<std::uint64_t>(+value) >= range.end) {
        return bad_input(range.file, fmt::format("row {}: expected {} below {}, got {}",
                                                 range.row + i, range.what, range.end, value));
      }
      ids[i] = static_cast<std::uint64_t>(+value);
    }
    return ids;
  });
}

Status for_each_id_block(
    const NpyArray& array, const IdRange& range,
    const std::function<Status(std::uint64_t, std::span<const std::uint64_t>)>& take) {
  auto block = range;
  for (std::uint64_t done = 0; done < range.count; done += block.count) {
    block.begin = range.begin + done * range.stride;
    block.row = range.row + done;
    block.count = std::min(block_elements, range.count - done);
    TROUPE_ASSIGN_OR_RETURN(const auto ids, read_ids(array, block));
    TROUPE_RETURN_IF_ERROR(take(block.row, ids));
  }
  return ok_status();
}

Result<std::uint64_t> end_of_ids(const NpyArray& array, const IdRange& range) {
  std::uint64_t end = 0;
  TROUPE_RETURN_IF_ERROR(
      for_each_id_block(array, range, [&end](std::uint64_t, std::span<const std::uint64_t> ids) {
        for (const auto id : ids) {
          end = std::max(end, id + 1);
        }
        return ok_status();
      }));
  return end;
}

Result<std::vector<std::string>> list_files(const std::filesystem::path& dir,
                                            std::string_view prefix) {
  std::vector<std::string> names;
  std::error_code error;
  for (auto entry = std::filesystem::directory_iterator(dir, error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const auto name = entry->path().filename().string();
    if (name.starts_with(prefix) && name.ends_with(".npy")) {
      names.push_back(name);
    }
  }
  if (error) {
    return file_error(dir, "cannot list the directory", error.value());
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace troupe::npy_source
