#include "runtime/data/graphbolt_import.hpp"

#include "runtime/data/column_rows.hpp"
#include "runtime/data/document_graph.hpp"
#include "runtime/data/edge_columns.hpp"
#include "runtime/data/edge_rows.hpp"
#include "runtime/data/gathered_labels.hpp"
#include "runtime/data/labelled_pairs.hpp"
#include "runtime/data/table.hpp"
#include "runtime/data/yaml_document.hpp"
#include "runtime/graph/store_layout.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace troupe {
namespace {

using namespace graph_source;
using npy_source::bad_input;
using npy_source::Source;

Result<TableFormat> read_graphbolt_format(const JsonValue& value) {
  TROUPE_ASSIGN_OR_RETURN(const auto name, value.string("format"));
  if (name != "csv" && name != "numpy") {
    return Error(Errc::unimplemented,
                 fmt::format("{}/format: expected csv or numpy, found \"{}\", which is not read",
                             value.place(), name));
  }
  return name == "csv" ? TableFormat::text : TableFormat::npy;
}

class GraphboltGraph {
 public:
  GraphboltGraph(const Source& source, const GraphboltOptions& options, Executor& executor)
      : source_(source),
        options_(options),
        executor_(executor),
        columns_(options.columns),
        named_(options.named) {}

  Result<Graph> read(const JsonValue& document) {
    TROUPE_ASSIGN_OR_RETURN(const auto graph, document.member("graph"));
    TROUPE_RETURN_IF_ERROR(read_nodes(graph));
    TROUPE_RETURN_IF_ERROR(read_edges(graph));
    TROUPE_RETURN_IF_ERROR(for_each_feature(
        graph, [this](const Feature& feature) { return take_graph_data(feature); }));
    TROUPE_RETURN_IF_ERROR(
        for_each_feature(document, [this](const Feature& feature) { return take(feature); }));
    TROUPE_RETURN_IF_ERROR(read_tasks(document));
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      graph_.nodes[i].labels = std::move(labels_[i]);
      TROUPE_RETURN_IF_ERROR(settle_count(graph_.nodes[i], "metadata.yaml"));
    }
    if (options_.features && !found_features_) {
      return Error(Errc::not_found, fmt::format("/feature_data: expected features named \"{}\", "
                                                "found none",
                                                *options_.features));
    }
    TROUPE_RETURN_IF_ERROR(columns_.check_found("/feature_data"));
    TROUPE_RETURN_IF_ERROR(named_.check_found("/feature_data"));
    return std::move(graph_);
  }

 private:
  /// An array of feature_data.
  struct Feature {
    std::string domain;
    std::string name;
    const JsonValue& array;
  };

  /// A type's name; one that is not stated is of a graph with one type.
  static Result<std::string> type_of(const JsonValue& value, const std::string& otherwise) {
    TROUPE_ASSIGN_OR_RETURN(const bool given, is_given(value, "type"));
    return given ? value.string("type") : Result<std::string>(otherwise);
  }

  Status read_nodes(const JsonValue& graph) {
    TROUPE_ASSIGN_OR_RETURN(const auto types, graph.array("nodes"));
    for (const auto& type : types) {
      TROUPE_ASSIGN_OR_RETURN(auto name, type_of(type, "node"));
      TROUPE_ASSIGN_OR_RETURN(const auto count, type.integer("num", store_layout::largest_count));
      graph_.nodes.push_back({std::move(name), count});
    }
    labels_.resize(graph_.nodes.size());
    return ok_status();
  }

  Status read_edges(const JsonValue& graph) {
    TROUPE_ASSIGN_OR_RETURN(const auto types, graph.array("edges"));
    std::vector<TypeTriple> triples;
    for (const auto& type : types) {
      TROUPE_ASSIGN_OR_RETURN(edge_types_.emplace_back(), type_of(type, "node:edge:node"));
      TROUPE_ASSIGN_OR_RETURN(triples.emplace_back(),
                              parse_triple(edge_types_.back(), type.place() + "/type"));
    }
    const auto names = edge_type_names(triples);
    for (std::size_t i = 0; i < types.size(); ++i) {
      Edges edges;
      edges.name = names[i];
      TROUPE_ASSIGN_OR_RETURN(edges.source,
                              find_nodes(graph_, triples[i].source, types[i].place()));
      TROUPE_ASSIGN_OR_RETURN(edges.destination,
                              find_nodes(graph_, triples[i].destination, types[i].place()));
      edges.transforms =
          transforms_of(options_.import.edges, {}, edges.source == edges.destination);
      TROUPE_ASSIGN_OR_RETURN(edges.rows, open_rows(types[i], edges, PairLayout::columns));
      graph_.edges.push_back(std::move(edges));
    }
    return ok_status();
  }

  /// Opens pairs of nodes at the ends of `edges`.
  Result<std::unique_ptr<EdgeRows>> open_rows(const JsonValue& value, const Edges& edges,
                                              PairLayout layout) const {
    TROUPE_ASSIGN_OR_RETURN(const auto format, read_graphbolt_format(value));
    TROUPE_ASSIGN_OR_RETURN(auto file, value.string("path"));
    const EdgeEnds ends{*graph_.nodes[edges.source].count, *graph_.nodes[edges.destination].count};
    if (format == TableFormat::text) {
      return open_text_pairs(source_, {std::move(file)}, ends);
    }
    PairFiles files{{std::move(file)}, layout};
    files.each = layout == PairLayout::rows ? "link" : "edge";
    return open_pairs(source_, files, ends);
  }

  Result<Table> open(const JsonValue& value) const {
    TROUPE_ASSIGN_OR_RETURN(const auto format, read_graphbolt_format(value));
    TROUPE_ASSIGN_OR_RETURN(auto file, value.string("path"));
    return Table::open(source_, {std::move(file)}, format);
  }

  Status for_each_feature(const JsonValue& parent,
                          const std::function<Status(const Feature&)>& take) const {
    TROUPE_ASSIGN_OR_RETURN(const bool given, is_given(parent, "feature_data"));
    if (!given) {
      return ok_status();
    }
    TROUPE_ASSIGN_OR_RETURN(const auto arrays, parent.array("feature_data"));
    for (const auto& array : arrays) {
      TROUPE_ASSIGN_OR_RETURN(const auto domain, array.string("domain"));
      TROUPE_ASSIGN_OR_RETURN(const auto name, array.string("name"));
      TROUPE_RETURN_IF_ERROR(take({domain, name, array}));
    }
    return ok_status();
  }

  /// Arrays that GraphBolt keeps beside the lists for sampling: no features are taken.
  Status take_graph_data(const Feature& feature) {
    TROUPE_ASSIGN_OR_RETURN(const bool taken, take_columns(feature));
    if (!taken) {
      leave_out(fmt::format("graph/feature_data {} of {}", feature.name, feature.domain));
    }
    return ok_status();
  }

  Status take(const Feature& feature) {
    TROUPE_ASSIGN_OR_RETURN(const bool taken, take_columns(feature));
    const bool features =
        options_.features ? feature.name == options_.features : feature.name == "feat" && !taken;
    if (features && (feature.domain == "node" || feature.domain == "edge")) {
      return take_features(feature);
    }
    if (!taken) {
      leave_out(fmt::format("feature_data {} of {}", feature.name, feature.domain));
    }
    return ok_status();
  }

  /// Takes weights, times and named columns. \returns whether the array is such
  Result<bool> take_columns(const Feature& feature) {
    const bool of_edges = feature.domain == "edge";
    const bool named = (of_edges || feature.domain == "node") && named_.wants(feature.name);
    const bool values = of_edges && columns_.wants(feature.name);
    if (named && !of_edges) {
      TROUPE_ASSIGN_OR_RETURN(const auto type, type_of(feature.array, "node"));
      TROUPE_ASSIGN_OR_RETURN(const auto nodes, find_nodes(graph_, type, feature.array.place()));
      TROUPE_RETURN_IF_ERROR(take_named(feature, graph_.nodes[nodes]));
    }
    if (of_edges && (named || values)) {
      TROUPE_ASSIGN_OR_RETURN(const auto place, find_edges(feature.array));
      auto& edges = graph_.edges[place];
      TROUPE_RETURN_IF_ERROR(named ? take_named(feature, edges) : ok_status());
      if (values) {
        TROUPE_RETURN_IF_ERROR(
            columns_.take(feature.name, edges, [&] { return open(feature.array); }));
      }
    }
    return named || values;
  }

  /// \param type  of nodes or edges
  template <class Type>
  Status take_named(const Feature& feature, Type& type) const {
    return named_.take(feature.name, type.name, type.columns,
                       [&](const NamedColumn& column) -> Result<std::unique_ptr<ColumnRows>> {
                         TROUPE_ASSIGN_OR_RETURN(const auto format,
                                                 read_graphbolt_format(feature.array));
                         TROUPE_ASSIGN_OR_RETURN(auto file, feature.array.string("path"));
                         return column_of_files(column, source_, {std::move(file)}, format);
                       });
  }

  Status take_features(const Feature& feature) {
    found_features_ = true;
    TROUPE_ASSIGN_OR_RETURN(auto table, open(feature.array));
    TROUPE_ASSIGN_OR_RETURN(auto rows, features_of(std::move(table)));
    if (feature.domain == "node") {
      TROUPE_ASSIGN_OR_RETURN(const auto type, type_of(feature.array, "node"));
      TROUPE_ASSIGN_OR_RETURN(const auto nodes, find_nodes(graph_, type, feature.array.place()));
      graph_.nodes[nodes].features = std::move(rows);
      return ok_status();
    }
    TROUPE_ASSIGN_OR_RETURN(const auto edges, find_edges(feature.array));
    graph_.edges[edges].features = std::move(rows);
    return ok_status();
  }

  /// The place of the edge type that an array is of.
  Result<std::size_t> find_edges(const JsonValue& array) const {
    TROUPE_ASSIGN_OR_RETURN(const auto type, type_of(array, "node:edge:node"));
    const auto found = std::ranges::find(edge_types_, type);
    if (found == edge_types_.end()) {
      return array.error("the type of edges that the graph has");
    }
    return static_cast<std::size_t>(found - edge_types_.begin());
  }

  /// Whether a key is there with a value: GraphBolt takes null for nothing.
  static Result<bool> is_given(const JsonValue& parent, const std::string& key) {
    if (!parent.has(key)) {
      return false;
    }
    TROUPE_ASSIGN_OR_RETURN(const auto value, parent.member(key));
    return !value.is_null();
  }

  Status read_tasks(const JsonValue& document) {
    TROUPE_ASSIGN_OR_RETURN(const bool has_tasks, is_given(document, "tasks"));
    if (!has_tasks) {
      return ok_status();
    }
    TROUPE_ASSIGN_OR_RETURN(const auto tasks, document.array("tasks"));
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      std::string split;
      if (i > 0) {
        TROUPE_ASSIGN_OR_RETURN(split, tasks[i].string("name"));
      }
      std::optional<std::uint64_t> classes;
      TROUPE_ASSIGN_OR_RETURN(const bool counted, is_given(tasks[i], "num_classes"));
      if (counted) {
        TROUPE_ASSIGN_OR_RETURN(classes,
                                tasks[i].integer("num_classes", store_layout::largest_cols));
      }
      TROUPE_RETURN_IF_ERROR(read_sets(tasks[i], split, classes));
    }
    return ok_status();
  }

  Status read_sets(const JsonValue& task, const std::string& split,
                   std::optional<std::uint64_t> classes) {
    constexpr std::array<std::array<const char*, 2>, 3> sets{
        {{"train_set", "train"}, {"validation_set", "val"}, {"test_set", "test"}}};
    for (const auto& [key, role] : sets) {
      TROUPE_ASSIGN_OR_RETURN(const bool given, is_given(task, key));
      if (!given) {
        continue;
      }
      TROUPE_ASSIGN_OR_RETURN(const auto types, task.array(key));
      for (const auto& type : types) {
        TROUPE_RETURN_IF_ERROR(read_set(type, {split, role}, classes));
      }
    }
    return ok_status();
  }

  using SetName = std::pair<std::string, std::string>;

  /// The arrays of a set that are of use.
  struct SetArrays {
    std::optional<JsonValue> seeds{};
    std::optional<Table> labels{};
    bool indexes = false;  ///< Says that there are negative pairs, with label 0
  };

  Result<SetArrays> read_arrays(const JsonValue& set) const {
    TROUPE_ASSIGN_OR_RETURN(const auto list, set.array("data"));
    SetArrays arrays;
    for (const auto& array : list) {
      TROUPE_ASSIGN_OR_RETURN(const auto what, array.string("name"));
      if (what == "seeds" || what == "seed_nodes" || what == "node_pairs") {
        arrays.seeds = array;
      } else if (what == "labels") {
        TROUPE_ASSIGN_OR_RETURN(arrays.labels, open(array));
      } else if (what == "indexes") {
        arrays.indexes = true;
      } else {
        leave_out(fmt::format("{} of {}", what, set.place().substr(1)));
      }
    }
    return arrays;
  }

  Status read_set(const JsonValue& set, const SetName& name, std::optional<std::uint64_t> classes) {
    TROUPE_ASSIGN_OR_RETURN(const auto arrays, read_arrays(set));
    if (!arrays.seeds) {
      leave_out(set.place().substr(1));
      return ok_status();
    }
    TROUPE_ASSIGN_OR_RETURN(const auto seeds, open(*arrays.seeds));
    if (seeds.cols() == 2) {
      return read_links(set, arrays, name);
    }
    if (seeds.cols() > 2) {  // hyperlinks
      leave_out(set.place().substr(1));
      return ok_status();
    }
    TROUPE_ASSIGN_OR_RETURN(const auto type, type_of(set, "node"));
    TROUPE_ASSIGN_OR_RETURN(const auto nodes, find_nodes(graph_, type, set.place()));
    TROUPE_ASSIGN_OR_RETURN(auto ids, ids_of(seeds, *graph_.nodes[nodes].count, executor_));
    if (arrays.labels) {
      TROUPE_RETURN_IF_ERROR(take_labels(*arrays.labels, nodes, ids, classes));
    }
    if (!graph_.seeds.try_emplace(name, Seeds{nodes, std::move(ids)}).second) {
      return set.error("seeds of one node type for each role");
    }
    return ok_status();
  }

  /// Pairs of nodes: links to predict.
  Status read_links(const JsonValue& set, const SetArrays& arrays, const SetName& name) {
    TROUPE_ASSIGN_OR_RETURN(const auto edges, find_edges(set));
    TROUPE_ASSIGN_OR_RETURN(auto rows,
                            open_rows(*arrays.seeds, graph_.edges[edges], PairLayout::rows));
    if (arrays.labels) {
      const auto negatives = arrays.indexes ? Negatives::by_label_0 : Negatives::none;
      TROUPE_ASSIGN_OR_RETURN(auto pairs,
                              with_labels(std::move(rows), *arrays.labels, negatives, executor_));
      rows = std::move(pairs.rows);
      if (pairs.negatives > 0) {
        leave_out(fmt::format("{} negative pairs of {}", pairs.negatives, set.place().substr(1)));
      }
    }
    if (!graph_.links.try_emplace(name, Links{edges, std::move(rows)}).second) {
      return set.error("links of one edge type for each role");
    }
    return ok_status();
  }

  Status take_labels(const Table& table, std::size_t nodes, const std::vector<std::uint64_t>& ids,
                     std::optional<std::uint64_t> classes) {
    auto& labels = labels_[nodes];
    if (!labels) {
      labels = std::make_unique<GatheredLabels>(table.file(), *graph_.nodes[nodes].count, classes);
    }
    std::uint64_t row = 0;
    const auto take = [&](std::span<const std::int64_t> values) -> Status {
      for (const auto value : values) {
        if (row < ids.size()) {
          TROUPE_RETURN_IF_ERROR(labels->set(ids[row], value, row, table.file()));
        }
        ++row;
      }
      return ok_status();
    };
    TROUPE_RETURN_IF_ERROR(table.read_integers(executor_, {}, take));
    if (row != ids.size() || table.cols() > 1) {
      return bad_input(table.file(), fmt::format("expected {} labels, one per seed, got {}",
                                                 ids.size(), table.shape()));
    }
    return ok_status();
  }

  void leave_out(const std::string& what) const {
    if (options_.import.left_out) {
      options_.import.left_out(what);
    }
  }

  const Source& source_;
  const GraphboltOptions& options_;
  Executor& executor_;
  Graph graph_;
  std::vector<std::string> edge_types_;                  ///< as written
  std::vector<std::unique_ptr<GatheredLabels>> labels_;  ///< by node type
  bool found_features_ = false;
  NamedEdgeColumns columns_;
  NamedColumns named_;
};

}  // namespace

Result<GraphInfo> import_graphbolt(const std::filesystem::path& dir,
                                   const std::filesystem::path& out,
                                   const GraphboltOptions& options, Executor& executor) {
  return import_graph({dir, out}, options.import, executor, [&] {
    return graph_of_document<GraphboltGraph>(read_yaml_document(dir / "metadata.yaml"), dir,
                                             options, executor);
  });
}

}  // namespace troupe
