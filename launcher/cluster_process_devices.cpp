// Devices of a process: which it has, what lies on them, and the batches that they make.
#include "gpu/run/devices.hpp"
#include "launcher/cluster_process.hpp"
#include "launcher/decide_device.hpp"
#include "runtime/job/plan.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace troupe {

gpu::DeviceData::PartsHere ClusterProcess::parts_here() const {
  gpu::DeviceData::PartsHere parts;
  for (const auto& [id, part] : context_->parts) {
    parts.push_back(part);
  }
  return parts;
}

/// Before any rank starts: ranks of a device share its data. Exact inference without training makes no
/// batches there.
Status ClusterProcess::fill_devices() {
  const auto& ranks = plan().ranks;
  if (!devices_ || !plan_->devices.rows || ranks.empty() || plan_->inference) {
    return ok_status();
  }
  auto options =
      data_options(plan_->devices, plan_->job, plan_->sample, *plan_->collect, *devices_, ranks);
  if (hooks_->own_program) {
    // What it takes is not known: at least half of the memory is left to it.
    TROUPE_ASSIGN_OR_RETURN(const auto memory, devices_->memory(ranks.front()));
    options.reserved_bytes = std::max(options.reserved_bytes, memory.total / 2);
  }
  TROUPE_ASSIGN_OR_RETURN(
      device_data_, gpu::DeviceData::create(devices_, ranks, *plan_->graph, parts_here(), options));
  if (hooks_->own_program && hooks_->say) {
    hooks_->say(fmt::format("{}: batches on device {}{}", plan().name,
                            to_string(plan_->job.cluster.device_on(raw(context_->host))),
                            plan_->devices.batches
                                ? std::string()
                                : fmt::format("; the host samples ({})", plan_->devices.why_not)));
  }
  if (const auto text = device_data_->text(); !text.empty() && hooks_->say) {
    hooks_->say(fmt::format("{}: {}", plan().name, text));
  }
  return ok_status();
}

/// Where ranks compute here: by the built-in model, or by a user program.
Status ClusterProcess::open_devices() {
  const bool computes = hooks_->own_program || (!plan_->take_only() && !hooks_->spawn_rank);
  if (plan().ranks.empty() || !computes) {
    return ok_status();
  }
  const auto& choice = plan_->job.cluster.device_on(raw(context_->host));
  if (choice.automatic) {
    TROUPE_RETURN_IF_ERROR(check_decided(choice, gpu::find_devices(), plan().name));
  }
  if (!hooks_->own_program && !hooks_->bf16_without_unit && !plan_->inference) {
    TROUPE_RETURN_IF_ERROR(check_bf16(plan_->job, plan().name));
  }
  TROUPE_ASSIGN_OR_RETURN(devices_, gpu::open_devices(choice, plan_->device_network));
  return ok_status();
}

/// Of the devices of the ranks here, as `check` prints it; none: CPUs, or a user program, whose memory is not planned.
std::optional<DeviceMemory> ClusterProcess::planned_memory() const {
  if (!devices_ || hooks_->own_program) {
    return std::nullopt;
  }
  return memory_of_devices(plan_->devices, plan_->job, *plan_->graph,
                           make_plan(plan_->job, *plan_->graph), devices_.get());
}

DeviceMemory ClusterProcess::planned_memory_of_samplers() const {
  return memory_of_samplers(plan_->sampler_devices, plan_->job, *plan_->graph,
                            make_plan(plan_->job, *plan_->graph), sampler_devices_.get());
}

/// The same for ranks elsewhere. Batches have the same bits wherever they are made, so hosts need not agree.
Status ClusterProcess::fill_sampler_devices() {
  const auto& ranks = plan().samples_for;
  const auto& of = plan_->sampler_devices;
  if (ranks.empty() || !of.rows) {
    return ok_status();
  }
  auto choice = plan_->job.cluster.sampler_devices;
  if (choice.automatic) {
    const auto here =
        gpu::found_devices(gpu::open_devices({.kind = DeviceKind::cuda}), ok_status());
    choice = {.kind = here.kind, .automatic = true};
    if (hooks_->say) {
      hooks_->say(
          fmt::format("{}: makes batches on {} ({})", plan().name, to_string(choice), here.text));
    }
  }
  TROUPE_ASSIGN_OR_RETURN(sampler_devices_, gpu::open_devices(choice, plan_->device_network));
  if (!sampler_devices_) {
    return ok_status();
  }
  const auto options =
      data_options(of, plan_->job, plan_->sample, *plan_->collect, *sampler_devices_, ranks);
  TROUPE_ASSIGN_OR_RETURN(
      sampler_data_,
      gpu::DeviceData::create(sampler_devices_, ranks, *plan_->graph, parts_here(), options));
  if (const auto text = sampler_data_->text(); !text.empty() && hooks_->say) {
    hooks_->say(fmt::format("{}: {}", plan().name, text));
  }
  return ok_status();
}

/// A device makes batches, or gathers the rows of those that the host samples; what else is requested goes
/// to samplers and collector of the host.
/// \param options  what the device makes, and of what
SpawnDataPath ClusterProcess::device_path(const std::string& owner, const DevicePlan& plan,
                                          DeviceSamplerOptions options) {
  const auto name = "device sampler of " + owner;
  options.host = context_;
  options.executor = runtime_.compute();
  options.trace = track(name);
  options.sample = plan.batches ? plan_->sample : nullptr;
  return [self = shared_from_this(), owner, name, made = std::move(options)] {
    auto with = made;
    const auto start = [&] {
      auto actor = spawn_device_sampler(self->runtime_.system(), with);
      self->know(name, actor);
      return actor;
    };
    if (!with.sample) {
      caf::actor gathers;
      auto path = self->start_data_path(owner, [&](const caf::actor& collector) {
        with.rows_from_host = collector;
        return gathers = start();
      });
      path.behind = {gathers};
      return path;
    }
    auto path = self->start_data_path(owner);
    with.on_host = path.samplers.front();
    path.behind = std::exchange(path.samplers, {start()});
    return path;
  };
}

/// Of a rank here, on its device.
Result<SpawnDataPath> ClusterProcess::device_path_of(Rank rank, const std::string& owner) {
  const auto arrays = hooks_->own_program ? gpu::ArraysThere::all : gpu::ArraysThere::model;
  TROUPE_ASSIGN_OR_RETURN(std::shared_ptr<gpu::DeviceBatches> batches,
                          device_data_->batches(rank, arrays));
  return device_path(owner, plan_->devices,
                     {.batches = std::move(batches),
                      .collect = plan_->collect,
                      .slots = device_data_->slots(),
                      .memory = planned_memory()});
}

/// Of a rank elsewhere, whose process digests and trains on them.
Result<SpawnDataPath> ClusterProcess::sampler_device_path_of(Rank rank, const std::string& owner) {
  TROUPE_ASSIGN_OR_RETURN(std::shared_ptr<gpu::DeviceBatches> batches,
                          sampler_data_->batches(rank, gpu::ArraysThere::none));
  return device_path(owner, plan_->sampler_devices,
                     {.batches = std::move(batches),
                      .collect = context_->collect,
                      .digests = false,
                      .slots = sampler_data_->slots(),
                      .memory = planned_memory_of_samplers()});
}

}  // namespace troupe
