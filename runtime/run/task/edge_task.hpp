#pragma once
/// \file edge_task.hpp
/// Classes or numbers of edges: the labels of the links that are seeds.
#include "runtime/run/task/task.hpp"

#include <memory>

namespace troupe {

/// \errors invalid_argument: a loss that is none of edges, no decoder
Result<std::unique_ptr<Task>> make_edge_task(const TaskOptions& options, const nn::Network& network,
                                             nn::BlockOps& ops);

}  // namespace troupe
