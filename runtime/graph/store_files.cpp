#include "runtime/graph/store_files.hpp"

#include "runtime/base/digest.hpp"
#include "runtime/base/mapped_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace troupe {
namespace {

std::string expected_text(const ArrayShape& expected) {
  std::vector<std::string> extents;
  for (const auto& extent : expected.extents) {
    extents.push_back(extent ? fmt::to_string(*extent) : "n");
  }
  return fmt::format("{} [{}]", to_string(expected.type), fmt::join(extents, ", "));
}

bool fits(const NpyArray& array, const ArrayShape& expected) {
  if (array.type != expected.type || array.shape.size() != expected.extents.size()) {
    return false;
  }
  for (std::size_t i = 0; i < array.shape.size(); ++i) {
    if (expected.extents[i] && *expected.extents[i] != array.shape[i]) {
      return false;
    }
  }
  return true;
}

}  // namespace

StoreFiles::StoreFiles(std::filesystem::path dir, StoreOptions options,
                       const std::vector<FileInfo>& files, std::string_view listing)
    : dir_(std::move(dir)), options_(options), listing_(listing) {
  for (const auto& file : files) {
    files_.emplace(file.path, file);
  }
}

Result<NpyArray> StoreFiles::load(const std::string& path, const ArrayShape& expected) const {
  const auto full_path = dir_ / path;
  const auto found = files_.find(path);
  if (found == files_.end()) {
    return Error(Errc::data_corruption,
                 fmt::format("{}: expected the file in the list of {}, found it missing there",
                             full_path.string(), listing_));
  }
  TROUPE_ASSIGN_OR_RETURN(auto segment,
                          read(found->second, options_.memory, options_.verify == Verify::full));
  if (options_.loaded != nullptr) {
    options_.loaded->insert(path);
  }
  TROUPE_ASSIGN_OR_RETURN(auto array, parse_npy(segment, full_path.string()));
  if (!fits(array, expected)) {
    return Error(
        Errc::data_corruption,
        fmt::format("{}: expected an array of {}, found {} {}", full_path.string(),
                    expected_text(expected), to_string(array.type), shape_text(array.shape)));
  }
  return array;
}

Status StoreFiles::verify_others(const std::set<std::string>& loaded) const {
  for (const auto& [path, file] : files_) {
    if (!loaded.contains(path)) {
      TROUPE_RETURN_IF_ERROR(read(file, StoreMemory::mapped, true));
    }
  }
  return ok_status();
}

Result<Segment> StoreFiles::read(const FileInfo& file, StoreMemory memory, bool checksum) const {
  const auto path = dir_ / file.path;
  TROUPE_ASSIGN_OR_RETURN(auto segment,
                          memory == StoreMemory::mapped ? map_file(path) : load_file(path));
  if (segment.bytes.size() != file.bytes) {
    return Error(Errc::data_corruption,
                 fmt::format("{}: expected {} bytes, found {}{}", path.string(), file.bytes,
                             segment.bytes.size(), damaged_advice));
  }
  const auto found = checksum ? to_string(digest_of(segment.bytes)) : file.checksum;
  if (found != file.checksum) {
    return Error(Errc::data_corruption,
                 fmt::format("{}: expected checksum {}, found {}{}", path.string(), file.checksum,
                             found, damaged_advice));
  }
  return segment;
}

}  // namespace troupe
