#pragma once
/// \file frame.hpp
/// What crosses a process border: a fixed header, one Cap'n Proto message, up to four bulk segments
/// (docs/protocol.md).
#include "runtime/base/buffer.hpp"
#include "runtime/base/result.hpp"

#include <boost/container/small_vector.hpp>
#include <boost/container/static_vector.hpp>
#include <capnp/common.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace troupe::net {

enum class FrameKind : std::uint8_t {
  request = 1,  ///< wants one answer with the same request id
  reply = 2,
  failure = 3,    ///< the answer is an error: the message is an ErrorReply
  too_large = 4,  ///< the answer is kept: it takes max_reply_bytes, more than the request announced
};

/// Classes share a link's bandwidth piece by piece, so that nothing waits behind a gigabyte; order
/// holds within a class.
enum class TrafficClass : std::uint8_t {
  control = 0,
  gradients = 1,
  samples = 2,
  rows = 3,
  learned = 4,  ///< requests for learned rows, which wait for updates
  updates = 5,  ///< of learned rows
};
inline constexpr std::size_t traffic_classes = 6;
inline constexpr std::size_t max_segments = 4;

/// Fixed prefix of every frame on the wire: little endian, no padding.
struct FrameHeader {
  static constexpr std::uint32_t expected_magic = 0x31545254;  // "TRT1"
  static constexpr std::uint16_t protocol_version = 7;

  std::uint32_t magic = expected_magic;
  std::uint16_t version = protocol_version;
  FrameKind kind = FrameKind::request;
  TrafficClass traffic = TrafficClass::control;
  std::uint64_t target = 0;   ///< exported actor of the receiver; 0 in answers
  std::uint64_t request = 0;  ///< chosen by the requester, from 1, ascending within a class; echoed
                              ///< in the answer; 0: none
  std::uint32_t method =
      0;  ///< number of a method (runtime/wire/methods.hpp); echoed in the answer
  std::uint32_t generation =
      0;  ///< of the job; a lower one is answered `fenced` (design, section 7)
  /// Requests: the largest answer that the requester takes, as a frame. `too_large`: the size of the
  /// answer. Else 0.
  std::uint64_t max_reply_bytes = 0;
  std::array<std::uint64_t, max_segments> segment_bytes{};
  std::uint32_t meta_words = 0;  ///< 8-byte words of the Cap'n Proto message
  std::uint32_t checksum = 0;    ///< low half of XXH3-64 of all bytes before it
};
static_assert(sizeof(FrameHeader) == 80 && std::is_trivially_copyable_v<FrameHeader>);

/// Checked before anything is allocated.
struct FrameLimits {
  std::uint64_t max_meta_bytes = std::uint64_t{8} << 20;
  std::uint64_t max_frame_bytes = std::uint64_t{4} << 30;
};

/// The largest `failure` frame: its sentence has at most 4 KiB.
inline constexpr std::uint64_t largest_failure_bytes = 4096 + 256;

/// In the frame itself: most have one or none, and each message would pay for an allocation.
using Segments = boost::container::static_vector<Segment, max_segments>;

/// One flat Cap'n Proto message, in its words of 8 bytes. Small ones, as those of requests, lie in the
/// frame itself.
using MetaWords = boost::container::small_vector<std::uint64_t, 20>;

/// Functions that take a frame over have a parameter `Frame&&`: a move copies up to 430 bytes.
struct Frame {
  FrameHeader head;
  MetaWords meta;
  /// At most max_segments; written from where they lie. Empty ones at the end are the same as none.
  Segments segments;

  std::span<std::uint64_t> words() { return {meta.data(), meta.size()}; }
  std::span<const std::uint64_t> words() const { return {meta.data(), meta.size()}; }
  /// On the wire, without the headers of the pieces.
  std::uint64_t size_bytes() const;
};

/// Fills lengths and checksum from `frame`'s contents.
void seal(Frame& frame);

/// Checks magic, version, kind, class, checksum, lengths.
/// \errors data_corruption: what was expected and found; invalid_argument: over a limit, with the
///   limit's name
Status check_header(const FrameHeader& head, const FrameLimits& limits);

}  // namespace troupe::net
