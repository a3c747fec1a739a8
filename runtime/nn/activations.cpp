#include "runtime/nn/device_copies.hpp"
#include "runtime/nn/network.hpp"
#include "runtime/nn/ops/cpu_block_ops.hpp"

#include <utility>

namespace troupe::nn {

Activations::Activations(std::unique_ptr<BlockOps> ops)
    : ops_(ops ? std::move(ops) : std::make_unique<CpuBlockOps>()),
      copies_(ops_->memory() == nullptr ? nullptr : std::make_unique<DeviceCopies>(*ops_)),
      tape_(*ops_) {}

Activations::~Activations() = default;

Status Activations::status() const {
  return copies_ ? copies_->status() : ok_status();
}

std::vector<ConstMatrix> Activations::to_host(std::span<const ConstMatrix> rows) {
  std::vector<ConstMatrix> there(rows.begin(), rows.end());
  for (std::size_t i = 0; copies_ && i < there.size(); ++i) {
    there[i] = copies_->logits(i, there[i]);
  }
  return there;
}

std::vector<ConstMatrix> Activations::from_host(std::span<const ConstMatrix> grads) {
  std::vector<ConstMatrix> there(grads.begin(), grads.end());
  for (std::size_t i = 0; copies_ && i < there.size(); ++i) {
    there[i] = copies_->grad_logits(i, there[i]);
  }
  return there;
}

}  // namespace troupe::nn
