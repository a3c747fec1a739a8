#include "runtime/run/conductor.hpp"

#include "tests/support/expect.hpp"

#include <algorithm>

namespace troupe {
namespace {

std::shared_ptr<const SeedList> seed_list(std::size_t n) {
  auto list = std::make_shared<SeedList>();
  for (std::size_t i = 0; i < n; ++i) {
    list->original.push_back(static_cast<OriginalId>(i));
    list->global.push_back(static_cast<NodeId>(i));
  }
  return list;
}

ConductorOptions conductor_options(std::uint32_t epochs, std::uint32_t every) {
  ConductorOptions o;
  o.epochs = epochs;
  o.eval_every = every;
  o.seeds = {{"train", seed_list(4)}, {"val", seed_list(4)}, {"test", seed_list(2)}};
  return o;
}

/// Outputs for `n` seeds of class 0, of which the first `right` are classified rightly.
net::ScoreResult scores(std::size_t n, std::size_t right) {
  net::ScoreResult result;
  result.cols = 2;
  std::vector<float> outputs;
  for (std::size_t i = 0; i < n; ++i) {
    result.positions.push_back(i);
    result.labels.push_back(0);
    outputs.insert(outputs.end(), {i < right ? 1.0F : 0.0F, 0.5F});
  }
  result.outputs = Segment::of(std::move(outputs));
  return result;
}

/// Answers whatever the conductor asks; writes down what that was.
class Troupe {
 public:
  explicit Troupe(ConductorOptions o)
      : conductor_(o, [this](const EpochRecord& e) { progress.push_back(e.epoch + 1); }) {}

  void play(const std::vector<std::size_t>& right_by_evaluation) {
    right_ = right_by_evaluation;
    for (auto command = conductor_.next(); !std::holds_alternative<RunOver>(command);
         command = conductor_.next()) {
      ASSERT_LT(log.size(), 200U);
      const Status taken = std::holds_alternative<ToTrainers>(command)
                               ? answer(std::get<ToTrainers>(command).command)
                               : answer(std::get<ToEvaluators>(command).command);
      ASSERT_OK(taken);
    }
  }
  const RunRecord& record() const { return conductor_.record(); }
  const OutputsOfRoles& outputs() const { return conductor_.outputs(); }

  std::vector<std::string> log;
  std::vector<std::uint32_t> progress;
  std::vector<bool> ahead;  ///< By request to the trainers: whether the next epoch follows

 private:
  Status answer(const TrainerCommand& command) {
    if (const auto* epoch = std::get_if<net::EpochRequest>(&command)) {
      log.push_back("epoch " + std::to_string(epoch->epoch + 1));
      ahead.push_back(epoch->next_follows);
      net::EpochResult result;
      result.loss_sum = 6;
      result.loss_weight = 4;
      result.epoch = epoch->epoch;
      result.batches = Digest{epoch->epoch, 7};
      return conductor_.take_epochs({result});
    }
    if (std::holds_alternative<net::KeepBest>(command)) {
      log.push_back("keep");
      return conductor_.take_kept();
    }
    if (const auto* score = std::get_if<net::ScoreRequest>(&command)) {
      log.push_back((score->best ? "sampled best " : "sampled ") + score->role);
      ahead.push_back(score->next_follows);
      return conductor_.take_scores({score->role == "test" ? scores(2, 1) : next_scores()});
    }
    log.push_back("finish");
    return conductor_.take_finished({net::FinishResult{Rank{0}, {1, 2}, {3, 4}}});
  }
  Status answer(const EvaluatorCommand& command) {
    if (const auto* infer = std::get_if<net::InferRequest>(&command)) {
      log.push_back((infer->best ? "infer best " : "infer ") + std::to_string(infer->layer));
      return conductor_.take_inferred({});
    }
    const auto role = std::get<net::ScoreRequest>(command).role;
    log.push_back("score " + role);
    return conductor_.take_scores({role == "test" ? scores(2, 1) : next_scores()});
  }
  net::ScoreResult next_scores() {
    const auto right = right_.at(std::min(evaluations_, right_.size() - 1));
    ++evaluations_;
    return scores(4, right);
  }

 public:
  /// Goes on from a state of another run, and scores as that one did from there on.
  Status restore(const TrainingState& training, const RunRecord& record) {
    evaluations_ = static_cast<std::size_t>(std::ranges::count_if(
        record.epochs, [](const auto& e) { return e.over && e.valid.has_value(); }));
    return conductor_.restore(training, record);
  }

 private:
  Conductor conductor_;
  std::vector<std::size_t> right_;
  std::size_t evaluations_ = 0;
};

TEST(Conductor, LeadsThroughEpochsEvaluationsAndTheEnd) {
  auto o = conductor_options(2, 1);
  o.stages = 2;
  Troupe troupe(o);

  troupe.play({1, 3, 3});

  EXPECT_EQ(troupe.log, (std::vector<std::string>{
                            "epoch 1", "infer 0", "infer 1", "score val", "keep", "epoch 2",
                            "infer 0", "infer 1", "score val", "keep", "infer best 0",
                            "infer best 1", "score val", "score test", "finish"}));
  EXPECT_EQ(troupe.record().best_epoch, 1U);
  EXPECT_EQ(troupe.record().valid->accuracy, 0.75);
  EXPECT_EQ(troupe.record().test->accuracy, 0.5);
  EXPECT_EQ(troupe.record().epochs[0].loss, 1.5);
}

TEST(Conductor, SaysWhichPassTheNextEpochFollows) {
  const auto said = [](ConductorOptions o) {
    Troupe troupe(std::move(o));
    troupe.play({1});
    return troupe.ahead;
  };
  using Said = std::vector<bool>;
  EXPECT_EQ(said(conductor_options(3, 1)), (Said{true, true, false})) << "evaluators score";
  auto sampled = conductor_options(3, 2);
  sampled.eval_exact = false;
  // Epoch 1, its evaluation, epoch 2 without one, epoch 3 with its own.
  EXPECT_EQ(said(sampled), (Said{false, true, true, false, false}));
  sampled.seeds.erase("val");
  EXPECT_EQ(said(sampled), (Said{true, true, false})) << "nothing is scored";
  auto taking = conductor_options(2, 1);
  taking.train_only = true;
  taking.eval_exact = false;
  EXPECT_EQ(said(taking), (Said{true, false}));
}

TEST(Conductor, EvaluatesAfterTheFirstEpochThenEveryNthAndTheLast) {
  Troupe troupe(conductor_options(6, 2));

  troupe.play({1});

  std::vector<std::string> schedule;
  std::ranges::copy_if(troupe.log, std::back_inserter(schedule), [](const std::string& entry) {
    return entry.starts_with("epoch") || entry == "infer 0";
  });
  EXPECT_EQ(schedule,
            (std::vector<std::string>{"epoch 1", "infer 0", "epoch 2", "epoch 3", "infer 0",
                                      "epoch 4", "epoch 5", "infer 0", "epoch 6", "infer 0"}));
  EXPECT_EQ(troupe.progress, (std::vector<std::uint32_t>{1, 2, 3, 4, 5, 6}));
}

TEST(Conductor, EndsTrainingWhenItsPatienceIsOut) {
  auto options = conductor_options(9, 1);
  options.patience = 2;
  Troupe troupe(options);
  troupe.play({1, 2, 1, 3, 3, 2, 4});

  EXPECT_EQ(troupe.progress, (std::vector<std::uint32_t>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(troupe.record().best_epoch, 3U);
  EXPECT_TRUE(troupe.record().test);
  EXPECT_EQ(troupe.log.back(), "finish");
  // No batches are made ahead for an epoch that the evaluation may call off.
  EXPECT_EQ(troupe.ahead, (std::vector<bool>{true, true, true, false, true, false}));
}

TEST(Conductor, PatienceCountsEvaluationsAndNotEpochs) {
  auto options = conductor_options(20, 3);
  options.patience = 2;
  Troupe troupe(options);
  troupe.play({4, 1, 2, 3});
  EXPECT_EQ(troupe.progress.back(), 7U) << "evaluated after epochs 1, 4 and 7";

  options.eval_exact = false;
  Troupe sampled(options);
  sampled.play({4, 1, 2, 3});
  EXPECT_EQ(sampled.progress.back(), 7U);
  EXPECT_FALSE(sampled.ahead.at(sampled.ahead.size() - 1)) << "the pass of the last evaluation";

  options.seeds.erase("val");
  Troupe without(options);
  without.play({});
  EXPECT_EQ(without.progress.back(), 20U);
}

TEST(Conductor, KeepsTheFirstOfEquallyGoodEpochs) {
  Troupe troupe(conductor_options(4, 1));

  troupe.play({1, 3, 3, 2, 3});

  EXPECT_EQ(troupe.record().best_epoch, 1U);
  EXPECT_EQ(std::ranges::count(troupe.log, "keep"), 2);
}

TEST(Conductor, ReportsTheBestEpochAmongThoseThatWereEvaluated) {
  Troupe troupe(conductor_options(6, 2));

  troupe.play({1, 3, 2, 2});  // epochs 1, 3, 5, 6

  EXPECT_EQ(troupe.record().best_epoch, 2U);
  EXPECT_TRUE(troupe.record().epochs[2].best);
}

TEST(Conductor, ScoresSampledBatchesWhileTrainingButTheEndExactly) {
  auto o = conductor_options(1, 1);
  o.eval_exact = false;
  Troupe troupe(o);

  troupe.play({2});

  EXPECT_EQ(troupe.log, (std::vector<std::string>{"epoch 1", "sampled val", "keep", "infer best 0",
                                                  "score val", "score test", "finish"}));
}

TEST(Conductor, ScoresSampledBatchesAtTheEndTooWhereThereIsNoExactInference) {
  auto o = conductor_options(2, 1);
  o.eval_exact = false;
  o.final_exact = false;
  o.stages = 0;
  o.eval_partial = true;
  o.keep_outputs = {"test"};
  Troupe troupe(o);

  troupe.play({3, 2, 3});

  EXPECT_EQ(troupe.log,
            (std::vector<std::string>{"epoch 1", "sampled val", "keep", "epoch 2", "sampled val",
                                      "sampled best val", "sampled best test", "finish"}));
  EXPECT_EQ(troupe.record().valid->accuracy, 0.75);
  EXPECT_EQ(troupe.record().test->accuracy, 0.5);
  EXPECT_EQ(troupe.outputs().at("test")->rows(), 2U);
}

TEST(Conductor, TakesTheLastEpochWhereNothingCanBeValidated) {
  auto o = conductor_options(3, 1);
  o.seeds.erase("val");
  Troupe troupe(o);

  troupe.play({1});

  EXPECT_EQ(troupe.record().best_epoch, 2U);
  EXPECT_FALSE(troupe.record().valid);
  EXPECT_TRUE(troupe.record().test);
}

TEST(Conductor, InfersNothingWhereNothingIsScored) {
  auto o = conductor_options(2, 1);
  o.seeds.erase("val");
  o.seeds["test"] = seed_list(0);
  Troupe troupe(o);

  troupe.play({1});

  EXPECT_EQ(troupe.log, (std::vector<std::string>{"epoch 1", "keep", "epoch 2", "keep", "finish"}));
  EXPECT_EQ(troupe.record().best_epoch, 1U);
  EXPECT_FALSE(troupe.record().valid || troupe.record().test);
  EXPECT_TRUE(troupe.outputs().empty());
}

TEST(Conductor, KeepsTheOutputsOfOneFinalRole) {
  auto o = conductor_options(1, 1);
  o.keep_outputs = {"test"};
  Troupe keeping(o);
  Troupe forgetting(conductor_options(1, 1));
  keeping.play({3});
  forgetting.play({3});

  ASSERT_EQ(keeping.outputs().size(), 1U);
  const auto rows = keeping.outputs().at("test")->view();
  EXPECT_EQ(std::vector<float>(rows.flat().begin(), rows.flat().end()),
            (std::vector<float>{1.0F, 0.5F, 0.0F, 0.5F}));
  EXPECT_TRUE(forgetting.outputs().empty());
}

TEST(Conductor, InfersWithoutTrainingWhereNoEpochIsAskedFor) {
  auto o = conductor_options(0, 1);
  o.stages = 2;
  o.seeds["inference 0"] = seed_list(4);
  o.seeds["inference 1"] = seed_list(4);
  o.final_roles = {"inference 0", "inference 1"};
  o.keep_outputs = o.final_roles;
  Troupe troupe(o);
  troupe.play({2});

  EXPECT_EQ(troupe.log,
            (std::vector<std::string>{"infer best 0", "infer best 1", "score inference 0",
                                      "score inference 1", "finish"}));
  EXPECT_EQ(troupe.outputs().at("inference 0")->rows(), 4U);
  EXPECT_EQ(troupe.outputs().at("inference 1")->rows(), 4U);
  EXPECT_FALSE(troupe.record().valid || troupe.record().test);
}

TEST(Conductor, FindsRanksThatSawOtherBatches) {
  auto o = conductor_options(1, 1);
  o.world = 2;
  Conductor conductor(o, {});
  net::EpochResult first;
  first.batches = Digest{1, 2};
  net::EpochResult second;
  second.rank = Rank{1};
  second.batches = Digest{1, 3};

  EXPECT_ERROR(conductor.take_epochs({first, second}), Errc::internal, "rank 1 saw other batches");
}

TEST(Conductor, GoesOnFromAnyPointAsIfNothingHadHappened) {
  const std::vector<std::size_t> right = {1, 3, 2, 4, 3, 3};
  Troupe undisturbed(conductor_options(4, 2));
  undisturbed.play(right);

  for (std::uint32_t epoch = 0; epoch <= 4; ++epoch) {
    // A state from before the evaluation may come with a record that has its scores already.
    for (const auto& [evaluated, scored] :
         {std::pair(false, false), std::pair(false, true), std::pair(true, true)}) {
      if (epoch == 0 && !evaluated) {
        continue;
      }
      TrainingState training;
      training.epoch = epoch;
      auto record = undisturbed.record();
      record.epochs.resize(epoch);
      if (!evaluated) {
        record.epochs.back().over = false;
      }
      if (!scored) {
        record.epochs.back().valid.reset();
        record.epochs.back().best = false;
      }
      Troupe resumed(conductor_options(4, 2));
      ASSERT_OK(resumed.restore(training, record));

      resumed.play(right);

      EXPECT_EQ(resumed.record().best_epoch, undisturbed.record().best_epoch) << epoch;
      ASSERT_EQ(resumed.record().epochs.size(), 4U);
      for (std::size_t e = 0; e < 4; ++e) {
        EXPECT_EQ(resumed.record().epochs[e].best, undisturbed.record().epochs[e].best)
            << "from epoch " << epoch << (evaluated ? "" : " not evaluated")
            << (scored ? "" : " not scored") << ", epoch " << e;
      }
      EXPECT_EQ(resumed.log.back(), "finish");
    }
  }
}

TEST(Conductor, EndsWithItsPatienceFromAnyPoint) {
  const std::vector<std::size_t> right{1, 2, 1, 3, 3, 2, 4};
  auto options = conductor_options(9, 1);
  options.patience = 2;
  Troupe undisturbed(options);
  undisturbed.play(right);
  ASSERT_EQ(undisturbed.record().epochs.size(), 6U);

  for (std::uint32_t epoch = 1; epoch <= 6; ++epoch) {
    for (const bool over : {false, true}) {
      TrainingState training;
      training.epoch = epoch;
      auto record = undisturbed.record();
      record.epochs.resize(epoch);
      record.epochs.back().over = over;
      Troupe resumed(options);
      ASSERT_OK(resumed.restore(training, record));

      resumed.play(right);

      EXPECT_EQ(resumed.record().epochs.size(), 6U) << epoch << over;
      EXPECT_EQ(resumed.record().best_epoch, 3U) << epoch << over;
      EXPECT_EQ(resumed.log.back(), "finish");
    }
  }
}

TEST(Conductor, RefusesACheckpointThatDoesNotFit) {
  Conductor conductor(conductor_options(2, 1), {});
  TrainingState beyond;
  beyond.epoch = 3;
  TrainingState inside_the_next;
  inside_the_next.epoch = 2;
  inside_the_next.step = 2;
  RunRecord of_two;
  of_two.epochs.resize(2);
  TrainingState without_record;
  without_record.epoch = 1;

  EXPECT_ERROR(conductor.restore(beyond, {}), Errc::failed_precondition, "at most 2 epochs");
  EXPECT_ERROR(conductor.restore(inside_the_next, of_two), Errc::failed_precondition,
               "found 2 epochs, 2 steps");
  EXPECT_ERROR(conductor.restore(without_record, {}), Errc::failed_precondition, "0 records");
}

TEST(Conductor, RefusesScoresWithGapsRepeatsOrWrongSizes) {
  const auto score_after_epoch = [](net::ScoreResult result) {
    auto o = conductor_options(1, 1);
    o.eval_exact = false;
    Conductor conductor(o, {});
    net::EpochResult trained;
    trained.loss_weight = 4;
    EXPECT_OK(conductor.take_epochs({trained}));
    return conductor.take_scores({std::move(result)});
  };
  auto repeated = scores(4, 1);
  repeated.positions[1] = 0;
  auto short_outputs = scores(4, 1);
  short_outputs.cols = 3;

  EXPECT_ERROR(score_after_epoch(scores(3, 1)), Errc::data_corruption, "expected 4 seeds, found 3");
  EXPECT_ERROR(score_after_epoch(repeated), Errc::data_corruption, "given twice");
  EXPECT_ERROR(score_after_epoch(short_outputs), Errc::data_corruption, "3 columns");
}

TEST(Conductor, StopsWhenTheLossIsNotANumber) {
  Conductor conductor(conductor_options(1, 1), {});
  net::EpochResult result;
  result.loss_sum = std::numeric_limits<double>::quiet_NaN();
  result.loss_weight = 1;

  EXPECT_ERROR(conductor.take_epochs({result}), Errc::failed_precondition,
               "lower train.optimizer.lr");
}

TEST(Conductor, StopsWhenNoSeedHasALabel) {
  Conductor conductor(conductor_options(1, 1), {});

  EXPECT_ERROR(conductor.take_epochs({net::EpochResult{}}), Errc::failed_precondition,
               "expected seeds with labels, or pairs to learn from, in epoch 1, found none");

  auto weighted = conductor_options(2, 1);
  weighted.weightless_epochs = true;
  EXPECT_OK(Conductor(weighted, {}).take_epochs({net::EpochResult{}}));
}

TEST(Conductor, FindsRanksWhoseParametersDiffer) {
  Conductor conductor(conductor_options(1, 1), {});

  EXPECT_ERROR(conductor.take_finished({net::FinishResult{Rank{0}, {1, 1}, {1, 1}},
                                        net::FinishResult{Rank{1}, {2, 1}, {1, 1}}}),
               Errc::internal, "rank 1 differ");
}

}  // namespace
}  // namespace troupe
