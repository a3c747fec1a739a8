#pragma once
/// \file digest.hpp
/// 128-bit digests (XXH3-128) of batches, parameters and files: equal contents, equal digest. Not
/// for security.
#include "runtime/base/result.hpp"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace troupe {

struct Digest {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  friend auto operator<=>(const Digest&, const Digest&) = default;
};

/// 32 hexadecimal digits, high half first.
std::string to_string(const Digest& digest);
/// The inverse of to_string.
/// \errors invalid_argument: not 32 hexadecimal digits
Result<Digest> parse_digest(const std::string& text);

Digest digest_of(std::span<const std::byte> bytes);

/// The next value of a running digest: of `running` followed by `next`. It is its own state, so a run
/// can be continued from it.
Digest chain(const Digest& running, const Digest& next);

/// A digest of pieces, fed in order. Each `add` of an array also feeds its length, so that borders
/// count.
class DigestBuilder {
 public:
  DigestBuilder();
  ~DigestBuilder();
  DigestBuilder(DigestBuilder&&) noexcept;
  DigestBuilder& operator=(DigestBuilder&&) noexcept;

  void add_bytes(std::span<const std::byte> bytes);  ///< without the length
  void add(std::uint64_t number);
  void add(const Digest& digest);
  template <class T>
  void add_array(std::span<const T> values) {
    add(values.size());
    add_bytes(std::as_bytes(values));
  }
  /// Of all that was fed so far; feeding may go on.
  Digest digest() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace troupe
