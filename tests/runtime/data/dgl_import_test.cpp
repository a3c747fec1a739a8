#include "runtime/data/dgl_import.hpp"

#include "tests/runtime/data/import_fixture.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <cmath>

namespace troupe {
namespace {

using namespace testing;
using nlohmann::json;

json numpy(std::vector<std::string> files) {
  return {{"format", {{"name", "numpy"}}}, {"data", std::move(files)}};
}
json csv(std::vector<std::string> files, const std::string& delimiter = " ") {
  return {{"format", {{"name", "csv"}, {"delimiter", delimiter}}}, {"data", std::move(files)}};
}

/// Papers and authors in two chunks each. Each test changes what it is about.
class Dgl : public ImportTest {
 protected:
  void SetUp() override {
    write_all(in_ / "writes0.csv", "0 1\n2 0\n");
    write_all(in_ / "writes1.csv", "1 3\n");
    save_npy<std::int64_t>(in_ / "cites0.npy", {2, 2}, {0, 1, 1, 2});
    save_npy<std::int64_t>(in_ / "cites1.npy", {1, 2}, {3, 0});
    save_npy<float>(in_ / "feat0.npy", {2, 2}, {0, 1, 2, 3});
    save_npy<float>(in_ / "feat1.npy", {2, 2}, {4, 5, 6, 7});
    save_npy<std::int64_t>(in_ / "label0.npy", {2}, {1, 0});
    save_npy<std::int64_t>(in_ / "label1.npy", {2}, {-1, 2});
    save_npy<std::uint8_t>(in_ / "train0.npy", {'b', 1}, {2}, {1, 0});
    save_npy<std::uint8_t>(in_ / "train1.npy", {'b', 1}, {2}, {0, 1});
    write_all(in_ / "test.csv", "2\n");
    save_npy<std::int32_t>(in_ / "weight.npy", {3, 1}, {1, 2, 3});
    meta_ = {{"graph_name", "g"},
             {"node_type", {"author", "paper"}},
             {"num_nodes_per_chunk", {{2, 1}, {2, 2}}},
             {"edge_type", {"author:writes:paper", "paper:cites:paper"}},
             {"num_edges_per_chunk", {{2, 1}, {2, 1}}},
             {"edges",
              {{"author:writes:paper", csv({"writes0.csv", "writes1.csv"})},
               {"paper:cites:paper", numpy({"cites0.npy", "cites1.npy"})}}},
             {"node_data",
              {{"paper",
                {{"feat", numpy({"feat0.npy", "feat1.npy"})},
                 {"label", numpy({"label0.npy", "label1.npy"})},
                 {"train_mask", numpy({"train0.npy", "train1.npy"})},
                 {"test_idx", csv({"test.csv"})},
                 {"year", numpy({"label0.npy", "label1.npy"})}}}}},
             {"edge_data", {{"author:writes:paper", {{"feat", numpy({"weight.npy"})}}}}}};
  }
  Result<GraphInfo> import(DglOptions options = {}) {
    write_all(in_ / "metadata.json", meta_.dump());
    begin(options.import);
    ComputePool pool(2);
    return import_dgl(in_, out_, options, pool);
  }
  Result<GraphStore> store() { return opened(import()); }

  json meta_;
};

TEST_F(Dgl, ChunksBecomeOneGraph) {
  ASSERT_OK_AND_ASSIGN(const auto graph, store());

  const auto& info = graph.info();
  EXPECT_EQ(info.node_types[0].count, 3U);
  EXPECT_EQ(info.node_types[1].labels->classes, 3U);
  EXPECT_EQ(info.edge_types[0].name, "writes");
  EXPECT_EQ(info.edge_types[0].features->cols, 1U);
  const auto& nodes = graph.graph()->nodes[1];
  EXPECT_EQ(nodes.features->data.as<float>()[5], 5.0F);
  EXPECT_TRUE(std::ranges::equal(nodes.labels, std::vector<std::int64_t>{1, 0, -1, 2}));
  const auto& edges = graph.graph()->edges;
  EXPECT_TRUE(std::ranges::equal(edges[0].in.offsets, std::vector<std::uint64_t>{0, 1, 2, 2, 3}));
  EXPECT_TRUE(std::ranges::equal(edges[1].in.offsets, std::vector<std::uint64_t>{0, 1, 2, 3, 3}))
      << "[2, 2] is two rows here";
  ASSERT_OK_AND_ASSIGN(const auto train, graph.seeds("", "train"));
  EXPECT_EQ(train.original, (std::vector<OriginalId>{OriginalId{0}, OriginalId{3}}));
  ASSERT_OK_AND_ASSIGN(const auto test, graph.seeds("", "test"));
  EXPECT_EQ(test.original, (std::vector<OriginalId>{OriginalId{2}}));
}

TEST_F(Dgl, AnyChunkOfTextMayBeEmpty) {
  write_all(in_ / "writes0.csv", "");
  write_all(in_ / "writes1.csv", "0 1\n2 0\n1 3\n");
  meta_["num_edges_per_chunk"][0] = {0, 3};
  ASSERT_OK_AND_ASSIGN(const auto graph, store());
  EXPECT_EQ(edges_with_values(graph), (std::vector<std::string>{"0>1", "2>0", "1>3"}));

  write_all(in_ / "writes1.csv", "\n");
  write_all(in_ / "writes2.csv", "0 1\n2 0\n1 3\n");
  meta_["edges"]["author:writes:paper"] = csv({"writes0.csv", "writes1.csv", "writes2.csv"});
  meta_["num_edges_per_chunk"][0] = {0, 0, 3};
  ASSERT_OK_AND_ASSIGN(const auto later, store());
  EXPECT_EQ(edges_with_values(later).size(), 3U);

  write_all(in_ / "writes2.csv", "");
  meta_["num_edges_per_chunk"][0] = {0, 0, 0};
  meta_["edge_data"].clear();
  ASSERT_OK_AND_ASSIGN(const auto none, store());
  EXPECT_EQ(none.info().edge_types[0].count, 0U);
}

TEST_F(Dgl, SaysWhichArraysWereNotTaken) {
  ASSERT_OK(import());
  EXPECT_EQ(left_out_, (std::vector<std::string>{"node_data/paper/year"}));
}

TEST_F(Dgl, NamesOfFeaturesAndLabelsCanBeStated) {
  ASSERT_OK_AND_ASSIGN(const auto info, import({{}, "year", "label"}));
  EXPECT_EQ(info.node_types[1].features->cols, 1U);
  EXPECT_EQ(left_out_, (std::vector<std::string>{"node_data/paper/feat",
                                                 "edge_data/author:writes:paper/feat"}));
  EXPECT_ERROR(import({{}, {}, "labels"}), Errc::not_found, "expected an array \"labels\"");
}

TEST_F(Dgl, ParquetAndOtherDelimitersAreRefusedByName) {
  meta_["edges"]["author:writes:paper"]["format"]["name"] = "parquet";
  EXPECT_ERROR(import(), Errc::unimplemented,
               "/edges/author:writes:paper/format/name: expected csv or numpy, found \"parquet\"");
  SetUp();
  meta_["edges"]["author:writes:paper"]["format"]["delimiter"] = "|";
  EXPECT_ERROR(import(), Errc::unimplemented, "/delimiter: expected a space");
  SetUp();
  meta_["node_data"]["paper"]["year"]["format"]["name"] = "parquet";
  EXPECT_OK(import()) << "it is not taken anyway";
}

TEST_F(Dgl, WrongMetadataIsNamedByPointer) {
  const auto invalid = Errc::invalid_argument;
  meta_["edge_type"][0] = "author:writes";
  EXPECT_ERROR(import(), invalid, "/edge_type/0: expected source:relation:destination");
  meta_["edge_type"][0] = "author:writes:book";
  EXPECT_ERROR(import(), invalid, "/edge_type/0: expected the name of a node type, found \"book\"");
  SetUp();
  meta_["num_nodes_per_chunk"] = json::array({json::array({1})});
  EXPECT_ERROR(import(), invalid, "/num_nodes_per_chunk: expected 2 lists, one per type, got 1");
  SetUp();
  meta_["num_nodes_per_chunk"][1][0] = -2;
  EXPECT_ERROR(import(), invalid, "/num_nodes_per_chunk/1/0: expected an integer");
  SetUp();
  meta_["edges"].erase("paper:cites:paper");
  EXPECT_ERROR(import(), invalid, "/edges: expected an object with \"paper:cites:paper\"");
  SetUp();
  meta_["node_data"]["book"] = meta_["node_data"]["paper"];
  EXPECT_ERROR(import(), invalid, "/node_data/book: expected the name of a node type");
  SetUp();
  meta_["edges"]["paper:cites:paper"]["data"] = json::array();
  EXPECT_ERROR(import(), invalid, "expected an array of one file at least");
}

TEST_F(Dgl, ADocumentThatIsSomethingElseIsNamed) {
  meta_ = json::array({1});
  EXPECT_ERROR(import(), Errc::invalid_argument, in_.string() + ": expected an object with");
  write_all(in_ / "metadata.json", "{");
  InlineExecutor here;
  EXPECT_ERROR(
      import_dgl(in_, out_, {}, here), Errc::invalid_argument,
      (in_ / "metadata.json").string() + ": expected JSON: line 1, column 2: syntax error");
}

TEST_F(Dgl, CountsThatDisagreeAreErrors) {
  const auto invalid = Errc::invalid_argument;
  meta_["num_edges_per_chunk"][1][1] = 2;
  EXPECT_ERROR(import(), invalid, "edge type cites: expected 4 edges, as the source says, got 3");
  SetUp();
  save_npy<float>(in_ / "feat1.npy", {1, 2}, {4, 5});
  EXPECT_ERROR(import(), invalid,
               "feat0.npy: expected rows for 4 nodes, as in metadata.json, got 3");
  save_npy<float>(in_ / "feat1.npy", {2, 3}, {4, 5, 6, 7, 8, 9});
  EXPECT_ERROR(import(), invalid, "feat1.npy: expected 2 columns, as feat0.npy has, got 3");
  SetUp();
  save_npy<std::uint8_t>(in_ / "train1.npy", {'b', 1}, {3}, {0, 1, 1});
  EXPECT_ERROR(import(), invalid, "train0.npy: row 4: expected 0 or 1 for 4 nodes");
  SetUp();
  save_npy<float>(in_ / "weight.npy", {2}, {4, 5});
  EXPECT_ERROR(import(), invalid,
               "weight.npy: expected 3 rows, one per edge of type writes, got 2");
}

TEST_F(Dgl, RowsThatDoNotFitAreNamed) {
  const auto invalid = Errc::invalid_argument;
  write_all(in_ / "writes1.csv", "1 4\n");
  EXPECT_ERROR(import(), invalid, "writes1.csv: line 1: expected an id below 4 in column 1");
  SetUp();
  save_npy<std::int64_t>(in_ / "cites1.npy", {1, 2}, {4, 0});
  EXPECT_ERROR(import(), invalid, "cites1.npy: row 0: expected a source's node id below 4, got 4");
  save_npy<float>(in_ / "cites1.npy", {1, 2}, {3, 0});
  EXPECT_ERROR(import(), invalid, "cites1.npy: expected integers");
  save_npy<std::int64_t>(in_ / "cites1.npy", {2, 1}, {3, 0});
  EXPECT_ERROR(import(), invalid, "cites1.npy: expected shape [edges, 2], got [2, 1]");
  SetUp();
  write_all(in_ / "test.csv", "2\n9\n");
  EXPECT_ERROR(import(), invalid, "test.csv: line 2");
  SetUp();
  save_npy<std::int64_t>(in_ / "train0.npy", {2}, {1, 2});
  EXPECT_ERROR(import(), invalid, "train0.npy: row 1: expected 0 or 1");
  std::filesystem::remove(in_ / "feat0.npy");
  EXPECT_ERROR(import(), Errc::not_found, "feat0.npy");
  EXPECT_FALSE(std::filesystem::exists(out_));
}

/// Arrays "w" and "t": of writes in two chunks, one of them text; of cites only "w".
class DglEdgeColumns : public Dgl {
 protected:
  void SetUp() override {
    Dgl::SetUp();
    save_npy<float>(in_ / "w0.npy", {2}, {0.5F, 0});
    save_npy<double>(in_ / "w1.npy", {1}, {2.25});
    write_all(in_ / "t0.csv", "70\n-5\n");
    write_all(in_ / "t1.csv", "# the last\r\n3\r\n");
    save_npy<std::int64_t>(in_ / "cw.npy", {3, 1}, {3, 2, 1});
    auto& data = meta_["edge_data"];
    data["author:writes:paper"]["w"] = numpy({"w0.npy", "w1.npy"});
    data["author:writes:paper"]["t"] = csv({"t0.csv", "t1.csv"});
    data["paper:cites:paper"]["w"] = numpy({"cw.npy"});
  }
  static DglOptions named(std::optional<std::string> weights, std::optional<std::string> times) {
    return {.columns = {std::move(weights), std::move(times)}};
  }
};
using Texts = std::vector<std::string>;

TEST_F(DglEdgeColumns, NamedArraysLieBesideTheEdgesOfEachType) {
  ASSERT_OK_AND_ASSIGN(const auto graph, opened(import(named("w", "t"))));

  EXPECT_EQ(edges_with_values(graph, 0), (Texts{"0>1 0.5 70", "2>0 0 -5", "1>3 2.25 3"}));
  EXPECT_EQ(edges_with_values(graph, 1), (Texts{"0>1 3", "1>2 2", "3>0 1"}));
  EXPECT_EQ(left_out_, (Texts{"node_data/paper/year"}));
}

TEST_F(DglEdgeColumns, NothingIsTakenThatWasNotNamed) {
  ASSERT_OK_AND_ASSIGN(const auto graph, opened(import()));

  EXPECT_EQ(edges_with_values(graph, 0), (Texts{"0>1", "2>0", "1>3"}));
  EXPECT_EQ(left_out_, (Texts{"node_data/paper/year", "edge_data/author:writes:paper/t",
                              "edge_data/author:writes:paper/w", "edge_data/paper:cites:paper/w"}));
}

TEST_F(DglEdgeColumns, ReversesHaveTheSame) {
  auto options = named("w", "t");
  options.import.edges = {.symmetrize = true};
  ASSERT_OK_AND_ASSIGN(const auto both, opened(import(options)));
  EXPECT_EQ(edges_with_values(both, 1),
            (Texts{"0>1 3", "1>2 2", "3>0 1", "1>0 3", "2>1 2", "0>3 1"}));
  options.import.edges = {.reverse_edges = true};
  ASSERT_OK_AND_ASSIGN(const auto types, opened(import(options)));
  EXPECT_EQ(types.info().edge_types[1].name, "rev_writes");
  EXPECT_EQ(edges_with_values(types, 1), (Texts{"1>0 0.5 70", "0>2 0 -5", "3>1 2.25 3"}));
}

TEST_F(DglEdgeColumns, ManyEdgesInOtherBlocksThanTheirValuesAreSortedOnDisk) {
  constexpr std::uint64_t count = 150'000;
  std::vector<std::string> expected;
  std::string text;
  std::vector<double> weights;
  std::array<std::string, 2> times;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto source = i * 7919 % 3;
    const auto destination = i * 104'729 % 4;
    weights.push_back(static_cast<double>(i % 1000) / 8);
    const auto time = static_cast<std::int64_t>(i * 31 % 977) - 400;
    text += fmt::format("{},{}\n", source, destination);
    times[i < 40'000 ? 0 : 1] += fmt::format("{}\n", time);
    expected.push_back(fmt::format("{}>{} {} {}", source, destination, weights.back(), time));
  }
  write_all(in_ / "writes0.csv", text);
  write_all(in_ / "writes1.csv", "");
  save_npy<double>(in_ / "w0.npy", {count - 5}, {weights.begin(), weights.end() - 5});
  save_npy<double>(in_ / "w1.npy", {5}, {weights.end() - 5, weights.end()});
  write_all(in_ / "t0.csv", times[0]);
  write_all(in_ / "t1.csv", times[1]);
  meta_["num_edges_per_chunk"][0] = {count, 0};
  meta_["edge_data"]["author:writes:paper"].erase("feat");
  auto options = named("w", "t");
  options.import.writer.memory_bytes = 1 << 16;
  ASSERT_OK_AND_ASSIGN(const auto graph, opened(import(options)));

  EXPECT_EQ(edges_with_values(graph, 0), expected);
}

TEST_F(DglEdgeColumns, TheDefaultFeaturesCanBeWeightsInstead) {
  ASSERT_OK_AND_ASSIGN(const auto info, import(named("feat", {})));
  EXPECT_FALSE(info.edge_types[0].features);
  EXPECT_TRUE(info.edge_types[0].has_weights);
  EXPECT_FALSE(info.edge_types[1].has_weights);
  EXPECT_TRUE(info.node_types[1].features);
  auto options = named("feat", {});
  options.features = "feat";
  ASSERT_OK_AND_ASSIGN(const auto twice, import(options));
  EXPECT_TRUE(twice.edge_types[0].features && twice.edge_types[0].has_weights);
}

TEST_F(DglEdgeColumns, ANameThatNoTypeHasIsAnErrorWithThoseThereAre) {
  EXPECT_ERROR(import(named("label", {})), Errc::not_found,
               "/edge_data: expected weights of edges named \"label\", found feat, t, w");
  EXPECT_ERROR(import(named({}, "year")), Errc::not_found,
               "/edge_data: expected times of edges named \"year\", found feat, t, w");
  meta_.erase("edge_data");
  EXPECT_ERROR(import(named({}, "t")), Errc::not_found, "found no arrays of edges");
}

TEST_F(DglEdgeColumns, ValuesThatCannotBeAreNamed) {
  const auto code = Errc::invalid_argument;
  save_npy<double>(in_ / "w1.npy", {1}, {-2.25});
  EXPECT_ERROR(import(named("w", {})), code,
               "w0.npy: row 2: expected a weight of 0 or more, got -2.25");
  save_npy<double>(in_ / "w1.npy", {1}, {1e39});
  EXPECT_ERROR(import(named("w", {})), code,
               "w1.npy: row 0, column 0: expected a finite float32, got 1e+39");
  save_npy<float>(in_ / "w1.npy", {1}, {std::nanf("")});
  EXPECT_ERROR(import(named("w", {})), code, "w1.npy: row 0, column 0: expected a finite float32");
  for (const std::string bad : {"9223372036854775808", "1.5", "nan", "x"}) {
    write_all(in_ / "t1.csv", "\n" + bad + "\n");
    EXPECT_ERROR(import(named({}, "t")), code,
                 fmt::format("t1.csv: line 2: expected an integer, got \"{}\"", bad));
  }
  meta_["edge_data"]["author:writes:paper"]["t"] = numpy({"t.npy"});
  save_npy<std::uint64_t>(in_ / "t.npy", {3}, {0, std::uint64_t{1} << 63, 0});
  EXPECT_ERROR(import(named({}, "t")), code, "t.npy: row 1, column 0: expected an integer of 63");
  save_npy<float>(in_ / "t.npy", {3}, {0, 1, 2});
  EXPECT_ERROR(import(named({}, "t")), code, "t.npy: expected integers, got dtype");
  EXPECT_FALSE(std::filesystem::exists(out_));
}

TEST_F(DglEdgeColumns, RowsThatAreNotAsManyAsEdgesAreAnError) {
  const auto code = Errc::invalid_argument;
  write_all(in_ / "t1.csv", "");
  EXPECT_ERROR(
      import(named("w", "t")), code,
      "t0.csv: expected a row for each edge of type writes, got 2 rows for 3 edges or more");
  write_all(in_ / "t1.csv", "1\n2\n");
  EXPECT_ERROR(import(named("w", "t")), code,
               "t0.csv: expected 3 rows, one per edge of type writes, got 4");
  save_npy<std::int64_t>(in_ / "cw.npy", {3, 2}, {3, 2, 1, 3, 2, 1});
  EXPECT_ERROR(import(named("w", {})), code, "cw.npy: expected one number per edge, got [3, 2]");
  write_all(in_ / "t0.csv", "1 2\n");
  EXPECT_ERROR(import(named({}, "t")), code, "expected");
}

TEST_F(DglEdgeColumns, TimesAndDedupAreRefusedTogether) {
  auto options = named("w", "t");
  options.import.edges = {.dedup = true};
  EXPECT_ERROR(import(options), Errc::invalid_argument,
               "edge type writes: expected no dedup with times");
  options.columns.times = {};
  save_npy<std::int64_t>(in_ / "cites1.npy", {1, 2}, {0, 1});
  ASSERT_OK_AND_ASSIGN(const auto graph, opened(import(options)));
  EXPECT_EQ(edges_with_values(graph, 1), (Texts{"0>1 3", "1>2 2"}));
}

}  // namespace
}  // namespace troupe
