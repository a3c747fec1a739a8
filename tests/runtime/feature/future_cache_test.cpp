#include "runtime/feature/future_cache.hpp"

#include "runtime/feature/collecting_work.hpp"
#include "tests/runtime/feature/collect.hpp"

#include <random>
#include <thread>

namespace troupe {
namespace {

using namespace testing;

/// The host of the cache holds part 0.
class FutureCacheTest : public ::testing::Test {
 protected:
  FutureCacheTest() {
    cut_ = cut_narrow_and_wide();
    graph_ = std::make_shared<const GraphInfo>(cut_.info);
    collect_ = collect_options(cut_);
  }

  static constexpr std::uint64_t narrow_bytes = 16 + cache_entry_bytes;
  static constexpr std::uint64_t wide_bytes = 64 + cache_entry_bytes;

  CacheOptions options(std::uint64_t budget_bytes) const {
    CacheOptions options;
    options.policy = CacheOptions::Policy::future;
    options.budget_bytes = budget_bytes;
    options.lookahead = 8;
    return options;
  }
  static PartHeat heat(double of_narrow, double of_wide) {
    PartHeat heat;
    for (const double of_type : {of_narrow, of_wide, 0.0}) {
      auto& parts = heat.mean.emplace_back(3);
      for (auto& part : parts) {
        for (std::size_t b = 0; b < PartHeat::buckets; ++b) {
          part.push_back(of_type / static_cast<double>(b + 1));
        }
      }
    }
    return heat;
  }
  std::shared_ptr<FutureCache> cache(const CacheOptions& options) const {
    return std::make_shared<FutureCache>(graph_, cut_.book,
                                         std::make_shared<const CacheOptions>(options), here_);
  }

  /// A batch of these nodes of the first type, of which the first are seeds, and of the second.
  std::shared_ptr<const SampledBatch> batch(Turn turn, const std::vector<NodeId>& narrow,
                                            std::uint32_t seeds,
                                            const std::vector<NodeId>& wide = {}) const {
    SampledBatch made;
    made.key = {Purpose::train, 0, turn};
    made.nodes.resize(3);
    made.nodes[0].ids = narrow;
    made.nodes[0].hop_end = {seeds, static_cast<std::uint32_t>(narrow.size())};
    made.nodes[1].ids = wide;
    made.nodes[1].hop_end = {0, static_cast<std::uint32_t>(wide.size())};
    made.nodes[2].hop_end = {0, 0};
    for (std::uint32_t i = 0; i < seeds; ++i) {
      made.seed_index.push_back(i);
    }
    return std::make_shared<const SampledBatch>(std::move(made));
  }
  NodeId node(std::size_t part, std::uint64_t at, std::size_t type = 0) const {
    return advance(cut_.parts[part]->nodes[type].first, at);
  }

  /// Collects a batch as a host with part 0 does. \returns rows from the cache, from elsewhere
  std::pair<std::uint64_t, std::uint64_t> collect(const std::shared_ptr<FutureCache>& cache,
                                                  std::shared_ptr<const SampledBatch> sampled,
                                                  std::optional<Turn> turn,
                                                  std::uint64_t ticket = 1000) const {
    const auto expected =
        digest_batch(testing::collect(cut_, collect_, *sampled), DigestMode::full);
    CollectingWork work({.book = cut_.book,
                         .options = collect_,
                         .sampled = std::move(sampled),
                         .cache = nullptr,
                         .future = {cache, turn, ticket},
                         .measure = nullptr,
                         .halos = {},
                         .part_here = [this](PartId part) {
                           return here_[raw(part)] ? cut_.parts[raw(part)] : nullptr;
                         }});
    std::vector<CollectingWork::Arrived> arrived;
    for (bool done = false; !done;) {
      auto step = work.step(std::exchange(arrived, {}));
      EXPECT_OK(step);
      done = !step || step->done;
      for (const auto& question : step->ask) {
        auto reply = read_part_rows(*cut_.parts[raw(question.part)], question.request);
        EXPECT_OK(reply);
        arrived.push_back({question.id, std::make_shared<const RowReply>(*std::move(reply))});
      }
    }
    const auto counts = work.counts();
    EXPECT_EQ(digest_batch(std::move(work).take(), DigestMode::full), expected);
    return {counts.cached, counts.remote};
  }
  void expect(FutureCache& cache, Turn turn, const SampledBatch& sampled,
              std::uint64_t ticket = 1) const {
    cache.expect(turn, ticket, sampled, *collect_);
  }

  using Counts = std::pair<std::uint64_t, std::uint64_t>;

  CutGraph cut_;
  std::shared_ptr<const GraphInfo> graph_;
  std::shared_ptr<const CollectOptions> collect_;
  const std::vector<bool> here_{true, false, false};
};

TEST_F(FutureCacheTest, SharesItsBudgetByBytesWithoutAProfileOfHeat) {
  const auto elsewhere = [&](std::size_t type) {
    return cut_.parts[1]->nodes[type].count + cut_.parts[2]->nodes[type].count;
  };
  const auto all = elsewhere(0) * narrow_bytes + elsewhere(1) * wide_bytes;

  EXPECT_EQ(cache(options(all / 2))->room(),
            (std::vector<std::uint64_t>{elsewhere(0) / 2, elsewhere(1) / 2, 0}));
  EXPECT_EQ(cache(options(all * 9))->room(),
            (std::vector<std::uint64_t>{elsewhere(0), elsewhere(1), 0}));
  EXPECT_EQ(cache(options(0))->room(), (std::vector<std::uint64_t>{0, 0, 0}));
}

TEST_F(FutureCacheTest, SharesItsBudgetAsHotnessDoesWhereThereIsAProfile) {
  auto with_heat = options(20 * narrow_bytes);
  with_heat.heat = heat(1, 0.001);
  EXPECT_EQ(cache(with_heat)->room(), (std::vector<std::uint64_t>{20, 0, 0}));

  with_heat.heat = heat(0.5, 2);
  std::vector<std::uint64_t> rows(3);
  for (const auto& choice : choose_first_rows(cut_.info, *cut_.book, with_heat, here_)) {
    rows[raw(choice.type)] += choice.nodes.size();
  }
  EXPECT_EQ(cache(with_heat)->room(), rows);
  EXPECT_GT(rows[1], 0U);
}

TEST_F(FutureCacheTest, GivesRowsToTheBatchesThatItWasToldOf) {
  auto small = cache(options(2 * (narrow_bytes + wide_bytes)));
  const auto room = small->room()[0];
  ASSERT_GE(room, 1U);
  const auto read_again = batch(1, {node(0, 0), node(1, 1)}, 1);
  const auto others = batch(0, {node(0, 0), node(2, 1), node(1, 1), node(2, 3), node(2, 4)}, 1);
  expect(*small, 1, *read_again);

  EXPECT_EQ(collect(small, others, 0), (Counts{0, 4}));
  EXPECT_TRUE(small->knows(1));
  EXPECT_EQ(collect(small, read_again, 1), (Counts{1, 0}));
  EXPECT_FALSE(small->knows(1));
  EXPECT_EQ(small->rows(), room) << "what nobody reads stays while there is room";
}

TEST_F(FutureCacheTest, RowsOfSeedsComeWithTheirLabelsAndServeLaterBatches) {
  auto wide = cache(options(1'000'000));
  const auto seeds = batch(0, {node(1, 1), node(2, 2)}, 2);
  EXPECT_EQ(collect(wide, seeds, 0), (Counts{0, 2}));
  EXPECT_EQ(collect(wide, seeds, 1), (Counts{0, 2})) << "their labels are requested";

  const auto reader = batch(2, {node(0, 0), node(1, 1), node(2, 2)}, 1, {node(1, 0, 1)});
  EXPECT_EQ(collect(wide, reader, 2), (Counts{2, 1}));
  EXPECT_EQ(collect(wide, reader, std::nullopt), (Counts{3, 0})) << "also out of order";
}

TEST_F(FutureCacheTest, RowsWithoutTheirOriginalIdsServeOnlyWhoWantsNone) {
  auto wide = cache(options(1'000'000));
  auto without = std::make_shared<CollectOptions>(*collect_);
  without->digest = DigestMode::off;
  without->with_original_ids = false;
  RowCollection collection(*cut_.book, without, batch(0, {node(0, 0), node(1, 1)}, 1), nullptr, {},
                           {wide, 0, 1});
  for (const auto& question : collection.questions()) {
    const auto reply = read_part_rows(*cut_.parts[raw(question.part)], question.request);
    ASSERT_OK(reply);
    ASSERT_OK(collection.answer(question.id, *reply));
  }
  EXPECT_EQ(wide->rows(), 1U) << "that of the part elsewhere";

  EXPECT_EQ(collect(wide, batch(1, {node(0, 0), node(1, 1)}, 1), 1), (Counts{0, 1}));
  RowCollection other(*cut_.book, without, batch(2, {node(0, 0), node(1, 1)}, 1), nullptr, {},
                      {wide, 2, 2});
  EXPECT_EQ(other.cached_rows(), 1U);
}

TEST_F(FutureCacheTest, AHintThatComesAfterItsBatchIsIgnored) {
  auto wide = cache(options(1'000'000));
  const auto late = batch(3, {node(0, 0), node(1, 1)}, 1);

  collect(wide, late, 3, 7);
  expect(*wide, 3, *late, 6);
  EXPECT_FALSE(wide->knows(3));

  expect(*wide, 3, *late, 8);
  EXPECT_TRUE(wide->knows(3)) << "after a roll-back it comes again";
}

TEST_F(FutureCacheTest, TheHottestRowsStayWhereNothingIsKnown) {
  auto with_heat = options(3 * narrow_bytes);
  with_heat.heat = heat(1, 0);
  auto small = cache(with_heat);
  ASSERT_EQ(small->room()[0], 3U);
  std::vector<NodeId> of_part;
  for (std::uint64_t i = cut_.parts[1]->nodes[0].count; i-- > 0;) {
    of_part.push_back(node(1, i));
  }
  std::vector<NodeId> with_seed = {node(0, 0)};
  with_seed.insert(with_seed.end(), of_part.begin(), of_part.end());
  collect(small, batch(0, with_seed, 1), 0);

  const auto hottest = batch(1, {node(0, 0), node(1, 0), node(1, 1), node(1, 2)}, 1);
  EXPECT_GE(collect(small, hottest, 1).first, 2U) << "buckets have some rows";
}

TEST_F(FutureCacheTest, AnyNumberOfThreadsMayUseItAtOnce) {
  auto small = cache(options(30 * narrow_bytes));
  std::vector<std::thread> threads;
  for (std::uint32_t t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937_64 random(t);
      for (Turn turn = t; turn < 120; turn += 3) {
        std::vector<NodeId> nodes = {node(0, random() % 20)};
        for (int i = 0; i < 12; ++i) {
          nodes.push_back(node(1 + random() % 2, random() % 20));
        }
        const auto made = batch(turn, nodes, 1);
        expect(*small, turn, *made, turn);
        collect(small, made, turn, turn + 1);
      }
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  EXPECT_LE(small->rows(), small->room()[0] + small->room()[1]);
}

}  // namespace
}  // namespace troupe
