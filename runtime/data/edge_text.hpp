#pragma once
/// \file edge_text.hpp
/// Lines of text that say edges: cut into fields and numbers. Used by edgelist_import.cpp only.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::edge_text {

struct Format {
  std::uint32_t source_column = 0;
  std::uint32_t destination_column = 1;
  std::uint64_t first_id = 0;
  std::uint64_t end_id = 0;  ///< ids lie below it
};

/// What is wrong with a line, e.g. "expected a number in column 0".
struct BadLine {
  std::uint64_t line = 0;  ///< in its text, from 0
  std::string what;
  std::string text;  ///< its first characters
};

/// The next line of `rest`, without its end, which is taken off.
std::string_view take_line(std::string_view& rest);
/// Whether a line has no edge: empty, or begins with #, % or //.
bool is_comment(std::string_view line);
/// Whether a line names columns rather than ids: a letter begins where its source should be a
/// number.
bool is_header(std::string_view line, const Format& format);

/// The edges of some lines.
struct Numbers {
  std::vector<std::uint64_t> sources;
  std::vector<std::uint64_t> destinations;
  std::uint64_t lines = 0;
  std::vector<BadLine> bad;  ///< the first one, if any; parsing ended there
};
void parse_numbers(std::string_view text, const Format& format, Numbers& numbers);

/// The same with ids as they are written: views into the text.
struct Names {
  std::vector<std::string_view> sources;
  std::vector<std::string_view> destinations;
  std::uint64_t lines = 0;
  std::vector<BadLine> bad;
};
void parse_names(std::string_view text, const Format& format, Names& names);

}  // namespace troupe::edge_text
