#include "runtime/generate/heterogeneous.hpp"

#include "tests/runtime/generate/generated.hpp"

#include <cmath>
#include <cstring>
#include <set>
#include <vector>

namespace troupe {
namespace {

using testing::edges_of;

constexpr const char* schema_text = R"({
  "classes": 3,
  "node_types": {
    "user": { "count": 500, "features": 6, "labels": true },
    "item": { "count": 300, "features": 4, "noise": 0.5, "labels": true },
    "tag":  { "count": 9 }
  },
  "edge_types": {
    "buys":   { "source": "user", "destination": "item", "edges": 4000, "homophily": 0.9,
                "weights": true, "times": true, "reverse_edges": true },
    "knows":  { "source": "user", "destination": "user", "edges": 3000, "homophily": 0.6,
                "symmetrize": true, "drop_self_loops": true },
    "tagged": { "source": "item", "destination": "tag", "edges": 600, "dedup": true }
  },
  "splits": {
    "": { "nodes": "user", "train": 0.5, "val": 50, "test": 50 },
    "items": { "nodes": "item", "train": 100 }
  }
})";

class Heterogeneous : public testing::Generated {
 protected:
  Result<HeterogeneousSchema> read(const std::string& text, const GenerateOptions& options = {}) {
    testing::write_all(temp_ / "schema.json", text);
    return read_heterogeneous_schema(temp_ / "schema.json", options);
  }
  Result<GraphInfo> write(const HeterogeneousOptions& options, Executor& executor) {
    std::filesystem::remove_all(out_);
    return generate_heterogeneous(options, executor, out_);
  }
  Result<GraphStore> make(const HeterogeneousOptions& options) {
    InlineExecutor here;
    TROUPE_RETURN_IF_ERROR(write(options, here));
    return GraphStore::open(out_, {});
  }
  void expect_refused(const std::string& before, const std::string& after,
                      const std::string& message) {
    std::string text = schema_text;
    const auto at = text.find(before);
    ASSERT_NE(at, std::string::npos) << before;
    text.replace(at, before.size(), after);
    const auto refused = [&]() -> Result<GraphInfo> {
      HeterogeneousOptions options;
      TROUPE_ASSIGN_OR_RETURN(options.schema, read(text));
      InlineExecutor here;
      return write(options, here);
    }();
    EXPECT_ERROR(refused, Errc::invalid_argument, message);
    EXPECT_FALSE(std::filesystem::exists(out_));
  }
};

/// The share inside classes of an edge type between types with labels.
double share_inside(const GraphStore& store, std::size_t type) {
  const auto& info = store.info().edge_types[type];
  const auto labels = [&](NodeTypeId nodes) { return store.graph()->nodes[raw(nodes)].labels; };
  return testing::share_inside(edges_of(store, type), labels(info.source),
                               labels(info.destination));
}

TEST_F(Heterogeneous, ASchemaBecomesTypesInOrderOfTheirNames) {
  HeterogeneousOptions options;
  ASSERT_OK_AND_ASSIGN(options.schema, read(schema_text));
  ASSERT_OK_AND_ASSIGN(const auto store, make(options));

  const auto& info = store.info();
  ASSERT_EQ(info.node_types.size(), 3U);
  EXPECT_EQ(info.node_types[0].name, "item");
  EXPECT_EQ(info.node_types[0].count, 300U);
  EXPECT_EQ(info.node_types[0].labels->classes, 3U);
  EXPECT_FALSE(info.node_types[1].features.has_value());
  EXPECT_FALSE(info.node_types[1].labels.has_value());
  ASSERT_EQ(info.edge_types.size(), 4U);
  EXPECT_EQ(info.edge_types[0].name, "buys");
  EXPECT_EQ(info.edge_types[1].name, "rev_buys");
  EXPECT_EQ(info.edge_types[0].count, 4000U);
  EXPECT_TRUE(info.edge_types[1].has_weights && info.edge_types[1].has_times);
  EXPECT_NEAR(static_cast<double>(info.edge_types[2].count), 2 * (3000 - 3000 * 0.6 / 167), 40);
  EXPECT_LT(info.edge_types[3].count, 600U) << "parallel edges are there once";
  ASSERT_OK_AND_ASSIGN(const auto users, store.seeds("", "train"));
  EXPECT_EQ(users.original.size(), 250U);
  ASSERT_OK_AND_ASSIGN(const auto items, store.seeds("items", "train"));
  EXPECT_EQ(items.original.size(), 100U);
  EXPECT_LT(raw(items.original.back()), 300U);
}

TEST_F(Heterogeneous, EdgeTypesHaveTheirShareInsideClasses) {
  HeterogeneousOptions options;
  ASSERT_OK_AND_ASSIGN(options.schema, read(schema_text));
  options.schema.edges[1].transforms = {};
  ASSERT_OK_AND_ASSIGN(const auto store, make(options));

  EXPECT_NEAR(share_inside(store, 0), 0.9, 4 * std::sqrt(0.09 / 4000));
  EXPECT_EQ(share_inside(store, 1), share_inside(store, 0)) << "the reverse";
  EXPECT_NEAR(share_inside(store, 2), 0.6, 4 * std::sqrt(0.24 / 3000));
}

TEST_F(Heterogeneous, FeaturesOfEdgesAreThoseOfTheEdgeThatWasDrawn) {
  std::string text = schema_text;
  const std::string before = R"("homophily": 0.9,)";
  text.replace(text.find(before), before.size(), R"("homophily": 0.9, "features": 5,)");
  HeterogeneousOptions options;
  ASSERT_OK_AND_ASSIGN(options.schema, read(text));
  ASSERT_OK_AND_ASSIGN(const auto store, make(options));

  const auto& info = store.info().edge_types;
  ASSERT_TRUE(info[0].features && info[1].features);
  EXPECT_EQ(info[0].features->cols, 5U);
  EXPECT_FALSE(info[2].features.has_value());
  const auto& buys = store.graph()->edges[0];
  const auto& reverse = store.graph()->edges[1];
  ASSERT_EQ(buys.features->rows, 4000U);
  std::set<std::vector<std::byte>> rows;
  std::set<std::vector<std::byte>> reversed;
  for (std::uint64_t e = 0; e < 4000; ++e) {
    const auto row = buys.features->row(e);
    rows.insert({row.begin(), row.end()});
    const auto back = reverse.features->row(e);
    reversed.insert({back.begin(), back.end()});
    for (std::size_t c = 0; c < 5; ++c) {
      float value = 0;
      std::memcpy(&value, row.data() + c * sizeof value, sizeof value);
      EXPECT_GE(value, -0.5F);
      EXPECT_LT(value, 0.5F);
    }
  }
  EXPECT_EQ(rows.size(), 4000U);
  EXPECT_EQ(rows, reversed);

  text.replace(text.find(R"("features": 5)"), 13, R"("features": -1)");
  EXPECT_ERROR(read(text), Errc::invalid_argument, "features");
}

TEST_F(Heterogeneous, WeightsAndTimesAreInTheirRanges) {
  HeterogeneousOptions options;
  ASSERT_OK_AND_ASSIGN(options.schema, read(schema_text));
  ASSERT_OK_AND_ASSIGN(const auto store, make(options));

  const auto& in = store.graph()->edges[0].in;
  ASSERT_EQ(in.weights.size(), 4000U);
  EXPECT_GT(*std::ranges::min_element(in.weights), 0.0F);
  EXPECT_LE(*std::ranges::max_element(in.weights), 1.0F);
  EXPECT_GE(*std::ranges::min_element(in.times), 0);
  EXPECT_LT(*std::ranges::max_element(in.times), std::int64_t{1} << 30);
  EXPECT_GT(std::set(in.times.begin(), in.times.end()).size(), 3990U);
}

TEST_F(Heterogeneous, WhatASchemaDoesNotSayIsAsTheOptionsSay) {
  GenerateOptions options;
  options.homophily = 0.25;
  options.noise = 3;
  options.features = 5;
  options.symmetrize = true;
  options.train = 7;
  ASSERT_OK_AND_ASSIGN(const auto schema, read(R"({ "classes": 2,
      "node_types": { "a": { "count": 10, "labels": true } },
      "edge_types": { "e": { "source": "a", "destination": "a", "edges": 4 } } })",
                                               options));

  EXPECT_EQ(schema.nodes[0].features, 5U);
  EXPECT_EQ(schema.nodes[0].noise, 3);
  EXPECT_EQ(schema.edges[0].homophily, 0.25);
  EXPECT_TRUE(schema.edges[0].transforms.symmetrize);
  ASSERT_EQ(schema.splits.size(), 1U);
  EXPECT_EQ(schema.splits[0].train.of(10), 7U);
}

TEST_F(Heterogeneous, TheBuiltInSchemaHasAuthorsPapersAndVenues) {
  HeterogeneousOptions options;
  options.features = 8;
  options.classes = 4;
  options.train = SplitSize::of_share(0.1);
  ASSERT_OK_AND_ASSIGN(options.schema, citation_schema(1000, options));
  ASSERT_OK_AND_ASSIGN(const auto store, make(options));

  const auto& info = store.info();
  EXPECT_EQ(info.node_types[0].count + info.node_types[1].count + info.node_types[2].count, 1000U);
  EXPECT_EQ(info.node_types[1].name, "paper");
  EXPECT_EQ(info.edge_types.size(), 6U);
  ASSERT_OK_AND_ASSIGN(const auto seeds, store.seeds("", "train"));
  EXPECT_EQ(seeds.original.size(), 50U);
  EXPECT_ERROR(citation_schema(15, options), Errc::invalid_argument, "classes: expected at most 3");
  options.features = 1;
  EXPECT_ERROR(citation_schema(1000, options), Errc::invalid_argument, "features: expected 2 to");
  options.features = 0;
  ASSERT_OK_AND_ASSIGN(const auto without, citation_schema(1000, options));
  for (const auto& type : without.nodes) {
    EXPECT_EQ(type.features, 0U) << type.name;
  }
}

TEST_F(Heterogeneous, ThreadsMemoryAndPiecesDoNotChangeAByte) {
  HeterogeneousOptions options;
  ASSERT_OK_AND_ASSIGN(options.schema, read(schema_text));
  options.seed = 3;
  InlineExecutor here;
  ASSERT_OK_AND_ASSIGN(const auto plain, write(options, here));
  EXPECT_EQ(testing::digest_of(plain), "94dfd6961f82679028dae954f6d5af38");
  ComputePool pool(3);
  options.piece = 777;
  options.writer.memory_bytes = 20'000;
  ASSERT_OK_AND_ASSIGN(const auto other, write(options, pool));
  EXPECT_EQ(testing::digest_of(other), testing::digest_of(plain));
}

TEST_F(Heterogeneous, SchemasThatCannotBeAreRefusedByPlace) {
  expect_refused("\"classes\": 3,", "", "schema.json: expected an object with \"classes\"");
  expect_refused("\"labels\"", "\"label\"",
                 "/node_types/user/label: expected one of count, "
                 "features, labels, noise, found an unknown key");
  expect_refused("\"count\": 9", "\"features\": 9",
                 "/node_types/tag: expected an object with "
                 "\"count\"");
  expect_refused("\"destination\": \"tag\"", "\"destination\": \"tags\"",
                 "/edge_types/tagged/destination: expected the name of a node type, found "
                 "\"tags\"");
  expect_refused("\"edges\": 600", "\"edges\": -1",
                 "/edge_types/tagged/edges: expected an integer");
  expect_refused("\"classes\"", "\"class\"",
                 "schema.json: /class: expected one of classes, edge_types, node_types, splits");
  expect_refused("\"weights\": true", "\"weights\": 1",
                 "/edge_types/buys/weights: expected true or false, found 1");
  expect_refused("\"train\": 0.5", "\"train\": 1.5",
                 "/splits//train: expected a number of nodes, or a share from 0.0 to 1.0");
  expect_refused("{", "[", "schema.json: expected JSON: line ");
}

TEST_F(Heterogeneous, GraphsThatCannotBeAreRefusedByName) {
  expect_refused("\"classes\": 3", "\"classes\": 0", "classes: expected 1 to");
  expect_refused("\"classes\": 3", "\"classes\": 10",
                 "node type tag: classes: expected at most 9, a node for each class, got 10");
  expect_refused("\"count\": 9", "\"count\": 0", "node type tag: count: expected 1 to");
  expect_refused("0.9", "1.9", "edge type buys: homophily: expected 0 to 1, got 1.9");
  expect_refused("\"noise\": 0.5", "\"noise\": -1", "node type item: noise: expected 0 to");
  expect_refused("\"val\": 50", "\"val\": 400",
                 "split \"\": val: expected at most 250, the nodes that are in no other role");
  expect_refused("\"tagged\"", "\"a b\"", "edge type: expected a name of");
  expect_refused("\"reverse_edges\"", "\"symmetrize\"", "expected one node type to symmetrize");
  expect_refused("\"times\": true", "\"times\": true, \"dedup\": true",
                 "expected no dedup with times");
}

TEST_F(Heterogeneous, AFileThatIsNotThereIsNamed) {
  EXPECT_ERROR(read_heterogeneous_schema(temp_ / "none.json", {}), Errc::not_found, "none.json");
}

}  // namespace
}  // namespace troupe
