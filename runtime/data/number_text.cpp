#include "runtime/data/number_text.hpp"

#include "runtime/data/text_lines.hpp"

#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace troupe::number_text {
namespace {

using text_lines::Fields;

template <class T>
struct Rows {
  std::vector<T> values;
  std::uint64_t lines = 0;
  std::vector<text_lines::BadLine> bad;
};

bool is_missing(std::string_view field) {
  return field.empty() || field == "nan" || field == "NaN" || field == "NAN";
}

/// Reads a number. \returns why not; empty: it was read
std::string read(std::string_view field, std::uint64_t, const Format& format, float& out) {
  if (format.missing == Missing::is_nan && is_missing(field)) {
    out = std::numeric_limits<float>::quiet_NaN();
    return {};
  }
  if (parse(field, out)) {
    return {};
  }
  return fmt::format("expected a finite float32, got \"{}\"", field.substr(0, 60));
}

std::string read(std::string_view field, std::uint64_t column, const Format& format,
                 std::int64_t& out) {
  const bool number = parse(field, out);
  if (format.ends.empty()) {
    return number ? std::string()
                  : fmt::format("expected an integer, got \"{}\"", field.substr(0, 60));
  }
  if (number && out >= 0 && static_cast<std::uint64_t>(out) < format.ends[column]) {
    return {};
  }
  return fmt::format("expected an id below {} in column {}, got \"{}\"", format.ends[column],
                     column, field.substr(0, 60));
}

template <class T>
std::string read_line(std::string_view line, const Format& format, std::vector<T>& values) {
  Fields fields(line);
  for (std::uint64_t column = 0; column < format.cols; ++column) {
    if (fields.done()) {
      return fmt::format("expected {} numbers, got {}", format.cols, column);
    }
    if (auto what = read(fields.next(), column, format, values.emplace_back()); !what.empty()) {
      return what;
    }
  }
  return fields.done() ? std::string() : fmt::format("expected {} numbers, got more", format.cols);
}

template <class T, class Take>
Status read_rows(const std::filesystem::path& path, const Format& format, Executor& executor,
                 const Take& take) {
  const auto parse = [&](std::string_view text, Rows<T>& rows) {
    rows.values.clear();
    text_lines::for_each_data_line(
        text, rows, [&](std::string_view line) { return read_line(line, format, rows.values); });
  };
  return text_lines::parse_file<Rows<T>>(
      path, executor,
      {nullptr, parse,
       [&](Rows<T>& rows) { return rows.values.empty() ? ok_status() : take(rows.values); }, ""});
}

}  // namespace

bool parse(std::string_view field, float& value) {
  double exact = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), exact);
  value = static_cast<float>(exact);
  return error == std::errc() && end == field.data() + field.size() && std::isfinite(value);
}

bool parse(std::string_view field, std::int64_t& value) {
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  return error == std::errc() && end == field.data() + field.size();
}

Result<std::uint64_t> count_columns(const std::filesystem::path& path) {
  std::uint64_t columns = 0;
  const Error found(Errc::cancelled, "found");  // ends the reading
  const auto status =
      for_each_line_block(path, std::size_t{1} << 16, [&](std::string_view text) -> Status {
        while (!text.empty()) {
          const auto line = text_lines::take_line(text);
          if (text_lines::is_comment(line)) {
            continue;
          }
          for (Fields fields(line); !fields.done(); ++columns) {
            fields.next();
          }
          return found;
        }
        return ok_status();
      });
  if (!status && columns == 0) {
    return status.error();
  }
  return columns;
}

Status read_floats(const std::filesystem::path& path, const Format& format, Executor& executor,
                   const std::function<Status(std::span<const float>)>& take) {
  return read_rows<float>(path, format, executor, take);
}

Status read_integers(const std::filesystem::path& path, const Format& format, Executor& executor,
                     const std::function<Status(std::span<const std::int64_t>)>& take) {
  return read_rows<std::int64_t>(path, format, executor, take);
}

}  // namespace troupe::number_text
