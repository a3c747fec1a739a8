#include "runtime/nn/device_copies.hpp"

#include <algorithm>

namespace troupe::nn {

DeviceCopies::DeviceCopies(BlockOps& ops)
    : ops_(ops),
      parameters_(ops.memory()),
      gradient_(ops.memory()),
      grad_logits_{GrowBuffer<float>(ops.memory()), GrowBuffer<float>(ops.memory())} {}

const std::byte* DeviceCopies::find(std::span<const std::byte> host) const {
  for (std::size_t i = 0; i < used_; ++i) {
    const Copy& copy = *copies_[i];
    if (copy.host.data() == host.data() && copy.host.size() >= host.size()) {
      return copy.device;
    }
  }
  return input_.on_device == nullptr ? nullptr : find_on_device(*input_.on_device, host);
}

const std::byte* DeviceCopies::copied(std::span<const std::byte> host) {
  if (const auto* const there = find(host); there != nullptr) {
    return there;
  }
  if (used_ == copies_.size()) {
    copies_.push_back(std::make_unique<Copy>(ops_.memory()));
  }
  Copy& copy = *copies_[used_++];
  copy.host = host;
  copy.device = copy.memory.get(host.size()).data();
  ops_.upload(host.data(), copy.device, host.size());
  return copy.device;
}

std::span<const float> DeviceCopies::parameters(std::span<const float> host) {
  const auto device = parameters_.get(host.size());
  ops_.upload(host.data(), device.data(), host.size_bytes());
  return device;
}

const ForwardInput& DeviceCopies::input(const ForwardInput& host) {
  used_ = 0;
  input_ = host;
  const auto copy_rows = [this](std::vector<ConstMatrix>& all) {
    for (ConstMatrix& rows : all) {
      rows.data = copied(std::span<const float>(rows.data, rows.size())).data();
    }
  };
  if (input_.on_device == nullptr) {
    copy_rows(input_.features);
  }
  copy_rows(input_.edge_features);
  if (host.dropout.training) {
    for (auto& ids : input_.ids) {
      ids = copied(ids);
    }
  }
  const auto copy_blocks = [this](std::vector<LayerBlock>& blocks) {
    for (LayerBlock& block : blocks) {
      block = with_offsets(block);
      const std::uint32_t first = block.first_edge();
      block.edges = {first, first + block.num_edges()};
      block.offsets = copied(block.offsets);
      block.sources = copied(block.sources);
      block.weights = copied(block.weights);
    }
  };
  copy_blocks(input_.below);
  std::ranges::for_each(input_.blocks, copy_blocks);
  return input_;
}

ConstMatrix DeviceCopies::grad_logits(std::size_t output, ConstMatrix host) {
  const MutMatrix device = grad_logits_.at(output).matrix(host.rows, host.cols);
  ops_.upload(host.data, device.data, host.size() * sizeof(float));
  return device;
}

ConstMatrix DeviceCopies::logits(std::size_t output, ConstMatrix device) {
  Matrix& kept = logits_.at(output);
  if (kept.rows() < device.rows || kept.cols() != device.cols) {
    kept = Matrix(device.rows, device.cols);
  }
  const MutMatrix host = kept.view().slice(0, device.rows);
  download(device.data, host.flat());
  return host;
}

void DeviceCopies::fetch(std::span<float> gradient) {
  download(gradient_.get(gradient.size()).data(), gradient);
}

void DeviceCopies::download(const float* from, std::span<float> to) {
  if (auto status = ops_.download(from, to.data(), to.size_bytes()); !status) {
    status_ = std::move(status);
    std::ranges::fill(to, 0.0F);
  }
}

}  // namespace troupe::nn
