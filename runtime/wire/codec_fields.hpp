#pragma once
/// \file codec_fields.hpp
/// The codec of all messages that are declared by a list of fields (fields.hpp). Fields of the schema
/// are found by name, once per struct; numbers are then written to and read from their places in the
/// struct's data, texts, lists and structs through its pointers, as Cap'n Proto's generated classes
/// do. Only for runtime/wire/*.cpp and tests.
#include "runtime/base/assert.hpp"
#include "runtime/base/counters.hpp"
#include "runtime/base/cut_text.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/net/error_codes.hpp"
#include "runtime/wire/codec_support.hpp"
#include "runtime/wire/fields.hpp"

#include <capnp/any.h>
#include <capnp/schema.h>

#include <algorithm>
#include <cstring>
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

// ---- segments ----

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

// ---- writing ----

/// Where the fields of a struct go, taken in the order of its list.
struct FieldWriter {
  kj::ArrayPtr<kj::byte> data;
  capnp::List<capnp::AnyPointer>::Builder pointers;
  const std::uint32_t* next;
  std::vector<Segment>& segments;

  template <Number T>
  void number(T value) {
    const auto place = *next++;
    const auto wire = wire_number(value);
    if constexpr (std::is_same_v<T, bool>) {
      data[place / 8] |= static_cast<kj::byte>(unsigned{wire} << place % 8);
    } else {
      std::memcpy(&data[place], &wire, sizeof(wire));
    }
  }
  capnp::AnyPointer::Builder pointer() { return pointers[*next++]; }
};

template <class T>
void write_fields(const T& from, FieldWriter& out) {
  std::apply([&](const auto&... field) { (write_field(field, from, out), ...); },
             Fields<T>::fields);
}

template <class T>
void write_struct(const T& from, typename Fields<T>::Root::Builder to,
                  std::vector<Segment>& segments) {
  capnp::AnyStruct::Builder any(std::move(to));
  FieldWriter out{any.getDataSection(), any.getPointerSection(), field_places<T>(), segments};
  write_fields(from, out);
}

template <class S, class M>
void write_field(const field::Value<S, M>& field, const std::type_identity_t<S>& from,
                 FieldWriter& out) {
  if constexpr (Number<M>) {
    out.number(from.*field.member);
  } else {
    write_struct(from.*field.member, out.pointer().template initAs<typename Fields<M>::Root>(),
                 out.segments);
  }
}

template <class S>
void write_field(const field::Text<S>& field, const std::type_identity_t<S>& from,
                 FieldWriter& out) {
  const auto& text = from.*field.member;
  const auto sent = field.cut ? troupe::cut_text(text, field.most_bytes) : std::string_view(text);
  auto to = out.pointer().initAs<capnp::Text>(static_cast<unsigned>(sent.size()));
  std::copy(sent.begin(), sent.end(), to.begin());
}

template <class S, class E>
void write_field(const field::List<S, E>& field, const std::type_identity_t<S>& from,
                 FieldWriter& out) {
  const auto& entries = from.*field.member;
  const auto size = static_cast<unsigned>(entries.size());
  using Root = typename ListRoot<E>::Type;
  auto list = out.pointer().template initAs<capnp::List<Root>>(size);
  for (unsigned i = 0; i < size; ++i) {
    if constexpr (Number<E>) {
      list.set(i, wire_number(entries[i]));
    } else {
      write_struct(entries[i], list[i], out.segments);
    }
  }
}

template <class S, class M>
void write_field(const field::Spread<S, M>& field, const std::type_identity_t<S>& from,
                 FieldWriter& out) {
  write_fields(from.*field.member, out);
}

template <class S, class M>
void write_field(const field::OptionalSpread<S, M>& field, const std::type_identity_t<S>& from,
                 FieldWriter& out) {
  const auto& member = from.*field.member;
  out.number(member.has_value());
  write_fields(member.value_or(M{}), out);
}

template <class S, class M, class E>
void write_field(const field::Array<S, M, E>& field, const std::type_identity_t<S>& from,
                 FieldWriter& out) {
  if constexpr (std::is_same_v<M, Segment>) {
    out.segments[field.segment] = from.*field.member;
  } else {
    out.segments[field.segment] = copy_segment(from.*field.member);
  }
}

template <class S>
void write_field(const field::Counters<S>& /*field*/, const std::type_identity_t<S>& from,
                 FieldWriter& out) {
  for (const auto& counter : S::counters()) {
    out.number(from.*counter.member);
  }
}

template <class T>
void encode_fields(const T& message, Frame& frame) {
  using Root = typename Fields<T>::Root;
  std::vector<Segment> segments(segment_count<T>());
  write_message<Root>(frame,
                      [&](typename Root::Builder out) { write_struct(message, out, segments); });
  frame.segments = std::move(segments);
}

// ---- reading ----

/// Where the fields of a struct come from, taken in the order of its list. A message may be shorter
/// than the schema: the rest is 0 or empty.
struct FieldReader {
  kj::ArrayPtr<const kj::byte> data;
  capnp::List<capnp::AnyPointer>::Reader pointers;
  const std::uint32_t* next;
  std::string_view message;
  const SegmentReader& segments;

  template <Number T>
  T number() {
    const auto place = *next++;
    WireNumber<T> wire{};
    if constexpr (std::is_same_v<T, bool>) {
      wire = place / 8 < data.size() && (data[place / 8] >> place % 8 & 1) != 0;
    } else if (place + sizeof(wire) <= data.size()) {
      std::memcpy(&wire, &data[place], sizeof(wire));
    }
    if constexpr (std::is_same_v<T, Errc>) {
      return errc_from_wire(wire);
    } else {
      return static_cast<T>(wire);
    }
  }
  capnp::AnyPointer::Reader pointer() {
    const auto place = *next++;
    return place < pointers.size() ? pointers[place] : capnp::AnyPointer::Reader();
  }
};

template <class T>
Status read_fields(T& to, FieldReader& in) {
  Status status = ok_status();
  std::apply(
      [&](const auto&... field) {
        static_cast<void>((true && ... && (status = read_field(field, to, in)).ok()));
      },
      Fields<T>::fields);
  if constexpr (requires { Fields<T>::check(in.message, to); }) {
    if (status.ok()) {
      return Fields<T>::check(in.message, to);
    }
  }
  return status;
}

template <class T>
Status read_struct(T& to, typename Fields<T>::Root::Reader from, std::string_view message,
                   const SegmentReader& segments) {
  const capnp::AnyStruct::Reader any(from);
  FieldReader in{any.getDataSection(), any.getPointerSection(), field_places<T>(), message,
                 segments};
  return read_fields(to, in);
}

template <class S, class M>
Status read_field(const field::Value<S, M>& field, std::type_identity_t<S>& to, FieldReader& in) {
  if constexpr (Number<M>) {
    to.*field.member = in.number<M>();
    return ok_status();
  } else {
    return read_struct(to.*field.member, in.pointer().template getAs<typename Fields<M>::Root>(),
                       in.message, in.segments);
  }
}

template <class S>
Status read_field(const field::Text<S>& field, std::type_identity_t<S>& to, FieldReader& in) {
  const auto text = in.pointer().getAs<capnp::Text>();
  if (text.size() > field.most_bytes) {
    return corrupt_message(in.message, fmt::format("{}: expected at most {} bytes, found {}",
                                                   field.name, field.most_bytes, text.size()));
  }
  (to.*field.member).assign(text.begin(), text.end());
  return ok_status();
}

template <class S, class E>
Status read_field(const field::List<S, E>& field, std::type_identity_t<S>& to, FieldReader& in) {
  using Root = typename ListRoot<E>::Type;
  const auto list = in.pointer().template getAs<capnp::List<Root>>();
  if (list.size() > field.most) {
    return corrupt_message(
        in.message, fmt::format("{}: expected at most {}{}{}, found {}", field.name, field.most,
                                field.unit.empty() ? "" : " ", field.unit, list.size()));
  }
  auto& entries = to.*field.member;
  entries.resize(list.size());
  for (unsigned i = 0; i < list.size(); ++i) {
    if constexpr (Number<E>) {
      entries[i] = static_cast<E>(list[i]);
    } else {
      TROUPE_RETURN_IF_ERROR(read_struct(entries[i], list[i], in.message, in.segments));
    }
  }
  return ok_status();
}

template <class S, class M>
Status read_field(const field::Spread<S, M>& field, std::type_identity_t<S>& to, FieldReader& in) {
  return read_fields(to.*field.member, in);
}

template <class S, class M>
Status read_field(const field::OptionalSpread<S, M>& field, std::type_identity_t<S>& to,
                  FieldReader& in) {
  const bool is_there = in.number<bool>();
  M member{};
  TROUPE_RETURN_IF_ERROR(read_fields(member, in));
  if (is_there) {
    to.*field.member = std::move(member);
  }
  return ok_status();
}

template <class S, class M, class E>
Status read_field(const field::Array<S, M, E>& field, std::type_identity_t<S>& to,
                  FieldReader& in) {
  if constexpr (std::is_same_v<M, Segment>) {
    TROUPE_ASSIGN_OR_RETURN(to.*field.member, in.segments.elements(field.segment, sizeof(E)));
  } else {
    TROUPE_ASSIGN_OR_RETURN(to.*field.member, in.segments.template vector<E>(field.segment));
  }
  return ok_status();
}

template <class S>
Status read_field(const field::Counters<S>& /*field*/, std::type_identity_t<S>& to,
                  FieldReader& in) {
  for (const auto& counter : S::counters()) {
    to.*counter.member = in.number<std::uint64_t>();
  }
  return ok_status();
}

template <class T>
Status decode_fields(const Frame& frame, T& message) {
  using Root = typename Fields<T>::Root;
  constexpr auto name = type_name<T>();
  const SegmentReader segments(frame, name);
  TROUPE_RETURN_IF_ERROR(segments.at_most(segment_count<T>()));
  return read_message<std::monostate, Root>(frame, name, [&](typename Root::Reader in) {
    return read_struct(message, in, name, segments);
  });
}

}  // namespace troupe::net
