// The member and the agent: what the registrar tells them reaches their process once.
#include "actors/member.hpp"

#include "actors/agent.hpp"
#include "actors/error.hpp"
#include "actors/message.hpp"
#include "runtime/wire/messages.hpp"
#include "tests/support/expect.hpp"

#include <caf/all.hpp>

#include <fmt/format.h>
#include <mutex>
#include <thread>

namespace troupe {
namespace {

using namespace std::chrono_literals;
using Lines = std::vector<std::string>;

class ProcessActor : public ::testing::Test {
 protected:
  ProcessActor() : system_(config_) {}
  ~ProcessActor() override {
    caf::anon_send_exit(actor_, caf::exit_reason::kill);
    system_.await_all_actors_done();  // it uses what is here
  }

  void note(const std::string& line) {
    const std::lock_guard guard(mutex_);
    lines_.push_back(line);
  }
  Lines lines() {
    const std::lock_guard guard(mutex_);
    return lines_;
  }
  template <class Reply, class Request>
  Result<Reply> ask(Request request) {
    caf::scoped_actor self(system_);
    Result<Reply> result = Error(Errc::internal, "no answer");
    self->request(actor_, 10s, Ref<Request>(std::move(request)))
        .receive([&](const Ref<Reply>& reply) { result = *reply; },
                 [&](const caf::error& error) { result = from_caf(error); });
    return result;
  }
  /// Slow, so that an answer that does not wait for it is there before.
  void decide(const net::EndProcess& end) {
    std::this_thread::sleep_for(50ms);
    note("decided: " + end.why);
  }
  /// The end begins after the answer: asks until it has.
  template <class Probe>
  void expect_end(const std::string& why, Probe probe) {
    EXPECT_EQ(std::ranges::count(lines(), "decided: " + why), 1) << "before the answer";
    for (int i = 0; i < 1000; ++i) {
      if (std::ranges::count(lines(), "end") > 0) {
        return;
      }
      probe();
    }
    FAIL() << "the end does not begin";
  }

  caf::actor_system_config config_;
  caf::actor_system system_;
  std::mutex mutex_;
  Lines lines_;
  caf::actor actor_;
};

class MemberTest : public ProcessActor {
 protected:
  MemberTest() {
    actor_ = spawn_member(
        system_,
        {.meet = [this](const auto& members) { note(fmt::format("meet {}", members.number)); },
         .stop_ranks = [this] { note("stop ranks"); },
         .totals =
             [this] {
               note("totals");
               return net::LinkTotals{.requests = 3, .bytes = 70};
             },
         .decide_end = [this](const auto& end) { decide(end); },
         .begin_end = [this] { note("end"); }});
  }
  void tell(std::uint64_t number) { EXPECT_OK(ask<net::Done>(net::Members{number, 0, {}})); }
};

TEST_F(MemberTest, ATableOlderThanTheLastIsAnsweredAndIgnored) {
  for (const std::uint64_t number : {1U, 3U, 2U, 3U, 4U, 1U}) {
    tell(number);
  }
  EXPECT_EQ(lines(), (Lines{"meet 1", "meet 3", "meet 3", "meet 4"}));
}

TEST_F(MemberTest, TheEndIsAnsweredWithTheTotals) {
  ASSERT_OK_AND_ASSIGN(const auto totals, ask<net::LinkTotals>(net::EndProcess{Errc::ok, "over"}));

  EXPECT_EQ(totals.requests, 3U);
  EXPECT_EQ(totals.bytes, 70U);
  expect_end("over", [this] { tell(0); });
}

TEST_F(MemberTest, RanksAreToldToStopWhereThereAreSome) {
  EXPECT_OK(ask<net::Done>(net::StopRanks{}));
  EXPECT_EQ(lines(), (Lines{"stop ranks"}));

  caf::anon_send_exit(actor_, caf::exit_reason::kill);
  actor_ = spawn_member(
      system_, {.meet = {}, .stop_ranks = {}, .totals = {}, .decide_end = {}, .begin_end = {}});
  EXPECT_OK(ask<net::Done>(net::StopRanks{}));
}

class AgentTest : public ProcessActor {
 protected:
  AgentTest() {
    actor_ = spawn_agent(
        system_,
        {.spawn = [this](const net::SpawnProcess& request) -> Status {
           note(fmt::format("spawn {}.{} {}", raw(request.life.process), request.life.incarnation,
                            request.name));
           return cannot_ ? Status(Error(Errc::failed_precondition, "cannot start troupe: gone"))
                          : ok_status();
         },
         .kill =
             [this](const net::ProcessLife& life) {
               note(fmt::format("kill {}.{}", raw(life.process), life.incarnation));
             },
         .decide_end = [this](const auto& end) { decide(end); },
         .begin_end = [this] { note("end"); }});
  }
  Result<net::Done> spawn(std::uint32_t incarnation) {
    return ask<net::Done>(net::SpawnProcess{{ProcessId{3}, incarnation}, "host 0"});
  }
  std::atomic<bool> cannot_{false};
};

TEST_F(AgentTest, StartsAndEndsProcesses) {
  EXPECT_OK(spawn(1));
  EXPECT_OK(ask<net::Done>(net::KillProcess{{ProcessId{3}, 1}}));
  EXPECT_OK(spawn(2));

  EXPECT_EQ(lines(), (Lines{"spawn 3.1 host 0", "kill 3.1", "spawn 3.2 host 0"}));
}

TEST_F(AgentTest, ALinkThatAsksAgainStartsNoSecondProcess) {
  EXPECT_OK(spawn(1));
  EXPECT_OK(spawn(2));
  EXPECT_OK(spawn(1));
  EXPECT_OK(spawn(2));

  EXPECT_EQ(lines(), (Lines{"spawn 3.1 host 0", "spawn 3.2 host 0"}));
}

TEST_F(AgentTest, WhatCannotBeStartedIsAnsweredWithTheReason) {
  cannot_ = true;
  EXPECT_ERROR(spawn(1), Errc::failed_precondition, "cannot start troupe: gone");
  cannot_ = false;
  EXPECT_OK(spawn(2));
}

TEST_F(AgentTest, TheEndIsAnsweredAndThenDone) {
  EXPECT_OK(ask<net::LinkTotals>(net::EndProcess{Errc::cancelled, "interrupted"}));
  expect_end("interrupted", [this] {
    EXPECT_OK(ask<net::Done>(net::KillProcess{{ProcessId{9}, 1}}));
  });
}

}  // namespace
}  // namespace troupe
