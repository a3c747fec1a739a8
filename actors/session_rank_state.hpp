#pragma once
/// \file session_rank_state.hpp
/// What a session's rank keeps, and how its parts call each other; only for actors/session_rank*.cpp.
#include "actors/batch_client.hpp"
#include "actors/gradient_exchange.hpp"
#include "actors/learned_rows.hpp"
#include "actors/session_rank.hpp"
#include "runtime/run/batch_stream.hpp"
#include "runtime/run/reduction_route.hpp"

#include <caf/response_promise.hpp>
#include <caf/stateful_actor.hpp>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace troupe::session_rank {

/// Batches of one epoch. At most one request for the next is open.
struct Stream {
  BatchStream<Ref<ReadyBatch>> batches;
  std::uint64_t number = 0;  ///< of the epoch, by which late answers are known
  bool taken = false;        ///< the step's batch was handed out
  std::optional<caf::response_promise> next;
  std::optional<Error> error;
  net::EpochCounters counters = {};
  std::optional<std::chrono::steady_clock::time_point> waiting_since = std::nullopt;
};

struct Operation {
  Collective what = Collective::barrier;
  std::uint64_t number = 0;  ///< from 1
  std::uint32_t epoch = 0;   ///< Of end_step
  std::optional<caf::response_promise> promise;
  std::span<float> vector = {};  ///< On the device
  Together result = {};
  std::chrono::steady_clock::time_point deadline = {};
  bool done = false;    ///< all sums are here
  bool handed = false;  ///< to the rank's thread
};

struct WaitingTake {
  net::TakeState request;
  caf::response_promise promise;
};

struct State {
  const char* name = "troupe.session_rank";
  SessionRankOptions options;
  std::optional<BatchClient> path;
  std::optional<ReplicaClient> holders;
  std::optional<GradientExchange> exchange;
  std::optional<ReductionRoute> route;  ///< Of vectors on devices
  std::optional<LearnedRowsClient> learned;
  std::optional<caf::response_promise> learned_waits;  ///< Of the request under way: one at a time
  std::optional<Error> learned_error;                  ///< A share was refused
  std::optional<Error> ended;

  std::shared_ptr<BatchesAhead> ahead;  ///< Of all epochs
  std::optional<Stream> stream;
  std::optional<Stream> next;  ///< Of the epoch after it, begun ahead
  std::uint64_t streams = 0;
  std::uint64_t singles = 0;  ///< Batches outside the stream

  std::optional<Operation> now;
  /// When messages OperationDeadline come: CAF 0.17 does not take them back, so operations share them.
  std::set<std::chrono::steady_clock::time_point> timers;
  std::optional<Error> broken;  ///< why no collective can work any more

  std::shared_ptr<const net::TrainingState> offered;
  std::vector<WaitingTake> takes;
};
using Self = caf::stateful_actor<State>;

// session_rank.cpp
std::string rank_name(const State& state);

// session_rank_batches.cpp
void begin_epoch(Self* self, const BeginEpoch& request);
void next_batch(Self* self);
/// A batch outside the stream.
void ask_single(Self* self, const Ref<SampleBatch>& request, BatchClient::Answer then);

// session_rank_learned.cpp
/// A share of learned rows was refused, or no holder keeps it: the request that waits, or the next one, fails.
void learned_failed(Self* self, const Error& why);
void gather_learned(Self* self, const GatherLearned& request);
void share_learned(Self* self, const ShareLearned& request);
void command_learned(Self* self, const CommandLearned& request);
void digest_learned(Self* self, const DigestAllLearned& request);

// session_rank_collectives.cpp
struct OperationDeadline {
  std::chrono::steady_clock::time_point timer = {};  ///< As State::timers has it
};
void contribute(Self* self, const Contribute& request);
/// The other side: takes a rank's share of the slice that this rank sums.
void take_share(Self* self, const Ref<net::GradientChunk>& share);
void check_deadline(Self* self, const OperationDeadline& deadline);
/// At rank 0, before a sum goes out: which way vectors on devices go.
void decide(Self* self, std::span<const GradientReducer::Share> shares, net::GradientSum& sum);
/// Ends the collective under way, if any, and all that follow.
void break_collectives(Self* self, const Error& why);

}  // namespace troupe::session_rank
