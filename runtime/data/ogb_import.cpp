#include "runtime/data/ogb_import.hpp"

#include "runtime/base/files.hpp"
#include "runtime/data/edge_columns.hpp"
#include "runtime/data/edge_rows.hpp"
#include "runtime/data/graph_source.hpp"
#include "runtime/data/table.hpp"
#include "runtime/data/text_lines.hpp"
#include "runtime/graph/store_layout.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/format.h>
#include <set>

namespace troupe {
namespace {

namespace fs = std::filesystem;
using namespace graph_source;
using npy_source::bad_input;
using npy_source::Source;

using Cells = std::vector<std::vector<std::string>>;

enum class EntryKind : std::uint8_t { files, folders };

/// Names in a folder, ascending; none if there is no such folder.
std::vector<std::string> entries(const fs::path& folder, EntryKind kind) {
  std::vector<std::string> names;
  std::error_code error;
  for (auto at = fs::directory_iterator(folder, error); !error && at != fs::directory_iterator();
       at.increment(error)) {
    std::error_code ignored;
    if (at->is_directory(ignored) == (kind == EntryKind::folders)) {
      names.push_back(at->path().filename().string());
    }
  }
  std::ranges::sort(names);
  return names;
}

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

class OgbDirectory {
 public:
  OgbDirectory(const fs::path& dir, const OgbOptions& options, Executor& executor)
      : source_{dir, {}},
        options_(options.import),
        executor_(executor),
        columns_(options.columns) {}

  Result<Graph> read() {
    TROUPE_RETURN_IF_ERROR(refuse_binary());
    heterogeneous_ = !find("raw/triplet-type-list").empty();
    TROUPE_RETURN_IF_ERROR(heterogeneous_ ? read_heterogeneous() : read_plain());
    TROUPE_RETURN_IF_ERROR(columns_.check_found("raw"));
    TROUPE_RETURN_IF_ERROR(read_splits());
    list_others("raw");
    return std::move(graph_);
  }

 private:
  Status refuse_binary() const {
    for (const auto& name : entries(source_.dir / "raw", EntryKind::files)) {
      if (name.ends_with(".npz")) {
        return Error(
            Errc::unimplemented,
            fmt::format("raw/{}: expected csv.gz files, found NumPy's binary npz, which is "
                        "not read\ntry: save its arrays as .npy and name them in a JSON "
                        "file for --from npy",
                        name));
      }
    }
    return ok_status();
  }

  /// The file with this name before .csv.gz or .csv; empty: there is none.
  std::string find(const std::string& name) {
    for (const auto* end : {".csv.gz", ".csv"}) {
      if (source_.has(name + end)) {
        taken_.insert(name + end);
        return name + end;
      }
    }
    return {};
  }
  Result<std::string> need(const std::string& name) {
    auto file = find(name);
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

  Status read_nodes(const std::string& name, std::uint64_t count, const std::string& features,
                    const std::string& labels) {
    Nodes nodes{name, count};
    if (!features.empty()) {
      TROUPE_ASSIGN_OR_RETURN(auto table, open(features));
      TROUPE_ASSIGN_OR_RETURN(nodes.features, features_of(std::move(table)));
    }
    if (!labels.empty()) {
      TROUPE_ASSIGN_OR_RETURN(auto table, open(labels));
      TROUPE_ASSIGN_OR_RETURN(nodes.labels, labels_of(std::move(table), {}, executor_));
    }
    graph_.nodes.push_back(std::move(nodes));
    return ok_status();
  }

  /// Names before .csv.gz or .csv of files with a row per edge: edge-feat, and OGB's additional edge
  /// files, edge_*.
  std::set<std::string> edge_arrays(const std::string& folder) const {
    std::set<std::string> names;
    for (const auto& file : entries(source_.dir / folder, EntryKind::files)) {
      auto name = file.substr(0, file.find('.'));
      const bool is_csv = file == name + ".csv.gz" || file == name + ".csv";
      const bool is_array = name == "edge-feat" || name.starts_with("edge_");
      if (is_csv && is_array &&
          source_.has(fmt::format("{}/{}", folder, file))) {  // not so: a link to nothing
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
    for (const auto& array : edge_arrays(folder)) {
      if (columns_.wants(array)) {
        TROUPE_RETURN_IF_ERROR(columns_.take(
            array, edges, [&] { return open(find(fmt::format("{}/{}", folder, array))); }));
      } else if (array == "edge-feat") {
        TROUPE_ASSIGN_OR_RETURN(auto table, open(find(fmt::format("{}/{}", folder, array))));
        TROUPE_ASSIGN_OR_RETURN(edges.features, features_of(std::move(table)));
      }
    }
    graph_.edges.push_back(std::move(edges));
    return ok_status();
  }

  Status read_plain() {
    TROUPE_ASSIGN_OR_RETURN(const auto count, read_one_count("raw/num-node-list"));
    TROUPE_RETURN_IF_ERROR(
        read_nodes("node", count, find("raw/node-feat"), find("raw/node-label")));
    return read_edges("edge", {"node", "edge", "node"}, "raw");
  }

  Status read_heterogeneous() {
    TROUPE_ASSIGN_OR_RETURN(const auto counts, need("raw/num-node-dict"));
    TROUPE_ASSIGN_OR_RETURN(const auto nodes, read_cells(counts));
    if (nodes.size() != 2 || nodes[0].size() != nodes[1].size()) {
      return bad_input(counts, "expected a line of node types and a line of as many numbers");
    }
    for (std::size_t i = 0; i < nodes[0].size(); ++i) {
      const auto& type = nodes[0][i];
      TROUPE_RETURN_IF_ERROR(check_name(type, counts));
      TROUPE_ASSIGN_OR_RETURN(const auto count, parse_count(nodes[1][i], counts));
      TROUPE_RETURN_IF_ERROR(read_nodes(type, count, find("raw/node-feat/" + type + "/node-feat"),
                                        find("raw/node-label/" + type + "/node-label")));
    }
    TROUPE_ASSIGN_OR_RETURN(const auto list, need("raw/triplet-type-list"));
    TROUPE_ASSIGN_OR_RETURN(const auto cells, read_cells(list));
    std::vector<TypeTriple> triples;
    for (const auto& row : cells) {
      if (row.size() != 3) {
        return bad_input(list, fmt::format("expected three names per line, got {}", row.size()));
      }
      for (const auto& name : row) {
        TROUPE_RETURN_IF_ERROR(check_name(name, list));
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

  /// Names become parts of paths.
  static Status check_name(const std::string& name, const std::string& file) {
    return store_layout::is_valid_name(name)
               ? ok_status()
               : Status(
                     bad_input(file, fmt::format("expected a name of 1 to 100 of a-z A-Z 0-9 _ - "
                                                 ". , got \"{}\"",
                                                 name.substr(0, 60))));
  }

  Status read_splits() {
    const auto names = entries(source_.dir / "split", EntryKind::folders);
    for (const auto& name : names) {
      for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
        const auto& type = graph_.nodes[i].name;
        const auto folder = "split/" + name + (heterogeneous_ ? "/" + type : "");
        TROUPE_RETURN_IF_ERROR(read_split(names.size() == 1 ? "" : name, folder, i));
      }
      list_others("split/" + name);
    }
    return ok_status();
  }

  Status read_split(const std::string& split, const std::string& folder, std::size_t nodes) {
    constexpr std::array<std::array<const char*, 2>, 3> roles{
        {{"train", "train"}, {"valid", "val"}, {"test", "test"}}};
    for (const auto& [file_name, role] : roles) {
      const auto file = find(folder + "/" + file_name);
      if (file.empty()) {
        continue;
      }
      TROUPE_ASSIGN_OR_RETURN(const auto table, open(file));
      TROUPE_ASSIGN_OR_RETURN(auto ids, ids_of(table, *graph_.nodes[nodes].count, executor_));
      if (!graph_.seeds.try_emplace({split, role}, Seeds{nodes, std::move(ids)}).second) {
        return bad_input(file,
                         fmt::format("expected {} seeds of one node type, got a second", role));
      }
    }
    return ok_status();
  }

  /// Says which tables below a folder were not taken.
  void list_others(const std::string& folder) const {
    if (!options_.left_out) {
      return;
    }
    std::vector<std::string> others;
    std::error_code error;
    for (auto at = fs::recursive_directory_iterator(source_.dir / folder, error);
         !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
      auto path = fs::relative(at->path(), source_.dir, error).generic_string();
      const bool listed = path.find("nodetype-has-") != std::string::npos;
      if (at->is_regular_file(error) && !listed && !taken_.contains(path)) {
        others.push_back(std::move(path));
      }
    }
    std::ranges::sort(others);
    std::ranges::for_each(others, options_.left_out);
  }

  Source source_;
  const ImportOptions& options_;
  Executor& executor_;
  bool heterogeneous_ = false;
  Graph graph_;
  std::set<std::string> taken_;  ///< files
  NamedEdgeColumns columns_;
};

}  // namespace

Result<GraphInfo> import_ogb(const fs::path& dir, const fs::path& out, const OgbOptions& options,
                             Executor& executor) {
  return import_graph({dir, out}, options.import, executor,
                      [&] { return OgbDirectory(dir, options, executor).read(); });
}

}  // namespace troupe
