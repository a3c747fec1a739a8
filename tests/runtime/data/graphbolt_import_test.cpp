#include "runtime/data/graphbolt_import.hpp"

#include "tests/runtime/data/import_fixture.hpp"

namespace troupe {
namespace {

using namespace testing;

class Graphbolt : public ImportTest {
 protected:
  void SetUp() override {
    write_all(in_ / "cites.csv", "0,1\n2,1\n3,0\n");
    save_npy<std::int64_t>(in_ / "writes.npy", {2, 2}, {0, 1, 3, 2});
    save_npy<float>(in_ / "feat.npy", {4, 1}, {0, 1, 2, 3});
    save_npy<float>(in_ / "efeat.npy", {2, 1}, {5, 6});
    save_npy<std::int64_t>(in_ / "train.npy", {2}, {3, 1});
    save_npy<std::int64_t>(in_ / "train_y.npy", {2}, {0, 2});
    save_npy<std::int32_t>(in_ / "val.npy", {1}, {0});
    save_npy<std::int32_t>(in_ / "val_y.npy", {1}, {1});
    yaml_ = R"(dataset_name: g  # a comment
graph:
  nodes:
    - type: paper
      num: 4
    - {type: author, num: 2}
  edges:
    - type: "paper:cites:paper"
      format: csv
      path: cites.csv
    - type: author:writes:paper
      format: numpy
      path: writes.npy
feature_data:
  - domain: node
    type: paper
    name: feat
    format: numpy
    in_memory: false
    path: feat.npy
  - {domain: edge, type: "author:writes:paper", name: feat, format: numpy, path: efeat.npy}
  - {domain: node, type: paper, name: year, format: torch, path: year.pt}
tasks:
  - name: node_classification
    num_classes: 5
    train_set:
      - type: paper
        data:
          - {name: seeds, format: numpy, in_memory: true, path: train.npy}
          - {name: labels, format: numpy, path: train_y.npy}
    validation_set:
      - type: paper
        data:
          - {name: seed_nodes, format: numpy, path: val.npy}
          - {name: labels, format: numpy, path: val_y.npy}
)";
  }
  void replace(const std::string& from, const std::string& to) {
    const auto at = yaml_.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    yaml_.replace(at, from.size(), to);
  }
  Result<GraphInfo> import(GraphboltOptions options = {}) {
    write_all(in_ / "metadata.yaml", yaml_);
    begin(options.import);
    InlineExecutor executor;
    return import_graphbolt(in_, out_, options, executor);
  }
  Result<GraphStore> store() { return opened(import()); }

  std::string yaml_;
};

TEST_F(Graphbolt, StoresTypesFeaturesAndTheTask) {
  ASSERT_OK_AND_ASSIGN(const auto graph, store());

  const auto& info = graph.info();
  EXPECT_EQ(info.node_types[0].name, "paper");
  EXPECT_EQ(info.node_types[0].features->cols, 1U);
  EXPECT_EQ(info.node_types[0].labels->classes, 5U);
  EXPECT_TRUE(
      std::ranges::equal(graph.graph()->nodes[0].labels, std::vector<std::int64_t>{1, 2, -1, 0}));
  EXPECT_EQ(info.edge_types[0].name, "cites");
  EXPECT_EQ(info.edge_types[1].features->cols, 1U);
  EXPECT_TRUE(std::ranges::equal(graph.graph()->edges[1].in.offsets,
                                 std::vector<std::uint64_t>{0, 0, 0, 1, 2}));
  ASSERT_OK_AND_ASSIGN(const auto seeds, graph.seeds("", "train"));
  EXPECT_EQ(seeds.original, (std::vector<OriginalId>{OriginalId{1}, OriginalId{3}}));
  EXPECT_EQ(info.find_split("")->roles.at("val").count, 1U);
  EXPECT_EQ(left_out_, (std::vector<std::string>{"feature_data year of node"}));
}

TEST_F(Graphbolt, TypesMayBeLeftOutWhereThereIsOne) {
  yaml_ = R"(
graph:
  nodes: [{num: 4}]
  edges: [{type: null, format: csv, path: cites.csv}]
  feature_data: null
feature_data:
tasks:
  - train_set: [{data: [{name: seeds, format: numpy, path: train.npy}]}]
  - name: links
    train_set: [{data: [{name: seeds, format: numpy, path: triples.npy}]}]
)";
  save_npy<std::int64_t>(in_ / "triples.npy", {1, 3}, {0, 1, 2});
  ASSERT_OK_AND_ASSIGN(const auto info, import());

  EXPECT_EQ(info.node_types[0].name, "node");
  EXPECT_EQ(info.edge_types[0].name, "edge");
  EXPECT_FALSE(info.node_types[0].labels);
  EXPECT_EQ(left_out_, (std::vector<std::string>{"tasks/1/train_set/0"})) << "hyperlinks";
}

TEST_F(Graphbolt, TheNameOfFeaturesCanBeStated) {
  EXPECT_ERROR(import({{}, "year"}), Errc::unimplemented,
               "/feature_data/2/format: expected csv or numpy, found \"torch\"");
  EXPECT_ERROR(import({{}, "x"}), Errc::not_found, "expected features named \"x\"");
}

TEST_F(Graphbolt, LabelsThatDoNotFitAreNamed) {
  const auto invalid = Errc::invalid_argument;
  save_npy<std::int64_t>(in_ / "train_y.npy", {2}, {0, 5});
  EXPECT_ERROR(import(), invalid,
               "train_y.npy: row 1: expected a label from -1 (none) to 4, got 5");
  save_npy<std::int64_t>(in_ / "train_y.npy", {1}, {0});
  EXPECT_ERROR(import(), invalid, "train_y.npy: expected 2 labels, one per seed, got [1]");
  SetUp();
  save_npy<std::int32_t>(in_ / "val.npy", {1}, {3});
  EXPECT_ERROR(import(), invalid,
               "val_y.npy: row 0: expected label 0 for node 3, as another set says, got 1");
  save_npy<std::int32_t>(in_ / "val.npy", {1}, {4});
  EXPECT_ERROR(import(), invalid, "val.npy: row 0: expected a node id below 4, got 4");
}

TEST_F(Graphbolt, WrongMetadataIsNamedByItsPlace) {
  const auto invalid = Errc::invalid_argument;
  replace("num: 4", "num: many");
  EXPECT_ERROR(import(), invalid, "/graph/nodes/0/num: expected an integer");
  SetUp();
  replace("author:writes:paper", "author:writes:book");
  EXPECT_ERROR(import(), invalid, "/graph/edges/1: expected the name of a node type");
  SetUp();
  replace("path: cites.csv", "paths: cites.csv");
  EXPECT_ERROR(import(), invalid, "/graph/edges/0: expected an object with \"path\"");
  yaml_ = "graph: [";
  EXPECT_ERROR(import(), invalid, "expected YAML");
  yaml_ = "graph: {nodes: 3}";
  EXPECT_ERROR(import(), invalid, "/graph/nodes: expected an array");
}

TEST_F(Graphbolt, NullIsAsNothing) {
  replace("num_classes: 5", "num_classes:");
  replace("    validation_set:\n", "    test_set:\n    validation_set:\n");
  ASSERT_OK_AND_ASSIGN(const auto graph, store());
  EXPECT_EQ(graph.info().find_split("")->roles.size(), 2U);

  yaml_ = yaml_.substr(0, yaml_.find("tasks:")) + "tasks:\n";
  ASSERT_OK_AND_ASSIGN(const auto bare, store());
  EXPECT_TRUE(bare.info().splits.empty());
}

TEST_F(Graphbolt, YamlThatCannotBeReadIsNamed) {
  for (const std::string text : {"graph: [", "graph: 1\ngraph: 2"}) {
    yaml_ = text;
    EXPECT_ERROR(import(), Errc::invalid_argument, (in_ / "metadata.yaml").string() + ": ");
  }
}

TEST_F(Graphbolt, YamlThatGrowsOrNestsWithoutEndIsRefused) {
  yaml_ = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    std::string list;
    for (int k = 0; k < 10; ++k) {
      list += (k > 0 ? ", *a" : "*a") + std::to_string(i - 1);
    }
    yaml_ += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + list + "]\n";
  }
  EXPECT_ERROR(import(), Errc::invalid_argument, "expected YAML of at most");
  yaml_ = std::string(100'000, '[');
  EXPECT_ERROR(import(), Errc::invalid_argument, "expected YAML");
  yaml_ = "a: &a [*a]";
  EXPECT_ERROR(import(), Errc::invalid_argument, "expected YAML");
}

class GraphboltLinks : public Graphbolt {
 protected:
  void SetUp() override {
    Graphbolt::SetUp();
    yaml_ = yaml_.substr(0, yaml_.find("tasks:"));
    yaml_ += R"(tasks:
  - name: link_prediction
    train_set:
      - type: author:writes:paper
        data:
          - {name: seeds, format: numpy, path: pairs.npy}
    test_set:
      - type: author:writes:paper
        data:
          - {name: seeds, format: csv, path: test.csv}
          - {name: labels, format: numpy, path: labels.npy}
          - {name: indexes, format: numpy, path: none.npy}
)";
    save_npy<std::int64_t>(in_ / "pairs.npy", {2, 2}, {1, 3, 0, 2});
    write_all(in_ / "test.csv", "1,0\n1,2\n0,3\n0,1\n");
    save_npy<std::uint8_t>(in_ / "labels.npy", {'b', 1}, {4}, {1, 0, 0, 1});
  }
  /// The links of a role, "source>destination", with labels where there are some.
  static std::vector<std::string> links(const GraphStore& store, std::string_view role,
                                        std::string_view split = "") {
    const auto list = store.links(split, role);
    std::vector<std::string> texts;
    for (std::uint64_t i = 0; list && i < list->size(); ++i) {
      const auto link = list->at(i);
      texts.push_back(
          fmt::format("{}>{}{}", raw(link.source), raw(link.destination),
                      list->labels().empty() ? "" : fmt::format(" {}", list->labels()[i])));
    }
    return texts;
  }
};

TEST_F(GraphboltLinks, PairsAreLinksAndMarkedNegativesAreNot) {
  ASSERT_OK_AND_ASSIGN(const auto graph, store());

  EXPECT_EQ(links(graph, "train"), (std::vector<std::string>{"0>2", "1>3"}));
  EXPECT_EQ(links(graph, "test"), (std::vector<std::string>{"0>1", "1>0"}));
  EXPECT_EQ(graph.info().find_split("")->links.at("train").edge_type, EdgeTypeId{1});
  EXPECT_EQ(left_out_, (std::vector<std::string>{"feature_data year of node",
                                                 "2 negative pairs of tasks/0/test_set/0"}));
}

TEST_F(GraphboltLinks, LabelsWithoutMarksAreLabels) {
  replace("          - {name: indexes, format: numpy, path: none.npy}\n", "");
  save_npy<float>(in_ / "labels.npy", {4, 1}, {2.5F, 0, 0, -1});
  ASSERT_OK_AND_ASSIGN(const auto graph, store());
  EXPECT_EQ(links(graph, "test"),
            (std::vector<std::string>{"0>1 -1", "0>3 0", "1>0 2.5", "1>2 0"}));
}

TEST_F(GraphboltLinks, ManyComeInBlocks) {
  constexpr std::int64_t count = 1'100'000;
  std::vector<std::int64_t> pairs;
  std::vector<std::uint8_t> labels;
  for (std::int64_t i = 0; i < count; ++i) {
    pairs.push_back(i % 2);
    pairs.push_back(i % 4);
    labels.push_back(i % 8 == 1 ? 1 : 0);
  }
  save_npy(in_ / "pairs.npy", {count, 2}, pairs);
  save_npy(in_ / "labels.npy", {count}, labels);
  replace("format: csv, path: test.csv", "format: numpy, path: pairs.npy");
  ASSERT_OK_AND_ASSIGN(const auto graph, store());
  const auto kept = links(graph, "test");
  EXPECT_EQ(kept.size(), count / 8U);
  EXPECT_EQ(std::ranges::count(kept, "1>1"), static_cast<std::ptrdiff_t>(count / 8));
  EXPECT_EQ(links(graph, "train").size(), static_cast<std::size_t>(count));
}

TEST_F(GraphboltLinks, LinksOfOtherTasksAreOfTheirSplit) {
  replace("tasks:\n", "tasks:\n  - {name: none}\n");
  ASSERT_OK_AND_ASSIGN(const auto graph, store());
  EXPECT_EQ(links(graph, "train", "link_prediction").size(), 2U);
}

TEST_F(GraphboltLinks, WhatDoesNotFitIsNamed) {
  const auto invalid = Errc::invalid_argument;
  save_npy<float>(in_ / "labels.npy", {3}, {1, 0, 1});
  EXPECT_ERROR(import(), invalid,
               "labels.npy: expected labels for 4 links or more, one each, got 3");
  save_npy<float>(in_ / "labels.npy", {5}, {1, 0, 1, 0, 1});
  EXPECT_ERROR(import(), invalid, "labels.npy: expected labels for 4 links, one each, got 5");
  save_npy<float>(in_ / "labels.npy", {4, 2}, {1, 0, 1, 0, 1, 0, 1, 0});
  EXPECT_ERROR(import(), invalid, "labels.npy: expected one label per link, got [4, 2]");
  SetUp();
  save_npy<std::int64_t>(in_ / "pairs.npy", {2, 2}, {1, 3, 2, 2});
  EXPECT_ERROR(import(), invalid, "pairs.npy: row 1: expected a source's node id below 2, got 2");
  SetUp();
  write_all(in_ / "test.csv", "1,4\n");
  EXPECT_ERROR(import(), invalid, "test.csv: line 1: expected an id below 4 in column 1");
  SetUp();
  replace("author:writes:paper\n        data:", "paper\n        data:");
  EXPECT_ERROR(import(), invalid,
               "/tasks/0/train_set/0: expected the type of edges that the graph has");
}

class GraphboltEdgeColumns : public Graphbolt {
 protected:
  void SetUp() override {
    Graphbolt::SetUp();
    write_all(in_ / "cites_w.csv", "0.5\n0\n2e1\n");
    save_npy<std::int32_t>(in_ / "cites_t.npy", {3}, {9, -4, 9});
    save_npy<std::int64_t>(in_ / "writes_t.npy", {2, 1}, {8, 7});
    replace(
        "tasks:",
        R"(  - {domain: edge, type: "paper:cites:paper", name: w, format: csv, path: cites_w.csv}
  - {domain: edge, type: "author:writes:paper", name: t, format: numpy, path: writes_t.npy}
tasks:)");
    replace("feature_data:", R"(  feature_data:
    - {domain: edge, type: "paper:cites:paper", name: t, format: numpy, path: cites_t.npy}
    - {domain: node, type: paper, name: t, format: numpy, path: none.npy}
feature_data:)");
  }
  static GraphboltOptions named(std::optional<std::string> weights,
                                std::optional<std::string> times) {
    return {.columns = {std::move(weights), std::move(times)}};
  }
};

TEST_F(GraphboltEdgeColumns, NamedArraysOfBothListsLieBesideTheEdges) {
  ASSERT_OK_AND_ASSIGN(const auto graph, opened(import(named("w", "t"))));

  EXPECT_EQ(edges_with_values(graph, 0),
            (std::vector<std::string>{"0>1 0.5 9", "2>1 0 -4", "3>0 20 9"}));
  EXPECT_EQ(edges_with_values(graph, 1), (std::vector<std::string>{"0>3 8", "1>2 7"}));
  EXPECT_TRUE(graph.info().edge_types[1].features);
  EXPECT_EQ(left_out_, (std::vector<std::string>{"graph/feature_data t of node",
                                                 "feature_data year of node"}));
}

TEST_F(GraphboltEdgeColumns, NothingIsTakenThatWasNotNamed) {
  ASSERT_OK_AND_ASSIGN(const auto graph, opened(import()));

  EXPECT_EQ(edges_with_values(graph, 0), (std::vector<std::string>{"0>1", "2>1", "3>0"}));
  EXPECT_EQ(left_out_,
            (std::vector<std::string>{"graph/feature_data t of edge",
                                      "graph/feature_data t of node", "feature_data year of node",
                                      "feature_data w of edge", "feature_data t of edge"}));
}

TEST_F(GraphboltEdgeColumns, TheDefaultFeaturesCanBeWeightsInstead) {
  ASSERT_OK_AND_ASSIGN(const auto graph, opened(import(named("feat", {}))));
  EXPECT_FALSE(graph.info().edge_types[1].features);
  EXPECT_EQ(edges_with_values(graph, 1), (std::vector<std::string>{"0>3 5", "1>2 6"}));
}

TEST_F(GraphboltEdgeColumns, NamesAndValuesThatCannotBeAreNamed) {
  const auto invalid = Errc::invalid_argument;
  EXPECT_ERROR(import(named("year", {})), Errc::not_found,
               "/feature_data: expected weights of edges named \"year\", found feat, t, w");
  EXPECT_ERROR(import(named("x", "t")), Errc::not_found, "named \"x\"");
  for (const std::string bad : {"nan", "inf", "1e39", "x", ""}) {
    write_all(in_ / "cites_w.csv", "0.5\n" + bad + ",\n1\n");
    EXPECT_ERROR(import(named("w", {})), invalid,
                 fmt::format("cites_w.csv: line 2: expected a finite float32, got \"{}\"", bad));
  }
  write_all(in_ / "cites_w.csv", "0.5\n-1\n1\n");
  EXPECT_ERROR(import(named("w", {})), invalid,
               "cites_w.csv: row 1: expected a weight of 0 or more, got -1");
  write_all(in_ / "cites_w.csv", "0.5\n");
  EXPECT_ERROR(import(named("w", {})), invalid,
               "cites_w.csv: expected a row for each edge of type cites, got 1 rows for 3 edges");
  replace("name: w,", "name: t,");
  EXPECT_ERROR(import(named({}, "t")), invalid,
               "cites_w.csv: expected times of edge type cites once, got a second array");
  EXPECT_FALSE(std::filesystem::exists(out_));
}

}  // namespace
}  // namespace troupe
