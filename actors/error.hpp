#pragma once
/// \file error.hpp
/// Errors at the actor edge: a `caf::error` of category `troupe` carries our code and sentence;
/// errors that CAF makes by itself (a dead receiver, a timeout) are translated, so that callers
/// know one vocabulary.
#include "actors/message.hpp"
#include "runtime/base/result.hpp"

#include <caf/atom.hpp>
#include <caf/error.hpp>
#include <caf/response_promise.hpp>

namespace troupe {

inline constexpr caf::atom_value error_category = caf::atom("troupe");

caf::error to_caf(const Error& error);

/// The inverse; `request_receiver_down`, exits and dead proxies become peer_lost, `request_timeout`
/// deadline_exceeded.
Error from_caf(const caf::error& error);

/// Answers a request with a value or an error.
template <class T>
void deliver(caf::response_promise& promise, Result<T> result) {
  if (result) {
    promise.deliver(Ref<T>(*std::move(result)));
  } else {
    promise.deliver(to_caf(result.error()));
  }
}
template <class T>
void deliver(caf::response_promise& promise, const Result<Ref<T>>& result) {
  if (result) {
    promise.deliver(*result);
  } else {
    promise.deliver(to_caf(result.error()));
  }
}

}  // namespace troupe
