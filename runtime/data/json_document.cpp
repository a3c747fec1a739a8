#include "runtime/data/json_document.hpp"

#include "runtime/base/files.hpp"
#include "runtime/base/nearest.hpp"

#include <algorithm>

namespace troupe {
namespace {

constexpr std::size_t largest_document = std::size_t{1} << 24;

}  // namespace

Result<std::string> read_document(const std::filesystem::path& file) {
  std::error_code ignored;
  if (std::filesystem::exists(file, ignored) && !std::filesystem::is_regular_file(file, ignored)) {
    return Error(Errc::invalid_argument,
                 fmt::format("{}: expected a regular file, found something else", file.string()));
  }
  return read_text_file(file, largest_document);
}

Result<nlohmann::json> read_json_document(const std::filesystem::path& file) {
  TROUPE_ASSIGN_OR_RETURN(const auto text, read_document(file));
  auto document =
      read_strict_json(text, {.most_bytes = largest_document, .most_levels = deepest_json});
  return document ? std::move(document) : std::move(document).error().with(file.string());
}

Result<std::vector<JsonValue::Member>> known_members(const JsonValue& value,
                                                     const std::vector<std::string>& known) {
  auto members = value.members();
  if (!members) {
    return as_users_mistake(members.error());
  }
  for (const auto& member : *members) {
    if (std::ranges::find(known, member.key) != known.end()) {
      continue;
    }
    const auto best = nearest(member.key, known);
    return Error(Errc::invalid_argument,
                 fmt::format("{}: expected one of {}, found an unknown key{}", member.value.place(),
                             fmt::join(known, ", "),
                             best.close ? fmt::format("\ntry: \"{}\"", best.word) : ""));
  }
  return members;
}

}  // namespace troupe
