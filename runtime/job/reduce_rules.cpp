#include "runtime/job/reduce_rules.hpp"

#include <fmt/format.h>

namespace troupe {

std::optional<JobProblem> reduce_problem(const Job& job) {
  if (job.cluster.device.kind != DeviceKind::cpu || job.train.reduce == "exact") {
    return std::nullopt;
  }
  return JobProblem{
      "/train/reduce",
      fmt::format("\"exact\" with cluster.device \"{}\"", to_string(job.cluster.device)),
      fmt::format("\"{}\"", job.train.reduce),
      "gradients on CPUs are always added in the order of ranks; other orders are "
      "for GPUs that exchange them"};
}

}  // namespace troupe
