// In place of cuda_devices.cu where there is no CUDA compiler.
#include "gpu/run/devices.hpp"

namespace troupe::gpu {

Result<std::shared_ptr<Devices>> open_cuda_devices(std::span<const std::uint32_t> /*numbers*/) {
  return Error(Errc::unimplemented,
               "CUDA devices: this program was built without a CUDA compiler; try: "
               "./bootstrap cuda, then build again; or the device \"cpu\"");
}

}  // namespace troupe::gpu
