#include "runtime/job/overrides.hpp"

#include "runtime/base/json_text.hpp"
#include "runtime/base/strict_json.hpp"
#include "runtime/job/problems.hpp"
#include "runtime/job/schema.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <fmt/format.h>

namespace troupe {
namespace {

using Json = nlohmann::json;

std::vector<std::string> split_path(const std::string& path) {
  std::vector<std::string> keys;
  std::size_t begin = 0;
  for (auto dot = path.find('.'); dot != std::string::npos; dot = path.find('.', begin)) {
    keys.push_back(path.substr(begin, dot - begin));
    begin = dot + 1;
  }
  keys.push_back(path.substr(begin));
  return keys;
}

bool takes_text(const std::string& pointer) {
  const auto& rows = job_schema();
  const auto row = std::find_if(
      rows.begin(), rows.end(),
      [of_rows = schema_pointer(pointer)](const auto& r) { return r.pointer == of_rows; });
  return row != rows.end() &&
         (row->rule.type == ValueType::text || row->rule.type == ValueType::choice);
}

Json parse_value(const std::string& text, bool wants_text) {
  auto value = read_strict_json(text, job_json_rules);
  return value && (!wants_text || value->is_string()) ? *std::move(value) : Json(text);
}

bool valid_utf8(const std::string& text) {
  const std::string dumped = text_of_json(Json(text));
  return json_of_text(dumped) == text;
}

}  // namespace

std::string override_pointer(const std::string& override_text) {
  std::string pointer;
  for (const auto& key : split_path(override_text.substr(0, override_text.find('=')))) {
    pointer += "/" + pointer_token(key);
  }
  return pointer;
}

std::optional<JobProblem> apply_override(Json& root, const std::string& override_text) {
  constexpr std::size_t most_keys = 8;
  const std::string shown = "--set " + json_text(Json(override_text));
  if (!valid_utf8(override_text)) {
    return JobProblem{"", "UTF-8", shown, ""};
  }
  const auto equals = override_text.find('=');
  const auto keys = split_path(override_text.substr(0, equals));
  const bool has_empty =
      std::any_of(keys.begin(), keys.end(), [](const auto& k) { return k.empty(); });
  if (equals == std::string::npos || has_empty || keys.size() > most_keys) {
    return JobProblem{"", "--set KEY.KEY=VALUE", shown, "try: --set train.epochs=3"};
  }
  Json* place = &root;
  std::string pointer;
  for (const std::string& key : keys) {
    if (!place->is_object()) {
      return JobProblem{pointer, "a section", shown,
                        fmt::format("\"{}\" would be a key inside it", key)};
    }
    pointer += "/" + pointer_token(key);
    const bool last = &key == &keys.back();
    if (!last && !place->contains(key)) {
      (*place)[key] = Json::object();
    }
    place = &(*place)[key];
  }
  *place = parse_value(override_text.substr(equals + 1), takes_text(pointer));
  return std::nullopt;
}

}  // namespace troupe
