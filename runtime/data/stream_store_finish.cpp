// The end of a StoreWriter: counts, lists, graph.json.
#include "runtime/base/files.hpp"
#include "runtime/data/stream_store_state.hpp"
#include "runtime/graph/graph_json.hpp"
#include "runtime/graph/store_layout.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace troupe {

using namespace stream_store;

Status StoreWriter::State::make_folder_of(const std::string& path) const {
  return make_folders((staged_.path() / path).parent_path());
}

Status StoreWriter::State::check_space(const std::string& path, std::uint64_t bytes) const {
  std::error_code error;
  const auto space = std::filesystem::space(staged_.path(), error);
  if (!error && bytes > space.available) {
    return Error(Errc::failed_precondition,
                 fmt::format("{}: expected {} bytes of free space for it, found {}", path, bytes,
                             space.available));
  }
  return ok_status();
}

void StoreWriter::State::report(std::string_view stage, std::uint64_t done, std::uint64_t total,
                                std::string_view unit) const {
  if (options_.progress) {
    options_.progress({stage, done, total, unit});
  }
}

/// For a further file.
Status StoreWriter::State::make_place_for(const std::string& path) const {
  if (!store_layout::is_safe_path(path)) {
    return Error(
        Errc::invalid_argument,
        fmt::format("file \"{}\": expected a relative path of names of a-z A-Z 0-9 _ - .", path));
  }
  const auto same = [&](const FileInfo& file) { return file.path == path; };
  if (store_layout::is_own_path(path) || std::ranges::any_of(further_files_, same)) {
    return Error(Errc::invalid_argument,
                 fmt::format("file \"{}\": expected a path that no other file of the store has; "
                             "try: a folder of your own, as in \"extra/NAME\"",
                             path));
  }
  return make_folder_of(path);
}

Status StoreWriter::State::add_array(const std::string& path, DType dtype,
                                     std::vector<std::uint64_t> shape,
                                     const std::function<Status(const TakeBytes&)>& write) {
  TROUPE_RETURN_IF_ERROR(make_place_for(path));
  TROUPE_ASSIGN_OR_RETURN(
      auto stream, NpyStream::create(staged_.path() / path, npy_type(dtype), std::move(shape)));
  const TakeBytes take = [&](std::span<const std::byte> bytes) { return stream.write(bytes); };
  TROUPE_RETURN_IF_ERROR(write(take));
  TROUPE_RETURN_IF_ERROR(stream.close());
  further_files_.push_back(stream.info(path));
  return ok_status();
}

Status StoreWriter::State::add_file(const std::string& path, std::span<const std::string> pieces) {
  TROUPE_RETURN_IF_ERROR(make_place_for(path));
  std::vector<std::span<const std::byte>> bytes;
  DigestBuilder digest;
  std::uint64_t size = 0;
  for (const auto& piece : pieces) {
    bytes.push_back(std::as_bytes(std::span(piece)));
    digest.add_bytes(bytes.back());
    size += piece.size();
  }
  TROUPE_RETURN_IF_ERROR(write_new_file(staged_.path() / path, bytes));
  further_files_.push_back({path, size, to_string(digest.digest())});
  return ok_status();
}

/// Types without a stated number of nodes get it from their edges.
Status StoreWriter::State::settle_counts() {
  std::uint64_t edges = 0;
  for (const auto& type : edges_) {
    edges += type.given;
  }
  for (auto& nodes : nodes_) {
    if (nodes.counted) {
      continue;
    }
    if (nodes.least_count > store_layout::most_implied_nodes(edges)) {
      return Error(
          Errc::invalid_argument,
          fmt::format("node type {}: expected ids near the number of edges, {}, got {}\n"
                      "try: state the number of nodes, or --ids text of an edge list, which "
                      "numbers only those that appear",
                      nodes.info.name, edges, nodes.least_count - 1));
    }
    nodes.info.count = nodes.least_count;
  }
  return ok_status();
}

Status StoreWriter::State::finish_edges(WrittenEdges& edges) {
  auto& info = edges.info;
  const auto forward = edges.reverse_of.value_or(static_cast<std::size_t>(&edges - edges_.data()));
  const auto given = edges_[forward].given;
  ListTarget target;
  target.dir = staged_.path();
  target.path = [&info](std::string_view what) {
    return store_layout::edges_file(info, EdgeDir::in, what);
  };
  const auto offsets = target.path("offsets");
  TROUPE_RETURN_IF_ERROR(make_folder_of(offsets));
  TROUPE_RETURN_IF_ERROR(check_space(offsets, 8 * (nodes_[raw(info.destination)].info.count + 1)));
  target.neighbour_count = nodes_[raw(info.source)].info.count;
  target.owner_count = nodes_[raw(info.destination)].info.count;
  target.first_reversed_id = given;
  const auto stage = fmt::format("writing lists of {}", info.name);
  const auto total = edges.lists->size();
  target.on_written = [&](std::uint64_t done) { report(stage, done, total, "edges"); };
  TROUPE_ASSIGN_OR_RETURN(auto written, edges.lists->write(target));
  edges.lists.reset();
  info.count = written.edges;
  const bool derived = edges.reverse_of || edges.transforms.symmetrize;
  const auto id_end = derived ? 2 * given : given;
  info.edge_id_end = id_end == info.count ? 0 : id_end;
  info.edge_id_begin = edges.reverse_of ? given : 0;
  info_.files.insert(info_.files.end(), written.files.begin(), written.files.end());
  return finish_edge_rows(edges);
}

Status StoreWriter::State::check_columns() const {
  std::uint64_t cols = 0;
  for (const auto& nodes : nodes_) {
    cols += nodes.info.features ? nodes.info.features->cols : 0;
  }
  if (cols > store_layout::largest_total_feature_cols) {
    return Error(Errc::invalid_argument,
                 fmt::format("features: expected at most {} columns of all node types together, "
                             "got {}; try: fewer features, or trained embeddings in their place",
                             store_layout::largest_total_feature_cols, cols));
  }
  return ok_status();
}

Status StoreWriter::State::check_splits() const {
  std::set<std::string_view> names;
  for (const auto& role : seeds_) {
    names.insert(role.first.first);
  }
  for (const auto& role : links_) {
    names.insert(role.first.first);
  }
  if (names.size() > most_types) {
    return Error(Errc::invalid_argument,
                 fmt::format("expected at most {} splits, got {}", most_types, names.size()));
  }
  return ok_status();
}

Status StoreWriter::State::check_open() const {
  return finished_ ? Status(Error(Errc::failed_precondition,
                                  "store: expected no call after finish(), got one; try: another "
                                  "StoreWriter"))
                   : ok_status();
}

Result<GraphInfo> StoreWriter::State::finish() {
  finished_ = true;
  return write_all();
}

Result<GraphInfo> StoreWriter::State::write_all() {
  TROUPE_RETURN_IF_ERROR(check_splits());
  TROUPE_RETURN_IF_ERROR(begin_edges());
  for (auto& nodes : nodes_) {
    TROUPE_RETURN_IF_ERROR(finish_rows(nodes));
  }
  TROUPE_RETURN_IF_ERROR(settle_counts());
  TROUPE_RETURN_IF_ERROR(check_columns());
  for (auto& nodes : nodes_) {
    info_.node_types.push_back(nodes.info);
  }
  for (auto& edges : edges_) {
    TROUPE_RETURN_IF_ERROR(finish_edges(edges));
    info_.edge_types.push_back(edges.info);
  }
  TROUPE_RETURN_IF_ERROR(finish_seeds());
  TROUPE_RETURN_IF_ERROR(finish_links());
  for (auto& [name, split] : splits_) {
    info_.splits.push_back(std::move(split));
  }
  info_.files.insert(info_.files.end(), further_files_.begin(), further_files_.end());
  TROUPE_RETURN_IF_ERROR(
      write_new_text_file(staged_.path() / store_layout::graph_file, graph_to_json(info_)));
  TROUPE_RETURN_IF_ERROR(staged_.commit(Flush::no));
  note_empty_classes();
  return std::move(info_);
}

}  // namespace troupe
