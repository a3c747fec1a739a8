#include "runtime/base/buffer.hpp"

#include "runtime/base/large_memory.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <map>
#include <mutex>
#include <new>
#include <utility>

namespace troupe {
namespace {

constexpr std::size_t alignment = 64;
constexpr std::size_t smallest_kept = 4096;
/// Blocks from here on are whole pages, and share none with others.
constexpr std::size_t smallest_of_pages = std::size_t{1} << 16;
constexpr std::size_t page_bytes = 4096;
/// Blocks taken until a peak of use is forgotten by two thirds: some hundreds of batches.
constexpr std::size_t uses_remembered = std::size_t{1} << 16;

std::atomic<const PoolObserver*> observer_of_pool = nullptr;

/// Freed blocks of smallest_kept bytes or more, by size class.
class BufferPool {
 public:
  std::byte* take(std::size_t capacity) {
    {
      const std::lock_guard guard(mutex_);
      used_bytes_ += capacity;
      most_used_ = std::max(used_bytes_, most_used_ - most_used_ / uses_remembered);
      auto& kept = free_[capacity];
      kept.last_use = ++uses_;
      if (!kept.blocks.empty()) {
        auto* block = kept.blocks.back();
        kept.blocks.pop_back();
        kept_bytes_ -= capacity;
        return block;
      }
      ++fresh_blocks_;
    }
    return allocate(capacity);
  }

  void give_back(std::byte* block, std::size_t capacity) noexcept {
    {
      const std::lock_guard guard(mutex_);
      used_bytes_ -= capacity;
      auto& kept = free_[capacity];
      kept.last_use = ++uses_;
      if (make_room(capacity)) {
        kept.blocks.push_back(block);
        kept_bytes_ += capacity;
        most_bytes_ = std::max(most_bytes_, kept_bytes_);
        return;
      }
    }
    release(block, capacity);
  }

  BufferPoolStats stats() {
    const std::lock_guard guard(mutex_);
    return {kept_bytes_, limit(), most_bytes_, fresh_blocks_};
  }

  /// Never destroyed: segments may outlive every static object.
  static BufferPool& instance() {
    static auto* pool = new BufferPool;
    return *pool;
  }

 private:
  struct Kept {
    std::vector<std::byte*> blocks;
    std::uint64_t last_use = 0;
  };

  std::size_t limit() const noexcept {
    const auto* observer = observer_of_pool.load();
    const std::size_t fixed =
        observer == nullptr ? pool_limit_bytes : std::max(pool_limit_bytes, observer->kept_bytes);
    return std::max(fixed, most_used_ - std::min(most_used_, used_bytes_));
  }

  /// Releases blocks of other sizes, those that were not used for longest first.
  bool make_room(std::size_t capacity) noexcept {
    while (kept_bytes_ + capacity > limit()) {
      auto oldest = free_.end();
      for (auto of_size = free_.begin(); of_size != free_.end(); ++of_size) {
        const bool candidate = of_size->first != capacity && !of_size->second.blocks.empty();
        if (candidate &&
            (oldest == free_.end() || of_size->second.last_use < oldest->second.last_use)) {
          oldest = of_size;
        }
      }
      if (oldest == free_.end()) {
        return false;
      }
      release(oldest->second.blocks.back(), oldest->first);
      oldest->second.blocks.pop_back();
      kept_bytes_ -= oldest->first;
    }
    return true;
  }

  static std::align_val_t alignment_of(std::size_t capacity) {
    if (capacity >= huge_page_bytes) {
      return std::align_val_t{huge_page_bytes};
    }
    return std::align_val_t{capacity >= smallest_of_pages ? page_bytes : alignment};
  }
  static bool is_told_of(const PoolObserver* observer, std::size_t capacity) {
    return observer != nullptr && capacity >= std::max(observer->least_bytes, smallest_of_pages) &&
           capacity <= observer->most_bytes;
  }
  static std::byte* allocate(std::size_t capacity) {
    auto* block = static_cast<std::byte*>(::operator new(capacity, alignment_of(capacity)));
    if (capacity >= huge_page_bytes) {
      advise_huge_pages(block, capacity);
    }
    if (const auto* observer = observer_of_pool.load(); is_told_of(observer, capacity)) {
      observer->came(block, capacity);
    }
    return block;
  }
  static void release(std::byte* block, std::size_t capacity) noexcept {
    if (const auto* observer = observer_of_pool.load(); is_told_of(observer, capacity)) {
      observer->goes(block, capacity);
    }
    ::operator delete(block, alignment_of(capacity));
  }

  std::mutex mutex_;
  std::map<std::size_t, Kept> free_;
  std::uint64_t uses_ = 0;
  std::size_t kept_bytes_ = 0;
  std::size_t most_bytes_ = 0;
  std::size_t used_bytes_ = 0;
  std::size_t most_used_ = 0;  ///< Of late
  std::size_t fresh_blocks_ = 0;
};

/// Size classes: powers of two and the halves between them, so at most a third of a block is
/// unused.
std::size_t capacity_for(std::size_t size_bytes) {
  const std::size_t power = std::bit_ceil(std::max<std::size_t>(size_bytes, 64));
  const std::size_t between = power / 4 * 3;
  return size_bytes <= between && between >= smallest_kept ? between : power;
}

/// One block of the allocator with its count of owners and room to align it. Not from the aligned new:
/// that one takes a lock which all threads share, in glibc.
std::shared_ptr<std::byte> small_block(std::size_t capacity) {
  auto whole = std::make_shared_for_overwrite<std::byte[]>(capacity + alignment);
  const auto address = reinterpret_cast<std::uintptr_t>(whole.get());
  auto* const block = whole.get() + (alignment - address % alignment);
  return {std::move(whole), block};
}

}  // namespace

Buffer::Buffer(std::size_t size_bytes) : size_(size_bytes) {
  const std::size_t capacity = capacity_for(size_bytes);
  if (capacity < smallest_kept) {
    block_ = small_block(capacity);
    return;
  }
  block_ = std::shared_ptr<std::byte>(
      BufferPool::instance().take(capacity),
      [capacity](std::byte* block) { BufferPool::instance().give_back(block, capacity); });
}

Segment Buffer::freeze() && {
  const std::span<const std::byte> view{block_.get(), size_};
  size_ = 0;
  return {std::move(block_), view};
}

void* take_pooled_block(std::size_t bytes) {
  return BufferPool::instance().take(capacity_for(bytes));
}

void give_back_pooled_block(void* block, std::size_t bytes) noexcept {
  BufferPool::instance().give_back(static_cast<std::byte*>(block), capacity_for(bytes));
}

void observe_pool(const PoolObserver* observer) {
  observer_of_pool = observer;
}

BufferPoolStats buffer_pool_stats() {
  return BufferPool::instance().stats();
}

}  // namespace troupe
