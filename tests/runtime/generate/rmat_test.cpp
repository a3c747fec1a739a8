// R-MAT graphs as stores; rmat_npy_test.cpp has the NumPy files.
#include "runtime/generate/rmat.hpp"

#include "runtime/data/npy_import.hpp"
#include "tests/runtime/generate/generated.hpp"

#include <cmath>

namespace troupe {
namespace {

using testing::edges_of;

RmatOptions small_rmat() {
  RmatOptions options;
  options.nodes = 1000;  // not a power of two
  options.edges = 12345;
  options.symmetrize = true;
  options.features = 7;
  options.classes = 5;
  options.train = 100;
  options.seed = 3;
  return options;
}

class RmatStore : public testing::Generated {
 protected:
  Result<GraphStore> make(const RmatOptions& options) {
    return Generated::make(options, rmat_graph);
  }
};

TEST_F(RmatStore, IsTheOneThatComesByWayOfNumPyFiles) {
  for (const auto labels : {LabelKind::random, LabelKind::learnable}) {
    for (const std::uint64_t classes : {0U, 5U}) {
      auto options = small_rmat();
      options.labels = labels;
      options.classes = classes;
      options.val = 50;
      ASSERT_OK_AND_ASSIGN(const auto direct, make(options));
      InlineExecutor here;
      ASSERT_OK_AND_ASSIGN(const auto graph, rmat_graph(options));
      std::filesystem::remove_all(temp_ / "npy");
      std::filesystem::remove_all(temp_ / "imported");
      ASSERT_OK(generate::write_npy(graph, options, here, temp_ / "npy"));
      ASSERT_OK(import_npy(temp_ / "npy", temp_ / "imported"));
      ASSERT_OK_AND_ASSIGN(const auto imported, GraphStore::open(temp_ / "imported", {}));

      std::map<std::string, std::string> checksums;
      for (const auto& file : imported.info().files) {
        checksums[file.path] = file.checksum;
      }
      for (const auto& file : direct.info().files) {  // an edge's id is its place among the files'
        const bool same =
            file.path != "edges-edge/in/edge_ids.npy" && file.path != "generator.json";
        EXPECT_EQ(checksums[file.path] == file.checksum, same) << file.path;
      }
    }
  }
}

TEST_F(RmatStore, LearnableLabelsHaveTheShareInsideAndKeepDegrees) {
  RmatOptions options;
  options.nodes = 30'000;
  options.edges = 600'000;
  options.classes = 10;
  options.homophily = 0.7;
  ASSERT_OK_AND_ASSIGN(const auto store, make(options));
  const auto edges = edges_of(store);
  const auto labels = store.graph()->nodes[0].labels;
  EXPECT_NEAR(testing::share_inside(edges, labels, labels), 0.7, 0.003);

  options.classes = 0;
  ASSERT_OK_AND_ASSIGN(const auto plain, make(options));
  EXPECT_EQ(testing::degrees(edges, 30'000, true), testing::degrees(edges_of(plain), 30'000, true))
      << "sources stay";
  const auto with = testing::degrees(edges, 30'000, false);
  const auto without = testing::degrees(edges_of(plain), 30'000, false);
  for (const std::size_t rank : {0U, 10U, 100U, 1000U, 5000U}) {
    EXPECT_NEAR(with[rank] / without[rank], 1, 0.25) << "rank " << rank;
  }
}

TEST_F(RmatStore, ThreadsMemoryAndPiecesDoNotChangeAByte) {
  expect_bytes(small_rmat(), rmat_graph, "80745b0ff9e1d57fdcb8ff663b04f8de");
  auto options = small_rmat();
  options.classes = 0;
  expect_bytes(options, rmat_graph, "31e43ded7a13ceaed47ec536378cef67");
}

TEST_F(RmatStore, NumPyFilesAreRefusedWhatOnlyStoresHave) {
  auto options = small_rmat();
  options.dedup = true;
  InlineExecutor here;
  ASSERT_OK_AND_ASSIGN(const auto graph, rmat_graph(options));

  EXPECT_ERROR(generate::write_npy(graph, options, here, out_), Errc::invalid_argument,
               "npy: expected all edges and features of f32");
}

TEST_F(RmatStore, MoreNodesThanThisMachineHoldsAreRefusedWithTheBytes) {
  auto options = small_rmat();
  options.nodes = 1ULL << 32;
  options.classes = 1 << 20;
  InlineExecutor here;
  ASSERT_OK_AND_ASSIGN(const auto graph, rmat_graph(options));

  EXPECT_EQ(graph.table_bytes, 24ULL << 32);  // 103 GB, which some machines have
  EXPECT_ERROR(generate::check_memory(1ULL << 50, "4 nodes"), Errc::out_of_memory,
               "4 nodes need 1125899906842624 bytes");
}

TEST(SplitSizes, AreNumbersOrShares) {
  const auto nodes = [](const char* text) { return parse_split_size("train", text)->of(1000); };
  EXPECT_EQ(nodes("140"), 140U);
  EXPECT_EQ(nodes("0"), 0U);
  EXPECT_EQ(nodes("1"), 1U);
  EXPECT_EQ(nodes("1.0"), 1000U);
  EXPECT_EQ(nodes("0.25"), 250U);
  EXPECT_EQ(nodes("0.0009"), 0U);
  EXPECT_EQ(parse_split_size("train", "0.57")->of(100), 57U);
  EXPECT_EQ(parse_split_size("train", "0.29")->of(100), 29U);
  EXPECT_EQ(parse_split_size("train", "0.575")->of(100), 57U);
  for (const char* bad : {"", "x", "1.5", "-1", "-0.1", "10%", "nan"}) {
    EXPECT_ERROR(parse_split_size("train", bad), Errc::invalid_argument,
                 "train: expected a number of nodes such as 140, or a share");
  }
}

}  // namespace
}  // namespace troupe
