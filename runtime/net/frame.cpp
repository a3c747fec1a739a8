#include "runtime/net/frame.hpp"

#include <bit>
#include <fmt/format.h>
#define XXH_INLINE_ALL  // a call for 76 bytes costs more than they do
#include <xxhash.h>

namespace troupe::net {
namespace {

static_assert(std::endian::native == std::endian::little,
              "headers are written as they lie in memory");

std::uint32_t checksum_of(const FrameHeader& head) {
  return static_cast<std::uint32_t>(XXH3_64bits(&head, offsetof(FrameHeader, checksum)));
}

Error corrupt_header(const char* field, const std::string& expected, std::uint64_t found) {
  return {Errc::data_corruption,
          fmt::format("frame header: {}: expected {}, found {:#x}", field, expected, found)};
}

Error over_limit(const char* limit, std::uint64_t allowed, const std::string& found) {
  return {
      Errc::invalid_argument,
      fmt::format("frame header: over the limit {} = {} bytes, found {}", limit, allowed, found)};
}

Status check_lengths(const FrameHeader& head, const FrameLimits& limits) {
  const std::uint64_t meta_bytes = std::uint64_t{head.meta_words} * sizeof(capnp::word);
  if (meta_bytes > limits.max_meta_bytes) {
    return over_limit("max_meta_bytes", limits.max_meta_bytes, fmt::format("{} bytes", meta_bytes));
  }
  std::uint64_t total = sizeof head + meta_bytes;
  bool overflow = false;
  for (const auto bytes : head.segment_bytes) {
    overflow = overflow || __builtin_add_overflow(total, bytes, &total);
  }
  if (overflow || total > limits.max_frame_bytes) {
    return over_limit("max_frame_bytes", limits.max_frame_bytes,
                      overflow ? "more than 2^64 bytes" : fmt::format("{} bytes", total));
  }
  return ok_status();
}

}  // namespace

std::uint64_t Frame::size_bytes() const {
  std::uint64_t total = sizeof head + meta.size() * sizeof(capnp::word);
  for (const auto& segment : segments) {
    total += segment.bytes.size();
  }
  return total;
}

void seal(Frame& frame) {
  TROUPE_ASSERT(frame.segments.size() <= max_segments, "segments", frame.segments.size());
  TROUPE_ASSERT(frame.meta.size() <= ~std::uint32_t{0}, "meta words", frame.meta.size());
  auto& head = frame.head;
  head.meta_words = static_cast<std::uint32_t>(frame.meta.size());
  head.segment_bytes.fill(0);
  for (std::size_t i = 0; i < frame.segments.size(); ++i) {
    head.segment_bytes[i] = frame.segments[i].bytes.size();
  }
  head.checksum = checksum_of(head);
}

Status check_header(const FrameHeader& head, const FrameLimits& limits) {
  if (head.magic != FrameHeader::expected_magic) {
    return corrupt_header("magic", fmt::format("{:#x}", FrameHeader::expected_magic), head.magic);
  }
  if (head.version != FrameHeader::protocol_version) {
    return corrupt_header("version", fmt::format("{}", FrameHeader::protocol_version),
                          head.version);
  }
  if (const auto sum = checksum_of(head); sum != head.checksum) {
    return corrupt_header("checksum", fmt::format("{:#x}", sum), head.checksum);
  }
  const auto kind = static_cast<std::uint8_t>(head.kind);
  if (kind < static_cast<std::uint8_t>(FrameKind::request) ||
      kind > static_cast<std::uint8_t>(FrameKind::too_large)) {
    return corrupt_header("kind", "1..4", kind);
  }
  if (const auto traffic = static_cast<std::uint8_t>(head.traffic); traffic >= traffic_classes) {
    return corrupt_header("traffic class", "0..5", traffic);
  }
  return check_lengths(head, limits);
}

}  // namespace troupe::net
