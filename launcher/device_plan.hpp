#pragma once
/// \file device_plan.hpp
/// What of a run is done on devices.
#include "gpu/run/devices.hpp"
#include "runtime/base/result.hpp"
#include "runtime/feature/row_collection.hpp"
#include "runtime/job/job.hpp"
#include "runtime/job/layout.hpp"
#include "runtime/sample/batch_builder.hpp"

#include <string>

namespace troupe {

struct DevicePlan {
  bool learns = false;       ///< Ranks' learners work there
  bool batches = false;      ///< and their batches are made there
  std::string why_not = {};  ///< else: why batches are made on the host
};

/// As `cluster.device` and `sample.on` say.
/// \errors failed_precondition: `sample.on` is "device", and it cannot be, with the reason
Result<DevicePlan> device_plan(const Job& job, const Layout& layout, const SampleOptions& sample,
                               const CollectOptions& collect);

/// For the start of a run and its report; empty: all is done on CPUs, as the job says.
/// \param here  what this host has; of emulated devices not needed
std::string device_text(const Job& job, const DevicePlan& plan, const gpu::FoundDevices& here);
/// The same of this host.
std::string device_text(const Job& job, const DevicePlan& plan);

}  // namespace troupe
