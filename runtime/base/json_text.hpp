#pragma once
/// \file json_text.hpp
/// Text to JSON values and back. Sources call these functions instead of nlohmann's parse() and
/// dump(), whose templates cost every compiler run about five seconds. Files from outside are read
/// through strict_json.hpp, which limits size and nesting.
#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace troupe {

/// JSON value of `text`; a discarded value if it is not JSON. Nesting is not limited.
nlohmann::json json_of_text(std::string_view text);
/// The same with the keys of objects in the order of the text.
nlohmann::ordered_json ordered_json_of_text(std::string_view text);

struct JsonTextOptions {
  int indent = -1;     ///< spaces per level; -1: all on one line
  bool ascii = false;  ///< other characters are escaped
};

/// Text of a value; bytes that are not UTF-8 become U+FFFD.
std::string text_of_json(const nlohmann::json& value, const JsonTextOptions& options = {});
std::string text_of_json(const nlohmann::ordered_json& value, const JsonTextOptions& options = {});

/// Text of a value, indented by one space per level; nothing if a string in it is not UTF-8.
std::optional<std::string> strict_text_of_json(const nlohmann::ordered_json& value);

}  // namespace troupe
