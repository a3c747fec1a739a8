#include "runtime/partition/adjacency.hpp"

#include "runtime/base/files.hpp"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <fmt/format.h>
#include <limits>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace troupe {
namespace {

/// A 64-bit mix of two words (the finalizer of MurmurHash3, twice).
constexpr std::uint64_t mix(std::uint64_t a, std::uint64_t b) noexcept {
  std::uint64_t x = a * 0x9E3779B97F4A7C15U + (b ^ (b >> 29U)) * 0xC2B2AE3D27D4EB4FU;
  x = (x ^ (x >> 33U)) * 0xFF51AFD7ED558CCDU;
  x = (x ^ (x >> 33U)) * 0xC4CEB9FE1A85EC53U;
  return x ^ (x >> 33U);
}

/// Whether every edge (u, v) exists as often as (v, u): the sums of a 128-bit hash over the edges
/// and over the edges turned round agree.
bool is_symmetric(const NeighbourLists& lists, std::uint64_t nodes) {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  lists.neighbours.visit([&](auto ids) {
    for (std::uint64_t v = 0; v < nodes; ++v) {
      for (auto i = lists.offsets[v]; i < lists.offsets[v + 1]; ++i) {
        const std::uint64_t u = ids[i];
        low += mix(u, v) - mix(v, u);
        high += mix(~u, v) - mix(~v, u);
      }
    }
  });
  return low == 0 && high == 0;
}

std::uint64_t count_loops(const NeighbourLists& lists, std::uint64_t nodes) {
  std::uint64_t loops = 0;
  lists.neighbours.visit([&](auto ids) {
    for (std::uint64_t v = 0; v < nodes; ++v) {
      for (auto i = lists.offsets[v]; i < lists.offsets[v + 1]; ++i) {
        loops += ids[i] == v ? 1U : 0U;
      }
    }
  });
  return loops;
}

/// Descriptor of a new file without a name.
Result<int> open_scratch(const std::filesystem::path& folder) {
  std::error_code ignored;
  const auto dir = folder.empty() ? std::filesystem::temp_directory_path(ignored) : folder;
  auto name = (dir / "troupe-scratch-XXXXXX").string();
  const int file = ::mkostemp(name.data(), O_CLOEXEC);
  if (file < 0) {
    return file_error(dir, "cannot make a scratch file", errno);
  }
  ::unlink(name.c_str());
  return file;
}

/// Writable memory of its own: of the process, or past `options.memory_bytes` of a scratch file.
Result<std::shared_ptr<void>> allocate(std::uint64_t bytes, const AdjacencyOptions& options) {
  void* memory = MAP_FAILED;
  if (bytes <= options.memory_bytes) {
    memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  } else {
    TROUPE_ASSIGN_OR_RETURN(const int file, open_scratch(options.scratch));
    const int failed = ::posix_fallocate(file, 0, static_cast<::off_t>(bytes));
    if (failed == 0) {
      memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    }
    ::close(file);
    if (failed != 0) {
      return file_error(options.scratch, fmt::format("cannot keep {} bytes of scratch", bytes),
                        failed);
    }
  }
  if (memory == MAP_FAILED) {
    return Error(
        Errc::out_of_memory,
        fmt::format("neighbour lists: cannot get {} bytes\ntry: a machine with more memory",
                    bytes));
  }
  return std::shared_ptr<void>(memory, [bytes](void* p) { ::munmap(p, bytes); });
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

void Adjacency::count_degrees(const GraphInfo& info, std::span<std::uint64_t> offsets) const {
  for (std::size_t e = 0; e < info.edge_types.size(); ++e) {
    const auto& lists = graph_->edges[e].in;
    const auto sources = first_vertex_[raw(info.edge_types[e].source)];
    const auto destination = raw(info.edge_types[e].destination);
    lists.neighbours.visit([&](auto ids) {
      for (auto v = first_vertex_[destination]; v < first_vertex_[destination + 1U]; ++v) {
        const auto node = v - first_vertex_[destination];
        for (auto i = lists.offsets[node]; i < lists.offsets[node + 1]; ++i) {
          const auto u = sources + ids[i];
          if (u != v) {
            ++offsets[u + 1];
            ++offsets[v + 1];
          }
        }
      }
    });
  }
}

/// `cursor[v]` is where the next neighbour of `v` goes.
template <class Id>
void Adjacency::fill(const GraphInfo& info, std::span<std::uint64_t> cursor, Id* ids) const {
  for (std::size_t e = 0; e < info.edge_types.size(); ++e) {
    const auto& lists = graph_->edges[e].in;
    const auto sources = first_vertex_[raw(info.edge_types[e].source)];
    const auto destination = raw(info.edge_types[e].destination);
    lists.neighbours.visit([&](auto stored) {
      for (auto v = first_vertex_[destination]; v < first_vertex_[destination + 1U]; ++v) {
        const auto node = v - first_vertex_[destination];
        for (auto i = lists.offsets[node]; i < lists.offsets[node + 1]; ++i) {
          const auto u = sources + stored[i];
          if (u != v) {
            ids[cursor[v]++] = static_cast<Id>(u);
            ids[cursor[u]++] = static_cast<Id>(v);
          }
        }
      }
    });
  }
}

Status Adjacency::assemble(const GraphInfo& info, const AdjacencyOptions& options) {
  // One place to spare: filling moves every begin to its end, so the array then lies shifted by one.
  own_offsets_.assign(vertices() + 2, 0);
  const std::span<std::uint64_t> all(own_offsets_);
  count_degrees(info, all.subspan(1, vertices() + 1));
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
