#pragma once
/// \file codec_fields.hpp
/// The codec of all messages that are declared by a list of fields (fields.hpp), over Cap'n Proto's
/// dynamic API. Fields of the schema are found by name once per struct. Only for runtime/wire/*.cpp
/// and tests.
#include "runtime/base/counters.hpp"
#include "runtime/base/cut_text.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/net/error_codes.hpp"
#include "runtime/wire/codec_support.hpp"
#include "runtime/wire/fields.hpp"

#include <capnp/dynamic.h>

#include <algorithm>
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

template <class T>
void add_names(std::vector<std::string>& names, std::string_view prefix);

/// What a field is called in the schema: no name, one or several.
template <class Kind>
void add_names_of(const Kind& field, std::vector<std::string>& names, std::string_view prefix) {
  names.push_back(camel_case(prefix, field.name));
}
template <class S, class M, class E>
void add_names_of(const field::Array<S, M, E>& /*field*/, std::vector<std::string>& /*names*/,
                  std::string_view /*prefix*/) {}
template <class S, class M>
void add_names_of(const field::Spread<S, M>& field, std::vector<std::string>& names,
                  std::string_view prefix) {
  add_names<M>(names, camel_case(prefix, field.prefix));
}
template <class S, class M>
void add_names_of(const field::OptionalSpread<S, M>& field, std::vector<std::string>& names,
                  std::string_view prefix) {
  names.push_back(camel_case("has", camel_case(prefix, field.prefix)));
  add_names<M>(names, camel_case(prefix, field.prefix));
}
template <class S>
void add_names_of(const field::Counters<S>& /*field*/, std::vector<std::string>& names,
                  std::string_view prefix) {
  for (const auto& counter : S::counters()) {
    names.push_back(camel_case(prefix, counter.name));
  }
}

template <class T>
void add_names(std::vector<std::string>& names, std::string_view prefix) {
  std::apply([&](const auto&... field) { (add_names_of(field, names, prefix), ...); },
             Fields<T>::fields);
}

/// Names of a message's fields in the schema, in the order of its list.
template <class T>
std::vector<std::string> field_names() {
  std::vector<std::string> names;
  add_names<T>(names, "");
  return names;
}

/// The same as fields of the schema. Throws kj::Exception for a name that the schema does not have:
/// a test compares all lists with it.
template <class T>
const std::vector<capnp::StructSchema::Field>& schema_fields() {
  static const auto found = [] {
    const auto schema = capnp::Schema::from<typename Fields<T>::Root>();
    std::vector<capnp::StructSchema::Field> fields;
    for (const auto& name : field_names<T>()) {
      fields.push_back(schema.getFieldByName(name.c_str()));
    }
    return fields;
  }();
  return found;
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

// ---- numbers ----

template <class T>
concept Number = std::is_arithmetic_v<T> || std::is_enum_v<T>;

template <Number T>
capnp::DynamicValue::Reader to_dynamic(T number) {
  if constexpr (std::is_enum_v<T>) {
    return raw(number);
  } else {
    return number;
  }
}

template <Number T>
T from_dynamic(const capnp::DynamicValue::Reader& number) {
  if constexpr (std::is_same_v<T, Errc>) {
    return errc_from_wire(number.as<std::uint64_t>());
  } else if constexpr (std::is_enum_v<T>) {
    return static_cast<T>(number.as<std::underlying_type_t<T>>());
  } else {
    return number.as<T>();
  }
}

// ---- writing ----

/// Where the fields of a struct go, taken in the order of its list.
struct FieldWriter {
  capnp::DynamicStruct::Builder to;
  const capnp::StructSchema::Field* next;
  std::vector<Segment>& segments;
};

template <class T>
void write_fields(const T& from, FieldWriter& out) {
  std::apply([&](const auto&... field) { (write_field(field, from, out), ...); },
             Fields<T>::fields);
}

template <class T>
void write_struct(const T& from, capnp::DynamicStruct::Builder to, std::vector<Segment>& segments) {
  FieldWriter out{to, schema_fields<T>().data(), segments};
  write_fields(from, out);
}

template <class S, class M>
void write_field(const field::Value<S, M>& field, const std::type_identity_t<S>& from,
                 FieldWriter& out) {
  if constexpr (Number<M>) {
    out.to.set(*out.next++, to_dynamic(from.*field.member));
  } else {
    write_struct(from.*field.member, out.to.init(*out.next++).template as<capnp::DynamicStruct>(),
                 out.segments);
  }
}

template <class S>
void write_field(const field::Text<S>& field, const std::type_identity_t<S>& from,
                 FieldWriter& out) {
  const auto put = [&](const std::string& text) {
    out.to.set(*out.next++, capnp::Text::Reader(text.c_str(), text.size()));
  };
  const auto& text = from.*field.member;
  if (field.cut && text.size() > field.most_bytes) {
    put(std::string(troupe::cut_text(text, field.most_bytes)));
  } else {
    put(text);
  }
}

template <class S, class E>
void write_field(const field::List<S, E>& field, const std::type_identity_t<S>& from,
                 FieldWriter& out) {
  const auto& entries = from.*field.member;
  const auto size = static_cast<unsigned>(entries.size());
  auto list = out.to.init(*out.next++, size).template as<capnp::DynamicList>();
  for (unsigned i = 0; i < size; ++i) {
    if constexpr (Number<E>) {
      list.set(i, to_dynamic(entries[i]));
    } else {
      write_struct(entries[i], list[i].template as<capnp::DynamicStruct>(), out.segments);
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
  out.to.set(*out.next++, member.has_value());
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
    out.to.set(*out.next++, from.*counter.member);
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

/// Where the fields of a struct come from, taken in the order of its list.
struct FieldReader {
  capnp::DynamicStruct::Reader from;
  const capnp::StructSchema::Field* next;
  std::string_view message;
  const SegmentReader& segments;
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
Status read_struct(T& to, capnp::DynamicStruct::Reader from, std::string_view message,
                   const SegmentReader& segments) {
  FieldReader in{from, schema_fields<T>().data(), message, segments};
  return read_fields(to, in);
}

template <class S, class M>
Status read_field(const field::Value<S, M>& field, std::type_identity_t<S>& to, FieldReader& in) {
  const auto value = in.from.get(*in.next++);
  if constexpr (Number<M>) {
    to.*field.member = from_dynamic<M>(value);
    return ok_status();
  } else {
    return read_struct(to.*field.member, value.template as<capnp::DynamicStruct>(), in.message,
                       in.segments);
  }
}

template <class S>
Status read_field(const field::Text<S>& field, std::type_identity_t<S>& to, FieldReader& in) {
  const auto text = in.from.get(*in.next++).template as<capnp::Text>();
  if (text.size() > field.most_bytes) {
    return corrupt_message(in.message, fmt::format("{}: expected at most {} bytes, found {}",
                                                   field.name, field.most_bytes, text.size()));
  }
  (to.*field.member).assign(text.begin(), text.end());
  return ok_status();
}

template <class S, class E>
Status read_field(const field::List<S, E>& field, std::type_identity_t<S>& to, FieldReader& in) {
  const auto list = in.from.get(*in.next++).template as<capnp::DynamicList>();
  if (list.size() > field.most) {
    return corrupt_message(
        in.message, fmt::format("{}: expected at most {}{}{}, found {}", field.name, field.most,
                                field.unit.empty() ? "" : " ", field.unit, list.size()));
  }
  auto& entries = to.*field.member;
  entries.resize(list.size());
  for (unsigned i = 0; i < list.size(); ++i) {
    if constexpr (Number<E>) {
      entries[i] = from_dynamic<E>(list[i]);
    } else {
      TROUPE_RETURN_IF_ERROR(read_struct(entries[i], list[i].template as<capnp::DynamicStruct>(),
                                         in.message, in.segments));
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
  const bool is_there = in.from.get(*in.next++).template as<bool>();
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
    to.*counter.member = in.from.get(*in.next++).template as<std::uint64_t>();
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
