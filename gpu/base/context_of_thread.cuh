#pragma once
/// \file context_of_thread.cuh
/// The CUDA context of the calling thread, kept over code that chooses a device. Only for .cu files.

namespace troupe::gpu {

/// Restores the context that the calling thread had, also none: memory and streams of ours end on threads of the
/// user program, which have a current device of their own. cudaSetDevice() would make a context on the device that
/// it names, so the driver's functions are called.
class ContextOfThread {
 public:
  ContextOfThread();
  ContextOfThread(const ContextOfThread&) = delete;
  ContextOfThread& operator=(const ContextOfThread&) = delete;
  ~ContextOfThread();

 private:
  void* context_ = nullptr;
  bool known_ = false;
};

}  // namespace troupe::gpu
