#pragma once
/// \file result.hpp
/// One error vocabulary for the whole program. A code says what the CALLER should do next, not what
/// broke. Fallible functions return `Result<T>` or `Status` and pass errors on with the two macros
/// at the end; exceptions are for bugs.
#include "runtime/base/assert.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace troupe {

enum class Errc : std::uint8_t {
  ok = 0,
  invalid_argument,     ///< The caller passed a bad value. Fix the input; retrying cannot help.
  failed_precondition,  ///< The object is in the wrong state. Change the state, then retry.
  not_found,            ///< The named thing does not exist.
  out_of_memory,        ///< Memory is exhausted. Retry with less, or free something.
  overloaded,           ///< A queue or window is full. Retry after a pause.
  peer_lost,            ///< The connection or the actor is gone. Reconnect, then retry.
  deadline_exceeded,    ///< Timed out; the operation may still complete remotely.
  data_corruption,      ///< Checksum or bounds violation in stored or received data. Do not retry.
  cuda_failure,         ///< Sticky device error. The process must restart.
  cancelled,            ///< Asked to stop.
  unimplemented,        ///< Not built or not supported here. Use the fallback path.
  internal,             ///< A bug in this program.
  fenced,               ///< A newer generation has taken over. Do not retry; end.
  unauthenticated,      ///< Wrong token or certificate. Fix it; retrying cannot help.
};

/// The code's name as written above, e.g. "invalid_argument".
std::string_view to_string(Errc code) noexcept;

/// Call site, without std::source_location (clang-tidy 14 cannot parse libstdc++ 12's).
struct SourceLoc {
  const char* file = "?";
  int line = 0;
  static constexpr SourceLoc current(const char* f = __builtin_FILE(),
                                     int l = __builtin_LINE()) noexcept {
    return {f, l};
  }
};

/// A code, one sentence (what was expected, what came, for which object; users also get a line
/// "try: …"), a call site.
class [[nodiscard]] Error {
 public:
  Error(Errc code, std::string what, SourceLoc where = SourceLoc::current())
      : code_(code), what_(std::move(what)), where_(where) {
    TROUPE_ASSERT(code != Errc::ok, "an Error needs a code", what_);
  }
  Errc code() const noexcept { return code_; }
  const std::string& what() const noexcept { return what_; }
  SourceLoc where() const noexcept { return where_; }
  /// Puts "CONTEXT: " before the sentence.
  Error with(std::string_view context) && {
    what_.insert(0, ": ").insert(0, context);
    return std::move(*this);
  }

 private:
  Errc code_;
  std::string what_;
  SourceLoc where_;
};

/// Either a value or an Error. Reading the one that is not there is a bug and asserts.
template <class T>
class [[nodiscard]] Result {
 public:
  // NOLINTBEGIN(google-explicit-constructor)
  Result(T value) : v_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : v_(std::in_place_index<1>, std::move(error)) {}
  // NOLINTEND(google-explicit-constructor)

  bool ok() const noexcept { return v_.index() == 0; }
  explicit operator bool() const noexcept { return ok(); }

  T& operator*() & { return value(); }
  const T& operator*() const& { return const_cast<Result*>(this)->value(); }
  T&& operator*() && { return std::move(value()); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &const_cast<Result*>(this)->value(); }

  Error& error() & { return failure(); }
  const Error& error() const& { return const_cast<Result*>(this)->failure(); }
  Error&& error() && { return std::move(failure()); }

 private:
  T& value() {
    TROUPE_ASSERT(ok(), "value read from a failed Result", std::get<1>(v_).what());
    return *std::get_if<0>(&v_);
  }
  Error& failure() {
    TROUPE_ASSERT(!ok(), "error read from a Result that holds a value");
    return *std::get_if<1>(&v_);
  }
  std::variant<T, Error> v_;
};

using Status = Result<std::monostate>;
inline Status ok_status() {
  return std::monostate{};
}

}  // namespace troupe

// NOLINTBEGIN(bugprone-macro-parentheses)
#define TROUPE_CONCAT_TOKENS(a, b) a##b
#define TROUPE_CONCAT(a, b) TROUPE_CONCAT_TOKENS(a, b)
#define TROUPE_ASSIGN_OR_RETURN_AS(tmp, lhs, expr) \
  auto tmp = (expr);                               \
  if (!tmp) {                                      \
    return std::move(tmp).error();                 \
  }                                                \
  lhs = *std::move(tmp)
/// `TROUPE_ASSIGN_OR_RETURN(auto x, f());` assigns f's value, or returns its error.
#define TROUPE_ASSIGN_OR_RETURN(lhs, expr) \
  TROUPE_ASSIGN_OR_RETURN_AS(TROUPE_CONCAT(troupe_tmp_, __LINE__), lhs, expr)
#define TROUPE_RETURN_IF_ERROR(expr)           \
  do {                                         \
    auto troupe_status = (expr);               \
    if (!troupe_status) {                      \
      return std::move(troupe_status).error(); \
    }                                          \
  } while (false)
// NOLINTEND(bugprone-macro-parentheses)
