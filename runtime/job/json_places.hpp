#pragma once
/// \file json_places.hpp
/// Where the keys and values of a job file's text stand, for messages about them.
#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace troupe {

struct TextPlace {
  std::size_t line = 0;  ///< From 1; 0: not in the text
  std::size_t column = 0;
};

struct JsonPlace {
  TextPlace key;
  TextPlace value;
};

/// Places by JSON pointer of members of objects that are not inside lists; not of pointers of more
/// than 1 KiB, which no known key has, as many long ones would take memory. Of a key that is
/// given twice: the last key, which is to be removed, and the first value, which counts.
/// \requires read_strict_json() takes the text by job_json_rules
std::map<std::string, JsonPlace> json_places(std::string_view text);

}  // namespace troupe
