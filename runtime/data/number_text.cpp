#include "runtime/data/number_text.hpp"

#include "runtime/data/text_lines.hpp"
#include "runtime/graph/half.hpp"

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

/// \param read_field  takes a field and its column. \returns why not; empty: it was read
template <class ReadField>
std::string read_line(std::string_view line, std::uint64_t cols, const ReadField& read_field) {
  Fields fields(line);
  bool comma = false;
  bool other = false;
  for (std::uint64_t column = 0; column < cols; ++column) {
    if (fields.done()) {
      return fmt::format("expected {} numbers, got {}", cols, column);
    }
    if (auto what = read_field(fields.next(), column); !what.empty()) {
      return what;
    }
    const char separator = fields.separator();
    comma = comma || separator == ',';
    other = other || (separator != ',' && separator != 0);
  }
  if (comma && other) {  // 1,5;2,5
    return std::string(text_lines::decimal_comma);
  }
  return fields.done() ? std::string() : fmt::format("expected {} numbers, got more", cols);
}

/// \param read_field  takes a field, its column and the values before it
template <class T, class Take, class ReadField>
Status read_fields(const std::filesystem::path& path, std::uint64_t cols, Executor& executor,
                   const Take& take, const ReadField& read_field) {
  const auto parse = [&](std::string_view text, Rows<T>& rows) {
    rows.values.clear();
    text_lines::for_each_data_line(text, rows, [&](std::string_view line) {
      return read_line(line, cols, [&](std::string_view field, std::uint64_t column) {
        return read_field(field, column, rows.values);
      });
    });
  };
  return text_lines::parse_file<Rows<T>>(
      path, executor,
      {nullptr, parse,
       [&](Rows<T>& rows) { return rows.values.empty() ? ok_status() : take(rows.values); }, ""});
}

template <class T, class Take>
Status read_rows(const std::filesystem::path& path, const Format& format, Executor& executor,
                 const Take& take) {
  return read_fields<T>(path, format.cols, executor, take,
                        [&](std::string_view field, std::uint64_t column, std::vector<T>& values) {
                          return read(field, column, format, values.emplace_back());
                        });
}

template <class T>
bool append_bytes(T value, std::vector<std::byte>& values) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  values.insert(values.end(), bytes.begin(), bytes.end());
  return true;
}

template <class T>
bool append_integer(std::string_view field, std::vector<std::byte>& values) {
  T value{};
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  return error == std::errc() && end == field.data() + field.size() && append_bytes(value, values);
}

bool append_half(std::string_view field, std::uint16_t (*narrow)(float),
                 float (*widen)(std::uint16_t), std::vector<std::byte>& values) {
  float value = 0;
  if (!parse(field, value)) {
    return false;
  }
  const auto word = narrow(value);
  return std::isfinite(widen(word)) && append_bytes(word, values);
}

}  // namespace

bool append(std::string_view field, DType dtype, std::vector<std::byte>& values) {
  float single = 0;
  double wide = 0;
  const auto* last = field.data() + field.size();
  switch (dtype) {
    case DType::u8:
      return append_integer<std::uint8_t>(field, values);
    case DType::i32:
      return append_integer<std::int32_t>(field, values);
    case DType::i64:
      return append_integer<std::int64_t>(field, values);
    case DType::f16:
      return append_half(field, float_to_f16, f16_to_float, values);
    case DType::bf16:
      return append_half(field, float_to_bf16, bf16_to_float, values);
    case DType::f32:
      return parse(field, single) && append_bytes(single, values);
    case DType::f64: {
      const auto [end, error] = std::from_chars(field.data(), last, wide);
      return error == std::errc() && end == last && std::isfinite(wide) &&
             append_bytes(wide, values);
    }
    default:
      return false;
  }
}

std::string number_of(DType dtype) {
  const bool integer = dtype == DType::u8 || dtype == DType::i32 || dtype == DType::i64;
  return fmt::format("{} {}", integer ? "an integer of" : "a finite", to_string(dtype));
}

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

Status read_values(const std::filesystem::path& path, const Format& format, DType dtype,
                   Executor& executor,
                   const std::function<Status(std::span<const std::byte>)>& take) {
  return read_fields<std::byte>(
      path, format.cols, executor, take,
      [&](std::string_view field, std::uint64_t, std::vector<std::byte>& values) {
        return append(field, dtype, values)
                   ? std::string()
                   : fmt::format("expected {}, got \"{}\"", number_of(dtype), field.substr(0, 60));
      });
}

}  // namespace troupe::number_text
