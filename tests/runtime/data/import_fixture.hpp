#pragma once
/// \file import_fixture.hpp
/// A folder to import, the store that comes of it with its edges as text, and what the importer said
/// it left out.
#include "runtime/data/import_options.hpp"
#include "runtime/graph/store.hpp"
#include "tests/runtime/graph/store_fixture.hpp"
#include "tests/support/expect.hpp"

#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <string>
#include <vector>

namespace troupe::testing {

/// Edges of a type by edge id: "source>destination", then weight and time where it has them.
inline std::vector<std::string> edges_with_values(const GraphStore& store, std::size_t type = 0) {
  const auto& lists = store.graph()->edges[type].in;
  const auto& info = store.info().edge_types[type];
  std::map<std::uint64_t, std::string> by_id;
  for (std::uint64_t node = 0; node + 1 < lists.offsets.size(); ++node) {
    for (auto i = lists.offsets[node]; i < lists.offsets[node + 1]; ++i) {
      by_id[lists.edge_ids[i]] =
          fmt::format("{}>{}{}{}", raw(lists.neighbours[i]), node,
                      info.has_weights ? fmt::format(" {}", lists.weights[i]) : "",
                      info.has_times ? fmt::format(" {}", lists.times[i]) : "");
    }
  }
  std::vector<std::string> list;
  for (const auto& [id, text] : by_id) {
    list.push_back(text);
  }
  return list;
}

using ColumnInfos = std::vector<ColumnInfo>;

/// All values of a column, row by row.
template <class T>
std::vector<T> column_values(const FeatureTable& table) {
  const auto values = table.data.as<T>();
  return {values.begin(), values.end()};
}

/// Rows of an edge type's column by edge id.
template <class T>
std::map<std::uint64_t, T> values_by_edge(const GraphStore& graph, std::size_t type,
                                          std::size_t column) {
  const auto& edges = graph.graph()->edges[type];
  const auto values = edges.columns[column].data.as<T>();
  std::map<std::uint64_t, T> by_edge;
  for (std::size_t i = 0; i < values.size(); ++i) {
    by_edge[edges.in.edge_ids.empty() ? i : edges.in.edge_ids[i]] = values[i];
  }
  return by_edge;
}

/// Tests write what they are about below `in_`, and import it to `out_` by a function of their own.
class ImportTest : public ::testing::Test {
 protected:
  /// Makes room for another import, whose `options` then tell this fixture what is left out.
  void begin(ImportOptions& options) {
    std::filesystem::remove_all(out_);
    left_out_.clear();
    options.left_out = [this](const std::string& what) { left_out_.push_back(what); };
  }
  Result<GraphStore> opened(const Result<GraphInfo>& imported) const {
    TROUPE_RETURN_IF_ERROR(imported);
    return GraphStore::open(out_, {});
  }

  TempDir temp_;
  std::filesystem::path in_ = temp_ / "in";
  std::filesystem::path out_ = temp_ / "out";
  std::vector<std::string> left_out_;
};

}  // namespace troupe::testing
