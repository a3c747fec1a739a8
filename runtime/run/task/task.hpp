#pragma once
/// \file task.hpp
/// What follows a network: from the rows after its last layer and the batch to the loss and its
/// gradients, and to the numbers that scores are made of. One implementation for each kind of task, one
/// row each in task_kinds(). A new kind is a pair of files and a row.
#include "runtime/base/executor.hpp"
#include "runtime/base/matrix.hpp"
#include "runtime/base/result.hpp"
#include "runtime/feature/batch.hpp"
#include "runtime/nn/class_weights.hpp"
#include "runtime/nn/knowledge/knowledge_options.hpp"
#include "runtime/nn/link_losses.hpp"
#include "runtime/nn/network.hpp"
#include "runtime/nn/ops/block_ops.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

struct TaskOptions {
  std::string kind = "node";            ///< row of task_kinds()
  std::string loss = "cross_entropy";   ///< one that the kind knows
  double pos_weight = 1;                ///< of positive targets, with "bce_logits"
  double delta = 1;                     ///< with "huber"
  nn::ClassWeights class_weights = {};  ///< Of classes of nodes and edges, or labels of nodes
  nn::LinkLossOptions link_loss = {};
  nn::KnowledgeOptions knowledge = {};
  bool rank_all = false;  ///< Of links: outputs end with add_link_queries()
};

/// One batch after the network. Rows and parameters are in the memory of the task's functions.
struct TaskPass {
  Executor& executor;
  const Batch& batch;
  std::span<const ConstMatrix> rows;       ///< Network::forward_rows()
  std::span<const float> parameters = {};  ///< the decoder's
};

/// Gradients of the sum of the losses, in that memory. Valid until the task's next call.
struct TaskGradients {
  std::vector<ConstMatrix> rows = {};      ///< of the shapes of TaskPass::rows
  std::span<const float> parameters = {};  ///< of the decoder
  std::vector<Matrix> kept = {};           ///< those of `rows` that are the caller's to keep
};

/// Lifecycle: check(), then loss() and loss_sum(), or outputs(); again, at most one loss() before the number of
///   the one before has come. Threads: one at a time
/// Borrows:   the functions that it was made for; from loss() until its number has come the batch, its rows and
///   the parameters
class Task {
 public:
  virtual ~Task() = default;

  /// \errors failed_precondition: the batch has other labels or seeds than the task needs
  virtual Status check(const Batch& batch) const = 0;
  /// The losses over the terms of the batch, and the gradients of their sum. Does not wait for a device.
  /// \requires check()
  /// \returns the number of terms, or the sum of their classes' weights; with 0 there is nothing to learn, and the
  ///   gradients are undefined
  virtual std::uint64_t loss(const TaskPass& pass, TaskGradients& gradients) = 0;
  /// Of the last loss().
  virtual nn::LaterNumber loss_sum() = 0;
  /// Numbers of each seed or link, in host memory: logits of nodes and edges; of links the score of each, then
  /// those of its negatives; of nodes in a task of links their rows; of triples queries and keys
  /// (knowledge_task.cpp). Labels are not read, but relations.
  /// \errors as check(), of seeds; those of a device
  virtual Result<Matrix> outputs(const TaskPass& pass) = 0;
};

struct TaskKind {
  std::string_view name;  ///< as in the job file
  /// \errors invalid_argument: the options make no task
  Result<std::unique_ptr<Task>> (*make)(const TaskOptions& options, const nn::Network& network,
                                        nn::BlockOps& ops) = nullptr;
};
std::span<const TaskKind> task_kinds();

/// \param ops  what it computes with
/// \errors invalid_argument: no such kind; those of the kind
Result<std::unique_ptr<Task>> make_task(const TaskOptions& options, const nn::Network& network,
                                        nn::BlockOps& ops);

}  // namespace troupe
