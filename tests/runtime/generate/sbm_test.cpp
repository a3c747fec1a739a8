#include "runtime/generate/sbm.hpp"

#include "runtime/generate/streams.hpp"
#include "tests/runtime/generate/generated.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/statistics.hpp"

#include <cmath>
#include <limits>
#include <numeric>

namespace troupe {
namespace {

using testing::edges_of;

SbmOptions small_sbm() {
  SbmOptions options;
  options.nodes = 1003;
  options.edges = 20'000;
  options.classes = 5;
  options.features = 8;
  options.homophily = 0.7;
  options.train = SplitSize::of_share(0.5);
  options.val = 100;
  options.test = 200;
  options.seed = 3;
  return options;
}

class Sbm : public testing::Generated {
 protected:
  Result<GraphStore> make(const SbmOptions& options) { return Generated::make(options, sbm_graph); }
};

TEST_F(Sbm, TheStoreHasTheCountsAskedFor) {
  ASSERT_OK_AND_ASSIGN(const auto store, make(small_sbm()));

  const auto& info = store.info();
  ASSERT_EQ(info.node_types.size(), 1U);
  EXPECT_EQ(info.node_types[0].name, "node");
  EXPECT_EQ(info.node_types[0].count, 1003U);
  EXPECT_EQ(info.node_types[0].features->cols, 8U);
  EXPECT_EQ(info.node_types[0].labels->classes, 5U);
  ASSERT_EQ(info.edge_types.size(), 1U);
  EXPECT_EQ(info.edge_types[0].name, "edge");
  EXPECT_EQ(info.edge_types[0].count, 20'000U);
}

TEST_F(Sbm, TheShareOfEdgesInsideClassesIsTheOneAskedFor) {
  for (const double homophily : {0.0, 0.2, 0.7, 1.0}) {
    auto options = small_sbm();
    options.homophily = homophily;
    ASSERT_OK_AND_ASSIGN(const auto store, make(options));
    const auto labels = store.graph()->nodes[0].labels;

    const auto share = testing::share_inside(edges_of(store), labels, labels);
    const double deviation = std::sqrt(homophily * (1 - homophily) / 20'000);
    EXPECT_NEAR(share, homophily, 4 * deviation) << homophily;
  }
}

TEST_F(Sbm, ClassesDifferByOneNodeAtMost) {
  ASSERT_OK_AND_ASSIGN(const auto store, make(small_sbm()));

  std::map<std::int64_t, std::uint64_t> sizes;
  for (const auto label : store.graph()->nodes[0].labels) {
    ++sizes[label];
  }
  EXPECT_EQ(sizes, (std::map<std::int64_t, std::uint64_t>{
                       {0, 201}, {1, 201}, {2, 201}, {3, 200}, {4, 200}}));
}

TEST_F(Sbm, IdsSayNothingAboutClasses) {
  ASSERT_OK_AND_ASSIGN(const auto store, make(small_sbm()));
  const auto labels = store.graph()->nodes[0].labels;

  for (std::size_t first = 0; first < 1000; first += 250) {  // about 50 of each class
    for (std::int64_t c = 0; c < 5; ++c) {
      const auto count = std::ranges::count(labels.subspan(first, 250), c);
      EXPECT_GT(count, 20);
      EXPECT_LT(count, 85);
    }
  }
}

TEST_F(Sbm, EndsAreUniform) {
  auto options = small_sbm();
  options.nodes = 50;
  options.train = options.val = options.test = 0;
  ASSERT_OK_AND_ASSIGN(const auto store, make(options));

  std::vector<std::uint64_t> out(50);
  std::vector<std::uint64_t> in(50);
  for (const auto& edge : edges_of(store)) {
    ++out[edge.source];
    ++in[edge.destination];
  }
  EXPECT_GT(testing::uniform_p_value(out), 1e-4);
  EXPECT_GT(testing::uniform_p_value(in), 1e-4);
}

TEST_F(Sbm, FeaturesAreTheCentreOfTheClassAndNoise) {
  auto options = small_sbm();
  options.nodes = 20'000;
  options.edges = 0;
  options.noise = 0.5;
  ASSERT_OK_AND_ASSIGN(const auto store, make(options));
  const auto& nodes = store.graph()->nodes[0];
  const auto x = nodes.features->data.bytes;
  const std::span values(reinterpret_cast<const float*>(x.data()), 20'000 * 8);

  std::vector<double> mean(5 * 8);
  for (std::size_t i = 0; i < values.size(); ++i) {
    mean[static_cast<std::size_t>(nodes.labels[i / 8]) * 8 + i % 8] +=
        static_cast<double>(values[i]) / 4000;
  }
  double squares = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double off = static_cast<double>(values[i]) -
                       mean[static_cast<std::size_t>(nodes.labels[i / 8]) * 8 + i % 8];
    squares += off * off;
  }
  EXPECT_NEAR(std::sqrt(squares / static_cast<double>(values.size())), 0.5, 0.005);
  for (std::size_t c = 0; c < 5; ++c) {
    double length = 0;
    for (std::size_t j = 0; j < 8; ++j) {
      length += mean[c * 8 + j] * mean[c * 8 + j];
    }
    EXPECT_NEAR(length, 1, 0.1) << "class " << c;
  }
}

TEST_F(Sbm, FeaturesAreStoredAsAskedFor) {
  ASSERT_OK_AND_ASSIGN(const auto store, make(small_sbm()));
  const auto exact = store.graph();
  const auto* values = reinterpret_cast<const float*>(exact->nodes[0].features->data.bytes.data());
  auto options = small_sbm();
  options.feature_dtype = DType::u8;
  ASSERT_OK_AND_ASSIGN(const auto narrow, make(options));

  const auto& features = *narrow.info().node_types[0].features;
  EXPECT_EQ(features.dtype, DType::u8);
  const auto bytes = narrow.graph()->nodes[0].features->data.bytes;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto value = static_cast<float>(std::to_integer<int>(bytes[i])) * features.scale;
    ASSERT_NEAR(value, std::max(values[i], 0.0F), features.scale * 0.51F) << i;
  }
  for (const auto dtype : {DType::f16, DType::bf16}) {
    options.feature_dtype = dtype;
    ASSERT_OK_AND_ASSIGN(const auto half, make(options));
    EXPECT_EQ(half.info().node_types[0].features->dtype, dtype);
  }
}

TEST_F(Sbm, NoNodeIsASeedTwice) {
  ASSERT_OK_AND_ASSIGN(const auto store, make(small_sbm()));

  std::set<std::uint64_t> all;
  for (const auto& [role, count] :
       std::map<std::string, std::size_t>{{"train", 501}, {"val", 100}, {"test", 200}}) {
    ASSERT_OK_AND_ASSIGN(const auto seeds, store.seeds("", role));
    EXPECT_EQ(seeds.original.size(), count) << role;
    for (const auto id : seeds.original) {
      all.insert(raw(id));
    }
  }
  EXPECT_EQ(all.size(), 801U);
  EXPECT_LT(*all.rbegin(), 1003U);
}

TEST_F(Sbm, EdgesAreSymmetrisedAndThinnedAsImportsDo) {
  auto options = small_sbm();
  options.nodes = 60;
  options.homophily = 0.2;  // that of chance
  options.train = options.val = options.test = 0;
  options.symmetrize = true;
  ASSERT_OK_AND_ASSIGN(const auto all, make(options));
  EXPECT_EQ(all.info().edge_types[0].count, 40'000U);

  options.dedup = true;
  options.drop_self_loops = true;
  ASSERT_OK_AND_ASSIGN(const auto simple, make(options));
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
  for (const auto& edge : edges_of(simple)) {
    EXPECT_NE(edge.source, edge.destination);
    EXPECT_TRUE(seen.emplace(edge.source, edge.destination).second);
  }
  EXPECT_EQ(seen.size(), 60U * 59U) << "20,000 draws find every pair";
}

TEST_F(Sbm, TheStoreSaysHowItWasMade) {
  ASSERT_OK_AND_ASSIGN(const auto store, make(small_sbm()));

  EXPECT_EQ(testing::file_text(out_ / "generator.json"),
            "{ \"kind\": \"sbm\", \"nodes\": 1003, \"edges\": 20000, \"symmetrize\": false, "
            "\"features\": 8, \"classes\": 5, \"train\": 501, \"val\": 100, \"test\": 200, "
            "\"homophily\": 0.7, \"noise\": 1, \"seed\": 3 }\n");
  EXPECT_TRUE(std::ranges::any_of(
      store.info().files, [](const FileInfo& file) { return file.path == "generator.json"; }));
}

TEST_F(Sbm, ThreadsMemoryAndPiecesDoNotChangeAByte) {
  auto options = small_sbm();
  options.symmetrize = true;
  expect_bytes(options, sbm_graph, "9507e7e3c1825b4942f3d525cc8690ec");
}

TEST_F(Sbm, TheSeedChangesEdgesFeaturesLabelsAndSeeds) {
  InlineExecutor here;
  ASSERT_OK_AND_ASSIGN(const auto one, write(small_sbm(), sbm_graph, here));
  auto options = small_sbm();
  options.seed = 4;
  ASSERT_OK_AND_ASSIGN(const auto two, write(options, sbm_graph, here));

  ASSERT_EQ(one.files.size(), two.files.size());
  for (std::size_t i = 0; i < one.files.size(); ++i) {
    const bool identity = one.files[i].path.ends_with("original_ids.npy");
    EXPECT_EQ(one.files[i].checksum == two.files[i].checksum, identity) << one.files[i].path;
  }
}

TEST_F(Sbm, TheSmallestGraphs) {
  SbmOptions options;
  options.nodes = 1;
  options.classes = 1;
  options.homophily = 1;
  options.edges = 3;
  ASSERT_OK_AND_ASSIGN(const auto loops, make(options));
  EXPECT_EQ(edges_of(loops).size(), 3U);

  options.nodes = options.classes = 7;  // a class is a node
  options.homophily = 0;
  ASSERT_OK_AND_ASSIGN(const auto apart, make(options));
  for (const auto& edge : edges_of(apart)) {
    EXPECT_NE(edge.source, edge.destination);
  }

  options.edges = 0;
  ASSERT_OK_AND_ASSIGN(const auto none, make(options));
  EXPECT_EQ(none.info().edge_types[0].count, 0U);
}

struct BadSbmOptions {
  const char* what;
  void (*change)(SbmOptions&);
};
class SbmRefuses : public Sbm, public ::testing::WithParamInterface<BadSbmOptions> {};

TEST_P(SbmRefuses, OptionsThatCannotBe) {
  auto options = small_sbm();
  GetParam().change(options);

  EXPECT_ERROR(sbm_graph(options), Errc::invalid_argument, GetParam().what);
}

constexpr double sbm_nan = std::numeric_limits<double>::quiet_NaN();
INSTANTIATE_TEST_SUITE_P(
    All, SbmRefuses,
    ::testing::Values(
        BadSbmOptions{"nodes: expected 1 to 4294967295, got 0", [](auto& o) { o.nodes = 0; }},
        BadSbmOptions{"edges: expected 0 to", [](auto& o) { o.edges = ~0ULL; }},
        BadSbmOptions{"classes: expected 1 to", [](auto& o) { o.classes = 0; }},
        BadSbmOptions{"classes: expected at most 1003, a node for each class, got 1004",
                      [](auto& o) { o.classes = 1004; }},
        BadSbmOptions{"homophily: expected 0 to 1, got 1.1", [](auto& o) { o.homophily = 1.1; }},
        BadSbmOptions{"homophily: expected 0 to 1, got nan",
                      [](auto& o) { o.homophily = sbm_nan; }},
        BadSbmOptions{"homophily: expected 1 with one class", [](auto& o) { o.classes = 1; }},
        BadSbmOptions{"noise: expected 0 to 10000, got -1", [](auto& o) { o.noise = -1; }},
        BadSbmOptions{"features: expected 0 to", [](auto& o) { o.features = 1ULL << 40; }},
        BadSbmOptions{"features: expected features x classes of at most",
                      [](auto& o) {
                        o.nodes = o.classes = 1 << 23;
                        o.features = 1 << 20;
                      }},
        BadSbmOptions{"features: expected 0 to 1048576",
                      [](auto& o) { o.features = (1 << 20) + 1; }},
        BadSbmOptions{"labels: expected learnable", [](auto& o) { o.labels = LabelKind::random; }},
        BadSbmOptions{"train: expected at most 1003, the number of nodes, got 1004",
                      [](auto& o) { o.train = 1004; }},
        BadSbmOptions{"test: expected at most 402, the nodes that are in no other role, got 403",
                      [](auto& o) { o.test = 403; }},
        BadSbmOptions{"val: expected 0 to 1, got 1.5",
                      [](auto& o) { o.val = SplitSize::of_share(1.5); }}));

TEST_F(Sbm, AFolderThatExistsIsNotTouched) {
  testing::write_all(out_ / "mine", "mine");
  InlineExecutor here;
  ASSERT_OK_AND_ASSIGN(const auto graph, sbm_graph(small_sbm()));

  EXPECT_ERROR(generate::write_store(graph, small_sbm(), here, out_), Errc::failed_precondition,
               "exists");
  EXPECT_EQ(testing::file_text(out_ / "mine"), "mine");
}

}  // namespace
}  // namespace troupe
