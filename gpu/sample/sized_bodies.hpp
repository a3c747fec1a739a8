#pragma once
/// \file sized_bodies.hpp
/// Kernel bodies of a batch whose sizes the device alone knows (one_trip.hpp). They are launched for
/// as many elements as there is room for, read the sizes, and call the bodies of hop_bodies.hpp and
/// number_bodies.hpp for the elements that there are.
#include "gpu/base/shared.hpp"
#include "gpu/sample/draw_few.hpp"
#include "gpu/sample/hop_bodies.hpp"
#include "gpu/sample/number_bodies.hpp"
#include "gpu/sample/weighted_bodies.hpp"

#include <cstddef>
#include <cstdint>

namespace troupe::gpu {

/// Of a hop along an edge type, or of a group of seeds, whose candidates they are.
struct HopSizes {
  std::uint32_t fits = 0;  ///< 0: there is not enough room; then there are no rows and edges
  std::uint32_t rows = 0;
  std::uint32_t edges = 0;
  std::uint32_t row_begin = 0;   ///< Rows of earlier hops
  std::uint32_t edge_begin = 0;  ///< Edges of earlier hops
  std::uint32_t first = 0;       ///< Place of its first candidate among those of the source type
};

/// HopRows whose first node the device knows.
struct SizedRows {
  const std::uint64_t* ids;  ///< Nodes of the type
  const std::uint64_t* offsets;
  const std::uint32_t* first;  ///< Null: 0
  const std::uint32_t* end;    ///< Null: there are no nodes

  TROUPE_HD std::uint32_t begin() const { return first == nullptr ? 0 : *first; }
  TROUPE_HD std::uint32_t count() const { return end == nullptr ? 0 : *end - begin(); }
  TROUPE_HD HopRows now() const { return {ids + begin(), offsets, begin(), end}; }
};

/// Calls a body that counts entries of rows.
struct CountSizedRow {
  SizedRows rows;
  ListRule rule;
  std::uint32_t* counts;

  TROUPE_HD void operator()(std::size_t row) const { CountRow{rows.now(), rule, counts}(row); }
};
struct CountSizedWeightedRow {
  SizedRows rows;
  ListRule rule;
  const AliasSlot* aliases;
  bool zero_weights;
  std::uint32_t* counts;

  TROUPE_HD void operator()(std::size_t row) const {
    CountWeightedRow{rows.now(), rule, aliases, zero_weights, counts}(row);
  }
};

/// Finds a hop's sizes, and whether they fit.
struct MeasureHop {
  SizedRows rows;
  const std::uint32_t* row_offsets;  ///< [rows_room + 1]; null: the hop takes none
  const std::uint64_t* edges;        ///< Where row_offsets may have more than 32 bits, else null
  const HopSizes* earlier;           ///< Hop before, or null
  const HopSizes* beside;            ///< Edge type before that leads to the same nodes, or null
  const std::uint32_t* source_end;   ///< Nodes of the source type, or null
  std::uint32_t rows_room;
  std::uint32_t edges_room;
  std::uint64_t nodes_room;  ///< Of the source type

  TROUPE_HD HopSizes now() const {
    HopSizes sizes;
    sizes.fits = 1;
    sizes.rows = rows.count();
    if (earlier != nullptr) {
      sizes.row_begin = earlier->row_begin + earlier->rows;
      sizes.edge_begin = earlier->edge_begin + earlier->edges;
    }
    if (beside != nullptr) {
      sizes.first = beside->first + beside->edges;
    }
    const std::uint64_t count = edges_taken();
    const std::uint64_t nodes = source_end == nullptr ? 0 : *source_end;
    sizes.edges = static_cast<std::uint32_t>(count);
    if (sizes.rows > rows_room || count > edges_room || nodes + sizes.first + count > nodes_room) {
      sizes.fits = 0;
      sizes.rows = 0;
      sizes.edges = 0;
    }
    return sizes;
  }

 private:
  TROUPE_HD std::uint64_t edges_taken() const {
    if (edges != nullptr) {
      return *edges;
    }
    return row_offsets == nullptr ? 0 : row_offsets[rows_room];
  }
};

/// Draws positions of rows of a hop: `positions` are those of all hops.
struct UniformDraw {
  ListRule rule;
  RowDraws draws;

  TROUPE_HD void operator()(const HopRows& rows, std::size_t row, const HopSizes& sizes) const {
    RowDraws of_hop = draws;
    of_hop.positions += sizes.edge_begin;
    DrawRow{rows, rule, of_hop}(row);
  }
};
/// The same for short fanouts. Positions of lists that are taken whole are written too, and the row of
/// each edge, which TakeSizedEntry would have to look for.
template <std::uint32_t Most>
struct FewDraw {
  ListRule rule;
  RowDraws draws;
  std::uint32_t* edge_rows;  ///< [candidates of the source type]

  TROUPE_HD void operator()(const HopRows& rows, std::size_t row, const HopSizes& sizes) const {
    RowDraws of_hop = draws;
    of_hop.positions += sizes.edge_begin;
    DrawFew<Most>{rows, rule, of_hop}(row);
    const std::uint32_t count = of_hop.count(row);
    const bool whole = rule.whole(rows.degree(row), count);
    std::uint32_t* const positions = of_hop.out(row);
    std::uint32_t* const to = edge_rows + sizes.first + of_hop.row_offsets[row];
    for (std::uint32_t i = 0; i < count; ++i) {
      to[i] = static_cast<std::uint32_t>(row);
      if (whole) {
        positions[i] = i;
      }
    }
  }
};
struct NoDraw {
  TROUPE_HD void operator()(const HopRows& /*rows*/, std::size_t /*row*/,
                            const HopSizes& /*sizes*/) const {}
};

/// Measures a hop, puts the offsets of its rows behind those of earlier hops, and draws. All elements
/// find the same sizes, the first one writes them. Runs for it at least.
template <class Draw>
struct DrawSizedRow {
  MeasureHop hop;
  HopSizes* sizes;
  std::uint32_t* offsets;  ///< Of all hops
  Draw draw;

  TROUPE_HD void operator()(std::size_t row) const {
    const HopSizes now = hop.now();
    if (row == 0) {
      *sizes = now;
      if (hop.earlier == nullptr) {
        offsets[0] = 0;
      }
    }
    if (row < now.rows) {
      PlaceOffset{hop.row_offsets, now.edge_begin, offsets + now.row_begin + 1}(row);
      draw(hop.rows.now(), row, now);
    }
  }
};

/// Apart from DrawSizedRow: registers for both do not suffice.
struct DrawSizedWeightedRow {
  SizedRows rows;
  ListRule rule;
  const AliasSlot* aliases;
  RowDraws draws;
  const HopSizes* sizes;

  TROUPE_HD void operator()(std::size_t row) const {
    if (row < sizes->rows) {
      RowDraws of_hop = draws;
      of_hop.positions += sizes->edge_begin;
      DrawWeightedRow{rows.now(), rule, aliases, of_hop}(row);
    }
  }
};

/// TakeEntry for a list whose positions and rows FewDraw wrote, or for any other.
template <class Id, class Table>
struct TakeSizedEntry {
  SizedRows rows;
  ListRule rule;
  const std::uint32_t* row_offsets;
  const HopSizes* sizes;
  const std::uint32_t* edge_rows;  ///< Null: FewDraw did not draw
  const Id* neighbours;
  Table table;
  std::uint32_t* slots;    ///< Of all hops
  std::uint64_t* entries;  ///< The same; or null

  TROUPE_HD void operator()(std::size_t edge) const {
    const HopSizes now = *sizes;
    if (edge >= now.edges) {
      return;
    }
    const CandidateSlice slice{slots + now.edge_begin, now.first, now.edges};
    std::uint64_t* const of_hop = entries == nullptr ? nullptr : entries + now.edge_begin;
    if (edge_rows == nullptr) {
      TakeEntry<Id, Table>{rows.now(), rule,  row_offsets, now.rows,
                           neighbours, table, slice,       of_hop}(edge);
      return;
    }
    const std::size_t place = now.first + edge;
    const std::uint64_t entry = rows.now().begin(edge_rows[place]) + slice.slots[edge];
    if (of_hop != nullptr) {
      of_hop[edge] = entry;
    }
    slice.slots[edge] =
        table.insert(neighbours[entry], candidate_bit | static_cast<std::uint32_t>(place));
  }
};

template <class T>
struct TakeSizedDatum {
  TakeDatum<T> take;
  const HopSizes* last;  ///< Last hop

  TROUPE_HD void operator()(std::size_t edge) const {
    if (edge < last->edge_begin + last->edges) {
      take(edge);
    }
  }
};

/// Puts a seed into the table, and writes the sizes of its group.
template <class Table>
struct InsertSeed {
  Table table;
  const std::uint64_t* ids;
  std::uint32_t* slots;
  HopSizes of_group;
  HopSizes* sizes;

  TROUPE_HD void operator()(std::size_t i) const {
    if (i == 0) {
      *sizes = of_group;
    }
    slots[i] =
        table.insert(ids[i], candidate_bit | (of_group.first + static_cast<std::uint32_t>(i)));
  }
};

/// A CandidateSlice whose sizes the device knows.
struct SizedSlice {
  std::uint32_t* slots;  ///< Of all hops
  const HopSizes* sizes;

  TROUPE_HD CandidateSlice now() const {
    return {slots + sizes->edge_begin, sizes->first, sizes->edges};
  }
};

/// MarkFirst. What lies behind the last candidate stays as it is: sums up to there do not read it.
template <class Table>
struct MarkSizedFirst {
  Table table;
  SizedSlice slice;
  std::uint32_t* first;

  TROUPE_HD void operator()(std::size_t i) const {
    const CandidateSlice now = slice.now();
    if (i < now.count) {
      MarkFirst<Table>{table, now, first}(i);
    }
  }
};

/// NumberFirst and ReadIndex at once: where a node's index is not in the table yet, it follows from the
/// place of the node's first candidate, which is. Runs for the first element at least.
template <class Table>
struct NumberSized {
  Table table;
  SizedSlice slice;
  const std::uint32_t* ranks;  ///< Running sum of MarkFirst's
  const std::uint32_t* end;    ///< Nodes that there were; null: none
  std::uint32_t* next_end;     ///< Nodes that there are then; written by the last slice, else null
  std::uint64_t* ids;          ///< [nodes]

  TROUPE_HD void operator()(std::size_t i) const {
    const CandidateSlice now = slice.now();
    const std::uint32_t before = end == nullptr ? 0 : *end;
    if (i == 0 && next_end != nullptr) {
      *next_end = before + ranks[now.first + now.count];
    }
    if (i >= now.count) {
      return;
    }
    const std::uint32_t slot = now.slots[i];
    std::uint32_t index = table.load_value(slot);
    if ((index & candidate_bit) != 0) {
      const std::uint32_t place = index & ~candidate_bit;
      index = before + ranks[place];
      if (place == now.first + i) {
        ids[index] = table.id(slot);
        table.store_value(slot, index);
      }
    }
    now.slots[i] = index;
  }
};

/// Copies a batch's sizes to memory of the host.
struct ReportSizes {
  const HopSizes* sizes;
  std::size_t num_sizes;
  const std::uint32_t* ends;
  std::size_t num_ends;
  HopSizes* to_sizes;
  std::uint32_t* to_ends;

  TROUPE_HD void operator()(std::size_t i) const {
    if (i < num_sizes) {
      to_sizes[i] = sizes[i];
    }
    if (i < num_ends) {
      to_ends[i] = ends[i];
    }
  }
};

}  // namespace troupe::gpu
