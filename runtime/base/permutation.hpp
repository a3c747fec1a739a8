#pragma once
/// \file permutation.hpp
/// A keyed permutation of 0..n-1 in which any position is found without building the order.
#include "runtime/base/philox.hpp"

#include <cstdint>
#include <span>

namespace troupe {

/// Feistel network of 8 rounds on the smallest even number of bits that holds n, with cycle walking
/// (Black and Rogaway: "Ciphers with arbitrary finite domains", CT-RSA 2002). The round function is
/// word 0 of Philox(key = K, counter = (half, round, 0, 0)).
/// Threads: immutable; any number at once.
/// \cost below 4 walks of 8 Philox blocks per position on average
class Permutation {
 public:
  /// Permutes 0..n-1 under the key K of domain `seed_order`.
  /// \param n any; with 0 nothing may be asked
  Permutation(StreamKey key, std::uint64_t n) noexcept;

  /// Where position `i` goes: a bijection of [0, n).
  /// \requires i < n
  std::uint64_t operator()(std::uint64_t i) const noexcept;
  /// Where positions `first` and so on go, many side by side. \requires first + out.size() <= n
  void fill(std::uint64_t first, std::span<std::uint64_t> out) const;
  /// The position that goes to `x`. \requires x < n
  std::uint64_t inverse(std::uint64_t x) const noexcept;

  std::uint64_t size() const noexcept { return n_; }

 private:
  std::uint64_t encrypt(std::uint64_t x) const noexcept;
  std::uint64_t decrypt(std::uint64_t x) const noexcept;
  void encrypt_at(std::span<const std::uint32_t> places, std::span<std::uint64_t> values) const;

  PhiloxKey key_;
  std::uint64_t n_;
  unsigned half_bits_ = 1;
};

}  // namespace troupe
