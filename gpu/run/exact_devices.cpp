#include "gpu/run/exact_devices.hpp"

#include "runtime/job/device_memory.hpp"

#include <algorithm>
#include <map>

namespace troupe::gpu {

Result<ExactDevices> exact_devices(const std::shared_ptr<Devices>& devices,
                                   std::span<const Rank> ranks, std::uint64_t wanted,
                                   const ExactInferenceOptions& options,
                                   const InferenceHost& host) {
  std::map<std::size_t, Rank> of_device;
  for (const Rank rank : ranks) {
    of_device.emplace(device_of(*devices, rank), rank);
  }
  ExactDevices exact;
  exact.share = {
      .devices = of_device.size(), .bytes = wanted, .product_rows = devices->exact_product_rows()};
  for (const auto& [place, rank] : of_device) {
    TROUPE_ASSIGN_OR_RETURN(const auto memory, devices->memory(rank));
    exact.share.bytes = std::min(exact.share.bytes, exact_share(wanted, memory.total));
  }
  auto on_devices = options;
  on_devices.device = exact.share;
  if (const auto fits = ExactInference(std::move(on_devices), host).check_device(); !fits) {
    exact.why_not = fits.error().what();
    return exact;
  }
  for (const auto& [place, rank] : of_device) {
    exact.devices.push_back(std::make_shared<nn::DeviceInference>(
        exact.devices.size(), [devices, rank = rank] { return devices->exact_ops(rank); }));
  }
  return exact;
}

}  // namespace troupe::gpu
