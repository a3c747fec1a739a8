#include "runtime/nn/ops/ops_array.hpp"

#include "runtime/base/assert.hpp"

#include <algorithm>

namespace troupe::nn {

OpsArray::OpsArray(BlockOps* ops, std::size_t size) : ops_(ops), size_(size) {
  PassMemory* const source = ops == nullptr ? nullptr : ops->memory();
  const std::size_t bytes = size * sizeof(float);
  memory_ = source == nullptr ? Buffer(bytes) : source->take(bytes);
  if (source == nullptr) {
    std::ranges::fill(values(), 0.0F);
  } else {
    ops->zero(values());
  }
}

void OpsArray::put(std::span<const float> host) const {
  TROUPE_ASSERT(host.size() == size_, "values to put", host.size(), size_);
  if (ops_ == nullptr) {
    std::ranges::copy(host, values().begin());
  } else if (size_ > 0) {
    ops_->upload(host.data(), values().data(), host.size_bytes());
    static_cast<void>(ops_->finish());  // an error stays
  }
}

std::vector<float> OpsArray::read(std::size_t first, std::size_t count) const {
  const auto from = values().subspan(first, count);
  std::vector<float> host(count);
  if (ops_ == nullptr) {
    std::ranges::copy(from, host.begin());
  } else if (count > 0 && !ops_->download(from.data(), host.data(), from.size_bytes())) {
    std::ranges::fill(host, 0.0F);
  }
  return host;
}

}  // namespace troupe::nn
