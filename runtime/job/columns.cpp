#include "runtime/job/columns.hpp"

#include "runtime/base/nearest.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <string_view>

namespace troupe {
namespace {

constexpr std::string_view of_nodes = "nodes-";
constexpr std::string_view of_edges = "edges-";

/// All columns of a graph by their names in jobs.
template <class F>
void each_column(const GraphInfo& graph, F f) {
  const auto all = [&](const auto& types, TableName::Kind kind, std::string_view prefix) {
    for (std::size_t t = 0; t < types.size(); ++t) {
      for (std::size_t c = 0; c < types[t].columns.size(); ++c) {
        const auto& info = types[t].columns[c];
        f(fmt::format("{}{}/{}", prefix, types[t].name, info.name),
          WantedColumn{{kind, static_cast<std::uint16_t>(t), static_cast<std::uint16_t>(c)}, info});
      }
    }
  };
  all(graph.node_types, TableName::Kind::node_column, of_nodes);
  all(graph.edge_types, TableName::Kind::edge_column, of_edges);
}

}  // namespace

std::vector<WantedColumn> wanted_columns(const Job& job, const GraphInfo& graph) {
  std::vector<WantedColumn> wanted;
  each_column(graph, [&](const std::string& name, WantedColumn column) {
    if (std::ranges::find(job.features.columns, name) != job.features.columns.end()) {
      wanted.push_back(std::move(column));
    }
  });
  return wanted;
}

std::vector<EdgeTypeId> types_of_edge_columns(const Job& job, const GraphInfo& graph) {
  std::vector<EdgeTypeId> types;
  for (const auto& column : wanted_columns(job, graph)) {
    const auto type = static_cast<EdgeTypeId>(column.table.type);
    if (column.table.kind == TableName::Kind::edge_column &&
        (types.empty() || types.back() != type)) {
      types.push_back(type);
    }
  }
  return types;
}

bool reads_rows_of_edges(const Job& job) {
  return job.sample.edge_data.entries ||
         std::ranges::any_of(job.features.columns,
                             [](const std::string& name) { return name.starts_with(of_edges); });
}

std::uint64_t column_bytes(const std::vector<WantedColumn>& columns, TableName::Kind kind,
                           std::size_t type) {
  std::uint64_t bytes = 0;
  for (const auto& column : columns) {
    bytes += column.table.kind == kind && column.table.type == type ? column.info.row_bytes() : 0;
  }
  return bytes;
}

void check_columns(const Job& job, const GraphInfo& graph, ProblemList& problems) {
  std::vector<std::string> known;
  each_column(graph, [&](const std::string& name, const WantedColumn&) { known.push_back(name); });
  for (const auto& name : job.features.columns) {
    if (std::ranges::find(known, name) != known.end()) {
      continue;
    }
    const Nearest best = known.empty() ? Nearest{} : nearest(name, known);
    problems.add({"/features/columns", "columns that the graph has", fmt::format("\"{}\"", name),
                  known.empty() ? "the graph has none; import it with columns"
                  : best.close  ? fmt::format("did you mean \"{}\"?", best.word)
                                : fmt::format("the nearest is \"{}\"", best.word)});
  }
}

}  // namespace troupe
