#include "launcher/gradient_plan.hpp"

#include <fmt/format.h>
#include <set>

namespace troupe {
namespace {

/// Of a process; 0: not known before it starts.
std::size_t devices_of(const DeviceChoice& choice) {
  return choice.kind == DeviceKind::emulated ? choice.count : choice.numbers.size();
}

bool share_devices(const ProcessPlan& process, std::size_t devices) {
  std::set<std::size_t> taken;
  for (const Rank rank : process.ranks) {
    if (!taken.insert(raw(rank) % devices).second) {
      return true;
    }
  }
  return false;
}

std::string why_over_links(const Job& job, const Layout& layout) {
  const auto& cluster = job.cluster;
  std::set<HostId> hosts;
  std::size_t processes = 0;
  for (const ProcessPlan& process : layout.processes) {
    if (process.ranks.empty()) {
      continue;
    }
    ++processes;
    hosts.insert(process.host);
    const auto devices = devices_of(cluster.device_on(raw(process.host)));
    if (devices > 0 && share_devices(process, devices)) {
      return "ranks share a device";
    }
  }
  if (cluster.launch == "simulate") {
    return {};
  }
  if (cluster.device.kind == DeviceKind::emulated) {
    return processes > 1 ? "emulated devices of several processes" : "";
  }
  return hosts.size() > 1 && cluster.launch != "local" && !cluster.trusted_network
             ? "between hosts devices exchange them with cluster.trusted_network alone"
             : "";
}

}  // namespace

GradientPlan gradient_plan(const Job& job, const Layout& layout, bool learns) {
  GradientPlan plan;
  plan.options.order = job.train.reduce == "fast" ? SumOrder::any : SumOrder::by_rank;
  plan.options.trusted_network = job.cluster.trusted_network;
  if (learns && job.cluster.world() > 1) {
    plan.why_not = why_over_links(job, layout);
    plan.by_devices = plan.why_not.empty();
  }
  return plan;
}

std::string gradient_text(const GradientPlan& plan) {
  if (!plan.why_not.empty()) {
    return fmt::format("; gradients over the links ({})", plan.why_not);
  }
  if (!plan.by_devices) {
    return {};
  }
  return plan.options.order == SumOrder::by_rank ? "; gradients between devices"
                                                 : "; gradients between devices, added in any "
                                                   "order (train.reduce \"fast\"): no digest of "
                                                   "parameters is promised";
}

}  // namespace troupe
