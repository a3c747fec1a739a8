#include "runtime/data/edge_text.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace troupe::edge_text {
namespace {

using text_lines::Fields;
using text_lines::for_each_data_line;

struct Ends {
  std::string_view source;
  std::string_view destination;
  bool whole = false;  ///< both columns are there
};

Ends ends_of(std::string_view line, const Format& format) {
  Ends ends;
  Fields fields(line);
  const auto last = std::max(format.source_column, format.destination_column);
  for (std::uint32_t column = 0; column <= last; ++column) {
    if (fields.done()) {
      return ends;
    }
    const auto field = fields.next();
    if (column == format.source_column) {
      ends.source = field;
    }
    if (column == format.destination_column) {
      ends.destination = field;
    }
  }
  ends.whole = !ends.source.empty() && !ends.destination.empty();
  return ends;
}

std::string missing_columns(const Format& format) {
  return fmt::format("expected ids in columns {} and {} (counted from 0)", format.source_column,
                     format.destination_column);
}

/// Reads an id. \returns why not; empty: it was read
std::string read_id(std::string_view field, const Format& format, std::uint64_t& id) {
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), id);
  if (error == std::errc() && end == field.data() + field.size() && id >= format.first_id &&
      id < format.end_id) {
    id -= format.first_id;
    return {};
  }
  return fmt::format("expected a number from {} to {}, got \"{}\"", format.first_id,
                     format.end_id - 1, field.substr(0, 60));
}

}  // namespace

bool is_header(std::string_view line, const Format& format) {
  const auto ends = ends_of(line, format);
  const auto first = ends.source.empty() ? '0' : ends.source.front();
  return (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z') || first == '_' ||
         first == '"';
}

void parse_numbers(std::string_view text, const Format& format, Numbers& numbers) {
  numbers.sources.clear();
  numbers.destinations.clear();
  for_each_data_line(text, numbers, [&](std::string_view line) -> std::string {
    const auto ends = ends_of(line, format);
    if (!ends.whole) {
      return missing_columns(format);
    }
    std::uint64_t source = 0;
    std::uint64_t destination = 0;
    auto what = read_id(ends.source, format, source);
    if (what.empty()) {
      what = read_id(ends.destination, format, destination);
    }
    numbers.sources.push_back(source);
    numbers.destinations.push_back(destination);
    return what;
  });
}

void parse_names(std::string_view text, const Format& format, Names& names) {
  names.sources.clear();
  names.destinations.clear();
  for_each_data_line(text, names, [&](std::string_view line) -> std::string {
    const auto ends = ends_of(line, format);
    if (!ends.whole) {
      return missing_columns(format);
    }
    names.sources.push_back(ends.source);
    names.destinations.push_back(ends.destination);
    return {};
  });
}

}  // namespace troupe::edge_text
