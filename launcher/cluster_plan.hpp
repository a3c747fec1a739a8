#pragma once
/// \file cluster_plan.hpp
/// What all processes of a run have in common: the job, the graph's description, seeds, options of every
/// actor. Made once from the job and the store, then only read.
#include "actors/evaluator.hpp"
#include "actors/gate.hpp"
#include "actors/trainer.hpp"
#include "gpu/comm/emulated_communicator.hpp"
#include "launcher/cluster_hooks.hpp"
#include "launcher/device_plan.hpp"
#include "launcher/gradient_plan.hpp"
#include "runtime/base/result.hpp"
#include "runtime/feature/embedding/options.hpp"
#include "runtime/graph/store.hpp"
#include "runtime/job/job.hpp"
#include "runtime/job/layout.hpp"
#include "runtime/nn/class_weights.hpp"
#include "runtime/nn/network.hpp"
#include "runtime/partition/partition_book.hpp"
#include "runtime/run/checkpoint.hpp"
#include "runtime/run/scoring.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// Of a list of nodes of an InferenceTask.
inline std::string inference_role(std::size_t list) {
  return "inference " + std::to_string(list);
}
/// Nodes whose rows a run without labels gives at its end.
inline constexpr const char* embedded_role = "nodes";

/// Of a process on a host: as the host's line or `cluster.threads` says, or all cores it may use.
std::size_t compute_threads(const ClusterJob& cluster, HostId host);
/// Of one process that is the whole cluster.
std::size_t compute_threads(const ClusterJob& cluster);

/// Options of a rank's learner, but for the weights of classes, which depend on the seeds.
/// \param job  fitted to its graph
LearnerOptions learner_options(const Job& job);

struct ClusterPlan {
  Job job;
  Layout layout;
  std::shared_ptr<const GraphInfo> graph;
  std::shared_ptr<const PartitionBook> book;
  std::map<std::string, std::shared_ptr<const SeedList>> seeds;    ///< by role
  std::map<std::string, std::shared_ptr<const LinkList>> links;    ///< by role, in their place
  std::map<std::string, std::shared_ptr<const SeedOrder>> orders;  ///< by role
  std::shared_ptr<const RankingPlan> ranking;  ///< of triples or links; null: none
  std::map<std::string, LinkScoring> scoring;  ///< by role, of links
  nn::ClassWeights class_weights;
  std::shared_ptr<const SampleOptions> sample;
  std::shared_ptr<const SampleOptions> eval_sample;  ///< of links to score; null: `sample`
  std::shared_ptr<const CollectOptions> collect;
  std::shared_ptr<const EmbeddingPlan> embedding;       ///< null: no learned rows
  std::shared_ptr<const CacheOptions> cache;            ///< null: none
  std::shared_ptr<const ListCacheOptions> lists_cache;  ///< null: none
  std::shared_ptr<const nn::Network> network;           ///< null if trainers only take batches
  DevicePlan devices;
  DevicePlan sampler_devices;  ///< Of processes that sample for ranks elsewhere
  GradientPlan gradients;
  /// Of emulated devices of all processes that are simulated here.
  std::shared_ptr<gpu::EmulatedNetwork> device_network;
  std::optional<InferenceTask> inference;  ///< its nodes are the seeds of inference_role()

  /// \param hooks  `take_only`: no model; `inference`
  /// \errors those of the store's seeds; invalid_argument: no such model, seeds or links of a type that fill no
  ///   batch where short ones are left out; failed_precondition: the store's order is not the one that the cache needs
  static Result<std::shared_ptr<const ClusterPlan>> make(const Job& job,
                                                         const PartitionedStore& store,
                                                         const ClusterHooks& hooks);

  bool take_only() const { return network == nullptr; }
  std::uint32_t parts() const { return book->parts(); }
  /// Number of coming batches that a rank hints at.
  std::uint32_t lookahead() const { return cache ? cache->batches_ahead() : 0; }
  std::uint32_t world() const { return job.cluster.world(); }

  TrainerOptions trainer_options(Rank rank) const;
  EvaluatorOptions evaluator_options(ProcessId process) const;
  GateOptions gate_options() const;
  /// What is done on devices, for the start of a run and its report; empty: nothing.
  std::string device_text() const;
  /// The state before the first step.
  Result<Checkpoint> initial_state() const;
};

}  // namespace troupe
