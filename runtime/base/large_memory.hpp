#pragma once
/// \file large_memory.hpp
/// Memory in pieces of megabytes and more. Touching it page by page for the first time costs as much
/// as a pass of sorting; huge pages are 512 times fewer.
#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace troupe {

inline constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;

/// Asks the system to back a block with huge pages, which it may refuse.
void advise_huge_pages(void* block, std::size_t bytes) noexcept;

/// Aligned to 64 bytes, contents undefined; where it is large, whole huge pages, so that the system
/// can back it with them. What is never touched takes no memory.
/// \returns null where there is none
std::shared_ptr<std::byte> allocate_large(std::size_t bytes);

/// The same as an array of what needs no construction.
template <class T>
std::shared_ptr<T[]> try_large_array(std::size_t size) {
  static_assert(std::is_trivially_copyable_v<T>);
  auto memory = allocate_large(size * sizeof(T));
  auto* first = reinterpret_cast<T*>(memory.get());
  return {std::move(memory), first};
}

/// The same. Throws std::bad_alloc where there is none.
template <class T>
std::shared_ptr<T[]> large_array(std::size_t size) {
  auto array = try_large_array<T>(size);
  if (!array) {
    throw std::bad_alloc();
  }
  return array;
}

}  // namespace troupe
