#include "runtime/base/strict_json.hpp"

#include "runtime/base/cut_text.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <fmt/format.h>

namespace troupe {
namespace {

/// Text of a message, as long as a message may be.
std::string cut(std::string_view text) {
  constexpr std::size_t most = 400;
  return fmt::format("{}{}", cut_text(text, most), text.size() > most ? "…" : "");
}

/// "[json.exception…] parse error at line 1, column 2: syntax error …" -> "syntax error …".
std::string plain_message(std::string message) {
  for (const char* mark : {"] ", "parse error", ": "}) {
    const auto at = message.find(mark);
    if (at == std::string::npos) {
      break;
    }
    message.erase(0, *mark == 'p' ? at : at + 2);
  }
  return cut(message);
}

/// Line and column of the last of `read` bytes.
std::string place(std::string_view text, std::size_t read) {
  const auto before = text.substr(0, std::min(read == 0 ? 0 : read - 1, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const auto newline = before.rfind('\n');
  const auto column = before.size() - (newline == std::string_view::npos ? 0 : newline + 1) + 1;
  return fmt::format("line {}, column {}", line, column);
}

/// Builds the tree from the parser's events.
class TreeBuilder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  using Json = nlohmann::json;

  TreeBuilder(std::string_view text, const JsonRules& rules, std::vector<std::string>* repeated)
      : text_(text), rules_(rules), repeated_(repeated) {}

  Result<Json> build() {
    constexpr bool whole_text = true;
    const bool done = Json::sax_parse(text_.begin(), text_.end(), this, Json::input_format_t::json,
                                      whole_text, rules_.comments);
    // The parser takes a NUL byte for the end of the text.
    if (const auto nul = text_.find('\0'); done && nul != std::string_view::npos) {
      syntax_error(nul + 1, "a NUL byte");
    }
    return problem_.empty() ? Result<Json>(std::move(root_))
                            : Error(Errc::invalid_argument, std::move(problem_));
  }

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override { return put(value); }
  bool number_float(number_float_t value, const string_t&) override { return put(value); }
  bool string(string_t& value) override { return put(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    Level& level = levels_.back();
    level.key = name;
    level.skip_value = level.value.contains(name);
    if (!level.skip_value) {
      return true;
    }
    auto path = pointer();
    repeated_bytes_ += path.size();
    if (repeated_ == nullptr || repeated_bytes_ > rules_.most_bytes) {
      problem_ = fmt::format("expected each key once, found {} twice", cut(path));
      return false;
    }
    repeated_->push_back(std::move(path));
    return true;
  }

  bool parse_error(std::size_t read, const std::string&,
                   const nlohmann::detail::exception& e) override {
    syntax_error(read, plain_message(e.what()));
    return false;
  }

 private:
  struct Level {
    Json value;
    std::string key;
    bool skip_value = false;
  };

  void syntax_error(std::size_t read, std::string_view what) {
    problem_ = fmt::format("expected JSON{}: {}: {}", rules_.comments ? " with comments" : "",
                           place(text_, read), what);
  }

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
      root_ = std::move(value);
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
    if (levels_.size() == rules_.most_levels) {
      problem_ = fmt::format("expected JSON of at most {} levels of nesting, found more",
                             rules_.most_levels);
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

  std::string_view text_;
  const JsonRules& rules_;
  std::vector<std::string>* repeated_;
  std::size_t repeated_bytes_ = 0;
  Json root_;
  std::vector<Level> levels_;
  std::string problem_;
};

}  // namespace

Result<nlohmann::json> read_strict_json(std::string_view text, const JsonRules& rules,
                                        std::vector<std::string>* repeated) {
  if (text.size() > rules.most_bytes) {
    return Error(Errc::invalid_argument, fmt::format("expected JSON of at most {} bytes, found {}",
                                                     rules.most_bytes, text.size()));
  }
  return TreeBuilder(text, rules, repeated).build();
}

std::string pointer_token(const std::string& key) {
  std::string out;
  for (const char c : key) {
    out += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  }
  return out;
}

}  // namespace troupe
