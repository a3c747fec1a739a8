#include "runtime/nn/ops/staged_arrays.hpp"

#include <cstring>
#include <utility>

namespace troupe::nn {

void StagedArrays::clear() {
  arrays_.clear();
  std::swap(copied_, copied_before_);
  copied_.clear();
}

std::size_t StagedArrays::add_bytes(std::span<const std::byte> bytes) {
  constexpr std::size_t alignment = 16;
  const std::size_t place = (copied_.size() + alignment - 1) / alignment * alignment;
  arrays_.push_back({bytes.data(), place, bytes.size()});
  if (on_device()) {
    copied_.resize(place + bytes.size());
    if (!bytes.empty()) {
      std::memcpy(copied_.data() + place, bytes.data(), bytes.size());
    }
  }
  return arrays_.size() - 1;
}

void StagedArrays::send() {
  if (on_device()) {
    const auto memory = memory_.get(copied_.size());
    ops_.upload(copied_.data(), memory.data(), copied_.size());
    there_ = memory.data();
  }
}

std::span<const std::byte> StagedArrays::bytes_at(std::size_t number) const {
  const Placed& array = arrays_.at(number);
  return {on_device() ? there_ + array.place : array.host, array.size};
}

}  // namespace troupe::nn
