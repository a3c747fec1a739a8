#include "runtime/net/piece.hpp"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace troupe::net {
namespace {

constexpr std::uint8_t first_flag = 1;
constexpr std::uint8_t last_flag = 2;

Error corrupt(const char* what, std::uint64_t expected, std::uint64_t found) {
  return {Errc::data_corruption,
          fmt::format("piece: {}: expected {}, found {}", what, expected, found)};
}

}  // namespace

// ---- writing ----

void PieceWriter::push(Frame frame) {
  auto outgoing = std::make_unique<Outgoing>();
  outgoing->number = next_number_++;
  outgoing->frame = std::move(frame);
  seal(outgoing->frame);
  const Frame& sealed = outgoing->frame;
  outgoing->parts.push_back(std::as_bytes(std::span(&sealed.head, 1)));
  outgoing->parts.push_back(std::as_bytes(std::span(sealed.meta)));
  for (const auto& segment : sealed.segments) {
    outgoing->parts.push_back(segment.bytes);
  }
  std::erase_if(outgoing->parts, [](const auto& part) { return part.empty(); });
  queued_bytes_ += sealed.size_bytes();
  queues_[static_cast<std::size_t>(sealed.head.traffic)].push_back(std::move(outgoing));
}

bool PieceWriter::empty() const {
  return std::ranges::all_of(queues_, [](const auto& queue) { return queue.empty(); });
}

std::uint64_t PieceWriter::queued_bytes() const {
  return queued_bytes_;
}

PieceWriter::Piece PieceWriter::cut(Outgoing& outgoing) {
  Piece piece;
  std::size_t room = max_piece_bytes;
  while (room > 0 && outgoing.part < outgoing.parts.size()) {
    auto& rest = outgoing.parts[outgoing.part];
    const std::size_t n = std::min(room, rest.size());
    piece.spans.push_back(rest.first(n));
    rest = rest.subspan(n);
    room -= n;
    outgoing.part += rest.empty() ? 1U : 0U;
  }
  piece.header.bytes = static_cast<std::uint32_t>(max_piece_bytes - room);
  piece.header.frame = outgoing.number;
  piece.header.traffic = outgoing.frame.head.traffic;
  const bool last = outgoing.part == outgoing.parts.size();
  piece.header.flags =
      static_cast<std::uint8_t>((outgoing.begun ? 0 : first_flag) | (last ? last_flag : 0));
  outgoing.begun = true;
  return piece;
}

std::optional<PieceWriter::Piece> PieceWriter::next() {
  finished_.reset();
  for (std::size_t tried = 0; tried < traffic_classes; ++tried) {
    auto& queue = queues_[turn_];
    turn_ = (turn_ + 1) % traffic_classes;
    if (queue.empty()) {
      continue;
    }
    Piece piece = cut(*queue.front());
    queued_bytes_ -= piece.header.bytes;
    if ((piece.header.flags & last_flag) != 0) {
      finished_ = std::move(queue.front());
      queue.pop_front();
    }
    return piece;
  }
  return std::nullopt;
}

// ---- reading ----

/// A frame under way: bytes go to the header, then to the message, then to each segment in turn.
struct PieceReader::Incoming {
  std::uint32_t number = 0;
  Frame frame;
  std::array<Buffer, max_segments> buffers;
  std::size_t part = 0;  // 0: header, 1: message, 2..: segments
  std::size_t offset = 0;

  bool complete() const { return part == 2 + max_segments; }

  std::span<std::byte> place() {
    if (part == 0) {
      return std::as_writable_bytes(std::span(&frame.head, 1));
    }
    return part == 1 ? std::as_writable_bytes(std::span(frame.meta)) : buffers[part - 2].bytes();
  }

  Status allocate(TrafficClass traffic, const FrameLimits& limits) {
    TROUPE_RETURN_IF_ERROR(check_header(frame.head, limits));
    if (frame.head.traffic != traffic) {
      return corrupt("traffic class of its frame", static_cast<std::uint64_t>(traffic),
                     static_cast<std::uint64_t>(frame.head.traffic));
    }
    frame.meta.resize(frame.head.meta_words);
    for (std::size_t i = 0; i < max_segments; ++i) {
      if (const auto bytes = frame.head.segment_bytes[i]; bytes != 0) {
        buffers[i] = Buffer(bytes);
      }
    }
    return ok_status();
  }

  Status take(std::span<const std::byte> bytes, TrafficClass traffic, const FrameLimits& limits) {
    while (!bytes.empty() && !complete()) {
      const auto room = place().subspan(offset);
      const std::size_t n = std::min(room.size(), bytes.size());
      std::memcpy(room.data(), bytes.data(), n);
      offset += n;
      bytes = bytes.subspan(n);
      while (!complete() && offset == place().size()) {
        if (part == 0) {
          TROUPE_RETURN_IF_ERROR(allocate(traffic, limits));
        }
        ++part;
        offset = 0;
      }
    }
    if (!bytes.empty()) {
      return corrupt("bytes after the end of its frame", 0, bytes.size());
    }
    return ok_status();
  }

  Frame finish() {
    std::size_t count = max_segments;
    while (count > 0 && frame.head.segment_bytes[count - 1] == 0) {
      --count;
    }
    for (std::size_t i = 0; i < count; ++i) {
      frame.segments.push_back(std::move(buffers[i]).freeze());
    }
    return std::move(frame);
  }
};

PieceReader::PieceReader(FrameLimits limits) : limits_(limits) {}
PieceReader::~PieceReader() = default;

Status PieceReader::feed(std::span<const std::byte> bytes, std::vector<Frame>& out) {
  if (!broken_) {
    auto status = take(bytes, out);
    if (status.ok()) {
      return status;
    }
    broken_ = std::move(status).error();
  }
  return *broken_;
}

Status PieceReader::take(std::span<const std::byte> bytes, std::vector<Frame>& out) {
  while (!bytes.empty()) {
    if (header_bytes_ < sizeof piece_) {
      const std::size_t n = std::min(sizeof piece_ - header_bytes_, bytes.size());
      std::memcpy(reinterpret_cast<std::byte*>(&piece_) + header_bytes_, bytes.data(), n);
      header_bytes_ += n;
      bytes = bytes.subspan(n);
      if (header_bytes_ == sizeof piece_) {
        TROUPE_RETURN_IF_ERROR(begin_piece());
      }
      continue;
    }
    const std::size_t n = std::min(piece_left_, bytes.size());
    auto& incoming = *incoming_[static_cast<std::size_t>(piece_.traffic)];
    TROUPE_RETURN_IF_ERROR(incoming.take(bytes.first(n), piece_.traffic, limits_));
    bytes = bytes.subspan(n);
    piece_left_ -= n;
    if (piece_left_ == 0) {
      TROUPE_RETURN_IF_ERROR(end_piece(out));
    }
  }
  return ok_status();
}

Status PieceReader::begin_piece() {
  if (piece_.bytes == 0 || piece_.bytes > max_piece_bytes) {
    return Error(Errc::data_corruption, fmt::format("piece: length: expected 1..{} bytes, found {}",
                                                    max_piece_bytes, piece_.bytes));
  }
  const auto traffic = static_cast<std::size_t>(piece_.traffic);
  if (traffic >= traffic_classes) {
    return corrupt("traffic class, below", traffic_classes, traffic);
  }
  if ((piece_.flags & ~(first_flag | last_flag)) != 0) {
    return corrupt("flags, at most", first_flag | last_flag, piece_.flags);
  }
  if (piece_.reserved != 0) {
    return corrupt("reserved", 0, piece_.reserved);
  }
  auto& incoming = incoming_[traffic];
  const bool first = (piece_.flags & first_flag) != 0;
  if (first == (incoming != nullptr)) {
    return corrupt("first piece of a frame of its class", first ? 0 : 1, first ? 1 : 0);
  }
  if (first) {
    incoming = std::make_unique<Incoming>();
    incoming->number = piece_.frame;
  } else if (incoming->number != piece_.frame) {
    return corrupt("frame number", incoming->number, piece_.frame);
  }
  piece_left_ = piece_.bytes;
  return ok_status();
}

Status PieceReader::end_piece(std::vector<Frame>& out) {
  header_bytes_ = 0;
  auto& incoming = incoming_[static_cast<std::size_t>(piece_.traffic)];
  const bool last = (piece_.flags & last_flag) != 0;
  if (last != incoming->complete()) {
    return corrupt("last piece of its frame", incoming->complete() ? 1 : 0, last ? 1 : 0);
  }
  if (last) {
    out.push_back(incoming->finish());
    incoming.reset();
  }
  return ok_status();
}

}  // namespace troupe::net
