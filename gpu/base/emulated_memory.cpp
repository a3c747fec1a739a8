#include "gpu/base/emulated_memory.hpp"

#include "runtime/base/assert.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace troupe::gpu {
namespace {

/// As CUDA's memory is.
constexpr std::align_val_t device_alignment{256};

/// Blocks of all devices that are in use.
class Registry {
 public:
  void add(const std::byte* block, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    const bool is_new = blocks_.emplace(block, bytes).second;
    TROUPE_ASSERT(is_new, "a block that is in use", bytes);
  }
  void remove(const std::byte* block) {
    const std::lock_guard lock(mutex_);
    blocks_.erase(block);
  }
  bool has(const std::byte* at) const {
    const std::lock_guard lock(mutex_);
    const auto above = blocks_.upper_bound(at);
    return above != blocks_.begin() && at <= std::prev(above)->first + std::prev(above)->second;
  }

 private:
  mutable std::mutex mutex_;
  std::map<const std::byte*, std::size_t> blocks_;
};

Registry& registry() {
  static Registry blocks;
  return blocks;
}

/// Whether there is memory of this process.
bool is_mapped(std::uintptr_t at) {
  static const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  unsigned char resident = 0;
  return mincore(reinterpret_cast<void*>(at / page * page), 1, &resident) == 0;
}

}  // namespace

bool in_emulated_memory(const void* at) {
  return registry().has(static_cast<const std::byte*>(at));
}

const void* find_host_pointer(const void* words, std::size_t count) {
  // A program's data and libraries lie above; below are numbers, also where a driver has memory there.
  constexpr std::uintptr_t lowest = 0x5000'0000'0000;
  constexpr std::uintptr_t end = std::uintptr_t{1} << 47;
  for (std::size_t i = 0; i < count; ++i) {
    std::uintptr_t word = 0;
    std::memcpy(&word, static_cast<const std::byte*>(words) + i * sizeof word, sizeof word);
    const auto* const at = reinterpret_cast<const void*>(word);
    if (word >= lowest && word < end && !in_emulated_memory(at) && is_mapped(word)) {
      return at;
    }
  }
  return nullptr;
}

void EmulatedMemory::Free::operator()(std::byte* block) const {
  registry().remove(block);  // of a device that ends with memory in use
  ::operator delete(block, device_alignment);
}

std::shared_ptr<std::byte> emulated_host_block(std::size_t bytes) {
  const std::size_t size = std::max<std::size_t>(bytes, 1);
  const std::shared_ptr<std::byte> block(
      static_cast<std::byte*>(::operator new(size, device_alignment)), [](std::byte* at) {
        registry().remove(at);
        ::operator delete(at, device_alignment);
      });
  std::memset(block.get(), EmulatedMemory::poison, size);
  registry().add(block.get(), size);
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
  registry().add(at, size);
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
  registry().remove(block);
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
