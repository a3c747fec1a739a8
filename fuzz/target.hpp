#pragma once
/// \file target.hpp
/// What every fuzz target is made of: an input, bytes taken from it, and a check that ends the
/// program. A target is a function `void run_NAME(Input)`; TROUPE_FUZZ_TARGET makes it libFuzzer's
/// entry in the program of its own (preset `fuzz`), and fuzz/targets.hpp lists all of them for the
/// tests that replay the corpora.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::fuzz {

using Input = std::span<const std::uint8_t>;

inline std::string_view text_of(Input input) {
  return {reinterpret_cast<const char*>(input.data()), input.size()};
}

/// Ends the program where a promise does not hold: what libFuzzer reports as a finding.
inline void require(bool holds, std::string_view promise) {
  if (!holds) {
    std::fprintf(stderr, "broken promise: %.*s\n", static_cast<int>(promise.size()),
                 promise.data());
    std::abort();
  }
}

/// Takes numbers and blocks from the front of an input; zeros and short blocks at its end.
class Bytes {
 public:
  explicit Bytes(Input input) : rest_(input) {}

  template <class T>
  T number() {
    T value{};
    const auto block = take(sizeof value);
    std::ranges::copy(std::as_bytes(block), reinterpret_cast<std::byte*>(&value));
    return value;
  }
  Input take(std::size_t size) {
    const auto block = rest_.first(std::min(size, rest_.size()));
    rest_ = rest_.subspan(block.size());
    return block;
  }
  Input rest() { return take(rest_.size()); }
  bool empty() const { return rest_.empty(); }

 private:
  Input rest_;
};

}  // namespace troupe::fuzz

#ifdef TROUPE_FUZZ_PROGRAM
#define TROUPE_FUZZ_TARGET(function)                                                  \
  extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);  \
  extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) { \
    function(::troupe::fuzz::Input(data, size));                                      \
    return 0;                                                                         \
  }
#else
#define TROUPE_FUZZ_TARGET(function)
#endif
