#include "runtime/data/edge_text.hpp"

#include "runtime/data/number_text.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace troupe::edge_text {
namespace {

using text_lines::Fields;
using text_lines::for_each_data_line;

/// The fields of a line that are read.
struct Cells {
  std::string_view source;
  std::string_view destination;
  std::string_view weight;
  std::string_view time;
  char separator = 0;        ///< The first one, as Fields has it
  char other_separator = 0;  ///< The first that differs from it, up to that after the last column
  bool comma = false;        ///< Whether one of those is a comma
  std::string_view open_quote;  ///< The first field with a quote that another field ends
  bool ends() const { return !source.empty() && !destination.empty(); }
};

std::uint32_t last_column(const Format& format) {
  auto last = std::max({format.source.column, format.destination.column,
                        format.weight_column.value_or(0), format.time_column.value_or(0)});
  for (const auto& column : format.columns) {
    last = std::max(last, column.field);
  }
  return last;
}

void note_separator(char separator, Cells& cells) {
  cells.comma = cells.comma || separator == ',';
  if (cells.separator == 0) {
    cells.separator = separator;
  } else if (separator != 0 && separator != cells.separator && cells.other_separator == 0) {
    cells.other_separator = separator;
  }
}

/// Whether a separator inside quotes has cut a field: quotes are not undone.
bool is_open_quote(std::string_view field) {
  return field.starts_with('"') && std::ranges::count(field, '"') % 2 == 1;
}

/// A number without the quotes around it.
std::string_view unquoted(std::string_view field) {
  const bool quoted = field.size() > 1 && field.starts_with('"') && field.ends_with('"');
  return quoted ? field.substr(1, field.size() - 2) : field;
}

Cells cells_of(std::string_view line, const Format& format) {
  Cells cells;
  Fields fields(line);
  const auto last = last_column(format);
  for (std::uint32_t column = 0; column <= last && !fields.done(); ++column) {
    const auto field = fields.next();
    note_separator(fields.separator(), cells);
    if (cells.open_quote.empty() && is_open_quote(field)) {
      cells.open_quote = field;
    }
    if (column == format.source.column) {
      cells.source = field;
    }
    if (column == format.destination.column) {
      cells.destination = field;
    }
    if (column == format.weight_column) {
      cells.weight = field;
    }
    if (column == format.time_column) {
      cells.time = field;
    }
  }
  return cells;
}

std::string missing_columns(const Format& format) {
  return fmt::format("expected ids in columns {} and {} (counted from 0)", format.source.column,
                     format.destination.column);
}

std::string_view name_of(char separator) {
  return separator == ' '    ? "a space"
         : separator == '\t' ? "a tab"
         : separator == ','  ? "a comma"
                             : "a semicolon";
}

/// Reads an id that is a number. \returns why not; empty: it was read
std::string read_number(std::string_view field, const End& end, std::uint64_t& id) {
  const auto number = unquoted(field);
  const auto* const stop = number.data() + number.size();
  const auto [last, error] = std::from_chars(number.data(), stop, id);
  if (error == std::errc() && last == stop && id >= end.first_id && id < end.end_id) {
    id -= end.first_id;
    return {};
  }
  if (end.first_id == end.end_id) {
    return fmt::format("expected no ids, as the number of nodes is 0, got \"{}\"",
                       field.substr(0, 60));
  }
  return fmt::format("expected a number from {} to {}, got \"{}\"", end.first_id, end.end_id - 1,
                     field.substr(0, 60));
}

/// Reads an id. \returns why not; empty: it was read
std::string read_id(std::string_view field, const End& end, EndIds& ids) {
  if (end.text) {
    ids.names.push_back(field);
    return {};
  }
  return read_number(field, end, ids.numbers.emplace_back());
}

std::string found(std::string_view field) {
  return field.empty() ? "nothing" : fmt::format("\"{}\"", field.substr(0, 60));
}

/// Reads the fields of named columns. \returns why not; empty: they were read
std::string read_columns(std::string_view line, const Format& format, Values& values) {
  std::size_t missing = format.columns.size();
  Fields fields(line);
  for (std::uint32_t field = 0; missing > 0 && !fields.done(); ++field) {
    const auto text = fields.next();
    for (std::size_t i = 0; i < format.columns.size(); ++i) {
      const auto& column = format.columns[i];
      if (column.field != field) {
        continue;
      }
      --missing;
      if (!number_text::append(unquoted(text), column.dtype, values.columns[i])) {
        return fmt::format("expected {} in column {}, as {}, got {}",
                           number_text::number_of(column.dtype), field, column.name, found(text));
      }
    }
  }
  if (missing == 0) {
    return {};
  }
  const auto last = std::ranges::max_element(format.columns, {}, &LineColumn::field);
  return fmt::format("expected {} in column {}, as {}, got nothing",
                     number_text::number_of(last->dtype), last->field, last->name);
}

/// Reads weight and time where the format has them. \returns why not; empty: they were read
std::string read_values(const Cells& cells, const Format& format, Values& values) {
  if (format.weight_column) {
    auto& weight = values.weights.emplace_back();
    if (!number_text::parse(unquoted(cells.weight), weight) || weight < 0) {
      return fmt::format("expected a finite weight of 0 or more in column {}, got {}",
                         *format.weight_column, found(cells.weight));
    }
  }
  if (format.time_column &&
      !number_text::parse(unquoted(cells.time), values.times.emplace_back())) {
    return fmt::format("expected a time, an integer of 64 bits, in column {}, got {}",
                       *format.time_column, found(cells.time));
  }
  return {};
}

std::string read_beside(std::string_view line, const Cells& cells, const Format& format,
                        Values& values) {
  auto what = read_values(cells, format, values);
  return what.empty() ? read_columns(line, format, values) : what;
}

void clear(const Format& format, Edges& edges) {
  for (auto* ids : {&edges.sources, &edges.destinations}) {
    ids->numbers.clear();
    ids->names.clear();
  }
  edges.values.weights.clear();
  edges.values.times.clear();
  edges.values.columns.resize(format.columns.size());
  for (auto& column : edges.values.columns) {
    column.clear();
  }
  edges.count = 0;
  edges.comments = 0;
}

/// Whether the fields are those of the columns. \returns why not; empty: they are
std::string check_cells(const Cells& cells, const Format& format) {
  if (!cells.ends()) {
    return missing_columns(format);
  }
  if (format.names() && cells.other_separator != 0) {  // One of them is probably part of a name
    return fmt::format("expected the same separator between all columns, found {} and {}",
                       name_of(cells.separator), name_of(cells.other_separator));
  }
  if (format.values() && cells.other_separator != 0 && cells.comma) {  // 0;1;2,5
    return std::string(text_lines::decimal_comma);
  }
  const bool quotes = cells.separator == ',' || cells.separator == ';';
  if (quotes && !cells.open_quote.empty()) {
    return fmt::format("expected no separator inside quotes, which are not undone, found {}",
                       cells.open_quote.substr(0, 60));
  }
  return {};
}

}  // namespace

bool is_header(std::string_view line, const Format& format) {
  auto source = cells_of(line, format).source;
  source.remove_prefix(source.starts_with('"') ? 1 : 0);
  const auto first = source.empty() ? '0' : source.front();
  return (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z') || first == '_';
}

void parse(std::string_view text, const Format& format, Edges& edges) {
  clear(format, edges);
  const auto take = [&](std::string_view line) -> std::string {
    const auto cells = cells_of(line, format);
    auto what = check_cells(cells, format);
    if (what.empty()) {
      what = read_id(cells.source, format.source, edges.sources);
    }
    if (what.empty()) {
      what = read_id(cells.destination, format.destination, edges.destinations);
    }
    ++edges.count;
    return what.empty() ? read_beside(line, cells, format, edges.values) : what;
  };
  for_each_data_line(text, edges, take, [&](std::string_view line) {
    const bool comment = text_lines::is_comment(line);
    edges.comments += format.names() && comment && !line.empty() ? 1U : 0U;
    return comment;
  });
}

}  // namespace troupe::edge_text
