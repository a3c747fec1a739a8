#include "gpu/base/emulated_memory.hpp"

#include "runtime/base/assert.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace troupe::gpu {
namespace {

/// As CUDA's memory is.
constexpr std::align_val_t device_alignment{256};

}  // namespace

void EmulatedMemory::Free::operator()(std::byte* block) const {
  ::operator delete(block, device_alignment);
}

std::shared_ptr<std::byte> emulated_host_block(std::size_t bytes) {
  const std::size_t size = std::max<std::size_t>(bytes, 1);
  const std::shared_ptr<std::byte> block(
      static_cast<std::byte*>(::operator new(size, device_alignment)),
      [](std::byte* at) { ::operator delete(at, device_alignment); });
  std::memset(block.get(), EmulatedMemory::poison, size);
  return block;
}

std::byte* EmulatedMemory::take(std::size_t bytes) {
  const std::size_t size = std::max<std::size_t>(bytes, 1);
  const std::lock_guard lock(mutex_);
  if (size > size_ - used_) {
    return nullptr;
  }
  Block block(static_cast<std::byte*>(::operator new(size, device_alignment)));
  std::memset(block.get(), poison, size);
  std::byte* const at = block.get();
  blocks_.emplace(at, Used{std::move(block), size});
  used_ += size;
  most_ = std::max(most_, used_);
  return at;
}

void EmulatedMemory::give_back(std::byte* block) {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(block);
  TROUPE_ASSERT(found != blocks_.end(), "memory that is not of this device", blocks_.size());
  std::memset(block, poison, found->second.bytes);
  used_ -= found->second.bytes;
  kept_ += found->second.bytes;
  given_back_.push_back(std::move(found->second.block));
  blocks_.erase(found);
}

void EmulatedMemory::sweep() {
  const std::lock_guard lock(mutex_);
  given_back_.clear();
  kept_ = 0;
}

std::uint64_t EmulatedMemory::kept_bytes() const {
  const std::lock_guard lock(mutex_);
  return kept_;
}

std::uint64_t EmulatedMemory::used_bytes() const {
  const std::lock_guard lock(mutex_);
  return used_;
}

std::uint64_t EmulatedMemory::most_bytes() const {
  const std::lock_guard lock(mutex_);
  return most_;
}

}  // namespace troupe::gpu
