// A trainer between generations: fenced, restored, or left behind.
#include "actors/local_messages.hpp"
#include "actors/trainer.hpp"
#include "runtime/wire/messages.hpp"
#include "tests/actors/scripted_system.hpp"
#include "tests/support/expect.hpp"

namespace troupe {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t parameters = 3 * 2 * 2 + 2;  // one layer, 3 to 2

/// The other rank: in the generation given with the last message. For each share that it takes it
/// brings one that adds nothing.
struct PeerState {
  std::uint32_t generation = 0;
};
caf::behavior fake_peer(caf::stateful_actor<PeerState>* self) {
  return {
      [self](std::uint32_t generation) { self->state.generation = generation; },
      [self](const Ref<net::GradientChunk>& share) -> caf::result<Ref<net::GradientSum>> {
        if (share->generation < self->state.generation) {
          return to_caf(Error(Errc::fenced, "generation 0 is over"));
        }
        net::GradientChunk mine;
        mine.generation = share->generation;
        mine.step = share->step;
        self->request(caf::actor_cast<caf::actor>(self->current_sender()), 10s,
                      Ref<net::GradientChunk>(std::move(mine)))
            .then([](const Ref<net::GradientSum>&) {}, [](const caf::error&) {});
        net::GradientSum sum;
        sum.values = Segment::of(std::vector<float>(parameters / 2, 0.F));
        sum.weight = share->weight;
        return Ref<net::GradientSum>(std::move(sum));
      },
  };
}

TrainerOptions lone_batch_options(std::chrono::milliseconds fenced_for) {
  auto seeds = std::make_shared<SeedList>();
  seeds->original = {OriginalId{0}};
  seeds->global = {NodeId{0}};
  auto collect = std::make_shared<CollectOptions>();
  collect->digest = DigestMode::off;
  TrainerOptions options;
  options.rank = Rank{1};  // rank 0 has the only batch; this one adds weight 0
  options.world = 2;
  options.collect = collect;
  options.orders["train"] = std::make_shared<const SeedOrder>(seeds, 1, 1, true);
  options.orders["val"] = std::make_shared<const SeedOrder>(seeds, 1, 1, false);
  options.learner.model.layers = 1;
  options.learner.model.in_dim = 3;
  options.learner.model.out_dim = 2;
  options.fenced_for = fenced_for;
  return options;
}

class TrainerFencing : public ::testing::Test {
 protected:
  void start(std::chrono::milliseconds fenced_for) {
    auto options = lone_batch_options(fenced_for);
    auto learner = spawn_learner(*system_, options.learner, system_.executor());
    ASSERT_OK(learner);
    system_.add("learner", learner->actor);
    trainer_ = system_.add("trainer", spawn_trainer(
                                          *system_, std::move(options),
                                          [this] {
                                            return DataPath{.samplers = {sampler_.handle()},
                                                            .collector = collector_.handle()};
                                          },
                                          *std::move(learner)));
    peer_ = system_.add("peer", (*system_).spawn(fake_peer));
    caf::anon_send(trainer_, Ref<TrainerPeers>(TrainerPeers{{peer_, peer_}}));
    system_.run();
  }
  /// The peers begin a generation without this rank.
  void peers_begin(std::uint32_t generation) {
    caf::anon_send(peer_, generation);
    system_.run();
  }
  template <class Request>
  std::uint64_t begin(Request request) {
    const auto asked = director_.request(trainer_, std::move(request));
    system_.run();
    return asked;
  }
  template <class Reply, class Request>
  Result<Ref<Reply>> ask(Request request) {
    return director_.answer_to<Reply>(begin(std::move(request)));
  }
  /// Back to where the first epoch begins.
  Status restore(std::uint32_t generation) {
    TROUPE_ASSIGN_OR_RETURN(const auto now, ask<net::StateReply>(net::TakeState{generation_}));
    net::TrainingState from = *now->state;
    from.epoch = 0;
    from.step = 0;
    from.global_step = 0;
    net::Restore request;
    request.generation = generation;
    request.state = std::make_shared<const net::TrainingState>(std::move(from));
    generation_ = generation;
    TROUPE_RETURN_IF_ERROR(ask<net::Done>(std::move(request)));
    return ok_status();
  }
  Result<Ref<net::EpochResult>> train(std::uint32_t generation) {
    net::EpochRequest request;
    request.generation = generation;
    return ask<net::EpochResult>(request);
  }

  testing::ScriptedSystem system_;
  testing::ScriptedActor director_{system_, "director"};
  testing::ScriptedActor sampler_{system_, "sampler"};
  testing::ScriptedActor collector_{system_, "collector"};
  std::uint32_t generation_ = 0;
  caf::actor trainer_;
  caf::actor peer_;
};

// A link that breaks asks again for what may have been answered. Computed again, the scores would stand in the way
// of the next epoch (`troupe simulate` found it).
TEST_F(TrainerFencing, ScoresThatWereAnsweredAreNotComputedAgainForTheSameQuestion) {
  start(50ms);
  const net::ScoreRequest question{0, "val"};
  ASSERT_OK_AND_ASSIGN(const auto first, ask<net::ScoreResult>(question));

  ASSERT_OK_AND_ASSIGN(const auto again, ask<net::ScoreResult>(question));
  ASSERT_OK_AND_ASSIGN(const auto other, ask<net::ScoreResult>(net::ScoreRequest{1, "val"}));
  ASSERT_OK_AND_ASSIGN(const auto third, ask<net::ScoreResult>(question));

  EXPECT_EQ(&*again, &*first);
  EXPECT_NE(&*other, &*first);
  EXPECT_NE(&*third, &*first) << "only the last answer is kept";
  ASSERT_OK(restore(1));
  ASSERT_OK_AND_ASSIGN(const auto restored, ask<net::ScoreResult>(question));
  EXPECT_NE(&*restored, &*third) << "of other parameters";
}

TEST_F(TrainerFencing, AFencedTrainerThatIsRestoredTrainsOn) {
  start(50ms);
  peers_begin(1);
  EXPECT_ERROR(train(0), Errc::fenced, "reducing with rank");

  ASSERT_OK(restore(1));
  system_.run_for(150ms);  // past the time in which it would have ended

  ASSERT_OK_AND_ASSIGN(const auto result, train(1));
  EXPECT_EQ(result->epoch, 0U);
}

TEST_F(TrainerFencing, AFencedTrainerThatNobodyRestoresEnds) {
  start(50ms);
  peers_begin(1);
  EXPECT_ERROR(train(0), Errc::fenced, "");

  system_.run_for(49ms);
  EXPECT_FALSE(system_.end_of(trainer_).has_value());
  system_.run_for(1ms);

  const auto end = system_.end_of(trainer_);
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->code(), Errc::fenced);
}

TEST_F(TrainerFencing, RequestsOfAnotherGenerationAreRefused) {
  start(10s);
  ASSERT_OK(restore(2));

  EXPECT_ERROR(train(1), Errc::fenced, "asked to train in generation 1, is in 2");
  EXPECT_ERROR(train(3), Errc::failed_precondition, "asked to train in generation 3, is in 2");
  EXPECT_ERROR(ask<net::StateReply>(net::TakeState{1}), Errc::fenced, "");
  EXPECT_ERROR(ask<net::Done>(net::Restore{.generation = 1}), Errc::fenced, "generation 1 is over");
  net::GradientChunk late;
  late.generation = 1;
  EXPECT_ERROR(ask<net::GradientSum>(late), Errc::fenced, "");
  EXPECT_OK(train(2));
}

TEST_F(TrainerFencing, AStateOfOtherSizesIsNotTaken) {
  start(10s);
  auto state = std::make_shared<net::TrainingState>();
  state->parameters = {1.F, 2.F};

  EXPECT_ERROR(ask<net::Done>(net::Restore{1, state}), Errc::data_corruption, "rank 1");
}

TEST_F(TrainerFencing, AStateIsGivenAtTheStepAskedForAndHasItsPosition) {
  start(10s);
  const auto later = begin(net::TakeState{.generation = 0, .multiple_of = 1});
  EXPECT_FALSE(director_.is_answered(later));

  ASSERT_OK(train(0));

  ASSERT_OK_AND_ASSIGN(const auto reply, director_.answer_to<net::StateReply>(later));
  EXPECT_EQ(reply->state->global_step, 1U);
  EXPECT_EQ(reply->state->epoch, 1U);
  EXPECT_EQ(reply->state->step, 0U);
  EXPECT_EQ(reply->state->parameters.size(), parameters);
}

}  // namespace
}  // namespace troupe
