#include "runtime/base/large_memory.hpp"

#include <sys/mman.h>

namespace troupe {

void advise_huge_pages(void* block, std::size_t bytes) noexcept {
  ::madvise(block, bytes, MADV_HUGEPAGE);
}

std::shared_ptr<std::byte> allocate_large(std::size_t bytes) {
  const bool large = bytes >= huge_page_bytes;
  const auto alignment = std::align_val_t{large ? huge_page_bytes : 64};
  const auto rounded =
      large ? (bytes + huge_page_bytes - 1) / huge_page_bytes * huge_page_bytes : bytes;
  auto* block = static_cast<std::byte*>(::operator new(rounded, alignment, std::nothrow));
  if (block == nullptr) {
    return nullptr;
  }
  if (large) {
    advise_huge_pages(block, rounded);
  }
  return {block, [alignment](std::byte* memory) { ::operator delete(memory, alignment); }};
}

}  // namespace troupe
