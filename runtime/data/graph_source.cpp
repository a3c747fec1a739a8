#include "runtime/data/graph_source.hpp"

#include "runtime/base/files.hpp"
#include "runtime/data/edge_columns.hpp"
#include "runtime/data/feature_convert.hpp"
#include "runtime/graph/node_counts.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <new>

namespace troupe::graph_source {
namespace {

Error wrong_rows(const std::string& file, std::string_view what, std::uint64_t expected,
                 std::uint64_t found) {
  return Error(Errc::invalid_argument,
               fmt::format("{}: expected {} rows, one per {}, got {}", file, expected, what,
                           found > expected ? fmt::format("more than {}", expected)
                                            : std::to_string(found)));
}

Status check_rows(const std::string& file, std::uint64_t rows, const Nodes& nodes,
                  const std::string& stated_in) {
  if (*nodes.count != rows) {
    return Error(Errc::invalid_argument,
                 fmt::format("{}: expected rows for {} nodes, as in {}, got {}", file, *nodes.count,
                             stated_in, rows));
  }
  return ok_status();
}

/// Counts the rows of a file as they come.
class RowCount {
 public:
  RowCount(const std::string& file, std::string what, std::uint64_t expected, std::uint64_t cols)
      : file_(file), what_(std::move(what)), expected_(expected), cols_(cols) {}
  /// \returns an error as soon as there are too many
  Status add(std::size_t values) {
    rows_ += values / cols_;
    return rows_ > expected_ ? Status(wrong_rows(file_, what_, expected_, rows_)) : ok_status();
  }
  Status finish() const {
    return rows_ != expected_ ? Status(wrong_rows(file_, what_, expected_, rows_)) : ok_status();
  }
  std::uint64_t rows() const { return rows_; }

 private:
  const std::string& file_;
  std::string what_;
  std::uint64_t expected_;
  std::uint64_t cols_;
  std::uint64_t rows_ = 0;
};

/// One import on its way into a store.
class Writing {
 public:
  Writing(Graph graph, const ImportPaths& paths, const ImportOptions& options, Executor& executor,
          StoreWriter& writer)
      : graph_(std::move(graph)),
        folder_(parent_directory(paths.out)),
        doing_(paths.doing),
        options_(options),
        executor_(executor),
        writer_(writer) {}

  Result<GraphInfo> run() {
    for (auto& nodes : graph_.nodes) {
      TROUPE_RETURN_IF_ERROR(add_type(nodes));
    }
    for (auto& edges : graph_.edges) {
      TROUPE_RETURN_IF_ERROR(add_type(edges));
    }
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      TROUPE_RETURN_IF_ERROR(write_features(i));
      TROUPE_RETURN_IF_ERROR(write_labels(i));
      TROUPE_RETURN_IF_ERROR(write_columns(
          graph_.nodes[i].columns, "node of type " + graph_.nodes[i].name, *graph_.nodes[i].count,
          [&](std::size_t column, std::span<const std::byte> rows) {
            return writer_.add_column(node_ids_[i], column, rows);
          }));
    }
    for (std::size_t i = 0; i < graph_.edges.size(); ++i) {
      TROUPE_ASSIGN_OR_RETURN(const auto count, write_edges(i));
      TROUPE_RETURN_IF_ERROR(write_edge_features(i, count));
      note_edges(i, count);
      TROUPE_RETURN_IF_ERROR(
          write_columns(graph_.edges[i].columns, "edge of type " + graph_.edges[i].name, count,
                        [&](std::size_t column, std::span<const std::byte> rows) {
                          return writer_.add_edge_column(edge_ids_[i], column, rows);
                        }));
    }
    TROUPE_RETURN_IF_ERROR(check_counts());
    for (auto& [name, seeds] : graph_.seeds) {
      TROUPE_RETURN_IF_ERROR(writer_.set_seeds(name.first, name.second, node_ids_[seeds.nodes],
                                               std::move(seeds.ids), std::move(seeds.times)));
    }
    for (const auto& [name, links] : graph_.links) {
      TROUPE_RETURN_IF_ERROR(write_links(name, links));
    }
    for (const auto& [path, text] : graph_.files) {
      TROUPE_RETURN_IF_ERROR(writer_.add_file(path, std::span(&text, 1)));
    }
    return writer_.finish();
  }

 private:
  Status add_type(Nodes& nodes) {
    NewNodeType type{nodes.name, nodes.count, std::nullopt, std::nullopt};
    auto& converter = node_converters_.emplace_back();
    if (nodes.features) {
      TROUPE_ASSIGN_OR_RETURN(
          converter, FeatureConverter::create("features of node type " + nodes.name,
                                              nodes.features->info(), options_.features, folder_));
      type.features = converter->info();
    }
    if (nodes.labels) {
      type.labels = nodes.labels->info();
    }
    type.columns = infos_of(nodes.columns);
    TROUPE_ASSIGN_OR_RETURN(node_ids_.emplace_back(), writer_.add_node_type(type));
    auto& counted = counts_.node_types.emplace_back();
    counted.name = type.name;
    counted.count = type.count.value_or(0);
    counted.features = type.features;
    counted.labels = type.labels;
    counted.columns = type.columns;
    return ok_status();
  }

  Status add_type(Edges& edges) {
    NewEdgeType type;
    type.name = edges.name;
    type.source = node_ids_[edges.source];
    type.destination = node_ids_[edges.destination];
    type.transforms = edges.transforms;
    type.weights = edges.rows->weights() || edges.weights;
    type.times = edges.rows->times() || edges.times;
    auto& converter = edge_converters_.emplace_back();
    if (edges.features) {
      TROUPE_ASSIGN_OR_RETURN(
          converter,
          FeatureConverter::create("features of edge type " + edges.name, edges.features->info(),
                                   {options_.features.dtype, Normalize::none}, folder_));
      type.features = converter->info();
    }
    type.columns = infos_of(edges.columns);
    TROUPE_ASSIGN_OR_RETURN(edge_ids_.emplace_back(), writer_.add_edge_type(type));
    return ok_status();
  }

  static std::vector<ColumnInfo> infos_of(const std::vector<std::unique_ptr<ColumnRows>>& columns) {
    std::vector<ColumnInfo> infos;
    for (const auto& column : columns) {
      infos.push_back(column->info());
    }
    return infos;
  }

  /// \param each  what a row is of
  /// \param add   takes whole rows of a column
  template <class Add>
  Status write_columns(const std::vector<std::unique_ptr<ColumnRows>>& columns,
                       const std::string& each, std::uint64_t count, Add add) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const auto& column = *columns[i];
      if (column.rows().value_or(count) != count) {
        return wrong_rows(column.file(), each, count, *column.rows());
      }
      RowCount rows(column.file(), each, count, column.info().row_bytes());
      const auto take = [&](std::span<const std::byte> some) -> Status {
        TROUPE_RETURN_IF_ERROR(rows.add(some.size()));
        report("columns", rows.rows(), count, "rows");
        return add(i, some);
      };
      TROUPE_RETURN_IF_ERROR(column.read(executor_, take));
      TROUPE_RETURN_IF_ERROR(rows.finish());
    }
    return ok_status();
  }

  Status write_features(std::size_t i) {
    const auto& nodes = graph_.nodes[i];
    if (!nodes.features) {
      return ok_status();
    }
    const auto add = [&](std::span<const std::byte> bytes) {
      return writer_.add_features(node_ids_[i], bytes);
    };
    RowCount count(nodes.features->file(), "node of type " + nodes.name, *nodes.count,
                   nodes.features->info().cols);
    const auto take = [&](std::span<const float> rows) -> Status {
      TROUPE_RETURN_IF_ERROR(count.add(rows.size()));
      report("features", count.rows(), *nodes.count, "rows");
      return node_converters_[i]->add(rows, add);
    };
    TROUPE_RETURN_IF_ERROR(nodes.features->read(executor_, take));
    TROUPE_RETURN_IF_ERROR(count.finish());
    return node_converters_[i]->finish(add);
  }

  Status write_labels(std::size_t i) {
    const auto& nodes = graph_.nodes[i];
    if (!nodes.labels) {
      return ok_status();
    }
    const auto info = nodes.labels->info();
    RowCount count(nodes.labels->file(), "node of type " + nodes.name, *nodes.count,
                   info.kind == LabelInfo::Kind::classes ? 1 : info.classes);
    const auto take_classes = [&](std::span<const std::int64_t> classes) -> Status {
      TROUPE_RETURN_IF_ERROR(count.add(classes.size()));
      return writer_.add_labels(node_ids_[i], classes);
    };
    const auto take_targets = [&](std::span<const float> targets) -> Status {
      TROUPE_RETURN_IF_ERROR(count.add(targets.size()));
      return writer_.add_targets(node_ids_[i], targets);
    };
    TROUPE_RETURN_IF_ERROR(nodes.labels->read(executor_, take_classes, take_targets));
    return count.finish();
  }

  /// \returns how many there are
  Result<std::uint64_t> write_edges(std::size_t i) {
    const auto& type = graph_.edges[i];
    const auto& rows = *type.rows;
    TROUPE_ASSIGN_OR_RETURN(auto columns, EdgeColumns::read(type, folder_, executor_));
    std::uint64_t done = 0;
    TROUPE_RETURN_IF_ERROR(rows.read(executor_, [&](const EdgePiece& piece) -> Status {
      done += piece.sources.size();
      report("edges", done, rows.count(), "edges");
      TROUPE_ASSIGN_OR_RETURN(const auto with_values, columns.beside(piece));
      return writer_.add_edges(edge_ids_[i], with_values);
    }));
    if (type.count.value_or(done) != done) {
      return Error(Errc::invalid_argument,
                   fmt::format("edge type {}: expected {} edges, as the source says, got {}",
                               type.name, *type.count, done));
    }
    TROUPE_RETURN_IF_ERROR(columns.finish());
    return done;
  }

  Status write_edge_features(std::size_t i, std::uint64_t edges) {
    const auto& type = graph_.edges[i];
    if (!type.features) {
      return ok_status();
    }
    const auto add = [&](std::span<const std::byte> bytes) {
      return writer_.add_edge_features(edge_ids_[i], bytes);
    };
    RowCount count(type.features->file(), "edge of type " + type.name, edges,
                   type.features->info().cols);
    const auto take = [&](std::span<const float> rows) -> Status {
      TROUPE_RETURN_IF_ERROR(count.add(rows.size()));
      report("features of edges", count.rows(), edges, "rows");
      return edge_converters_[i]->add(rows, add);
    };
    TROUPE_RETURN_IF_ERROR(type.features->read(executor_, take));
    TROUPE_RETURN_IF_ERROR(count.finish());
    return edge_converters_[i]->finish(add);
  }

  Status write_links(const std::pair<std::string, std::string>& name, const Links& links) {
    const auto& rows = *links.rows;
    TROUPE_RETURN_IF_ERROR(writer_.open_links(
        name.first, name.second, {edge_ids_[links.edges], rows.times(), rows.weights()}));
    std::uint64_t done = 0;
    return rows.read(executor_, [&](const EdgePiece& piece) {
      done += piece.sources.size();
      report("links", done, rows.count(), "links");
      return writer_.add_links(name.first, name.second,
                               {piece.sources, piece.destinations, piece.times, piece.weights});
    });
  }

  void note_edges(std::size_t i, std::uint64_t count) {
    const auto& type = graph_.edges[i];
    auto& edges = counts_.edge_types.emplace_back();
    edges.source = static_cast<NodeTypeId>(type.source);
    edges.destination = static_cast<NodeTypeId>(type.destination);
    edges.count = count;
    if (type.transforms.reverse_edges) {
      auto reverse = edges;
      std::swap(reverse.source, reverse.destination);
      counts_.edge_types.push_back(std::move(reverse));
    }
  }

  /// A store whose counts nothing confirms does not open.
  Status check_counts() const {
    const auto found = find_unconfirmed_count(counts_);
    if (found.type == nullptr) {
      return ok_status();
    }
    return Error(
        Errc::invalid_argument,
        fmt::format("node type {}: expected a number of nodes near that of its {} edges, "
                    "as it has no features, no labels and no edges that end there, got {}\n"
                    "try: --reverse-edges",
                    found.type->name, found.edges, found.type->count));
  }

  void report(std::string_view what, std::uint64_t done, std::uint64_t total,
              std::string_view unit) const {
    if (options_.writer.progress) {
      options_.writer.progress({doing_ + ' ' + std::string(what), done, total, unit});
    }
  }

  Graph graph_;
  std::filesystem::path folder_;
  std::string doing_;
  const ImportOptions& options_;
  Executor& executor_;
  StoreWriter& writer_;
  GraphInfo counts_;  ///< Only types and how many there are
  std::vector<NodeTypeId> node_ids_;
  std::vector<EdgeTypeId> edge_ids_;
  std::vector<std::optional<FeatureConverter>> node_converters_;
  std::vector<std::optional<FeatureConverter>> edge_converters_;
};

/// Puts the source before the sentence, unless that begins with the source or a path in it: a folder
/// "x" is not the beginning of "x.npy".
Error from_source(Error error, const std::string& source) {
  const auto& what = error.what();
  const auto next =
      what.starts_with(source) && what.size() > source.size() ? what[source.size()] : '\0';
  const bool named = next == ':' || next == '/' || (next != '\0' && source.ends_with('/'));
  return named ? std::move(error) : std::move(error).with(source);
}

/// Whether a source that is a folder can be listed: files of one that cannot would seem to be missing.
Status check_listable(const std::filesystem::path& source) {
  std::error_code error;
  if (std::filesystem::is_directory(source, error)) {
    const std::filesystem::directory_iterator entries(source, error);
  }
  return error == std::errc::permission_denied
             ? Status(file_error(source, "cannot list the directory", error.value()))
             : ok_status();
}

}  // namespace

Status settle_count(Nodes& nodes, const std::string& stated_in) {
  std::string stated = stated_in;
  const auto settle = [&](std::optional<std::uint64_t> rows, const std::string& file) -> Status {
    if (!rows) {
      return ok_status();
    }
    if (!nodes.count) {
      nodes.count = rows;
      stated = file;
    }
    return check_rows(file, *rows, nodes, stated);
  };
  if (nodes.features) {
    TROUPE_RETURN_IF_ERROR(settle(nodes.features->rows(), nodes.features->file()));
  }
  if (nodes.labels) {
    TROUPE_RETURN_IF_ERROR(settle(nodes.labels->rows(), nodes.labels->file()));
  }
  for (const auto& column : nodes.columns) {
    TROUPE_RETURN_IF_ERROR(settle(column->rows(), column->file()));
  }
  return ok_status();
}

Result<GraphInfo> import_graph(const ImportPaths& paths, const ImportOptions& options,
                               Executor& executor, const std::function<Result<Graph>()>& open) {
  const auto source = paths.source.string();
  TROUPE_RETURN_IF_ERROR(check_listable(paths.source));
  try {
    TROUPE_ASSIGN_OR_RETURN(auto writer, StoreWriter::create(paths.out, options.writer, executor));
    auto graph = open();
    if (!graph) {
      return from_source(std::move(graph).error(), source);
    }
    Writing writing(*std::move(graph), paths, options, executor, writer);
    auto info = writing.run();
    if (!info) {
      return from_source(std::move(info).error(), source);
    }
    return info;
  } catch (const std::bad_alloc&) {  // ids or shapes may ask for any amount
    return Error(Errc::out_of_memory,
                 fmt::format("{}: no memory for the graph that it describes", source));
  }
}

EdgeTransforms transforms_of(const EdgeTransforms& asked, const EdgeTransforms& own,
                             bool one_type) {
  EdgeTransforms transforms;
  transforms.symmetrize = own.symmetrize || (asked.symmetrize && one_type);
  transforms.dedup = own.dedup || asked.dedup;
  transforms.drop_self_loops = own.drop_self_loops || (asked.drop_self_loops && one_type);
  transforms.reverse_edges = own.reverse_edges || asked.reverse_edges;
  return transforms;
}

}  // namespace troupe::graph_source
