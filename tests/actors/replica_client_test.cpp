#include "actors/replica_client.hpp"

#include "actors/offload.hpp"
#include "runtime/feature/tensor_messages.hpp"
#include "runtime/feature/tensor_rows.hpp"
#include "runtime/sample/one_hop.hpp"
#include "runtime/wire/messages.hpp"
#include "tests/actors/scripted_system.hpp"
#include "tests/support/expect.hpp"

#include <deque>
#include <fmt/format.h>

namespace troupe {
namespace {

using namespace std::chrono_literals;
using testing::Asked;
using testing::MessageTrace;
using testing::ScriptedActor;

/// Has the client drop what it has requested.
struct Forget {};

struct ClientState {
  std::optional<ReplicaClient> client;
};
/// Has each request answered by the replicas.
caf::behavior client_of(caf::stateful_actor<ClientState>* self,
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
      [=, &client](const Ref<WriteTensor>& write) {
        client.request_all<net::Done, WriteTensor>({{to, write}}, answer());
      },
      [=, &client](const Ref<StoreTensor>& store) {
        client.request_nearest<net::Done>(to, false, store, answer());
      },
      [&client](const Ref<Forget>&) { client.forget_all(); },
      run_continuation,
  };
}

/// A part with any number of scripted holders, nearest first, which the test can replace.
class ReplicaClientTest : public ::testing::Test {
 protected:
  ReplicaClientTest() {
    options_.what = "part 3";
    options_.request_deadline = 200ms;
    options_.recovery_deadline = 1500ms;
    options_.first_pause = 5ms;
  }

  /// Starts the client of a part with so many holders.
  void start(std::size_t holders) {
    for (std::size_t i = 0; i < holders; ++i) {
      known_.push_back(add_holder().handle());
      options_.actors.emplace_back([this, i] { return known_[i]; });
    }
    client_ = system_.add("client",
                          (*system_).spawn(client_of, std::make_shared<const Replicas>(options_)));
  }
  ScriptedActor& add_holder() {
    return holders_.emplace_back(system_, fmt::format("holder {}", holders_.size()));
  }
  template <class Request>
  std::uint64_t ask(Request request) {
    const auto number = asker_.request(client_, std::move(request));
    system_.run();
    return number;
  }
  /// Answers with the holder's number as the only count.
  void answer(std::size_t holder, const Asked<HopRequest>& asked) {
    HopReply reply;
    reply.counts = {static_cast<std::uint32_t>(holder)};
    holders_[holder].answer(asked, std::move(reply));
    system_.run();
  }
  void answer(std::size_t holder) { answer(holder, holders_[holder].take<HopRequest>()); }
  void fail(std::size_t holder, const Error& why) {
    holders_[holder].fail(holders_[holder].take<HopRequest>(), why);
    system_.run();
  }
  /// The number of the holder that answered.
  Result<std::uint32_t> who_answered(std::uint64_t asked) const {
    TROUPE_ASSIGN_OR_RETURN(const auto reply, asker_.answer_to<HopReply>(asked));
    return reply->counts.at(0);
  }
  void expect_answer_of(std::size_t holder, std::uint64_t asked) const {
    ASSERT_OK_AND_ASSIGN(const auto number, who_answered(asked));
    EXPECT_EQ(number, holder);
  }

  testing::ScriptedSystem system_;
  ScriptedActor asker_{system_, "asker"};
  std::deque<ScriptedActor> holders_;
  std::vector<caf::actor> known_;
  Replicas options_;
  caf::actor client_;
};

TEST_F(ReplicaClientTest, TheNearestReplicaAnswers) {
  start(2);

  for (int i = 0; i < 3; ++i) {
    const auto asked = ask(HopRequest{});
    answer(0);
    expect_answer_of(0, asked);
  }
  EXPECT_EQ(holders_[1].waiting(), 0U);
}

TEST_F(ReplicaClientTest, AnotherReplicaAnswersForOneThatDies) {
  start(2);
  const auto asked = ask(HopRequest{});

  holders_[0].end();
  system_.run();
  answer(1);

  expect_answer_of(1, asked);
  EXPECT_EQ(system_.take_trace(), (MessageTrace{"asker -> client: HopRequest",     //
                                                "client -> holder 0: HopRequest",  //
                                                "holder 0 -> client: down",        //
                                                "client -> holder 1: HopRequest",  //
                                                "holder 1 -> client: HopReply",    //
                                                "client -> asker: HopReply"}));
}

TEST_F(ReplicaClientTest, AReplyFromAfterTheLossIsDropped) {
  start(2);
  const auto asked = ask(HopRequest{});
  const auto late = holders_[0].take<HopRequest>();

  holders_[0].end();
  answer(0, late);
  EXPECT_FALSE(asker_.is_answered(asked));
  answer(1);

  expect_answer_of(1, asked);
}

TEST_F(ReplicaClientTest, AnotherReplicaAnswersForOneThatIsSilent) {
  start(2);
  const auto asked = ask(HopRequest{});
  const auto late = holders_[0].take<HopRequest>();

  system_.run_for(199ms);
  EXPECT_EQ(holders_[1].waiting(), 0U);
  system_.run_for(1ms);
  answer(0, late);
  EXPECT_FALSE(asker_.is_answered(asked)) << "it is not waited for any longer";
  answer(1);

  expect_answer_of(1, asked);
}

TEST_F(ReplicaClientTest, AnotherReplicaAnswersForOneThatRefuses) {
  start(2);
  const auto asked = ask(HopRequest{});

  fail(0, Error(Errc::overloaded, "full"));
  answer(1);

  expect_answer_of(1, asked);
}

TEST_F(ReplicaClientTest, AReplicaThatIsDeadWhenItIsAskedCountsOnce) {
  start(3);
  holders_[0].end();

  const auto asked = ask(HopRequest{});
  EXPECT_EQ(holders_[1].waiting(), 1U);
  EXPECT_EQ(holders_[2].waiting(), 0U) << "neither its down message nor its error skips a replica";
  answer(1);

  expect_answer_of(1, asked);
}

TEST_F(ReplicaClientTest, ARequestWaitsForALostHolderToComeBack) {
  start(1);
  const auto asked = ask(HopRequest{});

  known_[0] = {};
  holders_[0].end();
  system_.run_for(100ms);
  EXPECT_FALSE(asker_.is_answered(asked));
  known_[0] = add_holder().handle();
  system_.run_for(100ms);
  answer(1);

  expect_answer_of(1, asked);
}

TEST_F(ReplicaClientTest, PausesBetweenRoundsGrow) {
  start(1);
  ask(HopRequest{});

  for (const auto pause : {5ms, 10ms, 20ms, 40ms}) {
    fail(0, Error(Errc::overloaded, "full"));
    system_.run_for(pause - 1ms);
    EXPECT_EQ(holders_[0].waiting(), 0U) << pause.count() << " ms";
    system_.run_for(1ms);
    ASSERT_EQ(holders_[0].waiting(), 1U) << pause.count() << " ms";
  }
}

TEST_F(ReplicaClientTest, APartIsGivenUpAfterTheRecoveryDeadlineWithTheLastReason) {
  start(2);
  const auto asked = ask(HopRequest{});
  holders_[0].end();
  system_.run();

  for (int i = 0; i < 100 && !asker_.is_answered(asked); ++i) {
    fail(1, Error(Errc::overloaded, "full"));
    for (auto waited = 0ms; waited < 1s && holders_[1].waiting() == 0; waited += 1ms) {
      system_.run_for(1ms);
    }
  }

  const auto number = who_answered(asked);
  EXPECT_ERROR(number, Errc::deadline_exceeded, "part 3: none of 2 holders answered");
  EXPECT_ERROR(number, Errc::deadline_exceeded, "full");
  EXPECT_ERROR(number, Errc::deadline_exceeded, "try:");
}

TEST_F(ReplicaClientTest, WhatNoReplicaCanMendIsAnsweredAtOnce) {
  start(2);
  const auto asked = ask(HopRequest{});

  fail(0, Error(Errc::invalid_argument, "no such node"));

  EXPECT_ERROR(who_answered(asked), Errc::invalid_argument, "no such node");
  EXPECT_EQ(holders_[1].waiting(), 0U);
}

TEST_F(ReplicaClientTest, AWriteReachesEveryReplicaBeforeItIsAnswered) {
  start(3);
  const auto asked = ask(WriteTensor{});

  for (const std::size_t i : {2U, 0U, 1U}) {
    EXPECT_FALSE(asker_.is_answered(asked));
    holders_[i].answer(holders_[i].take<WriteTensor>(), net::Done{});
    system_.run();
  }

  EXPECT_OK(asker_.answer_to<net::Done>(asked));
  EXPECT_EQ(asker_.answers(asked), 1U);
}

TEST_F(ReplicaClientTest, AWriteThatAReplicaCannotTakeFailsOnce) {
  start(2);
  const auto asked = ask(WriteTensor{});

  for (auto& holder : holders_) {
    holder.fail(holder.take<WriteTensor>(), Error(Errc::invalid_argument, "no such node"));
    system_.run();
  }

  EXPECT_ERROR(asker_.answer_to<net::Done>(asked), Errc::invalid_argument, "no such node");
  EXPECT_EQ(asker_.answers(asked), 1U);
}

TEST_F(ReplicaClientTest, WhatOnlyTheNearestTakesGoesToNoOtherAndIsNotWaitedFor) {
  start(2);
  const auto stored = ask(StoreTensor{});
  holders_[0].answer(holders_[0].take<StoreTensor>(), net::Done{});
  system_.run();
  EXPECT_OK(asker_.answer_to<net::Done>(stored));

  const auto lost = ask(StoreTensor{});
  holders_[0].end();
  system_.run_for(0ms);

  EXPECT_ERROR(asker_.answer_to<net::Done>(lost), Errc::deadline_exceeded, "none of 1 holders");
  EXPECT_EQ(holders_[1].waiting(), 0U);
}

TEST_F(ReplicaClientTest, ARequestThatIsForgottenIsNotAnswered) {
  start(1);
  const auto forgotten = ask(HopRequest{});
  const auto late = holders_[0].take<HopRequest>();
  ask(Forget{});
  const auto asked = ask(HopRequest{});

  answer(0, late);
  answer(0);
  system_.run_for(10s);  // past every deadline

  EXPECT_FALSE(asker_.is_answered(forgotten));
  expect_answer_of(0, asked);
}

}  // namespace
}  // namespace troupe
