// Means over ranks on emulated devices: the bits of the links, whatever runs when.
#include "gpu/comm/communicator.hpp"

#include "tests/gpu/communicator_support.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <future>
#include <random>
#include <set>
#include <string>
#include <thread>

namespace troupe::gpu {
namespace {

using testing::EmulatedRanks;
using testing::mean_over_links;
using testing::span_of;
using testing::uneven_shares;
using testing::Weighed;

std::uint64_t total_weight(const std::vector<Weighed>& shares) {
  std::uint64_t weight = 0;
  for (const Weighed& share : shares) {
    weight += share.weight;
  }
  return weight;
}

/// The mean by devices, at each rank. A rank without weight gives zeros.
std::vector<std::vector<float>> mean_by_devices(const std::vector<Weighed>& shares,
                                                std::size_t size, std::uint64_t seed,
                                                SumOrder order = SumOrder::by_rank) {
  EmulatedRanks ranks(shares.size(), size, seed);
  ranks.join(order);
  std::vector<std::vector<float>> given(shares.size());
  std::size_t ended = 0;
  for (std::size_t r = 0; r < shares.size(); ++r) {
    given[r] = shares[r].weight > 0 ? shares[r].values : std::vector<float>(size);
    ranks.put(r, given[r]);
    ranks[r].mean->launch({.vector = span_of(ranks[r].vector),
                           .weight = total_weight(shares),
                           .after = [] {},
                           .done =
                               [&](const Status& status) {
                                 EXPECT_OK(status);
                                 ++ended;
                               }});
    EXPECT_EQ(ended, r + 1 == shares.size() ? shares.size() : 0) << "ends when all have launched";
  }
  std::vector<std::vector<float>> means;
  for (std::size_t r = 0; r < shares.size(); ++r) {
    means.push_back(ranks.read(r));
  }
  return means;
}

void expect_same_bits(const std::vector<float>& actual, const std::vector<float>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  EXPECT_TRUE(
      std::ranges::equal(std::as_bytes(std::span(actual)), std::as_bytes(std::span(expected))));
}

TEST(ExactMean, HasTheBitsOfTheLinksForAnySizeWorldAndWeights) {
  for (std::size_t world = 1; world <= 5; ++world) {
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, world - 1, std::size_t{31},
                                   std::size_t{32}, std::size_t{33}, std::size_t{1023}}) {
      for (std::uint64_t without = 0; without < 3; ++without) {  // the ranks below have no batch
        SCOPED_TRACE(
            fmt::format("{} numbers of {} ranks, {} without weight", size, world, without));
        auto shares = uneven_shares(world, size, size * 7 + world);
        for (std::size_t r = 0; r < std::min<std::size_t>(without, world - 1); ++r) {
          shares[r] = {};
        }
        const auto expected = mean_over_links(shares, size);
        for (const auto& mean : mean_by_devices(shares, size, size + 1)) {
          expect_same_bits(mean, expected.values);
        }
      }
    }
  }
}

TEST(ExactMean, KeepsZerosInfinitiesAndNotANumber) {
  const float inf = INFINITY;
  const std::vector<Weighed> shares{{{-0.0F, 0.0F, inf, inf, 1e38F, NAN, 1e-45F}, 1},
                                    {{-0.0F, -0.0F, 1.0F, -inf, 3e38F, 1.0F, 1e-45F}, 2},
                                    {{}, 0}};
  const auto expected = mean_over_links(shares, 7).values;
  for (const auto& mean : mean_by_devices(shares, 7, 1)) {
    for (std::size_t i = 0; i < mean.size(); ++i) {
      EXPECT_EQ(std::isnan(mean[i]), std::isnan(expected[i])) << i;
      if (!std::isnan(mean[i])) {
        EXPECT_EQ(mean[i], expected[i]) << i;
        EXPECT_EQ(std::signbit(mean[i]), std::signbit(expected[i])) << i;
      }
    }
  }
}

TEST(FastMean, IsNearTheExactOneAndTheSameOnAllRanks) {
  for (const std::size_t world : {1U, 2U, 4U, 5U}) {
    for (const std::size_t size : {0U, 1U, 33U, 1000U}) {
      const auto shares = uneven_shares(world, size, size + world);
      const auto exact = mean_over_links(shares, size).values;
      const auto means = mean_by_devices(shares, size, 3, SumOrder::any);
      for (const auto& mean : means) {
        expect_same_bits(mean, means.front());
        for (std::size_t i = 0; i < size; ++i) {
          EXPECT_NEAR(mean[i], exact[i], 1e-2) << i;
        }
      }
      if (world > 2 && size == 1000) {
        EXPECT_NE(means.front(), exact) << "another order, or the test of exact sums is none";
      }
    }
  }
}

/// Steps of four ranks, whose kernels, means and updates are launched without a wait: a step's values are of
/// its number, the mean is added to a sum, and the vector is used again.
std::vector<std::vector<float>> run_steps(std::uint64_t seed, std::size_t steps) {
  constexpr std::size_t world = 4;
  constexpr std::size_t size = 37;
  EmulatedRanks ranks(world, size, seed);
  ranks.join();
  std::vector<Array<float>> sums;
  for (auto& rank : ranks) {
    sums.push_back(rank.on.array<float>(size));
    rank.on.zero(sums.back().data(), size * sizeof(float));
  }
  std::mt19937_64 random(seed);
  for (std::size_t step = 0; step < steps; ++step) {
    std::vector<std::size_t> order{0, 1, 2, 3};
    std::ranges::shuffle(order, random);
    std::size_t ended = 0;
    for (const std::size_t r : order) {
      auto& rank = ranks[r];
      const auto value = 1.0F / static_cast<float>(1 + r + step * world);
      rank.on.for_each(size, testing::PutValue{value, rank.vector.data()});
      rank.mean->launch(
          {.vector = span_of(rank.vector),
           .weight = 3 + step,
           .after =
               [&] {
                 rank.on.for_each(size, testing::AddTo{rank.vector.data(), sums[r].data()});
                 rank.on.for_each(size, testing::PutValue{-1, rank.vector.data()});
               },
           .done = [&](const Status& status) { ended += status ? 1U : 0U; }});
    }
    EXPECT_EQ(ended, world) << "seed " << seed;
  }
  std::vector<std::vector<float>> results;
  for (std::size_t r = 0; r < world; ++r) {
    std::vector<float> values(size);
    ranks[r].on.download(sums[r].data(), values.data(), size * sizeof(float));
    EXPECT_OK(ranks[r].on.finish());
    results.push_back(std::move(values));
  }
  return results;
}

TEST(ExactMean, AThousandSchedulesOfFourRanksHaveTheLinksBits) {
  constexpr std::size_t steps = 3;
  std::vector<float> expected(37);
  for (std::size_t step = 0; step < steps; ++step) {
    float sum = 0;
    for (std::size_t r = 0; r < 4; ++r) {
      sum += 1.0F / static_cast<float>(1 + r + step * 4);
    }
    for (float& value : expected) {
      value += sum / static_cast<float>(3 + step);
    }
  }
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    for (const auto& values : run_steps(seed, steps)) {
      ASSERT_EQ(values, expected) << "seed " << seed;
    }
  }
}

/// Both operations, after each of which the arguments are used again.
/// \returns of each rank what it got; empty: an operation did not end
std::vector<std::vector<float>> exchange_and_gather(std::uint64_t seed,
                                                    std::optional<EmulatedRanks::LeftOut> left_out,
                                                    std::vector<std::uint64_t>* waits = nullptr) {
  constexpr std::size_t world = 3;
  constexpr std::size_t size = 7;
  EmulatedRanks ranks(world, size, seed, left_out);
  const auto group = std::make_shared<EmulatedGroup>(world, seed);
  std::vector<Array<float>> all;
  std::size_t ended = 0;
  for (std::size_t r = 0; r < world; ++r) {
    auto& [device, on, vector, mean] = ranks[r];
    EXPECT_OK(group->join(r, device));
    EmulatedCommunicator comm(group, r);
    const std::size_t own = even_share(size, world, r).size;
    const auto received = on.array<float>(world * own);
    all.push_back(on.array<float>(world * world * 3));
    on.zero(all[r].data(), all[r].size_bytes());
    on.for_each(size, testing::PutValue{static_cast<float>(r + 1), vector.data()});
    comm.exchange(on, span_of(vector), received.data());
    on.for_each(size, testing::PutValue{-1, vector.data()});
    const auto mine = on.array<float>(world * 3);
    on.zero(mine.data(), mine.size_bytes());
    on.copy(received.data(), mine.data(), received.size_bytes());
    comm.gather(on, mine.data(), mine.size(), all[r].data());
    on.for_each(mine.size(), testing::PutValue{-2, mine.data()});
    group->launched(r, on.record(), [&](const Status& status) { ended += status ? 1U : 0U; });
  }
  std::vector<std::vector<float>> results;
  for (std::size_t r = 0; r < world && ended == world; ++r) {
    std::vector<float> values(all[r].size());
    ranks[r].on.download(all[r].data(), values.data(), all[r].size_bytes());
    EXPECT_OK(ranks[r].on.finish());
    results.push_back(std::move(values));
  }
  for (std::size_t r = 0; r < world; ++r) {
    if (waits != nullptr) {
      waits->push_back(ranks[r].device->schedule().waits());
    }
    group->abort(r, Error(Errc::cancelled, "the test ends"));
  }
  return results;
}

TEST(EmulatedCommunicator, EachWaitThatIsLeftOutIsNoticed) {
  std::vector<std::uint64_t> waits;
  const auto expected = exchange_and_gather(1, std::nullopt, &waits);
  ASSERT_EQ(expected.size(), 3U);
  ASSERT_EQ(waits, std::vector<std::uint64_t>(3, 8)) << "two of each peer in each operation";
  for (std::uint64_t seed = 2; seed <= 200; ++seed) {
    ASSERT_EQ(exchange_and_gather(seed, std::nullopt), expected) << "seed " << seed;
  }
  for (std::size_t rank = 0; rank < 3; ++rank) {
    for (std::uint64_t wait = 0; wait < waits[rank]; ++wait) {
      int wrong = 0;
      for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        wrong += exchange_and_gather(seed, EmulatedRanks::LeftOut{rank, wait}) != expected ? 1 : 0;
      }
      EXPECT_GT(wrong, 0) << "wait " << wait << " of rank " << rank;
    }
  }
}

TEST(EmulatedCommunicator, RanksOnThreadsOfTheirOwnHaveTheSameBits) {
  constexpr std::size_t world = 4;
  constexpr std::size_t steps = 20;
  const auto shares = uneven_shares(world, 101, 5);
  const auto expected = mean_over_links(shares, 101).values;
  EmulatedRanks ranks(world, 101, 1);
  ranks.join();
  {
    std::vector<std::jthread> threads;
    for (std::size_t r = 0; r < world; ++r) {
      threads.emplace_back([&, r] {
        for (std::size_t step = 0; step < steps; ++step) {
          ranks.put(r, shares[r].values);
          const auto end = std::make_shared<std::promise<void>>();
          ranks[r].mean->launch({.vector = span_of(ranks[r].vector),
                                 .weight = total_weight(shares),
                                 .after = [] {},
                                 .done =
                                     [end](const Status& status) {
                                       EXPECT_OK(status);
                                       end->set_value();
                                     }});
          end->get_future().wait();
          expect_same_bits(ranks.read(r), expected);
        }
      });
    }
  }
}

TEST(EmulatedCommunicator, RanksThatLaunchDifferentThingsLockUp) {
  EmulatedRanks ranks(2, 8, 1);
  ranks.join();
  std::vector<std::string> errors;
  for (std::size_t r = 0; r < 2; ++r) {
    ranks[r].on.zero(ranks[r].vector.data(), ranks[r].vector.size_bytes());
    ranks[r].mean->launch({.vector = span_of(ranks[r].vector).first(8 - r),
                           .after = [] {},
                           .done =
                               [&](const Status& status) {
                                 ASSERT_FALSE(status);
                                 errors.push_back(status.error().what());
                               }});
  }
  ASSERT_EQ(errors.size(), 2U);
  EXPECT_NE(errors[0].find("locked up: expected the same operation from all ranks, found another "
                           "than exchange of 8 numbers"),
            std::string::npos)
      << errors[0];
  ranks.run_rest();
}

TEST(EmulatedCommunicator, AnAbortEndsTheRanksPartAndLeavesItsStreamUsable) {
  EmulatedRanks ranks(3, 64, 1);
  ranks.join();
  std::vector<std::optional<Errc>> ends(3);
  for (std::size_t r = 0; r < 2; ++r) {  // rank 2 is lost before it launches
    ranks[r].on.for_each(64, testing::PutValue{1, ranks[r].vector.data()});
    ranks[r].mean->launch({.vector = span_of(ranks[r].vector),
                           .after = [] {},
                           .done =
                               [&, r](const Status& status) {
                                 ends[r] = status ? Errc::ok : status.error().code();
                               }});
  }
  ranks[2].mean.reset();
  EXPECT_FALSE(ends[0] || ends[1]) << "as on a GPU: nobody tells them";
  EXPECT_ERROR(ranks[0].on.finish(), Errc::internal, "wait for each other");
  EmulatedStream other(ranks[1].device);
  EXPECT_OK(other.finish()) << "other streams go on";
  EXPECT_OK(ranks[1].device->schedule().run_all());
  for (std::size_t r = 0; r < 2; ++r) {
    EXPECT_ERROR(ranks[r].mean->ready(), Errc::peer_lost, "has left");
    ranks[r].mean->abort();
    EXPECT_EQ(ends[r], Errc::cancelled);
    EXPECT_OK(ranks[r].device->schedule().run_all()) << "its stream goes on";
    ranks[r].mean->launch(
        {.vector = {},
         .after = [] {},
         .done = [](const Status& status) { EXPECT_ERROR(status, Errc::cancelled, "has left"); }});
  }
  // The next generation, on the same devices.
  for (auto& rank : ranks) {
    rank.on = EmulatedStream(rank.device);  // that of rank 0 has had an error
  }
  ranks.join();
  std::size_t ended = 0;
  for (auto& rank : ranks) {
    rank.on.for_each(64, testing::PutValue{3, rank.vector.data()});
    rank.mean->launch({.vector = span_of(rank.vector),
                       .weight = 9,
                       .after = [] {},
                       .done = [&](const Status& status) { ended += status ? 1U : 0U; }});
  }
  EXPECT_EQ(ended, 3U);
  EXPECT_EQ(ranks.read(0), std::vector<float>(64, 1));
}

TEST(EmulatedCommunicator, MemoryOfARankThatHasLeftIsNotRead) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    EmulatedRanks ranks(3, 64, seed);
    ranks.join();
    std::vector<int> errors(3);
    for (std::size_t r = 0; r < 3; ++r) {
      ranks[r].on.zero(ranks[r].vector.data(), ranks[r].vector.size_bytes());
    }
    for (std::size_t r = 0; r < 2; ++r) {
      ranks[r].mean->launch(
          {.vector = span_of(ranks[r].vector),
           .after = [] {},
           .done = [&, r](const Status& status) { errors[r] += status ? 0 : 1; }});
    }
    static_cast<void>(ranks[1].device->schedule().run_all());  // its share is ready
    ranks[1].mean.reset();
    ranks[1].vector = {};
    ASSERT_OK(ranks[1].on.finish());
    ranks[1].device->memory().sweep();
    ranks[2].mean->launch({.vector = span_of(ranks[2].vector),
                           .after = [] {},
                           .done = [&](const Status& status) { errors[2] += status ? 0 : 1; }});
    for (const std::size_t r : {0U, 2U}) {
      static_cast<void>(ranks[r].device->schedule().run_all());
      ranks[r].mean->abort();
    }
    EXPECT_EQ(errors, std::vector<int>(3, 1)) << "seed " << seed;
    ranks.run_rest();
  }
}

TEST(EmulatedNetwork, RefusesIdsAndRanksThatAreNone) {
  EmulatedRanks ranks(2, 1, 1);
  const auto network = std::make_shared<EmulatedNetwork>();
  EmulatedNetwork other;
  const auto means = emulated_means(network, ranks[0].on, SumOrder::by_rank);
  ASSERT_OK_AND_ASSIGN(const auto id, means->make_id());
  EXPECT_LE(id.size(), net::most_communicator_words);
  EXPECT_LE(network->name().size(), net::most_offer_bytes);
  EXPECT_ERROR(means->join({}, Rank{0}, 2), Errc::invalid_argument, "expected an id of the");
  EXPECT_ERROR(means->join(other.make_id(), Rank{0}, 2), Errc::invalid_argument, "expected an id");
  EXPECT_ERROR(means->join({id[0], 2}, Rank{0}, 2), Errc::invalid_argument, "expected an id");
  ASSERT_OK_AND_ASSIGN(const auto first, means->join(id, Rank{0}, 2));
  EXPECT_ERROR(means->join(id, Rank{0}, 2), Errc::invalid_argument, "has not joined, found 0");
  EXPECT_ERROR(means->join(id, Rank{2}, 2), Errc::invalid_argument, "has not joined, found 2");
  EXPECT_ERROR(means->join(id, Rank{1}, 3), Errc::invalid_argument, "expected 2 ranks, found 3");
  EXPECT_ERROR(means->join(id, Rank{1}, 2), Errc::invalid_argument, "one of ranks 0 and 1");
  ASSERT_OK_AND_ASSIGN(const bool alone, first->ready());
  EXPECT_TRUE(alone);
  const auto second = emulated_means(network, ranks[1].on, SumOrder::by_rank);
  EXPECT_EQ(second->place().network, means->place().network);
  EXPECT_NE(second->place().device, means->place().device);
  ASSERT_OK_AND_ASSIGN(const auto peer, second->join(id, Rank{1}, 2));
  ASSERT_OK_AND_ASSIGN(const bool both, first->ready());
  EXPECT_TRUE(both);
}

TEST(EmulatedNetwork, ADeviceWithoutMemoryEndsTheWorkWithItsError) {
  auto device = std::make_shared<EmulatedDevice>(EmulatedOptions{.memory_bytes = 400});
  EmulatedStream on(device);
  const auto vector = on.array<float>(100);
  on.zero(vector.data(), vector.size_bytes());
  const auto network = std::make_shared<EmulatedNetwork>();
  const auto means = emulated_means(network, on, SumOrder::by_rank);
  ASSERT_OK_AND_ASSIGN(const auto id, means->make_id());
  ASSERT_OK_AND_ASSIGN(const auto mean, means->join(id, Rank{0}, 1));
  int ended = 0;
  mean->launch({.vector = span_of(vector),
                .after = [] {},
                .done =
                    [&](const Status& status) {
                      EXPECT_ERROR(status, Errc::out_of_memory, "expected room for");
                      ++ended;
                    }});
  EXPECT_EQ(ended, 1);
  EXPECT_OK(on.finish()) << "the error is that of the communicator";
}

}  // namespace
}  // namespace troupe::gpu
