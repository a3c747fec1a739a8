#include "gpu/base/emulated_device.hpp"
#include "gpu/feature/stream_rows.hpp"

namespace troupe::gpu {

Result<std::shared_ptr<const DeviceFeatures>> emulated_features(
    const std::shared_ptr<EmulatedDevice>& device, const FeatureArrays& arrays,
    const RowTiers& near, const DeviceFeatures* beside) {
  return features_on(EmulatedStream(device), arrays, near, beside);
}

std::unique_ptr<DeviceRowSource> make_emulated_row_source(
    std::shared_ptr<EmulatedDevice> device, std::shared_ptr<const DeviceFeatures> features) {
  return std::make_unique<StreamRows<EmulatedStream>>(EmulatedStream(std::move(device)),
                                                      std::move(features));
}

}  // namespace troupe::gpu
