// Who launches means of devices when, over a communicator that locks up as NCCL does.
#include "runtime/run/reduction_route.hpp"

#include "tests/runtime/run/route_ranks.hpp"

#include <algorithm>

namespace troupe {
namespace {

using testing::FakeMeans;
using testing::FakeNetwork;
using testing::RouteRanks;
using testing::RouteRun;

std::vector<float> parameters_over_links(RouteRun run) {
  run.devices = false;
  RouteRanks ranks(run);
  ranks.finish();
  EXPECT_EQ(ranks.by_devices(0), 0U);
  return ranks.parameters(0);
}

TEST(ReductionRoute, AThousandSchedulesOfFourRanksHaveTheLinksBitsAndNoneLocksUp) {
  const auto expected = parameters_over_links({});
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    RouteRanks ranks({.seed = seed});
    ranks.finish();
    for (std::size_t r = 0; r < 4; ++r) {
      ASSERT_EQ(ranks.parameters(r), expected) << "rank " << r << ", seed " << seed;
      // The communicator comes with step 0, and is agreed on in step 1; step 4 has no weight.
      ASSERT_EQ(ranks.launched(r), (std::vector<std::uint64_t>{2, 3, 5})) << "seed " << seed;
    }
    ASSERT_EQ(ranks.network().made(), 1U);
  }
}

TEST(ReductionRoute, SizesAndWorldsOfAnyKindHaveTheLinksBits) {
  for (const std::uint32_t world : {1U, 2U, 3U, 5U}) {
    for (const std::size_t size : {0U, 1U, 4U, 33U}) {
      const RouteRun run{.world = world, .size = size, .seed = world + size};
      RouteRanks ranks(run);
      ranks.finish();
      const auto expected = parameters_over_links(run);
      for (std::size_t r = 0; r < world; ++r) {
        EXPECT_EQ(ranks.parameters(r), expected) << size << " numbers of " << world << " ranks";
        EXPECT_EQ(ranks.by_devices(r), world == 1 ? 0U : 3U);
      }
    }
  }
}

TEST(ReductionRoute, ARankLostAtAnyMomentIsMadeUpFor) {
  const RouteRun run{.world = 3, .size = 5};
  const auto expected = parameters_over_links(run);
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    bool over = false;
    for (std::uint64_t moment = 0; !over; ++moment) {
      for (std::size_t lost = 0; lost < 3; ++lost) {
        RouteRanks ranks({.world = 3, .size = 5, .seed = seed});
        for (std::uint64_t k = 0; k < moment && ranks.step(); ++k) {
        }
        over = ranks.over();
        ranks.lose(lost);
        ranks.finish();
        for (std::size_t r = 0; r < 3; ++r) {
          ASSERT_EQ(ranks.parameters(r), expected)
              << "rank " << lost << " lost at " << moment << ", seed " << seed;
        }
      }
    }
  }
}

TEST(ReductionRoute, EachGenerationHasACommunicatorOfItsOwn) {
  RouteRanks ranks({.steps = 12});
  while (ranks.by_devices(0) < 2) {
    ASSERT_TRUE(ranks.step());
  }
  EXPECT_EQ(ranks.network().made(), 1U);
  ranks.lose(2);
  EXPECT_FALSE(ranks.route(0).by_devices());
  ranks.finish();
  EXPECT_EQ(ranks.network().made(), 2U);
  const auto& [id, first] = *ranks.network().groups().begin();
  EXPECT_TRUE(std::ranges::all_of(first->gone, [](bool gone) { return gone; }))
      << "all ranks have aborted it";
}

/// A step's shares, with what ranks offer.
std::vector<GradientReducer::Share> shares_with(const std::vector<net::DeviceOffer>& offers) {
  std::vector<GradientReducer::Share> shares;
  for (const auto& offer : offers) {
    net::GradientChunk chunk;
    chunk.offer = offer;
    shares.push_back(std::make_shared<const net::GradientChunk>(std::move(chunk)));
  }
  return shares;
}

TEST(ReductionRoute, LinksAreUsedWhereDevicesCannotExchangeAndTheReasonIsSaidOnce) {
  struct Case {
    std::vector<net::DeviceOffer> offers;
    const char* reason;
  };
  const std::vector<Case> cases = {
      {{{"a", "1"}, {"", ""}}, "rank 1 has no device that exchanges vectors"},
      {{{"a", "1"}, {"b", "2"}}, "rank 0 is among a, rank 1 among b"},
      {{{"a", "1"}, {"a", "2"}, {"a", "1"}}, "ranks 0 and 2 share a device"},
  };
  for (const auto& [offers, reason] : cases) {
    FakeNetwork network;
    ReductionRoute route(Rank{0}, static_cast<std::uint32_t>(offers.size()),
                         std::make_shared<FakeMeans>(network, DevicePlace{"a", "1"}));
    for (int step = 0; step < 2; ++step) {
      net::GradientSum sum;
      route.decide(shares_with(offers), sum);
      EXPECT_TRUE(sum.communicator.empty());
      EXPECT_FALSE(sum.by_devices);
      EXPECT_EQ(route.news(),
                step == 0 ? std::optional(fmt::format("gradients go over the links: {}", reason))
                          : std::nullopt);
    }
    EXPECT_EQ(network.made(), 0U);
  }
}

TEST(ReductionRoute, AllRanksMustHaveJoinedBeforeVectorsStay) {
  FakeNetwork network;
  ReductionRoute route(Rank{0}, 2, std::make_shared<FakeMeans>(network, DevicePlace{"a", "1"}));
  net::GradientSum sum;
  route.decide(shares_with({{"a", "1", true}, {"a", "2", false}}), sum);
  EXPECT_EQ(sum.communicator.size(), 2U);
  EXPECT_FALSE(sum.by_devices);
  route.decide(shares_with({{"a", "1", true}, {"a", "2", true}}), sum);
  EXPECT_TRUE(sum.by_devices);
  EXPECT_EQ(network.made(), 1U);
}

TEST(ReductionRoute, RanksThatDoNotConnectAreNewsOnceAndAgainWhenTheyHave) {
  FakeNetwork network;
  ReductionRoute::Clock::time_point now{};
  ReductionRoute route(Rank{0}, 2, std::make_shared<FakeMeans>(network, DevicePlace{"a", "1"}),
                       [&] { return now; });
  const auto news_of = [&](bool joined) {
    net::GradientSum sum;
    route.decide(shares_with({{"a", "1", joined}, {"a", "2", joined}}), sum);
    EXPECT_EQ(sum.by_devices, joined);
    return route.news();
  };
  EXPECT_EQ(news_of(false), std::nullopt);
  now += ReductionRoute::longest_join - std::chrono::seconds(1);
  EXPECT_EQ(news_of(false), std::nullopt);
  now += std::chrono::seconds(1);
  EXPECT_EQ(news_of(false),
            "gradients still go over the links: 0 of 2 ranks are connected to each other's devices "
            "after 60 s; NCCL_DEBUG=INFO shows what NCCL waits for");
  now += ReductionRoute::longest_join;
  EXPECT_EQ(news_of(false), std::nullopt);
  EXPECT_EQ(news_of(true), "gradients go between the devices: all ranks are connected now");
  EXPECT_EQ(news_of(true), std::nullopt);
}

TEST(ReductionRoute, ARankThatCannotJoinKeepsAllOnTheLinks) {
  RouteRanks ranks({});
  ranks.means(2).refuses = true;
  ranks.finish();
  EXPECT_EQ(ranks.parameters(0), parameters_over_links({}));
  for (std::size_t r = 0; r < 4; ++r) {
    EXPECT_EQ(ranks.by_devices(r), 0U);
  }
  EXPECT_EQ(ranks.route(2).news(),
            "gradients go over the links: rank 2: fake communicator: refused");
  EXPECT_EQ(ranks.route(1).news(), std::nullopt);
}

TEST(ReductionRoute, TakesStepsInTheirOrderAlone) {
  ReductionRoute route(Rank{0}, 2, nullptr);
  EXPECT_OK(route.take(3, {}));
  EXPECT_ERROR(route.take(3, {}), Errc::failed_precondition, "reduction of step 3: expected one");
  EXPECT_ERROR(route.take(2, {}), Errc::failed_precondition, "after step 3");
  route.begin_generation();
  EXPECT_OK(route.take(2, {}));
}

TEST(ReductionRoute, WithoutDevicesNothingIsOffered) {
  FakeNetwork network;
  const auto means = std::make_shared<FakeMeans>(network, DevicePlace{"a", "1"});
  ReductionRoute links(Rank{0}, 2, nullptr);
  EXPECT_EQ(links.offer(), net::DeviceOffer());
  ReductionRoute alone(Rank{0}, 1, means);
  EXPECT_EQ(alone.offer(), net::DeviceOffer());
  ReductionRoute two(Rank{0}, 2, means);
  EXPECT_EQ(two.offer(), (net::DeviceOffer{"a", "1", false}));
}

/// What an abort ends is told, and what is launched later, too.
TEST(ReductionRoute, ANewGenerationAbortsWhatIsUnderWay) {
  FakeNetwork network;
  ReductionRoute route(Rank{0}, 2, std::make_shared<FakeMeans>(network, DevicePlace{"a", "1"}));
  Reduced sum;
  sum.communicator = network.make_id();
  ASSERT_OK(route.take(0, sum));
  const auto communicator = route.communicator();
  ASSERT_TRUE(communicator);
  std::vector<Errc> ends;
  const auto launch = [&] {
    communicator->launch({.after = [] {},
                          .done =
                              [&](const Status& status) {
                                ends.push_back(status ? Errc::ok : status.error().code());
                              }});
  };
  launch();
  EXPECT_FALSE(network.end_one());
  route.begin_generation();
  EXPECT_EQ(ends, std::vector<Errc>{Errc::cancelled});
  launch();
  EXPECT_EQ(ends.size(), 2U);
  EXPECT_EQ(route.communicator(), nullptr);
}

}  // namespace
}  // namespace troupe
