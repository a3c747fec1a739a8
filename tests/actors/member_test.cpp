// The member: what the registrar tells it reaches its process once, and the end is decided before
// the answer.
#include "actors/member.hpp"

#include "runtime/wire/messages.hpp"
#include "tests/actors/scripted_system.hpp"
#include "tests/support/expect.hpp"

#include <fmt/format.h>

namespace troupe {
namespace {

using testing::MessageTrace;

/// A member whose process is lines of the trace.
class MemberTest : public ::testing::Test {
 protected:
  MemberTest() {
    member_ = system_.add(
        "member",
        spawn_member(*system_,
                     {.meet = [this](const auto& all) { say(fmt::format("meet {}", all.number)); },
                      .stop_ranks = [this] { say("stop ranks"); },
                      .totals =
                          [this] {
                            say("totals");
                            return net::LinkTotals{.requests = 3, .bytes = 70};
                          },
                      .decide_end = [this](const auto& end) { say("decide: " + end.why); },
                      .begin_end = [this] { say("begin the end"); }}));
  }
  void say(std::string line) { system_.say(std::move(line)); }

  testing::ScriptedSystem system_;
  testing::ScriptedActor registrar_{system_, "registrar"};
  caf::actor member_;
};

TEST_F(MemberTest, ATableOlderThanTheLastIsAnsweredAndIgnored) {
  std::vector<std::uint64_t> requests;
  for (const std::uint64_t number : {1U, 3U, 2U, 3U, 4U, 1U}) {
    requests.push_back(registrar_.request(member_, net::Members{number, 0, {}}));
  }
  system_.run();

  auto trace = system_.take_trace();
  std::erase_if(trace, [](const auto& line) { return !line.starts_with("meet"); });
  EXPECT_EQ(trace, (MessageTrace{"meet 1", "meet 3", "meet 3", "meet 4"}));
  for (const auto request : requests) {
    EXPECT_OK(registrar_.answer_to<net::Done>(request));
  }
}

TEST_F(MemberTest, TheEndIsDecidedBeforeTheAnswerAndBeginsAfterIt) {
  const auto asked = registrar_.request(member_, net::EndProcess{Errc::ok, "over"});
  system_.run();

  EXPECT_EQ(system_.take_trace(), (MessageTrace{"registrar -> member: EndProcess",  //
                                                "decide: over",                     //
                                                "totals",                           //
                                                "member -> registrar: LinkTotals",  //
                                                "begin the end"}));
  ASSERT_OK_AND_ASSIGN(const auto totals, registrar_.answer_to<net::LinkTotals>(asked));
  EXPECT_EQ(totals->requests, 3U);
  EXPECT_EQ(totals->bytes, 70U);
}

TEST_F(MemberTest, RanksAreToldToStop) {
  registrar_.request(member_, net::StopRanks{});
  system_.run();

  EXPECT_EQ(system_.take_trace(), (MessageTrace{"registrar -> member: StopRanks",  //
                                                "stop ranks",                      //
                                                "member -> registrar: Done"}));
}

TEST_F(MemberTest, WithoutRanksTheirStopIsAnswered) {
  const auto without = system_.add(
      "member without ranks",
      spawn_member(
          *system_,
          {.meet = {}, .stop_ranks = {}, .totals = {}, .decide_end = {}, .begin_end = {}}));

  const auto asked = registrar_.request(without, net::StopRanks{});
  system_.run();

  EXPECT_OK(registrar_.answer_to<net::Done>(asked));
}

}  // namespace
}  // namespace troupe
