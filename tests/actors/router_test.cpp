#include "actors/router.hpp"

#include "actors/error.hpp"
#include "actors/message.hpp"
#include "runtime/feature/writable_tensors.hpp"
#include "runtime/net/messages.hpp"
#include "runtime/sample/one_hop.hpp"
#include "tests/support/expect.hpp"

#include <caf/all.hpp>

#include <atomic>
#include <mutex>

namespace troupe {
namespace {

using namespace std::chrono_literals;

/// How a fake holder takes a request.
enum class HolderDoes { answer, die, fail, refuse, say_nothing };

/// Answers hops with its number as the only count, and notes writes.
caf::behavior fake_holder(caf::event_based_actor* self, std::uint32_t number, HolderDoes does,
                          const std::shared_ptr<std::atomic<int>>& writes) {
  const auto take = [=](auto reply) -> caf::result<decltype(reply)> {
    switch (does) {
      case HolderDoes::answer:
        return reply;
      case HolderDoes::fail:
        return to_caf(Error(Errc::invalid_argument, "no such node"));
      case HolderDoes::refuse:
        return to_caf(Error(Errc::overloaded, "full"));
      case HolderDoes::die:
        self->quit(caf::exit_reason::kill);
        break;
      case HolderDoes::say_nothing:
        break;
    }
    return self->make_response_promise<decltype(reply)>();
  };
  return {
      [=](const Ref<HopRequest>&) {
        HopReply reply;
        reply.counts = {number};
        return take(Ref<HopReply>(std::move(reply)));
      },
      [=](const Ref<WriteRows>&) {
        ++*writes;
        return take(Ref<net::Done>(net::Done{}));
      },
  };
}

/// A part whose replicas can be replaced while a router is at work.
class RouterTest : public ::testing::Test {
 protected:
  RouterTest() : system_(config_) {
    options_.what = "part 3";
    options_.request_deadline = 200ms;
    options_.recovery_deadline = 1500ms;
    options_.first_pause = 5ms;
  }
  ~RouterTest() override {
    for (const auto& actor : started_) {
      caf::anon_send_exit(actor, caf::exit_reason::kill);
    }
  }

  caf::actor holder(std::uint32_t number, HolderDoes does) {
    return started_.emplace_back(system_.spawn(fake_holder, number, does, writes_));
  }
  /// The next replica, farther away than those before.
  void add_replica(std::uint32_t number, HolderDoes does) {
    const auto at = known_.size();
    known_.push_back(holder(number, does));
    options_.replicas.push_back([this, at] {
      const std::lock_guard guard(mutex_);
      return known_[at];
    });
  }
  void replace(std::size_t at, std::uint32_t number, HolderDoes does) {
    const std::lock_guard guard(mutex_);
    known_[at] = holder(number, does);
  }
  template <class Reply, class Request>
  Result<Ref<Reply>> ask(Request request) {
    if (!router_) {
      router_ = started_.emplace_back(spawn_router(system_, options_));
    }
    caf::scoped_actor self(system_);
    Result<Ref<Reply>> result = Error(Errc::internal, "no answer");
    self->request(router_, 20s, Ref<Request>(std::move(request)))
        .receive([&](const Ref<Reply>& reply) { result = reply; },
                 [&](const caf::error& error) { result = from_caf(error); });
    return result;
  }
  /// The number of the holder that answers.
  Result<std::uint32_t> who_answers() {
    TROUPE_ASSIGN_OR_RETURN(const auto reply, ask<HopReply>(HopRequest{}));
    return reply->counts.at(0);
  }

  std::shared_ptr<std::atomic<int>> writes_ = std::make_shared<std::atomic<int>>(0);
  std::mutex mutex_;
  std::vector<caf::actor> known_;
  std::vector<caf::actor> started_;
  RouterOptions options_;
  caf::actor router_;
  caf::actor_system_config config_;
  caf::actor_system system_;
};

TEST_F(RouterTest, TheNearestReplicaAnswers) {
  add_replica(1, HolderDoes::answer);
  add_replica(2, HolderDoes::answer);

  for (int i = 0; i < 3; ++i) {
    ASSERT_OK_AND_ASSIGN(const auto number, who_answers());
    EXPECT_EQ(number, 1U);
  }
}

TEST_F(RouterTest, AnotherReplicaAnswersForOneThatDiesIsSilentOrRefuses) {
  for (const auto does : {HolderDoes::die, HolderDoes::say_nothing, HolderDoes::refuse}) {
    known_.clear();
    options_.replicas.clear();
    router_ = {};
    add_replica(1, does);
    add_replica(2, HolderDoes::answer);

    ASSERT_OK_AND_ASSIGN(const auto number, who_answers());
    EXPECT_EQ(number, 2U);
  }
}

TEST_F(RouterTest, ARequestWaitsForALostHolderToComeBack) {
  add_replica(1, HolderDoes::die);
  std::thread later([this] {
    std::this_thread::sleep_for(100ms);
    replace(0, 7, HolderDoes::answer);
  });

  const auto number = who_answers();
  later.join();

  ASSERT_OK(number);
  EXPECT_EQ(*number, 7U);
}

TEST_F(RouterTest, APartIsGivenUpAfterTheRecoveryDeadlineWithTheLastReason) {
  add_replica(1, HolderDoes::die);
  add_replica(2, HolderDoes::refuse);

  const auto number = who_answers();

  EXPECT_ERROR(number, Errc::deadline_exceeded, "part 3: none of 2 holders answered");
  EXPECT_ERROR(number, Errc::deadline_exceeded, "full");
  EXPECT_ERROR(number, Errc::deadline_exceeded, "try:");
}

TEST_F(RouterTest, WhatNoReplicaCanMendIsAnsweredAtOnce) {
  add_replica(1, HolderDoes::fail);
  add_replica(2, HolderDoes::answer);

  EXPECT_ERROR(who_answers(), Errc::invalid_argument, "no such node");
}

TEST_F(RouterTest, AWriteReachesEveryReplicaBeforeItIsAnswered) {
  add_replica(1, HolderDoes::answer);
  add_replica(2, HolderDoes::answer);
  add_replica(3, HolderDoes::answer);

  ASSERT_OK(ask<net::Done>(WriteRows{}));

  EXPECT_EQ(*writes_, 3);
}

TEST_F(RouterTest, AWriteThatAReplicaCannotTakeFails) {
  add_replica(1, HolderDoes::answer);
  add_replica(2, HolderDoes::fail);

  EXPECT_ERROR(ask<net::Done>(WriteRows{}), Errc::invalid_argument, "no such node");
}

}  // namespace
}  // namespace troupe
