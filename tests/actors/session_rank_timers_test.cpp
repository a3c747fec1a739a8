// Deadlines of collectives on a virtual clock, and the timers that are set for them.
#include "actors/session_rank.hpp"
#include "tests/actors/idle_actor.hpp"
#include "tests/actors/scripted_system.hpp"
#include "tests/support/expect.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <fmt/format.h>
#include <vector>

namespace troupe {
namespace {

using namespace std::chrono_literals;

/// Two ranks that know each other.
class SessionRankTimers : public ::testing::Test {
 protected:
  SessionRankTimers() {
    SessionRankOptions options;
    options.world = 2;
    TrainerPeers peers;
    for (std::uint32_t r = 0; r < options.world; ++r) {
      options.rank = static_cast<Rank>(r);
      ranks_.push_back(
          system_.add(fmt::format("rank {}", r), spawn_session_rank(*system_, options, [this] {
                        return DataPath{{system_.add("sampler", (*system_).spawn(testing::idle))},
                                        system_.add("collector", (*system_).spawn(testing::idle))};
                      })));
    }
    peers.trainers = ranks_;
    for (const auto& rank : ranks_) {
      caf::anon_send(rank, Ref<TrainerPeers>(peers));
    }
    system_.run();
  }
  std::uint64_t begin(std::uint32_t rank, std::chrono::milliseconds deadline) {
    Contribute barrier;
    barrier.deadline = deadline;
    return asker_.request(ranks_[rank], std::move(barrier));
  }
  /// A barrier of both ranks.
  void meet(std::chrono::milliseconds deadline) {
    const std::array asked{begin(0, deadline), begin(1, deadline)};
    system_.run();
    for (const auto number : asked) {
      ASSERT_TRUE(asker_.is_answered(number));
      EXPECT_OK(asker_.answer_to<Together>(number));
    }
  }
  void expect_missing(std::uint64_t number) {
    ASSERT_TRUE(asker_.is_answered(number));
    EXPECT_ERROR(asker_.answer_to<Together>(number), Errc::deadline_exceeded, "missing ranks 1");
  }

  testing::ScriptedSystem system_;
  testing::ScriptedActor asker_{system_, "asker"};
  std::vector<caf::actor> ranks_;
};

TEST_F(SessionRankTimers, DoNotGrowWithTheNumberOfCollectives) {
  for (int i = 0; i < 200; ++i) {
    meet(600s);
  }
  EXPECT_EQ(system_.timers(), 2U) << "one of each rank";

  for (int i = 0; i < 200; ++i) {
    meet(i % 2 == 0 ? 600s : 5s);
    system_.run_for(1s);
  }
  EXPECT_LE(system_.timers(), 4U) << "one of each rank and length";
}

TEST_F(SessionRankTimers, ADeadlineCountsFromItsOwnCall) {
  meet(20s);
  system_.run_for(15s);
  const auto alone = begin(0, 20s);

  system_.run_for(19s);
  EXPECT_FALSE(asker_.is_answered(alone)) << "the timer of the call before came in this time";
  system_.run_for(2s);

  expect_missing(alone);
}

TEST_F(SessionRankTimers, AShorterDeadlineComesFirst) {
  meet(600s);
  const auto alone = begin(0, 1s);

  system_.run_for(2s);

  expect_missing(alone);
}

TEST_F(SessionRankTimers, ABarrierThatIsWaitedForAgainHasADeadlineOfItsOwn) {
  expect_missing([this] {
    const auto first = begin(0, 1s);
    system_.run_for(2s);
    return first;
  }());
  const auto again = begin(0, 30s);

  system_.run_for(29s);
  EXPECT_FALSE(asker_.is_answered(again));
  system_.run_for(2s);

  expect_missing(again);
}

}  // namespace
}  // namespace troupe
