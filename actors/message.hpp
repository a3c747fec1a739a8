#pragma once
/// \file message.hpp
/// How messages travel between actors: as `Ref<T>`, immutable and shared. A local send moves one
/// pointer; a proxy encodes the T when it leaves the process. No handler signature can copy the T
/// by accident.
#include <caf/allowed_unsafe_message_type.hpp>

#include <memory>
#include <type_traits>
#include <utility>

namespace troupe {

/// An immutable shared message.
template <class T>
struct Ref : std::shared_ptr<const T> {
  using std::shared_ptr<const T>::shared_ptr;
  explicit Ref(T value) : std::shared_ptr<const T>(std::make_shared<const T>(std::move(value))) {}
  explicit Ref(std::shared_ptr<const T> value) : std::shared_ptr<const T>(std::move(value)) {}
};

}  // namespace troupe

/// CAF never serializes our messages (the codecs of runtime/net do): one partial specialization, no
/// macro per type.
template <class T>
struct caf::allowed_unsafe_message_type<troupe::Ref<T>> : std::true_type {};
