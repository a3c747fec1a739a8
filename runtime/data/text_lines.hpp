#pragma once
/// \file text_lines.hpp
/// Lines of text cut into fields, and files of lines parsed on all cores in order. What the fields
/// mean is said by edge_text.hpp and number_text.hpp.
#include "runtime/base/executor.hpp"
#include "runtime/base/result.hpp"
#include "runtime/data/text_blocks.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::text_lines {

/// The next line of `rest`, without its end and the white space before it; it is taken off.
std::string_view take_line(std::string_view& rest);
/// Whether a line has no data: empty, or begins with #, % or //.
bool is_comment(std::string_view line);
/// Whether a line has nothing in it.
inline bool is_empty(std::string_view line) {
  return line.empty();
}

/// Why a line whose numbers are probably cut at decimal commas is refused.
inline constexpr std::string_view decimal_comma =
    "expected a point in decimal numbers and one separator between columns, found a comma beside "
    "another separator";

/// The fields of one line after the other. Between two are spaces, or one tab with spaces around it,
/// or one comma or semicolon with white space around it.
class Fields {
 public:
  explicit Fields(std::string_view line) : at_(line.data()), end_(line.data() + line.size()) {
    skip_spaces();
  }
  /// Whether the last field was taken.
  bool done() const { return done_; }
  /// Separator after the last field: a space, tab, comma or semicolon; 0: the line's end.
  char separator() const { return separator_; }

  std::string_view next() {
    const char* begin = at_;
    while (at_ != end_ && !is_space(*at_) && !is_mark(*at_)) {
      ++at_;
    }
    const std::string_view field(begin, static_cast<std::size_t>(at_ - begin));
    skip_separator();
    return field;
  }

 private:
  static bool is_space(char c) { return c == ' ' || c == '\t'; }
  static bool is_mark(char c) { return c == ',' || c == ';'; }
  void skip_separator() {
    if (end_ - at_ > 1 && !is_space(at_[1]) && !is_mark(at_[1])) {  // One character: most are
      separator_ = *at_++;
      return;
    }
    skip_spaces();
    const char* const tab = at_;
    skip_white_space();
    done_ = at_ == end_;
    if (done_) {
      separator_ = 0;
    } else if (is_mark(*at_)) {
      separator_ = *at_++;
      skip_white_space();
    } else if (tab != at_) {  // Only the first of several tabs: between two is an empty field
      separator_ = '\t';
      at_ = tab + 1;
      skip_spaces();
    } else {
      separator_ = ' ';
    }
  }
  void skip_spaces() {
    while (at_ != end_ && *at_ == ' ') {
      ++at_;
    }
  }
  void skip_white_space() {
    while (at_ != end_ && is_space(*at_)) {
      ++at_;
    }
  }
  const char* at_;
  const char* end_;
  char separator_ = 0;
  bool done_ = false;
};

/// What is wrong with a line, e.g. "expected a number in column 0".
struct BadLine {
  std::uint64_t line = 0;  ///< in its text, from 0
  std::string what;
  std::string text;  ///< its first characters
};
BadLine bad_line(std::uint64_t number, std::string_view line, std::string what);

/// Calls `take(line)` for every line with data until one does not fit.
/// \param out   gets `lines`, those passed, and `bad`, the one that does not fit
/// \param take  says what is wrong; empty: nothing
/// \param skip  says which lines have no data
template <class Out, class Take, class Skip = bool (*)(std::string_view)>
void for_each_data_line(std::string_view text, Out& out, const Take& take,
                        const Skip& skip = is_comment) {
  out.bad.clear();
  for (out.lines = 0; !text.empty(); ++out.lines) {
    const auto line = take_line(text);
    if (skip(line)) {
      continue;
    }
    if (auto what = take(line); !what.empty()) {
      out.bad.push_back(bad_line(out.lines, line, std::move(what)));
      return;
    }
  }
}

/// Lines that a thread parses at once.
inline constexpr std::size_t chunk_bytes = std::size_t{1} << 20;
/// Pieces of about `chunk_bytes`, each of whole lines.
std::vector<std::string_view> cut(std::string_view text);
/// Takes comments at a file's begin off, then its first line with data if that is a header.
/// \param lines  gets the number of lines taken off
/// \returns whether a line with data was seen
bool pass_header(std::string_view& text, const std::function<bool(std::string_view)>& is_header,
                 std::uint64_t& lines);

/// How the lines of a file are read. `Out` has `lines` and `bad` as for_each_data_line() fills them.
template <class Out>
struct Parser {
  /// Asked for the first line with data; nothing: there is no header, and comments are for `parse`.
  std::function<bool(std::string_view)> is_header;
  std::function<void(std::string_view, Out&)> parse;  ///< some whole lines; on any thread
  std::function<Status(Out&)> take;                   ///< in order, on the caller's thread
  std::string hint;                                   ///< ends the message about a bad line
};

/// Reads a file, plain or compressed, from begin to end.
/// \errors those of for_each_line_block() and `take`; invalid_argument: a bad line, with its number
template <class Out>
Status parse_file(const std::filesystem::path& path, Executor& executor,
                  const Parser<Out>& parser) {
  std::vector<Out> parsed;
  std::uint64_t lines = 0;
  bool begun = !parser.is_header;
  const auto take_block = [&](std::string_view text) -> Status {
    begun = begun || pass_header(text, parser.is_header, lines);
    const auto chunks = cut(text);
    parsed.resize(std::max(parsed.size(), chunks.size()));
    executor.parallel_for(chunks.size(),
                          [&](std::size_t i) { parser.parse(chunks[i], parsed[i]); });
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      const auto& bad = parsed[i].bad;
      if (!bad.empty()) {
        return Error(Errc::invalid_argument,
                     path.string() + ": line " + std::to_string(lines + bad[0].line + 1) + ": " +
                         bad[0].what + ", in \"" + bad[0].text + "\"" + parser.hint);
      }
      TROUPE_RETURN_IF_ERROR(parser.take(parsed[i]));
      lines += parsed[i].lines;
    }
    return ok_status();
  };
  return for_each_line_block(path, chunk_bytes * executor.concurrency(), take_block);
}

}  // namespace troupe::text_lines
