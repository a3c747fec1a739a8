#include "runtime/data/npy_graph.hpp"

#include "runtime/data/column_rows.hpp"
#include "runtime/data/document_graph.hpp"
#include "runtime/data/edge_rows.hpp"
#include "runtime/data/npy_values.hpp"
#include "runtime/data/table.hpp"
#include "runtime/graph/store_layout.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace troupe {
namespace {

using namespace graph_source;
using npy_source::Source;

class Document {
 public:
  Document(const Source& source, const ImportOptions& options, Executor& executor)
      : source_(source), options_(options), executor_(executor) {}

  Result<Graph> read(const JsonValue& document) {
    TROUPE_ASSIGN_OR_RETURN(
        const auto top, known_object(document, {"node_types", "edge_types", "splits", "links"}));
    TROUPE_ASSIGN_OR_RETURN(const auto node_types, document.member("node_types"));
    TROUPE_ASSIGN_OR_RETURN(const auto nodes, node_types.members());
    for (const auto& type : nodes) {
      TROUPE_RETURN_IF_ERROR(read_nodes(type));
    }
    TROUPE_ASSIGN_OR_RETURN(const auto edge_types, document.member("edge_types"));
    TROUPE_ASSIGN_OR_RETURN(const auto edges, edge_types.members());
    for (const auto& type : edges) {
      TROUPE_RETURN_IF_ERROR(read_edges(type));
    }
    if (const auto* splits = top.find("splits")) {
      TROUPE_RETURN_IF_ERROR(read_splits(*splits));
    }
    if (const auto* links = top.find("links")) {
      TROUPE_RETURN_IF_ERROR(read_all_links(*links));
    }
    return std::move(graph_);
  }

 private:
  static Result<std::string> text(const KnownObject& object, std::string_view key) {
    const auto* value = object.find(key);
    return value != nullptr ? value->string() : std::string();
  }

  Result<Table> open(const JsonValue& value) const {
    TROUPE_ASSIGN_OR_RETURN(auto file, value.string());
    return Table::open(source_, {std::move(file)}, TableFormat::npy);
  }

  Status read_nodes(const JsonValue::Member& type) {
    TROUPE_ASSIGN_OR_RETURN(const auto object,
                            known_object(type.value, {"count", "features", "labels", "columns"}));
    Nodes nodes;
    nodes.name = type.key;
    if (const auto* count = object.find("count")) {
      TROUPE_ASSIGN_OR_RETURN(nodes.count, count->integer(store_layout::largest_count));
    }
    if (const auto* features = object.find("features")) {
      TROUPE_ASSIGN_OR_RETURN(nodes.features, read_features(*features, nodes.count));
    }
    if (const auto* labels = object.find("labels")) {
      TROUPE_ASSIGN_OR_RETURN(nodes.labels, read_labels(*labels));
    }
    TROUPE_ASSIGN_OR_RETURN(nodes.columns, read_columns(object));
    TROUPE_RETURN_IF_ERROR(settle_count(nodes, type.value.place() + "/count"));
    graph_.nodes.push_back(std::move(nodes));
    return ok_status();
  }

  /// A file, or a file of numbers to predict.
  Result<std::unique_ptr<LabelRows>> read_labels(const JsonValue& value) const {
    if (value.string()) {
      TROUPE_ASSIGN_OR_RETURN(auto table, open(value));
      return labels_of(std::move(table), {}, executor_);
    }
    TROUPE_ASSIGN_OR_RETURN(const auto object, known_object(value, {"numbers"}));
    TROUPE_ASSIGN_OR_RETURN(auto file, value.string("numbers"));
    TROUPE_ASSIGN_OR_RETURN(auto table, Table::open(source_, {std::move(file)}, TableFormat::npy));
    return numbers_of(std::move(table));
  }

  /// A file, "one-hot", or files of sparse rows.
  Result<std::unique_ptr<FeatureRows>> read_features(const JsonValue& value,
                                                     std::optional<std::uint64_t> nodes) const {
    if (!value.string()) {
      return read_sparse(value);
    }
    if (*value.string() != "one-hot") {
      TROUPE_ASSIGN_OR_RETURN(auto table, open(value));
      return features_of(std::move(table));
    }
    if (!nodes) {
      return Error(
          Errc::invalid_argument,
          fmt::format("{}: one-hot: expected a count beside it, found none", value.place()));
    }
    return npy_source::one_hot(value.place(), *nodes);
  }

  Result<std::unique_ptr<FeatureRows>> read_sparse(const JsonValue& value) const {
    TROUPE_ASSIGN_OR_RETURN(const auto object,
                            known_object(value, {"indptr", "indices", "data", "columns"}));
    npy_source::SparseFiles files;
    TROUPE_ASSIGN_OR_RETURN(files.offsets, value.string("indptr"));
    TROUPE_ASSIGN_OR_RETURN(files.columns, value.string("indices"));
    TROUPE_ASSIGN_OR_RETURN(files.values, text(object, "data"));
    std::optional<std::uint64_t> columns;
    if (const auto* stated = object.find("columns")) {
      TROUPE_ASSIGN_OR_RETURN(columns, stated->integer(store_layout::largest_feature_cols));
    }
    return npy_source::open_sparse(source_, std::move(files), columns);
  }

  /// Arrays by name, each a file, or a file with its dtype: bf16 is stored as u16.
  Result<std::vector<std::unique_ptr<ColumnRows>>> read_columns(const KnownObject& type) const {
    std::vector<std::unique_ptr<ColumnRows>> columns;
    const auto* value = type.find("columns");
    if (value == nullptr) {
      return columns;
    }
    TROUPE_ASSIGN_OR_RETURN(const auto members, value->members());
    for (const auto& member : members) {
      NamedColumn column{member.key};
      auto file = member.value.string();
      if (!file) {
        TROUPE_ASSIGN_OR_RETURN(const auto object, known_object(member.value, {"file", "dtype"}));
        file = member.value.string("file");
        TROUPE_ASSIGN_OR_RETURN(const auto dtype, member.value.string("dtype"));
        if (dtype != to_string(DType::bf16)) {
          return member.value.error("\"dtype\": \"bf16\", of an array of u16, or the file alone");
        }
        column.dtype = DType::bf16;
      }
      TROUPE_ASSIGN_OR_RETURN(const auto name, std::move(file));
      TROUPE_ASSIGN_OR_RETURN(auto array, source_.read(name));
      std::vector<ColumnPiece> pieces;
      pieces.push_back({name, ArraySource(std::move(array))});
      TROUPE_ASSIGN_OR_RETURN(
          columns.emplace_back(),
          column_of_arrays(column, std::move(pieces), R"({"file": FILE, "dtype": "bf16"})"));
    }
    return columns;
  }

  Result<std::size_t> node_type(const JsonValue& value) const {
    TROUPE_ASSIGN_OR_RETURN(const auto name, value.string());
    return find_nodes(graph_, name, value.place());
  }
  Result<EdgeTransforms> read_transforms(const KnownObject& object, bool one_type) const {
    TROUPE_ASSIGN_OR_RETURN(const auto own, own_transforms(object));
    return transforms_of(options_.edges, own, one_type);
  }

  /// Bounds of node ids, as far as they are known.
  EdgeEnds ends_of(const Edges& edges) const {
    const auto end = [&](std::size_t nodes) {
      return graph_.nodes[nodes].count.value_or(store_layout::largest_count);
    };
    return {end(edges.source), end(edges.destination)};
  }

  Status read_edges(const JsonValue::Member& type) {
    const auto& value = type.value;
    TROUPE_ASSIGN_OR_RETURN(const auto object,
                            known_object(value, {"source", "destination", "edges", "weights",
                                                 "times", "features", "columns", "symmetrize",
                                                 "dedup", "drop_self_loops", "reverse_edges"}));
    Edges edges;
    edges.name = type.key;
    TROUPE_ASSIGN_OR_RETURN(const auto source, value.member("source"));
    TROUPE_ASSIGN_OR_RETURN(edges.source, node_type(source));
    TROUPE_ASSIGN_OR_RETURN(const auto destination, value.member("destination"));
    TROUPE_ASSIGN_OR_RETURN(edges.destination, node_type(destination));
    TROUPE_ASSIGN_OR_RETURN(edges.transforms,
                            read_transforms(object, edges.source == edges.destination));
    PairFiles files;
    TROUPE_ASSIGN_OR_RETURN(files.pairs.emplace_back(), value.string("edges"));
    TROUPE_ASSIGN_OR_RETURN(files.weights, text(object, "weights"));
    TROUPE_ASSIGN_OR_RETURN(files.times, text(object, "times"));
    TROUPE_ASSIGN_OR_RETURN(edges.rows, open_pairs(source_, files, ends_of(edges)));
    if (const auto* features = object.find("features")) {
      TROUPE_ASSIGN_OR_RETURN(auto table, open(*features));
      TROUPE_ASSIGN_OR_RETURN(edges.features, features_of(std::move(table)));
    }
    TROUPE_ASSIGN_OR_RETURN(edges.columns, read_columns(object));
    graph_.edges.push_back(std::move(edges));
    return ok_status();
  }

  Status read_splits(const JsonValue& value) {
    TROUPE_ASSIGN_OR_RETURN(const auto splits, value.members());
    for (const auto& split : splits) {
      TROUPE_ASSIGN_OR_RETURN(const auto roles,
                              known_object(split.value, {"train", "val", "test"}));
      for (const auto& role : roles.members) {
        TROUPE_ASSIGN_OR_RETURN(graph_.seeds[std::make_pair(split.key, role.key)],
                                read_seeds(role.value));
      }
    }
    return ok_status();
  }

  /// The ids, or an object with the ids and their times.
  Result<Seeds> read_seeds(const JsonValue& value) const {
    TROUPE_ASSIGN_OR_RETURN(const auto types, value.members());
    if (types.size() != 1) {
      return value.error("an object with one node type: seeds of a role are of one type");
    }
    const auto& type = types.front();
    TROUPE_ASSIGN_OR_RETURN(const auto nodes, find_nodes(graph_, type.key, value.place()));
    Seeds seeds{nodes, {}};
    if (type.value.string()) {
      TROUPE_ASSIGN_OR_RETURN(seeds.ids, read_ids(type.value, nodes));
      return seeds;
    }
    TROUPE_ASSIGN_OR_RETURN(const auto object, known_object(type.value, {"ids", "times"}));
    TROUPE_ASSIGN_OR_RETURN(const auto ids, type.value.member("ids"));
    TROUPE_ASSIGN_OR_RETURN(seeds.ids, read_ids(ids, nodes));
    if (const auto* times = object.find("times")) {
      TROUPE_ASSIGN_OR_RETURN(seeds.times, read_times(*times, seeds.ids.size()));
    }
    return seeds;
  }

  Result<std::vector<std::uint64_t>> read_ids(const JsonValue& file, std::size_t nodes) const {
    TROUPE_ASSIGN_OR_RETURN(const auto table, open(file));
    return ids_of(table, graph_.nodes[nodes].count.value_or(store_layout::largest_count),
                  executor_);
  }

  Result<std::vector<std::int64_t>> read_times(const JsonValue& file, std::size_t seeds) const {
    TROUPE_ASSIGN_OR_RETURN(const auto name, file.string());
    TROUPE_ASSIGN_OR_RETURN(const auto array, source_.read(name));
    if (array.shape.size() != 1 || array.shape[0] != seeds) {
      return npy_source::bad_input(
          name, fmt::format("expected shape [{}], one time per seed, got {}", seeds,
                            shape_text(array.shape)));
    }
    std::vector<std::int64_t> times(seeds);
    TROUPE_RETURN_IF_ERROR(npy_values::read_integers(array, {name, 1, 0}, times));
    return times;
  }

  Status read_all_links(const JsonValue& value) {
    TROUPE_ASSIGN_OR_RETURN(const auto splits, value.members());
    for (const auto& split : splits) {
      TROUPE_ASSIGN_OR_RETURN(const auto roles,
                              known_object(split.value, {"train", "val", "test"}));
      for (const auto& role : roles.members) {
        TROUPE_ASSIGN_OR_RETURN(graph_.links[std::make_pair(split.key, role.key)],
                                read_links(role.value));
      }
    }
    return ok_status();
  }

  /// The ends, or an object with the ends, their times and labels.
  Result<Links> read_links(const JsonValue& value) const {
    TROUPE_ASSIGN_OR_RETURN(const auto types, value.members());
    if (types.size() != 1) {
      return value.error("an object with one edge type: links of a role are of one type");
    }
    const auto& type = types.front();
    const auto found = std::ranges::find(graph_.edges, type.key, &Edges::name);
    if (found == graph_.edges.end()) {
      return Error(Errc::invalid_argument,
                   fmt::format("{}: expected the name of an edge type, found \"{}\"", value.place(),
                               type.key));
    }
    PairFiles files;
    files.layout = PairLayout::either_rows_first;
    files.each = "link";
    if (auto ends = type.value.string()) {
      files.pairs.push_back(*std::move(ends));
    } else {
      TROUPE_ASSIGN_OR_RETURN(const auto object,
                              known_object(type.value, {"ends", "times", "labels"}));
      TROUPE_ASSIGN_OR_RETURN(files.pairs.emplace_back(), type.value.string("ends"));
      TROUPE_ASSIGN_OR_RETURN(files.times, text(object, "times"));
      TROUPE_ASSIGN_OR_RETURN(files.weights, text(object, "labels"));
    }
    Links links;
    links.edges = static_cast<std::size_t>(found - graph_.edges.begin());
    TROUPE_ASSIGN_OR_RETURN(links.rows, open_pairs(source_, files, ends_of(*found)));
    return links;
  }

  const Source& source_;
  const ImportOptions& options_;
  Executor& executor_;
  Graph graph_;
};

}  // namespace

Result<GraphInfo> import_npy_graph(const std::filesystem::path& document,
                                   const std::filesystem::path& out, const ImportOptions& options,
                                   Executor& executor) {
  return import_graph({document, out}, options, executor, [&] {
    return graph_of_document<Document>(read_json_document(document), document.parent_path(),
                                       options, executor);
  });
}

}  // namespace troupe
