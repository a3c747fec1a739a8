#pragma once
/// \file device_plan.hpp
/// What of a run is done on devices.
#include "gpu/run/device_data.hpp"
#include "gpu/run/devices.hpp"
#include "runtime/base/result.hpp"
#include "runtime/feature/row_collection.hpp"
#include "runtime/job/device_memory.hpp"
#include "runtime/job/job.hpp"
#include "runtime/job/layout.hpp"
#include "runtime/sample/batch_builder.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace troupe {

struct DevicePlan {
  bool learns = false;       ///< Ranks' learners work there
  bool rows = false;         ///< and rows of their batches are gathered there
  bool staged = false;       ///< with rows that the host stages, as a device has not all of them
  bool batches = false;      ///< and their batches are sampled there, too
  std::string why_not = {};  ///< else: why the host samples, or does all of it
  /// Bytes that exact inference wants of a device; 0: there is none, or the host computes it.
  std::uint64_t exact_bytes = 0;
  bool exact_on_host = false;  ///< Evaluators are in processes without ranks
  // Where rows are gathered on devices:
  PartHeat heat = {};                   ///< Of the store
  std::uint64_t reserved_per_rank = 0;  ///< Bytes of a device beside lists and rows, at most
};

/// As `cluster.device` and `sample.on` say.
/// \errors invalid_argument: `sample.on` is "device", and it cannot be, or the job says what devices
///   keep that do not gather or sample, with the reason
Result<DevicePlan> device_plan(const Job& job, const Layout& layout, const SampleOptions& sample,
                               const CollectOptions& collect);

/// What processes that sample for ranks elsewhere do on devices of their own, as `cluster.sampler_devices` and
/// `sample.on` say; nothing where they have none.
/// \errors as device_plan()
Result<DevicePlan> sampler_plan(const Job& job, const Layout& layout, const SampleOptions& sample,
                                const CollectOptions& collect);

/// Where data that devices read is put.
/// \param graph, heat  of the store
void plan_memory(DevicePlan& plan, const Job& job, const GraphInfo& graph, const PartHeat& heat);
/// The same for a user program, whose activations and parameters are not known: batches alone are counted.
void plan_program_memory(DevicePlan& plan, const Job& job, const GraphInfo& graph,
                         const PartHeat& heat);
/// The same for a sampler_plan().
void plan_sampler_memory(DevicePlan& plan, const Job& job, const GraphInfo& graph,
                         const PartHeat& heat);
/// What the devices of a process hold.
/// \param devices  of the process
/// \param ranks    of the process, or those that it samples for; at least one
/// \requires plan.rows
gpu::DeviceDataOptions data_options(const DevicePlan& plan, const Job& job,
                                    std::shared_ptr<const SampleOptions> sample,
                                    const CollectOptions& collect, const gpu::Devices& devices,
                                    std::span<const Rank> ranks);
/// What a run's devices hold, as `check` prints it.
/// \param here       devices of this host, or null
/// \param part_rows  [parts] bytes of features of each part's nodes; empty: not known
/// \requires plan.learns
DeviceMemory memory_of_devices(const DevicePlan& plan, const Job& job, const GraphInfo& graph,
                               const Plan& of_job, gpu::Devices* here,
                               std::vector<std::uint64_t> part_rows = {});

/// The same of devices of processes that sample for ranks elsewhere. \requires plan.rows
DeviceMemory memory_of_samplers(const DevicePlan& plan, const Job& job, const GraphInfo& graph,
                                const Plan& of_job, gpu::Devices* here,
                                std::vector<std::uint64_t> part_rows = {});

/// For the start of a run and its report; empty: all is done on CPUs, as the job says.
/// \param here  what this host has; of emulated devices not needed
std::string device_text(const Job& job, const DevicePlan& plan, const gpu::FoundDevices& here);
/// The same of this host.
std::string device_text(const Job& job, const DevicePlan& plan);
/// Of a sampler_plan(); empty: there are no such devices.
std::string sampler_text(const Job& job, const DevicePlan& plan);

}  // namespace troupe
