// What links over sockets need of pieces: memory to read into, signs of life, goodbyes.
#include "runtime/net/piece.hpp"
#include "tests/runtime/net/net_test_support.hpp"
#include "tests/runtime/net/sizes.hpp"
#include "tests/support/expect.hpp"

#include <cstring>

namespace troupe::net {
namespace {

void append(std::vector<std::byte>& to, std::span<const std::byte> bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}

/// Reads as from a socket: at most `most` bytes at a time, first to direct(), then to a scratch
/// buffer. \returns the bytes that went to their place directly
std::size_t read_directly(PieceReader& reader, std::span<const std::byte> wire, std::uint32_t most,
                          std::vector<Frame>& out) {
  std::size_t total = 0;
  DrawStream cuts({{5, 5}}, most);
  while (!wire.empty()) {
    const auto block = wire.first(std::min<std::size_t>(wire.size(), 1 + cuts.below(most)));
    const auto place = reader.direct();
    const std::size_t n = std::min(place.size(), block.size());
    if (n > 0) {
      std::memcpy(place.data(), block.data(), n);
      EXPECT_OK(reader.fed(n, out));
    }
    EXPECT_OK(reader.feed(block.subspan(n), out));
    total += n;
    wire = wire.subspan(block.size());
  }
  return total;
}

TEST(PieceReader, BytesReadToTheirPlaceGiveTheSameFrames) {
  std::vector<Frame> frames{make_frame(TrafficClass::rows, 0, {mib, 7, 300'000}),
                            make_frame(TrafficClass::rows, 1, {max_piece_bytes}),
                            make_frame(TrafficClass::control, 2, {}),
                            make_frame(TrafficClass::samples, 3, {0, 1, 0, 70'000}, 40)};
  PieceWriter writer;
  for (const auto& frame : frames) {
    writer.push(Frame(frame));
  }
  const auto wire = drain(writer);
  for (const std::uint32_t most : {1U, 13U, 5000U, 300'000U}) {
    PieceReader reader({});
    std::vector<Frame> got;

    const auto direct = read_directly(reader, wire, most, got);

    ASSERT_EQ(got.size(), frames.size());
    for (const auto& frame : got) {
      EXPECT_TRUE(same_contents(frame, frames[frame.head.request])) << frame.head.request;
    }
    EXPECT_GE(direct, wire.size() / 3);
  }
}

TEST(PieceReader, OffersMemoryOnlyInsideASegment) {
  PieceWriter writer;
  writer.push(make_frame(TrafficClass::rows, 1, {100, 50}));
  const auto wire = drain(writer);
  const std::size_t before = sizeof(PieceHeader) + sizeof(FrameHeader) + 8;
  PieceReader reader({});
  std::vector<Frame> out;

  EXPECT_OK(reader.feed(std::span(wire).first(before - 1), out));
  EXPECT_TRUE(reader.direct().empty());
  EXPECT_OK(reader.feed(std::span(wire).subspan(before - 1, 1), out));
  EXPECT_EQ(reader.direct().size(), 100U);
  EXPECT_OK(reader.fed(100, out));
  EXPECT_EQ(reader.direct().size(), 50U);
  EXPECT_OK(reader.fed(50, out));
  EXPECT_TRUE(reader.direct().empty());
  EXPECT_EQ(out.size(), 1U);
}

TEST(PieceReader, ABrokenPieceIsFoundWhereverItsBytesWereReadTo) {
  PieceWriter writer;
  writer.push(make_frame(TrafficClass::rows, 1, {100}));
  auto wire = drain(writer);
  PieceHeader header;
  std::memcpy(&header, wire.data(), sizeof header);
  header.flags = PieceHeader::first;  // says that more will come
  seal(header);
  std::memcpy(wire.data(), &header, sizeof header);
  PieceReader reader({});
  std::vector<Frame> out;
  EXPECT_OK(reader.feed(std::span(wire).first(wire.size() - 100), out));

  EXPECT_ERROR(reader.fed(100, out), Errc::data_corruption, "last piece of its frame");
  EXPECT_TRUE(reader.direct().empty());
  EXPECT_ERROR(reader.fed(0, out), Errc::data_corruption, "last piece of its frame");
}

TEST(PieceReader, HeartbeatsMayComeBetweenAnyTwoPieces) {
  PieceWriter writer;
  writer.push(make_frame(TrafficClass::rows, 1, {mib}));
  std::vector<std::byte> wire;
  while (const auto piece = writer.next()) {
    append(wire, heartbeat_piece());
    append(wire, std::as_bytes(std::span(&piece->header, 1)));
    for (const auto& span : piece->spans) {
      append(wire, span);
    }
  }
  append(wire, heartbeat_piece());
  PieceReader reader({});
  std::vector<Frame> out;
  EXPECT_OK(reader.feed(wire, out));
  EXPECT_EQ(out.size(), 1U);
  EXPECT_FALSE(reader.goodbye().has_value());
}

TEST(PieceReader, AGoodbyeBringsCodeAndSentence) {
  for (const auto code : {Errc::cancelled, Errc::peer_lost, Errc::unauthenticated}) {
    PieceReader reader({});
    std::vector<Frame> out;
    EXPECT_OK(reader.feed(goodbye_piece(Error(code, "done with it")), out));
    ASSERT_TRUE(reader.goodbye().has_value());
    EXPECT_EQ(reader.goodbye()->code(), code);
    EXPECT_EQ(reader.goodbye()->what(), "done with it");
    EXPECT_ERROR(reader.feed(heartbeat_piece(), out), Errc::data_corruption, "after the goodbye");
  }
}

TEST(PieceReader, AGoodbyeIsCutToItsLimitAndMayBeEmpty) {
  for (const std::size_t size : {std::size_t{0}, max_goodbye_text, max_goodbye_text + 1}) {
    PieceReader reader({});
    std::vector<Frame> out;
    EXPECT_OK(reader.feed(goodbye_piece(Error(Errc::internal, std::string(size, 'x'))), out));
    ASSERT_TRUE(reader.goodbye().has_value());
    EXPECT_EQ(reader.goodbye()->what().size(), std::min(size, max_goodbye_text));
  }
}

Status read_header(PieceHeader header) {
  seal(header);
  PieceReader reader({});
  std::vector<Frame> out;
  return reader.feed(std::as_bytes(std::span(&header, 1)), out);
}

TEST(PieceReader, RefusesPiecesOfNoFrameThatCannotBe) {
  PieceHeader beat;
  beat.flags = PieceHeader::heartbeat;
  PieceHeader bye;
  bye.flags = PieceHeader::goodbye;
  bye.bytes = 5;
  EXPECT_OK(read_header(beat));
  EXPECT_OK(read_header(bye));
  const auto changed = [](PieceHeader header, auto change) {
    change(header);
    return read_header(header);
  };
  for (const auto& header : {beat, bye}) {
    EXPECT_ERROR(changed(header, [](auto& h) { h.frame = 7; }), Errc::data_corruption, "found 7");
    EXPECT_ERROR(changed(header, [](auto& h) { h.traffic = TrafficClass::rows; }),
                 Errc::data_corruption, "found 3");
    EXPECT_ERROR(changed(header, [](auto& h) { h.flags |= PieceHeader::last; }),
                 Errc::data_corruption, "flags");
    EXPECT_ERROR(changed(header, [](auto& h) { h.flags = 12; }), Errc::data_corruption, "flags");
  }
  EXPECT_ERROR(changed(beat, [](auto& h) { h.bytes = 1; }), Errc::data_corruption, "heartbeat");
  EXPECT_ERROR(changed(bye, [](auto& h) { h.bytes = 0; }), Errc::data_corruption, "goodbye");
  EXPECT_ERROR(changed(bye, [](auto& h) { h.bytes = max_goodbye_text + 2; }), Errc::data_corruption,
               "goodbye");
}

TEST(PieceReader, UnknownCodesOfAGoodbyeAreInternalAndZeroIsCorrupt) {
  auto wire = goodbye_piece(Error(Errc::cancelled, "x"));
  PieceReader reader({});
  std::vector<Frame> out;
  wire[sizeof(PieceHeader)] = std::byte{200};
  EXPECT_OK(reader.feed(wire, out));
  EXPECT_EQ(reader.goodbye()->code(), Errc::internal);
  PieceReader other({});
  wire[sizeof(PieceHeader)] = std::byte{0};
  EXPECT_ERROR(other.feed(wire, out), Errc::data_corruption, "code of a goodbye");
}

}  // namespace
}  // namespace troupe::net
