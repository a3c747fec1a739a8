#include "launcher/device_plan.hpp"

#include "gpu/run/device_batches.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace troupe {
namespace {

/// \errors failed_precondition, unimplemented: what stands against batches on devices
Status check_batches_there(const Job& job, const Layout& layout, const SampleOptions& sample,
                           const CollectOptions& collect) {
  if (job.cluster.device.kind == DeviceKind::cpu) {
    return Error(Errc::failed_precondition, "cluster.device is \"cpu\"");
  }
  if (!job.embedding.empty()) {
    return Error(Errc::unimplemented,
                 "batches on a device: learned rows (\"embedding\") are not built yet for them\n"
                 "try: sample.on \"host\"");
  }
  if (job.partition.parts != 1) {
    return Error(Errc::unimplemented,
                 fmt::format("batches on a device: a graph of {} parts is not built yet\ntry: "
                             "partition.parts 1, with cluster.replicas as many as hosts",
                             job.partition.parts));
  }
  for (std::uint32_t rank = 0; rank < job.cluster.world(); ++rank) {
    const auto& process = layout.at(layout.process_of(Rank{rank}));
    const bool has_graph = std::ranges::find(process.maps, PartId{0}) != process.maps.end();
    if (!has_graph || !layout.samplers_of(Rank{rank}).empty()) {
      return Error(
          Errc::failed_precondition,
          fmt::format("batches on a device: expected the graph in the process of rank {}, "
                      "{}\ntry: placement \"collocated\", and cluster.replicas as many as "
                      "hosts",
                      rank, has_graph ? "whose batches others make" : "which has no part"));
    }
  }
  return gpu::check_device_batches(sample, collect);
}

}  // namespace

Result<DevicePlan> device_plan(const Job& job, const Layout& layout, const SampleOptions& sample,
                               const CollectOptions& collect) {
  DevicePlan plan{.learns = job.cluster.device.kind != DeviceKind::cpu};
  if (job.sample.on == SampleOn::host) {
    plan.why_not = "sample.on is \"host\"";
    return plan;
  }
  if (auto possible = check_batches_there(job, layout, sample, collect); !possible) {
    if (job.sample.on == SampleOn::device) {
      return Error(Errc::failed_precondition,
                   fmt::format("sample.on: \"device\": {}", possible.error().what()));
    }
    const auto& text = possible.error().what();
    plan.why_not = text.substr(0, text.find('\n'));
    return plan;
  }
  plan.batches = true;
  return plan;
}

std::string device_text(const Job& job, const DevicePlan& plan, const gpu::FoundDevices& here) {
  const DeviceChoice& choice = job.cluster.device;
  const bool known = choice.automatic || here.kind == DeviceKind::cuda;
  const auto device = choice.kind != DeviceKind::emulated && known
                          ? fmt::format("{} ({})", to_string(choice), here.text)
                          : to_string(choice);
  if (!plan.learns) {
    return choice.automatic ? fmt::format("device {}: not used", device) : std::string();
  }
  std::string by_host;
  if (!plan.batches) {
    by_host += fmt::format("; the host makes batches ({})", plan.why_not);
  }
  if (job.task.kind != "node") {
    by_host += fmt::format("; the host computes the losses of task.kind \"{}\"", job.task.kind);
  }
  if (!job.embedding.empty()) {
    by_host += "; learned rows and their gradients pass through the host";
  }
  return fmt::format("device {}: trains{}{}", device, plan.batches ? ", makes batches" : "",
                     by_host);
}

std::string device_text(const Job& job, const DevicePlan& plan) {
  const auto& choice = job.cluster.device;
  const bool looks = choice.automatic || choice.kind == DeviceKind::cuda;
  return device_text(job, plan, looks ? gpu::find_devices() : gpu::FoundDevices{});
}

}  // namespace troupe
