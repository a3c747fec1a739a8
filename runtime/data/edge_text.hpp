#pragma once
/// \file edge_text.hpp
/// Lines of text that say edges: cut into fields and numbers. Used by the importer of edge lists.
#include "runtime/data/named_columns.hpp"
#include "runtime/data/text_lines.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::edge_text {

struct Format {
  std::uint32_t source_column = 0;
  std::uint32_t destination_column = 1;
  std::uint64_t first_id = 0;
  std::uint64_t end_id = 0;  ///< ids lie below it
  std::optional<std::uint32_t> weight_column = {};
  std::optional<std::uint32_t> time_column = {};
  std::vector<LineColumn> columns = {};
};

/// Whether a line names columns rather than ids: a letter begins where its source should be a
/// number.
bool is_header(std::string_view line, const Format& format);

/// What lies on the edges of some lines: one value each where the format has the column.
struct Values {
  std::vector<float> weights;  ///< finite and at least 0
  std::vector<std::int64_t> times;
  std::vector<std::vector<std::byte>> columns;  ///< As in the format, each as bytes of its dtype
};

/// The edges of some lines.
struct Numbers {
  std::vector<std::uint64_t> sources;
  std::vector<std::uint64_t> destinations;
  Values values;
  std::uint64_t lines = 0;
  std::vector<text_lines::BadLine> bad;  ///< the first one, if any; parsing ended there
};
void parse_numbers(std::string_view text, const Format& format, Numbers& numbers);

/// The same with ids as they are written: views into the text.
struct Names {
  std::vector<std::string_view> sources;
  std::vector<std::string_view> destinations;
  Values values;
  std::uint64_t comments = 0;  ///< lines that begin with #, % or //
  std::uint64_t lines = 0;
  std::vector<text_lines::BadLine> bad;
};
void parse_names(std::string_view text, const Format& format, Names& names);

}  // namespace troupe::edge_text
