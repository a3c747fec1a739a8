#include "runtime/job/sample_options.hpp"

#include "runtime/job/columns.hpp"
#include "runtime/job/fanout.hpp"
#include "runtime/job/knowledge_rules.hpp"
#include "runtime/job/link_rules.hpp"
#include "runtime/job/subgraph_rules.hpp"
#include "runtime/job/walk_rules.hpp"

namespace troupe {

SampleOptions sample_options(const Job& job, const GraphInfo& graph) {
  SampleOptions options;
  options.fanout = fanout_by_hop(job.sample, graph);
  options.choice = place_of_kind(choice_kinds(), job.sample.choice);
  options.replace = job.sample.replace;
  options.shared = job.sample.shared;
  options.edge_data = job.sample.edge_data;
  options.entries_of = types_of_edge_columns(job, graph);
  options.dir = job.sample.edge_dir;
  options.frontier = job.sample.frontier;
  options.disjoint = job.sample.in_trees();
  options.subgraph = job.sample.subgraph;
  if (options.subgraph == Subgraph::bidirectional) {
    options.reverse_of = reverses_of_sampled(options.fanout, graph);
  }
  if (job.sample.time.given()) {
    options.time = job.sample.time.rule;
    options.seed_time = job.sample.time.at.value_or(0);
  }
  if (const auto* links = training_links(job, graph); links != nullptr) {
    options.links = LinkOptions{.negatives = job.task.negatives,
                                .exclude = job.task.exclude,
                                .reverse = reverse_type(job.task, graph, links->edge_type)};
    options.links->pairs_of = links->pairs_of;
    options.links->pair_types = types_of_pairs(job, graph);
    if (!job.task.knowledge()) {
      options.links->reverses = reverse_types(job.task, graph, *links);
    }
    if (job.task.knowledge() || job.model.layers == 0) {  // batches have no hops
      options.fanout.clear();
      options.links->exclude = false;
    }
    if (job.task.knowledge()) {
      options.links->shared = shared_candidates(job);
    }
  }
  if (job.task.walks() || job.task.from_walks) {
    options.walks = walk_options(job.task.walk, graph);
  }
  if (job.task.walks()) {
    options.disjoint = false;  // also with times, which walks have of their seeds
  }
  options.job_seed = job.seed;
  return options;
}

BatchSizes batch_sizes(const SampleJob& sample) {
  return {.size = sample.batch_size,
          .last = sample.drop_last ? ShortBatch::dropped : ShortBatch::kept};
}

}  // namespace troupe
