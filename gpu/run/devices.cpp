#include "gpu/run/devices.hpp"

#include "gpu/base/emulated_device.hpp"
#include "gpu/nn/emulated_block_ops.hpp"

#include <fmt/format.h>

namespace troupe::gpu {
namespace {

class EmulatedDevices final : public Devices {
 public:
  explicit EmulatedDevices(const DeviceChoice& choice) {
    const auto memory = choice.memory_bytes > 0 ? choice.memory_bytes : emulated_memory_bytes;
    for (std::uint32_t i = 0; i < choice.count; ++i) {
      devices_.push_back(std::make_shared<EmulatedDevice>(
          EmulatedOptions{.memory_bytes = memory, .seed = i + std::uint64_t{1}}));
    }
  }
  std::vector<std::string> names() const override {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      names.push_back(fmt::format("emulated device {}", i));
    }
    return names;
  }
  Result<std::unique_ptr<nn::BlockOps>> block_ops(Rank rank) override {
    return make_emulated_block_ops(of(rank));
  }
  Result<std::unique_ptr<DeviceSampler>> sampler(Rank rank, const GraphInfo& graph,
                                                 const Part& part,
                                                 const SampleOptions& options) override {
    return make_emulated_sampler(of(rank), graph, part, options);
  }
  Result<std::unique_ptr<DeviceRowSource>> row_source(Rank rank, const GraphInfo& graph,
                                                      const Part& part,
                                                      const FeaturePlan& plan) override {
    return make_emulated_row_source(of(rank), graph, part, plan);
  }

 private:
  const std::shared_ptr<EmulatedDevice>& of(Rank rank) const {
    return devices_[raw(rank) % devices_.size()];
  }

  std::vector<std::shared_ptr<EmulatedDevice>> devices_;
};

}  // namespace

Result<std::shared_ptr<Devices>> open_devices(const DeviceChoice& choice) {
  switch (choice.kind) {
    case DeviceKind::cpu:
      break;
    case DeviceKind::cuda:
      return open_cuda_devices(choice.numbers);
    case DeviceKind::emulated:
      return std::shared_ptr<Devices>(std::make_shared<EmulatedDevices>(choice));
  }
  return std::shared_ptr<Devices>();
}

}  // namespace troupe::gpu
