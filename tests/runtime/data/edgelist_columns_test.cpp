// Named columns of edges from fields of an edge list.
#include "runtime/data/edgelist_import.hpp"
#include "tests/runtime/data/import_fixture.hpp"

namespace troupe {
namespace {

using namespace testing;

class EdgelistColumns : public ImportTest {
 protected:
  Result<GraphInfo> import(const std::vector<std::string>& contents,
                           const std::vector<std::string>& columns, EdgelistOptions options = {}) {
    TROUPE_ASSIGN_OR_RETURN(options.columns, parse_line_columns(columns));
    begin(options.import);
    std::vector<std::filesystem::path> files;
    for (const auto& text : contents) {
      files.push_back(in_ / fmt::format("edges{}", files.size()));
      write_all(files.back(), text);
    }
    return import_edgelist(files, out_, options, pool_);
  }

  ComputePool pool_{3};
};

TEST_F(EdgelistColumns, LieBesideTheirEdges) {
  ASSERT_OK_AND_ASSIGN(const auto graph,
                       opened(import({"from to year x\n0 1 2010 0.5\n2,1,-3,1e-3\r\n", "1;3;7;2\n"},
                                     {"x=3:f64", "year=2:i32", "again=2"})));
  EXPECT_EQ(
      graph.info().edge_types[0].columns,
      (ColumnInfos{{"x", DType::f64, {}}, {"year", DType::i32, {}}, {"again", DType::f32, {}}}));
  EXPECT_EQ(values_by_edge<double>(graph, 0, 0),
            (std::map<std::uint64_t, double>{{0, 0.5}, {1, 1e-3}, {2, 2}}));
  EXPECT_EQ(values_by_edge<std::int32_t>(graph, 0, 1),
            (std::map<std::uint64_t, std::int32_t>{{0, 2010}, {1, -3}, {2, 7}}));
  EXPECT_EQ(values_by_edge<float>(graph, 0, 2),
            (std::map<std::uint64_t, float>{{0, 2010}, {1, -3}, {2, 7}}));
  EXPECT_EQ(edges_with_values(graph), (std::vector<std::string>{"0>1", "2>1", "1>3"}));
}

TEST_F(EdgelistColumns, GoWithTextIdsTimesAndDerivedEdges) {
  EdgelistOptions options;
  options.text_ids = true;
  options.time_column = 3;
  options.import.edges = {.symmetrize = true, .drop_self_loops = true};
  ASSERT_OK_AND_ASSIGN(const auto graph, opened(import({"ann bob 1 7\nbob bob 2 8\nbob carl 3 6\n"},
                                                       {"r=2:u8", "t=3:i64"}, options)));
  EXPECT_EQ(values_by_edge<std::uint8_t>(graph, 0, 0),
            (std::map<std::uint64_t, std::uint8_t>{{0, 1}, {2, 3}, {3, 1}, {5, 3}}));
  EXPECT_EQ(values_by_edge<std::int64_t>(graph, 0, 1),
            (std::map<std::uint64_t, std::int64_t>{{0, 7}, {2, 6}, {3, 7}, {5, 6}}));
  EXPECT_EQ(edges_with_values(graph),
            (std::vector<std::string>{"0>1 7", "1>2 6", "1>0 7", "2>1 6"}));
}

TEST_F(EdgelistColumns, ManyBlocksKeepTheOrderOfLines) {
  constexpr std::uint64_t count = 300'000;
  std::string text;
  std::map<std::uint64_t, std::int64_t> expected;
  for (std::uint64_t i = 0; i < count; ++i) {
    expected[i] = static_cast<std::int64_t>(i * 31 % 977) - 400;
    text += fmt::format("{} {} {}\n", i * 7919 % 1003, i * 104'729 % 997, expected[i]);
  }
  EdgelistOptions options;
  options.import.writer.memory_bytes = 1 << 16;
  ASSERT_OK_AND_ASSIGN(const auto graph, opened(import({text}, {"v=2:i64"}, options)));
  EXPECT_EQ(values_by_edge<std::int64_t>(graph, 0, 0), expected);
}

TEST_F(EdgelistColumns, FieldsThatCannotBeAreNamed) {
  const auto code = Errc::invalid_argument;
  EXPECT_ERROR(import({"0 1 1\n0 1 x\n"}, {"v=2:i64"}), code,
               "edges0: line 2: expected an integer of i64 in column 2, as v, got \"x\", in \"0 1 "
               "x\"\ntry: --ids text for ids that are no numbers or lie far apart, --columns, "
               "--weight-column, "
               "--time-column, --edge-columns, --first-id or --nodes");
  EXPECT_ERROR(import({"0 1 256\n"}, {"v=2:u8"}), code, "expected an integer of u8 in column 2");
  EXPECT_ERROR(import({"0 1 nan\n"}, {"v=2"}), code, "expected a finite f32 in column 2, as v");
  EXPECT_ERROR(import({"0 1 1\n0 1\n"}, {"v=2"}), code,
               "line 2: expected a finite f32 in column 2, as v, got nothing");
  EXPECT_ERROR(import({"0,1,,1\n"}, {"v=2"}), code,
               "line 1: expected a finite f32 in column 2, as v, got nothing");
  EXPECT_ERROR(import({"0 1 1\n"}, {"v=2", "w=4000000000"}), code,
               "expected a finite f32 in column 4000000000, as w, got nothing");
  EXPECT_FALSE(std::filesystem::exists(out_));
}

}  // namespace
}  // namespace troupe
