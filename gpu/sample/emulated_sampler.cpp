#include "gpu/base/emulated_device.hpp"
#include "gpu/sample/stream_sampler.hpp"

namespace troupe::gpu {

Result<std::shared_ptr<const DeviceGraph>> emulated_graph(
    const std::shared_ptr<EmulatedDevice>& device, const GraphArrays& arrays, Topology topology,
    const DeviceGraph* beside) {
  return graph_on(EmulatedStream(device), arrays, topology, beside);
}

std::unique_ptr<DeviceSampler> make_emulated_sampler(std::shared_ptr<EmulatedDevice> device,
                                                     std::shared_ptr<const DeviceGraph> graph,
                                                     SamplingPlan plan) {
  return std::make_unique<StreamSampler<EmulatedStream>>(EmulatedStream(std::move(device)),
                                                         std::move(graph), std::move(plan));
}

}  // namespace troupe::gpu
