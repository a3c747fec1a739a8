#pragma once
/// \file strict_json.hpp
/// Strict reader of JSON from outside the program: job files, store metadata, documents to import.
/// Text that the program itself has made is read by json_text.hpp.
#include "runtime/base/result.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// Bounds and syntax of the texts that a caller accepts.
struct JsonRules {
  std::size_t most_bytes;   ///< Largest size; longer texts are refused unread
  std::size_t most_levels;  ///< Deepest nesting of objects and lists
  bool comments = false;    ///< Whether `//` and `/* */` are skipped
};

/// Reads one JSON value, without exceptions and without recursion.
/// \param repeated  receives the JSON pointer of each repeated key, whose first value counts;
///                  without it, or where the pointers would take more than `most_bytes`, a
///                  repeated key is an error
/// \errors invalid_argument: too long, too deep, a repeated key (with its pointer); not JSON in
///         UTF-8, or a number that float64 cannot hold (with line and column)
Result<nlohmann::json> read_strict_json(std::string_view text, const JsonRules& rules,
                                        std::vector<std::string>* repeated = nullptr);

/// `key` as a part of a JSON pointer.
std::string pointer_token(const std::string& key);

}  // namespace troupe
