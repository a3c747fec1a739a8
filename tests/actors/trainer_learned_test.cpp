// A trainer with learned rows: when it asks for those of the batch that comes next.
#include "actors/learner.hpp"
#include "actors/local_messages.hpp"
#include "actors/trainer.hpp"
#include "runtime/wire/messages.hpp"
#include "tests/actors/scripted_system.hpp"
#include "tests/runtime/feature/embedding_support.hpp"
#include "tests/support/expect.hpp"

#include <utility>
#include <vector>

namespace troupe {
namespace {

using testing::Asked;

constexpr std::size_t learned_parameters = 4;

/// Rank 0 with three batches, whose learner, holder, sampler and peer the test is.
class TrainerLearned : public ::testing::TestWithParam<std::uint32_t> {
 protected:
  TrainerLearned() {
    auto seeds = std::make_shared<SeedList>();
    for (std::uint64_t i = 0; i < 3 * std::uint64_t{world()}; ++i) {
      seeds->original.push_back(OriginalId{i});
      seeds->global.push_back(NodeId{i});
    }
    Replicas holders;
    holders.what = "part 0";
    holders.actors.emplace_back([this] { return holder_.handle(); });
    TrainerOptions options;
    options.world = world();
    options.ahead = {.first = 3, .most = 3};
    options.collect = std::make_shared<const CollectOptions>(off());
    options.orders["train"] = std::make_shared<const SeedOrder>(seeds, 1, 1, true);
    options.orders["val"] = std::make_shared<const SeedOrder>(seeds, 1, 1, false);
    options.learned = {testing::two_tables(world()),
                       graph_.book,
                       {std::make_shared<const Replicas>(std::move(holders))}};
    trainer_ = system_.add(
        "trainer",
        spawn_trainer(
            *system_, std::move(options),
            [this] {
              return DataPath{.samplers = {sampler_.handle()}, .collector = collector_.handle()};
            },
            {.actor = learner_.handle(), .num_parameters = learned_parameters, .out_dim = 1}));
    std::vector<caf::actor> ranks{trainer_};
    ranks.resize(world(), peer_.handle());
    caf::anon_send(trainer_, Ref<TrainerPeers>(TrainerPeers{ranks}));
    system_.run();
  }
  static CollectOptions off() {
    CollectOptions collect;
    collect.digest = DigestMode::off;
    return collect;
  }
  std::uint32_t world() const { return GetParam(); }

  void begin_epoch(std::uint32_t generation = 0) {
    director_.request(trainer_, net::EpochRequest{.generation = generation, .epoch = 0});
    system_.run();
    EXPECT_EQ(learner_.take<BeginLearning>()->epoch, 0U);
  }
  /// Has the oldest requested batch come; it is of one user.
  void serve_batch() {
    const auto asked = sampler_.take<SampleBatch>();
    auto sampled = std::make_shared<SampledBatch>();
    sampled->key = asked->key;
    sampled->seed_index.resize(1);
    sampled->nodes.resize(2);
    sampled->nodes[0].ids = {graph_.global(asked->key.number)};
    ReadyBatch ready;
    ready.batch.sampled = std::move(sampled);
    ready.batch.rows.resize(2);
    sampler_.answer(asked, std::move(ready));
    system_.run();
  }
  Asked<ReadLearned> take_read(std::uint64_t step) {
    auto read = holder_.take<ReadLearned>();
    EXPECT_EQ(read->step, step);
    EXPECT_EQ(read->nodes.size(), 1U);
    return read;
  }
  void answer(const Asked<ReadLearned>& read) {
    const auto at = static_cast<float>(read->step);
    holder_.answer(read, LearnedRows{Segment::of(std::vector<float>(3, at))});
    system_.run();
  }
  /// The learner has got the rows of a step, and makes a gradient.
  void train(std::uint64_t step) {
    const auto asked = learner_.take<TrainBatch>();
    EXPECT_EQ((*asked->learned)[0].view().row(0)[0], static_cast<float>(step));
    Trained trained;
    trained.mine.weight = 1;
    trained.mine.values = Segment::of(std::vector<float>(learned_parameters, 1));
    learner_.answer(asked, std::move(trained));
    system_.run();
    const auto share = holder_.take<SparseGradients>();
    EXPECT_EQ(share->step, step);
    holder_.answer(share, net::Done{});
    system_.run();
  }
  /// The other rank's share of the step comes: it has its rows, and now this rank knows.
  void peer_shares(std::uint64_t step, std::uint32_t generation = 0) {
    net::GradientChunk share;
    share.generation = generation;
    share.step = step;
    share.rank = Rank{1};
    share.weight = 1;
    share.values = Segment::of(std::vector<float>(learned_parameters / 2, 1));
    peer_.request(trainer_, std::move(share));
    system_.run();
  }
  /// The step's sums come from the other rank.
  void end_reduction() {
    const auto mine = peer_.take<net::GradientChunk>();
    net::GradientSum sum;
    sum.step = mine->step;
    sum.weight = 2;
    sum.values = Segment::of(std::vector<float>(learned_parameters / 2, 1));
    peer_.answer(mine, std::move(sum));
    system_.run();
  }
  void apply() {
    learner_.answer(learner_.take<ApplyStep>(), Applied{0.1});
    system_.run();
  }

  testing::CutGraph graph_ = testing::users_and_items(1);
  testing::ScriptedSystem system_;
  testing::ScriptedActor director_{system_, "director"};
  testing::ScriptedActor sampler_{system_, "sampler"};
  testing::ScriptedActor collector_{system_, "collector"};
  testing::ScriptedActor learner_{system_, "learner"};
  testing::ScriptedActor holder_{system_, "holder"};
  testing::ScriptedActor peer_{system_, "rank 1"};
  caf::actor trainer_;
};

TEST_P(TrainerLearned, AsksForTheNextRowsOnceAllRanksHaveThoseOfTheStep) {
  begin_epoch();
  serve_batch();
  serve_batch();
  answer(take_read(0));
  EXPECT_EQ(holder_.waiting(), 0U) << "another rank may still wait for rows of step 0";
  train(0);

  if (world() > 1) {
    EXPECT_EQ(holder_.waiting(), 0U);
    peer_shares(0);
  }
  const auto next = take_read(1);
  if (world() > 1) {
    end_reduction();
  }
  EXPECT_EQ(learner_.waiting(), 1U) << "the step's parameters are not there yet";
  answer(next);
  EXPECT_EQ(learner_.waiting(), 1U) << "a batch is not trained before the step under way is over";
  apply();

  train(1);
}

TEST_P(TrainerLearned, AsksWhenTheNextBatchComesLate) {
  begin_epoch();
  serve_batch();
  answer(take_read(0));
  train(0);
  if (world() > 1) {
    peer_shares(0);
    end_reduction();
  }
  EXPECT_EQ(holder_.waiting(), 0U);
  serve_batch();  // while the learner applies the step

  answer(take_read(1));
  apply();
  EXPECT_EQ(holder_.waiting(), 0U) << "asked for once";
  train(1);
  if (world() > 1) {
    peer_shares(1);
    end_reduction();
  }
  apply();
  serve_batch();  // between two steps
  answer(take_read(2));
  train(2);
}

TEST_P(TrainerLearned, AsksAnewAfterARollBack) {
  begin_epoch();
  serve_batch();
  serve_batch();
  answer(take_read(0));
  train(0);
  if (world() > 1) {
    peer_shares(0);
  }
  const auto old = take_read(1);
  net::Restore restore;
  restore.generation = 1;
  restore.state = std::make_shared<const net::TrainingState>();
  director_.request(trainer_, restore);
  system_.run();
  holder_.answer(holder_.take<BeginLearned>(), net::Done{});
  system_.run();
  while (learner_.waiting() > 1) {
    learner_.take<ApplyStep>();
  }
  learner_.answer(learner_.take<RestoreSnapshot>(), net::Done{});
  while (sampler_.waiting() > 0) {
    sampler_.take<SampleBatch>();
  }
  begin_epoch(1);
  serve_batch();
  serve_batch();

  answer(old);
  EXPECT_EQ(learner_.waiting(), 0U) << "rows of the generation before";
  const auto again = take_read(0);
  EXPECT_EQ(again->generation, 1U);
  EXPECT_EQ(holder_.waiting(), 0U) << "what was known of step 0 is forgotten";
  answer(again);
  train(0);
  if (world() > 1) {
    peer_.take<net::GradientChunk>();  // of the generation before
    peer_shares(0, 1);
  }
  EXPECT_EQ(take_read(1)->generation, 1U);
}

TEST_P(TrainerLearned, EvaluationAsksForOneBatchAfterTheOther) {
  director_.request(trainer_, net::ScoreRequest{.epoch = 0, .role = "val", .best = true});
  system_.run();
  serve_batch();
  serve_batch();

  const auto first = take_read(0);
  EXPECT_TRUE(first->best);
  EXPECT_EQ(holder_.waiting(), 0U);
  answer(first);
  learner_.answer(learner_.take<ScoreBatch>(),
                  Scored{std::make_shared<const Matrix>(Matrix::zeros(1, 1))});
  system_.run();
  EXPECT_TRUE(take_read(0)->best);
}

INSTANTIATE_TEST_SUITE_P(Ranks, TrainerLearned, ::testing::Values(1U, 2U),
                         [](const auto& test) { return test.param == 1 ? "one" : "two"; });

}  // namespace
}  // namespace troupe
