#include "runtime/data/stream_store.hpp"

#include "runtime/data/stream_store_state.hpp"
#include "runtime/graph/store_layout.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace troupe {

using namespace stream_store;

namespace {

constexpr std::uint64_t compact_end = std::uint64_t{1} << 32;

Error invalid(std::string what) {
  return Error(Errc::invalid_argument, std::move(what));
}

Status check_name(std::string_view kind, const std::string& name) {
  if (!store_layout::is_valid_name(name)) {
    return invalid(fmt::format(
        "{}: expected a name of 1 to 100 of a-z A-Z 0-9 _ - . (no '.' first), got \"{}\"", kind,
        name));
  }
  return ok_status();
}

Status check_features(const std::string& what, const std::optional<FeatureInfo>& features) {
  if (features && (!store_layout::is_feature_dtype(features->dtype) || features->cols == 0 ||
                   features->cols > store_layout::largest_feature_cols)) {
    return invalid(fmt::format(
        "{}: expected 1 to {} features of u8, f16, bf16 or f32, got {} of {}", what,
        store_layout::largest_feature_cols, features->cols, to_string(features->dtype)));
  }
  return ok_status();
}

Status check_columns_of(const std::string& what, const std::vector<ColumnInfo>& columns) {
  if (columns.size() > store_layout::most_columns) {
    return invalid(fmt::format("{}: expected at most {} columns, got {}", what,
                               store_layout::most_columns, columns.size()));
  }
  for (auto column = columns.begin(); column != columns.end(); ++column) {
    const auto fault = store_layout::fault_of(*column);
    if (!fault.empty()) {
      return invalid(fmt::format("{}: column \"{}\": expected {}", what, column->name, fault));
    }
    if (std::find_if(columns.begin(), column, [&](const ColumnInfo& other) {
          return other.name == column->name;
        }) != column) {
      return invalid(fmt::format("{}: column \"{}\": expected each name once", what, column->name));
    }
  }
  return ok_status();
}

/// The largest id + 1, on all cores.
std::uint64_t end_of(std::span<const std::uint64_t> ids, Executor& executor) {
  constexpr std::size_t chunk = std::size_t{1} << 16;
  std::vector<std::uint64_t> ends((ids.size() + chunk - 1) / chunk, 0);
  executor.parallel_for(ends.size(), [&](std::size_t i) {
    std::uint64_t largest = 0;
    for (const auto id : ids.subspan(i * chunk, std::min(chunk, ids.size() - i * chunk))) {
      largest = std::max(largest, id);
    }
    ends[i] = largest == std::numeric_limits<std::uint64_t>::max() ? largest : largest + 1;
  });
  return ends.empty() ? 0 : *std::ranges::max_element(ends);
}

}  // namespace

Status StoreWriter::State::check_node_type(const NewNodeType& type) const {
  TROUPE_RETURN_IF_ERROR(check_name("node type", type.name));
  const auto same = [&](const NodeRows& rows) { return rows.info.name == type.name; };
  if (std::ranges::any_of(nodes_, same)) {
    return invalid(
        fmt::format("node type {}: expected a new name, it is there already", type.name));
  }
  if (!type.count && (type.features || type.labels || !type.columns.empty())) {
    return invalid(fmt::format(
        "node type {}: expected a count beside features, labels or columns, got none", type.name));
  }
  if (type.count.value_or(0) > store_layout::largest_count) {
    return invalid(fmt::format("node type {}: expected a count of at most {}, got {}", type.name,
                               store_layout::largest_count, *type.count));
  }
  TROUPE_RETURN_IF_ERROR(check_features("node type " + type.name, type.features));
  TROUPE_RETURN_IF_ERROR(check_columns_of("node type " + type.name, type.columns));
  if (type.labels && type.labels->classes > store_layout::largest_cols) {
    return invalid(fmt::format("node type {}: expected at most {} classes or targets, got {}",
                               type.name, store_layout::largest_cols, type.labels->classes));
  }
  return ok_status();
}

Result<NodeTypeId> StoreWriter::State::add_node_type(const NewNodeType& type) {
  TROUPE_RETURN_IF_ERROR(check_node_type(type));
  if (edges_given_) {
    return Error(Errc::failed_precondition,
                 fmt::format("node type {}: expected all types before the first edges", type.name));
  }
  NodeRows rows;
  rows.info.name = type.name;
  rows.info.count = type.count.value_or(0);
  rows.info.features = type.features;
  rows.info.labels = type.labels;
  rows.info.columns = type.columns;
  rows.counted = type.count.has_value();
  TROUPE_RETURN_IF_ERROR(open_row_files(rows));
  nodes_.push_back(std::move(rows));
  return static_cast<NodeTypeId>(nodes_.size() - 1);
}

Status StoreWriter::State::check_edge_type(const NewEdgeType& type) const {
  const auto name = fmt::format("edge type {}", type.name);
  TROUPE_RETURN_IF_ERROR(check_name("edge type", type.name));
  const auto taken = [&](const std::string& wanted) {
    return std::ranges::any_of(edges_,
                               [&](const WrittenEdges& e) { return e.info.name == wanted; });
  };
  const auto& transforms = type.transforms;
  if (taken(type.name) || (transforms.reverse_edges && taken("rev_" + type.name))) {
    return invalid(fmt::format("{}: expected a new name, it is there already", name));
  }
  if (raw(type.source) >= nodes_.size() || raw(type.destination) >= nodes_.size()) {
    return invalid(fmt::format("{}: expected node types below {}, got {} and {}", name,
                               nodes_.size(), raw(type.source), raw(type.destination)));
  }
  if (type.source != type.destination && (transforms.symmetrize || transforms.drop_self_loops)) {
    return invalid(fmt::format(
        "{}: expected one node type to symmetrize or drop self-loops, got {} and {}\n"
        "try: reverse_edges, which adds a second edge type",
        name, nodes_[raw(type.source)].info.name, nodes_[raw(type.destination)].info.name));
  }
  if (transforms.symmetrize && transforms.reverse_edges) {
    return invalid(
        fmt::format("{}: expected symmetrize or reverse_edges, got both, which would add every "
                    "reverse twice",
                    name));
  }
  if (transforms.dedup && type.times) {
    return invalid(
        fmt::format("{}: expected no dedup with times, as parallel edges differ by them", name));
  }
  TROUPE_RETURN_IF_ERROR(check_features(name, type.features));
  TROUPE_RETURN_IF_ERROR(check_columns_of(name, type.columns));
  return transforms.reverse_edges ? check_name("edge type", "rev_" + type.name) : ok_status();
}

Result<EdgeTypeId> StoreWriter::State::add_edge_type(const NewEdgeType& type) {
  TROUPE_RETURN_IF_ERROR(check_edge_type(type));
  if (edges_given_) {
    return Error(Errc::failed_precondition,
                 fmt::format("edge type {}: expected all types before the first edges", type.name));
  }
  const auto id = edges_.size();
  auto& edges = edges_.emplace_back();
  edges.info.name = type.name;
  edges.info.source = type.source;
  edges.info.destination = type.destination;
  edges.info.has_edge_ids = true;
  edges.info.has_weights = type.weights;
  edges.info.has_times = type.times;
  edges.info.features = type.features;
  edges.info.columns = type.columns;
  edges.columns.resize(type.columns.size());
  edges.transforms = type.transforms;
  if (type.transforms.reverse_edges) {
    auto& reverse = edges_.emplace_back();
    reverse.info = edges_[id].info;
    reverse.info.name = "rev_" + type.name;
    std::swap(reverse.info.source, reverse.info.destination);
    reverse.transforms = type.transforms;
    reverse.reverse_of = id;
  }
  return static_cast<EdgeTypeId>(id);
}

Status StoreWriter::State::begin_edges() {
  if (edges_given_) {
    return ok_status();
  }
  TROUPE_RETURN_IF_ERROR(begin_edge_split());
  edges_given_ = true;
  for (auto& edges : edges_) {
    const auto fits = [&](NodeTypeId type) { return nodes_[raw(type)].info.count <= compact_end; };
    edges.lists =
        make_edge_lists({.weights = edges.info.has_weights,
                         .times = edges.info.has_times,
                         .symmetrize = edges.transforms.symmetrize,
                         .dedup = edges.transforms.dedup,
                         .drop_self_loops = edges.transforms.drop_self_loops,
                         .reversed = edges.reverse_of.has_value(),
                         .compact = fits(edges.info.source) && fits(edges.info.destination),
                         .scratch = staged_.path(),
                         .memory_bytes = options_.memory_bytes / edges_.size()},
                        executor_);
  }
  return ok_status();
}

/// Checks one side of a block of edges.
Status StoreWriter::State::take_ids(const WrittenEdges& edges, bool sources,
                                    std::span<const std::uint64_t> ids) {
  auto& nodes = nodes_[raw(sources ? edges.info.source : edges.info.destination)];
  const auto end = nodes.counted ? nodes.info.count : compact_end;
  const auto found = end_of(ids, executor_);
  if (!ids.empty() && found > end) {
    const auto bad = std::ranges::find_if(ids, [&](std::uint64_t id) { return id >= end; });
    return invalid(
        fmt::format("edge type {}: row {}: expected a {}'s id below {}{}, got {}", edges.info.name,
                    edges.given + static_cast<std::uint64_t>(bad - ids.begin()),
                    sources ? "source" : "destination", end,
                    nodes.counted ? fmt::format(", the number of nodes of type {}", nodes.info.name)
                                  : std::string(" where the number of nodes is not stated"),
                    *bad));
  }
  nodes.least_count = std::max(nodes.least_count, found);
  return ok_status();
}

Result<WrittenEdges*> StoreWriter::State::given_edges(EdgeTypeId type) {
  if (raw(type) >= edges_.size() || edges_[raw(type)].reverse_of) {
    return invalid(fmt::format("edges: expected an edge type below {} that is no reverse, got {}",
                               edges_.size(), raw(type)));
  }
  return &edges_[raw(type)];
}

/// Lengths against each other, and weights.
Status StoreWriter::State::check_piece(const WrittenEdges& edges, const EdgePiece& piece) {
  const auto count = piece.sources.size();
  const auto& info = edges.info;
  if (count != piece.destinations.size() || count > store_layout::largest_count - edges.given) {
    return invalid(
        fmt::format("edge type {}: expected as many sources as destinations, at most {} "
                    "in all, got {} and {}",
                    info.name, store_layout::largest_count, count, piece.destinations.size()));
  }
  if (piece.weights.size() != (info.has_weights ? count : 0) ||
      piece.times.size() != (info.has_times ? count : 0)) {
    return invalid(
        fmt::format("edge type {}: expected {} weights and {} times for {} edges, got {} "
                    "and {}",
                    info.name, info.has_weights ? count : 0, info.has_times ? count : 0, count,
                    piece.weights.size(), piece.times.size()));
  }
  const auto bad = std::ranges::find_if(
      piece.weights, [](float weight) { return !(weight >= 0 && std::isfinite(weight)); });
  if (bad != piece.weights.end()) {
    return invalid(fmt::format(
        "edge type {}: row {}: expected a finite weight of 0 or more, got {}", info.name,
        edges.given + static_cast<std::uint64_t>(bad - piece.weights.begin()), *bad));
  }
  return ok_status();
}

Status StoreWriter::State::add_edges(EdgeTypeId type, const EdgePiece& piece) {
  TROUPE_ASSIGN_OR_RETURN(auto* const edges, given_edges(type));
  TROUPE_RETURN_IF_ERROR(begin_edges());
  TROUPE_RETURN_IF_ERROR(check_piece(*edges, piece));
  TROUPE_RETURN_IF_ERROR(take_ids(*edges, true, piece.sources));
  TROUPE_RETURN_IF_ERROR(take_ids(*edges, false, piece.destinations));
  TROUPE_ASSIGN_OR_RETURN(const auto roles, split_edges(type, piece));
  const EdgeBlock numbered{piece, edges->given, roles};
  TROUPE_RETURN_IF_ERROR(edges->lists->add(numbered));
  if (edges->transforms.reverse_edges) {
    TROUPE_RETURN_IF_ERROR(edges_[raw(type) + 1U].lists->add(numbered));
  }
  edges->given += piece.sources.size();
  return ok_status();
}

Result<StoreWriter> StoreWriter::create(const std::filesystem::path& out,
                                        StoreWriterOptions options, Executor& executor) {
  if (out.empty()) {
    return invalid("store: expected the path of a new folder, got none");
  }
  TROUPE_ASSIGN_OR_RETURN(auto staged, StagedDirectory::create(out));
  return StoreWriter(std::make_unique<State>(std::move(staged), std::move(options), executor));
}

StoreWriter::StoreWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
StoreWriter::~StoreWriter() = default;
StoreWriter::StoreWriter(StoreWriter&&) noexcept = default;
StoreWriter& StoreWriter::operator=(StoreWriter&&) noexcept = default;

Result<NodeTypeId> StoreWriter::add_node_type(const NewNodeType& type) {
  TROUPE_RETURN_IF_ERROR(state_->check_open());
  return state_->add_node_type(type);
}
Result<EdgeTypeId> StoreWriter::add_edge_type(const NewEdgeType& type) {
  TROUPE_RETURN_IF_ERROR(state_->check_open());
  return state_->add_edge_type(type);
}
Status StoreWriter::add_edges(EdgeTypeId type, std::span<const std::uint64_t> sources,
                              std::span<const std::uint64_t> destinations) {
  TROUPE_RETURN_IF_ERROR(state_->check_open());
  return state_->add_edges(type, {sources, destinations});
}
Status StoreWriter::add_edges(EdgeTypeId type, const EdgePiece& piece) {
  TROUPE_RETURN_IF_ERROR(state_->check_open());
  return state_->add_edges(type, piece);
}
Status StoreWriter::add_edge_features(EdgeTypeId type, std::span<const std::byte> rows) {
  TROUPE_RETURN_IF_ERROR(state_->check_open());
  return state_->add_edge_features(type, rows);
}
Status StoreWriter::add_features(NodeTypeId type, std::span<const std::byte> rows) {
  TROUPE_RETURN_IF_ERROR(state_->check_open());
  return state_->add_features(type, rows);
}
Status StoreWriter::add_column(NodeTypeId type, std::size_t column,
                               std::span<const std::byte> rows) {
  TROUPE_RETURN_IF_ERROR(state_->check_open());
  return state_->add_column(type, column, rows);
}
Status StoreWriter::add_edge_column(EdgeTypeId type, std::size_t column,
                                    std::span<const std::byte> rows) {
  TROUPE_RETURN_IF_ERROR(state_->check_open());
  return state_->add_edge_column(type, column, rows);
}
Status StoreWriter::add_labels(NodeTypeId type, std::span<const std::int64_t> labels) {
  TROUPE_RETURN_IF_ERROR(state_->check_open());
  TROUPE_RETURN_IF_ERROR(state_->check_labels(type, labels));
  return state_->add_rows(type, true, std::as_bytes(labels));
}
Status StoreWriter::add_targets(NodeTypeId type, std::span<const float> targets) {
  TROUPE_RETURN_IF_ERROR(state_->check_open());
  return state_->add_rows(type, false, std::as_bytes(targets));
}
Status StoreWriter::set_seeds(const std::string& split, const std::string& role, NodeTypeId type,
                              std::vector<std::uint64_t> ids,
                              std::optional<std::vector<std::int64_t>> times) {
  TROUPE_RETURN_IF_ERROR(state_->check_open());
  return state_->set_seeds({split, role}, {type, std::move(ids), std::move(times)});
}
Status StoreWriter::open_links(const std::string& split, const std::string& role,
                               const NewLinks& links) {
  TROUPE_RETURN_IF_ERROR(state_->check_open());
  return state_->open_links({split, role}, links);
}
Status StoreWriter::add_links(const std::string& split, const std::string& role,
                              const LinkPiece& piece) {
  TROUPE_RETURN_IF_ERROR(state_->check_open());
  return state_->add_links({split, role}, piece);
}
Status StoreWriter::set_links(const std::string& split, const std::string& role, EdgeTypeId type,
                              const LinkPiece& links) {
  TROUPE_RETURN_IF_ERROR(
      open_links(split, role, {type, !links.times.empty(), !links.labels.empty()}));
  return add_links(split, role, links);
}
Status StoreWriter::add_file(const std::string& path, std::span<const std::string> pieces) {
  TROUPE_RETURN_IF_ERROR(state_->check_open());
  return state_->add_file(path, pieces);
}
Status StoreWriter::add_array(const std::string& path, DType dtype,
                              std::vector<std::uint64_t> shape,
                              const std::function<Status(const TakeBytes&)>& write) {
  TROUPE_RETURN_IF_ERROR(state_->check_open());
  return state_->add_array(path, dtype, std::move(shape), write);
}
Result<GraphInfo> StoreWriter::finish() {
  TROUPE_RETURN_IF_ERROR(state_->check_open());
  return state_->finish();
}

}  // namespace troupe
