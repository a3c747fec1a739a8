#include "gpu/base/emulated_device.hpp"
#include "gpu/run/stream_for_program.hpp"

#include <fmt/format.h>

namespace troupe::gpu {
namespace {

class EmulatedProgramStream final : public StreamForProgram<EmulatedStream> {
 public:
  using StreamForProgram::StreamForProgram;

  Status check(const void* at, std::size_t size_bytes) override {
    const auto* const end = static_cast<const std::byte*>(at) + size_bytes;
    if (size_bytes == 0 || (in_emulated_memory(at) && in_emulated_memory(end))) {
      return ok_status();
    }
    return Error(
        Errc::invalid_argument,
        fmt::format("emulated device: expected {} bytes of a device's memory, found {}, {}",
                    size_bytes, at,
                    in_emulated_memory(at) ? "where fewer follow" : "which is the host's"));
  }
  Status follow(void* theirs) override {
    if (theirs == nullptr) {
      return ok_status();
    }
    return Error(Errc::invalid_argument,
                 fmt::format("emulated device: expected no stream, found {}; what a program "
                             "computes there is done when it calls",
                             theirs));
  }
  Status keep(std::shared_ptr<const void> /*what*/, void* theirs) override {
    return follow(theirs);
  }
};

}  // namespace

std::unique_ptr<ProgramStream> make_emulated_program_stream(
    std::shared_ptr<EmulatedDevice> device) {
  return std::make_unique<EmulatedProgramStream>(EmulatedStream(std::move(device)));
}

}  // namespace troupe::gpu
