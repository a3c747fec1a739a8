#include "gpu/base/context_of_thread.cuh"

#include <cuda_runtime.h>

namespace troupe::gpu {
namespace {

/// A function of the driver; null: there is none.
template <class Function>
Function* driver_function(const char* name) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult how{};
  constexpr unsigned since = 12000;
  const auto error = cudaGetDriverEntryPointByVersion(name, &found, since, cudaEnableDefault, &how);
  if (error != cudaSuccess) {
    cudaGetLastError();  // or the next launch would report it
    return nullptr;
  }
  return how == cudaDriverEntryPointSuccess ? reinterpret_cast<Function*>(found) : nullptr;
}

}  // namespace

ContextOfThread::ContextOfThread() {
  static auto* const get = driver_function<int(void**)>("cuCtxGetCurrent");
  known_ = get != nullptr && get(&context_) == 0;
}

ContextOfThread::~ContextOfThread() {
  static auto* const set = driver_function<int(void*)>("cuCtxSetCurrent");
  if (known_ && set != nullptr) {
    set(context_);
  }
}

}  // namespace troupe::gpu
