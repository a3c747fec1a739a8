#pragma once
/// \file buffer.hpp
/// Bulk memory. A `Buffer` is written by one owner and then frozen into a `Segment`, which is
/// read-only and shared. Blocks come from a pool that keeps freed ones: a fresh 1 MiB block costs
/// page faults.
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace troupe {

/// Read-only bytes plus whatever keeps them alive: a feature table, a receive buffer, a mapped
/// file.
struct Segment {
  std::shared_ptr<const void> owner;
  std::span<const std::byte> bytes;

  bool empty() const noexcept { return bytes.empty(); }

  /// The bytes as an array of T.
  /// \requires size and alignment fit T; the writer stored such an array
  template <class T>
  std::span<const T> as() const noexcept {
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }

  /// A segment that takes over a vector. Nothing is copied.
  template <class T, class Allocator>
  static Segment of(std::vector<T, Allocator> values) {
    auto owner = std::make_shared<const std::vector<T, Allocator>>(std::move(values));
    const auto bytes = std::as_bytes(std::span<const T>(*owner));
    return {std::move(owner), bytes};
  }
};

/// Writable memory, aligned to 64 bytes, contents undefined at first. Moves, never copies.
/// Threads: as any object; blocks may be freed on another thread than they were taken on.
class Buffer {
 public:
  Buffer() = default;
  /// Takes a block of at least `size_bytes` from the process's pool.
  explicit Buffer(std::size_t size_bytes);
  /// Memory from elsewhere, which goes back with its last user.
  Buffer(std::shared_ptr<std::byte> block, std::size_t size_bytes)
      : block_(std::move(block)), size_(size_bytes) {}

  std::size_t size() const noexcept { return size_; }
  std::byte* data() const noexcept { return block_.get(); }
  std::span<std::byte> bytes() const noexcept { return {block_.get(), size_}; }

  /// The memory as an array of T.
  template <class T>
  std::span<T> as() const noexcept {
    return {reinterpret_cast<T*>(block_.get()), size_ / sizeof(T)};
  }

  /// Ends the writing; nothing is copied.
  Segment freeze() &&;
  /// The bytes, shared. Nothing is copied.
  /// \requires nobody writes to them any more
  Segment share() const { return {block_, {block_.get(), size_}}; }

 private:
  std::shared_ptr<std::byte> block_;
  std::size_t size_ = 0;
};

/// A block of the pool for a container (runtime/base/pooled_vector.hpp), aligned to 64 bytes, contents
/// undefined. Throws std::bad_alloc where there is none.
/// \param bytes  4096 or more
void* take_pooled_block(std::size_t bytes);
/// Takes it back. \param bytes  as when it was taken
void give_back_pooled_block(void* block, std::size_t bytes) noexcept;

/// An observer of the pool hears of its large blocks, which are whole pages. A driver of devices can pin
/// them, so that its copies need no memory in between.
/// Threads: both functions on any
struct PoolObserver {
  std::size_t least_bytes = std::size_t{1} << 16;
  std::size_t most_bytes = std::size_t{1} << 28;
  /// Of blocks that nobody uses: more than without an observer, where telling it takes longer than making
  /// a block.
  std::size_t kept_bytes = 0;
  void (*came)(std::byte* block, std::size_t bytes) noexcept = nullptr;  ///< From the system
  /// Goes back to the system. It may have come before there was an observer.
  void (*goes)(std::byte* block, std::size_t bytes) noexcept = nullptr;
};
/// \param observer  of static lifetime; null: none any longer
void observe_pool(const PoolObserver* observer);

/// The pool keeps unused blocks, up to a limit: as many as were in use at once of late, with those that
/// are in use now, and in any case pool_limit_bytes. Batches that are all released at an epoch's end
/// therefore leave their memory to those of the next one. Where one more block does not fit, blocks of
/// the size that was not used for longest are returned to the system.
struct BufferPoolStats {
  std::size_t kept_bytes = 0;    ///< Now
  std::size_t limit_bytes = 0;   ///< Of kept_bytes, now
  std::size_t most_bytes = 0;    ///< The most that was kept since the start
  std::size_t fresh_blocks = 0;  ///< Blocks that came from the system since the start
};
BufferPoolStats buffer_pool_stats();
/// What the pool keeps in any case without an observer, and where devices pin its blocks.
inline constexpr std::size_t pool_limit_bytes = std::size_t{256} << 20;
inline constexpr std::size_t pinned_pool_limit_bytes = std::size_t{2} << 30;

}  // namespace troupe
