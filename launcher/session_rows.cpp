// Rows of nodes and sampled neighbourhoods, asked for outside the epochs' batches.
#include "launcher/session_state.hpp"
#include "runtime/feature/writable_tensors.hpp"
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

/// A holder that was started again has lost what was written to it.
Error written_is_lost(const Error& why, const std::string& doing) {
  return Error(Errc::peer_lost, why.what()).with(doing);
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

Result<Matrix> Session::State::read_tensor(const TensorKey& key, std::span<const NodeId> nodes) {
  TROUPE_ASSIGN_OR_RETURN(const auto cols, columns_of(key));
  auto collect = collect_nothing(place.host->graph->node_types.size());
  collect.decoders[raw(key.second)] = RowDecoder::plain(cols);
  collect.source = {RowSource::Kind::tensor, key.first};
  auto rows = read(nodes, key.second, std::move(collect));
  if (!rows && rows.error().code() == Errc::not_found) {
    const auto lost = written_is_lost(rows.error(), fmt::format("reading tensor {}", key.first));
    return keep(lost).error();
  }
  if (!rows) {
    return std::move(rows).error();
  }
  return std::move(rows->features);
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
  return state_->read(nodes, node_type, std::move(collect));
}

Result<BatchColumn> Session::read_column(const std::string& name, std::span<const NodeId> nodes,
                                         NodeTypeId node_type) {
  auto& s = *state_;
  TROUPE_RETURN_IF_ERROR(s.check_nodes(nodes, node_type));
  const auto& graph = *s.place.host->graph;
  const auto& columns = graph.node_types[raw(node_type)].columns;
  const auto found = std::ranges::find(columns, name, &ColumnInfo::name);
  if (found == columns.end()) {
    return Error(Errc::not_found, fmt::format("column \"{}\" of node type {}: the graph has none",
                                              name, graph.node_types[raw(node_type)].name));
  }
  auto collect = collect_nothing(graph.node_types.size());
  const auto place = static_cast<std::uint16_t>(found - columns.begin());
  collect.columns = {{{TableName::Kind::node_column, raw(node_type), place}, *found}};
  TROUPE_ASSIGN_OR_RETURN(auto rows, s.read(nodes, node_type, std::move(collect)));
  return std::move(rows.columns.front());
}

Result<Matrix> Session::read_rows(std::uint32_t tensor, std::span<const NodeId> nodes,
                                  NodeTypeId node_type) {
  return state_->read_tensor({tensor, node_type}, nodes);
}

namespace {

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
  const bool known = std::ranges::all_of(request.fanout, [](auto f) { return f >= -1; });
  if (request.fanout.empty() || request.fanout.size() > max_hops || !known ||
      (request.epoch >> 31) != 0) {
    return Error(Errc::invalid_argument,
                 fmt::format("sample_neighbors: expected 1..{} fanouts >= -1 and an epoch below "
                             "2^31, got {} fanouts and epoch {}",
                             max_hops, request.fanout.size(), request.epoch));
  }
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
  TROUPE_ASSIGN_OR_RETURN(const auto ready, s.ask<ReadyBatch>(std::move(message)));
  return std::shared_ptr<const Batch>(ready, &ready->batch);
}

// ---- writing ----

Result<std::uint32_t> Session::State::columns_of(const TensorKey& key) const {
  const auto found = tensors.find(key);
  if (found == tensors.end()) {
    return Error(Errc::not_found,
                 fmt::format("tensor {} of node type {}: not made; try: make_tensor first",
                             key.first, raw(key.second)));
  }
  return found->second;
}

Status Session::State::write(const TensorKey& key, std::span<const NodeId> nodes, ConstMatrix rows,
                             bool add) {
  TROUPE_RETURN_IF_ERROR(status);
  TROUPE_ASSIGN_OR_RETURN(const auto cols, columns_of(key));
  TROUPE_RETURN_IF_ERROR(check_nodes(nodes, key.second));
  if (rows.rows != nodes.size() || (rows.rows > 0 && rows.cols != cols)) {
    return Error(Errc::invalid_argument,
                 fmt::format("rows of tensor {}: expected {} rows of {} columns, got {} of {}",
                             key.first, nodes.size(), cols, rows.rows, rows.cols));
  }
  const auto& host = *place.host;
  std::map<PartId, std::pair<PooledVector<NodeId>, std::vector<float>>> shares;
  if (nodes.empty()) {  // makes the tensor everywhere
    for (std::uint32_t p = 0; p < host.book->parts(); ++p) {
      shares[static_cast<PartId>(p)];
    }
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    auto& [ids, values] = shares[host.book->owner(key.second, nodes[i])];
    const auto row = rows.row(i);
    ids.push_back(nodes[i]);
    values.insert(values.end(), row.begin(), row.end());
  }
  WriteTensor request;
  for (auto& [part, share] : shares) {
    WriteRows message;
    message.writer = place.options.rank;
    message.operation = ++writes[raw(part)];
    message.tensor = key.first;
    message.node_type = key.second;
    message.cols = cols;
    message.add = add;
    message.nodes = std::move(share.first);
    message.rows = Segment::of(std::move(share.second));
    request.shares.emplace(part, std::move(message));
  }
  const auto done = ask<net::Done>(std::move(request));
  if (done) {
    return ok_status();
  }
  const auto doing = fmt::format("writing tensor {}", key.first);
  return keep(done.error().code() == Errc::failed_precondition
                  ? written_is_lost(done.error(), doing)
                  : Error(done.error()).with(doing));
}

Status Session::make_tensor(std::uint32_t tensor, std::uint32_t cols, NodeTypeId node_type) {
  auto& s = *state_;
  TROUPE_RETURN_IF_ERROR(s.check_nodes({}, node_type));
  const auto [found, made] = s.tensors.try_emplace({tensor, node_type}, cols);
  if (cols == 0 || cols > max_tensor_cols || found->second != cols) {
    const auto before = found->second;
    if (made) {
      s.tensors.erase(found);
    }
    return Error(Errc::invalid_argument,
                 fmt::format("tensor {}: expected 1..{} columns{}, got {}", tensor, max_tensor_cols,
                             made ? "" : fmt::format(", {} as before", before), cols));
  }
  return made ? s.write({tensor, node_type}, {}, {}, false) : ok_status();
}

Status Session::write_rows(std::uint32_t tensor, std::span<const NodeId> nodes, ConstMatrix rows,
                           NodeTypeId node_type) {
  return nodes.empty() ? ok_status() : state_->write({tensor, node_type}, nodes, rows, false);
}

Status Session::add_rows(std::uint32_t tensor, std::span<const NodeId> nodes, ConstMatrix rows,
                         NodeTypeId node_type) {
  return nodes.empty() ? ok_status() : state_->write({tensor, node_type}, nodes, rows, true);
}

}  // namespace troupe
