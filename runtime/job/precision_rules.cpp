#include "runtime/job/precision_rules.hpp"

#include <fmt/format.h>

namespace troupe {

std::optional<JobProblem> precision_problem(const Job& job) {
  const auto kind = job.cluster.device.kind;
  const bool products_of_cpu = kind == DeviceKind::cpu || kind == DeviceKind::emulated;
  if (!products_of_cpu || job.train.precision != nn::Precision::tf32) {
    return std::nullopt;
  }
  return JobProblem{
      "/train/precision",
      fmt::format("\"float32\" or \"bf16\" with cluster.device \"{}\"",
                  to_string(job.cluster.device)),
      "\"tf32\", which no CPU has",
      fmt::format("products of {} are float32 or bf16; cluster.device \"cuda\" computes others",
                  kind == DeviceKind::cpu ? "CPUs" : "emulated devices")};
}

}  // namespace troupe
