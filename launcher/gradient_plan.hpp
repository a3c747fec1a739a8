#pragma once
/// \file gradient_plan.hpp
/// Which way the gradients of a run's ranks go, as far as its job says; the ranks then agree
/// (runtime/run/reduction_route.hpp).
#include "runtime/job/job.hpp"
#include "runtime/job/layout.hpp"
#include "runtime/run/device_mean.hpp"

#include <string>

namespace troupe {

struct GradientPlan {
  bool by_devices = false;   ///< Ranks try to exchange them between their devices
  std::string why_not = {};  ///< Else, with devices and several ranks: the reason
  DeviceMeansOptions options = {};
};

/// \param learns  ranks learn on devices, as DevicePlan has it
GradientPlan gradient_plan(const Job& job, const Layout& layout, bool learns);

/// For the start of a run and its report, behind device_text(); empty: there is nothing to say.
std::string gradient_text(const GradientPlan& plan);

}  // namespace troupe
