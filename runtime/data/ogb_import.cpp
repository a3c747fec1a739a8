#include "runtime/data/ogb_import.hpp"

#include "runtime/base/files.hpp"
#include "runtime/data/column_rows.hpp"
#include "runtime/data/edge_rows.hpp"
#include "runtime/data/graph_source.hpp"
#include "runtime/data/ogb_arrays.hpp"
#include "runtime/data/ogb_folder.hpp"
#include "runtime/data/ogb_readers.hpp"
#include "runtime/data/table.hpp"
#include "runtime/data/text_lines.hpp"
#include "runtime/graph/store_layout.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <map>
#include <set>

namespace troupe {
namespace {

namespace fs = std::filesystem;
using namespace graph_source;
using npy_source::bad_input;
using npy_source::Source;

using Cells = std::vector<std::vector<std::string>>;

Result<std::uint64_t> parse_count(const std::string& cell, const std::string& file) {
  std::uint64_t count = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), count);
  if (error != std::errc() || end != cell.data() + cell.size() ||
      count > store_layout::largest_count) {
    return bad_input(file, fmt::format("expected a number up to {}, got \"{}\"",
                                       store_layout::largest_count, cell.substr(0, 60)));
  }
  return count;
}

/// Whether a file has a row for each of the nodes or edges.
/// \param of  "node" or "edge"
bool is_array_name(std::string_view name, std::string_view of) {
  const bool ours = name.starts_with(of);
  const auto rest = ours ? name.substr(of.size()) : std::string_view();
  return rest.starts_with('_') || rest == "-feat" || (rest == "-label" && of == "node");
}

/// The layout of text.
class OgbDirectory {
 public:
  OgbDirectory(OgbFolder& folder, const OgbOptions& options, Executor& executor)
      : folder_(folder),
        source_(folder.source()),
        options_(options.import),
        executor_(executor),
        arrays_(options) {}

  Result<Graph> read() {
    TROUPE_RETURN_IF_ERROR(refuse_archives());
    const bool by_type = !folder_.find_text("raw/triplet-type-list").empty();
    TROUPE_RETURN_IF_ERROR(by_type ? read_heterogeneous() : read_plain());
    TROUPE_RETURN_IF_ERROR(arrays_.check_found("raw"));
    TROUPE_RETURN_IF_ERROR(
        folder_.read_splits(graph_, by_type, !options_.writer.edge_split, executor_));
    return std::move(graph_);
  }

 private:
  Status refuse_archives() const {
    for (const auto& name : folder_.files("raw")) {
      if (name.ends_with(".npz")) {
        return bad_input(
            "raw/" + name,
            "expected raw/data.npz or raw/edge_index_dict.npz beside it, found neither");
      }
    }
    return ok_status();
  }

  Result<std::string> need(const std::string& name) {
    auto file = folder_.find_text(name);
    return file.empty() ? Result<std::string>(Error(
                              Errc::not_found, fmt::format("expected {}.csv.gz, found none", name)))
                        : std::move(file);
  }
  Result<Table> open(std::string file) const {
    return Table::open(source_, {std::move(file)}, TableFormat::text);
  }

  /// A small file of names and counts.
  Result<Cells> read_cells(const std::string& file) const {
    constexpr std::size_t most = std::size_t{1} << 16;
    Cells cells;
    std::size_t count = 0;
    const auto take = [&](std::string_view text) -> Status {
      while (!text.empty()) {
        const auto line = text_lines::take_line(text);
        if (line.empty()) {
          continue;
        }
        auto& row = cells.emplace_back();
        for (text_lines::Fields fields(line); !fields.done();) {
          row.emplace_back(fields.next());
        }
        count += row.size();
        if (count > most) {
          return bad_input(file, fmt::format("expected at most {} cells, got more", most));
        }
      }
      return ok_status();
    };
    TROUPE_RETURN_IF_ERROR(for_each_line_block(source_.dir / file, 1U << 16, take));
    return cells;
  }

  /// The number in a file that has one per graph.
  Result<std::uint64_t> read_one_count(const std::string& name) {
    TROUPE_ASSIGN_OR_RETURN(const auto file, need(name));
    TROUPE_ASSIGN_OR_RETURN(const auto cells, read_cells(file));
    if (cells.size() != 1 || cells.front().size() != 1) {
      return bad_input(
          file, fmt::format("expected one number, for one graph, got {} lines", cells.size()));
    }
    return parse_count(cells.front().front(), file);
  }

  /// Where the arrays of a node type lie, by their names.
  using NodeArrays = std::map<std::string, std::string>;

  Status read_nodes(const std::string& name, std::uint64_t count, const NodeArrays& places) {
    Nodes nodes{name, count};
    for (const auto& [array, place] : places) {
      TROUPE_ASSIGN_OR_RETURN(const bool taken, arrays_.offer(array, nodes, open_text(place)));
      if (taken || (array != "node-feat" && array != "node-label")) {
        continue;
      }
      TROUPE_ASSIGN_OR_RETURN(auto table, open(folder_.find_text(place)));
      if (array == "node-feat") {
        TROUPE_ASSIGN_OR_RETURN(nodes.features, features_of(std::move(table)));
      } else {
        TROUPE_ASSIGN_OR_RETURN(nodes.labels, labels_of(std::move(table), {}, executor_));
      }
    }
    graph_.nodes.push_back(std::move(nodes));
    return ok_status();
  }

  /// A file as it is before .csv.gz or .csv.
  OgbOpen open_text(const std::string& place) {
    return {[this, place] { return open(folder_.find_text(place)); },
            [this, place](const NamedColumn& column) {
              return column_of_files(column, source_, {folder_.find_text(place)},
                                     TableFormat::text);
            }};
  }

  /// Names before .csv.gz or .csv of files with a row per node or edge: "node-feat", "edge-feat",
  /// and OGB's additional files, node_* and edge_*.
  /// \param of  "node" or "edge"
  std::set<std::string> arrays_in(const std::string& folder, const std::string& of) const {
    std::set<std::string> names;
    for (const auto& file : folder_.files(folder)) {
      auto name = file.substr(0, file.find('.'));
      const bool is_csv = file == name + ".csv.gz" || file == name + ".csv";
      if (is_csv && is_array_name(name, of)) {
        names.insert(std::move(name));
      }
    }
    return names;
  }

  /// \param folder  that has edge.csv.gz and so on
  Status read_edges(const std::string& name, const TypeTriple& type, const std::string& folder) {
    Edges edges;
    edges.name = name;
    TROUPE_ASSIGN_OR_RETURN(edges.source, find_nodes(graph_, type.source, folder));
    TROUPE_ASSIGN_OR_RETURN(edges.destination, find_nodes(graph_, type.destination, folder));
    edges.transforms = transforms_of(options_.edges, {}, edges.source == edges.destination);
    TROUPE_ASSIGN_OR_RETURN(edges.count, read_one_count(folder + "/num-edge-list"));
    TROUPE_ASSIGN_OR_RETURN(auto file, need(folder + "/edge"));
    TROUPE_ASSIGN_OR_RETURN(edges.rows, open_text_pairs(source_, {std::move(file)},
                                                        {*graph_.nodes[edges.source].count,
                                                         *graph_.nodes[edges.destination].count}));
    for (const auto& array : arrays_in(folder, "edge")) {
      TROUPE_RETURN_IF_ERROR(
          arrays_.offer(array, "edge-feat", edges, open_text(fmt::format("{}/{}", folder, array))));
    }
    graph_.edges.push_back(std::move(edges));
    return ok_status();
  }

  Status read_plain() {
    TROUPE_ASSIGN_OR_RETURN(const auto count, read_one_count("raw/num-node-list"));
    NodeArrays places;
    for (const auto& array : arrays_in("raw", "node")) {
      places[array] = "raw/" + array;
    }
    TROUPE_RETURN_IF_ERROR(read_nodes("node", count, places));
    return read_edges("edge", {"node", "edge", "node"}, "raw");
  }

  /// Those in folders of their own, raw/ARRAY/TYPE/ARRAY.
  NodeArrays node_arrays_of(const std::string& type) const {
    NodeArrays places;
    for (const auto& array : folder_.folders("raw")) {
      const auto folder = fmt::format("raw/{}/{}", array, type);
      if (is_array_name(array, "node") && arrays_in(folder, "node").contains(array)) {
        places[array] = fmt::format("{}/{}", folder, array);
      }
    }
    return places;
  }

  Status read_heterogeneous() {
    TROUPE_ASSIGN_OR_RETURN(const auto counts, need("raw/num-node-dict"));
    TROUPE_ASSIGN_OR_RETURN(const auto nodes, read_cells(counts));
    if (nodes.size() != 2 || nodes[0].size() != nodes[1].size()) {
      return bad_input(counts, "expected a line of node types and a line of as many numbers");
    }
    for (std::size_t i = 0; i < nodes[0].size(); ++i) {
      const auto& type = nodes[0][i];
      TROUPE_RETURN_IF_ERROR(check_ogb_name(type, counts));
      TROUPE_ASSIGN_OR_RETURN(const auto count, parse_count(nodes[1][i], counts));
      TROUPE_RETURN_IF_ERROR(read_nodes(type, count, node_arrays_of(type)));
    }
    TROUPE_ASSIGN_OR_RETURN(const auto list, need("raw/triplet-type-list"));
    TROUPE_ASSIGN_OR_RETURN(const auto cells, read_cells(list));
    std::vector<TypeTriple> triples;
    for (const auto& row : cells) {
      if (row.size() != 3) {
        return bad_input(list, fmt::format("expected three names per line, got {}", row.size()));
      }
      for (const auto& name : row) {
        TROUPE_RETURN_IF_ERROR(check_ogb_name(name, list));
      }
      triples.push_back({row[0], row[1], row[2]});
    }
    const auto names = edge_type_names(triples);
    for (std::size_t i = 0; i < triples.size(); ++i) {
      const auto& [from, relation, to] = triples[i];
      TROUPE_RETURN_IF_ERROR(read_edges(
          names[i], triples[i], fmt::format("raw/relations/{}___{}___{}", from, relation, to)));
    }
    return ok_status();
  }

  OgbFolder& folder_;
  const Source& source_;
  const ImportOptions& options_;
  Executor& executor_;
  Graph graph_;
  OgbArrays arrays_;
};

Result<Graph> read_ogb(OgbFolder& folder, const OgbOptions& options, Executor& executor) {
  const bool lsc = is_ogb_lsc(folder);
  if (!lsc && !options.counts.empty()) {
    return bad_input("--counts",
                     "expected folders of processed/ as MAG240M has them: other data "
                     "state their numbers of nodes");
  }
  auto graph = lsc                       ? read_ogb_lsc(folder, options, executor)
               : is_ogb_archives(folder) ? read_ogb_archives(folder, options, executor)
                                         : OgbDirectory(folder, options, executor).read();
  if (!graph) {
    return graph;
  }
  folder.report_others(
      lsc ? std::vector<std::string>{"processed"} : std::vector<std::string>{"raw", "split"},
      options.import.left_out);
  return graph;
}

}  // namespace

Result<std::map<std::string, std::uint64_t>> parse_node_counts(const std::string& text) {
  std::map<std::string, std::uint64_t> counts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const auto end = std::min(text.find(',', begin), text.size());
    const auto item = text.substr(begin, end - begin);
    const auto equals = item.find('=');
    if (equals == std::string::npos) {
      return bad_input("--counts", fmt::format("expected TYPE=NUMBER,..., got \"{}\"", item));
    }
    TROUPE_ASSIGN_OR_RETURN(const auto count, parse_count(item.substr(equals + 1), "--counts"));
    if (!counts.try_emplace(item.substr(0, equals), count).second) {
      return bad_input(
          "--counts", fmt::format("expected each type once, got {} twice", item.substr(0, equals)));
    }
    begin = end + 1;
  }
  return counts;
}

Result<GraphInfo> import_ogb(const fs::path& dir, const fs::path& out, const OgbOptions& options,
                             Executor& executor) {
  OgbFolder folder(dir);
  return import_graph({dir, out}, options.import, executor,
                      [&] { return read_ogb(folder, options, executor); });
}

}  // namespace troupe
