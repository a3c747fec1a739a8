// A generated graph as NumPy files. Its lists are built in memory.
#include "runtime/base/even_share.hpp"
#include "runtime/base/files.hpp"
#include "runtime/base/staged_directory.hpp"
#include "runtime/data/npy_stream.hpp"
#include "runtime/generate/one_type_graph.hpp"

#include <algorithm>
#include <atomic>
#include <fmt/format.h>
#include <memory>
#include <new>
#include <numeric>
#include <vector>

namespace troupe::generate {
namespace {

namespace fs = std::filesystem;

constexpr NpyType i64_type{'i', 8};
constexpr NpyType f32_type{'f', 4};
constexpr std::uint64_t edges_per_chunk = std::uint64_t{1} << 14;
constexpr std::uint64_t nodes_per_chunk = std::uint64_t{1} << 12;
constexpr std::uint64_t elements_per_write = std::uint64_t{1} << 20;

/// What is written.
struct RowSource {
  const OneTypeGraph& graph;
  const GenerateOptions& options;
  Executor& executor;

  std::uint64_t list_entries() const { return graph.edges * (options.symmetrize ? 2 : 1); }
  /// The lists, the offsets, the tables; buffers for writing.
  std::uint64_t memory_bytes() const {
    return 4 * list_entries() + 8 * graph.nodes + graph.table_bytes + 4 * options.features +
           (std::uint64_t{32} << 20);
  }
};

Status check(const RowSource& source) {
  const auto& options = source.options;
  if (options.dedup || options.drop_self_loops || options.feature_dtype != DType::f32) {
    return Error(
        Errc::invalid_argument,
        "npy: expected all edges and features of f32, got dedup, drop_self_loops or another "
        "dtype\ntry: without --npy");
  }
  return check_memory(
      source.memory_bytes(),
      fmt::format("the lists of {} nodes and {} edges", source.graph.nodes, source.list_entries()));
}

/// In-neighbours of all nodes.
struct Lists {
  std::vector<std::uint64_t> offsets;
  std::unique_ptr<std::uint32_t[]> neighbours;
};

/// Calls `visit(source, destination)` for every edge of the graph, on many threads.
template <class Visit>
void for_each_edge(const RowSource& source, const EdgeDraw& draw, const Visit& visit) {
  const auto edges = source.graph.edges;
  source.executor.parallel_for(chunks_of(edges, edges_per_chunk), [&](std::size_t chunk) {
    const auto first = chunk * edges_per_chunk;
    std::vector<std::uint64_t> sources(std::min(edges_per_chunk, edges - first));
    std::vector<std::uint64_t> destinations(sources.size());
    draw.draw(first, sources, destinations);
    for (std::size_t i = 0; i < sources.size(); ++i) {
      visit(sources[i], destinations[i]);
      if (source.options.symmetrize) {
        visit(destinations[i], sources[i]);
      }
    }
  });
}

std::uint64_t take_next(std::uint64_t& counter) {
  return std::atomic_ref(counter).fetch_add(1, std::memory_order_relaxed);
}

/// Threads put neighbours into a list in any order; sorting it makes the order that of the ids
/// alone.
Lists build_lists(const RowSource& source) {
  const auto draw = source.graph.draw(source.executor);
  const auto nodes = source.graph.nodes;
  Lists lists;
  auto& offsets = lists.offsets;
  offsets.resize(nodes + 1);
  for_each_edge(source, *draw, [&](std::uint64_t, std::uint64_t destination) {
    take_next(offsets[destination + 1]);
  });
  // offsets[i + 1] is where the list of node i begins; filling moves it to where the list ends.
  std::exclusive_scan(offsets.begin() + 1, offsets.end(), offsets.begin() + 1, std::uint64_t{0});
  lists.neighbours = std::make_unique_for_overwrite<std::uint32_t[]>(source.list_entries());
  for_each_edge(source, *draw, [&](std::uint64_t neighbour, std::uint64_t destination) {
    lists.neighbours[take_next(offsets[destination + 1])] = static_cast<std::uint32_t>(neighbour);
  });
  source.executor.parallel_for(chunks_of(nodes, nodes_per_chunk), [&](std::size_t chunk) {
    const auto end = std::min(nodes, (chunk + 1) * nodes_per_chunk);
    for (std::uint64_t node = chunk * nodes_per_chunk; node < end; ++node) {
      std::sort(lists.neighbours.get() + offsets[node], lists.neighbours.get() + offsets[node + 1]);
    }
  });
  return lists;
}

NpySummary summarise(const RowSource& source, const Lists& lists) {
  constexpr std::uint64_t largest = ~std::uint32_t{0};
  NpySummary summary;
  const auto nodes = source.graph.nodes;
  summary.edges = source.list_entries();
  summary.memory_bytes = source.memory_bytes();
  std::vector<std::uint32_t> degrees(nodes);  // a list of 2^32 counts as one shorter
  for (std::uint64_t node = 0; node < nodes; ++node) {
    const auto degree = lists.offsets[node + 1] - lists.offsets[node];
    summary.max_degree = std::max(summary.max_degree, degree);
    summary.isolated_nodes += degree == 0 ? 1 : 0;
    degrees[node] = static_cast<std::uint32_t>(std::min(degree, largest));
  }
  const auto middle = degrees.begin() + static_cast<std::ptrdiff_t>(nodes / 2);
  std::nth_element(degrees.begin(), middle, degrees.end());
  summary.median_degree = *middle;
  return summary;
}

/// Writes numbers as i64, block by block.
/// \param begin  random access, of whole numbers
template <class Begin>
Status write_numbers(const fs::path& path, Begin begin, std::uint64_t count) {
  TROUPE_ASSIGN_OR_RETURN(auto file, NpyStream::create(path, i64_type, {count}));
  std::vector<std::int64_t> block(std::min(count, elements_per_write));
  for (std::uint64_t first = 0; first < count; first += block.size()) {
    const auto part = std::span(block).first(std::min<std::uint64_t>(block.size(), count - first));
    std::copy_n(begin + static_cast<std::ptrdiff_t>(first), part.size(), part.begin());
    TROUPE_RETURN_IF_ERROR(file.write(std::as_bytes(part)));
  }
  return file.close();
}

Status write_lists(const RowSource& source, const Lists& lists, const fs::path& dir) {
  TROUPE_RETURN_IF_ERROR(
      write_numbers(dir / "indptr.npy", lists.offsets.begin(), lists.offsets.size()));
  return write_numbers(dir / "indices64.npy", lists.neighbours.get(), source.list_entries());
}

Status write_rows(const RowSource& source, const fs::path& dir) {
  const auto nodes = source.graph.nodes;
  if (const auto features = features_of(source.graph, source.options)) {
    TROUPE_ASSIGN_OR_RETURN(
        auto file, NpyStream::create(dir / "x.npy", f32_type, {nodes, source.options.features}));
    TROUPE_RETURN_IF_ERROR(features->read(source.executor, [&file](std::span<const float> rows) {
      return file.write(std::as_bytes(rows));
    }));
    TROUPE_RETURN_IF_ERROR(file.close());
  }
  if (const auto labels = labels_of(source.graph, source.options)) {
    TROUPE_ASSIGN_OR_RETURN(auto file, NpyStream::create(dir / "y.npy", i64_type, {nodes}));
    TROUPE_RETURN_IF_ERROR(labels->read(
        source.executor,
        [&file](std::span<const std::int64_t> rows) { return file.write(std::as_bytes(rows)); },
        [](std::span<const float>) { return ok_status(); }));
    TROUPE_RETURN_IF_ERROR(file.close());
  }
  return ok_status();
}

Status write_seeds(const RowSource& source, const fs::path& dir) {
  for (const auto& [name, seeds] : seeds_of(source.graph, source.options, source.executor)) {
    TROUPE_RETURN_IF_ERROR(
        write_numbers(dir / (name.second + "_idx.npy"), seeds.ids.begin(), seeds.ids.size()));
  }
  return ok_status();
}

Status write_meta(const RowSource& source, const fs::path& path) {
  const auto optional = [](const char* key, std::uint64_t value) {
    return value == 0 ? std::string() : fmt::format("  \"{}\": {},\n", key, value);
  };
  return write_new_text_file(
      path, fmt::format("{{\n  \"num_nodes\": {},\n{}{}  \"generator\": {}\n}}\n",
                        source.graph.nodes, optional("num_features", source.options.features),
                        optional("num_classes", source.options.classes),
                        description(source.graph, source.options)));
}

Result<NpySummary> write(const RowSource& source, const fs::path& out) {
  TROUPE_RETURN_IF_ERROR(check(source));
  TROUPE_ASSIGN_OR_RETURN(auto staged, StagedDirectory::create(out));
  const auto& dir = staged.path();
  NpySummary summary;
  {
    const auto lists = build_lists(source);
    TROUPE_RETURN_IF_ERROR(write_lists(source, lists, dir));
    summary = summarise(source, lists);
  }
  TROUPE_RETURN_IF_ERROR(write_rows(source, dir));
  TROUPE_RETURN_IF_ERROR(write_seeds(source, dir));
  TROUPE_RETURN_IF_ERROR(write_meta(source, dir / "meta.json"));
  TROUPE_RETURN_IF_ERROR(staged.commit(Flush::no));
  return summary;
}

}  // namespace

Result<NpySummary> write_npy(const OneTypeGraph& graph, const GenerateOptions& options,
                             Executor& executor, const std::filesystem::path& out) {
  const RowSource source{graph, options, executor};
  try {
    return write(source, out);
  } catch (const std::bad_alloc&) {
    return Error(Errc::out_of_memory,
                 fmt::format("no memory for {} nodes and {} edges, which need {} bytes",
                             graph.nodes, source.list_entries(), source.memory_bytes()));
  }
}

}  // namespace troupe::generate
