#include "actors/supervisor.hpp"

#include "runtime/wire/messages.hpp"
#include "tests/actors/scripted_system.hpp"
#include "tests/support/expect.hpp"

#include <deque>

namespace troupe {
namespace {

using namespace std::chrono_literals;
using testing::ScriptedActor;

/// A host with one holder and the trainers of ranks 0 and 1, all scripted.
class SupervisorTest : public ::testing::Test {
 protected:
  SupervisorTest() {
    options_.process = "host 4";
    options_.restart_pause = 10ms;
    options_.regroup = [this](std::uint32_t generation) {
      note("regroup " + std::to_string(generation));
    };
    options_.introduce = [this](std::uint32_t generation) {
      note("introduce " + std::to_string(generation));
    };
    options_.say = [this](const std::string& what) { note(what); };
    add("holder", true, std::nullopt);
    add("trainer 0", false, Rank{0});
    add("trainer 1", false, Rank{1});
    supervisor_ = system_.add("supervisor", spawn_supervisor(*system_, options_));
  }

  void note(const std::string& what) { notes_.push_back(what); }
  void add(const std::string& name, bool at_once, std::optional<Rank> rank) {
    SupervisedActor member;
    member.name = name;
    member.actor = started_.emplace_back(system_, name).handle();
    member.at_once = at_once;
    member.rank = rank;
    member.start = [this, name](std::uint32_t generation) -> Result<caf::actor> {
      if (failures_ > 0) {
        --failures_;
        return Error(Errc::data_corruption, "its store is gone");
      }
      note("start " + name + " in " + std::to_string(generation));
      return started_.emplace_back(system_, name).handle();
    };
    options_.members.push_back(std::move(member));
  }
  void lose(std::size_t member) {
    started_[member].end();
    system_.run();
  }
  template <class Request>
  Status ask(Request request) {
    const auto asked = director_.request(supervisor_, std::move(request));
    system_.run();
    TROUPE_RETURN_IF_ERROR(director_.answer_to<net::Done>(asked));
    return ok_status();
  }
  std::ptrdiff_t times(const std::string& what) const { return std::ranges::count(notes_, what); }

  testing::ScriptedSystem system_;
  ScriptedActor director_{system_, "director"};
  std::deque<ScriptedActor> started_;  ///< The holder, the trainers, and what was started later
  std::vector<std::string> notes_;
  int failures_ = 0;  ///< So many starts fail
  SupervisorOptions options_;
  caf::actor supervisor_;
};

TEST_F(SupervisorTest, AHolderIsStartedAgainAfterAPauseHoweverOftenThatFails) {
  failures_ = 3;

  lose(0);
  EXPECT_EQ(times("host 4: started the holder again"), 0);
  system_.run_for(10s);

  EXPECT_EQ(times("host 4: cannot start the holder again: its store is gone"), 3);
  EXPECT_EQ(times("start holder in 0"), 1);
  EXPECT_EQ(times("host 4: started the holder again"), 1);
}

TEST_F(SupervisorTest, AHolderThatIsLostAgainIsStartedAgain) {
  lose(0);
  system_.run_for(10s);

  lose(3);
  system_.run_for(10s);

  EXPECT_EQ(times("start holder in 0"), 2);
}

TEST_F(SupervisorTest, ATrainerIsStartedAgainOnlyInTheNextGeneration) {
  lose(1);
  system_.run_for(10s);
  EXPECT_EQ(times("host 4: lost the trainer 0: exit_reason(kill) (from the actor system)"), 1);
  EXPECT_EQ(times("start trainer 0 in 0"), 0);

  ASSERT_OK(ask(net::Regroup{1, {}}));

  EXPECT_EQ(times("regroup 1"), 1);
  EXPECT_EQ(times("start trainer 0 in 1"), 1);
  EXPECT_EQ(times("start trainer 1 in 1"), 0) << "it lives";
}

TEST_F(SupervisorTest, ALivingTrainerThatNobodyHearsIsReplaced) {
  ASSERT_OK(ask(net::Regroup{1, {Rank{1}}}));

  EXPECT_EQ(times("start trainer 1 in 1"), 1);
  EXPECT_EQ(times("start trainer 0 in 1"), 0);
  EXPECT_TRUE(started_[2].has_ended());
}

TEST_F(SupervisorTest, ARegroupingMayBeAskedForAgainButNotAnOlderOne) {
  ASSERT_OK(ask(net::Regroup{2, {}}));
  EXPECT_OK(ask(net::Regroup{2, {}}));
  EXPECT_ERROR(ask(net::Regroup{1, {}}), Errc::fenced, "generation 1 is over, now 2");
  EXPECT_ERROR(ask(net::Introduce{1}), Errc::fenced, "");
  EXPECT_EQ(times("introduce 1"), 0);
  EXPECT_OK(ask(net::Introduce{2}));
  EXPECT_EQ(times("introduce 2"), 1);
}

TEST_F(SupervisorTest, ATrainerThatCannotBeStartedFailsTheRegrouping) {
  failures_ = 1;

  EXPECT_ERROR(ask(net::Regroup{1, {Rank{0}}}), Errc::data_corruption,
               "host 4: starting the trainer 0 again");
}

}  // namespace
}  // namespace troupe
