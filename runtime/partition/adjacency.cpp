#include "runtime/partition/adjacency.hpp"

#include "runtime/base/even_share.hpp"
#include "runtime/base/scratch_file.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <new>
#include <optional>
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

/// A range of vertices.
using Range = std::pair<std::uint64_t, std::uint64_t>;

Range share_of(std::uint64_t count, std::size_t shares, std::size_t index) {
  const auto share = even_share(count, shares, index);
  return {share.first, share.first + share.size};
}

bool is_in(std::uint64_t vertex, const Range& range) {
  return vertex - range.first < range.second - range.first;
}

/// Writable memory; null where there is none.
std::shared_ptr<std::byte> allocate(std::uint64_t bytes) {
  return {static_cast<std::byte*>(::operator new(bytes, std::nothrow)),
          [](std::byte* p) { ::operator delete(p); }};
}

Error no_memory(std::uint64_t bytes) {
  return {Errc::out_of_memory,
          fmt::format("neighbour lists: cannot get {} bytes\ntry: less --memory, so that they go "
                      "through a scratch file",
                      bytes)};
}

/// Threads that each read all edges and keep those of their own vertices.
std::size_t readers(const Executor& executor) {
  constexpr std::size_t most = 8;
  return std::min(executor.concurrency(), most);
}

/// Calls `f(source, destination)` for every edge of one type that leads to one of `nodes`, ends by
/// their number in the type.
template <class F>
void for_each_edge(const NeighbourLists& lists, const Range& nodes, F f) {
  lists.neighbours.visit([&](auto ids) {
    for (auto v = nodes.first; v < nodes.second; ++v) {
      for (auto i = lists.offsets[v]; i < lists.offsets[v + 1]; ++i) {
        f(std::uint64_t{ids[i]}, v);
      }
    }
  });
}

/// What is to be known of a graph of one type.
struct Symmetry {
  std::uint64_t low = 0;  ///< a hash of every edge (u, v) less one of (v, u), summed
  std::uint64_t high = 0;
  std::uint64_t loops = 0;
  /// Whether every edge (u, v) exists as often as (v, u).
  bool holds() const { return low == 0 && high == 0; }
};

Symmetry symmetry_of(const NeighbourLists& lists, std::uint64_t nodes, Executor& executor) {
  constexpr std::size_t chunks = 64;
  std::vector<Symmetry> found(chunks);
  executor.parallel_for(chunks, [&](std::size_t chunk) {
    Symmetry sum;
    for_each_edge(lists, share_of(nodes, chunks, chunk), [&](std::uint64_t u, std::uint64_t v) {
      sum.low += mix(u, v) - mix(v, u);
      sum.high += mix(~u, v) - mix(~v, u);
      sum.loops += u == v ? 1U : 0U;
    });
    found[chunk] = sum;
  });
  Symmetry all;
  for (const auto& sum : found) {
    all.low += sum.low;
    all.high += sum.high;
    all.loops += sum.loops;
  }
  return all;
}

}  // namespace

Result<Adjacency> Adjacency::make(const GraphStore& graph, const AdjacencyOptions& options,
                                  Executor& executor) {
  Adjacency result;
  result.graph_ = graph.graph();
  const auto& info = graph.info();
  result.first_vertex_.push_back(0);
  for (const auto& type : info.node_types) {
    result.first_vertex_.push_back(result.first_vertex_.back() + type.count);
  }
  const bool one_type = info.node_types.size() == 1 && info.edge_types.size() == 1;
  if (!one_type || !result.borrow(executor)) {
    TROUPE_RETURN_IF_ERROR(result.assemble(info, options, executor));
  }
  return result;
}

/// Takes the lists of the one edge type, if it has every edge in both directions.
bool Adjacency::borrow(Executor& executor) {
  const auto& lists = graph_->edges[0].in;
  const auto symmetry = symmetry_of(lists, vertices(), executor);
  if (!symmetry.holds()) {
    return false;
  }
  borrowed_ = true;
  offsets_ = lists.offsets;
  lists_ = lists.neighbours;
  entries_ = lists.neighbours.size() - symmetry.loops;
  return true;
}

/// Calls `f(u, v)` for every edge of every type that is no loop, ends as vertices.
template <class F>
void Adjacency::for_each_pair(const GraphInfo& info, F f) const {
  for (std::size_t e = 0; e < info.edge_types.size(); ++e) {
    const auto sources = first_vertex_[raw(info.edge_types[e].source)];
    const auto destination = raw(info.edge_types[e].destination);
    const auto first = first_vertex_[destination];
    for_each_edge(graph_->edges[e].in, {0, first_vertex_[destination + 1U] - first},
                  [&](std::uint64_t source, std::uint64_t node) {
                    if (sources + source != first + node) {
                      f(sources + source, first + node);
                    }
                  });
  }
}

/// Puts the lists of the vertices of `block` together. `cursor[v]` is where the next neighbour of
/// `v` goes in all lists; the first entry of the block is `ids[0]`.
template <class Id>
void Adjacency::fill_block(const GraphInfo& info, std::span<std::uint64_t> cursor, Range block,
                           Id* ids, Executor& executor) const {
  const auto base = cursor[block.first];
  const auto last = block.second < cursor.size() ? cursor[block.second] : entries_;
  const auto threads = readers(executor);
  // Where each thread's vertices begin: before anything is filled, as cursors then still ascend.
  std::vector<std::uint64_t> bounds{block.first};
  for (std::size_t t = 1; t < threads; ++t) {
    const auto rest = cursor.subspan(bounds.back(), block.second - bounds.back());
    const auto begin = base + share_of(last - base, threads, t).first;
    const auto skipped = std::ranges::lower_bound(rest, begin) - rest.begin();
    bounds.push_back(bounds.back() + static_cast<std::uint64_t>(skipped));
  }
  bounds.push_back(block.second);
  executor.parallel_for(threads, [&](std::size_t t) {
    const Range own(bounds[t], bounds[t + 1]);
    for_each_pair(info, [&](std::uint64_t u, std::uint64_t v) {
      if (is_in(v, own)) {
        ids[cursor[v]++ - base] = static_cast<Id>(u);
      }
      if (is_in(u, own)) {
        ids[cursor[u]++ - base] = static_cast<Id>(v);
      }
    });
  });
}

/// `cursor[v]` is where the list of `v` begins, and then where it ends.
template <class Id>
Status Adjacency::fill(const GraphInfo& info, std::span<std::uint64_t> cursor,
                       const AdjacencyOptions& options, Executor& executor) {
  const auto bytes = entries_ * sizeof(Id);
  const bool fits = bytes <= options.memory_bytes / 2;
  const auto capacity =
      fits ? bytes : std::max(options.memory_bytes / 2, options.least_block_bytes);
  std::optional<ScratchFile> file;
  if (!fits) {
    std::error_code ignored;
    const auto system = std::filesystem::temp_directory_path(ignored);
    TROUPE_ASSIGN_OR_RETURN(
        file, ScratchFile::create(options.scratch.empty() ? system : options.scratch));
  }
  std::shared_ptr<std::byte> buffer;
  std::uint64_t buffer_bytes = 0;
  for (std::uint64_t first = 0; first < cursor.size();) {
    const auto base = cursor[first];
    const auto rest = cursor.subspan(first + 1);  // begins of the lists after the first
    const auto end = std::ranges::upper_bound(rest, base + capacity / sizeof(Id)) - rest.begin();
    const bool all = entries_ - base <= capacity / sizeof(Id);
    const auto last =
        all ? cursor.size() : first + std::max<std::uint64_t>(1, static_cast<std::uint64_t>(end));
    const auto size = ((last < cursor.size() ? cursor[last] : entries_) - base) * sizeof(Id);
    if (size > buffer_bytes) {  // one list alone may be longer than a block
      buffer = allocate(size);
      buffer_bytes = size;
    }
    if (buffer == nullptr && size > 0) {
      return no_memory(size);
    }
    fill_block(info, cursor, {first, last}, reinterpret_cast<Id*>(buffer.get()), executor);
    if (file) {
      TROUPE_RETURN_IF_ERROR(file->append({buffer.get(), size}));
    }
    first = last;
  }
  if (file) {
    TROUPE_ASSIGN_OR_RETURN(own_lists_, file->map());
  } else {
    own_lists_ = {buffer, {buffer.get(), bytes}};
  }
  lists_ = IdSpan(own_lists_.bytes, sizeof(Id));
  return ok_status();
}

Status Adjacency::assemble(const GraphInfo& info, const AdjacencyOptions& options,
                           Executor& executor) {
  // One place to spare: filling moves every begin to its end, so the array then lies shifted by one.
  own_offsets_.assign(vertices() + 2, 0);
  const std::span<std::uint64_t> all(own_offsets_);
  const auto threads = readers(executor);
  executor.parallel_for(threads, [&](std::size_t t) {
    const auto own = share_of(vertices(), threads, t);
    for_each_pair(info, [&](std::uint64_t u, std::uint64_t v) {  // the last of two shifts by one
      if (is_in(u, own)) {
        ++all[u + 2];
      }
      if (is_in(v, own)) {
        ++all[v + 2];
      }
    });
  });
  for (std::uint64_t v = 0; v <= vertices(); ++v) {
    all[v + 1] += all[v];
  }
  entries_ = all[vertices() + 1];
  offsets_ = all.first(vertices() + 1);
  const auto cursor = all.subspan(1, vertices());
  return id_width_bytes(vertices()) == 4 ? fill<std::uint32_t>(info, cursor, options, executor)
                                         : fill<std::uint64_t>(info, cursor, options, executor);
}

}  // namespace troupe
