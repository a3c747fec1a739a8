#include "launcher/session_cluster.hpp"

namespace troupe {

struct SessionCluster::State {
  State(const Job& job, SessionSetup setup) : ranks(job, std::move(setup)) {}
  // The cluster's actors end after the threads that use them.
  ~State() { ranks.wait(); }
  RankThreads ranks;
  std::unique_ptr<SimulatedCluster> cluster;
};

SessionCluster::SessionCluster(std::unique_ptr<State> state) : state_(std::move(state)) {}
SessionCluster::~SessionCluster() = default;

Result<std::unique_ptr<SessionCluster>> SessionCluster::create(const Job& job,
                                                               const PartitionedStore& store,
                                                               SessionSetup setup,
                                                               ClusterHooks hooks) {
  auto state = std::make_unique<State>(job, std::move(setup));
  state->ranks.add_to(hooks);
  TROUPE_ASSIGN_OR_RETURN(state->cluster, SimulatedCluster::create(job, store, std::move(hooks)));
  return std::unique_ptr<SessionCluster>(new SessionCluster(std::move(state)));
}

void SessionCluster::start(RankFunction fn, Events events) {
  state_->ranks.start(std::move(fn), std::move(events));
}

SessionOutcome SessionCluster::wait() {
  return state_->ranks.wait();
}

void SessionCluster::stop() {
  state_->ranks.stop();
}

SimulatedCluster& SessionCluster::cluster() {
  return *state_->cluster;
}

}  // namespace troupe
