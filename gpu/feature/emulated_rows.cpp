#include "gpu/base/emulated_device.hpp"
#include "gpu/feature/stream_rows.hpp"

namespace troupe::gpu {

Result<std::unique_ptr<DeviceRowSource>> make_emulated_row_source(
    std::shared_ptr<EmulatedDevice> device, const GraphInfo& graph, const Part& part,
    const FeaturePlan& plan) {
  TROUPE_ASSIGN_OR_RETURN(const auto arrays, features_for_device(graph, part, plan));
  return StreamRows<EmulatedStream>::create(EmulatedStream(std::move(device)), arrays);
}

}  // namespace troupe::gpu
