#include "runtime/data/npy_import.hpp"

#include "runtime/data/npy_source.hpp"

#include <fmt/format.h>
#include <new>

namespace troupe {
namespace {

using namespace npy_source;

/// All that a directory holds, before it becomes a store.
struct Input {
  std::optional<FeatureFiles> features;
  std::optional<LabelFile> labels;
  EdgeFiles edges;
  std::uint64_t nodes = 0;
};

/// The number of nodes as one source says it.
struct NodeCount {
  std::string file;
  std::uint64_t nodes = 0;
};

/// Settles the number of nodes: all that state it must agree.
Result<std::optional<std::uint64_t>> known_nodes(const Source& source, const Input& input) {
  std::vector<NodeCount> counts;
  if (source.meta.num_nodes) {
    counts.push_back({"meta.json (num_nodes)", *source.meta.num_nodes});
  }
  if (input.features) {
    counts.push_back({source.has("x.npy") ? "x.npy" : "x_indptr.npy", input.features->rows});
  }
  if (input.labels) {
    counts.push_back({"y.npy", input.labels->rows});
  }
  for (const auto& count : counts) {
    if (count.nodes != counts.front().nodes) {
      return bad_input(count.file,
                       fmt::format("expected rows for {} nodes, as in {}, got {}",
                                   counts.front().nodes, counts.front().file, count.nodes));
    }
  }
  return counts.empty() ? std::optional<std::uint64_t>() : counts.front().nodes;
}

Result<Input> open_input(const Source& source) {
  Input input;
  TROUPE_ASSIGN_OR_RETURN(input.features, open_features(source));
  TROUPE_ASSIGN_OR_RETURN(input.labels, open_labels(source));
  TROUPE_ASSIGN_OR_RETURN(const auto known, known_nodes(source, input));
  TROUPE_ASSIGN_OR_RETURN(input.edges, open_edges(source, known));
  input.nodes = known.value_or(input.edges.least_nodes);
  return input;
}

/// One import: what is read and where it goes.
class Import {
 public:
  Import(const Source& source, const Input& input, const ImportOptions& options, Executor& executor)
      : source_(source), input_(input), options_(options), executor_(executor) {}

  Result<GraphInfo> write(Seeds seeds, StoreWriter& writer) const {
    NewNodeType nodes{source_.meta.node_type, input_.nodes, std::nullopt, std::nullopt};
    if (input_.features) {
      nodes.features = input_.features->info;
    }
    if (input_.labels) {
      nodes.labels = input_.labels->info;
    }
    TROUPE_ASSIGN_OR_RETURN(const auto node, writer.add_node_type(nodes));
    TROUPE_ASSIGN_OR_RETURN(const auto edge, writer.add_edge_type({source_.meta.edge_type, node,
                                                                   node, options_.edges}));
    TROUPE_RETURN_IF_ERROR(write_rows(node, writer));
    TROUPE_RETURN_IF_ERROR(write_edges(edge, writer));
    for (auto& [name, ids] : seeds) {
      TROUPE_RETURN_IF_ERROR(writer.set_seeds(name.first, name.second, node, std::move(ids)));
    }
    return writer.finish();
  }

 private:
  Status write_rows(NodeTypeId node, StoreWriter& writer) const {
    if (input_.features) {
      const auto& info = input_.features->info;
      const auto row_bytes = info.cols * size_bytes(info.dtype);
      std::uint64_t rows = 0;
      TROUPE_RETURN_IF_ERROR(read_features(*input_.features, [&](std::span<const std::byte> block) {
        rows += block.size() / row_bytes;
        report("reading features", rows, input_.nodes, "rows");
        return writer.add_features(node, block);
      }));
    }
    if (!input_.labels) {
      return ok_status();
    }
    return read_labels(
        *input_.labels,
        [&](std::span<const std::int64_t> labels) { return writer.add_labels(node, labels); },
        [&](std::span<const float> targets) { return writer.add_targets(node, targets); });
  }

  Status write_edges(EdgeTypeId edge, StoreWriter& writer) const {
    std::uint64_t done = 0;
    return read_edges(
        input_.edges, input_.nodes, executor_,
        [&](std::span<const std::uint64_t> sources, std::span<const std::uint64_t> destinations) {
          done += sources.size();
          report("reading edges", done, input_.edges.count, "edges");
          return writer.add_edges(edge, sources, destinations);
        });
  }

  void report(std::string_view stage, std::uint64_t done, std::uint64_t total,
              std::string_view unit) const {
    if (options_.writer.progress) {
      options_.writer.progress({stage, done, total, unit});
    }
  }

  const Source& source_;
  const Input& input_;
  const ImportOptions& options_;
  Executor& executor_;
};

Result<GraphInfo> import_open(const Source& source, const ImportOptions& options,
                              Executor& executor, StoreWriter& writer) {
  TROUPE_ASSIGN_OR_RETURN(const auto input, open_input(source));
  TROUPE_ASSIGN_OR_RETURN(auto seeds, read_seeds(source, input.nodes));
  return Import(source, input, options, executor).write(std::move(seeds), writer);
}

Result<GraphInfo> import_checked(const std::filesystem::path& dir, const std::filesystem::path& out,
                                 const ImportOptions& options, Executor& executor) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(dir, ignored)) {
    return Error(Errc::not_found,
                 fmt::format("{}: expected a directory of .npy files, found none", dir.string()));
  }
  auto meta = read_meta(dir);
  if (!meta.ok()) {
    return std::move(meta).error().with(dir.string());
  }
  TROUPE_ASSIGN_OR_RETURN(auto writer, StoreWriter::create(out, options.writer, executor));
  auto info = import_open({dir, *std::move(meta)}, options, executor, writer);
  if (!info.ok()) {
    return std::move(info).error().with(dir.string());
  }
  return info;
}

}  // namespace

Result<GraphInfo> import_npy(const std::filesystem::path& dir, const std::filesystem::path& out,
                             const ImportOptions& options, Executor& executor) {
  try {
    return import_checked(dir, out, options, executor);
  } catch (const std::bad_alloc&) {  // ids or shapes may ask for any amount
    return Error(Errc::out_of_memory,
                 fmt::format("{}: no memory for the graph that its files describe", dir.string()));
  }
}

Result<GraphInfo> import_npy(const std::filesystem::path& dir, const std::filesystem::path& out) {
  InlineExecutor executor;
  return import_npy(dir, out, {}, executor);
}

}  // namespace troupe
