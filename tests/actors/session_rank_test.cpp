// The actor behind a session: what the ranks do together, and the batches of one rank.
#include "actors/session_rank.hpp"

#include "actors/error.hpp"
#include "actors/local_messages.hpp"
#include "tests/actors/idle_actor.hpp"
#include "tests/support/expect.hpp"

#include <caf/all.hpp>

#include <array>
#include <atomic>
#include <future>
#include <thread>

namespace troupe {
namespace {

using namespace std::chrono_literals;

/// Requests for batches, by epoch.
using AskedOfEpochs = std::array<std::atomic<int>, 3>;

/// Answers with a batch that has as many seeds as were asked for, or dies; counts requests and hints.
caf::behavior serving_sampler(caf::event_based_actor* self, bool dies, AskedOfEpochs* counts,
                              AskedOfEpochs* hints) {
  return {
      [=](const Ref<SampleBatch>& request) -> caf::result<Ref<ReadyBatch>> {
        ++counts->at(request->key.epoch);
        if (dies) {
          self->quit(caf::exit_reason::kill);
          return caf::delegated<Ref<ReadyBatch>>();
        }
        auto sampled = std::make_shared<SampledBatch>();
        sampled->key = request->key;
        sampled->seed_index.resize(request->seeds.size());
        ReadyBatch ready;
        ready.batch.sampled = std::move(sampled);
        return Ref<ReadyBatch>(std::move(ready));
      },
      [=](const Ref<SampleAhead>& ahead) {
        EXPECT_EQ(ahead->request->turn, ahead->request->key.epoch * 7 + ahead->request->key.number);
        ++hints->at(ahead->request->key.epoch);
      },
  };
}

/// Ranks that know each other, with 7 seeds in batches of 1.
class SessionRanks : public ::testing::Test {
 protected:
  void start(std::uint32_t world, int deaths = 0) {
    auto seeds = std::make_shared<SeedList>();
    for (std::uint64_t i = 0; i < 7; ++i) {
      seeds->original.push_back(static_cast<OriginalId>(i));
      seeds->global.push_back(static_cast<NodeId>(i));
    }
    deaths_ = deaths;
    SessionRankOptions options;
    options.world = world;
    options.ahead = {.first = 2, .most = 2};
    options.order = std::make_shared<const SeedOrder>(seeds, 1, 1, true);
    options.sample = std::make_shared<const SampleOptions>();
    options.collect = std::make_shared<const CollectOptions>();
    options.epochs = epochs_;
    options.lookahead = lookahead_;
    TrainerPeers peers;
    for (std::uint32_t r = 0; r < world; ++r) {
      options.rank = static_cast<Rank>(r);
      peers.trainers.push_back(spawn_session_rank(system_, options, [this] {
        return DataPath{{system_.spawn(serving_sampler, deaths_-- > 0, &asked_, &hinted_)},
                        system_.spawn(testing::idle)};
      }));
    }
    ranks_ = peers.trainers;
    for (const auto& rank : ranks_) {
      caf::anon_send(rank, Ref<TrainerPeers>(peers));
    }
  }
  ~SessionRanks() override {
    for (const auto& rank : ranks_) {
      caf::anon_send_exit(rank, caf::exit_reason::kill);
    }
  }

  template <class Reply, class Request>
  Result<Ref<Reply>> ask(std::uint32_t rank, Request request) {
    caf::scoped_actor self(system_);
    Result<Ref<Reply>> answer = Error(Errc::internal, "no answer");
    self->request(ranks_[rank], 30s, Ref<Request>(std::move(request)))
        .receive([&](const Ref<Reply>& reply) { answer = reply; },
                 [&](const caf::error& error) { answer = from_caf(error); });
    return answer;
  }
  using Answer = Result<Ref<Together>>;
  std::future<Answer> begin(std::uint32_t rank, Contribute request) {
    return std::async(std::launch::async, [this, rank, what = std::move(request)] {
      return ask<Together>(rank, what);
    });
  }
  static Contribute barrier(std::chrono::milliseconds deadline = 20s) {
    Contribute request;
    request.deadline = deadline;
    return request;
  }
  static Contribute reduce(Collective what, std::vector<float> values, std::uint64_t weight = 1,
                           std::chrono::milliseconds deadline = 20s) {
    Contribute request;
    request.what = what;
    request.values = Segment::of(std::move(values));
    request.weight = weight;
    request.deadline = deadline;
    return request;
  }
  /// All at once, the last rank first.
  std::vector<Answer> all(std::vector<Contribute> requests) {
    std::vector<std::future<Answer>> open(requests.size());
    for (auto r = static_cast<std::uint32_t>(requests.size()); r-- > 0;) {
      open[r] = begin(r, std::move(requests[r]));
    }
    std::vector<Answer> answers;
    for (auto& answer : open) {
      answers.push_back(answer.get());
    }
    return answers;
  }

  std::uint32_t epochs_ = 0;
  AskedOfEpochs asked_{};
  AskedOfEpochs hinted_{};
  std::uint32_t lookahead_ = 0;
  caf::actor_system_config config_;
  caf::actor_system system_{config_};
  std::atomic<int> deaths_{0};
  std::vector<caf::actor> ranks_;
};

TEST_F(SessionRanks, SumsAreAddedInRankOrder) {
  start(3);
  // In another order the small numbers would survive.
  const auto share = [](float x) { return reduce(Collective::sum, std::vector<float>(4, x)); };

  const auto answers = all({share(1e8F), share(1), share(-1e8F)});

  for (const auto& answer : answers) {
    ASSERT_OK(answer);
    EXPECT_EQ((*answer)->values, std::vector<float>(4, (1e8F + 1) - 1e8F));
    EXPECT_EQ((*answer)->weight, 3U);
  }
}

TEST_F(SessionRanks, AMeanIsDividedByTheTotalWeightAndWeightZeroAddsNothing) {
  start(3);

  const auto answers =
      all({reduce(Collective::mean, {2, 4}, 3), reduce(Collective::mean, {9, 9}, 0),
           reduce(Collective::mean, {2, 8}, 1)});

  for (const auto& answer : answers) {
    ASSERT_OK(answer);
    EXPECT_EQ((*answer)->values, (std::vector<float>{1, 3}));
    EXPECT_EQ((*answer)->weight, 4U);
  }
}

TEST_F(SessionRanks, VectorsShorterThanTheWorldAndEmptyOnesWork) {
  start(3);

  for (const std::size_t size : {std::size_t{1}, std::size_t{0}, std::size_t{2}}) {
    const auto share = reduce(Collective::sum, std::vector<float>(size, 2));
    for (const auto& answer : all({share, share, share})) {
      ASSERT_OK(answer);
      EXPECT_EQ((*answer)->values, std::vector<float>(size, 6));
    }
  }
}

TEST_F(SessionRanks, AStepGathersTheBatchesInRankOrder) {
  start(3);
  const auto step = [](std::optional<Digest> batch, double number) {
    Contribute request;
    request.what = Collective::step;
    request.batch = batch;
    request.number = number;
    request.deadline = 20s;
    return request;
  };

  const auto answers = all({step(Digest{1, 0}, 3), step(std::nullopt, 0), step(Digest{2, 0}, 0)});

  for (const auto& answer : answers) {
    ASSERT_OK(answer);
    EXPECT_EQ((*answer)->batches, (std::vector<Digest>{{1, 0}, {2, 0}}));
    EXPECT_EQ((*answer)->number, 3);
  }
}

TEST_F(SessionRanks, RanksThatDoDifferentThingsAreTold) {
  start(2);

  const auto answers = all({reduce(Collective::sum, {1}), barrier()});

  for (const auto& answer : answers) {
    EXPECT_ERROR(answer, Errc::invalid_argument, "all ranks must make the same calls");
    EXPECT_NE(testing::what_of(answer).find("all_reduce"), std::string::npos);
    EXPECT_NE(testing::what_of(answer).find("barrier"), std::string::npos);
  }
  EXPECT_ERROR(ask<Together>(0, barrier()), Errc::invalid_argument, "the same calls");
}

TEST_F(SessionRanks, RanksInStepsOfDifferentEpochsAreTold) {
  start(3);
  const auto step = [](std::uint32_t epoch) {
    Contribute request;
    request.what = Collective::step;
    request.epoch = epoch;
    request.deadline = 20s;
    return request;
  };
  for (const auto& answer : all({step(7), step(7), step(7)})) {
    EXPECT_OK(answer);
  }

  for (const auto& answer : all({step(7), step(7), step(8)})) {
    EXPECT_ERROR(answer, Errc::invalid_argument, "all ranks must make the same calls");
    EXPECT_NE(testing::what_of(answer).find("in end_step of epoch(7)"), std::string::npos);
    EXPECT_NE(testing::what_of(answer).find("in end_step of epoch(8)"), std::string::npos);
  }
}

TEST_F(SessionRanks, VectorsOfDifferentLengthsAreRefused) {
  start(2);

  const auto answers = all({reduce(Collective::sum, {1, 2}), reduce(Collective::sum, {1, 2, 3})});

  for (const auto& answer : answers) {
    EXPECT_ERROR(answer, Errc::invalid_argument, "another length");
  }
}

TEST_F(SessionRanks, ABarrierNamesTheMissingRanksAtItsDeadlineAndMayBeAskedAgain) {
  start(3);
  auto first = begin(1, barrier());

  auto early = ask<Together>(0, barrier(1ms));
  for (int i = 0; i < 5000 && testing::what_of(early).find("1, 2") != std::string::npos; ++i) {
    early = ask<Together>(0, barrier(1ms));  // rank 1 is on its way
  }
  EXPECT_ERROR(early, Errc::deadline_exceeded, "barrier of rank 0: missing ranks 2");

  auto again = begin(0, barrier());
  EXPECT_OK(ask<Together>(2, barrier()));
  EXPECT_OK(again.get());
  EXPECT_OK(first.get());
}

TEST_F(SessionRanks, ABarrierThatEndsWhileNobodyAsksIsOverWhenAskedAgain) {
  start(2);
  EXPECT_ERROR(ask<Together>(0, barrier(1ms)), Errc::deadline_exceeded, "missing ranks 1");
  EXPECT_OK(ask<Together>(1, barrier()));  // rank 0's part of it is there

  EXPECT_OK(ask<Together>(0, barrier()));

  for (const auto& answer : all({reduce(Collective::sum, {1}), reduce(Collective::sum, {2})})) {
    ASSERT_OK(answer);
    EXPECT_EQ((*answer)->values, std::vector<float>{3});
  }
}

TEST_F(SessionRanks, ABarrierThatWasGivenUpMustBeAskedAgainBeforeAnythingElse) {
  start(2);
  EXPECT_ERROR(ask<Together>(0, barrier(1ms)), Errc::deadline_exceeded, "missing ranks 1");

  EXPECT_ERROR(ask<Together>(0, reduce(Collective::sum, {1})), Errc::failed_precondition,
               "expected the barrier to be over first, got all_reduce; try: barrier() again");
}

TEST_F(SessionRanks, ASumThatRunsIntoItsDeadlineFailsAllThatFollow) {
  start(2);

  EXPECT_ERROR(ask<Together>(0, reduce(Collective::sum, {1}, 1, 20ms)), Errc::deadline_exceeded,
               "all_reduce of rank 0: missing ranks 1");

  EXPECT_ERROR(ask<Together>(1, reduce(Collective::sum, {1})), Errc::deadline_exceeded,
               "reducing with rank 0");
  EXPECT_ERROR(ask<Together>(0, barrier()), Errc::deadline_exceeded, "missing ranks 1");
}

TEST_F(SessionRanks, ARankThatEndsFailsWhatOthersWaitFor) {
  start(2);
  auto waits = begin(0, barrier());

  caf::anon_send(ranks_[1],
                 Ref<EndRank>(EndRank{Error(Errc::failed_precondition, "rank 1 has ended")}));

  EXPECT_ERROR(waits.get(), Errc::failed_precondition, "rank 1 has ended");
  EXPECT_ERROR(ask<Together>(0, barrier()), Errc::failed_precondition, "rank 1 has ended");
  EXPECT_ERROR(ask<TakenBatch>(1, NextBatch{}), Errc::failed_precondition, "rank 1 has ended");
  EXPECT_ERROR(ask<EpochBegun>(1, BeginEpoch{}), Errc::failed_precondition, "rank 1 has ended");
}

TEST_F(SessionRanks, ALostRankFailsWhatOthersWaitFor) {
  start(2);
  caf::anon_send_exit(ranks_[1], caf::exit_reason::kill);

  EXPECT_FALSE(ask<Together>(0, barrier(1s)).ok());
}

TEST_F(SessionRanks, StatesOfAStepAreGatheredByRank) {
  start(2);
  const auto state_of = [](std::uint8_t rank) {
    net::TrainingState state;
    state.global_step = 5;
    state.blobs["rank"] = {std::byte{rank}};
    return std::make_shared<const net::TrainingState>(std::move(state));
  };
  auto gathered =
      std::async(std::launch::async, [this] { return ask<GatheredStates>(0, GatherStates{5}); });

  EXPECT_OK(ask<net::Done>(1, OfferState{state_of(1)}));
  EXPECT_OK(ask<net::Done>(0, OfferState{state_of(0)}));

  ASSERT_OK_AND_ASSIGN(const auto states, gathered.get());
  ASSERT_EQ(states->states.size(), 2U);
  EXPECT_EQ(states->states[0]->blobs.at("rank"), std::vector{std::byte{0}});
  EXPECT_EQ(states->states[1]->blobs.at("rank"), std::vector{std::byte{1}});
}

/// The numbers of the batches of an epoch, -1 for one that the rank did not own.
Result<std::vector<int>> numbers_of_epoch(
    const std::function<Result<Ref<TakenBatch>>()>& next_batch) {
  std::vector<int> numbers;
  for (;;) {
    TROUPE_ASSIGN_OR_RETURN(const auto taken, next_batch());
    if (!taken->ready) {
      return numbers;
    }
    const auto& sampled = *taken->ready->batch.sampled;
    EXPECT_EQ(sampled.seed_index.size(), taken->own ? 1U : 0U);
    numbers.push_back(taken->own ? static_cast<int>(sampled.key.number) : -1);
  }
}

TEST_F(SessionRanks, BatchesComeInOrderAndARankWithoutOneGetsOneWithoutSeeds) {
  start(2);

  ASSERT_OK_AND_ASSIGN(const auto begun, ask<EpochBegun>(1, BeginEpoch{}));
  const auto numbers = numbers_of_epoch([this] { return ask<TakenBatch>(1, NextBatch{}); });

  EXPECT_EQ(begun->steps, 4U);
  ASSERT_OK(numbers);
  EXPECT_EQ(*numbers, (std::vector<int>{1, 3, 5, -1}));
}

TEST_F(SessionRanks, AnEpochGoesOnInItsMiddle) {
  start(2);

  ASSERT_OK(ask<EpochBegun>(0, BeginEpoch{0, 2}));

  EXPECT_EQ(*numbers_of_epoch([this] { return ask<TakenBatch>(0, NextBatch{}); }),
            (std::vector<int>{4, 6}));
}

TEST_F(SessionRanks, BatchesAreAskedForAgainWhenASamplerDies) {
  start(1, 3);

  ASSERT_OK(ask<EpochBegun>(0, BeginEpoch{}));
  const auto numbers = numbers_of_epoch([this] { return ask<TakenBatch>(0, NextBatch{}); });

  ASSERT_OK(numbers);
  EXPECT_EQ(*numbers, (std::vector<int>{0, 1, 2, 3, 4, 5, 6}));
}

TEST_F(SessionRanks, TheNextEpochIsAskedForWhileTheOneBeforeItEnds) {
  epochs_ = 2;
  start(1);
  const auto next = [this] { return ask<TakenBatch>(0, NextBatch{}); };
  const std::vector<int> all{0, 1, 2, 3, 4, 5, 6};
  ASSERT_OK(ask<EpochBegun>(0, BeginEpoch{0}));
  EXPECT_EQ(*numbers_of_epoch(next), all);

  for (int waited = 0; waited < 1000 && asked_[1] < 2; ++waited) {
    std::this_thread::sleep_for(10ms);
  }
  EXPECT_EQ(asked_[1], 2) << "as many as may be in flight, before the epoch begins";
  ASSERT_OK(ask<EpochBegun>(0, BeginEpoch{1}));
  EXPECT_EQ(*numbers_of_epoch(next), all);
  ASSERT_OK_AND_ASSIGN(const auto counted, ask<CountedEpoch>(0, CountEpoch{}));

  EXPECT_EQ(counted->counters.batches, 7U);
  EXPECT_EQ(asked_[0], 7);
  EXPECT_EQ(asked_[1], 7) << "none twice";
  EXPECT_EQ(asked_[2], 0) << "the job has no third epoch";
}

TEST_F(SessionRanks, SamplersAreToldOfTheBatchesBeyondThoseAskedForAndOfTheNextEpoch) {
  epochs_ = 2;
  lookahead_ = 3;
  start(1);
  ASSERT_OK(ask<EpochBegun>(0, BeginEpoch{0}));
  ASSERT_OK(numbers_of_epoch([this] { return ask<TakenBatch>(0, NextBatch{}); }));

  for (int waited = 0; waited < 1000 && hinted_[1] < 5; ++waited) {
    std::this_thread::sleep_for(10ms);
  }
  EXPECT_EQ(hinted_[0], 5) << "all but those in flight at the start";
  EXPECT_EQ(hinted_[1], 5) << "three beyond those in flight";
  EXPECT_EQ(hinted_[2], 0) << "the job has no third epoch";
}

TEST_F(SessionRanks, AnotherEpochThanTheNextBeginsAnew) {
  epochs_ = 2;
  start(1);
  const auto next = [this] { return ask<TakenBatch>(0, NextBatch{}); };
  ASSERT_OK(ask<EpochBegun>(0, BeginEpoch{0}));
  ASSERT_OK(numbers_of_epoch(next));

  ASSERT_OK(ask<EpochBegun>(0, BeginEpoch{0}));  // back
  EXPECT_EQ(*numbers_of_epoch(next), (std::vector<int>{0, 1, 2, 3, 4, 5, 6}));
  ASSERT_OK(ask<EpochBegun>(0, BeginEpoch{1, 5}));  // in its midst
  EXPECT_EQ(*numbers_of_epoch(next), (std::vector<int>{5, 6}));
}

TEST_F(SessionRanks, SamplersThatDieAgainAndAgainFailTheBatch) {
  start(1, 1000);

  ASSERT_OK(ask<EpochBegun>(0, BeginEpoch{}));

  EXPECT_ERROR(ask<TakenBatch>(0, NextBatch{}), Errc::peer_lost, "rank 0");
}

TEST_F(SessionRanks, ABatchOutsideAnEpochIsRefused) {
  start(1);

  EXPECT_ERROR(ask<TakenBatch>(0, NextBatch{}), Errc::failed_precondition, "outside an epoch");
}

}  // namespace
}  // namespace troupe
