#pragma once
/// \file number_text.hpp
/// Text files of numbers, a row a line (csv, tsv, spaces), plain or compressed.
#include "runtime/base/executor.hpp"
#include "runtime/base/result.hpp"
#include "runtime/graph/graph_info.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::number_text {

/// A value of a float column may be missing: nothing, or "nan". Else that is an error.
enum class Missing : std::uint8_t { refused, is_nan };

struct Format {
  std::uint64_t cols = 1;  ///< numbers that every line must have
  Missing missing = Missing::refused;
  /// Of integers: each column's numbers lie in [0, end). Empty: any that 64 bits hold.
  std::vector<std::uint64_t> ends{};
};

/// Reads a whole field as a number, rounded to float32. \returns whether it is one, and finite
bool parse(std::string_view field, float& value);
/// Reads a whole field as an integer. \returns whether it is one of 64 bits
bool parse(std::string_view field, std::int64_t& value);

/// Reads a whole field as a number of a column's dtype and appends its bytes: integers as they are,
/// others rounded to the nearest. \returns whether it is one that the dtype holds, and finite
bool append(std::string_view field, DType dtype, std::vector<std::byte>& values);
/// "a finite f32", "an integer of i64": what append() takes, for messages.
std::string number_of(DType dtype);

/// Fields of the first line with data; 0 if there is none.
Result<std::uint64_t> count_columns(const std::filesystem::path& path);

/// Hands out all rows in order, some at a time. Skipped are empty lines and those that begin with #,
/// % or //.
/// \errors invalid_argument: a line that does not fit, with its number and text; those of
///   for_each_line_block(); the first of `take`, which ends it
Status read_floats(const std::filesystem::path& path, const Format& format, Executor& executor,
                   const std::function<Status(std::span<const float>)>& take);
Status read_integers(const std::filesystem::path& path, const Format& format, Executor& executor,
                     const std::function<Status(std::span<const std::int64_t>)>& take);
/// The same as bytes of a dtype that columns have; `missing` and `ends` mean nothing here.
Status read_values(const std::filesystem::path& path, const Format& format, DType dtype,
                   Executor& executor,
                   const std::function<Status(std::span<const std::byte>)>& take);

}  // namespace troupe::number_text
