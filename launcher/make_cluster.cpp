#include "launcher/make_cluster.hpp"

#include "launcher/end_or_signal.hpp"
#include "launcher/processes/process_cluster.hpp"
#include "launcher/simulated_cluster.hpp"

namespace troupe {
bool stop_asked() {
  sigset_t pending;
  sigpending(&pending);
  return sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1 ||
         sigismember(&pending, SIGHUP) == 1;
}

Result<std::unique_ptr<Cluster>> make_cluster(const Job& job, const PartitionedStore& store,
                                              ClusterHooks hooks,
                                              const std::filesystem::path& folder) {
  if (job.cluster.launch == "simulate") {
    TROUPE_ASSIGN_OR_RETURN(auto cluster, SimulatedCluster::create(job, store, std::move(hooks)));
    return std::unique_ptr<Cluster>(std::move(cluster));
  }
  ProcessClusterSetup setup;
  setup.say = hooks.say;
  setup.hooks = std::move(hooks);
  setup.folder = folder;
  return make_process_cluster(job, store, std::move(setup), stop_asked);
}

}  // namespace troupe
