#pragma once
/// \file array_checks.hpp
/// Checks of what stored arrays say. For the sources of this folder only.
#include "runtime/base/result.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <span>
#include <string>

namespace troupe {

/// Where the first element that breaks a rule lies, with its value.
inline Error bad_element(const std::string& path, std::size_t at, const std::string& expected,
                         const std::string& found) {
  return Error(Errc::data_corruption,
               fmt::format("{}: element {}: expected {}, found {}", path, at, expected, found));
}

template <class T>
Status check_below(std::span<const T> ids, std::uint64_t end, const std::string& path) {
  const auto bad = std::ranges::find_if(ids, [end](T id) { return id >= end; });
  if (bad != ids.end()) {
    return bad_element(path, static_cast<std::size_t>(bad - ids.begin()),
                       fmt::format("an id below {}", end), fmt::to_string(*bad));
  }
  return ok_status();
}

template <class Compare>
Status check_order(std::span<const std::uint64_t> values, Compare in_order,
                   const std::string& path) {
  for (std::size_t i = 1; i < values.size(); ++i) {
    if (!in_order(values[i - 1], values[i])) {
      return bad_element(path, i, fmt::format("ascending values, above {}", values[i - 1]),
                         fmt::to_string(values[i]));
    }
  }
  return ok_status();
}

}  // namespace troupe
