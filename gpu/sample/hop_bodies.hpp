#pragma once
/// \file hop_bodies.hpp
/// Kernel bodies of one hop along one edge type: how many entries of each list are taken, which ones
/// (the positions of runtime/sample/choice/uniform.cpp), and which nodes they lead to.
#include "gpu/base/shared.hpp"
#include "gpu/sample/number_bodies.hpp"
#include "runtime/base/philox.hpp"

#include <cstddef>
#include <cstdint>

namespace troupe::gpu {

/// How many entries of a list a hop takes.
struct ListRule {
  std::uint32_t fanout = 0;
  bool all = false;  ///< Every entry, whatever the fanout
  bool replace = false;

  TROUPE_HD std::uint32_t count(std::uint64_t degree) const {
    const bool whole = degree == 0 || all || (!replace && degree <= fanout);
    return whole ? static_cast<std::uint32_t>(degree) : fanout;
  }
  /// Whether entries are taken as they lie. \param count  taken of a list
  TROUPE_HD bool whole(std::uint64_t degree, std::uint32_t count) const {
    return (all || !replace) && count == degree;
  }
};

/// Nodes whose neighbors a hop asks for: a row each. The host may know only a bound of their number.
struct HopRows {
  const std::uint64_t* nodes;    ///< [rows] global ids
  const std::uint64_t* offsets;  ///< Of the lists of all nodes
  std::uint32_t first;           ///< Batch-local index of the first row's node
  const std::uint32_t* end;      ///< On the device: nodes of the type

  TROUPE_HD bool has(std::size_t row) const { return first + row < *end; }
  TROUPE_HD std::uint64_t begin(std::size_t row) const { return offsets[nodes[row]]; }
  TROUPE_HD std::uint64_t degree(std::size_t row) const {
    return offsets[nodes[row] + 1] - offsets[nodes[row]];
  }
};

/// counts[row] = entries taken of its list.
struct CountRow {
  HopRows rows;
  ListRule rule;
  std::uint32_t* counts;

  TROUPE_HD void operator()(std::size_t row) const {
    counts[row] = rows.has(row) ? rule.count(rows.degree(row)) : 0;
  }
};

/// Adds up counts where their sum may need more than 32 bits.
struct AddUpCount {
  const std::uint32_t* counts;
  std::uint64_t* sum;

  TROUPE_HD void operator()(std::size_t row) const {
    if (counts[row] > 0) {
      AtomicRef<std::uint64_t>(*sum).fetch_add(counts[row], relaxed);
    }
  }
};

/// Adds a position to sorted ones. \param out  has room for one more than `count`
TROUPE_HD inline void insert_sorted(std::uint32_t position, std::uint32_t count,
                                    std::uint32_t* out) {
  std::uint32_t at = count;
  for (; at > 0 && out[at - 1] > position; --at) {
    out[at] = out[at - 1];
  }
  out[at] = position;
}

/// Floyd's algorithm: j runs over the last `count` positions and t over [0, j]; j is above all that
/// were taken before it.
TROUPE_HD inline void draw_distinct(DrawStream& stream, std::uint32_t degree, std::uint32_t count,
                                    std::uint32_t* out) {
  std::uint32_t j = degree - count;
  for (std::uint32_t taken = 0; taken < count; ++taken, ++j) {
    const std::uint32_t t = stream.below(j + 1);
    std::uint32_t at = taken;
    while (at > 0 && out[at - 1] > t) {
      --at;
    }
    if (at > 0 && out[at - 1] == t) {
      out[taken] = j;
      continue;
    }
    for (std::uint32_t k = taken; k > at; --k) {
      out[k] = out[k - 1];
    }
    out[at] = t;
  }
}

/// Where rows draw from, and where their positions go.
struct RowDraws {
  StreamKey key;
  const std::uint64_t* original_ids;
  const std::uint32_t* row_offsets;  ///< [rows + 1]
  std::uint32_t* positions;          ///< [edges]

  TROUPE_HD DrawStream stream(std::uint64_t node) const {
    return DrawStream(key, original_ids[node]);
  }
  TROUPE_HD std::uint32_t count(std::size_t row) const {
    return row_offsets[row + 1] - row_offsets[row];
  }
  TROUPE_HD std::uint32_t* out(std::size_t row) const { return positions + row_offsets[row]; }
};

/// Draws the positions taken of a row's list, ascending, where it is not taken whole. They are sorted in
/// place in the output: no array of a thread's own, which would lie in slow memory.
struct DrawRow {
  HopRows rows;
  ListRule rule;
  RowDraws draws;

  TROUPE_HD void operator()(std::size_t row) const {
    const auto degree = static_cast<std::uint32_t>(rows.degree(row));
    const std::uint32_t count = draws.count(row);
    if (rule.whole(degree, count)) {
      return;
    }
    std::uint32_t* const out = draws.out(row);
    DrawStream stream = draws.stream(rows.nodes[row]);
    if (!rule.replace) {
      draw_distinct(stream, degree, count, out);
      return;
    }
    for (std::uint32_t taken = 0; taken < count; ++taken) {
      insert_sorted(stream.below(degree), taken, out);
    }
  }
};

/// The row that an edge is of. \param row_offsets  [rows + 1], with row_offsets[rows] > edge
TROUPE_HD inline std::size_t row_of_edge(const std::uint32_t* row_offsets, std::size_t rows,
                                         std::size_t edge) {
  std::size_t first = 0;
  std::size_t left = rows;
  while (left > 0) {
    const std::size_t half = left / 2;
    if (row_offsets[first + half + 1] <= edge) {
      first += half + 1;
      left -= half + 1;
    } else {
      left = half;
    }
  }
  return first;
}

/// Finds an edge's entry and puts the neighbor into the table, as a candidate. A call per edge: long
/// lists are spread over many threads.
template <class Id, class Table>
struct TakeEntry {
  HopRows rows;
  ListRule rule;
  const std::uint32_t* row_offsets;
  std::size_t num_rows;
  const Id* neighbours;  ///< Of all lists
  Table table;
  CandidateSlice slice;    ///< Positions become slots
  std::uint64_t* entries;  ///< [edges] are written; or null

  TROUPE_HD void operator()(std::size_t edge) const {
    const std::size_t row = row_of_edge(row_offsets, num_rows, edge);
    const std::uint32_t before = row_offsets[row];
    const bool whole = rule.whole(rows.degree(row), row_offsets[row + 1] - before);
    const std::uint64_t entry =
        rows.begin(row) + (whole ? edge - before : std::size_t{slice.slots[edge]});
    if (entries != nullptr) {
      entries[edge] = entry;
    }
    const std::uint32_t place = slice.first + static_cast<std::uint32_t>(edge);
    slice.slots[edge] = table.insert(neighbours[entry], candidate_bit | place);
  }
};

/// to[i] = values[entries[i]].
template <class T>
struct TakeDatum {
  const T* values;
  const std::uint64_t* entries;
  T* to;

  TROUPE_HD void operator()(std::size_t i) const { to[i] = values[entries[i]]; }
};

/// Offsets of a hop's rows among those of all hops.
struct PlaceOffset {
  const std::uint32_t* row_offsets;  ///< [rows + 1] of the hop; null: no row has edges
  std::uint32_t edges_before;        ///< Of earlier hops
  std::uint32_t* offsets;            ///< [rows] ends of the rows

  TROUPE_HD void operator()(std::size_t row) const {
    offsets[row] = edges_before + (row_offsets == nullptr ? 0 : row_offsets[row + 1]);
  }
};

}  // namespace troupe::gpu
