#include "runtime/data/rmat.hpp"

#include "runtime/base/files.hpp"
#include "runtime/base/permutation.hpp"
#include "runtime/data/npy_stream.hpp"
#include "runtime/data/rmat_edges.hpp"
#include "runtime/graph/store_layout.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <fmt/format.h>
#include <memory>
#include <new>
#include <numeric>
#include <unistd.h>

namespace troupe {
namespace {

namespace fs = std::filesystem;

constexpr NpyType i64_type{'i', 8};
constexpr NpyType f32_type{'f', 4};
constexpr std::uint64_t most_nodes = std::uint64_t{1} << 32;
constexpr std::uint64_t edges_per_chunk = std::uint64_t{1} << 16;
constexpr std::uint64_t nodes_per_chunk = std::uint64_t{1} << 12;
constexpr std::uint64_t elements_per_write = std::uint64_t{1} << 20;

std::uint64_t chunks_of(std::uint64_t n, std::uint64_t chunk) {
  return (n + chunk - 1) / chunk;
}

Status check_count(const char* name, std::uint64_t value, std::uint64_t least, std::uint64_t most) {
  if (value >= least && value <= most) {
    return ok_status();
  }
  return Error(Errc::invalid_argument,
               fmt::format("{}: expected {} to {}, got {}", name, least, most, value));
}

Status check_probability(const char* name, double value) {
  if (value >= 0 && value < 1) {  // false for NaN
    return ok_status();
  }
  return Error(Errc::invalid_argument,
               fmt::format("{}: expected a probability in [0, 1), got {}", name, value));
}

Status check(const RmatOptions& options) {
  TROUPE_RETURN_IF_ERROR(check_count("nodes", options.nodes, 1, most_nodes));
  TROUPE_RETURN_IF_ERROR(check_count("edges", options.edges, 0, store_layout::largest_count / 2));
  TROUPE_RETURN_IF_ERROR(check_probability("a", options.a));
  TROUPE_RETURN_IF_ERROR(check_probability("b", options.b));
  TROUPE_RETURN_IF_ERROR(check_probability("c", options.c));
  if (!(options.a + options.b + options.c < 1)) {
    return Error(
        Errc::invalid_argument,
        fmt::format("a + b + c: expected less than 1, which leaves the rest for the fourth "
                    "quadrant, got {} + {} + {}",
                    options.a, options.b, options.c));
  }
  TROUPE_RETURN_IF_ERROR(check_count("features", options.features, 0, store_layout::largest_cols));
  TROUPE_RETURN_IF_ERROR(check_count("classes", options.classes, 0, store_layout::largest_cols));
  if (options.train > options.nodes) {
    return Error(Errc::invalid_argument,
                 fmt::format("train: expected at most {}, the number of nodes, got {}",
                             options.nodes, options.train));
  }
  return ok_status();
}

std::uint64_t list_entries(const RmatOptions& options) {
  return options.edges * (options.symmetrize ? 2 : 1);
}

/// The lists, the offsets, the permutation; buffers for writing.
std::uint64_t memory_bytes(const RmatOptions& options) {
  return 4 * list_entries(options) + 12 * options.nodes + 4 * options.features +
         (std::uint64_t{32} << 20);
}

/// Asking for more than there is does not fail on Linux: the program is killed when it writes.
Status check_memory(const RmatOptions& options) {
  const auto there = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                     static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const auto needed = memory_bytes(options);
  if (needed <= there) {
    return ok_status();
  }
  return Error(Errc::out_of_memory,
               fmt::format("{} nodes and {} edges need {} bytes of memory, this machine has {}\n"
                           "try: fewer --edges",
                           options.nodes, list_entries(options), needed, there));
}

/// In-neighbours of all nodes.
struct Lists {
  std::vector<std::uint64_t> offsets;
  std::unique_ptr<std::uint32_t[]> neighbours;
};

/// Calls `visit(source, destination)` for every edge of the graph, on many threads.
template <class Visit>
void for_each_edge(const RmatOptions& options, const rmat::Edges& edges, Executor& executor,
                   const Visit& visit) {
  executor.parallel_for(chunks_of(options.edges, edges_per_chunk), [&](std::size_t chunk) {
    const auto end = std::min(options.edges, (chunk + 1) * edges_per_chunk);
    for (std::uint64_t first = chunk * edges_per_chunk; first < end; first += rmat::lanes) {
      const auto group = edges.edges(first);
      const auto count = std::min<std::uint64_t>(rmat::lanes, end - first);
      for (std::size_t l = 0; l < count; ++l) {
        visit(group.sources[l], group.destinations[l]);
        if (options.symmetrize) {
          visit(group.destinations[l], group.sources[l]);
        }
      }
    }
  });
}

std::uint64_t take_next(std::uint64_t& counter) {
  return std::atomic_ref(counter).fetch_add(1, std::memory_order_relaxed);
}

/// Threads put neighbours into a list in any order; sorting it makes the order that of the ids
/// alone.
Lists build_lists(const RmatOptions& options, Executor& executor) {
  const rmat::Edges edges(options, executor);
  Lists lists;
  auto& offsets = lists.offsets;
  offsets.resize(options.nodes + 1);
  for_each_edge(options, edges, executor, [&](std::uint32_t, std::uint32_t destination) {
    take_next(offsets[destination + std::uint64_t{1}]);
  });
  // offsets[i + 1] is where the list of node i begins; filling moves it to where the list ends.
  std::exclusive_scan(offsets.begin() + 1, offsets.end(), offsets.begin() + 1, std::uint64_t{0});
  lists.neighbours = std::make_unique_for_overwrite<std::uint32_t[]>(list_entries(options));
  for_each_edge(options, edges, executor, [&](std::uint32_t source, std::uint32_t destination) {
    lists.neighbours[take_next(offsets[destination + std::uint64_t{1}])] = source;
  });
  executor.parallel_for(chunks_of(options.nodes, nodes_per_chunk), [&](std::size_t chunk) {
    const auto end = std::min(options.nodes, (chunk + 1) * nodes_per_chunk);
    for (std::uint64_t node = chunk * nodes_per_chunk; node < end; ++node) {
      std::sort(lists.neighbours.get() + offsets[node], lists.neighbours.get() + offsets[node + 1]);
    }
  });
  return lists;
}

RmatSummary summarise(const RmatOptions& options, const Lists& lists) {
  RmatSummary summary;
  summary.edges = list_entries(options);
  summary.memory_bytes = memory_bytes(options);
  std::vector<std::uint32_t> degrees(options.nodes);  // a list of 2^32 counts as one shorter
  for (std::uint64_t node = 0; node < options.nodes; ++node) {
    const auto degree = lists.offsets[node + 1] - lists.offsets[node];
    summary.max_degree = std::max(summary.max_degree, degree);
    summary.isolated_nodes += degree == 0 ? 1 : 0;
    degrees[node] = static_cast<std::uint32_t>(std::min(degree, most_nodes - 1));
  }
  const auto middle = degrees.begin() + static_cast<std::ptrdiff_t>(options.nodes / 2);
  std::nth_element(degrees.begin(), middle, degrees.end());
  summary.median_degree = *middle;
  return summary;
}

/// Fills and writes an array block by block.
/// \param fill  called with (first element, block)
template <class T, class Fill>
Status write_blocks(const fs::path& path, NpyType type, std::uint64_t count, const Fill& fill) {
  TROUPE_ASSIGN_OR_RETURN(auto file, NpyStream::create(path, type, {count}));
  std::vector<T> block(std::min(count, elements_per_write));
  for (std::uint64_t first = 0; first < count; first += block.size()) {
    const auto part = std::span(block).first(std::min<std::uint64_t>(block.size(), count - first));
    fill(first, part);
    TROUPE_RETURN_IF_ERROR(file.write(std::as_bytes(part)));
  }
  return file.close();
}

Status write_lists(const RmatOptions& options, const Lists& lists, const fs::path& dir) {
  TROUPE_RETURN_IF_ERROR(write_blocks<std::int64_t>(
      dir / "indptr.npy", i64_type, lists.offsets.size(),
      [&](std::uint64_t first, std::span<std::int64_t> block) {
        std::copy_n(lists.offsets.begin() + static_cast<std::ptrdiff_t>(first), block.size(),
                    block.begin());
      }));
  return write_blocks<std::int64_t>(dir / "indices64.npy", i64_type, list_entries(options),
                                    [&](std::uint64_t first, std::span<std::int64_t> block) {
                                      std::copy_n(lists.neighbours.get() + first, block.size(),
                                                  block.begin());
                                    });
}

Status write_features(const RmatOptions& options, Executor& executor, const fs::path& path) {
  const auto cols = options.features;
  TROUPE_ASSIGN_OR_RETURN(auto file, NpyStream::create(path, f32_type, {options.nodes, cols}));
  const auto key = rmat::stream(options.seed, rmat::Stream::features);
  const auto rows_per_task = std::max<std::uint64_t>(1, (std::uint64_t{1} << 16) / cols);
  const auto rows_per_write = std::max<std::uint64_t>(1, 4 * elements_per_write / cols);
  std::vector<float> block(std::min(options.nodes, rows_per_write) * cols);
  for (std::uint64_t first = 0; first < options.nodes; first += rows_per_write) {
    const auto rows = std::min(rows_per_write, options.nodes - first);
    executor.parallel_for(chunks_of(rows, rows_per_task), [&](std::size_t task) {
      const auto end = std::min(rows, (task + 1) * rows_per_task);
      for (std::uint64_t row = task * rows_per_task; row < end; ++row) {
        DrawStream draw(key, first + row);
        std::generate_n(block.begin() + static_cast<std::ptrdiff_t>(row * cols), cols,
                        [&draw] { return unit_float(draw.next()) - 0.5F; });
      }
    });
    TROUPE_RETURN_IF_ERROR(file.write(std::as_bytes(std::span(block).first(rows * cols))));
  }
  return file.close();
}

Status write_labels(const RmatOptions& options, const fs::path& path) {
  const auto key = rmat::stream(options.seed, rmat::Stream::labels);
  const auto classes = static_cast<std::uint32_t>(options.classes);
  return write_blocks<std::int64_t>(path, i64_type, options.nodes,
                                    [&](std::uint64_t node, std::span<std::int64_t> block) {
                                      for (auto& label : block) {
                                        label = DrawStream(key, node++).below(classes);
                                      }
                                    });
}

Status write_train(const RmatOptions& options, const fs::path& path) {
  const Permutation order(rmat::stream(options.seed, rmat::Stream::train), options.nodes);
  return write_blocks<std::int64_t>(path, i64_type, options.train,
                                    [&](std::uint64_t i, std::span<std::int64_t> block) {
                                      for (auto& node : block) {
                                        node = static_cast<std::int64_t>(order(i++));
                                      }
                                    });
}

Status write_meta(const RmatOptions& options, const fs::path& path) {
  const auto optional = [](const char* key, std::uint64_t value) {
    return value == 0 ? std::string() : fmt::format("  \"{}\": {},\n", key, value);
  };
  const auto text = fmt::format(
      "{{\n  \"num_nodes\": {},\n{}{}  \"generator\": {{ \"kind\": \"rmat\", \"nodes\": {}, "
      "\"edges\": {}, \"a\": {}, \"b\": {}, \"c\": {}, \"symmetrize\": {}, \"features\": {}, "
      "\"classes\": {}, \"train\": {}, \"seed\": {} }}\n}}\n",
      options.nodes, optional("num_features", options.features),
      optional("num_classes", options.classes), options.nodes, options.edges, options.a, options.b,
      options.c, options.symmetrize, options.features, options.classes, options.train,
      options.seed);
  const std::array<std::span<const std::byte>, 1> pieces{std::as_bytes(std::span(text))};
  return write_new_file(path, pieces);
}

Result<RmatSummary> generate(const RmatOptions& options, Executor& executor, const fs::path& out) {
  TROUPE_RETURN_IF_ERROR(check(options));
  TROUPE_RETURN_IF_ERROR(check_memory(options));
  TROUPE_ASSIGN_OR_RETURN(auto staged, StagedDirectory::create(out));
  const auto& dir = staged.path();
  RmatSummary summary;
  {
    const auto lists = build_lists(options, executor);
    TROUPE_RETURN_IF_ERROR(write_lists(options, lists, dir));
    summary = summarise(options, lists);
  }
  if (options.features > 0) {
    TROUPE_RETURN_IF_ERROR(write_features(options, executor, dir / "x.npy"));
  }
  if (options.classes > 0) {
    TROUPE_RETURN_IF_ERROR(write_labels(options, dir / "y.npy"));
  }
  if (options.train > 0) {
    TROUPE_RETURN_IF_ERROR(write_train(options, dir / "train_idx.npy"));
  }
  TROUPE_RETURN_IF_ERROR(write_meta(options, dir / "meta.json"));
  TROUPE_RETURN_IF_ERROR(staged.commit(Flush::no));
  return summary;
}

}  // namespace

Result<RmatSummary> generate_rmat(const RmatOptions& options, Executor& executor,
                                  const std::filesystem::path& out) {
  try {
    return generate(options, executor, out);
  } catch (const std::bad_alloc&) {
    return Error(Errc::out_of_memory,
                 fmt::format("no memory for {} nodes and {} edges, which need {} bytes",
                             options.nodes, list_entries(options), memory_bytes(options)));
  }
}

}  // namespace troupe
