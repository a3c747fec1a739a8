#pragma once
/// \file field_places.hpp
/// The entries of a list of fields (fields.hpp) in the schema: their names and types there, and their
/// places in a message. Only for runtime/wire/*.cpp and tests.
#include "runtime/base/counters.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/result.hpp"
#include "runtime/wire/fields.hpp"

#include <capnp/schema.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace troupe::net {

// ---- names in the schema ----

/// "rows_cached" is "rowsCached"; with a prefix, "prefixRowsCached".
inline std::string camel_case(std::string_view prefix, std::string_view name) {
  std::string out(prefix);
  bool upper = !prefix.empty();
  for (const char letter : name) {
    if (letter == '_') {
      upper = true;
    } else {
      out +=
          upper && letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
      upper = false;
    }
  }
  return out;
}

// ---- types in the schema ----

using SchemaType = capnp::schema::Type::Which;

template <class T>
concept Number = std::is_arithmetic_v<T> || std::is_enum_v<T>;

/// The number that a member travels as: an Errc as 16 bits, an id as what it is made of.
template <Number T>
constexpr auto wire_number(T number) {
  if constexpr (std::is_same_v<T, Errc>) {
    return static_cast<std::uint16_t>(number);
  } else if constexpr (std::is_enum_v<T>) {
    return raw(number);
  } else {
    return number;
  }
}
template <Number T>
using WireNumber = decltype(wire_number(T{}));

template <class T>
constexpr SchemaType schema_type() {
  if constexpr (!Number<T>) {
    return SchemaType::STRUCT;
  } else {
    using N = WireNumber<T>;
    constexpr bool known = std::is_same_v<N, bool> || std::is_same_v<N, std::uint16_t> ||
                           std::is_same_v<N, std::uint32_t> || std::is_same_v<N, std::uint64_t> ||
                           std::is_same_v<N, std::int64_t> || std::is_same_v<N, double>;
    static_assert(known, "a number of a type that no message has yet: add it here");
    return std::is_same_v<N, bool>            ? SchemaType::BOOL
           : std::is_same_v<N, std::uint16_t> ? SchemaType::UINT16
           : std::is_same_v<N, std::uint32_t> ? SchemaType::UINT32
           : std::is_same_v<N, std::uint64_t> ? SchemaType::UINT64
           : std::is_same_v<N, std::int64_t>  ? SchemaType::INT64
                                              : SchemaType::FLOAT64;
  }
}

/// Elements of a list in the schema.
template <class E>
struct ListRoot {
  using Type = typename Fields<E>::Root;
};
template <Number E>
struct ListRoot<E> {
  using Type = WireNumber<E>;
};

/// In units of which the schema counts a number's place: bits for a bool, else its bytes. Pointers are
/// counted by themselves.
constexpr std::uint32_t unit_of(SchemaType type) {
  switch (type) {
    case SchemaType::UINT16:
      return 2;
    case SchemaType::UINT32:
      return 4;
    case SchemaType::UINT64:
    case SchemaType::INT64:
    case SchemaType::FLOAT64:
      return 8;
    default:
      return 1;
  }
}

// ---- fields in the schema ----

/// What the schema should have for an entry of a list.
struct SchemaField {
  std::string name;
  SchemaType type;
};
using SchemaFields = std::vector<SchemaField>;

template <class T>
void add_fields(SchemaFields& fields, std::string_view prefix);

template <class S, class M>
void add_field(const field::Value<S, M>& field, SchemaFields& fields, std::string_view prefix) {
  fields.push_back({camel_case(prefix, field.name), schema_type<M>()});
}
template <class S>
void add_field(const field::Text<S>& field, SchemaFields& fields, std::string_view prefix) {
  fields.push_back({camel_case(prefix, field.name), SchemaType::TEXT});
}
template <class S, class E>
void add_field(const field::List<S, E>& field, SchemaFields& fields, std::string_view prefix) {
  fields.push_back({camel_case(prefix, field.name), SchemaType::LIST});
}
template <class S, class M>
void add_field(const field::Spread<S, M>& field, SchemaFields& fields, std::string_view prefix) {
  add_fields<M>(fields, camel_case(prefix, field.prefix));
}
template <class S, class M>
void add_field(const field::OptionalSpread<S, M>& field, SchemaFields& fields,
               std::string_view prefix) {
  const auto name = camel_case(prefix, field.prefix);
  fields.push_back({camel_case("has", name), SchemaType::BOOL});
  add_fields<M>(fields, name);
}
template <class S, class M, class E>
void add_field(const field::Array<S, M, E>& /*field*/, SchemaFields& /*fields*/,
               std::string_view /*prefix*/) {}
template <class S>
void add_field(const field::Counters<S>& /*field*/, SchemaFields& fields, std::string_view prefix) {
  for (const auto& counter : S::counters()) {
    fields.push_back({camel_case(prefix, counter.name), SchemaType::UINT64});
  }
}

template <class T>
void add_fields(SchemaFields& fields, std::string_view prefix) {
  std::apply([&](const auto&... field) { (add_field(field, fields, prefix), ...); },
             Fields<T>::fields);
}

/// What the schema should have for a struct, in the order of its list.
template <class T>
SchemaFields listed_fields() {
  SchemaFields fields;
  add_fields<T>(fields, "");
  return fields;
}

/// Places of a struct's fields, in the order of its list: the byte (of a bool the bit) in the data, or
/// the number of the pointer. A list that differs from the schema is a bug; a test compares them all.
std::vector<std::uint32_t> places_of(capnp::StructSchema schema, const SchemaFields& fields);

template <class T>
const std::uint32_t* field_places() {
  static const auto places =
      places_of(capnp::Schema::from<typename Fields<T>::Root>(), listed_fields<T>());
  return places.data();
}

}  // namespace troupe::net
