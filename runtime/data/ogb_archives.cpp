// OGB's binary layout: arrays in .npz archives.
#include "runtime/data/archive_pairs.hpp"
#include "runtime/data/column_rows.hpp"
#include "runtime/data/ogb_arrays.hpp"
#include "runtime/data/ogb_readers.hpp"
#include "runtime/graph/store_layout.hpp"

#include <fmt/format.h>
#include <set>

namespace troupe {
namespace {

using namespace graph_source;
using npy_source::bad_input;

using Archive = std::shared_ptr<const ZipArchive>;

constexpr const char* plain_archive = "raw/data.npz";
constexpr const char* pairs_archive = "raw/edge_index_dict.npz";
constexpr const char* node_counts_archive = "raw/num_nodes_dict.npz";
constexpr const char* edge_counts_archive = "raw/num_edges_dict.npz";
constexpr const char* labels_archive = "raw/node-label.npz";

/// Names of the arrays in an archive, in its order.
std::vector<std::string> array_names(const ZipArchive& archive) {
  constexpr std::string_view end = ".npy";
  std::vector<std::string> names;
  for (const auto& member : archive.members()) {
    if (member.name.ends_with(end)) {
      names.push_back(member.name.substr(0, member.name.size() - end.size()));
    }
  }
  return names;
}

class OgbArchives {
 public:
  OgbArchives(OgbFolder& folder, const OgbOptions& options, Executor& executor)
      : folder_(folder), options_(options), executor_(executor), arrays_(options) {}

  Result<Graph> read() {
    const bool by_type = !folder_.has(plain_archive);
    TROUPE_RETURN_IF_ERROR(by_type ? read_types() : read_plain());
    TROUPE_RETURN_IF_ERROR(arrays_.check_found("raw"));
    for (const auto& archive : opened_) {
      for (const auto& member : archive->members()) {
        if (!taken_.contains(member_name(*archive, member.name))) {
          folder_.leave_out(member_name(*archive, member.name));
        }
      }
    }
    const bool split_needed = !options_.import.writer.edge_split;
    TROUPE_RETURN_IF_ERROR(folder_.read_splits(graph_, by_type, split_needed, executor_));
    return std::move(graph_);
  }

 private:
  Result<Archive> open(const std::string& file) {
    TROUPE_ASSIGN_OR_RETURN(auto archive, ZipArchive::open(folder_.source().dir / file, file));
    folder_.take(file);
    opened_.push_back(archive);
    return archive;
  }
  /// Null: there is no such file.
  Result<Archive> open_if_there(const std::string& file) {
    return folder_.has(file) ? open(file) : Result<Archive>(nullptr);
  }
  static bool has(const Archive& archive, const std::string& array) {
    return archive && archive->find(array + ".npy") != nullptr;
  }

  Result<ArraySource> source(const Archive& archive, const std::string& array) {
    taken_.insert(member_name(*archive, array + ".npy"));
    return ArraySource::open(archive, array);
  }
  Result<Table> table(const Archive& archive, const std::string& array) {
    TROUPE_ASSIGN_OR_RETURN(auto found, source(archive, array));
    return Table::of_array(member_name(*archive, array), std::move(found));
  }

  /// The number in an array that has one per graph.
  Result<std::uint64_t> one_count(const Archive& archive, const std::string& array) {
    TROUPE_ASSIGN_OR_RETURN(const auto counts, table(archive, array));
    if (counts.matrix() || counts.rows() != std::uint64_t{1}) {
      return bad_input(
          counts.file(),
          fmt::format("expected one number, for one graph, got shape {}", counts.shape()));
    }
    std::uint64_t count = 0;
    TROUPE_RETURN_IF_ERROR(
        counts.read_integers(executor_, {}, [&](std::span<const std::int64_t> some) -> Status {
          count = static_cast<std::uint64_t>(some.front());
          return count <= store_layout::largest_count
                     ? ok_status()
                     : Status(bad_input(counts.file(),
                                        fmt::format("expected a number up to {}, "
                                                    "got {}",
                                                    store_layout::largest_count, some.front())));
        }));
    return count;
  }

  OgbOpen open_array(const Archive& archive, const std::string& array) {
    return {
        [this, archive, array] { return table(archive, array); },
        [this, archive, array](const NamedColumn& column) -> Result<std::unique_ptr<ColumnRows>> {
          TROUPE_ASSIGN_OR_RETURN(auto found, source(archive, array));
          std::vector<ColumnPiece> pieces;
          pieces.push_back({member_name(*archive, array), std::move(found)});
          return column_of_arrays(column, std::move(pieces), named_bf16_hint);
        }};
  }

  /// Gives nodes an array with a row for each, if it is there and of use.
  /// \param name  as users name it
  Status take_node_array(Nodes& nodes, const Archive& archive, const std::string& array,
                         const std::string& name) {
    if (!has(archive, array)) {
      return ok_status();
    }
    TROUPE_ASSIGN_OR_RETURN(const bool taken,
                            arrays_.offer(name, nodes, open_array(archive, array)));
    if (!taken && name == "node_feat") {
      TROUPE_ASSIGN_OR_RETURN(auto rows, table(archive, array));
      TROUPE_ASSIGN_OR_RETURN(nodes.features, features_of(std::move(rows)));
    } else if (!taken && name == "node_label") {
      TROUPE_ASSIGN_OR_RETURN(auto rows, table(archive, array));
      TROUPE_ASSIGN_OR_RETURN(nodes.labels, ogb_labels_of(std::move(rows), executor_));
    }
    return ok_status();
  }

  /// Gives edges an array with a row for each, if it is of use.
  /// \param name  as users name it
  Status take_edge_array(Edges& edges, const Archive& archive, const std::string& array,
                         const std::string& name) {
    return arrays_.offer(name, "edge_feat", edges, open_array(archive, array));
  }

  Status open_edges(Edges& edges, const Archive& archive, const std::string& array) {
    edges.transforms = transforms_of(options_.import.edges, {}, edges.source == edges.destination);
    TROUPE_ASSIGN_OR_RETURN(auto pairs, source(archive, array));
    const EdgeEnds ends{*graph_.nodes[edges.source].count, *graph_.nodes[edges.destination].count};
    TROUPE_ASSIGN_OR_RETURN(
        edges.rows, open_archive_pairs(member_name(*archive, array), std::move(pairs), ends));
    return ok_status();
  }

  Status read_plain() {
    TROUPE_ASSIGN_OR_RETURN(const auto data, open(plain_archive));
    TROUPE_ASSIGN_OR_RETURN(const auto labels, open_if_there(labels_archive));
    Nodes nodes{"node", {}};
    TROUPE_ASSIGN_OR_RETURN(nodes.count, one_count(data, "num_nodes_list"));
    for (const auto& array : array_names(*data)) {
      if (array.starts_with("node_")) {
        TROUPE_RETURN_IF_ERROR(take_node_array(nodes, data, array, array));
      }
    }
    TROUPE_RETURN_IF_ERROR(take_node_array(nodes, labels, "node_label", "node_label"));
    TROUPE_RETURN_IF_ERROR(settle_count(nodes, member_name(*data, "num_nodes_list")));
    graph_.nodes.push_back(std::move(nodes));
    Edges edges;
    edges.name = "edge";
    TROUPE_ASSIGN_OR_RETURN(edges.count, one_count(data, "num_edges_list"));
    TROUPE_RETURN_IF_ERROR(open_edges(edges, data, "edge_index"));
    for (const auto& array : array_names(*data)) {
      if (array.starts_with("edge_") && array != "edge_index") {
        TROUPE_RETURN_IF_ERROR(take_edge_array(edges, data, array, array));
      }
    }
    graph_.edges.push_back(std::move(edges));
    return ok_status();
  }

  Status read_types() {
    TROUPE_ASSIGN_OR_RETURN(const auto counts, open(node_counts_archive));
    TROUPE_ASSIGN_OR_RETURN(const auto arrays, open_archives("node_"));
    TROUPE_ASSIGN_OR_RETURN(const auto labels, open_if_there(labels_archive));
    for (const auto& type : array_names(*counts)) {
      TROUPE_RETURN_IF_ERROR(check_ogb_name(type, node_counts_archive));
      Nodes nodes{type, {}};
      TROUPE_ASSIGN_OR_RETURN(nodes.count, one_count(counts, type));
      for (const auto& [name, archive] : arrays) {
        TROUPE_RETURN_IF_ERROR(take_node_array(nodes, archive, type, name));
      }
      TROUPE_RETURN_IF_ERROR(take_node_array(nodes, labels, type, "node_label"));
      TROUPE_RETURN_IF_ERROR(settle_count(nodes, member_name(*counts, type)));
      graph_.nodes.push_back(std::move(nodes));
    }
    return read_edge_types();
  }

  Status read_edge_types() {
    TROUPE_ASSIGN_OR_RETURN(const auto counts, open(edge_counts_archive));
    TROUPE_ASSIGN_OR_RETURN(const auto pairs, open(pairs_archive));
    TROUPE_ASSIGN_OR_RETURN(const auto arrays, open_archives("edge_"));
    const auto types = array_names(*counts);
    std::vector<TypeTriple> triples;
    for (const auto& type : types) {
      TROUPE_ASSIGN_OR_RETURN(triples.emplace_back(), parse_ogb_triple(type, edge_counts_archive));
    }
    const auto names = edge_type_names(triples);
    for (std::size_t i = 0; i < types.size(); ++i) {
      Edges edges;
      edges.name = names[i];
      TROUPE_ASSIGN_OR_RETURN(edges.source,
                              find_nodes(graph_, triples[i].source, edge_counts_archive));
      TROUPE_ASSIGN_OR_RETURN(edges.destination,
                              find_nodes(graph_, triples[i].destination, edge_counts_archive));
      TROUPE_ASSIGN_OR_RETURN(edges.count, one_count(counts, types[i]));
      TROUPE_RETURN_IF_ERROR(open_edges(edges, pairs, types[i]));
      for (const auto& [name, archive] : arrays) {
        if (has(archive, types[i])) {
          TROUPE_RETURN_IF_ERROR(take_edge_array(edges, archive, types[i], name));
        }
      }
      graph_.edges.push_back(std::move(edges));
    }
    return ok_status();
  }

  /// Archives of arrays with a row per node or edge, raw/NAME_dict.npz or raw/NAME.npz, by NAME.
  /// \param begin  of their names
  Result<std::vector<std::pair<std::string, Archive>>> open_archives(std::string_view begin) {
    constexpr std::string_view end = ".npz";
    constexpr std::string_view of_types = "_dict";
    std::vector<std::pair<std::string, Archive>> archives;
    for (const auto& file : folder_.files("raw")) {
      const auto path = "raw/" + file;
      if (!file.starts_with(begin) || !file.ends_with(end) || path == pairs_archive) {
        continue;
      }
      auto name = file.substr(0, file.size() - end.size());
      if (name.ends_with(of_types)) {
        name.resize(name.size() - of_types.size());
      }
      TROUPE_ASSIGN_OR_RETURN(auto archive, open(path));
      archives.emplace_back(std::move(name), std::move(archive));
    }
    return archives;
  }

  OgbFolder& folder_;
  const OgbOptions& options_;
  Executor& executor_;
  Graph graph_;
  std::vector<Archive> opened_;
  std::set<std::string> taken_;  ///< Names of members, with their archives'
  OgbArrays arrays_;
};

}  // namespace

Result<Graph> read_ogb_archives(OgbFolder& folder, const OgbOptions& options, Executor& executor) {
  return OgbArchives(folder, options, executor).read();
}

bool is_ogb_archives(const OgbFolder& folder) {
  return folder.has(plain_archive) || folder.has(pairs_archive);
}

}  // namespace troupe
