#include "runtime/data/edge_text.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace troupe::edge_text {
namespace {

bool is_space(char c) {
  return c == ' ' || c == '\t';
}
bool is_mark(char c) {
  return c == ',' || c == ';';
}

/// The fields of one column after the other. Between two is white space, or one comma or semicolon
/// with white space around it.
class Fields {
 public:
  explicit Fields(std::string_view line) : at_(line.data()), end_(line.data() + line.size()) {
    skip_space();
  }
  bool done() const { return done_; }

  std::string_view next() {
    const char* begin = at_;
    while (at_ != end_ && !is_space(*at_) && !is_mark(*at_)) {
      ++at_;
    }
    const std::string_view field(begin, static_cast<std::size_t>(at_ - begin));
    skip_space();
    if (at_ == end_) {
      done_ = true;
    } else if (is_mark(*at_)) {
      ++at_;
      skip_space();
    }
    return field;
  }

 private:
  void skip_space() {
    while (at_ != end_ && is_space(*at_)) {
      ++at_;
    }
  }
  const char* at_;
  const char* end_;
  bool done_ = false;
};

struct Ends {
  std::string_view source;
  std::string_view destination;
  bool whole = false;  ///< both columns are there
};

Ends ends_of(std::string_view line, const Format& format) {
  Ends ends;
  Fields fields(line);
  const auto last = std::max(format.source_column, format.destination_column);
  for (std::uint32_t column = 0; column <= last; ++column) {
    if (fields.done()) {
      return ends;
    }
    const auto field = fields.next();
    if (column == format.source_column) {
      ends.source = field;
    }
    if (column == format.destination_column) {
      ends.destination = field;
    }
  }
  ends.whole = !ends.source.empty() && !ends.destination.empty();
  return ends;
}

BadLine bad_line(std::uint64_t number, std::string_view line, std::string what) {
  constexpr std::size_t most = 60;
  std::string text(line.substr(0, most));
  std::ranges::replace_if(
      text, [](char c) { return static_cast<unsigned char>(c) < 32 && c != '\t'; }, '?');
  return {number, std::move(what), text + (line.size() > most ? "..." : "")};
}

std::string missing_columns(const Format& format) {
  return fmt::format("expected ids in columns {} and {} (counted from 0)", format.source_column,
                     format.destination_column);
}

/// Reads an id. \returns why not; empty: it was read
std::string read_id(std::string_view field, const Format& format, std::uint64_t& id) {
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), id);
  if (error == std::errc() && end == field.data() + field.size() && id >= format.first_id &&
      id < format.end_id) {
    id -= format.first_id;
    return {};
  }
  return fmt::format("expected a number from {} to {}, got \"{}\"", format.first_id,
                     format.end_id - 1, field.substr(0, 60));
}

/// Calls `take(line)` for every line with an edge until one does not fit.
/// \param take  says what is wrong; empty: nothing
template <class Out, class Take>
void for_each_edge_line(std::string_view text, Out& out, const Take& take) {
  out.sources.clear();
  out.destinations.clear();
  out.bad.clear();
  for (out.lines = 0; !text.empty(); ++out.lines) {
    const auto line = take_line(text);
    if (is_comment(line)) {
      continue;
    }
    if (auto what = take(line); !what.empty()) {
      out.bad.push_back(bad_line(out.lines, line, std::move(what)));
      return;
    }
  }
}

}  // namespace

std::string_view take_line(std::string_view& rest) {
  const auto end = rest.find('\n');
  auto line = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  while (!line.empty() && (line.back() == '\r' || is_space(line.back()))) {
    line.remove_suffix(1);
  }
  return line;
}

bool is_comment(std::string_view line) {
  while (!line.empty() && is_space(line.front())) {
    line.remove_prefix(1);
  }
  return line.empty() || line.front() == '#' || line.front() == '%' || line.starts_with("//");
}

bool is_header(std::string_view line, const Format& format) {
  const auto ends = ends_of(line, format);
  const auto first = ends.source.empty() ? '0' : ends.source.front();
  return (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z') || first == '_' ||
         first == '"';
}

void parse_numbers(std::string_view text, const Format& format, Numbers& numbers) {
  for_each_edge_line(text, numbers, [&](std::string_view line) -> std::string {
    const auto ends = ends_of(line, format);
    if (!ends.whole) {
      return missing_columns(format);
    }
    std::uint64_t source = 0;
    std::uint64_t destination = 0;
    auto what = read_id(ends.source, format, source);
    if (what.empty()) {
      what = read_id(ends.destination, format, destination);
    }
    numbers.sources.push_back(source);
    numbers.destinations.push_back(destination);
    return what;
  });
}

void parse_names(std::string_view text, const Format& format, Names& names) {
  for_each_edge_line(text, names, [&](std::string_view line) -> std::string {
    const auto ends = ends_of(line, format);
    if (!ends.whole) {
      return missing_columns(format);
    }
    names.sources.push_back(ends.source);
    names.destinations.push_back(ends.destination);
    return {};
  });
}

}  // namespace troupe::edge_text
