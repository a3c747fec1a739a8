// Calls of a rank's thread to its actor: no call may leave a timer, or a message, behind.
#include "launcher/session_state.hpp"
#include "tests/support/expect.hpp"

#include <caf/scheduler/test_coordinator.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <utility>

namespace troupe {
namespace {

caf::behavior pong(caf::event_based_actor* /*self*/) {
  return {[](const Ref<net::Ping>&) { return Ref<net::Pong>(net::Pong{}); }};
}

/// Answers the first request when the second one comes, and before it.
struct LateState {
  std::optional<caf::response_promise> first;
};
caf::behavior late_pong(caf::stateful_actor<LateState>* self) {
  return {[self](const Ref<net::Ping>& /*ping*/) {
    auto promise = self->make_response_promise();
    auto& first = self->state.first;
    if (!first) {
      first = std::move(promise);
      return;
    }
    first->deliver(Ref<net::Pong>(net::Pong{1, false}));
    promise.deliver(Ref<net::Pong>(net::Pong{2, false}));
  }};
}

caf::actor_system_config& on_virtual_clock(caf::actor_system_config& config) {
  config.set("scheduler.policy", caf::atom("testing"));
  return config;
}

/// Actors answer while their message is sent.
class SessionCalls : public ::testing::Test {
 protected:
  SessionCalls() {
    clock().current_time += std::chrono::hours(1);
    coordinator().inline_all_enqueues();
  }
  ~SessionCalls() override { caf::anon_send_exit(actor_, caf::exit_reason::kill); }

  caf::scheduler::test_coordinator& coordinator() {
    return dynamic_cast<caf::scheduler::test_coordinator&>(system_.scheduler());
  }
  caf::detail::test_actor_clock& clock() { return coordinator().clock(); }
  Session::State session_with(const caf::actor& actor, double step_deadline_s) {
    actor_ = actor;
    auto run = std::make_shared<SessionRun>();
    run->job.cluster.step_deadline_s = step_deadline_s;
    SessionPlace place;
    place.system = &system_;
    place.actor = actor_;
    return {std::move(run), std::move(place)};
  }

  caf::actor_system_config config_;
  caf::actor_system system_{on_virtual_clock(config_)};
  caf::actor actor_;
};

TEST_F(SessionCalls, LeaveNoTimerAndNoMessage) {
  auto session = session_with(system_.spawn(pong), 600);

  for (int i = 0; i < 100; ++i) {
    EXPECT_OK(session.ask<net::Pong>(net::Ping{}));
  }

  EXPECT_EQ(clock().schedule().size(), 0U);
  clock().advance_time(std::chrono::hours(1));
  EXPECT_TRUE(session.self->mailbox().empty());
}

TEST_F(SessionCalls, ALateAnswerIsNotTakenForThatOfTheNextCall) {
  auto session = session_with(system_.spawn(late_pong), 0.01);

  EXPECT_ERROR(session.ask<net::Pong>(net::Ping{}), Errc::deadline_exceeded,
               "expected an answer within 10 ms, got none");
  ASSERT_OK_AND_ASSIGN(const auto answer, session.ask<net::Pong>(session.place.actor, net::Ping{},
                                                                 std::chrono::minutes(1)));

  EXPECT_EQ(answer->global_step, 2U);
  EXPECT_TRUE(session.self->mailbox().empty());
}

TEST_F(SessionCalls, ALostActorIsAnError) {
  auto session = session_with(system_.spawn(pong), 600);
  caf::anon_send_exit(actor_, caf::exit_reason::kill);

  EXPECT_ERROR(session.ask<net::Pong>(net::Ping{}), Errc::peer_lost, "");
}

}  // namespace
}  // namespace troupe
