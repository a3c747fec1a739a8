#pragma once
/// \file example_message.hpp
/// Messages with something in every field, made from their lists of fields: for tests of codecs and
/// seeds of fuzz targets.
#include "runtime/base/counters.hpp"
#include "runtime/wire/field_places.hpp"
#include "runtime/wire/membership_fields.hpp"
#include "runtime/wire/message_fields.hpp"

#include <fmt/format.h>
#include <limits>
#include <string>
#include <vector>

namespace troupe::testing {

/// Numbers end near the largest of their type and grow from field to field, so that no two are equal
/// and what must ascend does.
class ExampleMaker {
 public:
  template <class T>
  T make() {
    T message{};
    fill_fields(message);
    return message;
  }

 private:
  template <class T>
  void fill_fields(T& message) {
    std::apply([&](const auto&... field) { (fill(field, message), ...); }, net::Fields<T>::fields);
  }

  template <net::Number T>
  T number() {
    ++count_;
    if constexpr (std::is_same_v<T, bool>) {
      return true;
    } else if constexpr (std::is_same_v<T, Errc>) {
      return static_cast<Errc>(1 + count_ % static_cast<unsigned>(Errc::unauthenticated));
    } else if constexpr (std::is_enum_v<T>) {
      return static_cast<T>(number<std::underlying_type_t<T>>());
    } else if constexpr (std::is_floating_point_v<T>) {
      return static_cast<T>(count_) + T{0.5};
    } else {
      return static_cast<T>(std::numeric_limits<T>::max() - 1000 + static_cast<T>(count_));
    }
  }
  template <class T>
  void fill_value(T& value) {
    if constexpr (net::Number<T>) {
      value = number<T>();
    } else {
      fill_fields(value);
    }
  }
  template <class List>
  void fill_list(List& list) {
    list.resize(3);
    for (auto& entry : list) {
      fill_value(entry);
    }
  }

  template <class S, class M>
  void fill(const net::field::Value<S, M>& field, std::type_identity_t<S>& message) {
    fill_value(message.*field.member);
  }
  template <class S>
  void fill(const net::field::Text<S>& field, std::type_identity_t<S>& message) {
    message.*field.member = fmt::format("text {}", ++count_);
  }
  template <class S, class E>
  void fill(const net::field::List<S, E>& field, std::type_identity_t<S>& message) {
    fill_list(message.*field.member);
  }
  template <class S, class M>
  void fill(const net::field::Spread<S, M>& field, std::type_identity_t<S>& message) {
    fill_fields(message.*field.member);
  }
  template <class S, class M>
  void fill(const net::field::OptionalSpread<S, M>& field, std::type_identity_t<S>& message) {
    message.*field.member = make<M>();
  }
  template <class S, class M, class E>
  void fill(const net::field::Array<S, M, E>& field, std::type_identity_t<S>& message) {
    if constexpr (std::is_same_v<M, Segment>) {
      std::vector<E> values;
      fill_list(values);
      message.*field.member = Segment::of(std::move(values));
    } else {
      fill_list(message.*field.member);
    }
  }
  template <class S>
  void fill(const net::field::Counters<S>& /*field*/, std::type_identity_t<S>& message) {
    for (const auto& counter : S::counters()) {
      message.*counter.member = number<std::uint64_t>();
    }
  }

  unsigned count_ = 0;
};

/// The same message on every call.
template <class T>
T example_message() {
  T message = ExampleMaker().make<T>();
  if constexpr (std::is_same_v<T, net::ScoreResult>) {
    message.cols = 1;  // as many outputs as positions
  }
  if constexpr (std::is_same_v<T, SparseGradients> || std::is_same_v<T, ReadLearned> ||
                std::is_same_v<T, LearnedEvent>) {
    message.sections = {{NodeTypeId{1}, 1, 1}, {NodeTypeId{3}, 1, 2}};  // of three nodes
  }
  if constexpr (std::is_same_v<T, RankEntities>) {
    message.cols = 1;  // of as many queries as keys
    message.offsets = {0, 1, 1, message.left_out.size()};
    message.hidden = 1;
    message.queries = Segment::of(std::vector<float>{0.5F, 2, 3, 4, 5});  // after two weights
  }
  if constexpr (std::is_same_v<T, WriteTensor> || std::is_same_v<T, ReadTensor>) {
    message.row_bytes = 1;  // of as many bytes as ids
  }
  if constexpr (std::is_base_of_v<TensorPiece, T>) {
    message.of = static_cast<std::uint16_t>(TensorOf::rows);
    message.dtype = static_cast<std::uint16_t>(DType::i32);
    message.cols = 1;
    message.ids.clear();
    message.runs = {5, 2, 1000, 1};  // of three numbers
    message.values = Segment::of(std::vector<std::int32_t>{1, -2, 3});
  }
  return message;
}

}  // namespace troupe::testing
