#pragma once
/// \file trainer.hpp
/// The trainer: one rank. Asks its samplers for batches ahead of time, trains them in batch order,
/// sums gradients with the other ranks, steps the optimizer.
#include "runtime/base/executor.hpp"
#include "runtime/feature/row_collection.hpp"
#include "runtime/run/learner.hpp"
#include "runtime/sample/batch_builder.hpp"
#include "runtime/sample/seed_order.hpp"

#include <caf/actor.hpp>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace troupe {

struct TrainerOptions {
  Rank rank{};
  std::uint32_t world = 1;
  std::uint32_t batches_in_flight = 4;
  /// "train", shuffled; and for sampled evaluation "val", "test", in list order.
  std::map<std::string, std::shared_ptr<const SeedOrder>> orders;
  std::shared_ptr<const SampleOptions> sample;
  std::shared_ptr<const CollectOptions> collect;
  LearnerOptions learner;
  /// A trainer that only takes batches, for measuring the data path: no model, no gradients.
  bool take_only = false;
  std::function<void(Rank)>
      on_step;  ///< after each step, on the trainer's thread; for progress; may be empty
};

/// Starts the trainer of one rank on top of its samplers.
/// | receives               | replies              | errors                                              |
/// |------------------------|----------------------|-----------------------------------------------------|
/// | Ref<TrainerPeers>      | none; once, first    |                                                     |
/// | Ref<net::EpochRequest> | Ref<net::EpochResult>| those of samplers and peers; failed_precondition    |
/// | Ref<net::ScoreRequest> | Ref<net::ScoreResult>| as above (sampled evaluation)                       |
/// | Ref<net::GradientChunk>| Ref<net::GradientSum>| invalid_argument, failed_precondition               |
/// | Ref<net::KeepBest>     | Ref<net::Done>       |                                                     |
/// | Ref<ReadParameters>    | Ref<Snapshot>        |                                                     |
/// | Ref<net::Finish>       | Ref<net::FinishResult>|                                                    |
/// Back-pressure: holds at most `batches_in_flight` batches, asked for and not yet trained
/// Ordering:  trains in batch order, whatever the order of arrival
/// Peer loss: the epoch fails with the error of the lost sampler, collector, holder or rank. A rank
///   without one of its samplers or its collector is no rank: the trainer ends, and whoever monitors
///   it learns so
Result<caf::actor> spawn_trainer(caf::actor_system& system, TrainerOptions options,
                                 std::vector<caf::actor> samplers, const caf::actor& collector,
                                 std::shared_ptr<Executor> executor);

}  // namespace troupe
