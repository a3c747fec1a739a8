#include "runtime/run/roster.hpp"

#include "tests/runtime/run/roster_support.hpp"

namespace troupe {
namespace {

using namespace std::chrono_literals;
using testing::agent;
using testing::member;
using Names = std::vector<std::string>;

// Two hosts with one process each: agents are 1 and 2, their processes 3 and 4.

class RosterTest : public ::testing::Test, public testing::Registry {};

bool any_starts_with(const Names& names, std::string_view begin) {
  return std::ranges::any_of(names, [&](const auto& name) { return name.starts_with(begin); });
}

TEST_F(RosterTest, BeginsWithTheAgentsAlone) {
  EXPECT_EQ(began_, (Names{"start agent 1.1 after 0", "start agent 2.1 after 0"}));
  EXPECT_EQ(roster_.missing(), (Names{"agent of host 0", "agent of host 1", "host 0", "host 1"}));
}

TEST_F(RosterTest, AnAgentThatJoinsHasTheProcessesOfItsHostStarted) {
  EXPECT_EQ(join(2, 1), (Names{"spawn 4.1 by 2 after 0", "changed"}));
  EXPECT_EQ(join(1, 1), (Names{"spawn 3.1 by 1 after 0", "changed"}));
  EXPECT_EQ(roster_.missing(), (Names{"host 0", "host 1"}));
  EXPECT_TRUE(roster_.settled(agent(1)));
}

TEST_F(RosterTest, CompletesOnceInWhateverOrderTheyCome) {
  for (const bool turned : {false, true}) {
    testing::Registry other;
    const std::uint32_t first = turned ? 2 : 1;
    const std::uint32_t second = 3 - first;
    other.join(first, 1);
    other.join(second, 1);
    other.join(second + 2, 1);
    other.join(first + 2, 1);
    EXPECT_EQ(other.ready(first + 2, 1), (Names{"tell members"}));
    EXPECT_EQ(other.acknowledged(first + 2), (Names{"changed"}));
    EXPECT_FALSE(other.roster_.is_complete());
    EXPECT_EQ(other.ready(second + 2, 1), (Names{"tell members"}));
    EXPECT_EQ(other.acknowledged(second + 2), (Names{}));
    EXPECT_EQ(other.acknowledged(first + 2), (Names{"changed", "complete"}));
    EXPECT_TRUE(other.roster_.missing().empty());
    EXPECT_EQ(other.acknowledged(first + 2), (Names{}));
  }
}

TEST_F(RosterTest, RepeatsChangeNothing) {
  join(1, 1);
  EXPECT_EQ(join(1, 1), (Names{}));
  join(3, 1);
  EXPECT_EQ(join(3, 1), (Names{}));
  ready(3, 1);
  EXPECT_EQ(ready(3, 1), (Names{}));
  EXPECT_EQ(join(3, 1), (Names{}));
  EXPECT_EQ(roster_.table(0).entries.size(), 1U);
}

TEST_F(RosterTest, IncarnationsThatAreOverOrToComeAreFenced) {
  bring_all();
  lost(3, 1);

  EXPECT_ERROR(roster_.admit(member(3, 1)), Errc::fenced,
               "host 0: its incarnation 1 is over, now 2");
  EXPECT_ERROR(roster_.join({member(3, 1), "a:1", "v"}), Errc::fenced, "another has taken");
  EXPECT_ERROR(roster_.admit(member(3, 3)), Errc::fenced, "incarnation 3");
  EXPECT_ERROR(roster_.admit(member(4, 0)), Errc::fenced, "incarnation 0");
  EXPECT_OK(roster_.admit(member(3, 2)));
  EXPECT_EQ(ready(3, 1), (Names{})) << "of an incarnation that is over";
  EXPECT_EQ(lost(3, 1), (Names{}));
}

TEST_F(RosterTest, AnIncarnationThatWasLostIsFencedBeforeTheNextOneIsStarted) {
  bring_all();
  lost(1, 1);  // host 0 has no agent: nothing is started there

  EXPECT_ERROR(roster_.admit(member(3, 1)), Errc::fenced, "host 0");
  EXPECT_ERROR(roster_.admit(member(3, 2)), Errc::fenced, "host 0");
}

TEST_F(RosterTest, ProcessesThatTheJobDoesNotHaveAreRefused) {
  EXPECT_ERROR(roster_.admit(member(5, 1)), Errc::invalid_argument, "processes 1..4");
  EXPECT_ERROR(roster_.admit(member(0, 1)), Errc::invalid_argument, "process 0");
  EXPECT_EQ(lost(9, 1), (Names{}));
}

TEST_F(RosterTest, AnotherVersionOfTheProgramDoesNotJoin) {
  join(1, 1);

  EXPECT_ERROR(roster_.join({member(3, 1), "a:1", "w"}), Errc::failed_precondition,
               "host 0: expected the program v, found w");
  EXPECT_OK(roster_.join({member(3, 1), "a:1", "v"}));
}

TEST_F(RosterTest, OneOfAnotherVersionEndsTheRunWithItsReason) {
  join(1, 1);
  EXPECT_ERROR(roster_.join({member(3, 1), "a:1", "w"}), Errc::failed_precondition, "found w");

  const auto names = lost(3, 1);

  EXPECT_TRUE(std::ranges::count(names,
                                 "give up: host 0: expected the program v, found w; try: the "
                                 "same program on all hosts"))
      << "it would be started again, and refused";
  EXPECT_FALSE(any_starts_with(names, "spawn"));
}

TEST_F(RosterTest, AVersionThatWasRefusedBeforeOneJoinedDoesNotEndTheRun) {
  join(1, 1);
  EXPECT_ERROR(roster_.join({member(3, 1), "a:1", "w"}), Errc::failed_precondition, "found w");
  join(3, 1);
  EXPECT_ERROR(roster_.join({member(3, 1), "a:1", "w"}), Errc::failed_precondition, "found w");

  const auto names = lost(3, 1);

  EXPECT_FALSE(any_starts_with(names, "give up"));
}

TEST_F(RosterTest, AVersionRefusedBeforeTheAgentWasLostDoesNotEndTheRun) {
  join(1, 1);
  EXPECT_ERROR(roster_.join({member(3, 1), "a:1", "w"}), Errc::failed_precondition, "found w");
  lost(1, 1);
  join(1, 2);

  const auto names = lost(3, 2);

  EXPECT_FALSE(names.empty());
  EXPECT_FALSE(any_starts_with(names, "give up"));
}

TEST_F(RosterTest, OneThatCannotHaveItsActorsEndsTheRunWithItsReason) {
  join(1, 1);
  join(3, 1);

  EXPECT_EQ(actions(roster_.ready({member(3, 1), Errc::data_corruption, "part 0 is torn"})),
            (Names{"give up: host 0: part 0 is torn"}));
  EXPECT_TRUE(roster_.table(0).entries.empty());
}

TEST_F(RosterTest, TheTableHoldsThoseThatAreReadyWithTheirAddresses) {
  join(1, 1);
  join(3, 1);
  EXPECT_TRUE(roster_.table(7).entries.empty());
  ready(3, 1);

  const auto table = roster_.table(7);

  ASSERT_EQ(table.entries.size(), 1U);
  EXPECT_EQ(table.entries[0].instance, member(3, 1));
  EXPECT_EQ(table.entries[0].address, "host:3001");
  EXPECT_EQ(table.generation, 7U);
}

TEST_F(RosterTest, ThoseThatJoinedOrAreReadyAreThereForTheEnd) {
  join(1, 1);
  join(2, 1);
  join(3, 1);

  EXPECT_EQ(roster_.present(), (std::vector{agent(1), agent(2), agent(3)}));
}

/// A server without parts, whose ranks are none: nobody starts it, and nobody waits for it.
TEST_F(RosterTest, AProcessThatHoldsNothingIsNotStarted) {
  Job job;
  job.cluster.launch = "local";
  job.cluster.placement = "server_client";
  job.cluster.hosts = 1;
  job.cluster.trainers_per_host = 1;
  job.cluster.servers = 2;
  job.partition.parts = 1;
  auto options = testing::roster_options();
  options.layout = make_layout(job);
  ASSERT_EQ(options.layout.name_of(ProcessId{5}), "server 1");
  testing::Registry registry(options);

  registry.join(1, 1);  // of the rank's host
  registry.join(2, 1);  // of server 0
  EXPECT_EQ(registry.join(3, 1), (Names{"changed"}));
  EXPECT_EQ(registry.roster_.missing(), (Names{"server 0", "rank 0"}));
  EXPECT_ERROR(registry.roster_.admit(member(5, 1)), Errc::invalid_argument, "process 5");
  for (const std::uint32_t id : {4U, 6U}) {
    registry.join(id, 1);
    registry.ready(id, 1);
  }
  registry.acknowledged(4);
  registry.acknowledged(6);
  EXPECT_TRUE(registry.roster_.is_complete());
  EXPECT_EQ(registry.lost(3, 1).front(), "agent of host 2 is lost: killed");
}

// ---- losses ----

TEST_F(RosterTest, AProcessLostWhileStartingIsStartedAgain) {
  join(1, 1);

  EXPECT_EQ(lost(3, 1, true), (Names{"host 0 is lost: killed", "drop 3.1", "tell members",
                                     "changed", "spawn 3.2 by 1 after 50"}));
  EXPECT_OK(roster_.join({member(3, 2), "host:3002", "v"}));
}

TEST_F(RosterTest, ASilentOneIsEndedFirst) {
  bring_all();

  const auto done = lost(4, 1, false);

  ASSERT_FALSE(done.empty());
  EXPECT_EQ(done.front(), "kill 4.1 by 2");
  EXPECT_EQ(done.back(), "spawn 4.2 by 2 after 50");
}

TEST_F(RosterTest, AReadyOneThatIsLostLeavesTheTableAndComesBack) {
  bring_all();
  const auto before = roster_.table(0).number;

  lost(3, 1);

  EXPECT_GT(roster_.table(0).number, before);
  EXPECT_EQ(roster_.table(0).entries.size(), 1U);
  EXPECT_FALSE(roster_.settled(agent(3)));
  EXPECT_TRUE(roster_.settled(agent(4)));
  EXPECT_EQ(roster_.missing(), (Names{"host 0"}));
  join(3, 2);
  ready(3, 2);
  EXPECT_EQ(acknowledged(3), (Names{}));
  EXPECT_FALSE(roster_.settled(agent(3))) << "the other does not know it yet";
  EXPECT_EQ(acknowledged(4), (Names{"changed"}));
  EXPECT_TRUE(roster_.settled(agent(3)));
}

TEST_F(RosterTest, WhoTookAnOlderTableDoesNotKnowTheNewest) {
  bring_all();
  lost(3, 1);
  const auto without = roster_.table(0).number;
  join(3, 2);
  ready(3, 2);
  acknowledged(3);

  EXPECT_EQ(actions(roster_.acknowledged(agent(4), without)), (Names{}));
  EXPECT_FALSE(roster_.settled(agent(3)));
}

TEST_F(RosterTest, WhatALostOneWasToldDoesNotCountForItsNextIncarnation) {
  bring_all();
  lost(3, 1);
  EXPECT_EQ(actions(roster_.acknowledged(agent(3), 1000)), (Names{}));
  join(3, 2);
  ready(3, 2);
  acknowledged(4);

  EXPECT_FALSE(roster_.settled(agent(3))) << "it does not know the other yet";
  EXPECT_EQ(acknowledged(3), (Names{"changed"}));
}

TEST_F(RosterTest, TheLossOfOneThatOwesAnAnswerSettlesTheOthers) {
  bring_all();
  lost(3, 1);
  join(3, 2);
  ready(3, 2);
  acknowledged(3);  // 4 owes its answer, and is lost

  const auto done = lost(4, 1, true);

  EXPECT_TRUE(roster_.settled(agent(3)));
  EXPECT_FALSE(roster_.settled(agent(4)));
  EXPECT_EQ(std::ranges::count(done, "complete"), 0) << "only the first time";
}

TEST_F(RosterTest, WithAnAgentItsProcessesAreLost) {
  bring_all();

  EXPECT_EQ(lost(1, 1, true), (Names{"agent of host 0 is lost: killed", "drop 1.1",
                                     "host 0 is lost: its agent is lost", "drop 3.1",
                                     "tell members", "changed", "start agent 1.2 after 50"}));
  EXPECT_EQ(roster_.table(0).entries.size(), 1U);
  EXPECT_EQ(roster_.missing(), (Names{"agent of host 0", "host 0"}));
  EXPECT_EQ(join(1, 2).front().substr(0, 14), "spawn 3.2 by 1");
}

TEST_F(RosterTest, AnAgentsLossIsNoFailureOfItsProcesses) {
  join(1, 1);
  for (std::uint32_t instance = 1; instance <= 5; ++instance) {
    lost(3, instance, true);
  }

  const auto done = lost(1, 1, true);

  EXPECT_TRUE(std::ranges::none_of(done, [](const auto& what) {
    return what.starts_with("give up");
  })) << fmt::format("{}", fmt::join(done, "\n"));
}

TEST_F(RosterTest, PausesGrowUntilItIsReadyAndThenBeginAnew) {
  join(1, 1);
  std::vector<std::string> pauses;
  for (std::uint32_t instance = 1; instance <= 4; ++instance) {
    pauses.push_back(lost(3, instance, true).back());
  }
  EXPECT_EQ(pauses, (Names{"spawn 3.2 by 1 after 50", "spawn 3.3 by 1 after 100",
                           "spawn 3.4 by 1 after 200", "spawn 3.5 by 1 after 400"}));
  join(3, 5);
  ready(3, 5);

  EXPECT_EQ(lost(3, 5, true).back(), "spawn 3.6 by 1 after 50");
}

TEST(RosterOptions, PausesHaveALongest) {
  auto options = testing::roster_options();
  options.longest_pause = 120ms;
  options.max_failures = 100;
  testing::Registry registry(options);
  registry.join(1, 1);
  std::string last;
  for (std::uint32_t instance = 1; instance <= 90; ++instance) {
    last = registry.lost(3, instance, true).back();
  }
  EXPECT_EQ(last, "spawn 3.91 by 1 after 120");
}

TEST_F(RosterTest, TooManyLossesInARowEndTheRunWithTheLastReason) {
  join(1, 1);
  for (std::uint32_t instance = 1; instance <= 5; ++instance) {
    for (const auto& what : lost(3, instance, true)) {
      EXPECT_FALSE(what.starts_with("give up")) << what;
    }
  }

  EXPECT_EQ(std::ranges::count(lost(3, 6, true),
                               "give up: host 0: lost 6 times in a row before it was ready; the "
                               "last time: killed"),
            1);
}

// ---- two that do not reach each other ----

TEST_F(RosterTest, TwoThatAreThereAndDoNotReachEachOtherEndTheRun) {
  bring_all();
  const net::PeerUnreachable report{member(3, 1), member(4, 1), "silent for 1500 ms"};

  EXPECT_EQ(actions(roster_.unreachable(report)),
            (Names{"give up: host 0 and host 1 both reach the director, but not each other: silent "
                   "for 1500 ms; try: the network between their hosts, or --resume when it is "
                   "back"}));
}

TEST_F(RosterTest, WhoIsLostOrWasIsNotReachedAndThatEndsNothing) {
  bring_all();
  lost(4, 1, true);

  EXPECT_TRUE(roster_.unreachable({member(3, 1), member(4, 1), ""}).empty()) << "being started";
  EXPECT_TRUE(roster_.unreachable({member(4, 1), member(3, 1), ""}).empty())
      << "an old incarnation";
  EXPECT_TRUE(roster_.unreachable({member(3, 1), member(99, 1), ""}).empty()) << "nobody";
}

// ---- agents that somebody else starts ----

TEST(RosterManual, StartsNoAgentAndTakesTheirFirstIncarnation) {
  testing::Registry registry(testing::roster_options(true));

  EXPECT_EQ(registry.began_, (Names{}));
  EXPECT_EQ(registry.join(1, 7), (Names{"spawn 3.1 by 1 after 0", "changed"}));
  EXPECT_EQ(registry.lost(1, 7, true).back(), "changed") << "it is waited for";
}

/// What a host that asks for the place of an agent says.
net::Join application(std::uint32_t id, const std::string& name, const std::string& version = "v") {
  return {member(id, 0), "applicant:1", version, name};
}

TEST(RosterManual, AnAgentThatIsThereIsKept) {
  testing::Registry registry(testing::roster_options(true));
  registry.bring_all();

  EXPECT_ERROR(registry.roster_.apply(application(1, "agent of host 0")), Errc::overloaded,
               "agent of host 0 is there already, at host:1001, and is kept");
  EXPECT_ERROR(registry.roster_.join({member(1, 2), "a:1", "v"}), Errc::fenced, "now 1");

  EXPECT_TRUE(registry.roster_.settled(testing::agent(1)));
  EXPECT_ERROR(registry.roster_.admit(member(3, 9)), Errc::fenced, "host 0");  // only agents may
}

TEST(RosterManual, GivesOutAscendingIncarnationsOfAgentsThatAreNotThere) {
  auto options = testing::roster_options(true);
  options.first_given = 40;
  testing::Registry registry(options);

  EXPECT_EQ(*registry.roster_.apply(application(1, "agent of host 0")), 41U);
  EXPECT_EQ(*registry.roster_.apply(application(1, "agent of host 0")), 42U);
  registry.join(1, 41);
  EXPECT_ERROR(registry.roster_.apply(application(1, "agent of host 0")), Errc::overloaded, "");
  registry.lost(1, 41);
  EXPECT_EQ(*registry.roster_.apply(application(1, "agent of host 0")), 43U);
}

TEST(RosterManual, ChecksNameAndVersionBeforeItGivesAnIncarnation) {
  testing::Registry registry(testing::roster_options(true));

  for (const auto& wrong : {application(1, "agent of host 1"), application(3, "host 0"),
                            application(99, "agent of host 0")}) {
    EXPECT_ERROR(registry.roster_.apply(wrong), Errc::invalid_argument, "the same job file");
  }
  EXPECT_ERROR(registry.roster_.apply(application(1, "agent of host 0", "old")),
               Errc::failed_precondition, "expected the program v");
  testing::Registry started(testing::roster_options(false));
  EXPECT_ERROR(started.roster_.apply(application(1, "agent of host 0")), Errc::invalid_argument,
               "");
}

TEST(RosterManual, OneThatConnectsAndDoesNotJoinIsDroppedAndNotMissed) {
  testing::Registry registry(testing::roster_options(true));

  EXPECT_EQ(registry.lost(1, 5), (Names{"drop 1.5"}));
  EXPECT_ERROR(registry.roster_.admit(member(1, 5)), Errc::fenced, "");
  EXPECT_EQ(*registry.roster_.apply(application(1, "agent of host 0")), 6U);
}

}  // namespace
}  // namespace troupe
