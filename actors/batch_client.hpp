#pragma once
/// \file batch_client.hpp
/// Requests batches from the data path of a trainer, evaluator, session or batch server, and
/// restarts the path when one of its actors is lost.
#include "actors/data_path.hpp"
#include "actors/replica_client.hpp"
#include "runtime/feature/ready_batch.hpp"

#include <caf/event_based_actor.hpp>

#include <cstdint>
#include <functional>
#include <map>

namespace troupe {

/// A batch does not depend on the actors that make it (design, section 4): what had not arrived
/// when the path was lost is requested again from the new one.
/// Lifecycle:  a member of its actor's state, whose behavior has `run_continuation` and whose down
///   handler calls on_down(); the destructor ends the path's actors
/// Threads:    inside its actor's handlers
/// Guarantees: each request is answered once unless forget() comes first. At most `max_restarts` in
///   a row without a batch in between
/// Bound:      keeps what its actor has requested
class BatchClient {
 public:
  static constexpr std::uint32_t max_restarts = 5;
  using Answer = std::function<void(Result<Ref<ReadyBatch>>)>;

  /// Starts a data path.
  BatchClient(caf::event_based_actor* self, SpawnDataPath spawn);
  ~BatchClient();
  BatchClient(const BatchClient&) = delete;
  BatchClient& operator=(const BatchClient&) = delete;

  /// \param slot  picks the sampler or server: requests with consecutive ones are spread evenly
  /// \errors those of the path; data_corruption: another batch than the one requested;
  ///   deadline_exceeded: no server answered; peer_lost: see on_down()
  void ask(std::uint64_t slot, const Ref<SampleBatch>& request, Answer then);
  /// Hints at a request with that slot to come: its sampler may sample the batch ahead. Servers elsewhere
  /// get no hints.
  void hint(std::uint64_t slot, std::shared_ptr<const SampleBatch> request);
  /// No open request is answered any longer.
  void forget();
  /// Answers all open requests with an error.
  void fail_all(const Error& why);
  /// Restarts the path if `down.source` belongs to it.
  /// \errors peer_lost: that was one restart too many. All open requests are answered with it. The
  ///   path is down until start()
  Status on_down(const caf::down_msg& down);
  void start();

 private:
  struct Open {
    std::uint64_t slot = 0;
    Ref<SampleBatch> request;
    Answer then;
  };

  std::vector<caf::actor> actors() const;
  bool owns(const caf::actor_addr& source) const;
  void end_all();
  void send(std::uint64_t id);
  void answer(std::uint64_t id, Result<Ref<ReadyBatch>> with);

  caf::event_based_actor* self_;
  SpawnDataPath spawn_;
  DataPath path_;
  ReplicaClient servers_;
  std::map<std::uint64_t, Open> open_;
  std::uint64_t next_id_ = 0;
  std::uint64_t incarnation_ = 0;  ///< Counts starts: answers of an earlier path are dropped
  std::uint32_t restarts_ = 0;
};

}  // namespace troupe
