#pragma once
/// \file host_copies.hpp
/// Copies of a device's arrays for the host, in pinned memory that is used again: a GPU fills it without
/// help of a processor, but it is slow to make.
#include "gpu/base/array.hpp"
#include "runtime/base/buffer.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace troupe::gpu {

/// Threads: take() as its stream; blocks may end on any thread
/// Bound:   keeps as many blocks as were in use at a time, each of less than twice what was asked for
class PinnedPool {
 public:
  /// A block of at least so many bytes, empty after an error of the stream. It comes back when the array
  /// ends, at a time when no work of the stream uses it.
  template <class Stream>
  Array<std::byte> take(Stream& on, std::size_t bytes) {
    auto block = free_->find(bytes);
    if (block.empty()) {
      block = on.template host_array<std::byte>(std::bit_ceil(std::max(bytes, smallest_block)));
    }
    if (block.empty()) {
      return {};
    }
    void* const at = block.data();
    const auto size = block.size();
    return {std::shared_ptr<void>(
                at, [free = free_, block = std::move(block)](void*) { free->put(block); }),
            size};
  }

 private:
  static constexpr std::size_t smallest_block = std::size_t{1} << 16;

  class Free {
   public:
    Array<std::byte> find(std::size_t bytes) {
      const std::lock_guard lock(mutex_);
      const auto fits = [bytes](const auto& block) {
        return block.size() >= bytes && block.size() <= std::max(2 * bytes, smallest_block);
      };
      const auto found = std::ranges::find_if(blocks_, fits);
      if (found == blocks_.end()) {
        return {};
      }
      auto block = std::move(*found);
      blocks_.erase(found);
      return block;
    }
    void put(Array<std::byte> block) {
      const std::lock_guard lock(mutex_);
      blocks_.push_back(std::move(block));
    }

   private:
    std::mutex mutex_;
    std::vector<Array<std::byte>> blocks_;
  };
  std::shared_ptr<Free> free_ = std::make_shared<Free>();
};

/// Lifecycle: add() each array, start() once, then wait for the stream; then take() or share() each in the
///   order of add(), on any thread
class HostCopies {
 public:
  template <class T>
  void add(const Array<T>& array, std::size_t count) {
    parts_.push_back({array.data(), count * sizeof(T), size_});
    size_ += (count * sizeof(T) + alignment - 1) / alignment * alignment;
  }
  /// Launches the copies. The arrays must stay until the stream was waited for.
  template <class Stream>
  void start(Stream& on, PinnedPool& pool) {
    block_ = pool.take(on, size_);
    for (const Part& part : parts_) {
      if (!block_.empty()) {
        on.download(part.from, block_.data() + part.place, part.bytes);
      }
    }
  }
  /// Copies the next array.
  template <class List>
  void take(List& list) {
    using T = typename List::value_type;
    const auto bytes = next();
    const auto* const first = reinterpret_cast<const T*>(bytes.data());
    list.assign(first, first + bytes.size() / sizeof(T));
  }
  /// The next array as it lies, aligned to 64 bytes. Pinned memory stays in use as long as the segment.
  Segment share() {
    const auto bytes = next();
    return {std::make_shared<const Array<std::byte>>(block_), bytes};
  }

 private:
  static constexpr std::size_t alignment = 64;
  struct Part {
    const void* from;
    std::size_t bytes;
    std::size_t place;
  };
  std::span<const std::byte> next() {
    const Part& part = parts_[next_++];
    return {block_.data() + part.place, part.bytes};
  }

  std::vector<Part> parts_;
  std::size_t size_ = 0;
  Array<std::byte> block_;
  std::size_t next_ = 0;
};

}  // namespace troupe::gpu
