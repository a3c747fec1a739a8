// The analytic hotness against the nodes of batches that were really sampled.
#include "runtime/partition/hotness.hpp"
#include "runtime/sample/seed_order.hpp"
#include "tests/runtime/graph/store_fixture.hpp"
#include "tests/runtime/sample/drive.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace troupe {
namespace {

using namespace testing;

constexpr std::uint64_t nodes = 400;
constexpr std::uint64_t batch_size = 8;
constexpr std::uint32_t epochs = 400;

struct Setting {
  std::vector<std::int32_t> fanout;
  bool replace = false;
  Frontier frontier = Frontier::fresh;
};

class HotnessOfSampling : public ::testing::TestWithParam<Setting> {
 protected:
  void SetUp() override {
    auto graph = random_graph(nodes, 2400, 8);
    auto& train = graph.contents.seeds.at({"", "train"});
    train.clear();
    for (std::uint64_t v = 0; v < nodes; v += 5) {
      train.push_back(v);
    }
    graph.contents.info.splits[0].roles["train"].count = train.size();
    ASSERT_OK(write_graph_store(graph.contents, temp_ / "graph"));
    auto store = GraphStore::open(temp_ / "graph", {});
    ASSERT_OK(store);
    store_.emplace(*std::move(store));
    cut_.info = store_->info();
    cut_.book = std::make_shared<PartitionBook>(PartRanges{{{0, nodes}}});
    cut_.parts = {store_->graph()};
    cut_.global_of.emplace_back();
    for (std::uint64_t v = 0; v < nodes; ++v) {
      cut_.global_of[0].push_back(static_cast<NodeId>(v));
    }
  }

  /// How often each node was in a batch.
  std::vector<double> sampled_frequency() {
    const auto seeds = std::make_shared<const SeedList>(*store_->seeds("", "train"));
    const SeedOrder order(seeds, batch_size, 42, true);
    auto options = fanouts(GetParam().fanout);
    options.replace = GetParam().replace;
    options.frontier = GetParam().frontier;
    std::vector<double> times(nodes, 0);
    for (std::uint32_t epoch = 0; epoch < epochs; ++epoch) {
      for (std::uint64_t number = 0; number < order.num_batches(); ++number) {
        std::vector<std::uint64_t> ids;
        for (const auto seed : order.batch(epoch, number)) {
          ids.push_back(raw(seed));
        }
        const auto batch = drive(cut_, options, {Purpose::train, epoch, number}, ids);
        for (const auto id : batch.nodes[0].ids) {
          times[raw(id)] += 1;
        }
      }
    }
    for (auto& count : times) {
      count /= static_cast<double>(epochs * order.num_batches());
    }
    return times;
  }

  TempDir temp_;
  std::optional<GraphStore> store_;
  CutGraph cut_;
};

double held_by_first(const std::vector<double>& frequency, const std::vector<std::size_t>& order) {
  double held = 0;
  for (std::size_t i = 0; i < order.size() / 10; ++i) {
    held += frequency[order[i]];
  }
  return held;
}

template <class T>
std::vector<std::size_t> hottest_first(const std::vector<T>& heat) {
  std::vector<std::size_t> order(heat.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater(), [&](std::size_t v) { return heat[v]; });
  return order;
}

TEST_P(HotnessOfSampling, IsNearHowOftenNodesAreInBatches) {
  const HotnessOptions options{.fanout = fanout_of_hops(GetParam().fanout),
                               .batch_size = batch_size,
                               .replace = GetParam().replace,
                               .all_nodes = GetParam().frontier == Frontier::all};
  InlineExecutor executor;
  ASSERT_OK_AND_ASSIGN(const auto heat, node_hotness(*store_, "", options, executor));
  const auto frequency = sampled_frequency();
  double error = 0;
  for (std::size_t v = 0; v < nodes; ++v) {
    error += std::abs(heat[0][v] - frequency[v]) / nodes;
    EXPECT_NEAR(heat[0][v], frequency[v], 0.12) << v;
  }
  EXPECT_LT(error, 0.02);
  // What matters: a cache of the hottest tenth holds nearly as much as the best choice would
  EXPECT_GT(held_by_first(frequency, hottest_first(heat[0])),
            0.97 * held_by_first(frequency, hottest_first(frequency)));
}

INSTANTIATE_TEST_SUITE_P(Settings, HotnessOfSampling,
                         ::testing::Values(Setting{{3}}, Setting{{3, 2}}, Setting{{3, 2, 2}},
                                           Setting{{4, 3}, true},
                                           Setting{{3, 2}, false, Frontier::all}));

}  // namespace
}  // namespace troupe
