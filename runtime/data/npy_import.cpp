#include "runtime/data/npy_import.hpp"

#include "runtime/data/npy_source.hpp"
#include "runtime/graph/store_writer.hpp"

#include <fmt/format.h>
#include <new>

namespace troupe {
namespace {

using namespace npy_source;

/// All that a directory holds, before it becomes a store.
struct Input {
  std::optional<Features> features;
  std::optional<Labels> labels;
  Edges edges;
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

Result<Input> read_input(const Source& source) {
  Input input;
  TROUPE_ASSIGN_OR_RETURN(input.features, read_features(source));
  TROUPE_ASSIGN_OR_RETURN(input.labels, read_labels(source));
  TROUPE_ASSIGN_OR_RETURN(const auto known, known_nodes(source, input));
  TROUPE_ASSIGN_OR_RETURN(input.edges, read_edges(source, known));
  input.nodes = known.value_or(input.edges.least_nodes);
  return input;
}

std::vector<SplitInfo> describe_splits(const Seeds& seeds) {
  std::vector<SplitInfo> splits;
  for (const auto& [name, ids] : seeds) {  // ordered by split, then role
    if (splits.empty() || splits.back().name != name.first) {
      splits.push_back({name.first, {}});
    }
    splits.back().roles[name.second] = {NodeTypeId{0}, ids.size()};
  }
  return splits;
}

GraphContents make_contents(const Meta& meta, Input input, Seeds seeds) {
  GraphContents contents;
  NodeTypeInfo nodes{meta.node_type, input.nodes, std::nullopt, std::nullopt, std::nullopt};
  GraphContents::Nodes arrays;
  if (input.features) {
    nodes.features = input.features->info;
    arrays.features = std::move(input.features->data);
  }
  if (input.labels) {
    nodes.labels = input.labels->info;
    arrays.labels = std::move(input.labels->classes);
    arrays.targets = std::move(input.labels->targets);
  }
  EdgeTypeInfo edges;
  edges.name = meta.edge_type;
  edges.count = input.edges.sources.size();
  edges.has_edge_ids = true;
  contents.info.node_types.push_back(std::move(nodes));
  contents.info.edge_types.push_back(std::move(edges));
  contents.info.splits = describe_splits(seeds);
  contents.nodes.push_back(std::move(arrays));
  contents.in_lists.push_back(
      build_in_lists({input.edges.sources, input.edges.destinations}, input.nodes, input.nodes));
  contents.seeds = std::move(seeds);
  return contents;
}

Result<GraphInfo> import_checked(const std::filesystem::path& dir,
                                 const std::filesystem::path& out) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(dir, ignored)) {
    return Error(Errc::not_found,
                 fmt::format("{}: expected a directory of .npy files, found none", dir.string()));
  }
  const auto in_dir = [&](Error error) { return std::move(error).with(dir.string()); };
  auto meta = read_meta(dir);
  if (!meta.ok()) {
    return in_dir(std::move(meta).error());
  }
  const Source source{dir, *meta};
  auto input = read_input(source);
  if (!input.ok()) {
    return in_dir(std::move(input).error());
  }
  auto seeds = read_seeds(source, input->nodes);
  if (!seeds.ok()) {
    return in_dir(std::move(seeds).error());
  }
  return write_graph_store(make_contents(*meta, *std::move(input), *std::move(seeds)), out);
}

}  // namespace

Result<GraphInfo> import_npy(const std::filesystem::path& dir, const std::filesystem::path& out) {
  try {
    return import_checked(dir, out);
  } catch (const std::bad_alloc&) {  // ids or shapes may ask for any amount
    return Error(Errc::out_of_memory,
                 fmt::format("{}: no memory for the graph that its files describe", dir.string()));
  }
}

}  // namespace troupe
