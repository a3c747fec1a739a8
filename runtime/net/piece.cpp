#include "runtime/net/piece.hpp"

#include "runtime/net/saturate.hpp"

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
  auto& lane = lanes_[static_cast<std::size_t>(sealed.head.traffic)];
  lane.waiting.push_back(std::move(outgoing));
  lane.admit();
}

void PieceWriter::Lane::admit() {
  while (!waiting.empty() && under_way.size() < max_interleaved_frames) {
    const auto bytes = waiting.front()->frame.size_bytes();
    if (!under_way.empty() && saturating_add(bytes_under_way, bytes) > max_interleaved_bytes) {
      return;
    }
    bytes_under_way += bytes;
    under_way.push_back(std::move(waiting.front()));
    waiting.pop_front();
  }
}

bool PieceWriter::empty() const {
  return std::ranges::all_of(lanes_, [](const auto& lane) { return lane.under_way.empty(); });
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
    auto& lane = lanes_[turn_];
    turn_ = (turn_ + 1) % traffic_classes;
    if (lane.under_way.empty()) {
      continue;
    }
    auto outgoing = std::move(lane.under_way.front());
    lane.under_way.pop_front();
    Piece piece = cut(*outgoing);
    queued_bytes_ -= piece.header.bytes;
    if ((piece.header.flags & last_flag) != 0) {
      lane.bytes_under_way -= outgoing->frame.size_bytes();
      finished_ = std::move(outgoing);
      lane.admit();
    } else {
      lane.under_way.push_back(std::move(outgoing));
    }
    return piece;
  }
  return std::nullopt;
}

// ---- reading ----

/// A frame under way: bytes go to the header, then to the message, then to each segment in turn.
struct PieceReader::Incoming {
  Frame frame;
  std::array<Buffer, max_segments> buffers;
  std::size_t part = 0;  // 0: header, 1: message, 2..: segments
  std::size_t offset = 0;
  std::uint64_t bytes = 0;  // whole size, once the header is in

  bool complete() const { return part == 2 + max_segments; }

  std::span<std::byte> place() {
    if (part == 0) {
      return std::as_writable_bytes(std::span(&frame.head, 1));
    }
    return part == 1 ? std::as_writable_bytes(std::span(frame.meta)) : buffers[part - 2].bytes();
  }

  Status allocate(TrafficClass traffic, const FrameLimits& limits, Lane& lane) {
    TROUPE_RETURN_IF_ERROR(check_header(frame.head, limits));
    if (frame.head.traffic != traffic) {
      return corrupt("traffic class of its frame", static_cast<std::uint64_t>(traffic),
                     static_cast<std::uint64_t>(frame.head.traffic));
    }
    bytes = sizeof frame.head + std::uint64_t{8} * frame.head.meta_words;
    for (const auto segment : frame.head.segment_bytes) {
      bytes += segment;  // the header was checked: no overflow
    }
    if (lane.bytes > 0 && saturating_add(lane.bytes, bytes) > max_interleaved_bytes) {
      return corrupt("bytes of incomplete frames of its class, at most", max_interleaved_bytes,
                     saturating_add(lane.bytes, bytes));
    }
    lane.bytes += bytes;
    frame.meta.resize(frame.head.meta_words);
    for (std::size_t i = 0; i < max_segments; ++i) {
      if (const auto size = frame.head.segment_bytes[i]; size != 0) {
        buffers[i] = Buffer(size);
      }
    }
    return ok_status();
  }

  Status take(std::span<const std::byte> in, TrafficClass traffic, const FrameLimits& limits,
              Lane& lane) {
    while (!in.empty() && !complete()) {
      const auto room = place().subspan(offset);
      const std::size_t n = std::min(room.size(), in.size());
      std::memcpy(room.data(), in.data(), n);
      offset += n;
      in = in.subspan(n);
      while (!complete() && offset == place().size()) {
        if (part == 0) {
          TROUPE_RETURN_IF_ERROR(allocate(traffic, limits, lane));
        }
        ++part;
        offset = 0;
      }
    }
    if (!in.empty()) {
      return corrupt("bytes after the end of its frame", 0, in.size());
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
    auto& lane = lanes_[static_cast<std::size_t>(piece_.traffic)];
    TROUPE_RETURN_IF_ERROR(current_->take(bytes.first(n), piece_.traffic, limits_, lane));
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
  auto& frames = lanes_[traffic].frames;
  auto found = frames.find(piece_.frame);
  const bool first = (piece_.flags & first_flag) != 0;
  if (first == (found != frames.end())) {
    return Error(Errc::data_corruption,
                 fmt::format("piece: frame {} of class {}: expected {}, found {}", piece_.frame,
                             traffic, first ? "a later piece" : "its first piece",
                             first ? "a first one" : "a later one"));
  }
  if (first) {
    if (frames.size() == max_interleaved_frames) {
      return corrupt("incomplete frames of its class, at most", max_interleaved_frames,
                     frames.size() + 1);
    }
    found = frames.emplace(piece_.frame, std::make_unique<Incoming>()).first;
  }
  current_ = found->second.get();
  piece_left_ = piece_.bytes;
  return ok_status();
}

Status PieceReader::end_piece(std::vector<Frame>& out) {
  header_bytes_ = 0;
  const bool last = (piece_.flags & last_flag) != 0;
  if (last != current_->complete()) {
    return corrupt("last piece of its frame", current_->complete() ? 1 : 0, last ? 1 : 0);
  }
  if (last) {
    auto& lane = lanes_[static_cast<std::size_t>(piece_.traffic)];
    lane.bytes -= current_->bytes;
    out.push_back(current_->finish());
    lane.frames.erase(piece_.frame);
  }
  return ok_status();
}

}  // namespace troupe::net
