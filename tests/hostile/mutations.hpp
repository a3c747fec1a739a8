#pragma once
/// \file mutations.hpp
/// Every input made worse in the ways that files and messages go wrong, always the same ones: cut
/// short, one bit flipped, a number replaced by an absurd one, bytes put in or taken out.
#include "runtime/base/philox.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace troupe::testing {

using Octets = std::vector<std::uint8_t>;

/// How many inputs a test tried; printed at its end.
class InputCount {
 public:
  explicit InputCount(std::string what) : what_(std::move(what)) {}
  ~InputCount() {
    std::printf("[ inputs   ] %s: %zu tried, %zu refused, %zu without effect\n", what_.c_str(),
                refused_ + accepted_, refused_, accepted_);
  }
  InputCount(const InputCount&) = delete;
  InputCount& operator=(const InputCount&) = delete;
  void add(bool refused) { ++(refused ? refused_ : accepted_); }
  std::size_t refused() const { return refused_; }
  std::size_t total() const { return refused_ + accepted_; }

 private:
  std::string what_;
  std::size_t refused_ = 0;
  std::size_t accepted_ = 0;
};

/// Calls `f` with about `most` of the lengths below the input's own, the shortest and longest
/// always.
template <class F>
void each_truncation(const Octets& input, std::size_t most, F&& f) {
  const std::size_t step = input.size() / most + 1;
  for (std::size_t length = 0; length < input.size(); length += step) {
    f(Octets(input.begin(), input.begin() + static_cast<std::ptrdiff_t>(length)));
  }
  if (!input.empty()) {
    f(Octets(input.begin(), input.end() - 1));
  }
}

/// Calls `f` with about `most` of the inputs that differ in one bit.
template <class F>
void each_flipped_bit(const Octets& input, std::size_t most, F&& f) {
  const std::size_t step = input.size() * 8 / most + 1;
  for (std::size_t bit = 0; bit < input.size() * 8; bit += step) {
    Octets changed = input;
    changed[bit / 8] = static_cast<std::uint8_t>(changed[bit / 8] ^ (1U << (bit % 8)));
    f(std::move(changed));
  }
}

/// Calls `f` with numbers of 4 and 8 bytes at about `most` places replaced: zero, -1, the ends of
/// the signed and unsigned ranges, and sizes that overflow when they are multiplied.
template <class F>
void each_absurd_number(const Octets& input, std::size_t most, F&& f) {
  constexpr std::array<std::uint64_t, 7> numbers{
      0,          ~std::uint64_t{0},  1ULL << 63, (1ULL << 63) - 1,
      1ULL << 32, 0x5555555555555555, 0x7FFFFFFF};
  const std::size_t step = input.size() / most + 1;
  for (std::size_t at = 0; at < input.size(); at += step) {
    for (const std::uint64_t number : numbers) {
      for (const std::size_t width : {4U, 8U}) {
        Octets changed = input;
        std::memcpy(changed.data() + at, &number, std::min(width, changed.size() - at));
        f(std::move(changed));
      }
    }
  }
}

/// Calls `f` with `count` inputs with several wrongs at once.
template <class F>
void each_mess(const Octets& input, std::size_t count, F&& f) {
  for (std::size_t i = 0; i < count; ++i) {
    DrawStream draw(stream_key(11, {.domain = Domain::generators}), i);
    Octets changed = input;
    for (std::uint32_t wrong = 0, wrongs = 1 + draw.below(4); wrong < wrongs; ++wrong) {
      const auto at = draw.below(static_cast<std::uint32_t>(changed.size()) + 1);
      const auto place = changed.begin() + at;
      const auto size = std::min<std::ptrdiff_t>(draw.below(16) + 1, changed.end() - place);
      if (draw.below(3) == 0) {
        changed.erase(place, place + size);
      } else if (draw.below(2) == 0) {
        changed.insert(place, 1 + draw.below(16), static_cast<std::uint8_t>(draw.next()));
      } else {
        std::for_each(place, place + size,
                      [&](std::uint8_t& byte) { byte = static_cast<std::uint8_t>(draw.next()); });
      }
    }
    f(std::move(changed));
  }
}

/// All of the above, about `most` of each kind.
template <class F>
void each_mutation(const Octets& input, std::size_t most, F&& f) {
  each_truncation(input, most, f);
  each_flipped_bit(input, most, f);
  each_absurd_number(input, most / 14 + 1, f);
  each_mess(input, most, f);
}

}  // namespace troupe::testing
