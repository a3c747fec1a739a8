#pragma once
/// \file on_stream.hpp
/// Work on a stream that others may launch in, too.

namespace troupe::gpu {

/// \tparam Stream  EmulatedStream or CudaStream
template <class Stream>
class OnStream {
 public:
  /// \returns another handle of it: what fails there leaves the owner's work alone
  virtual Stream stream() const = 0;

 protected:
  ~OnStream() = default;
};

}  // namespace troupe::gpu
