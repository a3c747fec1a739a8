#pragma once
/// \file write_fields.hpp
/// Encodes messages by their lists of fields (fields.hpp). Numbers are written to their places in the
/// data of the schema's struct, texts, lists and structs through its pointers, as Cap'n Proto's
/// generated classes do. Only for runtime/wire/*.cpp.
#include "runtime/base/cut_text.hpp"
#include "runtime/wire/codec_support.hpp"
#include "runtime/wire/field_places.hpp"

#include <capnp/any.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <vector>

namespace troupe::net {

/// Where the fields of a struct go, taken in the order of its list.
struct FieldWriter {
  kj::ArrayPtr<kj::byte> data;
  capnp::List<capnp::AnyPointer>::Builder pointers;
  const std::uint32_t* next;
  Segments& segments;

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
void write_struct(const T& from, typename Fields<T>::Root::Builder to, Segments& segments) {
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
  Segments segments(segment_count<T>());
  write_message<Root>(frame,
                      [&](typename Root::Builder out) { write_struct(message, out, segments); });
  frame.segments = std::move(segments);
}

}  // namespace troupe::net
