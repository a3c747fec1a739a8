#include "gpu/base/emulated_device.hpp"
#include "gpu/sample/stream_sampler.hpp"

namespace troupe::gpu {

Result<std::unique_ptr<DeviceSampler>> make_emulated_sampler(std::shared_ptr<EmulatedDevice> device,
                                                             const GraphInfo& graph,
                                                             const Part& part,
                                                             const SampleOptions& options,
                                                             Topology topology) {
  TROUPE_ASSIGN_OR_RETURN(const auto arrays, arrays_for_device(graph, part, options));
  return StreamSampler<EmulatedStream>::create(EmulatedStream(std::move(device)), arrays,
                                               sampling_plan(options), topology);
}

}  // namespace troupe::gpu
