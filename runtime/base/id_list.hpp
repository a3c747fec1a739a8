#pragma once
/// \file id_list.hpp
/// A list of global ids as it lies on disk and travels on the wire: 4 bytes each where all ids of
/// the graph fit, else 8.
#include "runtime/base/assert.hpp"
#include "runtime/base/buffer.hpp"
#include "runtime/base/ids.hpp"

#include <cstdint>
#include <span>
#include <utility>

namespace troupe {

/// Borrowed ids of either width.
class IdSpan {
 public:
  IdSpan() = default;
  IdSpan(std::span<const std::uint32_t> ids)  // NOLINT(google-explicit-constructor)
      : data_(ids.data()), size_(ids.size()), width_bytes_(4) {}
  IdSpan(std::span<const std::uint64_t> ids)  // NOLINT(google-explicit-constructor)
      : data_(ids.data()), size_(ids.size()), width_bytes_(8) {}
  /// \requires width_bytes is 4 or 8 and divides the size
  IdSpan(std::span<const std::byte> bytes, std::uint8_t width_bytes)
      : data_(bytes.data()), size_(bytes.size() / width_bytes), width_bytes_(width_bytes) {
    TROUPE_ASSERT(width_bytes == 4 || width_bytes == 8, "id width", int{width_bytes});
  }

  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  std::uint8_t width_bytes() const noexcept { return width_bytes_; }

  /// Calls `f` with the span of the true type: dispatch once, then loop.
  template <class F>
  decltype(auto) visit(F&& f) const {
    if (width_bytes_ == 4) {
      return std::forward<F>(f)(
          std::span<const std::uint32_t>(static_cast<const std::uint32_t*>(data_), size_));
    }
    return std::forward<F>(f)(
        std::span<const std::uint64_t>(static_cast<const std::uint64_t*>(data_), size_));
  }

  /// One id, for code that is not hot.
  NodeId operator[](std::size_t i) const {
    return visit([i](auto ids) { return static_cast<NodeId>(ids[i]); });
  }

 private:
  const void* data_ = nullptr;
  std::size_t size_ = 0;
  std::uint8_t width_bytes_ = 8;
};

/// Shared read-only ids of either width.
struct IdList {
  Segment segment;
  std::uint8_t width_bytes = 8;

  IdSpan ids() const { return {segment.bytes, width_bytes}; }
  std::size_t size() const { return segment.bytes.size() / width_bytes; }
};

/// The width that holds every id below `end`.
constexpr std::uint8_t id_width_bytes(std::uint64_t end) noexcept {
  return end <= std::uint64_t{1} << 32 ? 4 : 8;
}

}  // namespace troupe
