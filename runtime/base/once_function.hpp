#pragma once
/// \file once_function.hpp
/// A callable that may hold what cannot be copied, and holds little without an allocation. Until
/// std::move_only_function (C++23) is there.
#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace troupe {

template <class Signature>
class OnceFunction;

/// Called at most once; can be moved, not copied. Empty from the start and after a move.
/// Threads: one at a time
/// \cost no allocation for callables of up to 48 bytes that move without throwing
template <class... Arguments>
class OnceFunction<void(Arguments...)> {
 public:
  OnceFunction() = default;
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, OnceFunction> &&
           std::is_invocable_v<std::remove_cvref_t<F>&, Arguments...>)
      OnceFunction(F&& f) {  // NOLINT(*-explicit-*,bugprone-*): as std::function
    using Held = std::remove_cvref_t<F>;
    if constexpr (fits<Held>) {
      ::new (place()) Held(std::forward<F>(f));
      kind_ = &kind_of<Held>;
    } else {
      auto boxed = [box = std::make_unique<Held>(std::forward<F>(f))](Arguments... arguments) {
        (*box)(std::forward<Arguments>(arguments)...);
      };
      ::new (place()) decltype(boxed)(std::move(boxed));
      kind_ = &kind_of<decltype(boxed)>;
    }
  }
  OnceFunction(OnceFunction&& other) noexcept { take(other); }
  OnceFunction& operator=(OnceFunction&& other) noexcept {
    if (this != &other) {
      reset();
      take(other);
    }
    return *this;
  }
  OnceFunction(const OnceFunction&) = delete;
  OnceFunction& operator=(const OnceFunction&) = delete;
  ~OnceFunction() { reset(); }

  explicit operator bool() const { return kind_ != nullptr; }
  /// \requires that it is not empty
  void operator()(Arguments... arguments) {
    kind_->call(place(), std::forward<Arguments>(arguments)...);
  }

 private:
  static constexpr std::size_t room = 48;
  struct Kind {
    void (*call)(void* held, Arguments... arguments);
    void (*move)(void* from, void* to);  ///< leaves nothing at `from`
    void (*destroy)(void* held);
  };
  template <class Held>
  static constexpr bool fits =
      sizeof(Held) <= room &&
      alignof(Held) <= alignof(std::max_align_t) && std::is_nothrow_move_constructible_v<Held>;
  template <class Held>
  static constexpr Kind kind_of{
      [](void* held, Arguments... arguments) {
        (*static_cast<Held*>(held))(std::forward<Arguments>(arguments)...);
      },
      [](void* from, void* to) {
        auto* const held = static_cast<Held*>(from);
        ::new (to) Held(std::move(*held));
        held->~Held();
      },
      [](void* held) { static_cast<Held*>(held)->~Held(); }};

  void* place() { return static_cast<void*>(&bytes_); }
  void take(OnceFunction& other) {
    kind_ = std::exchange(other.kind_, nullptr);
    if (kind_ != nullptr) {
      kind_->move(other.place(), place());
    }
  }
  void reset() {
    if (const auto* const kind = std::exchange(kind_, nullptr)) {
      kind->destroy(place());
    }
  }

  const Kind* kind_ = nullptr;
  alignas(std::max_align_t) std::byte bytes_[room];  // NOLINT(*-avoid-c-arrays): raw memory
};

}  // namespace troupe
