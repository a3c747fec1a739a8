// The agent: it starts and ends processes once, and decides why it ends before it answers.
#include "actors/agent.hpp"

#include "runtime/wire/messages.hpp"
#include "tests/actors/scripted_system.hpp"
#include "tests/support/expect.hpp"

#include <fmt/format.h>

namespace troupe {
namespace {

using testing::MessageTrace;

std::string text_of(const net::ProcessInstance& instance) {
  return fmt::format("{}.{}", raw(instance.process), instance.incarnation);
}

/// An agent whose processes are lines of the trace.
class AgentTest : public ::testing::Test {
 protected:
  AgentTest() {
    agent_ = system_.add(
        "agent",
        spawn_agent(
            *system_,
            {.spawn = [this](const net::SpawnProcess& request) -> Status {
               system_.say("start " + text_of(request.instance) + " " + request.name);
               return cannot_start_
                          ? Status(Error(Errc::failed_precondition, "cannot start troupe: gone"))
                          : ok_status();
             },
             .kill = [this](const auto& instance) { system_.say("kill " + text_of(instance)); },
             .decide_end = [this](const auto& end) { system_.say("decide: " + end.why); },
             .begin_end = [this] { system_.say("begin the end"); }}));
  }
  std::uint64_t ask_to_start(std::uint32_t incarnation) {
    return registrar_.request(agent_, net::SpawnProcess{{ProcessId{3}, incarnation}, "host 0"});
  }
  std::uint64_t ask_to_kill(std::uint32_t incarnation) {
    return registrar_.request(agent_, net::KillProcess{{ProcessId{3}, incarnation}});
  }

  testing::ScriptedSystem system_;
  testing::ScriptedActor registrar_{system_, "registrar"};
  caf::actor agent_;
  bool cannot_start_ = false;
};

TEST_F(AgentTest, StartsAndKillsInTheOrderOfTheRequests) {
  ask_to_start(1);
  ask_to_kill(1);
  ask_to_start(2);
  system_.run();

  EXPECT_EQ(system_.take_trace(), (MessageTrace{"registrar -> agent: SpawnProcess",  //
                                                "start 3.1 host 0",                  //
                                                "agent -> registrar: Done",          //
                                                "registrar -> agent: KillProcess",   //
                                                "kill 3.1",                          //
                                                "agent -> registrar: Done",          //
                                                "registrar -> agent: SpawnProcess",  //
                                                "start 3.2 host 0",                  //
                                                "agent -> registrar: Done"}));
}

TEST_F(AgentTest, AnIncarnationRequestedTwiceIsStartedOnceAndAnsweredTwice) {
  const auto first = ask_to_start(1);
  const auto second = ask_to_start(1);
  system_.run();

  EXPECT_OK(registrar_.answer_to<net::Done>(first));
  EXPECT_OK(registrar_.answer_to<net::Done>(second));
  EXPECT_EQ(std::ranges::count(system_.take_trace(), "start 3.1 host 0"), 1);
}

TEST_F(AgentTest, ALinkThatRepeatsEarlierRequestsStartsNothing) {
  for (const std::uint32_t incarnation : {1U, 2U, 1U, 2U}) {
    ask_to_start(incarnation);
  }
  system_.run();

  const auto trace = system_.take_trace();
  EXPECT_EQ(std::ranges::count(trace, "start 3.1 host 0"), 1);
  EXPECT_EQ(std::ranges::count(trace, "start 3.2 host 0"), 1);
  EXPECT_EQ(std::ranges::count(trace, "agent -> registrar: Done"), 4);
}

TEST_F(AgentTest, AKilledIncarnationIsNotStartedByARepeatedRequest) {
  ask_to_start(1);
  ask_to_kill(1);
  ask_to_start(1);
  system_.run();

  const auto trace = system_.take_trace();
  EXPECT_EQ(std::ranges::count(trace, "start 3.1 host 0"), 1);
  EXPECT_EQ(trace.back(), "agent -> registrar: Done");
}

TEST_F(AgentTest, AProcessThatCannotBeStartedIsAnsweredWithTheReason) {
  cannot_start_ = true;
  const auto failed = ask_to_start(1);
  system_.run();
  cannot_start_ = false;
  const auto next = ask_to_start(2);
  system_.run();

  EXPECT_ERROR(registrar_.answer_to<net::Done>(failed), Errc::failed_precondition,
               "cannot start troupe: gone");
  EXPECT_OK(registrar_.answer_to<net::Done>(next));
}

TEST_F(AgentTest, TheEndIsDecidedBeforeTheAnswerAndBeginsAfterIt) {
  registrar_.request(agent_, net::EndProcess{Errc::cancelled, "interrupted"});
  system_.run();

  EXPECT_EQ(system_.take_trace(), (MessageTrace{"registrar -> agent: EndProcess",  //
                                                "decide: interrupted",             //
                                                "agent -> registrar: LinkTotals",  //
                                                "begin the end"}));
}

TEST_F(AgentTest, RequestsBehindTheEndAreStillAnswered) {
  registrar_.request(agent_, net::EndProcess{Errc::ok, "over"});
  const auto kill = ask_to_kill(1);
  system_.run();

  EXPECT_OK(registrar_.answer_to<net::Done>(kill));
}

}  // namespace
}  // namespace troupe
