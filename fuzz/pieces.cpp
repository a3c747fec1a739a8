// Bytes from a link, in two cuts that must not matter, one of them read to their place where the reader offers one. The first byte says whether the checksums of
// headers are made right, and how the second cut goes.
#include "runtime/net/endpoint.hpp"
#include "runtime/net/piece.hpp"

#include "fuzz/targets.hpp"

#include <xxhash.h>

namespace troupe::fuzz {
namespace {

using namespace net;

constexpr FrameLimits limits{.max_meta_bytes = 1U << 12, .max_frame_bytes = 1U << 20};

/// Walks the pieces as the reader would and seals each piece header, and each frame header that lies in one piece.
void seal_headers(std::vector<std::byte>& wire) {
  std::size_t at = 0;
  while (wire.size() - at >= sizeof(PieceHeader)) {
    PieceHeader piece;
    std::memcpy(&piece, wire.data() + at, sizeof piece);
    seal(piece);
    std::memcpy(wire.data() + at, &piece, sizeof piece);
    at += sizeof piece;
    const auto size = std::min<std::size_t>(piece.bytes, wire.size() - at);
    if ((piece.flags & 1) != 0 && size >= sizeof(FrameHeader)) {
      FrameHeader head;
      std::memcpy(&head, wire.data() + at, sizeof head);
      head.checksum =
          static_cast<std::uint32_t>(XXH3_64bits(&head, offsetof(FrameHeader, checksum)));
      std::memcpy(wire.data() + at, &head, sizeof head);
    }
    at += size;
  }
}

struct Received {
  std::vector<Frame> frames;
  std::string error;
  std::string goodbye;
};

/// Feeds a block; first to its place, as a socket would.
Status feed_directly(PieceReader& reader, std::span<const std::byte> block,
                     std::vector<Frame>& out) {
  const auto place = reader.direct();
  const std::size_t n = std::min(place.size(), block.size());
  if (n > 0) {
    std::memcpy(place.data(), block.data(), n);
    TROUPE_RETURN_IF_ERROR(reader.fed(n, out));
  }
  return reader.feed(block.subspan(n), out);
}

/// Feeds `wire` in blocks of 1 to `longest` bytes.
Received receive(std::span<const std::byte> wire, std::size_t longest, bool direct) {
  Received received;
  PieceReader reader(limits);
  std::size_t step = 0;
  while (!wire.empty()) {
    const std::size_t n = std::min(wire.size(), 1 + step++ * 7 % longest);
    const auto status = direct ? feed_directly(reader, wire.first(n), received.frames)
                               : reader.feed(wire.first(n), received.frames);
    wire = wire.subspan(n);
    if (!status.ok()) {
      received.error = status.error().what();
      require(!received.error.empty(), "an error has a sentence");
      require(!reader.feed(wire, received.frames).ok(), "a broken reader stays broken");
      break;
    }
  }
  if (reader.goodbye()) {
    require(reader.goodbye()->what().size() <= max_goodbye_text, "a goodbye is short");
    received.goodbye = reader.goodbye()->what() + ".";
  }
  return received;
}

}  // namespace

void run_pieces(Input input) {
  Bytes bytes(input);
  const auto how = bytes.number<std::uint8_t>();
  const auto rest = std::as_bytes(bytes.rest());
  std::vector<std::byte> wire(rest.begin(), rest.end());
  if (how % 2 == 1) {
    seal_headers(wire);
  }
  const auto whole = receive(wire, std::max<std::size_t>(wire.size(), 1), false);
  const auto cut = receive(wire, 1 + how / 2, true);
  require(whole.error.empty() == cut.error.empty(), "whether bytes are good is not for the cut");
  require(whole.goodbye == cut.goodbye, "nor is a goodbye");
  require(whole.frames.size() == cut.frames.size(), "nor does the number of frames");
  for (std::size_t i = 0; i < whole.frames.size(); ++i) {
    const auto& a = whole.frames[i];
    const auto& b = cut.frames[i];
    require(check_header(a.head, limits).ok(), "a frame that arrived has a good header");
    require(a.size_bytes() == b.size_bytes() && a.segments.size() == b.segments.size(),
            "nor their sizes");
    for (std::size_t k = 0; k < a.segments.size(); ++k) {
      require(std::ranges::equal(a.segments[k].bytes, b.segments[k].bytes), "nor their bytes");
    }
    require(decode_error(a).what().size() <= 8192, "an error from a peer is short");
  }
}

}  // namespace troupe::fuzz

TROUPE_FUZZ_TARGET(troupe::fuzz::run_pieces)
