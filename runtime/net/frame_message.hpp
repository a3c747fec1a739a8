#pragma once
/// \file frame_message.hpp
/// The Cap'n Proto message of a frame: written and read by a function.
#include "runtime/base/result.hpp"
#include "runtime/net/frame.hpp"

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <kj/exception.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <utility>

namespace troupe::net {

/// Longest text in a message: sentences, paths.
inline constexpr std::size_t max_text_bytes = 4096;

inline Error corrupt_message(std::string_view message, const std::string& what) {
  return {Errc::data_corruption, fmt::format("{}: {}", message, what)};
}

/// Makes `frame.meta` one message with a root of type Root that `fill` sets.
template <class Root, class Fill>
void write_message(Frame& frame, Fill&& fill) {
  std::array<std::uint64_t, 64> scratch{};  // what most take; more comes from the heap
  capnp::MallocMessageBuilder builder(
      kj::ArrayPtr<capnp::word>(reinterpret_cast<capnp::word*>(scratch.data()), scratch.size()));
  std::forward<Fill>(fill)(builder.initRoot<Root>());
  const auto segments = builder.getSegmentsForOutput();
  if (segments.size() ==
      1) {  // nearly always: what messageToFlatArray() would write, without its copy
    const auto* words = reinterpret_cast<const std::uint64_t*>(segments[0].begin());
    frame.meta.clear();
    frame.meta.reserve(segments[0].size() + 1);
    frame.meta.push_back(std::uint64_t{segments[0].size()} << 32);  // one segment of so many words
    frame.meta.insert(frame.meta.end(), words, words + segments[0].size());
    return;
  }
  const auto flat = capnp::messageToFlatArray(segments);
  frame.meta.resize(flat.size());
  std::memcpy(frame.meta.data(), flat.begin(), flat.size() * sizeof(capnp::word));
}

/// Calls `read` with the root of `frame.meta`, under Cap'n Proto's default limits.
/// \errors data_corruption: the bytes are no such message, or what `read` finds
template <class T, class Root, class Read>
Result<T> read_message(const Frame& frame, std::string_view name, Read&& read) {
  try {
    capnp::FlatArrayMessageReader reader(kj::ArrayPtr<const capnp::word>(
        reinterpret_cast<const capnp::word*>(frame.meta.data()), frame.meta.size()));
    return std::forward<Read>(read)(reader.getRoot<Root>());
  } catch (const kj::Exception& e) {
    return corrupt_message(name,
                           fmt::format("the Cap'n Proto message of {} words cannot be read: {}",
                                       frame.meta.size(), e.getDescription().cStr()));
  }
}

}  // namespace troupe::net
