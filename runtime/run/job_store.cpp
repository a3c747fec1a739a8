#include "runtime/run/job_store.hpp"

#include "runtime/job/embedding_rules.hpp"
#include "runtime/run/job_seeds.hpp"

#include <utility>

namespace troupe {

Result<PartitionedStore> store_of_job(const Job& job, PartitionedStore store) {
  const auto replaced = types_with_replaced_features(job, store.info());
  return with_own_seeds(job,
                        replaced.empty() ? std::move(store) : store.without_features(replaced));
}

Status make_graph_of_job(const Job& job, GraphInfo& graph) {
  leave_out_features(graph, types_with_replaced_features(job, graph));
  return count_own_seeds(job, graph);
}

}  // namespace troupe
