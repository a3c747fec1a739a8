#pragma once
/// \file message.hpp
/// How messages travel between actors: as `Ref<T>`, immutable and shared. A local send moves one
/// pointer; a proxy encodes the T when it leaves the process. No handler signature can copy the T
/// by accident.
#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/config.hpp>
#include <caf/detail/tuple_vals.hpp>
#include <caf/error.hpp>
#include <caf/rtti_pair.hpp>
#include <caf/type_erased_value.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
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

/// What CAF prints in the place of a message: that it is one, as only codecs know what is in it.
std::string printed_message();
/// What CAF gets when it loads or saves a message.
caf::error unserialized_message();

/// A message as CAF copies it out of a tuple.
template <class T>
class RefValue final : public caf::type_erased_value {
 public:
  explicit RefValue(const Ref<T>& ref) : ref_(ref) {}

  void* get_mutable() override { return &ref_; }
  const void* get() const override { return &ref_; }
  caf::rtti_pair type() const override { return caf::make_rtti_pair<Ref<T>>(); }
  caf::type_erased_value_ptr copy() const override {
    return caf::type_erased_value_ptr(new RefValue(ref_));
  }
  std::string stringify() const override { return printed_message(); }
  caf::error load(caf::deserializer&) override { return unserialized_message(); }
  caf::error save(caf::serializer&) const override { return unserialized_message(); }

 private:
  Ref<T> ref_;
};

}  // namespace troupe

/// CAF never serializes our messages (the codecs of runtime/net do): one partial specialization, no
/// macro per type.
template <class T>
struct caf::allowed_unsafe_message_type<troupe::Ref<T>> : std::true_type {};

#if CAF_VERSION / 100 != 17
#error \
    "expected CAF 0.17, whose tuple_vals_impl this is; try: leave the specialization out, it only saves time to compile"
#endif

/// What CAF keeps a message in. Its own template compiles printing, loading and saving for every type: a fifth of the time
/// that a room of actors takes, and a third of its code.
template <class Base, class T>
class caf::detail::tuple_vals_impl<Base, troupe::Ref<T>> : public Base {
 public:
  using super = message_data;                    // NOLINT(*-naming): CAF's name
  using data_type = std::tuple<troupe::Ref<T>>;  // NOLINT(*-naming): CAF's name

  tuple_vals_impl(const tuple_vals_impl&) = default;
  template <class... Us>
  tuple_vals_impl(Us&&... xs) : data_(std::forward<Us>(xs)...) {}  // NOLINT(*-explicit-*)

  data_type& data() { return data_; }
  const data_type& data() const { return data_; }

  std::size_t size() const noexcept override { return 1; }
  const void* get(std::size_t) const noexcept override { return &std::get<0>(data_); }
  void* get_mutable(std::size_t) override { return &std::get<0>(data_); }
  std::uint32_t type_token() const noexcept override { return make_type_token<troupe::Ref<T>>(); }
  rtti_pair type(std::size_t) const noexcept override { return make_rtti_pair<troupe::Ref<T>>(); }
  using Base::copy;
  type_erased_value_ptr copy(std::size_t) const override {
    return type_erased_value_ptr(new troupe::RefValue<T>(std::get<0>(data_)));
  }
  std::string stringify(std::size_t) const override { return troupe::printed_message(); }
  error load(std::size_t, deserializer&) override { return troupe::unserialized_message(); }
  error save(std::size_t, serializer&) const override { return troupe::unserialized_message(); }

 private:
  data_type data_;
};
