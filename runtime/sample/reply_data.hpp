#pragma once
/// \file reply_data.hpp
/// Writes the data of the edges of a reply. For one_hop.cpp only.
#include "runtime/base/buffer.hpp"
#include "runtime/graph/edge_data.hpp"

#include <cstdint>
#include <cstring>
#include <utility>

namespace troupe {

/// Where the data of a section's edges go; null: not requested.
struct DataPlaces {
  std::uint64_t* edge_ids = nullptr;
  std::uint64_t* entries = nullptr;
  float* weights = nullptr;
  std::int64_t* times = nullptr;
};

/// The data of all edges of a reply in one block: planned, allocated, then written section by section.
class DataWriter {
 public:
  void plan(EdgeData wanted, std::uint64_t edges) {
    each_edge_datum([edges](auto& column, bool its) { column.planned += its ? edges : 0; }, *this,
                    wanted);
  }
  void allocate() {
    std::uint64_t bytes = 0;
    each_edge_datum(
        [&bytes]<class T>(Column<T>& column) {
          column.begin = bytes;
          bytes += column.planned * sizeof(T);
        },
        *this);
    block_ = Buffer(bytes);
  }
  DataPlaces places(EdgeData wanted) const {
    DataPlaces places;
    each_edge_datum(
        [this]<class T>(T*& place, const Column<T>& column, bool its) {
          place =
              its ? reinterpret_cast<T*>(block_.data() + column.begin) + column.written : nullptr;
        },
        places, *this, wanted);
    return places;
  }
  void advance(EdgeData wanted, std::uint64_t edges) {
    each_edge_datum([edges](auto& column, bool its) { column.written += its ? edges : 0; }, *this,
                    wanted);
  }
  /// Without gaps, where less was written than planned.
  Segment freeze() && {
    std::uint64_t bytes = 0;
    each_edge_datum(
        [&]<class T>(const Column<T>& column) {
          const auto size = column.written * sizeof(T);
          if (column.begin != bytes) {
            std::memmove(block_.data() + bytes, block_.data() + column.begin, size);
          }
          bytes += size;
        },
        *this);
    auto segment = std::move(block_).freeze();
    segment.bytes = segment.bytes.first(bytes);
    return segment;
  }

  template <class T>
  struct Column {
    std::uint64_t begin = 0;
    std::uint64_t planned = 0;
    std::uint64_t written = 0;
  };
  Column<std::uint64_t> edge_ids;
  Column<std::uint64_t> entries;
  Column<float> weights;
  Column<std::int64_t> times;

 private:
  Buffer block_;
};

}  // namespace troupe
