#pragma once
/// \file gradient_exchange.hpp
/// Sums vectors over the ranks of a run: inside a trainer, or a session's rank.
#include "actors/error.hpp"
#include "actors/message.hpp"
#include "runtime/run/gradient_reducer.hpp"
#include "runtime/run/reduction.hpp"

#include <caf/actor.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/response_promise.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace troupe {

/// Lifecycle:  a member of its actor's state, which hands Ref<net::GradientChunk> to take_share()
/// Threads:    inside its actor's handlers
/// Guarantees: shares of a slice are added in rank order by the slice's owner; no message goes from
///   a rank to itself
/// Bound:      one step under way, and shares of the next
class GradientExchange {
 public:
  struct Step {
    std::uint64_t number = 0;
    std::size_t size = 0;  ///< Numbers of the vector, on all ranks
    bool divide = true;    ///< By the total weight
  };
  /// Errors are those of peers, and of GradientReducer and Reduction; with one rank it is called
  /// inside begin().
  using Then = std::function<void(Result<Reduced>)>;

  GradientExchange(caf::event_based_actor* self, Rank rank, std::uint32_t world)
      : self_(self), rank_(rank), world_(world), reducer_(world) {}

  /// What sums of this rank's slice are completed with.
  void decide_with(GradientReducer::Decide decide) {
    decide_ = std::move(decide);
    reducer_.decide_with(decide_);
  }
  /// \param peers  of all ranks, this one included
  void set_peers(std::vector<caf::actor> peers) { peers_ = std::move(peers); }
  const std::vector<caf::actor>& peers() const { return peers_; }
  bool knows_peers() const { return peers_.size() == world_; }

  /// Drops the step under way; peers that wait for a sum get `why`.
  void begin_generation(std::uint32_t generation, const Error& why);
  /// Sends this rank's shares; drops a step under way.
  void begin(const Step& step, const Contribution& mine, Then then);
  /// `then` of the step under way is not called any longer; what peers bring is still summed.
  void drop();
  bool waits() const { return then_ != nullptr; }

  /// A peer's share of the slice that this rank sums; answered with Ref<net::GradientSum>.
  /// \errors as GradientReducer::add(); the peer is answered with it
  Status take_share(const Ref<net::GradientChunk>& share, caf::response_promise promise);
  /// Answers the peers that wait for a sum with `why`.
  void fail_shares(const Error& why);

  const GradientReducer& reducer() const { return reducer_; }
  /// [world] whether the sum of an owner is here, in the step under way.
  std::vector<bool> answered() const;

 private:
  void finish(Result<Reduced> result);
  void take_sum(Rank owner, const net::GradientSum& sum);
  void own_sum(const GradientReducer::Sum& sum);
  void send(Rank owner, net::GradientChunk share);

  caf::event_based_actor* self_;
  const Rank rank_;
  const std::uint32_t world_;
  std::vector<caf::actor> peers_;
  std::uint32_t generation_ = 0;
  GradientReducer reducer_;
  GradientReducer::Decide decide_;
  std::map<std::uint64_t, std::vector<caf::response_promise>> waiting_;  ///< By step
  std::optional<Reduction> reduction_;
  Then then_;
  std::uint64_t step_ = 0;   ///< Under way, or over
  std::uint64_t begun_ = 0;  ///< Counts steps: answers to an earlier one are dropped
};

}  // namespace troupe
