#include "runtime/net/error_codes.hpp"
#include "runtime/net/piece.hpp"
#include "runtime/net/saturate.hpp"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <utility>

namespace troupe::net {
namespace {

Error corrupt_piece(const char* what, std::uint64_t expected, std::uint64_t found) {
  return {Errc::data_corruption,
          fmt::format("piece: {}: expected {}, found {}", what, expected, found)};
}

}  // namespace

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
    return part == 1 ? std::as_writable_bytes(frame.words()) : buffers[part - 2].bytes();
  }

  Status allocate(TrafficClass traffic, const FrameLimits& limits, Lane& lane) {
    TROUPE_RETURN_IF_ERROR(check_header(frame.head, limits));
    if (frame.head.traffic != traffic) {
      return corrupt_piece("traffic class of its frame", static_cast<std::uint64_t>(traffic),
                           static_cast<std::uint64_t>(frame.head.traffic));
    }
    bytes = sizeof frame.head + std::uint64_t{8} * frame.head.meta_words;
    for (const auto segment : frame.head.segment_bytes) {
      bytes += segment;  // the header was checked: no overflow
    }
    if (lane.bytes > 0 && saturating_add(lane.bytes, bytes) > max_interleaved_bytes) {
      return corrupt_piece("bytes of incomplete frames of its class, at most",
                           max_interleaved_bytes, saturating_add(lane.bytes, bytes));
    }
    lane.bytes += bytes;
    frame.meta.resize(frame.head.meta_words, boost::container::default_init);
    for (std::size_t i = 0; i < max_segments; ++i) {
      if (const auto size = frame.head.segment_bytes[i]; size != 0) {
        buffers[i] = Buffer(size);
      }
    }
    return ok_status();
  }

  /// `n` bytes of place() were written.
  Status advance(std::size_t n, TrafficClass traffic, const FrameLimits& limits, Lane& lane) {
    offset += n;
    while (!complete() && offset == place().size()) {
      if (part == 0) {
        TROUPE_RETURN_IF_ERROR(allocate(traffic, limits, lane));
      }
      ++part;
      offset = 0;
    }
    return ok_status();
  }

  Status take(std::span<const std::byte> in, TrafficClass traffic, const FrameLimits& limits,
              Lane& lane) {
    while (!in.empty() && !complete()) {
      const auto room = place().subspan(offset);
      const std::size_t n = std::min(room.size(), in.size());
      std::memcpy(room.data(), in.data(), n);
      in = in.subspan(n);
      TROUPE_RETURN_IF_ERROR(advance(n, traffic, limits, lane));
    }
    if (!in.empty()) {
      return corrupt_piece("bytes after the end of its frame", 0, in.size());
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

  void begin_again() {
    frame.meta.clear();  // moved from, as the segments and their buffers
    frame.segments.clear();
    part = 0;
    offset = 0;
    bytes = 0;
  }
};

PieceReader::PieceReader(FrameLimits limits) : limits_(limits) {}
PieceReader::~PieceReader() = default;

Status PieceReader::note(Status status) {
  if (!status.ok()) {
    broken_ = status.error();
  }
  return status;
}

Status PieceReader::feed(std::span<const std::byte> bytes, std::vector<Frame>& out) {
  return broken_ ? Status(*broken_) : note(take(bytes, out));
}

std::span<std::byte> PieceReader::direct() const {
  if (broken_ || current_ == nullptr || current_->part < 2 || current_->complete()) {
    return {};
  }
  const auto place = current_->place().subspan(current_->offset);
  return place.first(std::min(place.size(), piece_left_));
}

Status PieceReader::fed(std::size_t bytes, std::vector<Frame>& out) {
  if (broken_) {
    return *broken_;
  }
  TROUPE_ASSERT(bytes <= direct().size(), "bytes written past direct()", bytes);
  auto& lane = lanes_[static_cast<std::size_t>(piece_.traffic)];
  piece_left_ -= bytes;
  auto status = current_->advance(bytes, piece_.traffic, limits_, lane);
  if (status.ok() && piece_left_ == 0) {
    status = end_piece(out);
  }
  return note(std::move(status));
}

Status PieceReader::take(std::span<const std::byte> bytes, std::vector<Frame>& out) {
  while (!bytes.empty()) {
    if (goodbye_) {
      return corrupt_piece("bytes after the goodbye", 0, bytes.size());
    }
    if (header_bytes_ < sizeof piece_) {
      TROUPE_RETURN_IF_ERROR(take_header(bytes));
      continue;
    }
    const std::size_t n = std::min(piece_left_, bytes.size());
    if (current_ == nullptr) {
      goodbye_bytes_.append(reinterpret_cast<const char*>(bytes.data()), n);
    } else {
      auto& lane = lanes_[static_cast<std::size_t>(piece_.traffic)];
      TROUPE_RETURN_IF_ERROR(current_->take(bytes.first(n), piece_.traffic, limits_, lane));
    }
    bytes = bytes.subspan(n);
    piece_left_ -= n;
    if (piece_left_ == 0) {
      TROUPE_RETURN_IF_ERROR(current_ == nullptr ? end_goodbye() : end_piece(out));
    }
  }
  return ok_status();
}

Status PieceReader::take_header(std::span<const std::byte>& bytes) {
  const std::size_t n = std::min(sizeof piece_ - header_bytes_, bytes.size());
  std::memcpy(reinterpret_cast<std::byte*>(&piece_) + header_bytes_, bytes.data(), n);
  header_bytes_ += n;
  bytes = bytes.subspan(n);
  return header_bytes_ == sizeof piece_ ? begin_piece() : ok_status();
}

Status PieceReader::begin_piece() {
  const auto traffic = static_cast<std::size_t>(piece_.traffic);
  if (traffic >= traffic_classes) {
    return corrupt_piece("traffic class, below", traffic_classes, traffic);
  }
  if (!is_sealed(piece_)) {
    return Error(Errc::data_corruption, "piece: the header's checksum is wrong");
  }
  if ((piece_.flags & (PieceHeader::heartbeat | PieceHeader::goodbye)) != 0) {
    return begin_frameless();
  }
  if (piece_.bytes == 0 || piece_.bytes > max_piece_bytes) {
    return Error(Errc::data_corruption, fmt::format("piece: length: expected 1..{} bytes, found {}",
                                                    max_piece_bytes, piece_.bytes));
  }
  if ((piece_.flags & ~(PieceHeader::first | PieceHeader::last)) != 0) {
    return corrupt_piece("flags, at most", PieceHeader::first | PieceHeader::last, piece_.flags);
  }
  return begin_in_frame();
}

Status PieceReader::begin_frameless() {
  if (piece_.frame != 0 || piece_.traffic != TrafficClass::control) {
    return corrupt_piece(
        "frame and class of a piece of no frame", 0,
        piece_.frame != 0 ? piece_.frame : static_cast<std::uint64_t>(piece_.traffic));
  }
  if (piece_.flags != PieceHeader::heartbeat && piece_.flags != PieceHeader::goodbye) {
    return corrupt_piece("flags of a piece of no frame, 4 or", PieceHeader::goodbye, piece_.flags);
  }
  if (piece_.flags == PieceHeader::heartbeat) {
    if (piece_.bytes != 0) {
      return corrupt_piece("bytes of a heartbeat", 0, piece_.bytes);
    }
    header_bytes_ = 0;
    return ok_status();
  }
  if (piece_.bytes == 0 || piece_.bytes > 1 + max_goodbye_text) {
    return corrupt_piece("bytes of a goodbye, from 1 to", 1 + max_goodbye_text, piece_.bytes);
  }
  current_ = nullptr;
  piece_left_ = piece_.bytes;
  return ok_status();
}

Status PieceReader::begin_in_frame() {
  const auto traffic = static_cast<std::size_t>(piece_.traffic);
  auto& frames = lanes_[traffic].frames;
  auto found = frames.find(piece_.frame);
  const bool first = (piece_.flags & PieceHeader::first) != 0;
  if (first == (found != frames.end())) {
    return Error(Errc::data_corruption,
                 fmt::format("piece: frame {} of class {}: expected {}, found {}", piece_.frame,
                             traffic, first ? "a later piece" : "its first piece",
                             first ? "a first one" : "a later one"));
  }
  if (first && (piece_.flags & PieceHeader::last) != 0) {
    if (!whole_) {
      whole_ = std::make_unique<Incoming>();
    }
    current_ = whole_.get();
    piece_left_ = piece_.bytes;
    return ok_status();
  }
  if (first) {
    if (frames.size() == max_interleaved_frames) {
      return corrupt_piece("incomplete frames of its class, at most", max_interleaved_frames,
                           frames.size() + 1);
    }
    found = frames.emplace(piece_.frame, std::make_unique<Incoming>()).first;
  }
  current_ = found->second.get();
  piece_left_ = piece_.bytes;
  return ok_status();
}

Status PieceReader::end_goodbye() {
  header_bytes_ = 0;
  const auto code = static_cast<std::uint8_t>(goodbye_bytes_.front());
  if (code == static_cast<std::uint8_t>(Errc::ok)) {
    return corrupt_piece("code of a goodbye, at least", 1, code);
  }
  goodbye_.emplace(errc_from_wire(code), goodbye_bytes_.substr(1));
  return ok_status();
}

Status PieceReader::end_piece(std::vector<Frame>& out) {
  header_bytes_ = 0;
  auto& frame = *std::exchange(current_, nullptr);
  const bool last = (piece_.flags & PieceHeader::last) != 0;
  if (last != frame.complete()) {
    return corrupt_piece("last piece of its frame", frame.complete() ? 1 : 0, last ? 1 : 0);
  }
  if (last) {
    auto& lane = lanes_[static_cast<std::size_t>(piece_.traffic)];
    lane.bytes -= frame.bytes;
    out.push_back(frame.finish());
    if (&frame == whole_.get()) {
      frame.begin_again();
    } else {
      lane.frames.erase(piece_.frame);
    }
  }
  return ok_status();
}

}  // namespace troupe::net
