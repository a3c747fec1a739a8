#include "tests/steady/counted_blocks.hpp"

#include <cstdlib>
#include <new>

namespace troupe::testing {
namespace {

void* counted_block(std::size_t bytes, std::size_t alignment) noexcept {
  if (bytes > largest_uncounted) {
    ++counted_blocks;
    largest_counted = bytes > largest_counted ? bytes : largest_counted.load();
  }
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  return std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
}

}  // namespace
}  // namespace troupe::testing

void* operator new(std::size_t bytes) {
  if (void* block = troupe::testing::counted_block(bytes, __STDCPP_DEFAULT_NEW_ALIGNMENT__)) {
    return block;
  }
  throw std::bad_alloc();
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  if (void* block = troupe::testing::counted_block(bytes, static_cast<std::size_t>(alignment))) {
    return block;
  }
  throw std::bad_alloc();
}
void* operator new(std::size_t bytes, const std::nothrow_t& /*unused*/) noexcept {
  return troupe::testing::counted_block(bytes, __STDCPP_DEFAULT_NEW_ALIGNMENT__);
}
void* operator new(std::size_t bytes, std::align_val_t alignment,
                   const std::nothrow_t& /*unused*/) noexcept {
  return troupe::testing::counted_block(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes) {
  return ::operator new(bytes);
}
void operator delete(void* block) noexcept {
  std::free(block);
}
void operator delete(void* block, std::size_t /*bytes*/) noexcept {
  std::free(block);
}
void operator delete(void* block, std::align_val_t /*alignment*/) noexcept {
  std::free(block);
}
void operator delete(void* block, std::size_t /*bytes*/, std::align_val_t /*alignment*/) noexcept {
  std::free(block);
}
void operator delete[](void* block) noexcept {
  std::free(block);
}
void operator delete[](void* block, std::size_t /*bytes*/) noexcept {
  std::free(block);
}
