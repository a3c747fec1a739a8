#pragma once
/// \file task_rules.hpp
/// What losses, scores and keys fit which task, and what a task makes of the model.
#include "runtime/graph/graph_info.hpp"
#include "runtime/job/job.hpp"
#include "runtime/job/problems.hpp"

#include <string>
#include <vector>

namespace troupe {

/// All scores that `eval.metric` may name.
std::vector<std::string> metric_names();

/// Defaults that depend on the task.
std::string default_loss(const TaskJob& task);
std::string default_metric(const Job& job);
std::string default_decoder(const TaskJob& task);
/// \param files  the job gives false links or candidates in files
std::string default_eval_negatives(const TaskJob& task, bool files);

/// Adds keys that do not fit the job's task.
void check_task_keys(const Job& job, ProblemList& problems);

/// The model of a job whose seeds are links: rows of the types of both ends, and a decoder.
/// \requires training_links() are there
void fit_links_to_graph(Job& job, const GraphInfo& graph);

/// Adds what the built-in trainer lacks to train on links, or a trained model to predict them.
/// \param trainer  none: nothing is drawn or scored
void check_links_to_train(const Job& job, const GraphInfo& graph, JobTrainer trainer,
                          ProblemList& problems);

/// Numbers of each seed or link that sampled evaluation gives.
std::uint64_t score_cols(const Job& job);

}  // namespace troupe
