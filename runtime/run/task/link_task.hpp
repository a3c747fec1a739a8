#pragma once
/// \file link_task.hpp
/// Links to predict: scores of true links against those of drawn ones.
#include "runtime/run/task/task.hpp"

#include <memory>

namespace troupe {

/// \errors invalid_argument: a loss that is none of links, no decoder
Result<std::unique_ptr<Task>> make_link_task(const TaskOptions& options, const nn::Network& network,
                                             nn::BlockOps& ops);

}  // namespace troupe
