#pragma once
/// \file kinds.hpp
/// Tables of kinds: things that a user chooses by name, such as partition methods, models, import
/// formats and cache policies. A table lies in the room of its kinds; job schema, command line,
/// documentation tests, benches and fuzz targets read it, so a new kind is a new row.
///
/// A row is a struct with at least
///   name     word in job files and on the command line
///   help     one line of documentation
///   options  names of the options that the kind reads (OptionRow), where kinds have options
/// and the function that makes the kind.
#include "runtime/base/assert.hpp"
#include "runtime/base/value_rule.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace troupe {

/// One option of the kinds of a table; its default is that of the field.
/// \tparam Options  struct with the options of all kinds; each kind ignores those of others
template <class Options>
struct OptionRow {
  using Field =
      std::variant<std::monostate,  // set by the user's other choices, not by a value of its own
                   bool Options::*, std::uint32_t Options::*, std::uint64_t Options::*,
                   double Options::*, std::string Options::*, std::filesystem::path Options::*,
                   std::optional<std::string> Options::*, std::optional<std::uint64_t> Options::*,
                   std::vector<std::string> Options::*, std::vector<std::uint32_t> Options::*>;

  std::string_view name;  ///< Key in job files; on the command line with '-' for '_'
  std::string_view help;  ///< Meaning, without the kinds that read it
  ValueRule rule = {};
  Field field;
};

/// The row of a name, or nullptr.
template <class Rows>
auto find_kind(const Rows& rows, std::string_view name) -> decltype(std::data(rows)) {
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return row.name == name; });
  return found == rows.end() ? nullptr : &*found;
}

/// The place of a name in a table.
/// \requires the table has the name
template <class Rows>
std::uint16_t place_of_kind(const Rows& rows, std::string_view name) {
  const auto* found = find_kind(rows, name);
  TROUPE_ASSERT(found != nullptr, "no such kind", name);
  return static_cast<std::uint16_t>(found - std::data(rows));
}

template <class Rows>
std::vector<std::string> names_of(const Rows& rows) {
  std::vector<std::string> names;
  for (const auto& row : rows) {
    names.emplace_back(row.name);
  }
  return names;
}

template <class Row>
bool reads_option(const Row& kind, std::string_view option) {
  return std::find(kind.options.begin(), kind.options.end(), option) != kind.options.end();
}

/// The kinds that read an option, e.g. "`ldg`, `fennel`".
/// \param quote  written before and after each name
template <class Rows>
std::string readers_of(const Rows& kinds, std::string_view option, std::string_view quote = "") {
  std::string readers;
  for (const auto& kind : kinds) {
    if (reads_option(kind, option)) {
      readers += fmt::format("{}{}{}{}", readers.empty() ? "" : ", ", quote, kind.name, quote);
    }
  }
  return readers;
}

}  // namespace troupe
