#include "runtime/run/epoch_counters.hpp"

namespace troupe {

void count_batch(net::EpochCounters& counters, const ReadyBatch& ready) {
  const auto& sampled = *ready.batch.sampled;
  counters.batches += 1;
  counters.seeds += sampled.seed_index.size();
  counters.nodes += sampled.num_nodes();
  counters.edges += sampled.num_edges();
  counters.sample_ns += ready.trace.sample_ns;
  counters.collect_ns += ready.trace.collect_ns;
  counters.frontier.add(ready.trace.frontier);
  counters.rows += ready.trace.rows;
  counters.rows_remote += ready.trace.rows_remote;
  counters.rows_cached += ready.trace.rows_cached;
  counters.rows_cached_at_best += ready.trace.rows_cached_at_best;
}

void add_counters(net::EpochCounters& to, const net::EpochCounters& more) {
  to.batches += more.batches;
  to.seeds += more.seeds;
  to.nodes += more.nodes;
  to.edges += more.edges;
  to.wait_ns += more.wait_ns;
  to.sample_ns += more.sample_ns;
  to.collect_ns += more.collect_ns;
  to.train_ns += more.train_ns;
  to.reduce_ns += more.reduce_ns;
  to.frontier.add(more.frontier);
  to.rows += more.rows;
  to.rows_remote += more.rows_remote;
  to.rows_cached += more.rows_cached;
  to.rows_cached_at_best += more.rows_cached_at_best;
}

}  // namespace troupe
