// Rows of nodes and sampled neighbourhoods, asked for outside the epochs' batches.
#include "launcher/session_state.hpp"
#include "runtime/job/collect_options.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace troupe {
namespace {

constexpr std::size_t max_hops = 255;

/// Collects nothing from any of `types` node types.
CollectOptions collect_nothing(std::size_t types) {
  CollectOptions collect;
  collect.decoders.assign(types, RowDecoder::plain(0));
  collect.with_labels = false;
  collect.with_original_ids = false;
  return collect;
}

/// The rows of a column at some places.
BatchColumn rows_at(const BatchColumn& column, std::span<const std::uint32_t> places) {
  const auto row_bytes = column.info.row_bytes();
  Buffer values(places.size() * row_bytes);
  for (std::size_t i = 0; i < places.size(); ++i) {
    std::ranges::copy(column.values.bytes.subspan(places[i] * row_bytes, row_bytes),
                      values.data() + i * row_bytes);
  }
  auto rows = column;
  rows.rows = places.size();
  rows.values = std::move(values).freeze();
  return rows;
}

}  // namespace

Status Session::State::check_nodes(std::span<const NodeId> nodes, NodeTypeId type) const {
  const auto& book = *place.host->book;
  if (raw(type) >= book.node_types()) {
    return Error(Errc::invalid_argument,
                 fmt::format("node type: expected < {}, got {}", book.node_types(), raw(type)));
  }
  const auto stranger =
      std::ranges::find_if(nodes, [&](NodeId node) { return !book.contains(type, node); });
  if (stranger != nodes.end()) {
    return Error(Errc::invalid_argument, fmt::format("nodes: expected global ids below {}, got {}",
                                                     book.count(type), raw(*stranger)));
  }
  return ok_status();
}

// ---- reading ----

Result<NodeRows> Session::State::read(std::span<const NodeId> nodes, NodeTypeId type,
                                      CollectOptions collect) {
  TROUPE_RETURN_IF_ERROR(check_nodes(nodes, type));
  SampleBatch request;
  request.key.purpose = Purpose::evaluate;
  request.seed_type = type;
  request.seeds.assign(nodes.begin(), nodes.end());
  request.sample = std::make_shared<const SampleOptions>();  // no hops
  collect.digest = DigestMode::off;
  request.collect = std::make_shared<const CollectOptions>(std::move(collect));
  TROUPE_ASSIGN_OR_RETURN(const auto ready, ask<ReadyBatch>(std::move(request)));
  // A batch has each node once.
  const auto& got = ready->batch;
  const auto& from = got.rows[raw(type)];
  const auto& index = got.sampled->seed_index;
  NodeRows rows;
  rows.features = Matrix(nodes.size(), from.features.cols());
  for (std::size_t i = 0; i < index.size() && from.features.cols() > 0; ++i) {
    std::ranges::copy(from.features.view().row(index[i]), rows.features.view().row(i).begin());
  }
  for (std::size_t i = 0; i < index.size() && !from.original_ids.empty(); ++i) {
    rows.original_ids.push_back(from.original_ids[index[i]]);
  }
  for (const auto& column : got.columns) {
    if (!column.of_edges && column.type == raw(type)) {
      rows.columns.push_back(rows_at(column, index));
    }
  }
  rows.labels.assign(got.labels.begin(), got.labels.end());
  rows.targets = Matrix(got.targets.rows(), got.targets.cols());
  std::ranges::copy(got.targets.view().flat(), rows.targets.view().flat().begin());
  return rows;
}

/// Rows and labels, also where the job's batches come without.
Result<CollectOptions> Session::State::all_rows() const {
  if (run->job.features.collect) {
    return *place.options.collect;
  }
  auto job = run->job;
  job.features.collect = true;
  return collect_options(job, *place.host->graph, BatchReader::user);
}

Result<NodeRows> Session::read_rows(std::span<const NodeId> nodes, NodeTypeId node_type) {
  TROUPE_ASSIGN_OR_RETURN(auto collect, state_->all_rows());
  auto rows = state_->read(nodes, node_type, std::move(collect));
  return rows ? std::move(rows) : Error(rows.error()).with("read_rows");
}

Result<BatchColumn> Session::State::read_column(const std::string& name,
                                                std::span<const NodeId> nodes, NodeTypeId type) {
  TROUPE_RETURN_IF_ERROR(check_nodes(nodes, type));
  const auto& graph = *place.host->graph;
  const auto& columns = graph.node_types[raw(type)].columns;
  const auto found = std::ranges::find(columns, name, &ColumnInfo::name);
  if (found == columns.end()) {
    return Error(Errc::not_found, fmt::format("column \"{}\" of node type {}: the graph has none",
                                              name, graph.node_types[raw(type)].name));
  }
  auto collect = collect_nothing(graph.node_types.size());
  const auto at = static_cast<std::uint16_t>(found - columns.begin());
  collect.columns = {{{TableName::Kind::node_column, raw(type), at}, *found}};
  TROUPE_ASSIGN_OR_RETURN(auto rows, read(nodes, type, std::move(collect)));
  return std::move(rows.columns.front());
}

Result<std::vector<std::uint64_t>> Session::State::original_ids(std::span<const std::uint64_t> rows,
                                                                NodeTypeId type) {
  auto ids_only = collect_nothing(place.host->graph->node_types.size());
  ids_only.with_original_ids = true;
  std::vector<NodeId> nodes(rows.size());
  std::ranges::transform(rows, nodes.begin(),
                         [](std::uint64_t row) { return static_cast<NodeId>(row); });
  TROUPE_ASSIGN_OR_RETURN(const auto found, read(nodes, type, std::move(ids_only)));
  std::vector<std::uint64_t> originals(rows.size());
  std::ranges::transform(found.original_ids, originals.begin(),
                         [](OriginalId id) { return raw(id); });
  return originals;
}

Result<BatchColumn> Session::read_column(const std::string& name, std::span<const NodeId> nodes,
                                         NodeTypeId node_type) {
  return state_->read_column(name, nodes, node_type);
}

namespace {

Status check_hops(const NeighborRequest& request) {
  if (request.fanout.empty() || request.fanout.size() > max_hops || (request.epoch >> 31) != 0) {
    return Error(Errc::invalid_argument,
                 fmt::format("sample_neighbors: expected 1..{} fanouts and an epoch below 2^31, "
                             "got {} fanouts and epoch {}",
                             max_hops, request.fanout.size(), request.epoch));
  }
  const auto wrong = std::ranges::find_if(
      request.fanout, [](auto fanout) { return fanout < -1 || fanout > largest_request_fanout; });
  if (wrong != request.fanout.end()) {
    return Error(Errc::invalid_argument,
                 fmt::format("sample_neighbors: expected fanouts from -1 (all neighbors) to {}, "
                             "got {} for hop {}",
                             largest_request_fanout, *wrong, wrong - request.fanout.begin() + 1));
  }
  return ok_status();
}

Status check_times(const NeighborRequest& request, const GraphInfo& graph) {
  if (request.times.empty()) {
    return ok_status();
  }
  if (request.times.size() != request.nodes.size()) {
    return Error(Errc::invalid_argument,
                 fmt::format("sample_neighbors: expected {} times or none, got {}",
                             request.nodes.size(), request.times.size()));
  }
  if (std::ranges::none_of(graph.edge_types, &EdgeTypeInfo::has_times)) {
    return Error(Errc::failed_precondition,
                 "sample_neighbors: expected a graph with times of edges, found none\n"
                 "try: import the graph with times");
  }
  return ok_status();
}

}  // namespace

Result<std::shared_ptr<const Batch>> Session::sample_neighbors(const NeighborRequest& request) {
  auto& s = *state_;
  TROUPE_RETURN_IF_ERROR(s.check_nodes(request.nodes, request.node_type));
  TROUPE_RETURN_IF_ERROR(check_hops(request));
  const auto& graph = *s.place.host->graph;
  TROUPE_RETURN_IF_ERROR(check_times(request, graph));
  SampleBatch message;
  message.key = {Purpose::evaluate, request.epoch, request.number};
  message.seed_type = request.node_type;
  message.seeds = request.nodes;
  message.times = request.times;
  auto sample = *s.place.options.sample;
  sample.walks.reset();
  if (!request.times.empty() && !sample.time) {
    sample.time.emplace();
  }
  sample.disjoint = sample.disjoint || sample.time;
  sample.fanout.clear();
  for (const auto fanout : request.fanout) {
    sample.fanout.emplace_back(graph.edge_types.size(), fanout);
  }
  message.sample = std::make_shared<const SampleOptions>(std::move(sample));
  auto collect = collect_nothing(graph.node_types.size());
  if (request.with_rows) {
    TROUPE_ASSIGN_OR_RETURN(collect, s.all_rows());
  }
  collect.digest = DigestMode::off;
  message.collect = std::make_shared<const CollectOptions>(std::move(collect));
  const auto ready = s.ask<ReadyBatch>(std::move(message));
  if (!ready) {
    return Error(ready.error()).with("sample_neighbors");
  }
  return std::shared_ptr<const Batch>(*ready, &(*ready)->batch);
}

}  // namespace troupe
