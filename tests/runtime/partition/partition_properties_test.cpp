// What holds of every partitioned store, whatever the method, the graph and the number of parts.
#include "runtime/partition/partitioner.hpp"
#include "tests/runtime/partition/partition_fixture.hpp"
#include "tests/runtime/partition/rich_graph.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <tuple>

namespace troupe {
namespace {

using namespace testing;

/// One entry of a list with all that is known of it, in original ids.
struct Entry {
  std::uint64_t neighbour = 0;
  std::uint64_t edge_id = 0;
  float weight = 0;
  std::int64_t time = 0;
  std::vector<std::byte> features = {};
  auto operator<=>(const Entry&) const = default;
};
using List = std::vector<Entry>;
using ListsOf = std::map<std::uint64_t, List>;  ///< by original id of the node

struct Case {
  std::string method;
  bool heterogeneous = false;
  std::uint32_t parts = 1;
  CompleteFor complete_for = CompleteFor::in;
  HaloOptions halo = {};
  NodeOrder order = NodeOrder::degree;
};

std::string case_name(const ::testing::TestParamInfo<Case>& info) {
  const auto& c = info.param;
  return c.method + (c.heterogeneous ? "Heterogeneous" : "") + std::to_string(c.parts) +
         std::string(to_string(c.complete_for)) + "Halo" + std::to_string(c.halo.hops) +
         (c.halo.features ? "Rows" : "") + std::string(to_string(c.order));
}

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.method << " in " << c.parts;
}

/// A graph and its parts.
struct Partitioned {
  TempDir temp;
  std::optional<GraphStore> graph;
  std::optional<PartitionedStore> store;
  std::vector<std::shared_ptr<const Part>> parts;
  std::vector<std::vector<std::uint64_t>> original_of;  ///< [type][global id]
};

/// Everything to the part that its id says.
void write_assignment(const Partitioned& made, const Case& c) {
  for (const auto& type : made.graph->info().node_types) {
    std::vector<std::uint32_t> parts;
    for (std::uint64_t v = 0; v < type.count; ++v) {
      parts.push_back(static_cast<std::uint32_t>(v * v % c.parts));
    }
    save_npy<std::uint32_t>(
        made.temp / ("assignment" + (c.heterogeneous ? "-" + type.name : "") + ".npy"),
        {type.count}, parts);
  }
}

/// Arrays are copied into memory: mapped, those of all cases at once are more than a process may map.
Status make(Partitioned& made, const Case& c) {
  TROUPE_ASSIGN_OR_RETURN(auto graph, c.heterogeneous
                                          ? rich_heterogeneous_graph(made.temp / "graph")
                                          : rich_graph(made.temp / "graph"));
  made.graph.emplace(std::move(graph));
  PartitionOptions options{.method = c.method,
                           .parts = c.parts,
                           .seed = 3,
                           .complete_for = c.complete_for,
                           .halo = c.halo};
  options.more.hotness = {.fanout = {{2}, {2}}, .batch_size = 2};
  options.order = c.order;
  if (options.method == "file") {
    write_assignment(made, c);
    options.more.file = made.temp / "assignment.npy";
  }
  ComputePool pool(2);
  TROUPE_RETURN_IF_ERROR(partition_store(*made.graph, options, made.temp / "parts", pool));
  TROUPE_ASSIGN_OR_RETURN(
      auto store, PartitionedStore::open(made.temp / "parts", {.memory = StoreMemory::copied}));
  made.store.emplace(std::move(store));
  for (std::uint32_t part = 0; part < c.parts; ++part) {
    TROUPE_ASSIGN_OR_RETURN(auto loaded, made.store->load_part(static_cast<PartId>(part)));
    made.parts.push_back(std::move(loaded));
  }
  for (std::size_t t = 0; t < made.graph->info().node_types.size(); ++t) {
    auto& ids = made.original_of.emplace_back();
    for (const auto& part : made.parts) {
      const auto& own = part->nodes[t].original_ids;
      ids.insert(ids.end(), own.begin(), own.end());
    }
  }
  return ok_status();
}

class PartitionProperties : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    auto& made = all[case_name({GetParam(), 0})];
    if (made == nullptr) {
      made = std::make_unique<Partitioned>();
      const auto status = make(*made, GetParam());
      if (!status.ok()) {
        made.reset();
      }
      ASSERT_OK(status);
    }
    graph_ = &*made->graph;
    store_ = &*made->store;
    parts_ = made->parts;
    original_of_ = made->original_of;
  }
  static void TearDownTestSuite() { all.clear(); }

  Entry entry_of(const NeighbourLists& lists, const std::optional<FeatureTable>& features,
                 std::uint64_t at, std::uint64_t neighbour) const {
    Entry entry{.neighbour = neighbour, .edge_id = lists.edge_ids[at]};
    entry.weight = lists.weights.empty() ? 0 : lists.weights[at];
    entry.time = lists.times.empty() ? 0 : lists.times[at];
    if (features) {
      const auto row = features->row(at);
      entry.features.assign(row.begin(), row.end());
    }
    return entry;
  }

  /// The lists of the whole graph. Those of out-neighbours are made from the in-lists here.
  ListsOf whole_lists(std::size_t e, EdgeDir dir, bool with_features) const {
    const auto& edges = graph_->graph()->edges[e];
    const auto& type = graph_->info().edge_types[e];
    std::optional<FeatureTable> features;
    if (with_features) {
      features = edges.features;
    }
    ListsOf lists;
    const auto owners = raw(dir == EdgeDir::in ? type.destination : type.source);
    for (std::uint64_t v = 0; v < graph_->info().node_types[owners].count; ++v) {
      lists[v];
    }
    const auto destinations = graph_->info().node_types[raw(type.destination)].count;
    for (std::uint64_t v = 0; v < destinations; ++v) {
      for (auto i = edges.in.offsets[v]; i < edges.in.offsets[v + 1]; ++i) {
        const auto u = raw(edges.in.neighbours[i]);
        const auto entry = entry_of(edges.in, features, i, dir == EdgeDir::in ? u : v);
        lists[dir == EdgeDir::in ? v : u].push_back(entry);
      }
    }
    for (auto& list : lists) {
      std::ranges::sort(list.second, {}, [](const Entry& entry) {
        return std::tuple(entry.time, entry.neighbour, entry.edge_id);
      });
    }
    return lists;
  }

  List list_of(const NeighbourLists& lists, const std::optional<FeatureTable>& features,
               std::uint64_t row, std::size_t other_type) const {
    List list;
    for (auto i = lists.offsets[row]; i < lists.offsets[row + 1]; ++i) {
      list.push_back(
          entry_of(lists, features, i, original_of_[other_type][raw(lists.neighbours[i])]));
    }
    return list;
  }

  /// Nodes of other parts by type, with how far they lie from the part's, by brute force.
  std::vector<std::map<std::uint64_t, std::uint32_t>> expected_halo(const Part& part) const {
    const auto& info = graph_->info();
    std::vector<std::map<std::uint64_t, std::uint32_t>> distance(info.node_types.size());
    for (std::size_t t = 0; t < distance.size(); ++t) {
      for (const auto id : part.nodes[t].original_ids) {
        distance[t][id] = 0;
      }
    }
    for (std::uint32_t hop = 1; hop <= GetParam().halo.hops + 1; ++hop) {
      auto next = distance;
      for (std::size_t e = 0; e < info.edge_types.size(); ++e) {
        for (const auto dir : directions(GetParam().complete_for)) {
          const bool in = dir == EdgeDir::in;
          const auto from = raw(in ? info.edge_types[e].destination : info.edge_types[e].source);
          const auto to = raw(in ? info.edge_types[e].source : info.edge_types[e].destination);
          for (const auto& [node, list] : whole_lists(e, dir, false)) {
            for (const auto& entry : distance[from].contains(node) ? list : List()) {
              next[to].try_emplace(entry.neighbour, hop);
            }
          }
        }
      }
      distance = std::move(next);
    }
    for (auto& of_type : distance) {
      std::erase_if(of_type, [](const auto& node) { return node.second == 0; });
    }
    return distance;
  }

  const GraphStore* graph_ = nullptr;
  const PartitionedStore* store_ = nullptr;
  std::vector<std::shared_ptr<const Part>> parts_;
  std::vector<std::vector<std::uint64_t>> original_of_;  ///< [type][global id]

 private:
  /// Made once for all tests of a case.
  static std::map<std::string, std::unique_ptr<Partitioned>> all;
};

std::map<std::string, std::unique_ptr<Partitioned>> PartitionProperties::all;

TEST_P(PartitionProperties, EveryNodeIsOwnedOnceInContiguousRanges) {
  for (std::size_t t = 0; t < original_of_.size(); ++t) {
    std::uint64_t next = 0;
    for (const auto& part : parts_) {
      EXPECT_EQ(raw(part->nodes[t].first), next);
      next += part->nodes[t].count;
    }
    EXPECT_EQ(next, graph_->info().node_types[t].count);
    const std::set<std::uint64_t> distinct(original_of_[t].begin(), original_of_[t].end());
    EXPECT_EQ(distinct.size(), next);
  }
}

TEST_P(PartitionProperties, EveryOwnedListIsTheGraphsWithAllDataOfItsEdges) {
  const auto& info = graph_->info();
  for (std::size_t e = 0; e < info.edge_types.size(); ++e) {
    for (const auto dir : directions(GetParam().complete_for)) {
      const bool in = dir == EdgeDir::in;
      const bool main = in || GetParam().complete_for == CompleteFor::out;
      const auto owner = raw(in ? info.edge_types[e].destination : info.edge_types[e].source);
      const auto other = raw(in ? info.edge_types[e].source : info.edge_types[e].destination);
      ListsOf found;
      for (const auto& part : parts_) {
        for (std::uint64_t v = 0; v < part->nodes[owner].count; ++v) {
          const auto& edges = part->edges[e];
          const auto features = main ? edges.features : std::optional<FeatureTable>();
          const auto original = part->nodes[owner].original_ids[v];
          EXPECT_TRUE(
              found.emplace(original, list_of(edges.lists(dir), features, v, other)).second);
        }
      }
      EXPECT_EQ(found, whole_lists(e, dir, main)) << e << to_string(dir);
    }
  }
}

TEST_P(PartitionProperties, RowsAndLabelsAreThoseOfTheOriginalNodes) {
  const auto& whole = *graph_->graph();
  for (std::size_t t = 0; t < whole.nodes.size(); ++t) {
    for (const auto& part : parts_) {
      const auto& nodes = part->nodes[t];
      EXPECT_EQ(nodes.features.has_value(), whole.nodes[t].features.has_value());
      for (std::uint64_t v = 0; v < nodes.count; ++v) {
        const auto original = nodes.original_ids[v];
        if (nodes.features) {
          EXPECT_TRUE(
              std::ranges::equal(nodes.features->row(v), whole.nodes[t].features->row(original)));
        }
        if (!nodes.labels.empty()) {
          EXPECT_EQ(nodes.labels[v], whole.nodes[t].labels[original]);
        }
        if (!nodes.targets.empty()) {
          EXPECT_EQ(nodes.targets[2 * v + 1], whole.nodes[t].targets[2 * original + 1]);
        }
      }
    }
  }
}

TEST_P(PartitionProperties, TheHaloIsWhoeverLiesNearWithListsAndRows) {
  const auto& info = graph_->info();
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    const auto& part = *parts_[p];
    const auto expected = expected_halo(part);
    for (std::size_t t = 0; t < expected.size(); ++t) {
      const auto& nodes = part.nodes[t];
      std::map<std::uint64_t, std::uint32_t> found;
      for (std::size_t i = 0; i < nodes.halo_ids.size(); ++i) {
        const auto original = nodes.halo_original_ids[i];
        EXPECT_EQ(original, original_of_[t][nodes.halo_ids[i]]);
        found[original] = nodes.halo_hops.empty() ? 1 : nodes.halo_hops[i];
        if (nodes.halo_features) {
          EXPECT_TRUE(std::ranges::equal(nodes.halo_features->row(i),
                                         graph_->graph()->nodes[t].features->row(original)));
        }
      }
      EXPECT_EQ(found, expected[t]);
      EXPECT_EQ(store_->partition().halo_nodes[t][p], expected[t].size());
      EXPECT_EQ(nodes.halo_features.has_value(), GetParam().halo.features && nodes.features);
    }
    for (std::size_t e = 0; e < info.edge_types.size() && GetParam().halo.hops > 0; ++e) {
      for (const auto dir : directions(GetParam().complete_for)) {
        const bool in = dir == EdgeDir::in;
        const auto owner = raw(in ? info.edge_types[e].destination : info.edge_types[e].source);
        const auto other = raw(in ? info.edge_types[e].source : info.edge_types[e].destination);
        const auto whole = whole_lists(e, dir, false);
        std::uint64_t row = 0;
        for (std::size_t i = 0; i < part.nodes[owner].halo_ids.size(); ++i) {
          if (part.nodes[owner].halo_hops[i] <= GetParam().halo.hops) {
            EXPECT_EQ(list_of(part.edges[e].halo_lists(dir), {}, row++, other),
                      whole.at(part.nodes[owner].halo_original_ids[i]));
          }
        }
        EXPECT_EQ(part.edges[e].halo_lists(dir).offsets.size(), row + 1);
      }
    }
  }
}

TEST_P(PartitionProperties, InsideAPartNodesLieInTheOrderAskedFor) {
  InlineExecutor executor;
  ASSERT_OK_AND_ASSIGN(
      const auto hotness,
      node_hotness(*graph_, "", {.fanout = {{2}, {2}}, .batch_size = 2}, executor));
  const auto degrees = in_degrees(graph_->info(), *graph_->graph());
  const auto heat = [&](std::size_t type, std::uint64_t original) {
    switch (GetParam().order) {
      case NodeOrder::degree:
        return degrees[type][original];
      case NodeOrder::hotness:
        return static_cast<double>(hotness[type][original]);
      case NodeOrder::original:
        break;
    }
    return 0.0;
  };
  EXPECT_EQ(store_->partition().order, to_string(GetParam().order));
  for (const auto& part : parts_) {
    for (std::size_t t = 0; t < part->nodes.size(); ++t) {
      const auto& ids = part->nodes[t].original_ids;
      for (std::size_t i = 1; i < ids.size(); ++i) {
        const auto before = std::pair(-heat(t, ids[i - 1]), ids[i - 1]);
        EXPECT_LT(before, std::pair(-heat(t, ids[i]), ids[i]));
      }
    }
  }
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const bool heterogeneous : {false, true}) {
    for (const std::uint32_t parts : {1U, 2U, 4U, 7U}) {
      for (const auto* method :
           {"random", "hash", "range", "ldg", "fennel", "metis", "multilevel", "hotness", "file"}) {
        all.push_back({method, heterogeneous, parts});
      }
      for (const auto complete_for : {CompleteFor::in, CompleteFor::out, CompleteFor::both}) {
        all.push_back({"hash", heterogeneous, parts, complete_for, {.hops = 1}});
        all.push_back(
            {"random", heterogeneous, parts, complete_for, {.hops = 2, .features = true}});
      }
    }
    all.push_back({"random", heterogeneous, 4, CompleteFor::in, {.hops = 0, .features = true}});
    all.push_back({"random", heterogeneous, 3, CompleteFor::in, {}, NodeOrder::hotness});
    all.push_back({"random", heterogeneous, 3, CompleteFor::in, {}, NodeOrder::original});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, PartitionProperties, ::testing::ValuesIn(cases()), case_name);

}  // namespace
}  // namespace troupe
