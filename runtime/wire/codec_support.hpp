#pragma once
/// \file codec_support.hpp
/// What the codecs share: the segments of a frame as arrays, texts, digests. Only for
/// runtime/wire/*.cpp.
#include "runtime/base/id_list.hpp"
#include "runtime/base/pooled_vector.hpp"
#include "runtime/net/frame_message.hpp"
#include "runtime/net/saturate.hpp"

#include <array>
#include <cstdint>
#include <cstring>
#include <fmt/format.h>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe::net {

/// Neighbors per node that a reply is charged for where all neighbors are requested.
inline constexpr std::uint64_t assumed_degree = 64;

/// Refuses a list of more entries than a graph has types. Empty entries take no bytes, so that the
/// size of the message does not bound their number.
inline Status check_entries(std::string_view message, std::string_view list, std::size_t entries) {
  return entries <= most_types
             ? ok_status()
             : Status(corrupt_message(message, fmt::format("{}: expected at most {}, found {}",
                                                           list, most_types, entries)));
}

/// The segments of a received frame as arrays. Each check names the message and the segment.
class SegmentReader {
 public:
  SegmentReader(const Frame& frame, std::string_view message) : frame_(frame), message_(message) {}

  /// \errors data_corruption: there are more than `count` segments
  Status at_most(std::size_t count) const;
  /// Segment `i` as an array of elements of 1, 2, 4 or 8 bytes, shared if it is aligned to that,
  /// else copied; empty if the frame has no such segment.
  /// \errors data_corruption: not a whole number of elements
  Result<Segment> elements(std::size_t i, std::size_t element_bytes) const;
  /// Segment `i` as it is, shared if it is aligned to 8 bytes, else copied.
  Segment aligned(std::size_t i) const;
  /// Ids of 4 or 8 bytes.
  /// \errors data_corruption: another width, or not a whole number of ids
  Result<IdList> ids(std::size_t i, std::uint64_t width_bytes) const;
  template <class T>
  Result<std::vector<T>> vector(std::size_t i) const {
    return copy<std::vector<T>>(i);
  }
  /// The same in memory of the pool.
  template <class T>
  Result<PooledVector<T>> pooled(std::size_t i) const {
    return copy<PooledVector<T>>(i);
  }

 private:
  template <class Vector>
  Result<Vector> copy(std::size_t i) const {
    using T = typename Vector::value_type;
    if (i >= frame_.segments.size()) {
      return Vector{};
    }
    TROUPE_ASSIGN_OR_RETURN(const Segment segment, elements(i, sizeof(T)));
    const auto values = segment.as<T>();
    return Vector(values.begin(), values.end());
  }

  const Frame& frame_;
  std::string_view message_;
};

/// Ids as they travel: 4 bytes each if all fit, else 8.
IdList pack_ids(std::span<const NodeId> ids);
PooledVector<NodeId> unpack_ids(const IdList& ids);
/// The ids of several lists as one.
template <class Lists, class NodesOf>
IdList pack_lists(const Lists& lists, NodesOf nodes_of) {
  if (lists.size() == 1) {
    return pack_ids(nodes_of(lists.front()));
  }
  PooledVector<NodeId> all;
  for (const auto& list : lists) {
    const auto& nodes = nodes_of(list);
    all.insert(all.end(), nodes.begin(), nodes.end());
  }
  return pack_ids(all);
}

/// Gives lists their ids back, one list after another.
/// Borrows: the ids
class IdUnpacker {
 public:
  IdUnpacker(const IdList& ids, std::string_view message) : ids_(ids), message_(message) {}
  /// \errors data_corruption: fewer are left
  Result<PooledVector<NodeId>> take(std::uint64_t count);
  /// \errors data_corruption: some are left
  Status finish() const;

 private:
  const IdList& ids_;
  std::uint64_t taken_ = 0;
  std::string_view message_;
};

/// \errors data_corruption, with both numbers, if they differ
Status expect_equal(std::string_view message, std::string_view what, std::uint64_t expected,
                    std::uint64_t found);

/// \errors data_corruption: longer than `most` bytes
Result<std::string> read_text(std::string_view message, capnp::Text::Reader text, std::size_t most);

/// A copy of `values` as a segment; none for none.
template <class Vector>
Segment copy_segment(const Vector& values) {
  return values.empty() ? Segment{} : Segment::of(Vector(values));
}

}  // namespace troupe::net
