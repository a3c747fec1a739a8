#include "runtime/partition/adjacency.hpp"

#include "runtime/base/scratch_file.hpp"

#include <filesystem>
#include <fmt/format.h>
#include <new>
#include <system_error>

namespace troupe {
namespace {

/// A 64-bit mix of two words (the finalizer of MurmurHash3, twice).
constexpr std::uint64_t mix(std::uint64_t a, std::uint64_t b) noexcept {
  std::uint64_t x = a * 0x9E3779B97F4A7C15U + (b ^ (b >> 29U)) * 0xC2B2AE3D27D4EB4FU;
  x = (x ^ (x >> 33U)) * 0xFF51AFD7ED558CCDU;
  x = (x ^ (x >> 33U)) * 0xC4CEB9FE1A85EC53U;
  return x ^ (x >> 33U);
}

/// Writable memory of its own: of the process, or past `options.memory_bytes` of a scratch file.
Result<std::shared_ptr<void>> allocate(std::uint64_t bytes, const AdjacencyOptions& options) {
  if (bytes > options.memory_bytes) {
    std::error_code ignored;
    const auto system = std::filesystem::temp_directory_path(ignored);
    return ScratchFile::memory(options.scratch.empty() ? system : options.scratch, bytes);
  }
  void* const memory = ::operator new(bytes, std::nothrow);
  if (memory == nullptr) {
    return Error(
        Errc::out_of_memory,
        fmt::format("neighbour lists: cannot get {} bytes\ntry: a machine with more memory",
                    bytes));
  }
  return std::shared_ptr<void>(memory, [](void* p) { ::operator delete(p); });
}

/// Calls `f(source, destination)` for every edge of one type, ends by their number in the type.
template <class F>
void for_each_edge(const NeighbourLists& lists, std::uint64_t nodes, F f) {
  lists.neighbours.visit([&](auto ids) {
    for (std::uint64_t v = 0; v < nodes; ++v) {
      for (auto i = lists.offsets[v]; i < lists.offsets[v + 1]; ++i) {
        f(std::uint64_t{ids[i]}, v);
      }
    }
  });
}

/// Whether every edge (u, v) exists as often as (v, u): the sums of a 128-bit hash over the edges
/// and over the edges turned round agree.
bool is_symmetric(const NeighbourLists& lists, std::uint64_t nodes) {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  for_each_edge(lists, nodes, [&](std::uint64_t u, std::uint64_t v) {
    low += mix(u, v) - mix(v, u);
    high += mix(~u, v) - mix(~v, u);
  });
  return low == 0 && high == 0;
}

std::uint64_t count_loops(const NeighbourLists& lists, std::uint64_t nodes) {
  std::uint64_t loops = 0;
  for_each_edge(lists, nodes, [&](std::uint64_t u, std::uint64_t v) { loops += u == v ? 1U : 0U; });
  return loops;
}

}  // namespace

Result<Adjacency> Adjacency::make(const GraphStore& graph, const AdjacencyOptions& options) {
  Adjacency result;
  result.graph_ = graph.graph();
  const auto& info = graph.info();
  result.first_vertex_.push_back(0);
  for (const auto& type : info.node_types) {
    result.first_vertex_.push_back(result.first_vertex_.back() + type.count);
  }
  if (info.node_types.size() == 1 && info.edge_types.size() == 1) {
    const auto& lists = result.graph_->edges[0].in;
    if (is_symmetric(lists, result.vertices())) {
      result.borrowed_ = true;
      result.offsets_ = lists.offsets;
      result.lists_ = lists.neighbours;
      result.entries_ = lists.neighbours.size() - count_loops(lists, result.vertices());
      return result;
    }
  }
  TROUPE_RETURN_IF_ERROR(result.assemble(info, options));
  return result;
}

/// Calls `f(u, v)` for every edge of every type that is no loop, ends as vertices.
template <class F>
void Adjacency::for_each_pair(const GraphInfo& info, F f) const {
  for (std::size_t e = 0; e < info.edge_types.size(); ++e) {
    const auto sources = first_vertex_[raw(info.edge_types[e].source)];
    const auto destination = raw(info.edge_types[e].destination);
    const auto first = first_vertex_[destination];
    for_each_edge(graph_->edges[e].in, first_vertex_[destination + 1U] - first,
                  [&](std::uint64_t source, std::uint64_t node) {
                    if (sources + source != first + node) {
                      f(sources + source, first + node);
                    }
                  });
  }
}

/// `cursor[v]` is where the next neighbour of `v` goes.
template <class Id>
void Adjacency::fill(const GraphInfo& info, std::span<std::uint64_t> cursor, Id* ids) const {
  for_each_pair(info, [&](std::uint64_t u, std::uint64_t v) {
    ids[cursor[v]++] = static_cast<Id>(u);
    ids[cursor[u]++] = static_cast<Id>(v);
  });
}

Status Adjacency::assemble(const GraphInfo& info, const AdjacencyOptions& options) {
  // One place to spare: filling moves every begin to its end, so the array then lies shifted by one.
  own_offsets_.assign(vertices() + 2, 0);
  const std::span<std::uint64_t> all(own_offsets_);
  for_each_pair(info, [&](std::uint64_t u, std::uint64_t v) {  // the last of two shifts by one
    ++all[u + 2];
    ++all[v + 2];
  });
  for (std::uint64_t v = 0; v <= vertices(); ++v) {
    all[v + 1] += all[v];
  }
  entries_ = all[vertices() + 1];
  offsets_ = all.first(vertices() + 1);
  const auto width = id_width_bytes(vertices());
  if (entries_ > 0) {
    TROUPE_ASSIGN_OR_RETURN(own_lists_, allocate(entries_ * width, options));
  }
  const auto cursor = all.subspan(1, vertices());
  if (width == 4) {
    fill(info, cursor, static_cast<std::uint32_t*>(own_lists_.get()));
  } else {
    fill(info, cursor, static_cast<std::uint64_t*>(own_lists_.get()));
  }
  lists_ = IdSpan({static_cast<const std::byte*>(own_lists_.get()), entries_ * width}, width);
  return ok_status();
}

}  // namespace troupe
