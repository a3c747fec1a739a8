#include "gpu/base/context_of_thread.cuh"
#include "gpu/base/cuda_stream.cuh"
#include "gpu/run/stream_for_program.hpp"

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace troupe::gpu {
namespace {

class CudaProgramStream final : public StreamForProgram<CudaStream> {
 public:
  CudaProgramStream(int device, CudaStream stream)
      : StreamForProgram(std::move(stream)), device_(device) {}
  CudaProgramStream(const CudaProgramStream&) = delete;
  CudaProgramStream& operator=(const CudaProgramStream&) = delete;
  ~CudaProgramStream() override {
    const ContextOfThread back;
    if (cudaSetDevice(device_) == cudaSuccess) {
      for (const Kept& kept : kept_) {
        cudaEventSynchronize(kept.until.get());
      }
    }
  }

  Status check(const void* at, std::size_t size_bytes) override {
    if (size_bytes == 0) {
      return ok_status();
    }
    const auto* const last = static_cast<const std::byte*>(at) + (size_bytes - 1);
    if (reads(at) && reads(last)) {
      return ok_status();
    }
    std::string what = "CUDA device ";
    what.append(std::to_string(device_)).append(": expected ").append(std::to_string(size_bytes));
    what.append(" bytes of its memory, found some that are not");
    return Error(Errc::invalid_argument, std::move(what));
  }
  Status follow(void* theirs) override {
    CudaStream on = on_;
    const auto event = recorded(on, theirs);
    if (event) {
      on.wait(*event);
    }
    return on.status();
  }
  Status keep(std::shared_ptr<const void> what, void* theirs) override {
    const ContextOfThread back;
    CudaStream on = on_;
    auto event = recorded(on, theirs);
    if (!event) {
      cudaDeviceSynchronize();
      return on.status();
    }
    const std::lock_guard lock(mutex_);
    std::erase_if(kept_, [](const Kept& kept) {
      return cudaEventQuery(kept.until.get()) != cudaErrorNotReady;
    });
    cudaGetLastError();  // "not ready", or the next launch would report it
    kept_.push_back({*std::move(event), std::move(what)});
    return ok_status();
  }

 private:
  struct Kept {
    CudaEvent until;
    std::shared_ptr<const void> what;
  };

  bool reads(const void* at) const {
    cudaPointerAttributes found{};
    if (cudaPointerGetAttributes(&found, at) != cudaSuccess) {
      cudaGetLastError();  // or the next launch would report it
      return false;
    }
    return found.type == cudaMemoryTypeManaged ||
           (found.type == cudaMemoryTypeDevice && found.device == device_);
  }
  /// An event of the user program's stream as it is now; none: `on` has failed.
  std::optional<CudaEvent> recorded(CudaStream& on, void* theirs) const {
    cudaEvent_t event = nullptr;
    if (!on.ready()) {
      return std::nullopt;
    }
    auto error = cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    CudaEvent result(event);
    if (error == cudaSuccess) {
      error = cudaEventRecord(event, static_cast<cudaStream_t>(theirs));
    }
    if (error != cudaSuccess) {
      on.fail(cuda_error(error, "event of the user program's stream", 1, device_));
      return std::nullopt;
    }
    return result;
  }

  int device_;
  std::mutex mutex_;
  std::vector<Kept> kept_;
};

}  // namespace

Result<std::unique_ptr<ProgramStream>> make_cuda_program_stream(int device) {
  CudaStream stream(device);
  TROUPE_RETURN_IF_ERROR(stream.finish());
  return std::unique_ptr<ProgramStream>(
      std::make_unique<CudaProgramStream>(device, std::move(stream)));
}

}  // namespace troupe::gpu
