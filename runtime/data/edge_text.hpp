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

/// Where the ids of one end of each edge are, and what they may be.
struct End {
  std::uint32_t column = 0;
  bool text = false;           ///< any text; else numbers
  std::uint64_t first_id = 0;  ///< of numbers: the smallest, which becomes 0
  std::uint64_t end_id = 0;    ///< of numbers: they lie below it
};

struct Format {
  End source = {};
  End destination = {.column = 1};
  std::optional<std::uint32_t> weight_column = {};
  std::optional<std::uint32_t> time_column = {};
  std::vector<LineColumn> columns = {};
  /// Whether anything but ids is read.
  bool values() const { return weight_column || time_column || !columns.empty(); }
  /// Whether ids of any end are text.
  bool names() const { return source.text || destination.text; }
};

/// Whether a line names columns rather than ids: a letter begins where its source should be a
/// number.
/// \requires ids are numbers
bool is_header(std::string_view line, const Format& format);

/// What lies on the edges of some lines: one value each where the format has the column.
struct Values {
  std::vector<float> weights;  ///< finite and at least 0
  std::vector<std::int64_t> times;
  std::vector<std::vector<std::byte>> columns;  ///< As in the format, each as bytes of its dtype
};

/// The ids of one end, either numbers from 0 on or views into the text.
struct EndIds {
  std::vector<std::uint64_t> numbers;
  std::vector<std::string_view> names;
};

/// The edges of some lines.
struct Edges {
  EndIds sources;
  EndIds destinations;
  Values values;
  std::uint64_t count = 0;
  std::uint64_t comments = 0;  ///< lines that begin with #, % or //; counted where ids are text
  std::uint64_t lines = 0;
  std::vector<text_lines::BadLine> bad;  ///< the first one, if any; parsing ended there
};
void parse(std::string_view text, const Format& format, Edges& edges);

}  // namespace troupe::edge_text
