#include "runtime/base/json_text.hpp"

#include <nlohmann/json.hpp>

namespace troupe {
namespace {

template <class Json>
std::string print(const Json& value, const JsonTextOptions& options) {
  return value.dump(options.indent, ' ', options.ascii, Json::error_handler_t::replace);
}

}  // namespace

nlohmann::json json_of_text(std::string_view text) {
  return nlohmann::json::parse(text, nullptr, false);
}

nlohmann::ordered_json ordered_json_of_text(std::string_view text) {
  return nlohmann::ordered_json::parse(text, nullptr, false);
}

std::string text_of_json(const nlohmann::json& value, const JsonTextOptions& options) {
  return print(value, options);
}

std::string text_of_json(const nlohmann::ordered_json& value, const JsonTextOptions& options) {
  return print(value, options);
}

std::optional<std::string> strict_text_of_json(const nlohmann::ordered_json& value) {
  try {
    return value.dump(1);
  } catch (const nlohmann::ordered_json::type_error&) {
    return std::nullopt;
  }
}

}  // namespace troupe
