#include "actors/trainer.hpp"

#include "actors/error.hpp"
#include "actors/local_messages.hpp"
#include "runtime/wire/messages.hpp"
#include "tests/actors/idle_actor.hpp"
#include "tests/support/expect.hpp"

#include <caf/all.hpp>

#include <atomic>

namespace troupe {
namespace {

using namespace std::chrono_literals;

/// Of one node, that has the batch's number.
Batch batch_of(const BatchKey& key, std::size_t seeds) {
  auto sampled = std::make_shared<SampledBatch>();
  sampled->key = key;
  sampled->seed_index.resize(seeds);
  sampled->nodes.resize(1);
  sampled->nodes[0].ids = {NodeId{key.number}};
  Batch batch;
  batch.sampled = std::move(sampled);
  batch.rows.resize(1);
  batch.rows[0].original_ids = {OriginalId{key.number}};
  return batch;
}

/// Answers batches in pairs, the later one first; or dies at one of the first.
struct FakeSamplerState {
  std::vector<std::pair<caf::response_promise, Ref<ReadyBatch>>> held;
};
caf::behavior batch_sampler(caf::stateful_actor<FakeSamplerState>* self, bool dies) {
  return {
      [=](const Ref<SampleBatch>& request) {
        auto promise = self->make_response_promise();
        if (dies) {
          self->quit(caf::exit_reason::kill);
          return;
        }
        ReadyBatch ready;
        ready.batch = batch_of(request->key, request->seeds.size());
        auto& held = self->state.held;
        held.emplace_back(std::move(promise), Ref<ReadyBatch>(std::move(ready)));
        if (held.size() == 2) {
          held[1].first.deliver(held[1].second);
          held[0].first.deliver(held[0].second);
          held.clear();
        }
      },
  };
}

/// Rank `rank` of two, taking 8 seeds in batches of 1.
Result<net::EpochResult> run_epoch(std::uint32_t rank, int deaths) {
  caf::actor_system_config config;
  caf::actor_system system(config);
  auto seeds = std::make_shared<SeedList>();
  for (std::uint64_t i = 0; i < 8; ++i) {
    seeds->original.push_back(static_cast<OriginalId>(i));
    seeds->global.push_back(static_cast<NodeId>(i));
  }
  auto collect = std::make_shared<CollectOptions>();
  collect->digest = DigestMode::full;
  TrainerOptions options;
  options.rank = static_cast<Rank>(rank);
  options.world = 2;
  options.ahead = {.first = 2, .most = 2};
  options.collect = collect;
  options.orders["train"] = std::make_shared<const SeedOrder>(seeds, 1, 1, true);
  const auto left = std::make_shared<std::atomic<int>>(deaths);
  const SpawnDataPath data_path = [&system, left] {
    return DataPath{{system.spawn(batch_sampler, (*left)-- > 0)}, system.spawn(testing::idle)};
  };
  auto trainer = spawn_trainer(system, std::move(options), data_path, {});
  Result<net::EpochResult> result = Error(Errc::internal, "no answer");
  {
    caf::scoped_actor self(system);
    self->request(trainer, 10s, Ref<net::EpochRequest>(net::EpochRequest{}))
        .receive([&](const Ref<net::EpochResult>& reply) { result = *reply; },
                 [&](const caf::error& error) { result = from_caf(error); });
    if (result) {
      self->request(trainer, 10s, Ref<net::Ping>(net::Ping{}))
          .receive(
              [&](const Ref<net::Pong>& pong) { EXPECT_EQ(pong->work, result->counters.batches); },
              [&](const caf::error& error) { ADD_FAILURE() << from_caf(error).what(); });
    }
  }
  caf::anon_send_exit(trainer, caf::exit_reason::kill);
  return result;
}

/// The running digest of every second batch: those are rank 1's.
Digest digest_of_rank_one() {
  Digest running;
  for (std::uint64_t batch = 1; batch < 8; batch += 2) {
    running = chain(running, digest_batch(batch_of({.number = batch}, 1), DigestMode::full));
  }
  return running;
}

TEST(Trainer, TakesItsBatchesInOrderHoweverTheyArrive) {
  ASSERT_OK_AND_ASSIGN(const auto result, run_epoch(1, 0));

  EXPECT_EQ(result.batches, digest_of_rank_one());
  EXPECT_EQ(result.counters.seeds, 4U);
}

TEST(Trainer, AsksAgainWhenASamplerDies) {
  ASSERT_OK_AND_ASSIGN(const auto result, run_epoch(1, 3));

  EXPECT_EQ(result.batches, digest_of_rank_one());
}

TEST(Trainer, FailsTheEpochWhenSamplersDieAgainAndAgain) {
  EXPECT_ERROR(run_epoch(0, 1000), Errc::peer_lost, "rank 0");
}

}  // namespace
}  // namespace troupe
