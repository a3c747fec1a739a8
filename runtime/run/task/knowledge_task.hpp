#pragma once
/// \file knowledge_task.hpp
/// Triples of a knowledge graph to complete: true ones against candidates that chunks of a batch share
/// (decision 0042). The network has no layers: its rows are those of entities, its parameters those of
/// relations.
#include "runtime/run/task/task.hpp"

#include <memory>

namespace troupe {

/// \errors invalid_argument: a loss that is none of triples, a network with layers or without relations
Result<std::unique_ptr<Task>> make_knowledge_task(const TaskOptions& options,
                                                  const nn::Network& network, nn::BlockOps& ops);

}  // namespace troupe
