#include "bench/system/pipeline.hpp"

#include "launcher/simulated_cluster.hpp"

#include <utility>
#include <vector>

namespace troupe::bench {

Result<PipelineCost> run_pipeline(const BenchData& data, const PipelineOptions& options) {
  auto job = data.job;
  job.cluster.hosts = options.hosts;
  job.cluster.batches_in_flight = options.batches_in_flight;
  job.cluster.threads = options.threads;
  job.train.epochs = options.epochs + 1;
  ClusterHooks hooks;
  hooks.take_only = true;
  TROUPE_ASSIGN_OR_RETURN(const auto cluster,
                          SimulatedCluster::create(job, data.store, std::move(hooks)));
  TROUPE_ASSIGN_OR_RETURN(const auto ran, cluster->run({}));
  const auto& record = ran.record;
  PipelineCost cost;
  std::vector<double> us;
  for (std::size_t e = 1; e < record.epochs.size(); ++e) {
    const auto& counters = record.epochs[e].counters;
    cost.batches = counters.batches;
    const auto batches = static_cast<double>(counters.batches);
    us.push_back(record.epochs[e].seconds * 1e6 * static_cast<double>(job.sample.batch_size) /
                 static_cast<double>(counters.seeds));
    cost.edges_per_batch = static_cast<double>(counters.edges) / batches;
    cost.rows_per_batch = static_cast<double>(counters.rows) / batches;
  }
  cost.us_per_batch = stats_of(std::move(us));
  return cost;
}

}  // namespace troupe::bench
