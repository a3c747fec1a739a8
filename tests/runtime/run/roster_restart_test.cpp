// Processes whose ranks run a user program start again together.
#include "runtime/run/restart_budget.hpp"
#include "runtime/run/roster.hpp"
#include "tests/runtime/run/roster_support.hpp"

namespace troupe {
namespace {

using Names = std::vector<std::string>;

RosterOptions together(const std::string& placement = "collocated", bool manual = false) {
  auto options = testing::roster_options(manual, placement);
  options.restart_together = true;
  return options;
}

/// Two hosts with one process each: agents are 1 and 2, their processes 3 and 4.
class RosterRestart : public ::testing::Test, public testing::Registry {
 protected:
  RosterRestart() : Registry(together()) {}
};

TEST_F(RosterRestart, ALossStartsAllAgain) {
  bring_all();

  EXPECT_EQ(lost(4, 1),
            (Names{"host 1 is lost: killed", "drop 4.1", "restart: host 1 is lost: killed",
                   "kill 3.1 by 1", "drop 3.1", "spawn 3.2 by 1 after 50", "tell members",
                   "changed", "spawn 4.2 by 2 after 50"}));
  EXPECT_EQ(lost(3, 1), (Names{})) << "it was told to end";
  EXPECT_TRUE(roster_.table(0).entries.empty());
}

TEST_F(RosterRestart, ALossBeforeAllRanksAreThereStartsThatOneAgain) {
  for (const std::uint32_t id : {1U, 2U, 3U, 4U}) {
    join(id, 1);
  }
  ready(3, 1);

  EXPECT_EQ(lost(4, 1), (Names{"host 1 is lost: killed", "drop 4.1", "tell members", "changed",
                               "spawn 4.2 by 2 after 50"}));
  EXPECT_EQ(roster_.table(0).entries.size(), 1U);
}

TEST_F(RosterRestart, AProgramOfAnotherBuildReadsWhatToLinkItWith) {
  join(1, 1);

  EXPECT_ERROR(
      roster_.join({member(3, 1), "a:1", "w"}), Errc::failed_precondition,
      "found w; try: the same program on all hosts, linked with the library of the troupe");
}

TEST_F(RosterRestart, AProgramThatEndsWellWithoutHavingJoinedEndsTheRun) {
  for (const std::uint32_t id : {1U, 2U, 3U}) {
    join(id, 1);
  }

  const auto lines = lost(4, 1, true, "exit code 0");

  EXPECT_NE(lines.back().find("host 1: expected a program that calls run_ranks"), std::string::npos)
      << lines.back();
  EXPECT_NE(lost(3, 1, true, "exit code 0").back().find("spawn 3.2"), std::string::npos)
      << "it had joined";
}

TEST_F(RosterRestart, ASecondLossOnTheWayBackDoesNotStartTheOthersAgain) {
  bring_all();
  lost(4, 1);
  join(3, 2);
  ready(3, 2);

  EXPECT_EQ(lost(4, 2), (Names{"host 1 is lost: killed", "drop 4.2", "tell members", "changed",
                               "spawn 4.3 by 2 after 100"}));
  join(4, 3);
  ready(4, 3);
  const auto again = lost(3, 2);
  EXPECT_EQ(std::ranges::count(again, "restart: host 0 is lost: killed"), 1);
  EXPECT_EQ(std::ranges::count(again, "kill 4.3 by 2"), 1);
}

TEST_F(RosterRestart, WithAnAgentTheOthersStartAndItsOwnWaitForIt) {
  bring_all();

  EXPECT_EQ(
      lost(2, 1),
      (Names{"agent of host 1 is lost: killed", "drop 2.1", "host 1 is lost: its agent is lost",
             "drop 4.1", "restart: agent of host 1 is lost: killed", "kill 3.1 by 1", "drop 3.1",
             "spawn 3.2 by 1 after 50", "tell members", "changed", "start agent 2.2 after 50"}));
  EXPECT_EQ(join(2, 2), (Names{"spawn 4.2 by 2 after 50", "changed"}));
}

TEST_F(RosterRestart, RanksThatFailForALossAreOne) {
  bring_all();

  for (const auto code : {Errc::peer_lost, Errc::fenced}) {
    Registry other(together());
    other.bring_all();
    const auto found = other.ranks_ended(3, 1, code);
    EXPECT_EQ(found.front(), "kill 3.1 by 1");
    EXPECT_EQ(std::ranges::count(found, "restart: host 0 is lost: its ranks failed: why"), 1);
    EXPECT_EQ(std::ranges::count(found, "kill 4.1 by 2"), 1);
    EXPECT_EQ(other.ranks_ended(4, 1, code), (Names{})) << "of an incarnation that is over";
  }
  for (const auto code : {Errc::ok, Errc::internal, Errc::deadline_exceeded}) {
    EXPECT_EQ(ranks_ended(3, 1, code), (Names{"ranks of 3.1 ended"}));
  }
}

TEST(RosterRestartAlone, BuiltInTrainersGoBackByThemselves) {
  testing::Registry registry;
  registry.bring_all();

  EXPECT_EQ(registry.ranks_ended(3, 1, Errc::peer_lost), (Names{"ranks of 3.1 ended"}));
  const auto lines = registry.lost(4, 1);
  EXPECT_EQ(std::ranges::count(lines, "kill 3.1 by 1"), 0);
}

TEST(RosterRestartAlone, HoldersStartAgainWithRanksAndNotWithoutThem) {
  testing::Registry registry(together("server_client"));
  const auto workers = registry.roster_.missing();
  std::vector<std::uint32_t> ids;
  for (std::uint32_t id = 1; id <= workers.size(); ++id) {
    registry.join(id, 1);
    ids.push_back(id);
  }
  for (const auto id : ids) {
    registry.ready(id, 1);
  }
  const auto layout = testing::two_hosts("server_client");
  const auto server = raw(layout.servers_of(PartId{0}).front());
  const auto client = raw(layout.process_of(Rank{0}));

  const auto without = registry.lost(server, 1);
  EXPECT_EQ(std::ranges::count_if(without, [](const auto& l) { return l.starts_with("kill"); }), 0);
  registry.join(server, 2);
  registry.ready(server, 2);
  const auto with = registry.lost(client, 1);

  EXPECT_EQ(std::ranges::count_if(with, [](const auto& l) { return l.starts_with("kill"); }),
            static_cast<std::ptrdiff_t>(layout.workers().size()) - 1);
}

TEST(RestartBudget, EndsWhenAStepDoesNotComeNearer) {
  RestartBudget budget;

  for (std::uint32_t i = 0; i < max_restarts_in_a_row; ++i) {
    EXPECT_TRUE(budget.take(0));
  }
  EXPECT_TRUE(budget.take(6)) << "a new checkpoint";
  for (std::uint32_t i = 1; i < max_restarts_in_a_row; ++i) {
    EXPECT_TRUE(budget.take(6));
  }
  EXPECT_FALSE(budget.take(6));
}

}  // namespace
}  // namespace troupe
