#include "runtime/data/stream_store.hpp"
#include "runtime/graph/store.hpp"
#include "tests/runtime/graph/forge.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/file_text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <tuple>

namespace troupe {
namespace {

using namespace testing;

constexpr std::uint64_t nodes = 30;
constexpr std::uint64_t edges = 400;
constexpr std::uint64_t cols = 3;

/// Edges with data that says which edge it is of.
struct Data {
  std::vector<std::uint64_t> sources;
  std::vector<std::uint64_t> destinations;
  std::vector<float> weights;
  std::vector<std::int64_t> times;
  std::vector<float> features;

  Data() {
    const auto graph = random_graph(nodes, edges, 11);
    sources = graph.sources;
    destinations = graph.destinations;
    for (std::uint64_t e = 0; e < edges; ++e) {
      weights.push_back(static_cast<float>(e) / 8);
      times.push_back(static_cast<std::int64_t>(e * 37 % 11) - 5);  // some equal, some below 0
      for (std::uint64_t c = 0; c < cols; ++c) {
        features.push_back(static_cast<float>(e * cols + c));
      }
    }
  }
};

struct EdgeDataWay {
  std::uint64_t memory_bytes = 1U << 30;
  std::size_t threads = 1;
  std::size_t piece = edges;
};

NewEdgeType type_with_data(NodeTypeId node, const EdgeTransforms& transforms) {
  return {.name = "edge",
          .source = node,
          .destination = node,
          .transforms = transforms,
          .weights = true,
          .times = true,
          .features = FeatureInfo{.dtype = DType::f32, .cols = cols, .scale = 1}};
}

Status write_edge_data(const Data& data, const EdgeTransforms& transforms, const EdgeDataWay& way,
                       const std::filesystem::path& out) {
  ComputePool pool(way.threads);
  TROUPE_ASSIGN_OR_RETURN(auto writer, StoreWriter::create(out, {way.memory_bytes, {}}, pool));
  TROUPE_ASSIGN_OR_RETURN(const auto node, writer.add_node_type({"node", nodes, {}, {}}));
  TROUPE_ASSIGN_OR_RETURN(const auto edge, writer.add_edge_type(type_with_data(node, transforms)));
  const auto piece = [](const auto& values, std::size_t first, std::size_t count) {
    return std::span(values).subspan(first, count);
  };
  for (std::size_t i = 0; i < edges; i += way.piece) {
    const auto count = std::min(way.piece, edges - i);
    TROUPE_RETURN_IF_ERROR(writer.add_edge_features(
        edge, std::as_bytes(piece(data.features, i * cols, count * cols))));
    TROUPE_RETURN_IF_ERROR(
        writer.add_edges(edge, {piece(data.sources, i, count), piece(data.destinations, i, count),
                                piece(data.weights, i, count), piece(data.times, i, count)}));
  }
  TROUPE_RETURN_IF_ERROR(writer.finish());
  return ok_status();
}

/// Every entry of the lists has the data of its edge, or of the edge that it is the reverse of.
void expect_data(const PartEdges& lists, const Data& data) {
  ASSERT_TRUE(lists.features);
  for (std::uint64_t v = 0; v < nodes; ++v) {
    std::tuple<std::int64_t, std::uint64_t, std::uint64_t> before{
        std::numeric_limits<std::int64_t>::min(), 0, 0};
    for (auto i = lists.in.offsets[v]; i < lists.in.offsets[v + 1]; ++i) {
      const auto id = lists.in.edge_ids[i];
      const auto e = id % edges;
      const auto u = lists.in.neighbours.visit([&](auto ids) { return std::uint64_t{ids[i]}; });
      EXPECT_EQ(id < edges ? data.destinations[e] : data.sources[e], v);
      EXPECT_EQ(id < edges ? data.sources[e] : data.destinations[e], u);
      EXPECT_EQ(lists.in.weights[i], data.weights[e]);
      EXPECT_EQ(lists.in.times[i], data.times[e]);
      const std::tuple now{lists.in.times[i], u, id};
      EXPECT_LT(before, now);
      before = now;
      std::array<float, cols> row{};
      std::memcpy(row.data(), lists.features->row(i).data(), sizeof(row));
      for (std::uint64_t c = 0; c < cols; ++c) {
        EXPECT_EQ(row[c], data.features[e * cols + c]);
      }
    }
  }
}

class StreamStoreEdgeData : public ::testing::Test {
 protected:
  TempDir temp_;
  Data data_;
};

TEST_F(StreamStoreEdgeData, WeightsTimesAndFeaturesFollowTheirEdges) {
  ASSERT_OK(write_edge_data(data_, {}, {}, temp_ / "store"));
  ASSERT_OK_AND_ASSIGN(const auto store, GraphStore::open(temp_ / "store", {}));
  const auto& info = store.info().edge_types[0];
  EXPECT_TRUE(info.has_weights && info.has_times);
  EXPECT_EQ(info.features->cols, cols);
  EXPECT_EQ(store.graph()->edges[0].in.neighbours.size(), edges);
  expect_data(store.graph()->edges[0], data_);
}

TEST_F(StreamStoreEdgeData, DerivedEdgesHaveTheDataOfTheirs) {
  ASSERT_OK(write_edge_data(data_, {.symmetrize = true}, {}, temp_ / "both"));
  ASSERT_OK_AND_ASSIGN(const auto both, GraphStore::open(temp_ / "both", {}));
  EXPECT_EQ(both.graph()->edges[0].in.neighbours.size(), 2 * edges);
  expect_data(both.graph()->edges[0], data_);

  ASSERT_OK(write_edge_data(data_, {.reverse_edges = true}, {}, temp_ / "types"));
  ASSERT_OK_AND_ASSIGN(const auto types, GraphStore::open(temp_ / "types", {}));
  expect_data(types.graph()->edges[0], data_);
  expect_data(types.graph()->edges[1], data_);
}

TEST_F(StreamStoreEdgeData, TheBytesDoNotDependOnMemoryThreadsOrPieces) {
  const EdgeTransforms transforms{.drop_self_loops = true, .reverse_edges = true};
  ASSERT_OK(write_edge_data(data_, transforms, {}, temp_ / "whole"));
  const std::array<EdgeDataWay, 3> ways{{{4096, 1, 64}, {1U << 30, 3, 7}, {4096, 3, 400}}};
  for (std::size_t i = 0; i < ways.size(); ++i) {
    const auto out = temp_ / std::to_string(i);
    ASSERT_OK(write_edge_data(data_, transforms, ways[i], out));
    for (const auto& file : files_below(temp_ / "whole")) {
      EXPECT_EQ(testing::file_text(out / file), testing::file_text(temp_ / "whole" / file)) << file;
    }
  }
}

TEST_F(StreamStoreEdgeData, DataThatDoNotFitAreRefused) {
  InlineExecutor executor;
  ASSERT_OK_AND_ASSIGN(auto writer, StoreWriter::create(temp_ / "store", {}, executor));
  ASSERT_OK_AND_ASSIGN(const auto node, writer.add_node_type({"node", nodes, {}, {}}));
  auto type = type_with_data(node, {.dedup = true});
  EXPECT_ERROR(writer.add_edge_type(type), Errc::invalid_argument, "no dedup with times");
  type.transforms = {};
  type.features->cols = 0;
  EXPECT_ERROR(writer.add_edge_type(type), Errc::invalid_argument, "edge type edge: expected 1 to");
  ASSERT_OK_AND_ASSIGN(const auto edge, writer.add_edge_type(type_with_data(node, {})));
  const std::vector<std::uint64_t> ids{1, 2};
  const std::vector<std::int64_t> times{1, 2};
  EXPECT_ERROR(writer.add_edges(edge, ids, ids), Errc::invalid_argument,
               "expected 2 weights and 2 times for 2 edges, got 0 and 0");
  for (const float bad : {-1.0F, std::nanf(""), std::numeric_limits<float>::infinity()}) {
    const std::vector<float> weights{1, bad};
    EXPECT_ERROR(writer.add_edges(edge, {ids, ids, weights, times}), Errc::invalid_argument,
                 "row 1: expected a finite weight of 0 or more");
  }
  const std::vector<float> row{1, 2};
  EXPECT_ERROR(writer.add_edge_features(edge, std::as_bytes(std::span(row))),
               Errc::invalid_argument, "expected whole rows of 12 bytes, got 8");
  const std::vector<float> weights{1, 2};
  ASSERT_OK(writer.add_edges(edge, {ids, ids, weights, times}));
  EXPECT_ERROR(writer.finish(), Errc::invalid_argument, "expected 2 rows, one per edge, got 0");
}

TEST_F(StreamStoreEdgeData, OpeningAStoreChecksWeightsAndTheOrderOfTimes) {
  const auto open = [&] { return GraphStore::open(temp_ / "store", {}); };
  ASSERT_OK(write_edge_data(data_, {}, {}, temp_ / "store"));
  auto weights = data_.weights;
  weights[7] = -1;
  forge_array(temp_ / "store", "edges-edge/in/weights.npy", {edges}, weights);
  EXPECT_ERROR(open(), Errc::data_corruption,
               "weights.npy: element 7: expected a finite weight of 0 or more, found -1");
  forge_array(temp_ / "store", "edges-edge/in/weights.npy", {edges}, data_.weights);
  ASSERT_OK(open());
  std::vector<std::int64_t> falling(edges);
  std::iota(falling.rbegin(), falling.rend(), 0);
  forge_array(temp_ / "store", "edges-edge/in/times.npy", {edges}, falling);
  EXPECT_ERROR(open(), Errc::data_corruption, "times.npy: element 1: expected times in order");
}

}  // namespace
}  // namespace troupe
