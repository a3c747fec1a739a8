#include "runtime/job/precision_rules.hpp"

#include <fmt/format.h>

namespace troupe {

std::optional<JobProblem> precision_problem(const Job& job) {
  const auto kind = job.cluster.device.kind;
  const bool float32_alone = kind == DeviceKind::cpu || kind == DeviceKind::emulated;
  if (!float32_alone || job.train.precision == nn::Precision::float32) {
    return std::nullopt;
  }
  return JobProblem{
      "/train/precision",
      fmt::format("\"float32\" with cluster.device \"{}\"", to_string(job.cluster.device)),
      fmt::format("\"{}\", which is not built yet there", nn::to_string(job.train.precision)),
      fmt::format("products of {} are float32; cluster.device \"cuda\" computes others",
                  kind == DeviceKind::cpu ? "CPUs" : "emulated devices")};
}

}  // namespace troupe
