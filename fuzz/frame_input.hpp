#pragma once
/// \file frame_input.hpp
/// One frame as an input: kind of message (1 byte, its place in net::Messages), flags (1), words of
/// the message (2), bytes of each of the four segments (2 each), then the message and the segments.
#include "runtime/wire/codec.hpp"

#include "fuzz/target.hpp"

#include <utility>

namespace troupe::fuzz {

inline std::vector<std::uint8_t> pack_frame(std::uint8_t kind, const net::Frame& frame) {
  std::vector<std::uint8_t> out{kind, 0};
  const auto number = [&](std::size_t value) {
    out.push_back(static_cast<std::uint8_t>(value & 0xFF));
    out.push_back(static_cast<std::uint8_t>(value >> 8 & 0xFF));
  };
  const auto block = [&](std::span<const std::byte> bytes) {
    const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
    out.insert(out.end(), data, data + bytes.size());
  };
  number(frame.meta.size());
  for (std::size_t i = 0; i < net::max_segments; ++i) {
    number(i < frame.segments.size() ? frame.segments[i].bytes.size() : 0);
  }
  block(std::as_bytes(frame.words()));
  for (const auto& segment : frame.segments) {
    block(segment.bytes);
  }
  return out;
}

struct FrameInput {
  std::uint8_t kind = 0;
  std::uint8_t flags = 0;
  net::Frame frame;
};

/// Segments end where their memory ends; with flag 1 they begin at odd places.
inline FrameInput unpack_frame(Input input) {
  Bytes bytes(input);
  FrameInput out;
  out.kind = bytes.number<std::uint8_t>();
  out.flags = bytes.number<std::uint8_t>();
  out.frame.meta.resize(bytes.number<std::uint16_t>() % 1024);
  std::size_t sizes[net::max_segments];
  for (auto& size : sizes) {
    size = bytes.number<std::uint16_t>();
  }
  const auto meta = bytes.take(out.frame.meta.size() * sizeof(capnp::word));
  if (!meta.empty()) {
    std::memcpy(out.frame.meta.data(), meta.data(), meta.size());
  }
  for (const auto size : sizes) {
    const std::size_t shift = out.flags % 2;
    std::vector<std::byte> block(shift);
    const auto data = std::as_bytes(bytes.take(size));
    block.insert(block.end(), data.begin(), data.end());
    auto segment = Segment::of(std::move(block));
    segment.bytes = segment.bytes.subspan(shift);
    out.frame.segments.push_back(std::move(segment));
  }
  out.frame.head.max_reply_bytes = std::uint64_t{1} << 20;
  return out;
}

}  // namespace troupe::fuzz
