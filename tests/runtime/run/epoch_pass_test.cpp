#include "runtime/run/epoch_pass.hpp"

#include "runtime/run/epoch_counters.hpp"
#include "tests/support/expect.hpp"

#include <deque>
#include <limits>
#include <map>
#include <set>

namespace troupe {
namespace {

using Time = EpochPass::TimePoint;

/// A pass of one rank over a number of seeds in list order, two to a batch; its clock is the test's.
class PassTest : public ::testing::Test {
 protected:
  BatchesAheadOptions ahead_{.first = 2, .most = 2};
  PassTest() { position_.epoch = 5; }
  EpochPassOptions options(std::uint64_t seeds, Purpose purpose = Purpose::train) const {
    auto list = std::make_shared<SeedList>();
    for (std::uint64_t i = 0; i < seeds; ++i) {
      list->original.push_back(static_cast<OriginalId>(i));
      list->global.push_back(static_cast<NodeId>(i));
    }
    EpochPassOptions pass;
    pass.role = purpose == Purpose::train ? "train" : "val";
    pass.stream.order = std::make_shared<const SeedOrder>(list, 2, 3, false);
    pass.stream.purpose = purpose;
    pass.stream.epoch = 5;
    pass.stream.ahead = std::make_shared<BatchesAhead>(ahead_);
    pass.collect = std::make_shared<const CollectOptions>();
    return pass;
  }
  EpochPass begin(EpochPassOptions pass) { return {std::move(pass), position_, at(0)}; }
  static Time at(std::int64_t seconds) { return Time(std::chrono::seconds(seconds)); }

  /// A batch whose label is its number. The request's seeds are its nodes.
  static EpochPass::Ready ready(const SampleBatch& request) {
    auto sampled = std::make_shared<SampledBatch>();
    sampled->key = request.key;
    sampled->seed_index.resize(request.seeds.size());
    sampled->nodes.resize(1);
    sampled->nodes[0].ids = request.seeds;
    ReadyBatch made;
    made.batch.sampled = std::move(sampled);
    made.batch.rows.resize(1);
    for (const auto seed : request.seeds) {
      made.batch.rows[0].original_ids.push_back(static_cast<OriginalId>(raw(seed)));
      made.batch.labels.push_back(static_cast<std::int64_t>(raw(seed)));
    }
    made.trace.rows = request.seeds.size();
    return std::make_shared<const ReadyBatch>(std::move(made));
  }
  static std::deque<EpochPass::Request> request_all(EpochPass& pass) {
    std::deque<EpochPass::Request> all;
    while (auto one = pass.request()) {
      all.push_back(*std::move(one));
    }
    return all;
  }
  /// Requests what there is to request, and gives the answers.
  static void bring_batches(EpochPass& pass) {
    for (const auto& request : request_all(pass)) {
      pass.put(request.number, ready(request.batch));
    }
  }
  static Reduced sum_of(double loss, std::uint64_t weight, std::vector<Digest> batches = {}) {
    return {{}, weight, loss, std::move(batches)};
  }
  static std::uint64_t number_of(const EpochPass::Ready& batch) {
    return batch->batch.sampled->key.number;
  }

  net::TrainingState position_;
};

template <class T>
bool is(const EpochPass::Work& work) {
  return std::holds_alternative<T>(work);
}

// ---- batches ----

TEST_F(PassTest, TrainsBatchesInOrderHoweverTheyArrive) {
  auto pass = begin(options(6));
  auto requests = request_all(pass);
  ASSERT_EQ(requests.size(), 2U);

  pass.put(1, ready(requests[1].batch));
  EXPECT_TRUE(is<EpochPass::Wait>(pass.next(at(0))));
  pass.put(0, ready(requests[0].batch));
  const auto first = pass.next(at(0));
  ASSERT_TRUE(is<EpochPass::Train>(first));
  EXPECT_EQ(number_of(std::get<EpochPass::Train>(first).ready), 0U);
  EXPECT_TRUE(is<EpochPass::Wait>(pass.next(at(0)))) << "one at a time";
  pass.end_step();
  const auto second = pass.next(at(0));
  ASSERT_TRUE(is<EpochPass::Train>(second));
  EXPECT_EQ(number_of(std::get<EpochPass::Train>(second).ready), 1U);
}

TEST_F(PassTest, KnowsTheNextBatchesAndTheStepsThatTrainThem) {
  ahead_ = {.first = 4, .most = 4};
  position_.global_step = 40;
  auto pass = begin(options(20));
  const auto requests = request_all(pass);
  ASSERT_EQ(requests.size(), 4U);
  for (const std::size_t i : {0U, 1U, 3U}) {
    pass.put(requests[i].number, ready(requests[i].batch));
  }
  const auto known = [&](std::uint64_t most) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> found;
    for (const auto& [batch, step] : pass.ahead(most)) {
      found.emplace_back(number_of(batch), step);
    }
    return found;
  };
  using Known = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
  EXPECT_EQ(known(9), (Known{{0, 40}, {1, 41}})) << "up to the one that is missing";
  EXPECT_EQ(known(1), (Known{{0, 40}}));
  ASSERT_TRUE(is<EpochPass::Train>(pass.next(at(0))));
  EXPECT_EQ(known(9), (Known{{1, 41}}));
  pass.put(requests[2].number, ready(requests[2].batch));
  EXPECT_EQ(known(9), (Known{{1, 41}, {2, 42}, {3, 43}}));
  pass.end_step();
  EXPECT_EQ(known(9), (Known{{1, 41}, {2, 42}, {3, 43}}));
}

TEST_F(PassTest, ARequestHasTheJobsOptionsAndItsNumberInTheTrace) {
  auto of = options(6);
  of.sample = std::make_shared<const SampleOptions>();
  of.traced = true;
  of.stream.world = 2;
  of.stream.rank = Rank{1};
  auto pass = begin(of);

  const auto request = pass.request();

  ASSERT_TRUE(request);
  EXPECT_EQ(request->batch.key.number, 1U);
  EXPECT_EQ(request->batch.key.epoch, 5U);
  EXPECT_EQ(request->batch.seeds, (std::vector<NodeId>{NodeId{2}, NodeId{3}}));
  EXPECT_EQ(request->batch.sample, of.sample);
  EXPECT_EQ(request->batch.collect, of.collect);
  EXPECT_EQ(request->batch.options, BatchOptions::job);
  EXPECT_EQ(request->batch.flow, pass.flow(request->batch.key));
  EXPECT_NE(request->batch.flow, 0U);
}

TEST_F(PassTest, NumbersInTheTraceDifferByEpochPurposeAndBatch) {
  auto of = options(6);
  of.traced = true;
  const auto pass = begin(of);
  std::set<std::uint64_t> flows;

  for (const auto purpose : {Purpose::train, Purpose::evaluate}) {
    for (const std::uint32_t epoch : {0U, 1U}) {
      for (const std::uint64_t number : {0U, 1U}) {
        flows.insert(pass.flow({purpose, epoch, number}));
      }
    }
  }

  EXPECT_EQ(flows.size(), 8U);
  EXPECT_EQ(begin(options(6)).flow({Purpose::train, 0, 1}), 0U) << "without a trace";
}

TEST_F(PassTest, TheTimeWithoutABatchIsCounted) {
  auto pass = begin(options(4));
  const auto requests = request_all(pass);

  pass.next(at(1));
  pass.next(at(2));
  pass.put(0, ready(requests[0].batch));
  pass.next(at(4));
  EXPECT_EQ(pass.waited_since(), at(1));
  pass.end_step();
  pass.put(1, ready(requests[1].batch));
  pass.next(at(6));
  EXPECT_FALSE(pass.waited_since()) << "the second batch was there";
  pass.end_step();

  EXPECT_EQ(pass.finish_epoch(at(7)).counters.wait_ns, 3'000'000'000U);
}

TEST_F(PassTest, WaitsRaiseTheBatchesInFlightWhichAreCounted) {
  ahead_ = {.first = 2, .most = 3, .extra_bytes = 1 << 20};
  auto pass = begin(options(40));
  std::deque<EpochPass::Request> missing;
  std::vector<std::size_t> requested;
  for (int step = 0; step < 10; ++step) {
    const auto requests = request_all(pass);
    requested.push_back(requests.size());
    missing.insert(missing.end(), requests.begin(), requests.end());
    EXPECT_TRUE(is<EpochPass::Wait>(pass.next(at(10 * step))));
    pass.put(missing.front().number, ready(missing.front().batch));
    missing.pop_front();
    EXPECT_TRUE(is<EpochPass::Train>(pass.next(at(10 * step + 5))));
    pass.end_step();
  }

  EXPECT_EQ(requested, (std::vector<std::size_t>{2, 1, 1, 1, 1, 1, 1, 1, 1, 2}));
  EXPECT_EQ(pass.finish_epoch(at(100)).counters.batches_in_flight, 3U);
}

TEST_F(PassTest, TheLargestNumberOfBatchesInFlightIsThatOfAllRanks) {
  net::EpochCounters all;
  all.batches_in_flight = 7;
  net::EpochCounters of_rank;
  of_rank.batches_in_flight = 5;

  add_counters(all, of_rank);

  EXPECT_EQ(all.batches_in_flight, 7U);
}

TEST_F(PassTest, ABatchThatIsThereIsNotAwaited) {
  auto pass = begin(options(2));
  bring_batches(pass);

  pass.next(at(4));

  EXPECT_FALSE(pass.waited_since());
}

TEST_F(PassTest, NoWorkDuringAPause) {
  auto pass = begin(options(2));
  bring_batches(pass);

  pass.pause();
  EXPECT_TRUE(is<EpochPass::Wait>(pass.next(at(0))));
  pass.resume();
  EXPECT_TRUE(is<EpochPass::Train>(pass.next(at(1))));
  EXPECT_FALSE(pass.waited_since()) << "a pause is no wait for a batch";
}

// ---- steps without a batch of this rank's ----

TEST_F(PassTest, ARankWithFewerBatchesJoinsTheLastStep) {
  auto of = options(2);
  of.stream.world = 2;
  of.stream.rank = Rank{1};
  auto pass = begin(of);

  EXPECT_FALSE(pass.request());
  EXPECT_TRUE(is<EpochPass::JoinStep>(pass.next(at(0))));
  EXPECT_TRUE(is<EpochPass::Wait>(pass.next(at(0))));
  pass.end_step();
  EXPECT_TRUE(is<EpochPass::Finish>(pass.next(at(0))));
  EXPECT_EQ(position_.global_step, 1U);
}

TEST_F(PassTest, ARankWithFewerBatchesSkipsAStepWithoutAGradient) {
  for (const auto purpose : {Purpose::train, Purpose::evaluate}) {
    auto of = options(2, purpose);
    of.stream.world = 2;
    of.stream.rank = Rank{1};
    of.learns = purpose == Purpose::evaluate;
    auto pass = begin(of);

    EXPECT_TRUE(is<EpochPass::SkipStep>(pass.next(at(0))));
  }
}

// ---- the next epoch ----

TEST_F(PassTest, ThePassAfterItTakesOverWhatWasRequestedAhead) {
  auto of = options(6);
  of.next = of.stream;
  of.next->epoch = 6;
  auto pass = begin(of);
  std::deque<EpochPass::Request> early;
  while (!pass.over()) {
    for (auto& request : request_all(pass)) {
      EXPECT_EQ(request.ahead, request.batch.key.epoch == 6);
      request.ahead ? early.push_back(std::move(request))
                    : pass.put(request.number, ready(request.batch));
    }
    ASSERT_TRUE(is<EpochPass::Train>(pass.next(at(0))));
    pass.end_step();
  }
  ASSERT_EQ(early.size(), 1U) << "one while the last batch was trained on";
  early.push_back(*pass.request());
  EXPECT_FALSE(pass.request()) << "two in flight";
  pass.put(early[1].number, ready(early[1].batch));
  const auto result = pass.finish_epoch(at(1));
  EXPECT_EQ(result.counters.batches, 3U);
  EXPECT_EQ(result.counters.seeds, 6U);

  auto after = options(6);
  after.stream.epoch = 6;
  EpochPass next(after, position_, at(2), pass.take_next());

  EXPECT_FALSE(next.request()) << "both are known to be under way or here";
  next.put(early[0].number, ready(early[0].batch));
  for (const std::uint64_t number : {0U, 1U, 2U}) {
    bring_batches(next);
    const auto work = next.next(at(3));
    ASSERT_TRUE(is<EpochPass::Train>(work));
    EXPECT_EQ(number_of(std::get<EpochPass::Train>(work).ready), number);
    next.end_step();
  }
  EXPECT_EQ(next.finish_epoch(at(4)).counters.batches, 3U);
}

TEST_F(PassTest, HintsAtItsBatchesAndThenAtThoseOfTheNextEpoch) {
  auto of = options(6);
  of.stream.lookahead = 3;
  of.next = of.stream;
  of.next->epoch = 6;
  auto pass = begin(of);
  const auto hinted = [](EpochPass& by) {
    std::vector<std::pair<std::uint32_t, std::uint64_t>> keys;
    while (const auto hint = by.hint()) {
      EXPECT_EQ(hint->ahead, hint->batch.key.epoch == 6);
      EXPECT_EQ(hint->batch.turn, hint->batch.key.epoch * 3 + hint->batch.key.number);
      EXPECT_EQ(hint->batch.seeds.size(), 2U);
      keys.emplace_back(hint->batch.key.epoch, hint->batch.key.number);
    }
    return keys;
  };
  using Keys = std::vector<std::pair<std::uint32_t, std::uint64_t>>;

  EXPECT_EQ(request_all(pass).size(), 2U);
  EXPECT_EQ(hinted(pass), (Keys{{5, 2}, {6, 0}, {6, 1}}));
  EXPECT_EQ(hinted(pass), Keys{});

  pass.drop_next();
  EXPECT_EQ(hinted(pass), Keys{}) << "the next epoch asks for its own";
}

TEST_F(PassTest, WhatWasHintedAtOfTheNextEpochIsNotHintedAtAgain) {
  auto of = options(2);
  of.stream.lookahead = 2;
  of.next = of.stream;
  of.next->epoch = 6;
  of.next->order = options(10).stream.order;
  auto pass = begin(of);
  pass.request();
  EXPECT_EQ(pass.hint()->batch.key.number, 0U);
  EXPECT_EQ(pass.hint()->batch.key.number, 1U);
  EXPECT_FALSE(pass.hint());

  auto after = options(10);
  after.stream.lookahead = 2;
  after.stream.epoch = 6;
  EpochPass next(after, position_, at(0), pass.take_next());

  EXPECT_FALSE(next.hint());
  EXPECT_EQ(request_all(next).size(), 2U) << "they are requested all the same";
  EXPECT_EQ(next.hint()->batch.key.number, 2U);
}

TEST_F(PassTest, EvaluationGivesNoHintsOfItsOwnAndItsBatchesHaveNoTurn) {
  auto of = options(6, Purpose::evaluate);
  auto pass = begin(of);
  EXPECT_FALSE(pass.hint());
  EXPECT_EQ(pass.request()->batch.turn, std::nullopt);
}

TEST_F(PassTest, WhatWasBegunForAnotherEpochIsDropped) {
  auto of = options(2);
  of.next = of.stream;
  of.next->epoch = 6;
  auto pass = begin(of);
  request_all(pass);

  auto other = options(6);
  other.stream.epoch = 7;
  EpochPass unlike(other, position_, at(0), pass.take_next());

  EXPECT_EQ(request_all(unlike).size(), 2U);
  EXPECT_FALSE(unlike.take_next());
}

TEST_F(PassTest, AfterADropNothingIsRequestedAhead) {
  auto of = options(2);
  of.next = of.stream;
  of.next->epoch = 6;
  auto pass = begin(of);
  ASSERT_EQ(request_all(pass).size(), 2U) << "its only one, and one of the next epoch";

  pass.drop_next();

  EXPECT_FALSE(pass.request());
  EXPECT_FALSE(pass.take_next());
}

// ---- an epoch of training ----

TEST_F(PassTest, AnEpochAdvancesThePositionStepByStep) {
  position_.global_step = 40;
  auto pass = begin(options(4));

  for (const std::uint64_t step : {1U, 2U}) {
    bring_batches(pass);
    ASSERT_TRUE(is<EpochPass::Train>(pass.next(at(0))));
    EXPECT_OK(pass.take_sum(sum_of(1.5, 2)));
    pass.end_step();
    EXPECT_EQ(position_.step, step);
    EXPECT_EQ(position_.global_step, 40 + step);
  }

  EXPECT_TRUE(pass.over());
  EXPECT_TRUE(is<EpochPass::Finish>(pass.next(at(0))));
  const auto result = pass.finish_epoch(at(7));
  EXPECT_EQ(result.epoch, 5U);
  EXPECT_EQ(result.loss_sum, 3.0);
  EXPECT_EQ(result.loss_weight, 4U);
  EXPECT_EQ(result.wall_ns, 7'000'000'000U);
  EXPECT_EQ(result.counters.batches, 2U);
  EXPECT_EQ(result.counters.rows, 4U);
  EXPECT_EQ(position_.epoch, 6U);
  EXPECT_EQ(position_.step, 0U);
  EXPECT_EQ(position_.global_step, 42U);
  EXPECT_EQ(position_.loss_sum, 0.0);
  EXPECT_EQ(position_.loss_weight, 0U);
}

TEST_F(PassTest, AnEpochContinuesAtItsStepWithTheLossSoFar) {
  position_.step = 1;
  position_.loss_sum = 2.5;
  position_.loss_weight = 2;
  auto of = options(4);
  of.stream.first_step = position_.step;
  auto pass = begin(of);

  bring_batches(pass);
  const auto work = pass.next(at(0));
  ASSERT_TRUE(is<EpochPass::Train>(work));
  EXPECT_EQ(number_of(std::get<EpochPass::Train>(work).ready), 1U);
  EXPECT_OK(pass.take_sum(sum_of(1.5, 2)));
  pass.end_step();

  const auto result = pass.finish_epoch(at(1));
  EXPECT_EQ(result.loss_sum, 4.0);
  EXPECT_EQ(result.loss_weight, 4U);
  EXPECT_EQ(result.counters.batches, 1U) << "of this part of the epoch";
}

TEST_F(PassTest, TheDigestOfTheRunCoversAllRanksBatchesInRankOrder) {
  const Digest before{1, 2};
  const Digest of_rank_0{3, 4};
  const Digest of_rank_1{5, 6};
  position_.batches = before;
  auto pass = begin(options(4));

  EXPECT_OK(pass.take_sum(sum_of(0, 2, {of_rank_0, of_rank_1})));

  EXPECT_EQ(position_.batches, chain(chain(before, of_rank_0), of_rank_1));
}

TEST_F(PassTest, TimesOfTrainingAndReducingAreCounted) {
  auto pass = begin(options(4));

  pass.trained(std::chrono::nanoseconds(5));
  pass.trained(std::chrono::nanoseconds(7));
  pass.reduced(std::chrono::nanoseconds(3));

  const auto counters = pass.finish_epoch(at(0)).counters;
  EXPECT_EQ(counters.train_ns, 12U);
  EXPECT_EQ(counters.reduce_ns, 3U);
}

TEST_F(PassTest, AStepIsReportedWithItsMeanLoss) {
  auto pass = begin(options(4));
  bring_batches(pass);
  pass.next(at(0));
  EXPECT_OK(pass.take_sum(sum_of(3, 2)));
  pass.applied(0.25);
  pass.end_step();

  const auto report = pass.report(at(2));
  EXPECT_EQ(report.epoch, 5U);
  EXPECT_EQ(report.step, 1U);
  EXPECT_EQ(report.steps, 2U);
  EXPECT_EQ(report.global_step, 1U);
  EXPECT_EQ(report.loss, 1.5);
  EXPECT_EQ(report.lr, 0.25);
  EXPECT_EQ(report.seconds, 2.0) << "since the pass began";
  EXPECT_EQ(pass.report(at(5)).seconds, 3.0) << "since the last report";
}

TEST_F(PassTest, AStepWithoutLabelsHasNoLoss) {
  auto pass = begin(options(4));
  EXPECT_OK(pass.take_sum(sum_of(0, 0)));
  pass.applied(0.25);
  pass.end_step();

  const auto report = pass.report(at(2));

  EXPECT_EQ(report.loss, 0.0);
  EXPECT_EQ(report.lr, 0.0);
}

TEST_F(PassTest, ALossThatIsNotFiniteEndsTheEpochAtItsStep) {
  auto pass = begin(options(4));
  EXPECT_OK(pass.take_sum(sum_of(3, 2)));
  pass.end_step();

  EXPECT_ERROR(pass.take_sum(sum_of(std::numeric_limits<double>::quiet_NaN(), 2)),
               Errc::failed_precondition, "the loss of step 2 of epoch 6 is not a number");
  EXPECT_ERROR(pass.take_sum(sum_of(-std::numeric_limits<double>::infinity(), 2)),
               Errc::failed_precondition, "infinite");
  EXPECT_EQ(position_.loss_sum, 3.0);
}

// ---- batches that are only taken ----

TEST_F(PassTest, WithoutALearnerBatchesAreDigestedAsTheyCome) {
  auto of = options(4);
  auto collect = std::make_shared<CollectOptions>();
  collect->digest = DigestMode::full;
  of.collect = collect;
  of.learns = false;
  auto pass = begin(of);
  Digest expected;

  while (!pass.over()) {
    bring_batches(pass);
    const auto work = pass.next(at(0));
    ASSERT_TRUE(is<EpochPass::Count>(work));
    const auto& batch = *std::get<EpochPass::Count>(work).ready;
    expected = chain(expected, digest_batch(batch.batch, DigestMode::full));
    EXPECT_OK(pass.count(batch));
    pass.end_step();
  }

  EXPECT_EQ(pass.finish_epoch(at(0)).batches, expected);
}

TEST_F(PassTest, ABatchWithoutOriginalIdsCannotBeDigested) {
  auto of = options(2);
  auto collect = std::make_shared<CollectOptions>();
  collect->digest = DigestMode::full;
  of.collect = collect;
  auto pass = begin(of);
  ReadyBatch torn;
  torn.batch.sampled = ready(pass.request()->batch)->batch.sampled;
  torn.batch.rows.resize(1);

  EXPECT_ERROR(pass.count(torn), Errc::data_corruption, "original ids");
  EXPECT_EQ(position_.batches, Digest());
}

TEST_F(PassTest, WithoutDigestsNothingIsDigested) {
  auto of = options(2);
  auto collect = std::make_shared<CollectOptions>();
  collect->digest = DigestMode::off;
  of.collect = collect;
  auto pass = begin(of);

  EXPECT_OK(pass.count(*ready(pass.request()->batch)));
  EXPECT_EQ(position_.batches, Digest());
}

// ---- sampled evaluation ----

/// Outputs of a batch's seeds: seed s has s and -s.
Matrix outputs_of(const ReadyBatch& ready) {
  const auto& seeds = ready.batch.sampled->nodes[0].ids;
  auto outputs = Matrix::zeros(seeds.size(), 2);
  for (std::size_t i = 0; i < seeds.size(); ++i) {
    outputs.view().row(i)[0] = static_cast<float>(raw(seeds[i]));
    outputs.view().row(i)[1] = -static_cast<float>(raw(seeds[i]));
  }
  return outputs;
}

TEST_F(PassTest, AllRanksTogetherScoreEverySeedOnce) {
  std::map<std::uint64_t, std::int64_t> labels;
  for (const std::uint32_t rank : {0U, 1U}) {
    auto of = options(7, Purpose::evaluate);
    of.stream.world = 2;
    of.stream.rank = static_cast<Rank>(rank);
    auto pass = begin(of);
    while (!pass.over()) {
      bring_batches(pass);
      const auto work = pass.next(at(0));
      ASSERT_TRUE(is<EpochPass::Score>(work));
      const auto& batch = *std::get<EpochPass::Score>(work).ready;
      pass.scored(batch, outputs_of(batch));
      pass.end_step();
    }
    const auto scores = pass.finish_scores(2);
    EXPECT_EQ(scores.cols, 2U);
    const auto outputs = scores.outputs.as<float>();
    ASSERT_EQ(outputs.size(), scores.positions.size() * 2);
    for (std::size_t i = 0; i < scores.positions.size(); ++i) {
      EXPECT_TRUE(labels.emplace(scores.positions[i], scores.labels[i]).second);
      EXPECT_EQ(outputs[2 * i], static_cast<float>(scores.positions[i]));
    }
  }

  EXPECT_EQ(labels.size(), 7U);
  for (const auto& [position, label] : labels) {
    EXPECT_EQ(static_cast<std::uint64_t>(label), position);
  }
  EXPECT_EQ(position_.global_step, 0U) << "an evaluation is no step of training";
}

TEST_F(PassTest, TargetsOfSeveralLabelsAreScoredEntryByEntry) {
  auto pass = begin(options(2, Purpose::evaluate));
  const auto request = pass.request();
  ReadyBatch multi;
  multi.batch.sampled = ready(request->batch)->batch.sampled;
  multi.batch.targets = Matrix::zeros(2, 2);
  multi.batch.targets.view().row(0)[1] = 1;
  multi.batch.targets.view().row(1)[0] = std::numeric_limits<float>::quiet_NaN();

  pass.scored(multi, outputs_of(multi));

  EXPECT_EQ(pass.finish_scores(2).labels, (std::vector<std::int64_t>{0, 1, -1, 0}));
}

// ---- requests that are made again ----

TEST_F(PassTest, AnEpochIsTheAnswerToItsRequestAlone) {
  const auto pass = begin(options(2));

  EXPECT_TRUE(pass.answers(net::EpochRequest{.generation = 0, .epoch = 5}));
  EXPECT_FALSE(pass.answers(net::EpochRequest{.generation = 0, .epoch = 6}));
  EXPECT_FALSE(pass.answers(net::ScoreRequest{.epoch = 5, .role = "train"}));
}

TEST_F(PassTest, AnEvaluationIsTheAnswerToItsRequestAlone) {
  auto of = options(2, Purpose::evaluate);
  of.best = true;
  const auto pass = begin(of);

  EXPECT_TRUE(pass.answers(pass.score_request()));
  EXPECT_TRUE(pass.answers(net::ScoreRequest{.epoch = 5, .role = "val", .best = true}));
  EXPECT_FALSE(pass.answers(net::ScoreRequest{.epoch = 5, .role = "val"}));
  EXPECT_FALSE(pass.answers(net::ScoreRequest{.epoch = 5, .role = "test", .best = true}));
  EXPECT_FALSE(pass.answers(net::ScoreRequest{.epoch = 4, .role = "val", .best = true}));
  EXPECT_FALSE(pass.answers(net::EpochRequest{.generation = 0, .epoch = 5}));
}

}  // namespace
}  // namespace troupe
