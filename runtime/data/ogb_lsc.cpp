// OGB-LSC's MAG240M: a folder per type, with .npy files.
#include "runtime/data/column_rows.hpp"
#include "runtime/data/edge_rows.hpp"
#include "runtime/data/ogb_arrays.hpp"
#include "runtime/data/ogb_readers.hpp"
#include "runtime/graph/store_layout.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>

namespace troupe {
namespace {

using namespace graph_source;
using npy_source::bad_input;

bool is_triple(const std::string& folder) {
  return folder.find(ogb_triple_separator) != std::string::npos;
}

class OgbLsc {
 public:
  OgbLsc(OgbFolder& folder, const OgbOptions& options, Executor& executor)
      : folder_(folder), options_(options), executor_(executor), arrays_(options) {}

  Result<Graph> read() {
    std::set<std::string> types;
    for (const auto& name : folder_.folders("processed")) {
      const auto place = "processed/" + name;
      if (is_triple(name)) {
        TROUPE_ASSIGN_OR_RETURN(auto triple, parse_ogb_triple(name, place));
        types.insert({triple.source, triple.destination});
        places_.push_back(place);
        triples_.push_back(std::move(triple));
      } else {
        TROUPE_RETURN_IF_ERROR(check_ogb_name(name, place));
        types.insert(name);
      }
    }
    TROUPE_RETURN_IF_ERROR(check_counts(types));
    for (const auto& type : types) {
      TROUPE_RETURN_IF_ERROR(read_nodes(type));
    }
    const auto names = edge_type_names(triples_);
    for (std::size_t i = 0; i < triples_.size(); ++i) {
      TROUPE_RETURN_IF_ERROR(read_edges(names[i], triples_[i], places_[i]));
    }
    TROUPE_RETURN_IF_ERROR(arrays_.check_found("processed"));
    TROUPE_RETURN_IF_ERROR(read_split());
    return std::move(graph_);
  }

 private:
  Result<Table> open(const std::string& file) {
    folder_.take(file);
    return Table::open(folder_.source(), {file}, TableFormat::npy);
  }

  /// Counts are stated for types that are there.
  Status check_counts(const std::set<std::string>& types) const {
    for (const auto& [type, count] : options_.counts) {
      if (!types.contains(type)) {
        return bad_input("--counts", fmt::format("expected node types of processed/ ({}), got {}",
                                                 fmt::join(types, ", "), type));
      }
    }
    return ok_status();
  }

  Status read_nodes(const std::string& type) {
    Nodes nodes{type, {}};
    const auto stated = options_.counts.find(type);
    if (stated != options_.counts.end()) {
      nodes.count = stated->second;
    }
    const auto place = "processed/" + type;
    for (const auto& array : arrays_in(place, "node_")) {
      TROUPE_RETURN_IF_ERROR(take_node_array(nodes, place, array));
    }
    TROUPE_RETURN_IF_ERROR(settle_count(nodes, "--counts"));
    graph_.nodes.push_back(std::move(nodes));
    return ok_status();
  }

  Status read_edges(const std::string& name, const TypeTriple& type, const std::string& place) {
    Edges edges;
    edges.name = name;
    TROUPE_ASSIGN_OR_RETURN(edges.source, find_nodes(graph_, type.source, place));
    TROUPE_ASSIGN_OR_RETURN(edges.destination, find_nodes(graph_, type.destination, place));
    edges.transforms = transforms_of(options_.import.edges, {}, edges.source == edges.destination);
    const auto end = [&](std::size_t nodes) {
      return graph_.nodes[nodes].count.value_or(store_layout::largest_count);
    };
    auto pairs = place + "/edge_index.npy";
    folder_.take(pairs);
    TROUPE_ASSIGN_OR_RETURN(edges.rows,
                            open_pairs(folder_.source(), {{std::move(pairs)}, PairLayout::columns},
                                       {end(edges.source), end(edges.destination)}));
    for (const auto& array : arrays_in(place, "edge_")) {
      if (array != "edge_index") {
        TROUPE_RETURN_IF_ERROR(arrays_.offer(array, "edge_feat", edges, open_npy(place, array)));
      }
    }
    graph_.edges.push_back(std::move(edges));
    return ok_status();
  }

  /// Names before .npy of the files that begin so: they have a row per node or edge.
  std::vector<std::string> arrays_in(const std::string& place, std::string_view begin) const {
    constexpr std::string_view end = ".npy";
    std::vector<std::string> names;
    for (const auto& file : folder_.files(place)) {
      if (file.starts_with(begin) && file.ends_with(end)) {
        names.push_back(file.substr(0, file.size() - end.size()));
      }
    }
    return names;
  }

  OgbOpen open_npy(const std::string& place, const std::string& array) {
    const auto file = fmt::format("{}/{}.npy", place, array);
    return {[this, file] { return open(file); },
            [this, file](const NamedColumn& column) {
              folder_.take(file);
              return column_of_files(column, folder_.source(), {file}, TableFormat::npy);
            }};
  }

  Status take_node_array(Nodes& nodes, const std::string& place, const std::string& array) {
    const auto array_open = open_npy(place, array);
    TROUPE_ASSIGN_OR_RETURN(const bool taken, arrays_.offer(array, nodes, array_open));
    if (taken || (array != "node_feat" && array != "node_label")) {
      return ok_status();
    }
    TROUPE_ASSIGN_OR_RETURN(auto table, array_open.table());
    if (array == "node_feat") {
      TROUPE_ASSIGN_OR_RETURN(nodes.features, features_of(std::move(table)));
    } else {
      TROUPE_ASSIGN_OR_RETURN(nodes.labels, ogb_labels_of(std::move(table), executor_));
    }
    return ok_status();
  }

  /// Ids that users exported beside split_dict.pt, of the one node type with labels.
  Status read_split() {
    std::vector<std::size_t> labelled;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (graph_.nodes[i].labels) {
        labelled.push_back(i);
      }
    }
    if (labelled.size() == 1) {
      TROUPE_RETURN_IF_ERROR(folder_.read_seeds(graph_, "", ".", labelled.front(), executor_));
    } else if (folder_.has("train.npy")) {
      return bad_input("train.npy", fmt::format("expected labels of one node type, got those of {}",
                                                labelled.size()));
    }
    const bool needed = graph_.seeds.empty() && !options_.import.writer.edge_split;
    return needed && folder_.has("split_dict.pt") ? folder_.refuse_torch("") : ok_status();
  }

  OgbFolder& folder_;
  const OgbOptions& options_;
  Executor& executor_;
  Graph graph_;
  std::vector<std::string> places_;  ///< Folders of edge types
  std::vector<TypeTriple> triples_;  ///< As many
  OgbArrays arrays_;
};

}  // namespace

Result<Graph> read_ogb_lsc(OgbFolder& folder, const OgbOptions& options, Executor& executor) {
  return OgbLsc(folder, options, executor).read();
}

bool is_ogb_lsc(const OgbFolder& folder) {
  const auto folders = folder.folders("processed");
  return !folder.has("raw") && std::ranges::any_of(folders, is_triple);
}

}  // namespace troupe
