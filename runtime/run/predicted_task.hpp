#pragma once
/// \file predicted_task.hpp
/// The task of a trained model on data that do not state it: without a split, without labels.
#include "runtime/base/result.hpp"
#include "runtime/graph/graph_info.hpp"
#include "runtime/graph/store.hpp"
#include "runtime/job/job.hpp"
#include "runtime/run/outputs.hpp"
#include "runtime/wire/messages.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// Parts of the task that the data do not state.
struct PredictedTask {
  std::optional<NodeTypeId> seeds =
      {};                              ///< Type of the nodes with outputs; none: that of the split
  std::vector<EdgeTypeId> links = {};  ///< Edge types of links; empty: those of the split
  std::uint64_t outputs = 0;           ///< Columns of outputs; 0: as the labels say

  friend bool operator==(const PredictedTask&, const PredictedTask&) = default;
};

/// Saved model, and the edge type that a user names for its links; empty: none.
struct NamedModel {
  std::filesystem::path file;
  ModelMetadata metadata;
  std::string edge_type = {};
};

/// The parts that the data lack, from the model's metadata or as the graph's only types.
/// \errors invalid_argument: neither says them, with what to give; labels of another number of classes than the
///   model has outputs
Result<PredictedTask> predicted_task(const Job& job, const GraphInfo& graph,
                                     const NamedModel& model);

/// Gives the job's split the role `train` that the data lack: of nodes without any seeds, of links with all edges.
void add_predicted(GraphInfo& graph, const Job& job, const PredictedTask& task);

/// The store with all edges as the links to train that its split lacks.
PartitionedStore with_predicted_links(PartitionedStore store, const Job& job,
                                      const PredictedTask& task);

/// fit_to_graph() of data that lack parts of the task.
void fit_to_prediction(Job& job, GraphInfo graph, const PredictedTask& task);

/// Adds the task to a state that processes begin with.
void add_task(net::TrainingState& state, const PredictedTask& task);
/// \errors data_corruption: a task that add_task() does not make, or types that the graph does not have
Result<PredictedTask> task_of_state(const net::TrainingState& state, const GraphInfo& graph);

}  // namespace troupe
