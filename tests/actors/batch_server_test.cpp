// The batch server before samplers that fail, and the way of a rank to batch servers elsewhere.
#include "actors/batch_server.hpp"

#include "actors/batch_client.hpp"
#include "tests/actors/scripted_system.hpp"
#include "tests/support/expect.hpp"

#include <array>
#include <deque>
#include <fmt/format.h>

namespace troupe {
namespace {

using namespace std::chrono_literals;
using testing::ScriptedActor;

ReadyBatch batch_of(std::uint64_t number) {
  auto sampled = std::make_shared<SampledBatch>();
  sampled->key = {Purpose::train, 0, number};
  ReadyBatch ready;
  ready.batch.sampled = std::move(sampled);
  ready.trace.rows = number;
  return ready;
}

/// A batch server whose data paths have two scripted samplers and a scripted collector each.
class BatchServerTest : public ::testing::Test {
 protected:
  struct Path {
    Path(testing::ScriptedSystem& system, std::size_t number)
        : samplers{ScriptedActor(system, fmt::format("sampler {}.0", number)),
                   ScriptedActor(system, fmt::format("sampler {}.1", number))},
          collector(system, fmt::format("collector {}", number)) {}
    std::array<ScriptedActor, 2> samplers;
    ScriptedActor collector;
  };

  void start() {
    serve([this] {
      auto& path = paths_.emplace_back(system_, paths_.size());
      return DataPath{.samplers = {path.samplers[0].handle(), path.samplers[1].handle()},
                      .collector = path.collector.handle()};
    });
  }
  void serve(SpawnDataPath path) {
    server_ = system_.add("server", spawn_batch_server(*system_, std::move(path)));
  }
  std::uint64_t ask(std::uint64_t number) {
    SampleBatch request;
    request.key = {Purpose::train, 0, number};
    const auto asked = asker_.request(server_, std::move(request));
    system_.run();
    return asked;
  }
  /// A sampler or server answers its oldest request.
  void answer(ScriptedActor& from) {
    const auto asked = from.take<SampleBatch>();
    from.answer(asked, batch_of(asked->key.number));
    system_.run();
  }
  void fail(ScriptedActor& from, const Error& why) {
    from.fail(from.take<SampleBatch>(), why);
    system_.run();
  }
  void end(ScriptedActor& actor) {
    actor.end();
    system_.run();
  }
  ScriptedActor& sampler(std::size_t i) { return paths_.back().samplers[i]; }
  void expect_batch(std::uint64_t asked, std::uint64_t number) const {
    ASSERT_OK_AND_ASSIGN(const auto ready, asker_.answer_to<ReadyBatch>(asked));
    EXPECT_EQ(ready->trace.rows, number);
    EXPECT_EQ(asker_.answers(asked), 1U);
  }

  testing::ScriptedSystem system_;
  ScriptedActor asker_{system_, "asker"};
  std::deque<Path> paths_;
  caf::actor server_;
};

TEST_F(BatchServerTest, BatchesGoToTheSamplersInTurn) {
  start();
  std::size_t turn = 0;
  for (const std::uint64_t number : {4U, 6U, 8U}) {  // as one of two ranks has them
    const auto asked = ask(number);
    answer(sampler(turn));
    expect_batch(asked, number);
    turn = 1 - turn;
  }
}

TEST_F(BatchServerTest, WhatTheDataPathRefusesIsAnswered) {
  start();

  const auto refused = ask(1);
  fail(sampler(0), Error(Errc::data_corruption, "page 3 is torn"));
  const auto next = ask(1);
  answer(sampler(1));

  EXPECT_ERROR(asker_.answer_to<ReadyBatch>(refused), Errc::data_corruption, "page 3 is torn");
  expect_batch(next, 1);
  EXPECT_EQ(paths_.size(), 1U);
}

TEST_F(BatchServerTest, WhatWasAskedOfALostSamplerIsAskedAgainAndAnsweredOnce) {
  start();
  std::vector<std::uint64_t> asked;
  for (std::uint64_t number = 0; number < 6; ++number) {
    asked.push_back(ask(number));
  }
  const auto late = sampler(1).take<SampleBatch>();

  end(sampler(0));
  ASSERT_EQ(paths_.size(), 2U);
  paths_[0].samplers[1].answer(late, batch_of(late->key.number));
  system_.run();
  EXPECT_FALSE(asker_.is_answered(asked[1])) << "the answer of the old path is dropped";
  for (int i = 0; i < 3; ++i) {
    answer(sampler(0));
    answer(sampler(1));
  }

  for (std::uint64_t number = 0; number < 6; ++number) {
    expect_batch(asked[number], number);
  }
  EXPECT_EQ(sampler(0).waiting() + sampler(1).waiting(), 0U);
}

TEST_F(BatchServerTest, ALostCollectorStartsAllAnew) {
  start();
  const auto asked = ask(7);

  end(paths_[0].collector);
  answer(sampler(0));

  expect_batch(asked, 7);
  EXPECT_TRUE(paths_[0].samplers[0].has_ended());
  EXPECT_TRUE(paths_[0].samplers[1].has_ended());
}

TEST_F(BatchServerTest, ABatchThatLostItsCollectorWaitsForTheNextPath) {
  start();
  const auto asked = ask(7);

  fail(sampler(0), Error(Errc::peer_lost, "the collector ended"));
  EXPECT_FALSE(asker_.is_answered(asked));
  end(paths_[0].collector);
  answer(sampler(0));

  expect_batch(asked, 7);
}

TEST_F(BatchServerTest, ADifferentBatchThanTheOneRequestedIsRefused) {
  start();
  const auto asked = ask(1);

  sampler(0).answer(sampler(0).take<SampleBatch>(), batch_of(2));
  system_.run();

  EXPECT_ERROR(asker_.answer_to<ReadyBatch>(asked), Errc::data_corruption,
               "expected training batch 1 of epoch 1");
}

TEST_F(BatchServerTest, LossesInARowEndItWithTheCauseAndLeaveNothingOpen) {
  start();
  const auto asked = ask(1);

  for (std::uint32_t i = 0; i <= BatchClient::max_restarts; ++i) {
    EXPECT_FALSE(asker_.is_answered(asked));
    end(sampler(0));
  }

  EXPECT_ERROR(asker_.answer_to<ReadyBatch>(asked), Errc::peer_lost, "ended 6 times in a row");
  const auto end = system_.end_of(server_);
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->code(), Errc::peer_lost);
}

TEST_F(BatchServerTest, LossesWithBatchesInBetweenDoNotAddUp) {
  start();
  for (std::size_t i = 0; i < 8; ++i) {
    end(sampler(0));
    const auto asked = ask(1);
    answer(sampler(i % 2));
    expect_batch(asked, 1);
  }
}

TEST_F(BatchServerTest, TakesItsFillAndThenRefuses) {
  start();
  for (std::uint64_t number = 0; number < 2048; ++number) {
    ask(number);
  }

  const auto refused = ask(1);
  answer(sampler(0));
  const auto taken = ask(1);

  EXPECT_ERROR(asker_.answer_to<ReadyBatch>(refused), Errc::overloaded,
               "2048 batches are under way");
  EXPECT_FALSE(asker_.is_answered(taken));
  EXPECT_EQ(sampler(0).waiting() + sampler(1).waiting(), 2048U);
}

// ---- the way there ----

/// Two scripted batch servers of one rank that can be replaced.
class BatchesFromServers : public BatchServerTest {
 protected:
  BatchesFromServers() {
    options_.what = "batches of rank 0 from server 1";
    options_.who = "batch servers";
    options_.request_deadline.reset();
    options_.recovery_deadline = 300ms;
    options_.first_pause = 5ms;
  }
  void start_client(std::size_t servers = 2) {
    for (std::size_t i = 0; i < servers; ++i) {
      known_.push_back(add_server().handle());
      options_.actors.emplace_back([this, i] { return known_[i]; });
    }
    serve([this] { return DataPath{.servers = {std::make_shared<const Replicas>(options_)}}; });
  }
  ScriptedActor& add_server() {
    return servers_.emplace_back(system_, fmt::format("batch server {}", servers_.size()));
  }
  /// A server is lost, and known to be.
  void lose(std::size_t i) {
    known_[i] = {};
    end(servers_[i]);
  }

  std::deque<ScriptedActor> servers_;
  std::vector<caf::actor> known_;
  Replicas options_;
};

TEST_F(BatchesFromServers, TheFirstServerAnswersAndTheNextInItsPlace) {
  start_client();
  const auto first = ask(3);
  answer(servers_[0]);
  expect_batch(first, 3);

  lose(0);
  const auto second = ask(3);
  answer(servers_[1]);

  expect_batch(second, 3);
}

TEST_F(BatchesFromServers, ABatchMayTakeLongerThanAnyRequest) {
  start_client();
  const auto asked = ask(3);

  system_.run_for(1h);
  EXPECT_FALSE(asker_.is_answered(asked));
  answer(servers_[0]);

  expect_batch(asked, 3);
  EXPECT_EQ(servers_[1].waiting(), 0U);
}

TEST_F(BatchesFromServers, TheRecoveryDeadlineBeginsWithTheLossNotWithTheRequest) {
  start_client(1);
  const auto asked = ask(3);

  system_.run_for(400ms);  // longer than the recovery deadline
  lose(0);
  system_.run_for(50ms);
  EXPECT_FALSE(asker_.is_answered(asked));
  known_[0] = add_server().handle();
  system_.run_for(50ms);
  answer(servers_[1]);

  expect_batch(asked, 3);
}

TEST_F(BatchesFromServers, WithoutAnyServerItIsGivenUpWithTheirName) {
  start_client();
  lose(0);
  lose(1);

  const auto asked = ask(3);
  system_.run_for(299ms);
  EXPECT_FALSE(asker_.is_answered(asked));
  system_.run_for(1s);

  EXPECT_ERROR(asker_.answer_to<ReadyBatch>(asked), Errc::deadline_exceeded,
               "batches of rank 0 from server 1: none of 2 batch servers answered within 300 ms");
}

TEST_F(BatchesFromServers, WhatNoServerCanMendIsAnsweredAtOnce) {
  start_client();
  const auto asked = ask(3);

  fail(servers_[0], Error(Errc::data_corruption, "page 3 is torn"));

  EXPECT_ERROR(asker_.answer_to<ReadyBatch>(asked), Errc::data_corruption, "page 3 is torn");
  EXPECT_EQ(servers_[1].waiting(), 0U);
}

}  // namespace
}  // namespace troupe
