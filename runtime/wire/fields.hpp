#pragma once
/// \file fields.hpp
/// Kinds of fields of which the lists of messages are made (message_fields.hpp,
/// membership_fields.hpp). The codec (write_fields.hpp, read_fields.hpp), tests and example messages follow from the
/// lists. A name is that of the schema; a kind says how the member of the C++ struct travels.
#include "runtime/base/buffer.hpp"
#include "runtime/base/pooled_vector.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace troupe::net {

/// The list of a message, or of a struct inside messages. A specialization has
///   using Root = ...;                           struct of the schema (not where it is only spread)
///   static constexpr std::tuple fields{...};    one entry per field, made by a function below;
///                                               missing where the codec is written by hand
///   static Status check(message, const T&);     optional: the limits that no single field has;
///                                               `message` is the name for its errors
template <class T>
struct Fields;

/// Whether a message is encoded and decoded by its list.
template <class T>
concept HasFieldList = requires {
  Fields<T>::fields;
};

namespace field {

/// A number, bool or id; an Errc, by its number (one that is not known is read as `internal`); or a
/// struct with a list of its own.
template <class Struct, class Member>
struct Value {
  std::string_view name;
  Member Struct::*member;
};

/// A text. The receiver refuses a longer one; the sender cuts it if `cut`.
template <class Struct>
struct Text {
  std::string_view name;
  std::string Struct::*member;
  std::size_t most_bytes;
  bool cut;
};

/// A list of numbers, ids or structs.
template <class Struct, class Element>
struct List {
  std::string_view name;
  std::vector<Element> Struct::*member;
  std::size_t most;
  std::string_view unit;  ///< In errors; may be empty
};

/// A member whose own fields lie in the schema's struct beside the others, with `prefix` before
/// their names: "batches" and "low" is `batchesLow`.
template <class Struct, class Member>
struct Spread {
  std::string_view prefix;
  Member Struct::*member;
};

/// The same, or nothing: a field `hasPrefix` says which.
template <class Struct, class Member>
struct OptionalSpread {
  std::string_view prefix;
  std::optional<Member> Struct::*member;
};

/// A bulk segment of the frame, an array of Element, in a Segment (shared) or a vector (copied).
template <class Struct, class Member, class Element>
struct Array {
  std::size_t segment;
  Member Struct::*member;
};

/// All that Struct::counters() lists (runtime/base/counters.hpp).
template <class Struct>
struct Counters {};

template <class Struct, class Member>
constexpr auto value(std::string_view name, Member Struct::*member) {
  return Value<Struct, Member>{name, member};
}
template <class Struct>
constexpr auto text(std::string_view name, std::string Struct::*member, std::size_t most_bytes) {
  return Text<Struct>{name, member, most_bytes, false};
}
template <class Struct>
constexpr auto cut_text(std::string_view name, std::string Struct::*member,
                        std::size_t most_bytes) {
  return Text<Struct>{name, member, most_bytes, true};
}
template <class Struct, class Element>
constexpr auto list(std::string_view name, std::vector<Element> Struct::*member, std::size_t most,
                    std::string_view unit = "") {
  return List<Struct, Element>{name, member, most, unit};
}
template <class Struct, class Member>
constexpr auto spread(std::string_view prefix, Member Struct::*member) {
  return Spread<Struct, Member>{prefix, member};
}
template <class Struct, class Member>
constexpr auto optional_spread(std::string_view prefix, std::optional<Member> Struct::*member) {
  return OptionalSpread<Struct, Member>{prefix, member};
}
template <class Element, class Struct>
constexpr auto array(std::size_t segment, Segment Struct::*member) {
  return Array<Struct, Segment, Element>{segment, member};
}
template <class Struct, class Element>
constexpr auto array(std::size_t segment, std::vector<Element> Struct::*member) {
  return Array<Struct, std::vector<Element>, Element>{segment, member};
}
template <class Struct, class Element>
constexpr auto array(std::size_t segment, PooledVector<Element> Struct::*member) {
  return Array<Struct, PooledVector<Element>, Element>{segment, member};
}
template <class Struct>
constexpr auto counters() {
  return Counters<Struct>{};
}

}  // namespace field

template <class Kind>
constexpr std::size_t segments_of(const Kind& /*field*/) {
  return 0;
}
template <class S, class M, class E>
constexpr std::size_t segments_of(const field::Array<S, M, E>& field) {
  return field.segment + 1;
}

/// Bulk segments of a message.
template <class T>
constexpr std::size_t segment_count() {
  return std::apply(
      [](const auto&... field) {
        return std::max({std::size_t{0}, segments_of(field)...});
      },
      Fields<T>::fields);
}

/// "Join" of troupe::net::Join.
template <class T>
constexpr std::string_view type_name() {
  const std::string_view function = __PRETTY_FUNCTION__;  // "... [with T = troupe::net::Join; ...]"
  constexpr std::string_view before = "T = ";
  const auto begin = function.find(before) + before.size();
  const auto name = function.substr(begin, function.find_first_of(";]", begin) - begin);
  const auto colon = name.rfind(':');
  return colon == std::string_view::npos ? name : name.substr(colon + 1);
}

}  // namespace troupe::net
