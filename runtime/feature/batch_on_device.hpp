#pragma once
/// \file batch_on_device.hpp
/// Arrays of a batch that lie in a device's memory as well, or there alone.
#include "runtime/base/matrix.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace troupe {

/// An array of the host and its copy on a device. An array of the host may be a part of it.
struct ArrayOnDevice {
  std::span<const std::byte> host;
  const std::byte* device = nullptr;
};

/// For a learner on the same device. Contents are complete.
struct BatchOnDevice {
  std::vector<ConstMatrix> features;  ///< By NodeTypeId: on the device, which alone has them
  std::vector<ArrayOnDevice> arrays;  ///< Of the batch
  std::shared_ptr<const void> memory;
};

/// Where an array of the batch, or a part of one, lies on the device; null: it is not there.
inline const std::byte* find_on_device(const BatchOnDevice& batch,
                                       std::span<const std::byte> host) {
  const std::less_equal<> before;
  for (const ArrayOnDevice& array : batch.arrays) {
    const auto* const end = array.host.data() + array.host.size();
    if (before(array.host.data(), host.data()) && before(host.data() + host.size(), end)) {
      return array.device + (host.data() - array.host.data());
    }
  }
  return nullptr;
}

}  // namespace troupe
