#include "actors/replica_client.hpp"

#include "actors/offload.hpp"
#include "runtime/feature/tensor_rows.hpp"
#include "runtime/feature/writable_tensors.hpp"
#include "runtime/sample/one_hop.hpp"
#include "runtime/wire/messages.hpp"
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
      [=](const Ref<StoreTensor>&) {
        ++*writes;
        return take(Ref<net::Done>(net::Done{}));
      },
  };
}

struct AskerState {
  std::optional<ReplicaClient> client;
};
/// Has each request answered by the replicas.
caf::behavior asker(caf::stateful_actor<AskerState>* self,
                    const std::shared_ptr<const Replicas>& to) {
  auto& client = self->state.client.emplace(self);
  self->set_down_handler([&client](const caf::down_msg& down) { client.on_down(down); });
  const auto answer = [self] {
    return [promise = self->make_response_promise()](const auto& reply) mutable {
      deliver(promise, reply);
    };
  };
  return {
      [=, &client](const Ref<HopRequest>& request) {
        client.request<HopReply>(to, request, answer());
      },
      [=, &client](const Ref<WriteRows>& write) {
        client.request_all<net::Done, WriteRows>({{to, write}}, answer());
      },
      [=, &client](const Ref<StoreTensor>& store) {
        client.request_nearest<net::Done>(to, false, store, answer());
      },
      run_continuation,
  };
}

/// A part whose replicas can be replaced while an actor makes requests.
class ReplicaClientTest : public ::testing::Test {
 protected:
  ReplicaClientTest() : system_(config_) {
    options_.what = "part 3";
    options_.request_deadline = 200ms;
    options_.recovery_deadline = 1500ms;
    options_.first_pause = 5ms;
  }
  ~ReplicaClientTest() override {
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
    options_.actors.push_back([this, at] {
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
    if (!asker_) {
      asker_ =
          started_.emplace_back(system_.spawn(asker, std::make_shared<const Replicas>(options_)));
    }
    caf::scoped_actor self(system_);
    Result<Ref<Reply>> result = Error(Errc::internal, "no answer");
    self->request(asker_, 20s, Ref<Request>(std::move(request)))
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
  Replicas options_;
  caf::actor asker_;
  caf::actor_system_config config_;
  caf::actor_system system_;
};

TEST_F(ReplicaClientTest, TheNearestReplicaAnswers) {
  add_replica(1, HolderDoes::answer);
  add_replica(2, HolderDoes::answer);

  for (int i = 0; i < 3; ++i) {
    ASSERT_OK_AND_ASSIGN(const auto number, who_answers());
    EXPECT_EQ(number, 1U);
  }
}

TEST_F(ReplicaClientTest, AnotherReplicaAnswersForOneThatDiesIsSilentOrRefuses) {
  for (const auto does : {HolderDoes::die, HolderDoes::say_nothing, HolderDoes::refuse}) {
    known_.clear();
    options_.actors.clear();
    asker_ = {};
    add_replica(1, does);
    add_replica(2, HolderDoes::answer);

    ASSERT_OK_AND_ASSIGN(const auto number, who_answers());
    EXPECT_EQ(number, 2U);
  }
}

TEST_F(ReplicaClientTest, ARequestWaitsForALostHolderToComeBack) {
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

TEST_F(ReplicaClientTest, APartIsGivenUpAfterTheRecoveryDeadlineWithTheLastReason) {
  add_replica(1, HolderDoes::die);
  add_replica(2, HolderDoes::refuse);

  const auto number = who_answers();

  EXPECT_ERROR(number, Errc::deadline_exceeded, "part 3: none of 2 holders answered");
  EXPECT_ERROR(number, Errc::deadline_exceeded, "full");
  EXPECT_ERROR(number, Errc::deadline_exceeded, "try:");
}

TEST_F(ReplicaClientTest, WhatNoReplicaCanMendIsAnsweredAtOnce) {
  add_replica(1, HolderDoes::fail);
  add_replica(2, HolderDoes::answer);

  EXPECT_ERROR(who_answers(), Errc::invalid_argument, "no such node");
}

TEST_F(ReplicaClientTest, AWriteReachesEveryReplicaBeforeItIsAnswered) {
  add_replica(1, HolderDoes::answer);
  add_replica(2, HolderDoes::answer);
  add_replica(3, HolderDoes::answer);

  ASSERT_OK(ask<net::Done>(WriteRows{}));

  EXPECT_EQ(*writes_, 3);
}

TEST_F(ReplicaClientTest, AWriteThatAReplicaCannotTakeFails) {
  add_replica(1, HolderDoes::answer);
  add_replica(2, HolderDoes::fail);

  EXPECT_ERROR(ask<net::Done>(WriteRows{}), Errc::invalid_argument, "no such node");
}

TEST_F(ReplicaClientTest, WhatOnlyTheNearestTakesGoesToNoOtherAndIsNotWaitedFor) {
  add_replica(1, HolderDoes::answer);
  add_replica(2, HolderDoes::answer);
  ASSERT_OK(ask<net::Done>(StoreTensor{}));
  EXPECT_EQ(*writes_, 1);

  replace(0, 1, HolderDoes::die);

  const auto began = std::chrono::steady_clock::now();
  EXPECT_ERROR(ask<net::Done>(StoreTensor{}), Errc::deadline_exceeded, "none of 1 holders");
  EXPECT_LT(std::chrono::steady_clock::now() - began, options_.recovery_deadline);
  EXPECT_EQ(*writes_, 2);
}

TEST_F(ReplicaClientTest, ARequestThatIsForgottenIsNotAnswered) {
  add_replica(1, HolderDoes::say_nothing);
  std::atomic<int> answers = 0;
  const auto to = std::make_shared<const Replicas>(options_);
  const auto forgetful = started_.emplace_back(
      system_.spawn([to, &answers](caf::stateful_actor<AskerState>* self) -> caf::behavior {
        self->state.client.emplace(self);
        return {
            [self, to, &answers](caf::put_atom) {
              self->state.client->request<HopReply>(
                  to, Ref<HopRequest>(HopRequest{}),
                  [&answers](const Result<Ref<HopReply>>&) { ++answers; });
            },
            [self](caf::delete_atom) { self->state.client->forget_all(); },
            run_continuation,
        };
      }));

  caf::anon_send(forgetful, caf::put_atom::value);
  caf::anon_send(forgetful, caf::delete_atom::value);
  caf::anon_send(forgetful, caf::put_atom::value);  // alone is answered
  std::this_thread::sleep_for(options_.recovery_deadline + 500ms);

  EXPECT_EQ(answers, 1);
}

}  // namespace
}  // namespace troupe
