#pragma once
/// \file emulated_memory.hpp
/// The memory of an emulated device: of a given size, and poisoned before and after use.
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace troupe::gpu {

/// Threads: any
class EmulatedMemory {
 public:
  explicit EmulatedMemory(std::uint64_t size_bytes) : size_(size_bytes) {}

  /// \returns null: there is not so much left
  std::byte* take(std::size_t bytes);
  /// The block is poisoned, and given back to the system only by sweep(): work that uses it too late
  /// reads poison instead of what came after it.
  void give_back(std::byte* block);
  /// Gives such blocks back to the system. \requires all work that was launched is done
  void sweep();
  std::uint64_t kept_bytes() const;  ///< given back, and not swept yet

  std::uint64_t size_bytes() const { return size_; }
  std::uint64_t used_bytes() const;
  std::uint64_t most_bytes() const;  ///< the most that was used at a time

  /// Every byte of memory that is not in use. As float32 about -3e-16, as index out of any range.
  static constexpr std::uint8_t poison = 0xA5;

 private:
  struct Free {
    void operator()(std::byte* block) const;
  };
  using Block = std::unique_ptr<std::byte, Free>;
  struct Used {
    Block block;
    std::size_t bytes;
  };

  std::uint64_t size_;
  mutable std::mutex mutex_;
  std::uint64_t used_ = 0;
  std::uint64_t most_ = 0;
  std::map<std::byte*, Used> blocks_;
  std::vector<Block> given_back_;
  std::uint64_t kept_ = 0;
};

/// Memory of the host that kernels read, aligned as a device's is; poisoned.
std::shared_ptr<std::byte> emulated_host_block(std::size_t bytes);

/// Whether kernels are looked through for pointers to memory of the host: clang cannot clear padding, and
/// sanitizers have memory where numbers point to.
#if defined(__clang__) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool finds_host_pointers = false;
#else
inline constexpr bool finds_host_pointers = true;
#endif

/// Whether a GPU could read there: memory of an emulated device or of emulated_host_block(), its end
/// included, that is in use. Threads: any
bool in_emulated_memory(const void* at);
/// The first word of an object that points to memory of the host which a GPU could not read, or null.
/// Words that point to no memory at all are numbers.
/// \param words  of a kernel's body; padding is zero
const void* find_host_pointer(const void* words, std::size_t count);

}  // namespace troupe::gpu
