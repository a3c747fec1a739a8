#include "runtime/base/large_memory.hpp"

#include <sys/mman.h>

namespace troupe {

std::shared_ptr<std::byte> allocate_large(std::size_t bytes) {
  constexpr std::size_t huge_page = std::size_t{2} << 20;
  const bool large = bytes >= huge_page;
  const auto alignment = std::align_val_t{large ? huge_page : 64};
  const auto rounded = large ? (bytes + huge_page - 1) / huge_page * huge_page : bytes;
  auto* block = static_cast<std::byte*>(::operator new(rounded, alignment, std::nothrow));
  if (block == nullptr) {
    return nullptr;
  }
  if (large) {
    ::madvise(block, rounded, MADV_HUGEPAGE);  // advice: it may be refused
  }
  return {block, [alignment](std::byte* memory) { ::operator delete(memory, alignment); }};
}

}  // namespace troupe
