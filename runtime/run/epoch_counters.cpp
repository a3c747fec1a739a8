#include "runtime/run/epoch_counters.hpp"

namespace troupe {

void count_batch(net::EpochCounters& counters, const ReadyBatch& ready) {
  const auto& sampled = *ready.batch.sampled;
  counters.batches += 1;
  counters.seeds += sampled.num_seeds();
  counters.nodes += sampled.num_nodes();
  counters.edges += sampled.num_edges();
  sum_counters<BatchTrace>(counters, ready.trace);
  counters.frontier.add(ready.trace.frontier);
}

void add_counters(net::EpochCounters& to, const net::EpochCounters& more) {
  sum_counters(to, more);
  to.frontier.add(more.frontier);
}

}  // namespace troupe
