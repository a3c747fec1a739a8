#pragma once
/// \file edge_rows.hpp
/// Edges as pairs of node ids in .npy or text files.
#include "runtime/data/graph_source.hpp"
#include "runtime/data/npy_source.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// Numbers of nodes of the types at an edge type's ends: ids lie below them.
struct EdgeEnds {
  std::uint64_t source = 0;
  std::uint64_t destination = 0;
};

/// How an array of pairs lies: [2, edges], [edges, 2], or either, where [2, 2] is [2, edges] or, with
/// `either_rows_first`, [edges, 2].
enum class PairLayout : std::uint8_t { either, columns, rows, either_rows_first };

struct PairFiles {
  std::vector<std::string> pairs;  ///< relative to the source; one list together
  PairLayout layout = PairLayout::either;
  std::string weights{};           ///< empty: none. One number per edge
  std::string times{};             ///< integers
  std::string_view each = "edge";  ///< for messages: "edge" or "link"
};

/// Opens .npy arrays; checks all but values.
Result<std::unique_ptr<graph_source::EdgeRows>> open_pairs(const npy_source::Source& source,
                                                           const PairFiles& files,
                                                           const EdgeEnds& ends);
/// Opens text, two ids a line.
Result<std::unique_ptr<graph_source::EdgeRows>> open_text_pairs(
    const npy_source::Source& source, const std::vector<std::string>& files, const EdgeEnds& ends);

}  // namespace troupe
