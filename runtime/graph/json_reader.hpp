#pragma once
/// \file json_reader.hpp
/// Reading of JSON files that the program wrote, and heterogeneous access to JSON with errors that name file
/// and pointer. For the sources of this folder and of those above it.
#include "runtime/base/json_text.hpp"
#include "runtime/base/result.hpp"
#include "runtime/base/strict_json.hpp"
#include "runtime/graph/store_layout.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <fmt/format.h>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// Deepest nesting of files: code that prints or walks a document calls itself once per level.
inline constexpr std::size_t deepest_json = 64;

/// Largest value of an integer key that has no limit of its own.
inline constexpr std::uint64_t any_integer = std::numeric_limits<std::uint64_t>::max();

/// Reads a file that the program wrote.
/// \errors data_corruption: with `name`
inline Result<nlohmann::json> open_json(std::string_view text, std::string_view name) {
  auto document = read_strict_json(
      text, {.most_bytes = store_layout::largest_json, .most_levels = deepest_json});
  if (!document) {
    return Error(Errc::data_corruption, document.error().what()).with(name);
  }
  return document;
}

/// A value inside a document, with its place for messages. Borrows the document.
class JsonValue {
 public:
  JsonValue(const nlohmann::json& value, std::string place)
      : value_(&value), place_(std::move(place)) {}

  const std::string& place() const { return place_; }
  Error error(std::string_view expected) const {
    auto found = text_of_json(*value_);
    if (found.size() > 60) {
      found = found.substr(0, 60) + "…";
    }
    return Error(Errc::data_corruption,
                 fmt::format("{}: expected {}, found {}", place_, expected, found));
  }

  bool is_null() const { return value_->is_null(); }
  bool has(const std::string& key) const { return value_->is_object() && value_->contains(key); }
  Result<JsonValue> member(const std::string& key) const {
    if (!has(key)) {
      return error(fmt::format("an object with \"{}\"", key));
    }
    return JsonValue((*value_)[key], place_ + "/" + key);
  }

  Result<std::uint64_t> integer(std::uint64_t largest) const {
    if (!value_->is_number_unsigned() || value_->get<std::uint64_t>() > largest) {
      return error(fmt::format("an integer in 0..{}", largest));
    }
    return value_->get<std::uint64_t>();
  }
  Result<double> number() const {
    if (!value_->is_number()) {
      return error("a number");
    }
    return value_->get<double>();
  }
  Result<bool> boolean() const {
    if (!value_->is_boolean()) {
      return error("true or false");
    }
    return value_->get<bool>();
  }
  Result<std::string> string() const {
    if (!value_->is_string()) {
      return error("a string");
    }
    return value_->get<std::string>();
  }
  Result<std::vector<JsonValue>> array() const {
    if (!value_->is_array()) {
      return error("an array");
    }
    std::vector<JsonValue> items;
    items.reserve(value_->size());
    for (std::size_t i = 0; i < value_->size(); ++i) {
      items.emplace_back((*value_)[i], fmt::format("{}/{}", place_, i));
    }
    return items;
  }
  /// The members of an object, in order of their keys.
  struct Member;
  Result<std::vector<Member>> members() const;

  Result<std::uint64_t> integer(const std::string& key, std::uint64_t largest) const {
    TROUPE_ASSIGN_OR_RETURN(const auto value, member(key));
    return value.integer(largest);
  }
  Result<bool> boolean(const std::string& key) const {
    TROUPE_ASSIGN_OR_RETURN(const auto value, member(key));
    return value.boolean();
  }
  Result<std::string> string(const std::string& key) const {
    TROUPE_ASSIGN_OR_RETURN(const auto value, member(key));
    return value.string();
  }
  Result<std::vector<JsonValue>> array(const std::string& key) const {
    TROUPE_ASSIGN_OR_RETURN(const auto value, member(key));
    return value.array();
  }
  Result<std::vector<std::uint64_t>> integers(const std::string& key, std::uint64_t largest) const {
    TROUPE_ASSIGN_OR_RETURN(const auto items, array(key));
    std::vector<std::uint64_t> numbers;
    numbers.reserve(items.size());
    for (const auto& item : items) {
      TROUPE_ASSIGN_OR_RETURN(const auto number, item.integer(largest));
      numbers.push_back(number);
    }
    return numbers;
  }

 private:
  const nlohmann::json* value_;
  std::string place_;
};

struct JsonValue::Member {
  std::string key;
  JsonValue value;
};

inline Result<std::vector<JsonValue::Member>> JsonValue::members() const {
  if (!value_->is_object()) {
    return error("an object");
  }
  std::vector<Member> list;
  for (const auto& item : value_->items()) {
    list.push_back({item.key(), JsonValue(item.value(), place_ + "/" + item.key())});
  }
  return list;
}

}  // namespace troupe
