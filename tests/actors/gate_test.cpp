#include "actors/gate.hpp"

#include "actors/error.hpp"
#include "actors/message.hpp"
#include "runtime/net/sim_network.hpp"
#include "runtime/wire/messages.hpp"
#include "tests/support/expect.hpp"

#include <caf/all.hpp>

#include <chrono>
#include <mutex>

namespace troupe {
namespace {

using namespace std::chrono_literals;

constexpr Address trainer_seven{Role::trainer, 7};

/// Answers KeepBest at once, EpochRequest 1 with an error, EpochRequest 2 never.
struct FakeState {
  std::vector<caf::response_promise> kept;
};

caf::behavior gated_trainer(caf::stateful_actor<FakeState>* self) {
  return {
      [](const Ref<net::KeepBest>&) { return Ref<net::Done>(net::Done{}); },
      [self](const Ref<net::EpochRequest>& request) {
        auto promise = self->make_response_promise();
        if (request->epoch == 1) {
          promise.deliver(to_caf(Error(Errc::failed_precondition, "no such epoch")));
        } else if (request->epoch == 0) {
          net::EpochResult result;
          result.rank = Rank{7};
          result.batches = Digest{1, 2};
          promise.deliver(Ref<net::EpochResult>(result));
        }
        self->state.kept.push_back(std::move(promise));  // an open one dies with the actor
      },
  };
}

class GateTest : public ::testing::Test {
 protected:
  GateTest() : system_(config_) {
    auto [left, right] = net::make_sim_link(driver_, {});
    near_ = Gate::make(system_, std::move(left), {});
    far_ = Gate::make(system_, std::move(right), {});
    trainer_ = system_.spawn(gated_trainer);
    far_->export_actor(trainer_seven, trainer_);
  }
  ~GateTest() override {
    near_->close(Error(Errc::cancelled, "test over"));
    EXPECT_TRUE(near_->wait_closed(5s));
    EXPECT_TRUE(far_->wait_closed(5s));
    caf::anon_send_exit(trainer_, caf::exit_reason::kill);
  }

  template <class Reply, class Request>
  Result<Reply> ask(const caf::actor& to, Request request) {
    caf::scoped_actor self(system_);
    Result<Reply> result = Error(Errc::internal, "no answer");
    self->request(to, 10s, Ref<Request>(std::move(request)))
        .receive([&](const Ref<Reply>& reply) { result = *reply; },
                 [&](const caf::error& error) { result = from_caf(error); });
    return result;
  }

  caf::actor_system_config config_;
  caf::actor_system system_;
  net::RealTimeDriver driver_;
  std::shared_ptr<Gate> near_;
  std::shared_ptr<Gate> far_;
  caf::actor trainer_;
};

TEST_F(GateTest, AProxyAnswersAsTheActorItself) {
  const auto proxy = near_->proxy(trainer_seven);

  ASSERT_OK_AND_ASSIGN(const auto local, ask<net::EpochResult>(trainer_, net::EpochRequest{}));
  ASSERT_OK_AND_ASSIGN(const auto remote, ask<net::EpochResult>(proxy, net::EpochRequest{}));

  EXPECT_EQ(remote.rank, local.rank);
  EXPECT_EQ(remote.batches, local.batches);
  EXPECT_EQ(near_->stats().requests, 1U);
}

TEST_F(GateTest, AnErrorKeepsItsCodeAndSentence) {
  EXPECT_ERROR((ask<net::EpochResult>(near_->proxy(trainer_seven), net::EpochRequest{0, 1})),
               Errc::failed_precondition, "no such epoch");
}

TEST_F(GateTest, AnUnknownAddressIsALostPeer) {
  EXPECT_ERROR((ask<net::Done>(near_->proxy({Role::trainer, 8}), net::KeepBest{})), Errc::peer_lost,
               "no actor at address");
}

TEST_F(GateTest, AMessageThatDoesNotTravelIsRefused) {
  caf::scoped_actor self(system_);
  self->request(near_->proxy(trainer_seven), 10s, std::string("hello"))
      .receive(
          [](const std::string&) { FAIL(); },
          [](const caf::error& error) { EXPECT_EQ(from_caf(error).code(), Errc::unimplemented); });
}

TEST_F(GateTest, ADyingActorAnswersWhatItLeftOpenAndItsProxyDies) {
  const auto proxy = near_->proxy(trainer_seven);
  caf::scoped_actor self(system_);
  self->monitor(proxy);
  auto pending = self->request(proxy, 10s, Ref<net::EpochRequest>(net::EpochRequest{0, 2}));
  ASSERT_OK(ask<net::Done>(proxy, net::KeepBest{}));  // both requests have arrived

  caf::anon_send_exit(trainer_, caf::exit_reason::kill);

  pending.receive([](const Ref<net::EpochResult>&) { FAIL(); },
                  [](const caf::error& error) {
                    EXPECT_EQ(from_caf(error).code(), Errc::peer_lost) << from_caf(error).what();
                  });
  self->receive([&](const caf::down_msg& down) { EXPECT_EQ(down.source, proxy); },
                caf::after(10s) >> [] { FAIL() << "no down message"; });
}

TEST_F(GateTest, ABrokenLinkAnswersPendingRequestsAndKillsProxies) {
  const auto proxy = near_->proxy(trainer_seven);
  caf::scoped_actor self(system_);
  self->monitor(proxy);
  auto pending = self->request(proxy, 10s, Ref<net::EpochRequest>(net::EpochRequest{0, 2}));

  far_->close(Error(Errc::peer_lost, "cut by the test"));

  pending.receive(
      [](const Ref<net::EpochResult>&) { FAIL(); },
      [](const caf::error& error) { EXPECT_EQ(from_caf(error).code(), Errc::peer_lost); });
  self->receive([&](const caf::down_msg& down) { EXPECT_EQ(down.source, proxy); },
                caf::after(10s) >> [] { FAIL() << "no down message"; });
  EXPECT_ERROR((ask<net::Done>(near_->proxy(trainer_seven), net::KeepBest{})), Errc::peer_lost, "");
}

TEST_F(GateTest, ANewProxyReachesWhatIsExportedNextButTheOldOneStaysDead) {
  const auto old_proxy = near_->proxy(trainer_seven);
  caf::scoped_actor self(system_);
  self->monitor(old_proxy);
  caf::anon_send_exit(trainer_, caf::exit_reason::kill);
  self->receive([&](const caf::down_msg& down) { EXPECT_EQ(down.source, old_proxy); },
                caf::after(10s) >> [] { FAIL() << "no down message"; });

  trainer_ = system_.spawn(gated_trainer);
  far_->export_actor(trainer_seven, trainer_);

  EXPECT_OK(ask<net::Done>(near_->proxy(trainer_seven), net::KeepBest{}));
  EXPECT_ERROR(ask<net::Done>(old_proxy, net::KeepBest{}), Errc::peer_lost, "");
}

TEST_F(GateTest, WhatAReplacedActorLeftOpenIsAnsweredAndItsProxyGoesOnToTheNext) {
  const auto proxy = near_->proxy(trainer_seven);
  caf::scoped_actor self(system_);
  auto pending = self->request(proxy, 10s, Ref<net::EpochRequest>(net::EpochRequest{0, 2}));
  ASSERT_OK(ask<net::Done>(proxy, net::KeepBest{}));  // both requests have arrived
  const auto old_trainer = std::exchange(trainer_, system_.spawn(gated_trainer));

  far_->export_actor(trainer_seven, trainer_);  // while the old one lives
  caf::anon_send_exit(old_trainer, caf::exit_reason::kill);

  pending.receive([](const Ref<net::EpochResult>&) { FAIL(); },
                  [](const caf::error& error) {
                    EXPECT_ERROR(Status(from_caf(error)), Errc::peer_lost, "taken its place");
                  });
  EXPECT_OK(ask<net::Done>(proxy, net::KeepBest{}));
}

TEST_F(GateTest, OneClientsExitDoesNotEndASharedProxy) {
  const auto proxy = near_->proxy(trainer_seven);

  caf::anon_send_exit(proxy, caf::exit_reason::user_shutdown);

  EXPECT_OK(ask<net::Done>(proxy, net::KeepBest{}));
}

/// A trainer's frame of generation `theirs` at a gate that knows `ours`.
Result<net::Done> ask_across_generations(std::uint32_t theirs, std::uint32_t ours, Role role) {
  caf::actor_system_config config;
  caf::actor_system system(config);
  net::RealTimeDriver driver;
  auto [left, right] = net::make_sim_link(driver, {});
  GateOptions near_options;
  near_options.generation = std::make_shared<const std::atomic<std::uint32_t>>(theirs);
  GateOptions far_options;
  far_options.generation = std::make_shared<const std::atomic<std::uint32_t>>(ours);
  const auto near_gate = Gate::make(system, std::move(left), near_options);
  const auto far_gate = Gate::make(system, std::move(right), far_options);
  const auto trainer = system.spawn(gated_trainer);
  far_gate->export_actor({role, 1}, trainer);
  Result<net::Done> result = Error(Errc::internal, "no answer");
  {
    caf::scoped_actor self(system);
    self->request(near_gate->proxy({role, 1}), 10s, Ref<net::KeepBest>(net::KeepBest{}))
        .receive([&](const Ref<net::Done>& reply) { result = *reply; },
                 [&](const caf::error& error) { result = from_caf(error); });
  }
  near_gate->close(Error(Errc::cancelled, "test over"));
  EXPECT_TRUE(near_gate->wait_closed(5s));
  EXPECT_TRUE(far_gate->wait_closed(5s));
  caf::anon_send_exit(trainer, caf::exit_reason::kill);
  return result;
}

TEST(GateFencing, TrainersAndEvaluatorsDoNotHearAnOlderGeneration) {
  for (const auto role : {Role::trainer, Role::evaluator}) {
    EXPECT_ERROR(ask_across_generations(1, 2, role), Errc::fenced, "generation 1 is over, now 2");
    EXPECT_OK(ask_across_generations(2, 2, role));
    EXPECT_OK(ask_across_generations(3, 2, role));
  }
}

TEST(GateFencing, HoldersAndAgentsServeEveryGeneration) {
  EXPECT_OK(ask_across_generations(1, 2, Role::holder));
  EXPECT_OK(ask_across_generations(1, 2, Role::supervisor));
}

// ---- gates without a link ----

/// A gate that waits for a link on a clock of its own, and what it said at its end.
class UnlinkedGate : public ::testing::Test {
 protected:
  UnlinkedGate() : system_(config_), trainer_(system_.spawn(gated_trainer)) {}
  ~UnlinkedGate() override {
    for (const auto& gate : gates_) {
      gate->close(Error(Errc::cancelled, "test over"));
      EXPECT_TRUE(gate->wait_closed(5s));
    }
    caf::anon_send_exit(trainer_, caf::exit_reason::kill);
  }
  std::shared_ptr<Gate> make(std::shared_ptr<net::Link> link, net::Clock::duration recovery) {
    GateOptions options;
    options.endpoint.timers = &driver_;
    options.endpoint.recovery_deadline = recovery;
    options.on_end = [this](const Error& why) {
      const std::lock_guard guard(mutex_);
      ends_.push_back(std::string(to_string(why.code())) + ": " + why.what());
    };
    return gates_.emplace_back(Gate::make(system_, std::move(link), options));
  }
  std::vector<std::string> ends() {
    const std::lock_guard guard(mutex_);
    return ends_;
  }

  caf::actor_system_config config_;
  caf::actor_system system_;
  net::RealTimeDriver driver_;
  caf::actor trainer_;
  std::mutex mutex_;
  std::vector<std::string> ends_;
  std::vector<std::shared_ptr<Gate>> gates_;
};

TEST_F(UnlinkedGate, WhatIsAskedAndExportedBeforeTheLinkPassesWhenItIsThere) {
  const auto near = make(nullptr, 10s);
  const auto far = make(nullptr, 10s);
  far->export_actor(trainer_seven, trainer_);
  caf::scoped_actor self(system_);
  auto pending =
      self->request(near->proxy(trainer_seven), 10s, Ref<net::KeepBest>(net::KeepBest{}));
  auto [left, right] = net::make_sim_link(driver_, {});

  near->attach(std::move(left));
  far->attach(std::move(right));

  bool answered = false;
  pending.receive([&](const Ref<net::Done>&) { answered = true; },
                  [](const caf::error& error) { FAIL() << from_caf(error).what(); });
  EXPECT_TRUE(answered);
  EXPECT_TRUE(ends().empty());
}

TEST_F(UnlinkedGate, WithoutALinkItEndsAfterTheRecoveryDeadlineAndSaysSoOnce) {
  const auto gate = make(nullptr, 100ms);
  const auto proxy = gate->proxy(trainer_seven);
  caf::scoped_actor self(system_);
  self->monitor(proxy);
  auto pending = self->request(proxy, 10s, Ref<net::KeepBest>(net::KeepBest{}));

  pending.receive(
      [](const Ref<net::Done>&) { FAIL(); },
      [](const caf::error& error) { EXPECT_EQ(from_caf(error).code(), Errc::peer_lost); });
  self->receive([&](const caf::down_msg& down) { EXPECT_EQ(down.source, proxy); },
                caf::after(10s) >> [] { FAIL() << "no down message"; });
  EXPECT_TRUE(gate->wait_closed(5s));

  ASSERT_EQ(ends().size(), 1U);
  EXPECT_EQ(ends()[0].substr(0, 9), "peer_lost");
}

TEST_F(UnlinkedGate, TheEndIsToldBeforeTheProxiesDie) {
  const auto gate = make(nullptr, 10s);
  caf::scoped_actor self(system_);
  self->monitor(gate->proxy(trainer_seven));

  gate->close(Error(Errc::cancelled, "over"));

  self->receive(
      [&](const caf::down_msg&) {
        EXPECT_EQ(ends(), (std::vector<std::string>{"cancelled: over"}));
      },
      caf::after(10s) >> [] { FAIL() << "no down message"; });
}

TEST_F(UnlinkedGate, AProxyThatIsAskedForAfterTheEndIsDead) {
  const auto gate = make(nullptr, 10s);
  gate->close(Error(Errc::peer_lost, "host 1 is lost"));
  ASSERT_TRUE(gate->wait_closed(5s));
  caf::scoped_actor self(system_);

  self->request(gate->proxy(trainer_seven), 10s, Ref<net::KeepBest>(net::KeepBest{}))
      .receive([](const Ref<net::Done>&) { FAIL(); },
               [](const caf::error& error) {
                 EXPECT_ERROR(Status(from_caf(error)), Errc::peer_lost, "host 1 is lost");
               });
}

}  // namespace
}  // namespace troupe
