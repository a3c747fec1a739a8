#pragma once
/// \file json_document.hpp
/// Documents that users write: a key that is not known is an error with its JSON pointer and the
/// nearest known key.
#include "runtime/base/result.hpp"
#include "runtime/graph/json_reader.hpp"

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe {

/// Reads a file of at most 16 MB, not a pipe or device, which may never end.
Result<std::string> read_document(const std::filesystem::path& file);

/// Reads such a file as JSON of at most `deepest_json` levels.
/// \errors invalid_argument: not such JSON (read_strict_json); not_found; all with the file
Result<nlohmann::json> read_json_document(const std::filesystem::path& file);

/// The members of an object whose keys are all among `known`.
/// \errors invalid_argument: no object; an unknown key
Result<std::vector<JsonValue::Member>> known_members(const JsonValue& value,
                                                     const std::vector<std::string>& known);

/// An object whose keys are all known.
struct KnownObject {
  const JsonValue* find(std::string_view key) const {
    const auto found = std::ranges::find(members, key, &JsonValue::Member::key);
    return found == members.end() ? nullptr : &found->value;
  }
  std::vector<JsonValue::Member> members;
};
/// \errors as known_members()
inline Result<KnownObject> known_object(const JsonValue& value,
                                        const std::vector<std::string>& known) {
  TROUPE_ASSIGN_OR_RETURN(auto members, known_members(value, known));
  return KnownObject{std::move(members)};
}

/// An error of reading JSON, as that of a user's file; one of the whole document begins without a
/// pointer.
inline Error as_users_mistake(const Error& error) {
  const std::string& what = error.what();
  return Error(error.code() == Errc::data_corruption ? Errc::invalid_argument : error.code(),
               what.starts_with(": ") ? what.substr(2) : what);
}

}  // namespace troupe
