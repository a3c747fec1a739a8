#include "runtime/base/cut_text.hpp"
#include "runtime/net/piece.hpp"
#include "runtime/net/saturate.hpp"

#include <boost/crc.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace troupe::net {
namespace {

constexpr std::size_t most_spare = 64;

constexpr std::size_t checked_bytes = offsetof(PieceHeader, checksum);
using Checked = std::array<std::uint8_t, checked_bytes>;

/// CRC-16/CCITT-FALSE: finds any change of up to 16 bits in a row.
std::uint16_t crc_of(const Checked& bytes) {
  boost::crc_optimal<16, 0x1021, 0xFFFF, 0, false, false> crc;
  crc.process_bytes(bytes.data(), bytes.size());
  return static_cast<std::uint16_t>(crc.checksum());
}

/// The same sum: what each value of each byte changes in the sum of zeros. A sum over bytes one after
/// another waits for each of them.
struct CrcTables {
  std::uint16_t of_zeros = crc_of({});
  std::array<std::array<std::uint16_t, 256>, checked_bytes> changes{};

  CrcTables() {
    for (std::size_t i = 0; i < checked_bytes; ++i) {
      for (std::size_t value = 0; value < 256; ++value) {
        Checked bytes{};
        bytes[i] = static_cast<std::uint8_t>(value);
        changes[i][value] = crc_of(bytes) ^ of_zeros;
      }
    }
  }
};

std::uint16_t checksum_of(const PieceHeader& header) {
  static const CrcTables tables;
  Checked bytes;
  std::memcpy(bytes.data(), &header, bytes.size());
  std::uint16_t sum = tables.of_zeros;
  for (std::size_t i = 0; i < checked_bytes; ++i) {
    sum ^= tables.changes[i][bytes[i]];
  }
  return sum;
}

}  // namespace

void seal(PieceHeader& header) {
  header.checksum = checksum_of(header);
}

bool is_sealed(const PieceHeader& header) {
  return header.checksum == checksum_of(header);
}

std::array<std::byte, sizeof(PieceHeader)> heartbeat_piece() {
  PieceHeader header;
  header.flags = PieceHeader::heartbeat;
  seal(header);
  return std::bit_cast<std::array<std::byte, sizeof header>>(header);
}

std::vector<std::byte> goodbye_piece(const Error& why) {
  const auto text = cut_text(why.what(), max_goodbye_text);
  PieceHeader header;
  header.bytes = static_cast<std::uint32_t>(1 + text.size());
  header.flags = PieceHeader::goodbye;
  seal(header);
  std::vector<std::byte> out(sizeof header);
  std::memcpy(out.data(), &header, sizeof header);
  out.push_back(static_cast<std::byte>(why.code()));
  const auto bytes = std::as_bytes(std::span(text));
  out.insert(out.end(), bytes.begin(), bytes.end());
  return out;
}

// ---- writing ----

void PieceWriter::push(Frame&& frame) {
  auto outgoing = spare_.empty() ? std::make_unique<Outgoing>() : std::move(spare_.back());
  if (!spare_.empty()) {
    spare_.pop_back();
  }
  outgoing->number = next_number_++;
  outgoing->frame = std::move(frame);
  seal(outgoing->frame);
  queued_bytes_ += outgoing->frame.size_bytes();
  auto& lane = lanes_[static_cast<std::size_t>(outgoing->frame.head.traffic)];
  lane.waiting.push_back(std::move(outgoing));
  lane.admit();
}

void PieceWriter::recycle(std::unique_ptr<Outgoing> done) {
  if (spare_.size() < most_spare) {
    done->part = 0;
    done->offset = 0;
    spare_.push_back(std::move(done));
  }
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

std::span<const std::byte> PieceWriter::Outgoing::rest() const {
  if (part == 0) {
    return std::as_bytes(std::span(&frame.head, 1)).subspan(offset);
  }
  return (part == 1 ? std::as_bytes(frame.words()) : frame.segments[part - 2].bytes)
      .subspan(offset);
}

void PieceWriter::Outgoing::skip_empty() {
  while (!complete() && rest().empty()) {
    ++part;
    offset = 0;
  }
}

PieceWriter::Piece PieceWriter::cut(Outgoing& outgoing) {
  Piece piece;
  const bool begins = outgoing.part == 0 && outgoing.offset == 0;
  std::size_t room = max_piece_bytes;
  while (room > 0 && !outgoing.complete()) {
    const auto rest = outgoing.rest();
    const std::size_t n = std::min(room, rest.size());
    piece.spans.push_back(rest.first(n));
    outgoing.offset += n;
    room -= n;
    outgoing.skip_empty();
  }
  piece.header.bytes = static_cast<std::uint32_t>(max_piece_bytes - room);
  piece.header.frame = outgoing.number;
  piece.header.traffic = outgoing.frame.head.traffic;
  piece.header.flags = static_cast<std::uint8_t>((begins ? PieceHeader::first : 0) |
                                                 (outgoing.complete() ? PieceHeader::last : 0));
  seal(piece.header);
  return piece;
}

std::optional<PieceWriter::Piece> PieceWriter::next() {
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
    if (outgoing->complete()) {
      lane.bytes_under_way -= outgoing->frame.size_bytes();
      piece.frame = std::move(outgoing);
      lane.admit();
    } else {
      lane.under_way.push_back(std::move(outgoing));
    }
    return piece;
  }
  return std::nullopt;
}

}  // namespace troupe::net
