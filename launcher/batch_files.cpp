#include "launcher/batch_files.hpp"

#include "launcher/version.hpp"
#include "runtime/base/files.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/graph/npy.hpp"
#include "runtime/graph/store_layout.hpp"
#include "runtime/sample/knowledge/chunk_candidates.hpp"
#include "runtime/sample/walks/walk_pairs.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <fmt/format.h>
#include <mutex>
#include <type_traits>

namespace troupe {
namespace {

namespace fs = std::filesystem;
using OrderedJson = nlohmann::ordered_json;
using Shape = std::vector<std::uint64_t>;

constexpr const char* layout_text =
    "edges of type E: sources[offsets[r]:offsets[r+1]] are the places, among the nodes of E's "
    "source side, of the neighbors drawn for row r; rows of hop h are row_begin[h]:row_begin[h+1]";

/// Element type of a file. Ids are below 2^48 and signed, as PyTorch has no arithmetic on u64.
template <class T>
constexpr NpyType file_type() {
  if constexpr (std::is_enum_v<T>) {
    return {'i', sizeof(T)};
  } else if constexpr (std::is_floating_point_v<T>) {
    return {'f', sizeof(T)};
  } else {
    return {std::is_signed_v<T> ? 'i' : 'u', sizeof(T)};
  }
}

template <class T>
Status write_array(const fs::path& file, std::span<const T> values, Shape shape) {
  const auto header = npy_header(file_type<T>(), shape);
  const std::array pieces{std::as_bytes(std::span(header)), std::as_bytes(values)};
  return write_new_file(file, pieces);
}
template <class T, class Allocator>
Status write_array(const fs::path& file, const std::vector<T, Allocator>& values) {
  return write_array(file, std::span<const T>(values), {values.size()});
}
Status write_rows(const fs::path& file, ConstMatrix rows, std::uint64_t cols) {
  return write_array(file, rows.flat(), {rows.rows, cols});
}

/// Makes a folder, not its parents: one that was removed at a signal must not come back.
Status make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directory(folder, error);
  return error ? Status(file_error(folder, "cannot create the directory", error.value()))
               : ok_status();
}

/// Ends of links, as places among the nodes of their types.
Status write_links(const fs::path& folder, const BatchLinks& links) {
  TROUPE_RETURN_IF_ERROR(write_array(folder / "link_sources.npy", links.sources));
  TROUPE_RETURN_IF_ERROR(write_array(folder / "link_destinations.npy", links.destinations));
  TROUPE_RETURN_IF_ERROR(write_array(folder / "negative_sources.npy", links.negative_sources));
  TROUPE_RETURN_IF_ERROR(
      write_array(folder / "negative_destinations.npy", links.negative_destinations));
  if (!links.candidates.empty()) {
    TROUPE_RETURN_IF_ERROR(write_array(folder / "candidates.npy", links.candidates));
  }
  if (!links.labels.empty()) {
    TROUPE_RETURN_IF_ERROR(write_array(folder / "link_labels.npy", links.labels));
  }
  return links.times.empty() ? ok_status() : write_array(folder / "link_times.npy", links.times);
}

/// Walks as places among the nodes of the columns' types, -1 where there is none; pairs as places in them.
Status write_walks(const fs::path& folder, const BatchWalks& walks, std::uint32_t window) {
  std::vector<std::int64_t> nodes(walks.nodes.begin(), walks.nodes.end());
  std::ranges::replace(nodes, std::int64_t{BatchWalks::no_node}, std::int64_t{-1});
  const auto columns = walks.columns();
  TROUPE_RETURN_IF_ERROR(write_array(folder / "walks.npy", std::span<const std::int64_t>(nodes),
                                     {nodes.size() / columns, columns}));
  TROUPE_RETURN_IF_ERROR(write_array(folder / "walk_restarts.npy", walks.restarts));
  if (window == 0) {
    return ok_status();
  }
  const auto pairs = walk_pairs(walks, window);
  TROUPE_RETURN_IF_ERROR(write_array(folder / "pair_centers.npy", pairs.centers));
  return write_array(folder / "pair_contexts.npy", pairs.contexts);
}

Status write_seeds(const fs::path& folder, const Batch& batch) {
  const auto& sampled = *batch.sampled;
  if (sampled.links) {
    return write_links(folder, *sampled.links);
  }
  const auto& originals = batch.rows[raw(sampled.seed_type)].original_ids;
  std::vector<OriginalId> seeds;
  std::ranges::transform(sampled.seed_index, std::back_inserter(seeds),
                         [&](std::uint32_t place) { return originals[place]; });
  TROUPE_RETURN_IF_ERROR(write_array(folder / "seeds.npy", seeds));
  TROUPE_RETURN_IF_ERROR(write_array(folder / "seed_index.npy", sampled.seed_index));
  if (!batch.labels.empty()) {
    TROUPE_RETURN_IF_ERROR(write_array(folder / "labels.npy", batch.labels));
  }
  if (batch.targets.cols() > 0) {
    return write_rows(folder / "targets.npy", batch.targets.view(), batch.targets.cols());
  }
  return ok_status();
}

/// Columns of a type into a folder of their own, if it has some.
Status write_columns(const fs::path& folder, const Batch& batch, bool of_edges, std::size_t type) {
  bool made = false;
  for (const auto& column : batch.columns) {
    if (column.of_edges != of_edges || column.type != type) {
      continue;
    }
    if (!made) {
      TROUPE_RETURN_IF_ERROR(make_folder(folder / "columns"));
      made = true;
    }
    const auto header = npy_header(npy_type(column.info.dtype),
                                   store_layout::column_shape(column.info, column.rows));
    const std::array pieces{std::as_bytes(std::span(header)), column.values.bytes};
    TROUPE_RETURN_IF_ERROR(
        write_new_file(folder / "columns" / (column.info.name + ".npy"), pieces));
  }
  return ok_status();
}

Status write_nodes(const fs::path& folder, const Batch& batch, NodeTypeId id,
                   const NodeTypeInfo& type) {
  const auto& nodes = batch.sampled->nodes[raw(id)];
  const auto& rows = batch.rows[raw(id)];
  TROUPE_RETURN_IF_ERROR(make_folder(folder));
  TROUPE_RETURN_IF_ERROR(write_array(folder / "ids.npy", rows.original_ids));
  TROUPE_RETURN_IF_ERROR(write_array(folder / "hop_end.npy", nodes.hop_end));
  if (batch.sampled->disjoint) {
    TROUPE_RETURN_IF_ERROR(write_array(folder / "trees.npy", nodes.trees));
  }
  if (type.features && rows.features.cols() > 0) {
    return write_rows(folder / "features.npy", rows.features.view(), type.features->cols);
  }
  return ok_status();
}

Status write_edges(const fs::path& folder, const Batch& batch, EdgeTypeId id, EdgeData data) {
  const auto& edges = batch.sampled->edges[raw(id)];
  TROUPE_RETURN_IF_ERROR(make_folder(folder));
  TROUPE_RETURN_IF_ERROR(write_array(folder / "row_begin.npy", edges.row_begin));
  TROUPE_RETURN_IF_ERROR(write_array(folder / "offsets.npy", edges.offsets.dense()));
  TROUPE_RETURN_IF_ERROR(write_array(folder / "sources.npy", edges.sources));
  // Edges whose reverses are of another type may have less.
  const auto has = [&edges](bool wanted, const auto& values) {
    return wanted && values.size() == edges.sources.size();
  };
  if (has(data.edge_ids, edges.edge_ids)) {
    TROUPE_RETURN_IF_ERROR(write_array(folder / "edge_ids.npy", edges.edge_ids));
  }
  if (has(data.weights, edges.weights)) {
    TROUPE_RETURN_IF_ERROR(write_array(folder / "weights.npy", edges.weights));
  }
  if (has(data.times, edges.times)) {
    TROUPE_RETURN_IF_ERROR(write_array(folder / "times.npy", edges.times));
  }
  if (data.entries) {
    const auto& rows = batch.edge_features[raw(id)];
    return write_rows(folder / "features.npy", rows.view(), rows.cols());
  }
  return ok_status();
}

/// The first error of tasks that run side by side, by batch; no batch after it is begun.
class FirstError {
 public:
  bool failed() const { return failed_; }
  void add(std::uint64_t number, const Error& error) {
    const std::lock_guard guard(mutex_);
    if (!failed_ || number < number_) {
      number_ = number;
      status_ = error;
      failed_ = true;
    }
  }
  Status take() && { return std::move(status_); }

 private:
  std::mutex mutex_;
  std::atomic<bool> failed_ = false;
  std::uint64_t number_ = 0;
  Status status_ = ok_status();
};

OrderedJson types_json(const Job& job, const BatchSource& source) {
  const auto& graph = source.graph();
  OrderedJson nodes = OrderedJson::array();
  for (const auto& type : graph.node_types) {
    const bool collected = type.features && job.features.collect;
    nodes.push_back({{"name", type.name}, {"features", collected ? type.features->cols : 0}});
  }
  const bool in = source.options().dir == EdgeDir::in;
  OrderedJson edges = OrderedJson::array();
  for (const auto& type : graph.edge_types) {
    const auto& from = graph.node_types[raw(type.source)].name;
    const auto& to = graph.node_types[raw(type.destination)].name;
    const bool collected = type.features && source.options().edge_data.entries;
    edges.push_back({{"name", type.name},
                     {"rows_of", in ? to : from},
                     {"sources_of", in ? from : to},
                     {"features", collected ? type.features->cols : 0}});
  }
  return {{"node_types", std::move(nodes)}, {"edge_types", std::move(edges)}};
}

/// Adds the types of a batch of links, and the end that its candidates replace.
void describe_links(const BatchKey& key, const BatchLinks& links, const GraphInfo& graph,
                    WrittenBatch& written) {
  written.links_of = graph.edge_types[raw(links.edge_type)].name;
  written.link_sources_of = graph.node_types[raw(links.source_type)].name;
  written.link_destinations_of = graph.node_types[raw(links.destination_type)].name;
  if (!links.candidates.empty()) {
    written.replaced = replaced_in(key) == ReplacedEnd::tail ? "tail" : "head";
  }
}

OrderedJson batch_json(const WrittenBatch& batch, std::size_t number, const OrderedJson& digest) {
  OrderedJson json{
      {"number", number}, {"seeds", batch.seeds}, {"nodes", batch.nodes}, {"edges", batch.edges}};
  if (!batch.links_of.empty()) {
    json["links_of"] = batch.links_of;
    json["link_sources_of"] = batch.link_sources_of;
    json["link_destinations_of"] = batch.link_destinations_of;
  }
  if (!batch.replaced.empty()) {
    json["replaced"] = batch.replaced;
  }
  json["digest"] = digest;
  return json;
}

OrderedJson digest_json(const Digest& digest, DigestMode mode) {
  return mode == DigestMode::off ? OrderedJson() : OrderedJson(to_string(digest));
}

}  // namespace

std::string batch_folder(std::uint64_t number) {
  return fmt::format("batch-{}", number);
}

Status write_batch(const fs::path& folder, const Batch& batch, const GraphInfo& graph,
                   const SampleOptions& options) {
  TROUPE_RETURN_IF_ERROR(make_folder(folder));
  TROUPE_RETURN_IF_ERROR(write_seeds(folder, batch));
  if (const auto& walks = batch.sampled->walks) {
    TROUPE_RETURN_IF_ERROR(write_walks(folder, *walks, options.walks ? options.walks->window : 0));
  }
  for (std::size_t t = 0; t < graph.node_types.size(); ++t) {
    const auto& type = graph.node_types[t];
    const auto of_type = folder / ("nodes-" + type.name);
    TROUPE_RETURN_IF_ERROR(write_nodes(of_type, batch, static_cast<NodeTypeId>(t), type));
    TROUPE_RETURN_IF_ERROR(write_columns(of_type, batch, false, t));
  }
  for (std::size_t t = 0; t < graph.edge_types.size(); ++t) {
    const auto& type = graph.edge_types[t];
    const auto of_type = folder / ("edges-" + type.name);
    TROUPE_RETURN_IF_ERROR(write_edges(of_type, batch, static_cast<EdgeTypeId>(t),
                                       options.edge_data & edge_data_of(type)));
    TROUPE_RETURN_IF_ERROR(write_columns(of_type, batch, true, t));
  }
  return ok_status();
}

Result<std::vector<WrittenBatch>> write_batches(const fs::path& folder, const BatchSource& source,
                                                const BatchesRequest& request, Executor& executor) {
  std::vector<WrittenBatch> written(request.count);
  FirstError error;
  const auto write_one = [&](std::uint64_t number) -> Status {
    TROUPE_ASSIGN_OR_RETURN(const auto batch, source.batch(request.epoch, number));
    const auto& sampled = *batch.sampled;
    written[number] = {sampled.num_seeds(), sampled.num_nodes(), sampled.num_edges(),
                       digest_of_trained(batch, request.digest)};
    if (sampled.links) {
      describe_links(sampled.key, *sampled.links, source.graph(), written[number]);
    }
    return write_batch(folder / batch_folder(number), batch, source.graph(), source.options());
  };
  executor.parallel_for(request.count, [&](std::size_t number) {
    const auto done = error.failed() ? ok_status() : write_one(number);
    if (!done) {
      error.add(number, done.error());
    }
  });
  TROUPE_RETURN_IF_ERROR(std::move(error).take());
  return written;
}

Digest digest_of_batches(const std::vector<WrittenBatch>& batches) {
  Digest running;
  for (const auto& batch : batches) {
    running = chain(running, batch.digest);
  }
  return running;
}

std::string batches_json(const Job& job, const BatchSource& source, const BatchesRequest& request,
                         const std::vector<WrittenBatch>& batches) {
  OrderedJson json{{"epoch", request.epoch + std::uint64_t{1}},
                   {"count", batches.size()},
                   {"batches_per_epoch", source.num_batches()},
                   {"digest", digest_json(digest_of_batches(batches), request.digest)},
                   {"sampling_version", sampling_version},
                   {"layout", layout_text}};
  json.update(types_json(job, source));
  if (const auto& walks = source.options().walks) {
    json["walk_steps_along"] = OrderedJson::array();
    for (const auto type : walks->along) {
      json["walk_steps_along"].push_back(source.graph().edge_types[raw(type)].name);
    }
  }
  auto& list = json["batches"] = OrderedJson::array();
  for (std::size_t number = 0; number < batches.size(); ++number) {
    const auto& batch = batches[number];
    list.push_back(batch_json(batch, number, digest_json(batch.digest, request.digest)));
  }
  json["job"] = json_of_text(job.json);
  return text_of_json(json, {.indent = 2}) + "\n";
}

}  // namespace troupe
