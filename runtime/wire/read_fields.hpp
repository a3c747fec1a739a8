#pragma once
/// \file read_fields.hpp
/// Decodes messages by their lists of fields (fields.hpp), with all limits that the lists have. Only
/// for runtime/wire/*.cpp.
#include "runtime/net/error_codes.hpp"
#include "runtime/wire/codec_support.hpp"
#include "runtime/wire/field_places.hpp"

#include <capnp/any.h>

#include <cstring>
#include <string_view>
#include <type_traits>

namespace troupe::net {

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
  } else if constexpr (std::is_same_v<M, PooledVector<E>>) {
    TROUPE_ASSIGN_OR_RETURN(to.*field.member, in.segments.template pooled<E>(field.segment));
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
