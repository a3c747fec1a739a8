#pragma once
/// \file schema_fields.hpp
/// Short spellings for the rows of the job file's schema; only for the files that define rows.
#include "runtime/job/schema.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <utility>
#include <vector>

namespace troupe::schema_fields {

using Json = nlohmann::json;

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

inline NotBuilt words(std::vector<std::string> refused, std::string instead) {
  return {std::move(refused), false, false, std::move(instead)};
}
inline NotBuilt all_but_default(std::string instead) {
  return {{}, true, false, std::move(instead)};
}

/// Puts a value into `job.*Section.*Field` as it is.
template <auto Section, auto Field>
void put(const Json& json, Job& job) {
  auto& field = (job.*Section).*Field;
  field = json.get<std::remove_reference_t<decltype(field)>>();
}

}  // namespace troupe::schema_fields
