// The batch server before samplers that fail, and the way of a rank to batch servers elsewhere.
#include "actors/batch_server.hpp"

#include "actors/error.hpp"
#include "actors/local_messages.hpp"
#include "actors/message.hpp"
#include "tests/support/expect.hpp"

#include <caf/all.hpp>

#include <atomic>
#include <fmt/format.h>
#include <mutex>

namespace troupe {
namespace {

using namespace std::chrono_literals;

enum class Does { answer, mistake, die, hold, fail, peer_lost };

/// What the samplers of all paths have in common.
struct Stage {
  std::atomic<Does> does{Does::answer};
  std::atomic<int> asked{0};
  std::atomic<int> paths{0};
};

struct HeldState {
  std::vector<std::pair<std::uint64_t, caf::response_promise>> held;
};

Ref<ReadyBatch> batch_of(std::uint64_t number, std::uint64_t from) {
  auto sampled = std::make_shared<SampledBatch>();
  sampled->key = {Purpose::train, 0, number};
  ReadyBatch ready;
  ready.batch.sampled = std::move(sampled);
  ready.trace.rows = number;
  ready.trace.rows_remote = from;
  return Ref<ReadyBatch>(std::move(ready));
}

/// "release" answers what it holds.
caf::behavior fake_sampler(caf::stateful_actor<HeldState>* self, std::uint64_t number,
                           Stage* stage) {
  return {
      [=](const Ref<SampleBatch>& request) {
        auto promise = self->make_response_promise();
        ++stage->asked;
        switch (stage->does) {
          case Does::answer:
            promise.deliver(batch_of(request->key.number, number));
            break;
          case Does::mistake:
            promise.deliver(batch_of(request->key.number + 1, number));
            break;
          case Does::die:
            self->quit(caf::exit_reason::kill);
            break;
          case Does::fail:
            promise.deliver(to_caf(Error(Errc::data_corruption, "page 3 is torn")));
            break;
          case Does::peer_lost:
            promise.deliver(to_caf(Error(Errc::peer_lost, "the collector ended")));
            break;
          case Does::hold:
            break;
        }
        self->state.held.emplace_back(request->key.number, promise);
      },
      [=](caf::ok_atom) {
        for (auto& [of, promise] : std::exchange(self->state.held, {})) {
          promise.deliver(batch_of(of, number));
        }
      },
  };
}

caf::behavior fake_collector(caf::event_based_actor* /*self*/) {
  return {[](int) {}};
}

class BatchServerTest : public ::testing::Test {
 protected:
  BatchServerTest() : system_(config_) { start(); }
  ~BatchServerTest() override { end(); }
  void end() {
    caf::anon_send_exit(server_, caf::exit_reason::kill);
    system_.await_all_actors_done();  // they use what is here
  }

  void start() {
    server_ = spawn_batch_server(system_, [this] {
      const std::lock_guard guard(mutex_);
      ++stage_.paths;
      path_.samplers = {system_.spawn(fake_sampler, 10ULL, &stage_),
                        system_.spawn(fake_sampler, 11ULL, &stage_)};
      path_.collector = system_.spawn(fake_collector);
      return path_;
    });
    while (stage_.paths == 0) {
      std::this_thread::sleep_for(1ms);
    }
  }
  DataPath path() {
    const std::lock_guard guard(mutex_);
    return path_;
  }
  static Ref<SampleBatch> batch(std::uint64_t number) {
    SampleBatch request;
    request.key = {Purpose::train, 0, number};
    return Ref<SampleBatch>(std::move(request));
  }
  static Result<BatchTrace> answer_of(caf::scoped_actor& self, const caf::actor& to,
                                      std::uint64_t number) {
    Result<BatchTrace> result = Error(Errc::internal, "no answer");
    self->request(to, 10s, batch(number))
        .receive([&](const Ref<ReadyBatch>& ready) { result = ready->trace; },
                 [&](const caf::error& error) { result = from_caf(error); });
    return result;
  }
  Result<BatchTrace> ask(std::uint64_t number) {
    caf::scoped_actor self(system_);
    return answer_of(self, server_, number);
  }
  bool wait_asked(int times) {
    for (int i = 0; i < 10'000 && stage_.asked < times; ++i) {
      std::this_thread::sleep_for(1ms);
    }
    return stage_.asked >= times;
  }

  caf::actor_system_config config_;
  caf::actor_system system_;
  Stage stage_;
  std::mutex mutex_;
  DataPath path_;
  caf::actor server_;
};

TEST_F(BatchServerTest, BatchesGoToTheSamplersInTurn) {
  std::uint64_t sampler = 10;
  for (const std::uint64_t number : {4U, 6U, 8U}) {  // as one of two ranks has them
    ASSERT_OK_AND_ASSIGN(const auto trace, ask(number));
    EXPECT_EQ(trace.rows, number);
    EXPECT_EQ(trace.rows_remote, sampler);
    sampler = 21 - sampler;
  }
}

TEST_F(BatchServerTest, WhatTheDataPathRefusesIsAnswered) {
  stage_.does = Does::fail;
  EXPECT_ERROR(ask(1), Errc::data_corruption, "page 3 is torn");
  stage_.does = Does::answer;
  EXPECT_OK(ask(1));
  EXPECT_EQ(stage_.paths, 1);
}

TEST_F(BatchServerTest, WhatWasAskedOfALostSamplerIsAskedAgainAndAnsweredOnce) {
  stage_.does = Does::hold;
  caf::scoped_actor self(system_);
  std::vector<std::uint64_t> numbers;
  for (std::uint64_t number = 0; number < 6; ++number) {
    self->send(server_, batch(number));  // answers come as messages
  }
  ASSERT_TRUE(wait_asked(6));
  stage_.does = Does::answer;

  caf::anon_send_exit(path().samplers[0], caf::exit_reason::kill);

  for (int i = 0; i < 6; ++i) {
    self->receive([&](const Ref<ReadyBatch>& ready) { numbers.push_back(ready->trace.rows); },
                  caf::after(10s) >> [] { FAIL() << "no answer"; });
  }
  std::ranges::sort(numbers);
  EXPECT_EQ(numbers, (std::vector<std::uint64_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(stage_.asked, 12);
  EXPECT_EQ(stage_.paths, 2);
  self->receive([](const Ref<ReadyBatch>&) { FAIL() << "answered twice"; },
                caf::after(20ms) >> [] {});
}

TEST_F(BatchServerTest, ALostCollectorStartsAllAnew) {
  stage_.does = Does::hold;
  caf::scoped_actor self(system_);
  self->send(server_, batch(7));
  ASSERT_TRUE(wait_asked(1));
  stage_.does = Does::answer;
  const auto old = path();

  caf::anon_send_exit(old.collector, caf::exit_reason::kill);

  self->receive([&](const Ref<ReadyBatch>& ready) { EXPECT_EQ(ready->trace.rows, 7U); },
                caf::after(10s) >> [] { FAIL() << "no answer"; });
  self->monitor(old.samplers[0]);
  self->receive([](const caf::down_msg&) {}, caf::after(10s) >> [] { FAIL() << "it lives on"; });
}

TEST_F(BatchServerTest, ABatchThatLostItsCollectorWaitsForTheNextPath) {
  stage_.does = Does::peer_lost;
  caf::scoped_actor self(system_);
  self->send(server_, batch(7));
  ASSERT_TRUE(wait_asked(1));
  self->receive([](const Ref<ReadyBatch>&) { FAIL(); }, [](const caf::error&) { FAIL(); },
                caf::after(20ms) >> [] {});
  stage_.does = Does::answer;

  caf::anon_send_exit(path().collector, caf::exit_reason::kill);

  self->receive([&](const Ref<ReadyBatch>& ready) { EXPECT_EQ(ready->trace.rows, 7U); },
                caf::after(10s) >> [] { FAIL() << "no answer"; });
}

TEST_F(BatchServerTest, ADifferentBatchThanTheOneRequestedIsRefused) {
  stage_.does = Does::mistake;
  EXPECT_ERROR(ask(1), Errc::data_corruption, "expected training batch 1 of epoch 1");
}

TEST_F(BatchServerTest, LossesInARowEndItWithTheCauseAndLeaveNothingOpen) {
  stage_.does = Does::die;
  caf::scoped_actor self(system_);
  self->monitor(server_);

  EXPECT_ERROR(answer_of(self, server_, 1), Errc::peer_lost, "ended 6 times in a row");

  self->receive(
      [](const caf::down_msg& down) { EXPECT_EQ(from_caf(down.reason).code(), Errc::peer_lost); },
      caf::after(10s) >> [] { FAIL() << "it lives on"; });
}

TEST_F(BatchServerTest, LossesWithBatchesInBetweenDoNotAddUp) {
  for (int i = 0; i < 8; ++i) {
    const int paths = stage_.paths;
    caf::anon_send_exit(path().samplers[0], caf::exit_reason::kill);
    while (stage_.paths == paths) {
      std::this_thread::sleep_for(1ms);
    }
    ASSERT_OK(ask(1));
  }
}

TEST_F(BatchServerTest, TakesItsFillAndThenRefuses) {
  stage_.does = Does::hold;
  for (std::uint64_t number = 0; number < 2048; ++number) {
    caf::anon_send(server_, batch(number));
  }
  ASSERT_TRUE(wait_asked(2048));

  EXPECT_ERROR(ask(1), Errc::overloaded, "2048 batches are under way");

  for (const auto& sampler : path().samplers) {
    caf::anon_send(sampler, caf::ok_atom::value);
  }
  stage_.does = Does::answer;
  Result<BatchTrace> later = Error(Errc::overloaded, "");
  for (int i = 0; i < 1000 && !later; ++i) {
    later = ask(1);
  }
  EXPECT_OK(later);
}

// ---- the way there ----

/// Batch servers of one rank that can be replaced.
class BatchesFromServers : public BatchServerTest {
 protected:
  BatchesFromServers() {
    options_.what = "batches of rank 0 from server 1";
    options_.who = "batch servers";
    options_.request_deadline.reset();
    options_.recovery_deadline = 300ms;
    options_.first_pause = 5ms;
    for (std::uint64_t i = 0; i < 2; ++i) {
      set(i, true);
      options_.actors.push_back([this, i] {
        const std::lock_guard guard(servers_mutex_);
        return servers_[i];
      });
    }
  }
  ~BatchesFromServers() override {
    for (const auto& actor : started_) {
      caf::anon_send_exit(actor, caf::exit_reason::kill);
    }
    end();
  }
  void set(std::size_t i, bool there) {
    const std::lock_guard guard(servers_mutex_);
    servers_[i] = there ? system_.spawn(fake_sampler, 100 + i, &stage_) : caf::actor();
    if (there) {
      started_.push_back(servers_[i]);
    }
  }
  void kill(std::size_t i, bool gone) {
    const auto old = servers_[i];
    if (gone) {
      set(i, false);
    }
    caf::anon_send_exit(old, caf::exit_reason::kill);
  }
  Result<BatchTrace> ask_servers(std::uint64_t number) {
    if (!asker_) {
      asker_ = started_.emplace_back(spawn_batch_server(system_, [options = options_] {
        return DataPath{.servers = {std::make_shared<const Replicas>(options)}};
      }));
    }
    caf::scoped_actor self(system_);
    return answer_of(self, asker_, number);
  }

  std::mutex servers_mutex_;
  std::array<caf::actor, 2> servers_;
  std::vector<caf::actor> started_;
  Replicas options_;
  caf::actor asker_;
};

TEST_F(BatchesFromServers, TheFirstServerAnswersAndTheNextInItsPlace) {
  ASSERT_OK_AND_ASSIGN(const auto first, ask_servers(3));
  EXPECT_EQ(first.rows_remote, 100U);

  kill(0, true);

  ASSERT_OK_AND_ASSIGN(const auto second, ask_servers(3));
  EXPECT_EQ(second.rows_remote, 101U);
}

TEST_F(BatchesFromServers, ABatchMayTakeLongerThanAnyRequest) {
  stage_.does = Does::hold;
  std::thread later([this] {
    wait_asked(1);
    std::this_thread::sleep_for(200ms);
    caf::anon_send(servers_[0], caf::ok_atom::value);
  });

  const auto trace = ask_servers(3);
  later.join();

  ASSERT_OK(trace);
  EXPECT_EQ(trace->rows_remote, 100U);
  EXPECT_EQ(stage_.asked, 1);
}

TEST_F(BatchesFromServers, TheRecoveryDeadlineBeginsWithTheLossNotWithTheRequest) {
  options_.actors.resize(1);
  stage_.does = Does::hold;
  std::thread later([this] {
    wait_asked(1);
    std::this_thread::sleep_for(400ms);  // longer than the recovery deadline
    kill(0, true);
    std::this_thread::sleep_for(50ms);
    stage_.does = Does::answer;
    set(0, true);
  });

  const auto trace = ask_servers(3);
  later.join();

  EXPECT_OK(trace);
}

TEST_F(BatchesFromServers, WithoutAnyServerItIsGivenUpWithTheirName) {
  kill(0, true);
  kill(1, true);

  EXPECT_ERROR(ask_servers(3), Errc::deadline_exceeded,
               "batches of rank 0 from server 1: none of 2 batch servers answered within 300 ms");
}

TEST_F(BatchesFromServers, WhatNoServerCanMendIsAnsweredAtOnce) {
  stage_.does = Does::fail;
  EXPECT_ERROR(ask_servers(3), Errc::data_corruption, "page 3 is torn");
  EXPECT_EQ(stage_.asked, 1);
}

}  // namespace
}  // namespace troupe
