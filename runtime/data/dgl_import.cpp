#include "runtime/data/dgl_import.hpp"

#include "runtime/data/column_rows.hpp"
#include "runtime/data/document_graph.hpp"
#include "runtime/data/edge_columns.hpp"
#include "runtime/data/edge_rows.hpp"
#include "runtime/data/table.hpp"
#include "runtime/graph/store_layout.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace troupe {
namespace {

using namespace graph_source;
using npy_source::bad_input;
using npy_source::Source;

/// "csv" and "numpy" as tables.
Result<TableFormat> read_dgl_format(const JsonValue& format) {
  TROUPE_ASSIGN_OR_RETURN(const auto name, format.string("name"));
  if (name == "numpy") {
    return TableFormat::npy;
  }
  if (name != "csv") {
    return Error(Errc::unimplemented,
                 fmt::format("{}/name: expected csv or numpy, found \"{}\", which is not read",
                             format.place(), name));
  }
  if (format.has("delimiter")) {
    TROUPE_ASSIGN_OR_RETURN(const auto delimiter, format.string("delimiter"));
    if (delimiter != " " && delimiter != "\t" && delimiter != "," && delimiter != ";") {
      return Error(Errc::unimplemented,
                   fmt::format("{}/delimiter: expected a space, tab, comma or semicolon, found "
                               "\"{}\"",
                               format.place(), delimiter));
    }
  }
  return TableFormat::text;
}

/// The files of an array, and how they are written.
struct ArrayFiles {
  TableFormat format = TableFormat::npy;
  std::vector<std::string> files;
};

Result<ArrayFiles> array_files(const JsonValue& value) {
  ArrayFiles array;
  TROUPE_ASSIGN_OR_RETURN(const auto format, value.member("format"));
  TROUPE_ASSIGN_OR_RETURN(array.format, read_dgl_format(format));
  TROUPE_ASSIGN_OR_RETURN(const auto files, value.array("data"));
  for (const auto& file : files) {
    TROUPE_ASSIGN_OR_RETURN(array.files.emplace_back(), file.string());
  }
  return array.files.empty() ? Result<ArrayFiles>(value.error("an array of one file at least"))
                             : std::move(array);
}

/// Nodes whose mask is 1.
Result<std::vector<std::uint64_t>> masked_nodes(const Table& mask, std::uint64_t nodes,
                                                Executor& executor) {
  std::vector<std::uint64_t> ids;
  std::uint64_t node = 0;
  const auto take = [&](std::span<const std::int64_t> values) -> Status {
    for (const auto value : values) {
      if (node == nodes || (value != 0 && value != 1)) {
        return bad_input(mask.file(), fmt::format("row {}: expected 0 or 1 for {} nodes, got {}",
                                                  node, nodes, value));
      }
      if (value == 1) {
        ids.push_back(node);
      }
      ++node;
    }
    return ok_status();
  };
  TROUPE_RETURN_IF_ERROR(mask.read_integers(executor, {}, take));
  if (mask.cols() > 1 || node != nodes) {
    return bad_input(mask.file(), fmt::format("expected a mask of {} nodes, got {} values in {} "
                                              "columns",
                                              nodes, node, mask.cols()));
  }
  return ids;
}

class DglGraph {
 public:
  DglGraph(const Source& source, const DglOptions& options, Executor& executor)
      : source_(source),
        options_(options),
        executor_(executor),
        columns_(options.columns),
        named_(options.named) {}

  Result<Graph> read(const JsonValue& document) {
    TROUPE_RETURN_IF_ERROR(read_node_types(document));
    TROUPE_RETURN_IF_ERROR(read_edge_types(document));
    TROUPE_RETURN_IF_ERROR(for_each_array(
        document, "node_data", [this](const Array& array) { return take_node_data(array); }));
    TROUPE_RETURN_IF_ERROR(for_each_array(
        document, "edge_data", [this](const Array& array) { return take_edge_data(array); }));
    for (auto& nodes : graph_.nodes) {
      TROUPE_RETURN_IF_ERROR(settle_count(nodes, "metadata.json"));
    }
    TROUPE_RETURN_IF_ERROR(check_found(options_.features, found_features_));
    TROUPE_RETURN_IF_ERROR(check_found(options_.labels, found_labels_));
    TROUPE_RETURN_IF_ERROR(columns_.check_found("/edge_data"));
    TROUPE_RETURN_IF_ERROR(named_.check_found("/node_data, /edge_data"));
    return std::move(graph_);
  }

 private:
  /// An array of node_data or edge_data.
  struct Array {
    std::size_t type;  ///< place among the node or edge types
    const std::string& name;
    const JsonValue& value;
  };

  static Result<std::uint64_t> sum(const JsonValue& chunks) {
    TROUPE_ASSIGN_OR_RETURN(const auto items, chunks.array());
    std::uint64_t total = 0;
    for (const auto& item : items) {
      TROUPE_ASSIGN_OR_RETURN(const auto count, item.integer(store_layout::largest_count));
      total = std::min(total + count, 2 * store_layout::largest_count);
    }
    return total;
  }
  /// The counts of a list of types, one list of chunks each.
  static Result<std::vector<std::uint64_t>> counts(const JsonValue& document,
                                                   const std::string& key, std::size_t types) {
    TROUPE_ASSIGN_OR_RETURN(const auto lists, document.array(key));
    if (lists.size() != types) {
      return Error(
          Errc::invalid_argument,
          fmt::format("/{}: expected {} lists, one per type, got {}", key, types, lists.size()));
    }
    std::vector<std::uint64_t> totals;
    for (const auto& list : lists) {
      TROUPE_ASSIGN_OR_RETURN(totals.emplace_back(), sum(list));
    }
    return totals;
  }

  Status read_node_types(const JsonValue& document) {
    TROUPE_ASSIGN_OR_RETURN(const auto types, document.array("node_type"));
    std::vector<std::uint64_t> totals;
    if (document.has("num_nodes_per_type")) {
      TROUPE_ASSIGN_OR_RETURN(totals,
                              document.integers("num_nodes_per_type", store_layout::largest_count));
    } else {
      TROUPE_ASSIGN_OR_RETURN(totals, counts(document, "num_nodes_per_chunk", types.size()));
    }
    if (totals.size() != types.size()) {
      return Error(Errc::invalid_argument,
                   fmt::format("/num_nodes_per_type: expected {} numbers, got {}", types.size(),
                               totals.size()));
    }
    for (std::size_t i = 0; i < types.size(); ++i) {
      TROUPE_ASSIGN_OR_RETURN(const auto name, types[i].string());
      graph_.nodes.push_back({name, totals[i]});
    }
    return ok_status();
  }

  Status read_edge_types(const JsonValue& document) {
    TROUPE_ASSIGN_OR_RETURN(const auto types, document.array("edge_type"));
    TROUPE_ASSIGN_OR_RETURN(const auto totals,
                            counts(document, "num_edges_per_chunk", types.size()));
    std::vector<TypeTriple> triples;
    for (const auto& type : types) {
      TROUPE_ASSIGN_OR_RETURN(edge_types_.emplace_back(), type.string());
      TROUPE_ASSIGN_OR_RETURN(triples.emplace_back(),
                              parse_triple(edge_types_.back(), type.place()));
    }
    TROUPE_ASSIGN_OR_RETURN(const auto all, document.member("edges"));
    const auto names = edge_type_names(triples);
    for (std::size_t i = 0; i < triples.size(); ++i) {
      auto& edges = graph_.edges.emplace_back();
      edges.name = names[i];
      edges.count = totals[i];
      TROUPE_ASSIGN_OR_RETURN(edges.source,
                              find_nodes(graph_, triples[i].source, types[i].place()));
      TROUPE_ASSIGN_OR_RETURN(edges.destination,
                              find_nodes(graph_, triples[i].destination, types[i].place()));
      edges.transforms =
          transforms_of(options_.import.edges, {}, edges.source == edges.destination);
      TROUPE_ASSIGN_OR_RETURN(const auto value, all.member(edge_types_[i]));
      TROUPE_RETURN_IF_ERROR(open_edges(value, edges));
    }
    return ok_status();
  }

  Status open_edges(const JsonValue& value, Edges& edges) const {
    TROUPE_ASSIGN_OR_RETURN(const auto array, array_files(value));
    const EdgeEnds ends{*graph_.nodes[edges.source].count, *graph_.nodes[edges.destination].count};
    if (array.format == TableFormat::text) {
      TROUPE_ASSIGN_OR_RETURN(edges.rows, open_text_pairs(source_, array.files, ends));
    } else {
      TROUPE_ASSIGN_OR_RETURN(edges.rows,
                              open_pairs(source_, {array.files, PairLayout::rows}, ends));
    }
    return ok_status();
  }

  Status for_each_array(const JsonValue& document, const std::string& key,
                        const std::function<Status(const Array&)>& take) const {
    if (!document.has(key)) {
      return ok_status();
    }
    TROUPE_ASSIGN_OR_RETURN(const auto section, document.member(key));
    TROUPE_ASSIGN_OR_RETURN(const auto types, section.members());
    for (const auto& type : types) {
      std::size_t place = 0;
      if (key == "node_data") {
        TROUPE_ASSIGN_OR_RETURN(place, find_nodes(graph_, type.key, type.value.place()));
      } else {
        const auto found = std::ranges::find(edge_types_, type.key);
        if (found == edge_types_.end()) {
          return type.value.error("data of an edge type that edge_type lists");
        }
        place = static_cast<std::size_t>(found - edge_types_.begin());
      }
      TROUPE_ASSIGN_OR_RETURN(const auto arrays, type.value.members());
      for (const auto& array : arrays) {
        TROUPE_RETURN_IF_ERROR(take({place, array.key, array.value}));
      }
    }
    return ok_status();
  }

  Result<Table> open(const JsonValue& value) const {
    TROUPE_ASSIGN_OR_RETURN(const auto array, array_files(value));
    return Table::open(source_, array.files, array.format);
  }

  /// \param type  of nodes or edges
  template <class Type>
  Status take_named(const Array& array, Type& type) const {
    return named_.take(array.name, type.name, type.columns,
                       [&](const NamedColumn& column) -> Result<std::unique_ptr<ColumnRows>> {
                         TROUPE_ASSIGN_OR_RETURN(const auto files, array_files(array.value));
                         return column_of_files(column, source_, files.files, files.format);
                       });
  }

  /// Whether an array is the one that the user stated, or where none is stated the usual one that
  /// nothing else has taken.
  static bool is_array(const Array& array, const std::optional<std::string>& stated,
                       std::string_view usual, bool taken) {
    return stated ? array.name == *stated : array.name == usual && !taken;
  }

  Status take_node_data(const Array& array) {
    auto& nodes = graph_.nodes[array.type];
    const bool named = named_.wants(array.name);
    if (named) {
      TROUPE_RETURN_IF_ERROR(take_named(array, nodes));
    }
    if (is_array(array, options_.features, "feat", named)) {
      found_features_ = true;
      TROUPE_ASSIGN_OR_RETURN(auto table, open(array.value));
      TROUPE_ASSIGN_OR_RETURN(nodes.features, features_of(std::move(table)));
      return ok_status();
    }
    if (is_array(array, options_.labels, "label", named)) {
      found_labels_ = true;
      TROUPE_ASSIGN_OR_RETURN(auto table, open(array.value));
      TROUPE_ASSIGN_OR_RETURN(nodes.labels, labels_of(std::move(table), {}, executor_));
      return ok_status();
    }
    return named ? ok_status() : take_role(array);
  }

  Status take_role(const Array& array) {
    for (const std::string role : {"train", "val", "test"}) {
      if (array.name == role + "_mask" || array.name == role + "_idx") {
        return take_seeds(array, role, array.name == role + "_mask");
      }
    }
    leave_out(array);
    return ok_status();
  }

  Status take_seeds(const Array& array, const std::string& role, bool mask) {
    TROUPE_ASSIGN_OR_RETURN(const auto table, open(array.value));
    const auto count = *graph_.nodes[array.type].count;
    TROUPE_ASSIGN_OR_RETURN(
        auto ids, mask ? masked_nodes(table, count, executor_) : ids_of(table, count, executor_));
    auto& seeds = graph_.seeds[std::make_pair(std::string(), role)];
    if (!seeds.ids.empty() && !ids.empty()) {
      return Error(Errc::invalid_argument,
                   fmt::format("{}: expected {} seeds once and of one node type, got a second",
                               array.value.place(), role));
    }
    if (seeds.ids.empty()) {  // types without any have masks too
      seeds = {array.type, std::move(ids)};
    }
    return ok_status();
  }

  Status take_edge_data(const Array& array) {
    auto& edges = graph_.edges[array.type];
    const bool values = columns_.wants(array.name);
    const bool named = named_.wants(array.name);
    const bool taken = values || named;
    if (values) {
      TROUPE_RETURN_IF_ERROR(columns_.take(array.name, edges, [&] { return open(array.value); }));
    }
    if (named) {
      TROUPE_RETURN_IF_ERROR(take_named(array, edges));
    }
    if (is_array(array, options_.features, "feat", taken)) {
      found_features_ = true;
      TROUPE_ASSIGN_OR_RETURN(auto table, open(array.value));
      TROUPE_ASSIGN_OR_RETURN(edges.features, features_of(std::move(table)));
    } else if (!taken) {
      leave_out(array);
    }
    return ok_status();
  }

  void leave_out(const Array& array) const {
    if (options_.import.left_out) {
      options_.import.left_out(array.value.place().substr(1));
    }
  }

  static Status check_found(const std::optional<std::string>& name, bool found) {
    return !name || found
               ? ok_status()
               : Status(Error(
                     Errc::not_found,
                     fmt::format("expected an array \"{}\" in node_data, found none", *name)));
  }

  const Source& source_;
  const DglOptions& options_;
  Executor& executor_;
  Graph graph_;
  std::vector<std::string> edge_types_;  ///< as written
  bool found_features_ = false;
  bool found_labels_ = false;
  NamedEdgeColumns columns_;
  NamedColumns named_;
};

}  // namespace

Result<GraphInfo> import_dgl(const std::filesystem::path& dir, const std::filesystem::path& out,
                             const DglOptions& options, Executor& executor) {
  return import_graph({dir, out}, options.import, executor, [&] {
    return graph_of_document<DglGraph>(read_json_document(dir / "metadata.json"), dir, options,
                                       executor);
  });
}

}  // namespace troupe
