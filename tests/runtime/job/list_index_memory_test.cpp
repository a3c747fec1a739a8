#include "runtime/graph/list_index.hpp"
#include "runtime/job/plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace troupe {
namespace {

constexpr std::uint64_t edges_of_type = 50;

/// A thousand nodes with edges of so many types.
GraphInfo many_types_graph(std::size_t types) {
  GraphInfo info;
  auto& nodes = info.node_types.emplace_back();
  nodes.count = 1000;
  nodes.features = FeatureInfo{.cols = 10};
  nodes.labels = LabelInfo{LabelInfo::Kind::classes, 3};
  info.edge_types.resize(types);
  for (std::size_t e = 0; e < types; ++e) {
    info.edge_types[e].name = std::to_string(e);
    info.edge_types[e].count = edges_of_type;
  }
  info.splits.resize(1);
  info.splits[0].roles["train"] = {NodeTypeId{0}, 400};
  return info;
}

std::uint64_t bytes_of_tables(const Job& job, std::size_t types) {
  const auto plan = make_plan(job, many_types_graph(types));
  const auto item =
      std::ranges::find(plan.memory.items, "tables of lists", &MemoryPlan::Item::name);
  return item == plan.memory.items.end() ? 0 : item->bytes;
}

TEST(ListIndexMemory, IsCountedWhereNodesHaveManyEdgeTypes) {
  const Job job;
  EXPECT_EQ(bytes_of_tables(job, many_edge_types - 1), 0U);
  for (const auto types : {many_edge_types, 10 * many_edge_types}) {
    EXPECT_EQ(bytes_of_tables(job, types),
              list_index_bytes(1001, 1001 * types, types * edges_of_type + 1));
  }
}

/// A process has the lists of its parts, and all of them where topology is everywhere.
TEST(ListIndexMemory, IsThatOfTheListsOfAProcess) {
  Job job;
  job.partition.parts = 2;
  job.cluster.hosts = 2;
  const std::size_t types = many_edge_types;
  const auto of_part = list_index_bytes(501, 501 * types, types * edges_of_type / 2 + 1);
  EXPECT_EQ(bytes_of_tables(job, types), 2 * of_part) << "both hosts in one process";
  job.cluster.launch = "local";
  EXPECT_EQ(bytes_of_tables(job, types), of_part);
  job.partition.replicated_topology = true;
  EXPECT_GT(bytes_of_tables(job, types), 2 * of_part);
}

}  // namespace
}  // namespace troupe
