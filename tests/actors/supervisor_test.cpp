#include "actors/supervisor.hpp"

#include "actors/error.hpp"
#include "actors/message.hpp"
#include "runtime/wire/messages.hpp"
#include "tests/actors/idle_actor.hpp"
#include "tests/support/expect.hpp"

#include <caf/all.hpp>

#include <mutex>

namespace troupe {
namespace {

using namespace std::chrono_literals;

/// A host with one holder and the trainers of ranks 0 and 1.
class SupervisorTest : public ::testing::Test {
 protected:
  SupervisorTest() : system_(config_) {
    options_.process = "host 4";
    options_.restart_pause = 1ms;
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
    supervisor_ = spawn_supervisor(system_, options_);
  }
  ~SupervisorTest() override {
    caf::anon_send_exit(supervisor_, caf::exit_reason::kill);
    const std::lock_guard guard(mutex_);
    for (const auto& actor : started_) {
      caf::anon_send_exit(actor, caf::exit_reason::kill);
    }
  }

  void note(const std::string& what) {
    const std::lock_guard guard(mutex_);
    notes_.push_back(what);
  }
  caf::actor start_idle() {
    const auto actor = system_.spawn(testing::idle);
    const std::lock_guard guard(mutex_);
    started_.push_back(actor);
    return actor;
  }
  void add(const std::string& name, bool at_once, std::optional<Rank> rank) {
    SupervisedActor member;
    member.name = name;
    member.actor = start_idle();
    member.at_once = at_once;
    member.rank = rank;
    member.start = [this, name](std::uint32_t generation) -> Result<caf::actor> {
      if (failures_-- > 0) {
        return Error(Errc::data_corruption, "its store is gone");
      }
      note("start " + name + " in " + std::to_string(generation));
      return start_idle();
    };
    members_.push_back(member.actor);
    options_.members.push_back(std::move(member));
  }
  template <class Request>
  Status ask(Request request) {
    caf::scoped_actor self(system_);
    Status result = Error(Errc::internal, "no answer");
    self->request(supervisor_, 10s, Ref<Request>(std::move(request)))
        .receive([&](const Ref<net::Done>&) { result = ok_status(); },
                 [&](const caf::error& error) { result = from_caf(error); });
    return result;
  }
  bool noted(const std::string& what) const {
    const std::lock_guard guard(mutex_);
    return std::ranges::count(notes_, what) > 0;
  }
  /// Waits for a note. The supervisor hears of a death by itself, some time later.
  bool wait_for(const std::string& what) const {
    for (int i = 0; i < 2000 && !noted(what); ++i) {
      std::this_thread::sleep_for(5ms);
    }
    return noted(what);
  }

  mutable std::mutex mutex_;
  std::vector<std::string> notes_;
  std::vector<caf::actor> started_;
  std::vector<caf::actor> members_;
  std::atomic<int> failures_{0};
  SupervisorOptions options_;
  caf::actor supervisor_;
  caf::actor_system_config config_;
  caf::actor_system system_;
};

TEST_F(SupervisorTest, AHolderIsStartedAgainAtOnceHoweverOftenThatFails) {
  failures_ = 3;
  caf::anon_send_exit(members_[0], caf::exit_reason::kill);

  EXPECT_TRUE(wait_for("host 4: started the holder again"));
  EXPECT_TRUE(noted("host 4: cannot start the holder again: its store is gone"));
  EXPECT_TRUE(noted("start holder in 0"));
}

TEST_F(SupervisorTest, ATrainerIsStartedAgainOnlyInTheNextGeneration) {
  caf::anon_send_exit(members_[1], caf::exit_reason::kill);
  ASSERT_TRUE(wait_for("host 4: lost the trainer 0: exit_reason(kill) (from the actor system)"));
  EXPECT_FALSE(noted("start trainer 0 in 0"));

  ASSERT_OK(ask(net::Regroup{1, {}}));

  EXPECT_TRUE(noted("regroup 1"));
  EXPECT_TRUE(noted("start trainer 0 in 1"));
  EXPECT_FALSE(noted("start trainer 1 in 1")) << "it lives";
}

TEST_F(SupervisorTest, ALivingTrainerThatNobodyHearsIsReplaced) {
  caf::scoped_actor self(system_);
  self->monitor(members_[2]);

  ASSERT_OK(ask(net::Regroup{1, {Rank{1}}}));

  EXPECT_TRUE(noted("start trainer 1 in 1"));
  EXPECT_FALSE(noted("start trainer 0 in 1"));
  self->receive([&](const caf::down_msg& down) { EXPECT_EQ(down.source, members_[2]); },
                caf::after(10s) >> [] { FAIL() << "the old one lives on"; });
}

TEST_F(SupervisorTest, ARegroupingMayBeAskedForAgainButNotAnOlderOne) {
  ASSERT_OK(ask(net::Regroup{2, {}}));
  EXPECT_OK(ask(net::Regroup{2, {}}));
  EXPECT_ERROR(ask(net::Regroup{1, {}}), Errc::fenced, "generation 1 is over, now 2");
  EXPECT_ERROR(ask(net::Introduce{1}), Errc::fenced, "");
  EXPECT_FALSE(noted("introduce 1"));
  EXPECT_OK(ask(net::Introduce{2}));
  EXPECT_TRUE(noted("introduce 2"));
}

TEST_F(SupervisorTest, ATrainerThatCannotBeStartedFailsTheRegrouping) {
  failures_ = 1;

  EXPECT_ERROR(ask(net::Regroup{1, {Rank{0}}}), Errc::data_corruption,
               "host 4: starting the trainer 0 again");
}

}  // namespace
}  // namespace troupe
