#pragma once
/// \file listed_files.hpp
/// Makes the list of files in a document (graph.json, partition.json, manifest.json) say what the
/// files are, so that mutated files reach the checks of what they hold.
#include "runtime/base/digest.hpp"

#include "fuzz/file_set.hpp"
#include "fuzz/self_checksum.hpp"

#include <nlohmann/json.hpp>

namespace troupe::fuzz {

/// Whether the text nests so little that code without a bound of its own can walk it.
inline bool is_shallow(const std::string& text) {
  return std::ranges::count(text, '[') + std::ranges::count(text, '{') < 500;
}

/// Puts those of `files` that are `listed` and are no JSON into the document's "files".
template <class Listed>
void list_files(File& document, const std::vector<File>& files, Listed listed) {
  using Json = nlohmann::ordered_json;
  const std::string text(text_of(document.bytes));
  auto json = is_shallow(text) ? Json::parse(text, nullptr, false) : Json();
  if (!json.is_object() || !json.contains("files")) {
    return;
  }
  json["files"] = Json::array();
  for (const auto& file : files) {
    if (!file.name.ends_with(".json") && listed(file)) {
      json["files"].push_back(
          {{"path", file.name},
           {"bytes", file.bytes.size()},
           {"checksum", to_string(digest_of(std::as_bytes(std::span(file.bytes))))}});
    }
  }
  const auto fixed =
      with_self_checksum(json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
  document.bytes.assign(fixed.begin(), fixed.end());
}

}  // namespace troupe::fuzz
