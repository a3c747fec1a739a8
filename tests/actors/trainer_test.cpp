#include "actors/trainer.hpp"

#include "actors/error.hpp"
#include "actors/local_messages.hpp"
#include "runtime/net/messages.hpp"
#include "tests/support/expect.hpp"

#include <caf/all.hpp>

namespace troupe {
namespace {

using namespace std::chrono_literals;

/// Answers batches in pairs, the later one first; or dies at the first.
struct FakeSamplerState {
  std::vector<std::pair<caf::response_promise, Ref<ReadyBatch>>> held;
};
caf::behavior fake_sampler(caf::stateful_actor<FakeSamplerState>* self, bool dies) {
  return {
      [=](const Ref<SampleBatch>& request) {
        auto promise = self->make_response_promise();
        if (dies) {
          self->quit(caf::exit_reason::kill);
          return;
        }
        auto sampled = std::make_shared<SampledBatch>();
        sampled->key = request->key;
        sampled->seed_index.resize(request->seeds.size());
        ReadyBatch ready;
        ready.batch.sampled = std::move(sampled);
        ready.batch.digest = {request->key.number, 0};
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

caf::behavior idle(caf::event_based_actor* /*self*/) {
  return {[](int) {}};
}

/// Rank `rank` of two, taking 8 seeds in batches of 1.
Result<net::EpochResult> run_epoch(std::uint32_t rank, bool dies) {
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
  options.batches_in_flight = 2;
  options.take_only = true;
  options.collect = collect;
  options.orders["train"] = std::make_shared<const SeedOrder>(seeds, 1, 1, true);
  const auto sampler = system.spawn(fake_sampler, dies);
  const auto collector = system.spawn(idle);
  auto trainer = spawn_trainer(system, std::move(options), {sampler}, collector,
                               std::make_shared<InlineExecutor>());
  EXPECT_OK(trainer);
  Result<net::EpochResult> result = Error(Errc::internal, "no answer");
  {
    caf::scoped_actor self(system);
    self->request(*trainer, 10s, Ref<net::EpochRequest>(net::EpochRequest{}))
        .receive([&](const Ref<net::EpochResult>& reply) { result = *reply; },
                 [&](const caf::error& error) { result = from_caf(error); });
  }
  for (const auto& actor : {sampler, collector, *trainer}) {
    caf::anon_send_exit(actor, caf::exit_reason::kill);
  }
  return result;
}

TEST(Trainer, TakesItsBatchesInOrderHoweverTheyArrive) {
  ASSERT_OK_AND_ASSIGN(const auto result, run_epoch(1, false));

  EXPECT_EQ(
      result.batch_digests,
      (std::vector<Digest>{{1, 0}, {3, 0}, {5, 0}, {7, 0}}));  // every second batch is rank 1's
  EXPECT_EQ(result.counters.seeds, 4U);
}

TEST(Trainer, FailsTheEpochWhenASamplerDies) {
  EXPECT_ERROR(run_epoch(0, true), Errc::peer_lost, "rank 0");
}

}  // namespace
}  // namespace troupe
