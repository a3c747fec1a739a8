#include "runtime/base/value_rule.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>

namespace troupe {
namespace {

using Json = nlohmann::json;

constexpr std::size_t longest_text = 4096;
constexpr std::size_t most_names = 65536;  // as many as there can be edge types

bool integer_fits(const Json& value, std::int64_t low, std::uint64_t high) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    return number <= high && (low <= 0 || number >= static_cast<std::uint64_t>(low));
  }
  if (!value.is_number_integer()) {
    return false;
  }
  const auto number = value.get<std::int64_t>();
  return number >= low && (number < 0 || static_cast<std::uint64_t>(number) <= high);
}

bool number_fits(const Json& value, const NumberRange& range) {
  if (!value.is_number()) {
    return false;
  }
  const auto number = value.get<double>();
  const auto narrow = static_cast<float>(number);
  return number >= range.low && number <= range.high &&
         !(range.open_low && narrow <= static_cast<float>(range.low)) &&
         !(range.open_high && narrow >= static_cast<float>(range.high));
}

/// Control characters are never meant, and a zero byte would cut a path short.
bool text_fits(const Json& value, std::size_t min_bytes, std::size_t max_bytes) {
  const auto* text = value.get_ptr<const std::string*>();
  return text != nullptr && text->size() >= min_bytes && text->size() <= max_bytes &&
         std::none_of(text->begin(), text->end(),
                      [](char c) { return static_cast<unsigned char>(c) < 0x20; });
}

bool choice_fits(const Json& value, const std::vector<std::string>& words) {
  const auto* text = value.get_ptr<const std::string*>();
  return text != nullptr && std::find(words.begin(), words.end(), *text) != words.end();
}

template <class Fits>
bool list_fits(const ValueRule& rule, const Json& value, Fits fits_one) {
  return value.is_array() && value.size() >= rule.min_items && value.size() <= rule.max_items &&
         std::all_of(value.begin(), value.end(), fits_one);
}

/// An object without entries, or with too many or a name that no file could have, does not fit.
bool integers_by_name_fit(const ValueRule& rule, const Json& value) {
  ValueRule one = rule;
  one.type = ValueType::integer_list;
  if (!value.is_object()) {
    return fits(one, value);
  }
  bool good = !value.empty() && value.size() <= most_names;
  for (const auto& [name, list] : value.items()) {
    good = good && text_fits(Json(name), 1, longest_text) && fits(one, list);
  }
  return good;
}

bool distinct(const Json& list) {
  return std::set<Json>(list.begin(), list.end()).size() == list.size();
}

std::string power_text(std::uint64_t value) {
  for (unsigned bits = 17; bits < 64; ++bits) {
    if (value == std::uint64_t{1} << bits) {
      return fmt::format("2^{}", bits);
    }
  }
  return value == ~std::uint64_t{0} ? "2^64-1" : std::to_string(value);
}

std::string integer_range(const ValueRule& rule) {
  return fmt::format("{}..{}", rule.low, power_text(rule.high));
}

std::string number_range(const NumberRange& range) {
  return fmt::format("{} {}, {} {}", range.open_low ? ">" : ">=", range.low,
                     range.open_high ? "<" : "<=", range.high);
}

std::string quoted_words(const std::vector<std::string>& words) {
  std::vector<std::string> quoted;
  quoted.reserve(words.size());
  for (const std::string& word : words) {
    quoted.push_back('"' + word + '"');
  }
  return fmt::format("{}", fmt::join(quoted, " | "));
}

std::string items_range(const ValueRule& rule) {
  return rule.min_items == rule.max_items
             ? fmt::format("{} entries", rule.min_items)
             : fmt::format("{}..{} entries", rule.min_items, rule.max_items);
}

}  // namespace

ValueRule boolean_rule() {
  return {.type = ValueType::boolean};
}

ValueRule integer_rule(std::int64_t low, std::uint64_t high) {
  return {.type = ValueType::integer, .low = low, .high = high};
}

ValueRule number_rule(NumberRange range) {
  return {.type = ValueType::number, .numbers = range};
}

ValueRule text_rule(std::size_t min_bytes) {
  return {.type = ValueType::text, .min_items = min_bytes, .max_items = longest_text};
}

ValueRule choice_rule(std::vector<std::string> words) {
  return {.type = ValueType::choice, .words = std::move(words)};
}

ValueRule choice_or_boolean_rule(std::vector<std::string> words) {
  return {.type = ValueType::choice_or_boolean, .words = std::move(words)};
}

ValueRule choice_or_integer_rule(std::vector<std::string> words, ValueRule integer) {
  integer.type = ValueType::choice_or_integer;
  integer.words = std::move(words);
  return integer;
}

ValueRule bytes_rule(std::uint64_t low, std::uint64_t high) {
  return {.type = ValueType::bytes, .low = static_cast<std::int64_t>(low), .high = high};
}

ValueRule choice_or_room_rule(std::vector<std::string> words, std::uint64_t low,
                              std::uint64_t high) {
  ValueRule rule = bytes_rule(low, high);
  rule.type = ValueType::choice_or_room;
  rule.words = std::move(words);
  return rule;
}

std::string type_text(const ValueRule& rule) {
  switch (rule.type) {
    case ValueType::boolean:
      return "boolean";
    case ValueType::integer:
      return "integer";
    case ValueType::number:
      return "number";
    case ValueType::text:
    case ValueType::choice:
      return "string";
    case ValueType::bytes:
      return "bytes";
    case ValueType::integer_list:
      return "list of integers";
    case ValueType::number_list:
      return "list of numbers";
    case ValueType::choice_list:
    case ValueType::text_list:
      return "list of strings";
    case ValueType::texts:
      return "string, or a list of them";
    case ValueType::hosts:
      return "integer or list of strings";
    case ValueType::choice_or_boolean:
      return "string or boolean";
    case ValueType::choice_or_integer:
      return "string or integer";
    case ValueType::choice_or_integers:
      return "string or list of integers";
    case ValueType::choice_or_numbers:
      return "string or list of numbers";
    case ValueType::choice_or_room:
      return "bytes or share";
    case ValueType::integers_by_name:
      return "list of integers, or an object of them";
  }
  return "";
}

std::string range_text(const ValueRule& rule) {
  switch (rule.type) {
    case ValueType::boolean:
      return "";
    case ValueType::integer:
    case ValueType::bytes:
      return integer_range(rule);
    case ValueType::number:
      return number_range(rule.numbers);
    case ValueType::text:
      return fmt::format("{}..{} bytes, no control characters", rule.min_items, rule.max_items);
    case ValueType::choice:
      return quoted_words(rule.words);
    case ValueType::integer_list:
    case ValueType::integers_by_name:
      return fmt::format("{}, each {}", items_range(rule), integer_range(rule));
    case ValueType::number_list:
      return fmt::format("{}, each {}", items_range(rule), number_range(rule.numbers));
    case ValueType::choice_list:
      return fmt::format("distinct, each {}", quoted_words(rule.words));
    case ValueType::text_list:
      return fmt::format("at most {} entries", rule.max_items);
    case ValueType::texts:
      return fmt::format("{}..{} bytes each, at most {} entries", rule.min_items, longest_text,
                         rule.max_items);
    case ValueType::hosts:
      return fmt::format("{}, or as many names", integer_range(rule));
    case ValueType::choice_or_boolean:
      return quoted_words(rule.words) + " | true | false";
    case ValueType::choice_or_integer:
      return fmt::format("{} | {}", quoted_words(rule.words), integer_range(rule));
    case ValueType::choice_or_integers:
      return fmt::format("{}, or {}, each {}", quoted_words(rule.words), items_range(rule),
                         integer_range(rule));
    case ValueType::choice_or_numbers:
      return fmt::format("{}, or {}, each {}", quoted_words(rule.words), items_range(rule),
                         number_range(rule.numbers));
    case ValueType::choice_or_room:
      return fmt::format("{} | {} | \"0%\"..\"100%\"", quoted_words(rule.words),
                         integer_range(rule));
  }
  return "";
}

std::string expected_text(const ValueRule& rule) {
  std::string range = range_text(rule);
  if (rule.type == ValueType::choice || rule.type == ValueType::choice_or_boolean) {
    return range;
  }
  const bool bytes = rule.type == ValueType::bytes || rule.type == ValueType::choice_or_room;
  const std::string unit = bytes ? " (a number, or \"64MB\", \"64MiB\")" : "";
  return type_text(rule) + unit + (range.empty() ? "" : ", " + range);
}

bool fits(const ValueRule& rule, const Json& value) {
  const auto word_fits = [&](const Json& v) { return choice_fits(v, rule.words); };
  const auto whole_fits = [&](const Json& v) { return integer_fits(v, rule.low, rule.high); };
  const auto bytes_fit = [&](const Json& v) {
    const auto bytes = parse_bytes(v);
    return bytes.has_value() && whole_fits(Json(*bytes));
  };
  const auto number_fits_range = [&](const Json& v) { return number_fits(v, rule.numbers); };
  switch (rule.type) {
    case ValueType::boolean:
      return value.is_boolean();
    case ValueType::integer:
      return whole_fits(value);
    case ValueType::number:
      return number_fits(value, rule.numbers);
    case ValueType::text:
      return text_fits(value, rule.min_items, rule.max_items);
    case ValueType::choice:
      return word_fits(value);
    case ValueType::choice_or_boolean:
      return value.is_boolean() || word_fits(value);
    case ValueType::bytes:
      return bytes_fit(value);
    case ValueType::choice_or_room:
      return word_fits(value) || parse_share(value).has_value() || bytes_fit(value);
    case ValueType::integer_list:
      return list_fits(rule, value, whole_fits);
    case ValueType::number_list:
      return list_fits(rule, value, number_fits_range);
    case ValueType::choice_list:
      return list_fits(rule, value, word_fits) && distinct(value);
    case ValueType::text_list:
      return list_fits(rule, value, [](const Json& v) { return text_fits(v, 1, longest_text); });
    case ValueType::texts:
      return text_fits(value, rule.min_items, longest_text) ||
             list_fits(rule, value,
                       [&](const Json& v) { return text_fits(v, rule.min_items, longest_text); });
    case ValueType::hosts:
      return whole_fits(value) ||
             list_fits(rule, value, [](const Json& v) { return text_fits(v, 1, 1024); });
    case ValueType::choice_or_integer:
      return word_fits(value) || whole_fits(value);
    case ValueType::choice_or_integers:
      return word_fits(value) || list_fits(rule, value, whole_fits);
    case ValueType::choice_or_numbers:
      return word_fits(value) || list_fits(rule, value, number_fits_range);
    case ValueType::integers_by_name:
      return integers_by_name_fit(rule, value);
  }
  return false;
}

std::optional<double> parse_share(const Json& value) {
  const auto* text = value.get_ptr<const std::string*>();
  if (text == nullptr || !text->ends_with('%')) {
    return std::nullopt;
  }
  double percent = -1;
  const char* const end = text->data() + text->size() - 1;
  const auto [rest, problem] =
      std::from_chars(text->data(), end, percent, std::chars_format::fixed);
  const bool good = problem == std::errc{} && rest == end && percent >= 0 && percent <= 100;
  return good ? std::optional(percent / 100) : std::nullopt;
}

std::optional<std::uint64_t> parse_bytes(const Json& value) {
  if (value.is_number_unsigned()) {
    return value.get<std::uint64_t>();
  }
  const auto* text = value.get_ptr<const std::string*>();
  if (text == nullptr) {
    return std::nullopt;
  }
  std::uint64_t count = 0;
  const char* const end = text->data() + text->size();
  const auto [rest, problem] = std::from_chars(text->data(), end, count);
  if (problem != std::errc{}) {
    return std::nullopt;
  }
  std::string unit(rest, end);
  unit.erase(0, unit.starts_with(' ') ? 1 : 0);
  unit = unit == "kB" ? "KB" : unit;  // as SI writes it
  static constexpr const char* letters = "KMGT";
  std::uint64_t factor = 1;
  for (const char* letter = letters; *letter != '\0'; ++letter) {
    const bool binary = unit == std::string(1, *letter) + "iB";
    if (binary || unit == std::string(1, *letter) + "B") {
      for (const char* step = letters; step <= letter; ++step) {
        factor *= binary ? 1024 : 1000;
      }
    }
  }
  std::uint64_t bytes = 0;
  const bool known = factor != 1 || unit == "B";
  if (!known || __builtin_mul_overflow(count, factor, &bytes)) {
    return std::nullopt;
  }
  return bytes;
}

}  // namespace troupe
