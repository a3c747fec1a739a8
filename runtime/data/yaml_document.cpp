#include "runtime/data/yaml_document.hpp"

#include "runtime/data/json_document.hpp"
#include "runtime/graph/json_reader.hpp"

#include <charconv>
#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

namespace troupe {
namespace {

using nlohmann::json;

constexpr std::size_t most_values = std::size_t{1} << 20;

json scalar(const YAML::Node& node) {
  const auto& text = node.Scalar();
  if (node.Tag() == "!") {  // quoted
    return text;
  }
  if (text == "true" || text == "false") {
    return text == "true";
  }
  std::uint64_t natural = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), natural);
  if (error == std::errc() && end == text.data() + text.size()) {
    return natural;
  }
  return text;
}

class Conversion {
 public:
  Result<json> convert(const YAML::Node& node, std::size_t depth) {
    if (depth > deepest_json || ++values_ > most_values) {
      return Error(Errc::invalid_argument,
                   fmt::format("expected YAML of at most {} levels and {} values, found more",
                               deepest_json, most_values));
    }
    if (node.IsSequence()) {
      auto list = json::array();
      for (const auto& item : node) {
        TROUPE_ASSIGN_OR_RETURN(auto value, convert(item, depth + 1));
        list.push_back(std::move(value));
      }
      return list;
    }
    if (node.IsMap()) {
      auto object = json::object();
      for (const auto& item : node) {
        if (!item.first.IsScalar() || object.contains(item.first.Scalar())) {
          return Error(Errc::invalid_argument,
                       fmt::format("line {}: expected a key that is text and new in its map",
                                   item.first.Mark().line + 1));
        }
        TROUPE_ASSIGN_OR_RETURN(object[item.first.Scalar()], convert(item.second, depth + 1));
      }
      return object;
    }
    return node.IsScalar() ? scalar(node) : json();
  }

 private:
  std::size_t values_ = 0;
};

}  // namespace

Result<json> read_yaml_document(const std::filesystem::path& file) {
  TROUPE_ASSIGN_OR_RETURN(const auto text, read_document(file));
  try {
    auto document = Conversion().convert(YAML::Load(text), 0);
    return document ? std::move(document) : std::move(document).error().with(file.string());
  } catch (const YAML::Exception& error) {
    return Error(Errc::invalid_argument, fmt::format("{}: expected YAML, found something else: {}",
                                                     file.string(), error.what()));
  }
}

}  // namespace troupe
