#include "runtime/base/permutation.hpp"

#include "runtime/base/assert.hpp"

namespace troupe {

Permutation::Permutation(StreamKey key, std::uint64_t n) noexcept : key_(key.words), n_(n) {
  while (half_bits_ < 32 && n > std::uint64_t{1} << (2 * half_bits_)) {
    ++half_bits_;
  }
}

std::uint64_t Permutation::encrypt(std::uint64_t x) const noexcept {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  std::uint64_t left = x >> half_bits_;
  std::uint64_t right = x & mask;
  for (std::uint32_t round = 0; round < 8; ++round) {
    const auto f = philox4x32_10({static_cast<std::uint32_t>(right), round, 0, 0}, key_)[0];
    const std::uint64_t next = left ^ (f & mask);
    left = right;
    right = next;
  }
  return left << half_bits_ | right;
}

std::uint64_t Permutation::decrypt(std::uint64_t x) const noexcept {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  std::uint64_t left = x >> half_bits_;
  std::uint64_t right = x & mask;
  for (std::uint32_t round = 8; round-- > 0;) {
    const auto f = philox4x32_10({static_cast<std::uint32_t>(left), round, 0, 0}, key_)[0];
    const std::uint64_t before = right ^ (f & mask);
    right = left;
    left = before;
  }
  return left << half_bits_ | right;
}

std::uint64_t Permutation::operator()(std::uint64_t i) const noexcept {
  TROUPE_ASSERT(i < n_, "position past the end", i, n_);
  do {
    i = encrypt(i);
  } while (i >= n_);
  return i;
}

std::uint64_t Permutation::inverse(std::uint64_t x) const noexcept {
  TROUPE_ASSERT(x < n_, "position past the end", x, n_);
  do {
    x = decrypt(x);
  } while (x >= n_);
  return x;
}

}  // namespace troupe
