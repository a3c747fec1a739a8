#pragma once
/// \file trainer.hpp
/// The trainer: one rank. Asks its samplers for batches ahead of time, trains them in batch order,
/// sums gradients with the other ranks, steps the optimizer.
#include "actors/data_path.hpp"
#include "actors/learned_rows.hpp"
#include "actors/learner.hpp"
#include "runtime/base/trace.hpp"
#include "runtime/feature/row_collection.hpp"
#include "runtime/job/device_memory.hpp"
#include "runtime/run/batches_ahead.hpp"
#include "runtime/run/step_report.hpp"
#include "runtime/sample/batch_builder.hpp"
#include "runtime/sample/seed_order.hpp"

#include <caf/actor.hpp>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

struct TrainerOptions {
  Rank rank{};
  std::uint32_t world = 1;
  BatchesAheadOptions ahead = {};    ///< batches in flight
  std::uint32_t lookahead = 0;       ///< number of coming batches that it hints at
  std::uint64_t channel_budget = 0;  ///< bytes of batches under way or waiting; 0: not bounded
  /// "train", shuffled; and for sampled evaluation "val", "test", in list order.
  std::map<std::string, std::shared_ptr<const SeedOrder>> orders;
  std::shared_ptr<const SampleOptions> sample;
  std::shared_ptr<const CollectOptions> collect;
  /// Of sampled evaluation where it has options of its own; its batches are then the same in every epoch.
  std::shared_ptr<const SampleOptions> eval_sample = {};
  std::uint64_t score_cols = 0;  ///< Numbers of each seed in evaluation; 0: the network's outputs
  std::string rows_role =
      {};                  ///< Role of nodes whose rows are asked for: the network's outputs, too
  LearnerOptions learner;  ///< Of the learner that is started beside it
  /// What is planned of the rank's device, for errors of its memory; none: the rank computes on the CPU.
  std::optional<DeviceMemory> device_memory = {};
  LearnedRowsLinks learned = {};
  std::uint32_t staleness = 0;  ///< Steps that learned rows may be behind in training
  /// Of triples or links whose ends' learned rows are ranked in its evaluation; null: none are.
  std::shared_ptr<const RankingPlan> ranking = {};
  /// After each step, on the trainer's thread; for progress; may be empty.
  std::function<void(const StepReport&)> on_step = {};
  std::function<void(const std::string&)> say = {};  ///< A line for people; may be empty
  /// For tests of faults: how long the rank pauses before it goes on with a step; may be empty.
  std::function<std::chrono::milliseconds(Rank, std::uint64_t global_step)> pause = {};
  std::uint64_t max_eval_batches = 0;  ///< of all ranks, per sampled evaluation; 0: all
  std::uint32_t generation = 0;        ///< that it is born into; a later one needs a Restore first
  std::chrono::milliseconds fenced_for{60'000};
  TraceTrack trace = {};
};

/// Starts the trainer of one rank. It starts its own data path, and starts it anew when it is lost.
/// | receives                | replies               | errors                                    |
/// |-------------------------|-----------------------|-------------------------------------------|
/// | Ref<TrainerPeers>       | none; before training |                                           |
/// | Ref<net::EpochRequest>  | Ref<net::EpochResult> | those of the data path and of peers;      |
/// |                         |                       | failed_precondition, fenced               |
/// | Ref<net::ScoreRequest>  | Ref<net::ScoreResult> | as above (sampled evaluation)             |
/// | Ref<net::GradientChunk> | Ref<net::GradientSum> | invalid_argument, fenced                  |
/// | Ref<net::TakeState>     | Ref<net::StateReply>  | fenced; cancelled: a restore came first   |
/// | Ref<net::Restore>       | Ref<net::Done>        | fenced, data_corruption                   |
/// | Ref<net::KeepBest>      | Ref<net::Done>        |                                           |
/// | Ref<net::ReadParameters> | Ref<net::ParameterVector> |                                           |
/// | Ref<net::Finish>        | Ref<net::FinishResult>|                                           |
/// | Ref<net::Ping>          | Ref<net::Pong>        |                                           |
/// Every request may be repeated: an epoch or a step that is under way or just over is answered, not
/// done again.
/// Back-pressure: holds at most `ahead.most` batches, asked for and not yet trained, those of the next
///   epoch among them: they are asked for once all of this one are, where a request says that it follows
/// Ordering:  trains in batch order, whatever the order of arrival. Gradients of learned rows leave before the
///   rank's other shares of a step
/// Peer loss: samplers and collector are started anew and asked again. The epoch fails with the error
///   of a lost rank; the director then restores all. Answered `fenced`, the trainer ends: a newer one
///   of its rank is at work
/// \param learner  ends with the trainer, and the trainer with it; null actor: the trainer only takes
///   batches, for measuring the data path
caf::actor spawn_trainer(caf::actor_system& system, TrainerOptions options, SpawnDataPath data_path,
                         LearnerHandle learner);

}  // namespace troupe
