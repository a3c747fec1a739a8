#pragma once
/// \file wire_table.hpp
/// How each message type crosses a process border: the table of methods and the codecs of
/// runtime/wire, found by CAF's run-time type or by a method's number.
#include "runtime/base/result.hpp"
#include "runtime/wire/codec.hpp"

#include <caf/message.hpp>
#include <caf/type_erased_tuple.hpp>

#include <cstdint>

namespace troupe {

/// One method, whatever the types of its messages.
struct WireEntry {
  bool long_running;  ///< its answer waits for work without a bound of its own

  /// Fills the frame; returns the expected bytes of the reply.
  std::uint64_t (*encode_request)(const caf::type_erased_tuple& content, net::Frame& frame);
  Result<caf::message> (*decode_request)(const net::Frame& frame);

  bool (*is_reply)(const caf::type_erased_tuple& content);
  void (*encode_reply)(const caf::type_erased_tuple& content, net::Frame& frame);
  Result<caf::message> (*decode_reply)(const net::Frame& frame);
};

/// The entry whose request has this content, or nullptr.
const WireEntry* find_wire_entry(const caf::type_erased_tuple& content);
/// The entry of a method number, or nullptr.
const WireEntry* find_wire_entry(std::uint32_t method);

}  // namespace troupe
