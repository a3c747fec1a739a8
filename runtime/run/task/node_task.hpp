#pragma once
/// \file node_task.hpp
/// Classes or targets of nodes.
#include "runtime/run/task/task.hpp"

#include <memory>

namespace troupe {

/// \errors invalid_argument: another loss, or a weight of positive targets that is not positive
Result<std::unique_ptr<Task>> make_node_task(const TaskOptions& options, const nn::Network& network,
                                             nn::BlockOps& ops);

}  // namespace troupe
