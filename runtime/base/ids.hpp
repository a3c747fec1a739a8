#pragma once
/// \file ids.hpp
/// Ids are types of their own, so that a global id cannot be passed where an original id is meant
/// (design, section 1). `raw(id)` gives the number. Arrays of ids on disk and on the wire are plain
/// numbers; they become ids where they are read.
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace troupe {

enum class OriginalId : std::uint64_t {};  ///< of a node, in the user's data
enum class NodeId : std::uint64_t {
};  ///< global: after relabelling; each (part, node type) owns one range
enum class EdgeId : std::uint64_t {
};  ///< original id of an edge: its position in the user's edge list
enum class PartId : std::uint32_t {};
enum class HostId : std::uint32_t {};
enum class ProcessId : std::uint32_t {};   ///< of a job's layout
enum class Rank : std::uint32_t {};        ///< of a logical trainer, 0..W-1
enum class NodeTypeId : std::uint16_t {};  ///< position in the graph's list of node types
enum class EdgeTypeId : std::uint16_t {};  ///< position in the graph's list of edge types
/// Most node types, and most edge types, of a graph: as many as ids.
inline constexpr std::size_t most_types = std::size_t{1} << 16;

template <class Id>
requires std::is_enum_v<Id>
constexpr auto raw(Id id) noexcept {
  return static_cast<std::underlying_type_t<Id>>(id);
}

/// `id` moved on by `n`.
template <class Id>
requires std::is_enum_v<Id>
constexpr Id advance(Id id, std::uint64_t n) noexcept {
  return static_cast<Id>(raw(id) + n);
}

}  // namespace troupe
