#include "launcher/decide_device.hpp"

#include "runtime/job/job_file.hpp"
#include "runtime/job/precision_rules.hpp"
#include "runtime/job/reduce_rules.hpp"
#include "runtime/nn/ops/word_products.hpp"

#include <fmt/format.h>

namespace troupe {

void decide_device(Job& job, const gpu::FoundDevices& found) {
  if (job.cluster.device.kind == DeviceKind::undecided) {
    set_device(job, {.kind = found.kind, .automatic = true});
  }
}

void decide_device(Job& job) {
  if (job.cluster.device.kind == DeviceKind::undecided) {
    decide_device(job, gpu::find_devices());
  }
}

Status check_precision(const Job& job, const gpu::FoundDevices& here) {
  const auto problem = precision_problem(job);
  if (!problem) {
    return ok_status();
  }
  return Error(
      Errc::unimplemented,
      fmt::format("train.precision: expected {}{}, found {}: {}\ntry: a host with GPUs, or "
                  "train.precision \"float32\"",
                  problem->expected,
                  job.cluster.device.automatic ? fmt::format(" ({})", here.text) : std::string(),
                  problem->found, problem->hint));
}

Status check_precision(const Job& job) {
  if (precision_problem(job)) {
    return check_precision(job, gpu::find_devices());
  }
  const auto& launch = job.cluster.launch;
  return launch == "simulate" || launch == "local" ? check_bf16(job, "this host") : ok_status();
}

Status check_bf16(const Job& job, std::string_view host, const Bf16Kernels& kernels) {
  const auto& choice = job.cluster.device;
  const bool on_cpu = choice.kind == DeviceKind::cpu || choice.kind == DeviceKind::emulated;
  if (!on_cpu || job.train.precision != nn::Precision::bf16 || kernels.unit) {
    return ok_status();
  }
  return Error(
      Errc::failed_precondition,
      fmt::format("train.precision: expected \"float32\" with cluster.device \"{}\", found "
                  "\"bf16\": {} has a processor without a unit for bfloat16 (AVX512_BF16 or "
                  "AMX-BF16); oneDNN's kernels there are for {}\ntry: train.precision "
                  "\"float32\", or a host whose processor has one",
                  to_string(choice), host, kernels.vectors));
}

Status check_bf16(const Job& job, std::string_view host) {
  return check_bf16(job, host, {nn::has_bf16_unit(), nn::matrix_kernels()});
}

Status check_reduce(const Job& job, const gpu::FoundDevices& here) {
  const auto problem = reduce_problem(job);
  if (!problem) {
    return ok_status();
  }
  return Error(
      Errc::failed_precondition,
      fmt::format("train.reduce: expected {}{}, found {}: {}\ntry: a host with GPUs, or "
                  "train.reduce \"exact\"",
                  problem->expected,
                  job.cluster.device.automatic ? fmt::format(" ({})", here.text) : std::string(),
                  problem->found, problem->hint));
}

Status check_reduce(const Job& job) {
  return reduce_problem(job) ? check_reduce(job, gpu::find_devices()) : ok_status();
}

Status check_decided(const DeviceChoice& choice, const gpu::FoundDevices& here,
                     std::string_view host) {
  if (!choice.automatic || choice.kind == here.kind) {
    return ok_status();
  }
  return Error(
      Errc::failed_precondition,
      fmt::format("cluster.device \"auto\": expected devices of one kind on all hosts: the "
                  "host that started the run has {}, {} has {} ({})\ntry: cluster.device "
                  "\"cpu\", or \"cuda\" on hosts that have GPUs",
                  choice.kind == DeviceKind::cuda ? "GPUs" : "none", host,
                  here.kind == DeviceKind::cuda ? "GPUs" : "none", here.text));
}

std::string decided_text(const DeviceChoice& choice, const gpu::FoundDevices& here) {
  if (choice.automatic) {
    return fmt::format("device auto: {} ({})", to_string(here.kind), here.text);
  }
  return choice.kind == DeviceKind::cpu && here.kind == DeviceKind::cuda
             ? fmt::format("device cpu: not used are {}; cluster.device \"auto\" would use them",
                           here.text)
             : std::string();
}

}  // namespace troupe
