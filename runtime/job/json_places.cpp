#include "runtime/job/json_places.hpp"

#include "runtime/base/json_text.hpp"
#include "runtime/base/strict_json.hpp"

#include <nlohmann/json.hpp>

#include <utility>

namespace troupe {
namespace {

/// Reads one token after the other, counting lines.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  bool at_end() const { return at_ >= text_.size(); }
  char next() const { return at_end() ? '\0' : text_[at_]; }
  TextPlace place() const { return {line_, at_ - line_begin_ + 1}; }

  void step() {
    if (next() == '\n') {
      ++line_;
      line_begin_ = at_ + 1;
    }
    ++at_;
  }
  /// Past white space and comments.
  void skip_gap() {
    for (;;) {
      if (text_.substr(at_).starts_with("//")) {
        while (!at_end() && next() != '\n') {
          step();
        }
      } else if (text_.substr(at_).starts_with("/*")) {
        const auto end = text_.find("*/", at_ + 2);
        while (!at_end() && at_ < end) {
          step();
        }
        step();
        step();
      } else if (!at_end() && std::string_view(" \t\r\n").find(next()) != std::string_view::npos) {
        step();
      } else {
        return;
      }
    }
  }
  /// Past a string, number or word. \returns its text
  std::string_view token() {
    const auto begin = at_;
    if (next() == '"') {
      step();
      while (!at_end() && next() != '"') {
        if (next() == '\\') {
          step();
        }
        step();
      }
      step();
    } else {
      while (!at_end() &&
             std::string_view(" \t\r\n,:[]{}/").find(next()) == std::string_view::npos) {
        step();
      }
    }
    return text_.substr(begin, at_ - begin);
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  std::size_t line_begin_ = 0;
};

/// Longest pointer of a member that is kept: longer than those of all keys of a job.
constexpr std::size_t longest_place = 1024;

/// Recursion is as deep as the text, which job_json_rules bounds.
class PlaceFinder {
 public:
  explicit PlaceFinder(std::string_view text) : in_(text) {}

  std::map<std::string, JsonPlace> find() {
    in_.skip_gap();
    value("", true);
    return std::move(places_);
  }

 private:
  /// \param listed  places inside are kept
  void value(const std::string& pointer, bool listed) {
    if (in_.next() == '{') {
      object(pointer, listed);
    } else if (in_.next() == '[') {
      list();
    } else {
      in_.token();
    }
  }

  void object(const std::string& pointer, bool listed) {
    in_.step();
    for (in_.skip_gap(); !in_.at_end() && in_.next() != '}'; in_.skip_gap()) {
      if (in_.next() == ',') {
        in_.step();
        continue;
      }
      JsonPlace place{in_.place(), {}};
      const auto name = json_of_text(in_.token());
      in_.skip_gap();
      in_.step();  // the colon
      in_.skip_gap();
      place.value = in_.place();
      const auto key = name.is_string() ? name.get<std::string>() : "";
      const auto member = pointer + "/" + pointer_token(key);
      const bool kept = listed && member.size() <= longest_place;
      if (kept) {
        places_.try_emplace(member, place).first->second.key = place.key;
      }
      value(member, kept);
    }
    in_.step();
  }

  void list() {
    in_.step();
    for (in_.skip_gap(); !in_.at_end() && in_.next() != ']'; in_.skip_gap()) {
      if (in_.next() == ',') {
        in_.step();
      } else {
        value("", false);
      }
    }
    in_.step();
  }

  Scanner in_;
  std::map<std::string, JsonPlace> places_;
};

}  // namespace

std::map<std::string, JsonPlace> json_places(std::string_view text) {
  constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
  text.remove_prefix(text.starts_with(byte_order_mark) ? byte_order_mark.size() : 0);
  return PlaceFinder(text).find();
}

}  // namespace troupe
