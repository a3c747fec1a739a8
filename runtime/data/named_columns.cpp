#include "runtime/data/named_columns.hpp"

#include "runtime/graph/store_layout.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace troupe {
namespace {

constexpr const char* named_flag = "--named-columns";
constexpr const char* line_flag = "--edge-columns";

/// A name, and what follows it.
struct NameAndRest {
  std::string name;
  std::optional<std::string> rest{};
};

NameAndRest cut_at(const std::string& text, char mark) {
  const auto at = text.find(mark);
  return at == std::string::npos ? NameAndRest{text}
                                 : NameAndRest{text.substr(0, at), text.substr(at + 1)};
}

Result<DType> column_dtype(std::string_view flag, const std::string& text,
                           const std::string& dtype) {
  const auto parsed = parse_dtype(dtype);
  if (!parsed || !store_layout::is_column_dtype(*parsed)) {
    return Error(Errc::invalid_argument,
                 fmt::format("{}: expected a dtype of {} after ':', got \"{}\"", flag,
                             store_layout::column_dtypes, text.substr(0, 120)));
  }
  return *parsed;
}

template <class Columns>
Status check_new_name(std::string_view flag, const std::string& name, const Columns& before) {
  if (!store_layout::is_valid_name(name)) {
    return Error(Errc::invalid_argument,
                 fmt::format("{}: expected a column's name of 1 to 100 of a-z A-Z 0-9 _ - . (no "
                             "'.' first), got \"{}\"",
                             flag, name.substr(0, 120)));
  }
  const bool twice = std::ranges::any_of(
      before, [&](const auto& column) { return std::string_view(column.name) == name; });
  return twice ? Status(Error(Errc::invalid_argument,
                              fmt::format("{}: expected each name once, got {} twice", flag, name)))
               : ok_status();
}

}  // namespace

Result<std::vector<NamedColumn>> parse_named_columns(std::span<const std::string> texts) {
  std::vector<NamedColumn> columns;
  for (const auto& text : texts) {
    const auto [name, dtype] = cut_at(text, ':');
    TROUPE_RETURN_IF_ERROR(check_new_name(named_flag, name, columns));
    NamedColumn column{name};
    if (dtype) {
      TROUPE_ASSIGN_OR_RETURN(column.dtype, column_dtype(named_flag, text, *dtype));
    }
    columns.push_back(std::move(column));
  }
  return columns;
}

Result<std::vector<LineColumn>> parse_line_columns(std::span<const std::string> texts) {
  std::vector<LineColumn> columns;
  for (const auto& text : texts) {
    const auto [name, rest] = cut_at(text, '=');
    TROUPE_RETURN_IF_ERROR(check_new_name(line_flag, name, columns));
    const auto [field, dtype] = cut_at(rest.value_or(""), ':');
    LineColumn column{name};
    const auto* last = field.data() + field.size();
    const auto [end, error] = std::from_chars(field.data(), last, column.field);
    if (error != std::errc() || end != last) {
      return Error(Errc::invalid_argument,
                   fmt::format("{}: expected NAME=FIELD or NAME=FIELD:DTYPE with a field's number, "
                               "counted from 0, got \"{}\"",
                               line_flag, text.substr(0, 120)));
    }
    if (dtype) {
      TROUPE_ASSIGN_OR_RETURN(column.dtype, column_dtype(line_flag, text, *dtype));
    }
    columns.push_back(std::move(column));
  }
  return columns;
}

}  // namespace troupe

namespace troupe::graph_source {

bool NamedColumns::wants(const std::string& array) {
  arrays_.insert(array);
  return std::ranges::find(names_, array, &NamedColumn::name) != names_.end();
}

Status NamedColumns::take(const std::string& array, std::string_view type, Columns& columns,
                          const Open& open) const {
  const auto named = std::ranges::find(names_, array, &NamedColumn::name);
  if (named == names_.end()) {
    return ok_status();
  }
  TROUPE_ASSIGN_OR_RETURN(auto rows, open(*named));
  const bool twice =
      std::ranges::any_of(columns, [&](const auto& other) { return other->info().name == array; });
  if (twice) {
    return Error(Errc::invalid_argument,
                 fmt::format("{}: expected column {} of type {} once, got a second array",
                             rows->file(), array, type));
  }
  columns.push_back(std::move(rows));
  return ok_status();
}

Status NamedColumns::check_found(std::string_view place) const {
  for (const auto& column : names_) {
    if (!arrays_.contains(column.name)) {
      return Error(
          Errc::not_found,
          fmt::format("{}: expected an array of nodes or edges named \"{}\", found {}", place,
                      column.name,
                      arrays_.empty() ? "none" : fmt::format("{}", fmt::join(arrays_, ", "))));
    }
  }
  return ok_status();
}

}  // namespace troupe::graph_source
