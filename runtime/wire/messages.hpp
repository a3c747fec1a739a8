#pragma once
/// \file messages.hpp
/// Messages of the run itself, as plain data: epochs, gradients, evaluation. The messages of
/// sampling, row reading and batches are HopRequest (runtime/sample), RowRequest and SampleBatch
/// (runtime/feature). How they travel is listed in message_fields.hpp, who answers what in
/// methods.hpp.
#include "runtime/base/buffer.hpp"
#include "runtime/base/counters.hpp"
#include "runtime/base/digest.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/feature/batch_trace.hpp"
#include "runtime/feature/embedding/messages.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace troupe::net {

/// What an optimizer remembers: steps made, and named flat arrays.
struct OptimizerArrays {
  std::uint64_t steps = 0;
  std::vector<std::pair<std::string, std::vector<float>>> arrays;
};

/// Where training stands between two steps; the same on every rank.
struct TrainingState {
  std::uint32_t epoch = 0;        ///< from 0, of the next step
  std::uint64_t step = 0;         ///< steps of `epoch` that are done
  std::uint64_t global_step = 0;  ///< steps of the run that are done
  double loss_sum = 0;            ///< of `epoch` so far, all ranks
  std::uint64_t loss_weight = 0;  ///< labelled seeds of `epoch` so far, all ranks
  Digest batches;                 ///< running digest of the run's batches so far
  std::vector<float> parameters;  ///< empty without a built-in model
  OptimizerArrays optimizer;
  std::vector<float> best;  ///< parameters of the best epoch; empty: none was kept
  /// By name, what a user's own trainer gave its save hook; empty with a built-in model.
  std::map<std::string, std::vector<std::byte>> blobs;
};

/// What a rank tells rank 0 of its device; see runtime/run/reduction_route.hpp.
struct DeviceOffer {
  /// Devices of one network can exchange vectors; empty: this one cannot.
  std::string network = {};
  std::string device = {};  ///< Tells devices of a network apart
  bool joined = false;      ///< The communicator of this generation
  friend bool operator==(const DeviceOffer&, const DeviceOffer&) = default;
};
inline constexpr std::size_t most_offer_bytes = 200;  ///< Of each text
inline constexpr std::size_t most_communicator_words = 16;

/// One rank's share of a chunk of the gradient, to the rank that owns the chunk. The answer comes
/// when all ranks' shares are in; shares are added in rank order (design, section 4). Counted once
/// per (generation, step, rank).
struct GradientChunk {
  std::uint32_t generation = 0;
  std::uint64_t step = 0;  ///< from the start of the run
  Rank rank{};
  std::uint64_t weight =
      0;           ///< labelled seeds in the rank's batch; 0: `values` is empty and adds nothing
  Segment values;  ///< float32: gradient of the sum of the losses
  double loss_sum = 0;          ///< over the rank's labelled seeds
  std::optional<Digest> batch;  ///< of the rank's batch; only to rank 0, and not with digest "off"
  DeviceOffer offer = {};       ///< only to rank 0
  /// Values and digests of the sum at most, for the charge: a rank without a share gets one too. Does
  /// not travel. Default 0: as many bytes as `values`.
  std::uint64_t sum_bytes = 0;
};

/// Sum over ranks of their shares, divided by the total weight (0 if that is 0).
struct GradientSum {
  std::uint64_t step = 0;
  std::uint64_t weight = 0;     ///< total
  Segment values;               ///< float32
  double loss_sum = 0;          ///< total, added in rank order
  std::vector<Digest> batches;  ///< in rank order, of the ranks that gave one
  /// From rank 0: names the communicator that the ranks' devices join; empty: none.
  std::vector<std::uint64_t> communicator = {};
  bool by_devices = false;  ///< From rank 0: vectors of the steps that follow stay on devices
};

/// Trains an epoch to its end, from where the trainer stands in it. Asked again for an epoch that is
/// under way or just over, the trainer answers both.
struct EpochRequest {
  std::uint32_t generation = 0;
  std::uint32_t epoch = 0;
  /// The trainer's next pass is the next epoch: its first batches may be requested before.
  bool next_follows = false;
};

/// Where a trainer's time went, and what it moved; sums over an epoch, with those that came with its
/// batches. A counter here, in its list, in the schema and in docs/outputs.md reaches the record of
/// the run, metrics.jsonl and report.json.
struct EpochCounters : BatchTrace {
  std::uint64_t batches = 0;
  std::uint64_t seeds = 0;
  std::uint64_t nodes = 0;
  std::uint64_t edges = 0;
  std::uint64_t wait_ns = 0;   ///< trainer without a batch to train
  std::uint64_t train_ns = 0;  ///< forward, backward, step
  std::uint64_t reduce_ns = 0;
  std::uint64_t batches_in_flight = 0;  ///< that the rank allowed itself at last; the largest
  std::uint64_t learned_ns = 0;         ///< trainer without learned rows of its batch
  std::uint64_t learned_rows = 0;       ///< read, duplicates counted
  std::uint64_t learned_bytes = 0;      ///< of rows read and gradients sent, with their ids
  std::uint64_t learned_messages = 0;   ///< requests and shares

  static constexpr auto counters() {
    using Own = Counter<EpochCounters>;
    return with_inherited(
        std::to_array<Own>(
            {{"batches", &EpochCounters::batches},
             {"seeds", &EpochCounters::seeds},
             {"nodes", &EpochCounters::nodes},
             {"edges", &EpochCounters::edges},
             {"wait_ns", &EpochCounters::wait_ns},
             {"train_ns", &EpochCounters::train_ns},
             {"reduce_ns", &EpochCounters::reduce_ns},
             {"batches_in_flight", &EpochCounters::batches_in_flight, CounterSum::largest},
             {"learned_ns", &EpochCounters::learned_ns},
             {"learned_rows", &EpochCounters::learned_rows},
             {"learned_bytes", &EpochCounters::learned_bytes},
             {"learned_messages", &EpochCounters::learned_messages}}),
        BatchTrace::counters());
  }
  friend bool operator==(const EpochCounters&, const EpochCounters&) = default;
};
static_assert(sizeof(EpochCounters) ==
                  EpochCounters::counters().size() * sizeof(std::uint64_t) + sizeof(FrontierCounts),
              "every counter is in the list");

struct EpochResult {
  Rank rank{};
  std::uint32_t epoch = 0;
  double loss_sum = 0;            ///< over the labelled seeds of all ranks; the same on every rank
  std::uint64_t loss_weight = 0;  ///< labelled seeds of all ranks
  std::uint64_t wall_ns = 0;
  EpochCounters counters;  ///< of this rank, since it began or went on with the epoch
  Digest batches;          ///< running digest of the run's batches; zero with digest "off"
};

/// From the process of a rank with a user program: the rank has made the last step of an epoch. The
/// loss is not known and 0. Answered with Done, before the rank offers its state.
struct RankEpoch {
  EpochResult result;
  std::uint64_t global_step = 0;  ///< Steps of the run that are done
};

/// Computes layer `layer` for all nodes of the receiving host's parts and keeps the outputs as
/// tensor `layer + 1`.
struct InferRequest {
  std::uint32_t round =
      0;  ///< counts exact inferences; the parameters are read from the host's trainer at layer 0
  std::uint32_t layer = 0;
  bool best = false;  ///< use the best epoch's parameters instead of the current ones
};
struct InferResult {
  std::uint64_t nodes = 0;
  std::uint64_t edges = 0;
};

/// Asks for the outputs of the seeds of one role that the receiver is responsible for: an evaluator
/// those on its host after exact inference, a trainer those of its sampled batches.
struct ScoreRequest {
  std::uint32_t epoch = 0;
  std::string role;           ///< "train", "val", "test"
  bool best = false;          ///< to a trainer: with the best epoch's parameters, all seeds
  bool next_follows = false;  ///< to a trainer: as in EpochRequest, of the epoch after `epoch`
};
struct ScoreResult {
  std::vector<std::uint64_t> positions;  ///< in the role's seed list
  std::uint32_t cols = 0;
  Segment outputs;                   ///< float32 [positions, cols]
  std::vector<std::int64_t> labels;  ///< [positions]
  std::vector<float> numbers = {};   ///< [positions, cols] to predict, NaN: unknown; or empty
};

struct KeepBest {
  std::uint32_t epoch = 0;
};
struct Done {};

struct Finish {};
struct FinishResult {
  Rank rank{};
  Digest parameters;
  Digest best_parameters;
  std::vector<TableDigest> tables = {};  ///< from rank 0, of all learned rows
};

/// Asks a trainer for its state. The answer comes at the end of a step, without stopping training.
struct TakeState {
  std::uint32_t generation = 0;
  /// The first step, counted over the run, that is a multiple of this and past `after_step`; 0: now.
  std::uint64_t multiple_of = 0;
  std::uint64_t after_step = 0;
  std::uint64_t oldest = 0;  ///< Step of the oldest state that is still needed
};
/// The state itself is shared: a restore sends one to every rank.
struct StateReply {
  std::shared_ptr<const TrainingState> state = std::make_shared<const TrainingState>();
};

/// Puts a trainer back to a state, in a new generation. Whatever it was doing is dropped.
struct Restore {
  std::uint32_t generation = 0;
  std::shared_ptr<const TrainingState> state = std::make_shared<const TrainingState>();
};

/// From a process whose ranks run a user program: one piece of the state that a resumed run begins
/// with (runtime/run/state_pieces.hpp). Answered with StateReply; a piece past the end has no blobs.
struct ReadStart {
  ProcessId process{};
  std::uint64_t piece = 0;  ///< From 0
};
/// From the process of rank 0, where ranks run a user program that is resumed: holders are to have the
/// learned rows, or the tensors, that it begins with. Answered with Done.
struct LoadStart {
  ProcessId process{};
  bool tensors = false;  ///< Tensors by name, which must have been made; else learned rows
};
/// From the process of rank 0, where ranks run a user program: one piece of a state that is to be
/// kept. Answered with Done; the answer to the last piece comes when all of the state is kept.
struct KeepState {
  std::uint64_t piece = 0;  ///< From 0; the next one follows the answer to this one
  bool last = false;
  std::shared_ptr<const TrainingState> state = std::make_shared<const TrainingState>();
};

/// To the supervisor of every process: a new generation begins. It starts its actors anew that are lost.
struct Regroup {
  std::uint32_t generation = 0;
  std::vector<Rank> lost_ranks;  ///< that the director has lost, wherever they run
};
/// To the supervisor of every process, when all have regrouped: tells its trainers who their peers are now.
struct Introduce {
  std::uint32_t generation = 0;
};

/// A sign of life.
struct Ping {};
struct Pong {
  std::uint64_t global_step = 0;  ///< of a trainer
  bool waits = false;  ///< for the shares of others, or for a command: others keep it from going on
  std::uint64_t work = 0;  ///< batches and blocks that the actor has done
};

/// An exported actor of the sender is gone. Answered, so that it survives a cut link.
struct ActorDown {
  std::uint64_t target = 0;
  std::uint64_t incarnation = 0;  ///< counts what was exported at the address, from 1
  std::string why;
};

/// To a trainer: its parameters now, or those of the best epoch.
struct ReadParameters {
  bool best = false;
};
struct ParameterVector {
  Segment values;  ///< float32, in the order of the model's layout
  // Where the rank stands, for what belongs to these parameters elsewhere:
  std::uint32_t generation = 0;
  std::uint64_t step = 0;  ///< of the run
};

}  // namespace troupe::net
