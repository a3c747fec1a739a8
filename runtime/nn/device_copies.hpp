#pragma once
/// \file device_copies.hpp
/// Inputs and results of a network's passes, copied between host memory and that of a device's block
/// operations.
#include "runtime/base/matrix.hpp"
#include "runtime/base/result.hpp"
#include "runtime/nn/network.hpp"
#include "runtime/nn/ops/block_ops.hpp"

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace troupe::nn {

/// Lifecycle: parameters() and input(), then logits(); grad_logits() and gradient(), then fetch();
///   again. Memory is kept from pass to pass
/// Borrows:   `ops`; what is copied until the next logits() or fetch()
/// Errors:    an error of the device stays; results are zeros then
class DeviceCopies {
 public:
  /// \requires ops.memory()
  explicit DeviceCopies(BlockOps& ops);

  std::span<const float> parameters(std::span<const float> host);
  const ForwardInput& input(const ForwardInput& host);
  /// \param output  which of the network's outputs, of two at most
  ConstMatrix grad_logits(std::size_t output, ConstMatrix host);
  /// Room for the gradient on the device.
  std::span<float> gradient(std::size_t size) { return gradient_.get(size); }

  /// In host memory, until the next call of the same output.
  ConstMatrix logits(std::size_t output, ConstMatrix device);
  /// The gradient to host memory.
  void fetch(std::span<float> gradient);
  /// Numbers of any place on the device to host memory.
  void download(const float* from, std::span<float> to);

  const Status& status() const { return status_; }

 private:
  /// Arrays that begin at the same place are copied once, if the longest comes first.
  struct Copy {
    explicit Copy(PassMemory* from) : memory(from) {}
    std::span<const std::byte> host;
    GrowBuffer<std::byte> memory;
    std::byte* device = nullptr;
  };

  /// On the device: null where it must be copied.
  const std::byte* find(std::span<const std::byte> host) const;
  const std::byte* copied(std::span<const std::byte> host);
  template <class T>
  std::span<const T> copied(std::span<const T> host) {
    return {reinterpret_cast<const T*>(copied(std::as_bytes(host))), host.size()};
  }

  BlockOps& ops_;
  GrowBuffer<float> parameters_;
  GrowBuffer<float> gradient_;
  std::array<GrowBuffer<float>, 2> grad_logits_;  ///< by output
  std::vector<std::unique_ptr<Copy>> copies_;
  std::size_t used_ = 0;  ///< copies of this pass
  ForwardInput input_;
  std::array<Matrix, 2> logits_;  ///< by output
  Status status_ = ok_status();
};

}  // namespace troupe::nn
