#include "runtime/job/json_reader.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <fmt/format.h>

namespace troupe {
namespace {

using Json = nlohmann::json;

/// "[json.exception…] parse error at line 1, column 2: syntax error …" -> "syntax error …".
std::string plain_message(std::string message) {
  for (const char* mark : {"] ", "parse error", ": "}) {
    const auto at = message.find(mark);
    if (at == std::string::npos) {
      break;
    }
    message.erase(0, *mark == 'p' ? at : at + 2);
  }
  return message;
}

std::string place(const std::string& text, std::size_t read) {
  const std::size_t at = std::min(read == 0 ? 0 : read - 1, text.size());
  const auto end = text.begin() + static_cast<std::ptrdiff_t>(at);
  const auto line = 1 + std::count(text.begin(), end, '\n');
  const auto newline = at == 0 ? std::string::npos : text.rfind('\n', at - 1);
  const std::size_t column = newline == std::string::npos ? at + 1 : at - newline;
  return fmt::format("line {}, column {}", line, column);
}

/// Builds the tree from the parser's events. Strings of open containers' keys give pointers of
/// duplicates.
class TreeBuilder : public nlohmann::json_sax<Json> {
 public:
  explicit TreeBuilder(const std::string& text) : text_(text) {}

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(Json::number_integer_t value) override { return put(value); }
  bool number_unsigned(Json::number_unsigned_t value) override { return put(value); }
  bool number_float(Json::number_float_t value, const std::string&) override { return put(value); }
  bool string(std::string& value) override { return put(std::move(value)); }
  bool binary(Json::binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(std::string& name) override {
    Level& level = levels_.back();
    level.key = name;
    level.skip_value = level.value.contains(name);
    if (level.skip_value) {
      duplicates.push_back(pointer());
    }
    return true;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& e) override {
    error = fmt::format("{}: {}", place(text_, position), plain_message(e.what()));
    return false;
  }

  Json root;
  std::vector<std::string> duplicates;
  std::string error;

 private:
  struct Level {
    Json value;
    std::string key;
    bool skip_value = false;
  };

  std::string pointer() const {
    std::string out;
    for (const Level& level : levels_) {
      out += "/" + (level.value.is_object() ? pointer_token(level.key)
                                            : std::to_string(level.value.size()));
    }
    return out;
  }

  bool put(Json value) {
    if (levels_.empty()) {
      root = std::move(value);
      return true;
    }
    Level& level = levels_.back();
    if (level.value.is_array()) {
      level.value.push_back(std::move(value));
    } else if (!level.skip_value) {
      level.value[level.key] = std::move(value);
    }
    return true;
  }

  bool open(Json container) {
    if (levels_.size() >= max_json_depth) {
      error = fmt::format("expected at most {} levels of nesting, found more", max_json_depth);
      return false;
    }
    levels_.push_back({std::move(container), {}, false});
    return true;
  }

  bool close() {
    Json value = std::move(levels_.back().value);
    levels_.pop_back();
    return put(std::move(value));
  }

  const std::string& text_;
  std::vector<Level> levels_;
};

}  // namespace

std::string pointer_token(const std::string& key) {
  std::string out;
  for (const char c : key) {
    out += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  }
  return out;
}

Result<JsonDocument> read_json(const std::string& text) {
  if (text.size() > max_json_bytes) {
    return Error(Errc::invalid_argument, fmt::format("expected JSON of at most {} bytes, found {}",
                                                     max_json_bytes, text.size()));
  }
  TreeBuilder builder(text);
  constexpr bool strict = true;
  constexpr bool ignore_comments = true;
  if (!Json::sax_parse(text, &builder, Json::input_format_t::json, strict, ignore_comments)) {
    return Error(Errc::invalid_argument,
                 fmt::format("expected JSON with comments: {}", builder.error));
  }
  return JsonDocument{std::make_shared<Json>(std::move(builder.root)),
                      std::move(builder.duplicates)};
}

}  // namespace troupe
