#include "runtime/data/text_lines.hpp"

#include <algorithm>

namespace troupe::text_lines {

std::string_view take_line(std::string_view& rest) {
  const auto end = rest.find('\n');
  auto line = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ' || line.back() == '\t')) {
    line.remove_suffix(1);
  }
  return line;
}

bool is_comment(std::string_view line) {
  while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) {
    line.remove_prefix(1);
  }
  return line.empty() || line.front() == '#' || line.front() == '%' || line.starts_with("//");
}

BadLine bad_line(std::uint64_t number, std::string_view line, std::string what) {
  constexpr std::size_t most = 60;
  std::string text(line.substr(0, most));
  // Also of fields in the message: a zero, as UTF-16 has it, would end what is printed.
  for (auto* shown : {&what, &text}) {
    std::ranges::replace_if(
        *shown, [](char c) { return static_cast<unsigned char>(c) < 32 && c != '\t'; }, '?');
  }
  return {number, std::move(what), text + (line.size() > most ? "..." : "")};
}

std::vector<std::string_view> cut(std::string_view text) {
  std::vector<std::string_view> chunks;
  while (!text.empty()) {
    const auto end = text.find('\n', std::min(chunk_bytes, text.size()) - 1);
    const auto size = end == std::string_view::npos ? text.size() : end + 1;
    chunks.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return chunks;
}

bool pass_header(std::string_view& text, const std::function<bool(std::string_view)>& is_header,
                 std::uint64_t& lines) {
  while (!text.empty()) {
    auto rest = text;
    const auto line = take_line(rest);
    const bool comment = is_comment(line);
    if (!comment && !is_header(line)) {
      return true;
    }
    text = rest;
    ++lines;
    if (!comment) {
      return true;
    }
  }
  return false;
}

}  // namespace troupe::text_lines
