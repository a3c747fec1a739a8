#pragma once
/// \file json_reader.hpp
/// Strict JSON with comments to a tree, without exceptions: for files that a person writes. Not for
/// large data.
#include "runtime/base/result.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace troupe {

inline constexpr std::size_t max_json_bytes = std::size_t{1}
                                              << 18;  ///< longer texts are refused unread
inline constexpr std::size_t max_json_depth = 32;     ///< so are deeper trees

struct JsonDocument {
  std::shared_ptr<nlohmann::json> root;  ///< never null
  std::vector<std::string>
      duplicates;  ///< JSON pointers of keys given twice; the first value counts
};

/// Parses `text`; `//` and `/* */` comments are skipped.
/// \errors invalid_argument: not JSON (line and column), too long, too deep, a number that float64
/// cannot hold
Result<JsonDocument> read_json(const std::string& text);

/// `key` as a part of a JSON pointer.
std::string pointer_token(const std::string& key);

}  // namespace troupe
