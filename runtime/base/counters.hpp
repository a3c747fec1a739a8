#pragma once
/// \file counters.hpp
/// Counters of a struct as a list, from which messages, sums, JSON files and reports are made.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace troupe {

/// How the counters of two structs become one.
enum class CounterSum : std::uint8_t { total, largest };

/// One counter of a struct T, which lists them in a static function `counters()`.
template <class T>
struct Counter {
  std::string_view name;  ///< In JSON files; messages have the same in camelCase
  std::uint64_t T::*member = nullptr;
  CounterSum sum = CounterSum::total;

  /// Nanoseconds: reports have its seconds, as a stage of the run.
  constexpr bool is_time() const { return name.ends_with("_ns"); }
  /// The name without its unit, if it is a time.
  constexpr std::string_view stage() const { return name.substr(0, name.size() - 3); }
};

/// The counters of a struct: its own, then those of its base.
template <class T, std::size_t Own, class Base, std::size_t Inherited>
constexpr auto with_inherited(const std::array<Counter<T>, Own>& own,
                              const std::array<Counter<Base>, Inherited>& inherited) {
  std::array<Counter<T>, Own + Inherited> all{};
  for (std::size_t i = 0; i < Own; ++i) {
    all[i] = own[i];
  }
  for (std::size_t i = 0; i < Inherited; ++i) {
    all[Own + i] = {inherited[i].name, inherited[i].member, inherited[i].sum};
  }
  return all;
}

/// Adds the listed counters of `more` to those of `to`.
template <class T>
void sum_counters(T& to, const T& more) {
  for (const auto& counter : T::counters()) {
    auto& value = to.*counter.member;
    const auto added = more.*counter.member;
    if (counter.sum == CounterSum::total) {
      value += added;
    } else if (added > value) {
      value = added;
    }
  }
}

}  // namespace troupe
