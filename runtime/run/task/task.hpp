#pragma once
/// \file task.hpp
/// What follows a network: from the rows after its last layer and the batch to the loss and its
/// gradients, and to the numbers that scores are made of. One implementation for each kind of task, one
/// row each in task_kinds(). A new kind is a pair of files and a row.
#include "runtime/base/executor.hpp"
#include "runtime/base/matrix.hpp"
#include "runtime/base/result.hpp"
#include "runtime/feature/batch.hpp"
#include "runtime/nn/knowledge/knowledge_options.hpp"
#include "runtime/nn/link_losses.hpp"
#include "runtime/nn/network.hpp"
#include "runtime/nn/ops/block_ops.hpp"
#include "runtime/nn/ops/seed_loss.hpp"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

struct TaskOptions {
  std::string kind = "node";           ///< row of task_kinds()
  std::string loss = "cross_entropy";  ///< one that the kind knows
  double pos_weight = 1;               ///< of positive targets, with "bce_logits"
  double delta = 1;                    ///< with "huber"
  nn::LinkLossOptions link_loss = {};
  nn::KnowledgeOptions knowledge = {};
  bool rank_all = false;  ///< Of links: outputs end with add_link_queries()
};

/// One batch after the network. Everything is in host memory.
struct TaskPass {
  Executor& executor;
  nn::BlockOps& ops;  ///< computes losses of seeds
  const Batch& batch;
  std::span<const ConstMatrix> rows;       ///< Network::forward_rows()
  std::span<const float> parameters = {};  ///< the decoder's
};

/// Gradients of the sum of the losses.
struct TaskGradients {
  std::vector<Matrix> rows = {};       ///< of the shapes of TaskPass::rows
  std::vector<float> parameters = {};  ///< of the decoder
};

/// Lifecycle: check(), then loss() or outputs(); again. Threads: one at a time
class Task {
 public:
  virtual ~Task() = default;

  /// \errors failed_precondition: the batch has other labels or seeds than the task needs
  virtual Status check(const Batch& batch) const = 0;
  /// Sum of the losses over the terms of the batch, with their number, and its gradients.
  /// \requires check()
  virtual nn::LossResult loss(const TaskPass& pass, TaskGradients& gradients) = 0;
  /// The loss as one of the network's first rows for each seed, which a device can compute, too. Valid until
  /// the next call, while the batch is there. None: loss() alone, in host memory.
  /// \requires check()
  virtual std::optional<nn::SeedLoss> seed_loss(const Batch& batch) {
    static_cast<void>(batch);
    return std::nullopt;
  }
  /// Numbers of each seed or link: logits of nodes and edges; of links the score of each, then those of
  /// its negatives; of nodes in a task of links their rows; of triples queries and keys (knowledge_task.cpp). Labels are not read, but relations.
  /// \errors as check(), of seeds
  virtual Result<Matrix> outputs(const TaskPass& pass) = 0;
};

struct TaskKind {
  std::string_view name;  ///< as in the job file
  /// \errors invalid_argument: the options make no task
  Result<std::unique_ptr<Task>> (*make)(const TaskOptions& options, const nn::Network& network);
};
std::span<const TaskKind> task_kinds();

/// \errors invalid_argument: no such kind; those of the kind
Result<std::unique_ptr<Task>> make_task(const TaskOptions& options, const nn::Network& network);

}  // namespace troupe
