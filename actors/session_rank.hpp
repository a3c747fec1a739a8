#pragma once
/// \file session_rank.hpp
/// What stands in the place of a trainer where a user's own program trains: fetches the rank's batches
/// ahead of time and takes part in what the ranks do together. The rank's thread, which may block,
/// asks it (launcher/session.hpp); for the built-in trainer see trainer.hpp.
#include "actors/data_path.hpp"
#include "actors/learned_rows.hpp"
#include "actors/local_messages.hpp"
#include "actors/message.hpp"
#include "runtime/base/executor.hpp"
#include "runtime/feature/tensor_messages.hpp"
#include "runtime/run/batches_ahead.hpp"
#include "runtime/run/device_mean.hpp"
#include "runtime/run/reduction.hpp"
#include "runtime/sample/edge_questions.hpp"
#include "runtime/sample/seed_order.hpp"
#include "runtime/wire/messages.hpp"

#include <caf/actor.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

/// Numbers that one collective adds up at most: what its shares take in the windows of links is
/// bounded by this. Longer vectors go in pieces.
inline constexpr std::size_t session_piece = std::size_t{1} << 18;

struct SessionRankOptions {
  Rank rank{};
  std::uint32_t world = 1;
  BatchesAheadOptions ahead = {};    ///< batches in flight
  std::uint32_t lookahead = 0;       ///< number of coming batches that it hints at
  std::uint64_t channel_budget = 0;  ///< bytes of batches under way or waiting; 0: not bounded
  std::shared_ptr<const SeedOrder> order;  ///< of training
  /// Of the job: while one ends, the first batches of the next are asked for. 0: not known.
  std::uint32_t epochs = 0;
  std::shared_ptr<const SampleOptions> sample;
  std::shared_ptr<const CollectOptions> collect;
  std::vector<std::shared_ptr<const Replicas>> holders;  ///< [parts]
  LearnedRowsLinks learned = {};
  std::uint32_t generation = 0;  ///< Of the run, as the messages of learned rows name it
  /// Communicators for vectors on the rank's device; null: those go over the links.
  std::shared_ptr<DeviceMeans> means = {};
  std::shared_ptr<Executor> executor = {};  ///< With `means`
  /// A line about the way that such vectors go; may be empty.
  std::function<void(const std::string&)> say = {};
};

// ---- from the rank's thread ----

/// Begins, or goes on with, an epoch; what was under way is dropped. Answered with EpochBegun.
struct BeginEpoch {
  std::uint32_t epoch = 0;
  std::uint64_t first_step = 0;
};
struct EpochBegun {
  std::uint64_t steps = 0;  ///< of every rank
};
/// Ends the step before, if there was one, and asks for the batch of the next. Answered with
/// TakenBatch.
struct NextBatch {};
struct TakenBatch {
  std::shared_ptr<const ReadyBatch> ready;  ///< null: the epoch is over
  bool own = false;  ///< false: the rank has none in this step, and gets one without seeds
};

/// What all ranks do together. All must do the same, in the same order.
enum class Collective : std::uint8_t {
  sum = 1,
  mean = 2,
  barrier = 3,
  step = 4,
  device_sum = 5,   ///< Of vectors on the ranks' devices
  device_mean = 6,  ///< Likewise
  tensors = 7,      ///< That one is made or deleted
};

/// Answered with Together when all ranks have asked.
struct Contribute {
  Collective what = Collective::barrier;
  Segment values;  ///< float32, of the same length on all ranks; at most session_piece
  /// Numbers of the whole vector that the pieces are of, with the first one: a digest word as vectors on
  /// devices have it.
  std::optional<std::uint64_t> length = std::nullopt;
  /// Of device_sum and device_mean, in place of `values`: of any length. In place of it comes the result if
  /// Together::by_devices says so; else ranks cannot exchange it, and nothing was done.
  std::span<float> vector = {};
  std::uint64_t weight = 0;  ///< 0: nothing is added, `values` only says the length
  double number = 0;         ///< added up as well
  /// Of step: the epoch, the same on all ranks. It travels as the weight, which a step has no use for.
  std::uint32_t epoch = 0;
  std::optional<Digest> batch;
  std::chrono::milliseconds deadline{0};
};
using Together = Reduced;  ///< `mean`, `device_mean`: divided by the total weight

/// What the stream of batches has counted since BeginEpoch. Answered with CountedEpoch.
struct CountEpoch {};
struct CountedEpoch {
  net::EpochCounters counters;
};

/// The rank's state after a step, for whoever takes it (net::TakeState). Answered with net::Done.
struct OfferState {
  std::shared_ptr<const net::TrainingState> state;
};
/// Takes the states of all ranks after a step. Answered with GatheredStates.
struct GatherStates {
  std::uint64_t global_step = 0;
};
struct GatheredStates {
  std::vector<std::shared_ptr<const net::TrainingState>> states;  ///< by rank
};

/// Tells holders of parts. Answered with net::Done when every replica of every part has it.
template <class Request>
struct TellHolders {
  std::map<PartId, Ref<Request>> shares;
};

/// Asks holders of parts. Answered with HolderReplies when all have answered.
template <class Request>
struct AskHolders {
  std::vector<std::pair<PartId, Ref<Request>>> questions;
};
template <class Reply>
struct HolderReplies {
  std::vector<Ref<Reply>> replies;  ///< [questions]
};

// ---- learned rows; `nodes` has ids by node type, of types with tables alone ----

/// Rows before the gradients of a step. Answered with GatheredLearned.
struct GatherLearned {
  std::shared_ptr<const SampledBatch> nodes;
  std::uint64_t step = 0;
};
struct GatheredLearned {
  std::shared_ptr<const LearnedInputs> rows;
};
/// This rank's share of a step. Answered with net::Done when it has left.
struct ShareLearned {
  std::shared_ptr<const SampledBatch> nodes;  ///< Null: an empty share
  std::shared_ptr<const LearnedInputs> gradients;
  std::uint64_t weight = 0;
  std::uint64_t step = 0;
};
/// From rank 0, to the holders of all parts. Answered with net::Done.
struct CommandLearned {
  enum class What : std::uint8_t { begin, keep };
  What what = What::begin;
  std::uint64_t step = 0;
};
/// From rank 0. Answered with DigestedLearned.
struct DigestAllLearned {
  std::uint64_t step = 0;
};
struct DigestedLearned {
  std::vector<TableDigest> tables;
};

/// The rank has ended its work, or must: all that waits, here and at other ranks, is answered with
/// this.
struct EndRank {
  Error why;
};

/// Starts it. It starts its own data path, and starts it anew when it is lost.
/// | receives                | replies                | errors                                      |
/// |-------------------------|------------------------|---------------------------------------------|
/// | Ref<TrainerPeers>       | none                   |                                             |
/// | Ref<BeginEpoch>         | Ref<EpochBegun>        |                                             |
/// | Ref<NextBatch>          | Ref<TakenBatch>        | those of the data path                      |
/// | Ref<CountEpoch>         | Ref<CountedEpoch>      |                                             |
/// | Ref<SampleBatch>        | Ref<ReadyBatch>        | those of the data path                      |
/// | Ref<Contribute>         | Ref<Together>          | deadline_exceeded, with the ranks that are  |
/// |                         |                        | missing; invalid_argument: ranks differ in  |
/// |                         |                        | call, epoch or length of vectors;           |
/// |                         |                        | those of DeviceMean::launch()               |
/// | Ref<OfferState>         | Ref<net::Done>         |                                             |
/// | Ref<GatherStates>       | Ref<GatheredStates>    | those of peers                              |
/// | Ref<TellHolders<MakeTensor>>  | Ref<net::Done>   | those of the holders                        |
/// | Ref<TellHolders<WriteTensor>> | Ref<net::Done>   | those of the holders                        |
/// | Ref<TellHolders<KeepTensors>> | Ref<net::Done>   | those of the holders                        |
/// | Ref<AskHolders<ReadTensor>> | Ref<HolderReplies<TensorRows>>   | those of the holders      |
/// | Ref<AskHolders<CountEdges>> | Ref<HolderReplies<EdgesCounted>> | those of the holders      |
/// | Ref<AskHolders<FindNodes>>  | Ref<HolderReplies<NodesFound>>   | those of the holders      |
/// | Ref<AskHolders<FindEdges>>  | Ref<HolderReplies<EdgesFound>>   | those of the holders      |
/// | Ref<AskHolders<RowRequest>> | Ref<HolderReplies<RowReply>>     | those of the holders      |
/// | Ref<GatherLearned>      | Ref<GatheredLearned>   | those of the holders                        |
/// | Ref<ShareLearned>       | Ref<net::Done>         | those of the holders, also of shares before |
/// | Ref<CommandLearned>     | Ref<net::Done>         | those of the holders                        |
/// | Ref<DigestAllLearned>   | Ref<DigestedLearned>   | those of the holders                        |
/// | Ref<EndRank>            | none                   |                                             |
/// | Ref<net::GradientChunk> | Ref<net::GradientSum>  | invalid_argument                            |
/// | Ref<net::TakeState>     | Ref<net::StateReply>   |                                             |
/// Back-pressure: holds at most `ahead.most` batches, those of the next epoch among them; keeps shares of the collective under way,
///   the one before and the next
/// Ordering:  batches in batch order, whatever the order of arrival
/// Peer loss: samplers and collector are started anew and asked again. A lost rank fails the
///   collective, and all that follow. A barrier that ran into its deadline may be asked for again
caf::actor spawn_session_rank(caf::actor_system& system, SessionRankOptions options,
                              SpawnDataPath data_path);

}  // namespace troupe
