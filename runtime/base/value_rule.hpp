#pragma once
/// \file value_rule.hpp
/// Type and range of one option's value, the check of a JSON value, and both in words.
#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

enum class ValueType : std::uint8_t {
  boolean,
  integer,
  number,
  text,
  choice,              ///< a string, one of `words`
  bytes,               ///< an integer, or a string with a unit
  integer_list,        ///< entries in `low..high`
  number_list,         ///< entries in the number range
  choice_list,         ///< distinct entries, each one of `words`
  hosts,               ///< an integer, or a list of host names
  text_list,           ///< strings
  texts,               ///< a string, or a list of them
  choice_or_boolean,   ///< one of `words`, or a boolean
  choice_or_integer,   ///< one of `words`, or an integer
  choice_or_integers,  ///< one of `words`, or a list of integers in `low..high`
  choice_or_numbers,   ///< one of `words`, or a number_list
  choice_or_room,      ///< one of `words`, a share like "10%", or bytes
  integers_by_name,    ///< an integer_list, or an object with one under each of its names
};

struct NumberRange {
  double low = 0;
  double high = 0;
  bool open_low = false;  ///< low itself is refused, also as float32
  bool open_high = false;
};

struct ValueRule {
  ValueType type = ValueType::boolean;
  std::int64_t low = 0;  ///< integer, bytes, hosts, and entries of lists of integers
  std::uint64_t high = 0;
  NumberRange numbers = {};  ///< number, and entries of lists of numbers
  std::vector<std::string> words = {};
  std::size_t min_items = 0;  ///< entries of a list; bytes of a text, also of each in `texts`
  std::size_t max_items = 0;
};

ValueRule boolean_rule();
ValueRule integer_rule(std::int64_t low, std::uint64_t high);
ValueRule number_rule(NumberRange range);
ValueRule text_rule(std::size_t min_bytes);
ValueRule choice_rule(std::vector<std::string> words);
ValueRule choice_or_boolean_rule(std::vector<std::string> words);
ValueRule choice_or_integer_rule(std::vector<std::string> words, ValueRule integer);
ValueRule bytes_rule(std::uint64_t low, std::uint64_t high);
/// Bytes in a range, a share of all, or a word.
ValueRule choice_or_room_rule(std::vector<std::string> words, std::uint64_t low,
                              std::uint64_t high);

/// "integer", "list of numbers", …
std::string type_text(const ValueRule& rule);
/// "1..1024", "\"new\" | \"all\"", "> 0, <= 1000", …; empty if every value of the type will do.
std::string range_text(const ValueRule& rule);
/// Type and range in one phrase.
std::string expected_text(const ValueRule& rule);
bool fits(const ValueRule& rule, const nlohmann::json& value);

/// Bytes from 67108864, "64MB" (10^6) or "64MiB" (2^20); units B, K, M, G, T. None if it is neither
/// or overflows.
std::optional<std::uint64_t> parse_bytes(const nlohmann::json& value);

/// A share of 1 from "10%" or "2.5%", at most "100%". None if it is none.
std::optional<double> parse_share(const nlohmann::json& value);

}  // namespace troupe
