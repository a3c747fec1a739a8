#pragma once
/// \file schema_fields.hpp
/// Short spellings for the rows of the job file's schema; only for the files that define rows.
#include "runtime/base/kinds.hpp"
#include "runtime/job/schema.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <utility>
#include <vector>

namespace troupe::schema_fields {

using Json = nlohmann::json;

/// Of a list of names or files by node or edge type.
inline constexpr std::size_t most_listed_types = 4096;

inline Fallback value(std::string json) {
  return {Fallback::Kind::value, std::move(json)};
}
inline Fallback required() {
  return {Fallback::Kind::required, "required"};
}
inline Fallback absent() {
  return {Fallback::Kind::absent, "absent"};
}
inline Fallback derived(std::string how) {
  return {Fallback::Kind::derived, std::move(how)};
}

/// Puts a value into `job.*Section.*Field` as it is.
template <auto Section, auto Field>
void put(const Json& json, Job& job) {
  auto& field = (job.*Section).*Field;
  field = json.get<std::remove_reference_t<decltype(field)>>();
}

/// "a", "a or b", "a, b or c".
inline std::string alternatives(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    text += i == 0 ? "" : i + 1 == words.size() ? " or " : ", ";
    text += words[i];
  }
  return text;
}

/// A key that chooses a row of a table of kinds.
/// \param built  member of a row that is empty (null, no value) where the kind is not built yet
template <class Kinds, class Built>
SchemaRow kind_row(std::string pointer, const Kinds& kinds, Built built, Fallback fallback,
                   std::string meaning) {
  SchemaRow row{std::move(pointer), choice_rule(names_of(kinds)), std::move(fallback),
                std::move(meaning)};
  std::vector<std::string> works;
  for (const auto& kind : kinds) {
    if (static_cast<bool>(kind.*built)) {
      works.push_back(fmt::format("\"{}\"", kind.name));
    } else {
      row.not_built.words.emplace_back(kind.name);
    }
  }
  row.not_built.instead = alternatives(works);
  return row;
}

}  // namespace troupe::schema_fields
