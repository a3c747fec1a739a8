#include "runtime/net/piece.hpp"

#include "tests/runtime/net/net_test_support.hpp"
#include "tests/runtime/net/sizes.hpp"
#include "tests/support/expect.hpp"

#include <cstddef>
#include <cstring>
#include <map>
#include <span>
#include <string_view>

namespace troupe::net {
namespace {

std::vector<Frame> several_frames() {
  std::vector<Frame> frames;
  frames.push_back(make_frame(TrafficClass::rows, 1, {700'000, 0, 13}));
  frames.push_back(make_frame(TrafficClass::control, 2, {}, 0));
  frames.push_back(make_frame(TrafficClass::samples, 3, {0, 0, 0, 5}, 9));
  frames.push_back(make_frame(TrafficClass::rows, 4,
                              {max_piece_bytes - sizeof(FrameHeader) - 8}));  // exactly one piece
  frames.push_back(make_frame(TrafficClass::gradients, 5, {300'000}));
  frames.push_back(make_frame(TrafficClass::control, 6, {1}));
  return frames;
}

std::vector<std::byte> bytes_of(const std::vector<Frame>& frames) {
  PieceWriter writer;
  for (const auto& frame : frames) {
    writer.push(Frame(frame));
  }
  return drain(writer);
}

/// Feeds in cuts of at most `most` bytes, of deterministic lengths.
std::vector<Frame> read_in_cuts(std::span<const std::byte> bytes, std::uint32_t most) {
  PieceReader reader({});
  std::vector<Frame> out;
  DrawStream cuts({{7, 7}}, most);
  while (!bytes.empty()) {
    const auto n = std::min<std::size_t>(bytes.size(), 1 + cuts.below(most));
    EXPECT_OK(reader.feed(bytes.first(n), out));
    bytes = bytes.subspan(n);
  }
  return out;
}

TEST(Pieces, AnyCutOfTheByteStreamGivesTheSameFrames) {
  const auto frames = several_frames();
  const auto bytes = bytes_of(frames);
  for (const std::uint32_t most : {1U, 2U, 7U, 13U, 100U, 4096U, 1U << 20, 1U << 30}) {
    const auto got = read_in_cuts(bytes, most);

    ASSERT_EQ(got.size(), frames.size());
    for (const auto& frame : got) {
      EXPECT_TRUE(same_contents(frame, frames[frame.head.request - 1])) << frame.head.request;
    }
  }
}

TEST(Pieces, EmptySegmentsAtTheEndAreLeftOut) {
  const auto got =
      read_in_cuts(bytes_of({make_frame(TrafficClass::rows, 1, {0, 4, 0, 0})}), 1 << 20);

  ASSERT_EQ(got.size(), 1U);
  ASSERT_EQ(got[0].segments.size(), 2U);
  EXPECT_TRUE(got[0].segments[0].empty());
  EXPECT_EQ(got[0].segments[1].bytes.size(), 4U);
}

TEST(Pieces, ReceivedSegmentsAreAligned) {
  const auto got = read_in_cuts(bytes_of({make_frame(TrafficClass::rows, 1, {3, 5, 64, 1})}), 11);

  ASSERT_EQ(got.size(), 1U);
  for (const auto& segment : got[0].segments) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(segment.bytes.data()) % 64, 0U);
  }
}

TEST(Pieces, SmallFramesPassALargeOneOfAnotherClass) {
  PieceWriter writer;
  writer.push(make_frame(TrafficClass::rows, 1, {64 * mib}));
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(writer.next()->header.traffic, TrafficClass::rows);
  }

  writer.push(make_frame(TrafficClass::control, 2, {}));
  writer.push(make_frame(TrafficClass::control, 3, {}));

  std::vector<TrafficClass> order;
  for (int i = 0; i < 4; ++i) {
    order.push_back(writer.next()->header.traffic);
  }
  using enum TrafficClass;
  EXPECT_EQ(order, (std::vector{control, rows, control, rows}));
}

TEST(Pieces, AllClassesShareEvenly) {
  PieceWriter writer;
  for (std::size_t c = 0; c < traffic_classes; ++c) {
    writer.push(make_frame(static_cast<TrafficClass>(c), c, {4 * mib}));
  }
  std::array<int, traffic_classes> pieces{};
  for (int i = 0; i < 48; ++i) {
    ++pieces[static_cast<std::size_t>(writer.next()->header.traffic)];
  }
  EXPECT_EQ(pieces, (std::array<int, traffic_classes>{8, 8, 8, 8, 8, 8}));
}

TEST(Pieces, SmallFramesPassALargeOneOfTheirClass) {
  PieceWriter writer;
  writer.push(make_frame(TrafficClass::rows, 1, {64 * mib}));
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(writer.next()->header.frame, 0U);
  }

  writer.push(make_frame(TrafficClass::rows, 2, {}));
  writer.push(make_frame(TrafficClass::rows, 3, {}));

  std::vector<std::uint32_t> order;
  for (int i = 0; i < 4; ++i) {
    order.push_back(writer.next()->header.frame);
  }
  EXPECT_EQ(order, (std::vector<std::uint32_t>{0, 1, 2, 0}));
}

TEST(Pieces, FramesOfAClassBeginInOrderAndShareEvenly) {
  PieceWriter writer;
  for (std::uint64_t i = 0; i < 40; ++i) {
    writer.push(make_frame(TrafficClass::rows, i, {i % 3 == 0 ? mib : 600'000}));
  }
  std::map<std::uint32_t, std::size_t> under_way;  // frame -> pieces
  std::uint32_t begun = 0;
  while (const auto piece = writer.next()) {
    if ((piece->header.flags & 1) != 0) {
      EXPECT_EQ(piece->header.frame, begun++);
    }
    ++under_way[piece->header.frame];
    EXPECT_LE(under_way.size(), max_interleaved_frames);
    if ((piece->header.flags & 2) != 0) {
      under_way.erase(piece->header.frame);
    }
    for (const auto& [frame, pieces] : under_way) {
      EXPECT_LE(pieces, 5U);
    }
  }
  EXPECT_EQ(begun, 40U);
  EXPECT_TRUE(under_way.empty());
}

TEST(Pieces, FramesOfOnePieceKeepTheirOrderInAClass) {
  std::vector<Frame> frames;
  for (std::uint64_t i = 1; i <= 80; ++i) {
    frames.push_back(make_frame(static_cast<TrafficClass>(i % 4), i, {i % 3 == 0 ? mib : i}));
  }
  std::array<std::uint64_t, traffic_classes> last{};
  const auto got = read_in_cuts(bytes_of(frames), 1 << 16);
  ASSERT_EQ(got.size(), frames.size());
  for (const auto& frame : got) {
    EXPECT_TRUE(same_contents(frame, frames[frame.head.request - 1])) << frame.head.request;
    if (frame.head.request % 3 != 0) {
      auto& before = last[static_cast<std::size_t>(frame.head.traffic)];
      EXPECT_GT(frame.head.request, before);
      before = frame.head.request;
    }
  }
}

/// Frames whose segments claim memory that is never touched.
Frame huge_frame(std::uint64_t number, std::size_t bytes) {
  static const std::byte nothing{};
  Frame frame = make_frame(TrafficClass::rows, number, {});
  frame.segments.push_back({nullptr, std::span(&nothing, bytes)});
  return frame;
}

TEST(Pieces, WhatIsUnderWayAtOnceIsBounded) {
  PieceWriter writer;
  for (std::uint64_t i = 0; i < 4; ++i) {
    writer.push(huge_frame(i, max_interleaved_bytes / 3));
  }
  std::vector<std::uint32_t> order;
  for (int i = 0; i < 4; ++i) {
    order.push_back(writer.next()->header.frame);
  }
  EXPECT_EQ(order, (std::vector<std::uint32_t>{0, 1, 0, 1}));
}

TEST(Pieces, WriterCountsWhatIsLeft) {
  PieceWriter writer;
  EXPECT_TRUE(writer.empty());
  writer.push(make_frame(TrafficClass::rows, 1, {mib}));
  EXPECT_EQ(writer.queued_bytes(), mib + sizeof(FrameHeader) + 8);

  const auto piece = writer.next();

  EXPECT_EQ(piece->header.bytes, max_piece_bytes);
  EXPECT_EQ(writer.queued_bytes(), mib + sizeof(FrameHeader) + 8 - max_piece_bytes);
  drain(writer);
  EXPECT_EQ(writer.queued_bytes(), 0U);
  EXPECT_TRUE(writer.empty());
  EXPECT_FALSE(writer.next().has_value());
}

TEST(Pieces, APieceStaysValidWhenAnotherFrameIsPushed) {
  PieceWriter writer;
  writer.push(make_frame(TrafficClass::control, 1, {5}));
  const auto piece = writer.next();
  for (std::uint64_t i = 2; i < 100; ++i) {
    writer.push(make_frame(TrafficClass::control, i, {5}));
  }
  FrameHeader head;
  std::memcpy(&head, piece->spans.begin()->data(), sizeof head);
  EXPECT_EQ(head.request, 1U);
}

Status read_with(FrameLimits limits, std::span<const std::byte> bytes) {
  PieceReader reader(limits);
  std::vector<Frame> out;
  return reader.feed(bytes, out);
}

/// CRC-16/CCITT-FALSE as its definition reads: a bit at a time.
std::uint16_t crc_by_bits(std::span<const std::byte> bytes) {
  std::uint32_t sum = 0xFFFF;
  for (const auto byte : bytes) {
    sum ^= static_cast<std::uint32_t>(byte) << 8;
    for (int bit = 0; bit < 8; ++bit) {
      sum = (sum << 1 ^ ((sum & 0x8000) != 0 ? 0x1021U : 0U)) & 0xFFFF;
    }
  }
  return static_cast<std::uint16_t>(sum);
}

TEST(Pieces, HaveTheChecksumOfTheProtocol) {
  constexpr std::string_view check = "123456789";
  ASSERT_EQ(crc_by_bits(std::as_bytes(std::span(check))), 0x29B1);
  DrawStream draws({{3, 1}}, 1);
  for (int i = 0; i < 1000; ++i) {
    PieceHeader header;
    header.bytes = i == 0 ? 0 : draws.below(~0U);
    header.frame = i == 1 ? ~0U : draws.below(~0U);
    header.traffic = static_cast<TrafficClass>(draws.below(traffic_classes));
    header.flags = static_cast<std::uint8_t>(draws.below(16));
    seal(header);
    const auto checked =
        std::as_bytes(std::span(&header, 1)).first(offsetof(PieceHeader, checksum));
    ASSERT_EQ(header.checksum, crc_by_bits(checked)) << i;
    ASSERT_TRUE(is_sealed(header));
  }
}

TEST(PieceReader, RefusesAFrameOverTheLimitsBeforeItsBodyIsThere) {
  const auto bytes = bytes_of({make_frame(TrafficClass::rows, 1, {mib}, 4)});
  const auto start = std::span(bytes).first(sizeof(PieceHeader) + sizeof(FrameHeader));

  EXPECT_OK(read_with({}, start));
  EXPECT_ERROR(read_with({.max_meta_bytes = 24}, start), Errc::invalid_argument, "max_meta_bytes");
  EXPECT_ERROR(read_with({.max_frame_bytes = mib}, start), Errc::invalid_argument,
               "max_frame_bytes");
}

/// The stream of one frame with a changed piece header.
template <class Change>
std::vector<std::byte> with_header(Change change, std::size_t at = 0) {
  auto bytes = bytes_of({make_frame(TrafficClass::samples, 1, {300'000})});
  PieceHeader header;
  std::memcpy(&header, bytes.data() + at, sizeof header);
  change(header);
  seal(header);
  std::memcpy(bytes.data() + at, &header, sizeof header);
  return bytes;
}

TEST(PieceReader, RefusesHeadersThatCannotBe) {
  const auto status = [](auto change, std::size_t at = 0) {
    return read_with({}, with_header(change, at));
  };
  constexpr std::size_t second = sizeof(PieceHeader) + max_piece_bytes;

  EXPECT_OK(status([](PieceHeader&) {}));
  EXPECT_ERROR(status([](auto& h) { h.bytes = 0; }), Errc::data_corruption,
               "length: expected 1..262144");
  EXPECT_ERROR(status([](auto& h) { h.bytes = max_piece_bytes + 1; }), Errc::data_corruption,
               "length");
  EXPECT_ERROR(status([](auto& h) { h.traffic = static_cast<TrafficClass>(6); }),
               Errc::data_corruption, "class");
  EXPECT_ERROR(status([](auto& h) { h.traffic = TrafficClass::rows; }), Errc::data_corruption,
               "class of its frame");
  EXPECT_ERROR(status([](auto& h) { h.flags = 16; }), Errc::data_corruption, "flags");
  EXPECT_ERROR(status([](auto& h) { h.flags = 0; }), Errc::data_corruption,
               "expected its first piece");
  EXPECT_ERROR(status([](auto& h) { h.flags = 3; }), Errc::data_corruption, "last piece");
  EXPECT_ERROR(status([](auto& h) { h.flags = 3; }, second), Errc::data_corruption,
               "expected a later piece");
  EXPECT_ERROR(status([](auto& h) { h.frame = 9; }, second), Errc::data_corruption,
               "frame 9 of class 2: expected its first piece");
  EXPECT_ERROR(status([](auto& h) { h.traffic = TrafficClass::rows; }, second),
               Errc::data_corruption, "first piece");
  EXPECT_ERROR(status([](auto& h) { h.flags = 0; }, second), Errc::data_corruption, "last piece");
}

/// The first piece of a frame of 300,000 bytes.
std::vector<std::byte> first_piece(std::uint32_t number) {
  return with_header([&](auto& h) { h.frame = number; });
}

TEST(PieceReader, RefusesMoreFramesAtOnceThanAllowed) {
  PieceReader reader({});
  std::vector<Frame> out;
  for (std::uint32_t i = 0; i <= max_interleaved_frames; ++i) {
    const auto bytes = first_piece(i);
    const auto status =
        reader.feed(std::span(bytes).first(sizeof(PieceHeader) + max_piece_bytes), out);
    if (i < max_interleaved_frames) {
      EXPECT_OK(status);
    } else {
      EXPECT_ERROR(status, Errc::data_corruption, "at most: expected 16, found 17");
    }
  }
}

TEST(PieceReader, RefusesMoreIncompleteBytesThanAllowed) {
  PieceReader reader({});
  std::vector<Frame> out;
  PieceWriter one;
  one.push(huge_frame(1, 3 * (max_interleaved_bytes / 4)));
  auto piece = *one.next();
  piece.header.bytes = sizeof(FrameHeader);
  const auto feed = [&](std::uint32_t number) {
    piece.header.frame = number;
    seal(piece.header);
    EXPECT_OK(reader.feed(std::as_bytes(std::span(&piece.header, 1)), out));
    return reader.feed(*piece.spans.begin(), out);
  };
  EXPECT_OK(feed(0));
  EXPECT_ERROR(feed(1), Errc::data_corruption, "bytes of incomplete frames");
}

TEST(PieceReader, FindsAnyFlippedBitOfAHeaderBeforeItWaitsForMore) {
  auto bytes = bytes_of({make_frame(TrafficClass::control, 1, {4})});
  for (std::size_t bit = 0; bit < 8 * sizeof(PieceHeader); ++bit) {
    const auto mask = static_cast<std::byte>(1U << bit % 8);
    bytes[bit / 8] ^= mask;
    EXPECT_ERROR(read_with({}, bytes), Errc::data_corruption, "piece");
    bytes[bit / 8] ^= mask;
  }
}

TEST(PieceReader, RefusesBytesAfterTheEndOfAFrame) {
  auto bytes = bytes_of({make_frame(TrafficClass::control, 1, {4})});
  PieceHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  ++header.bytes;
  seal(header);
  std::memcpy(bytes.data(), &header, sizeof header);
  bytes.push_back(std::byte{1});

  EXPECT_ERROR(read_with({}, bytes), Errc::data_corruption, "after the end");
}

TEST(PieceReader, StaysBroken) {
  PieceReader reader({});
  std::vector<Frame> out;
  const auto good = bytes_of({make_frame(TrafficClass::control, 1, {4})});
  const std::vector<std::byte> bad(sizeof(PieceHeader), std::byte{0xFF});

  EXPECT_ERROR(reader.feed(bad, out), Errc::data_corruption, "class");
  EXPECT_ERROR(reader.feed(good, out), Errc::data_corruption, "class");
  EXPECT_TRUE(out.empty());
}

TEST(PieceReader, SurvivesAnyFlippedBit) {
  const auto bytes = bytes_of({make_frame(TrafficClass::rows, 1, {40}, 3),
                               make_frame(TrafficClass::control, 2, {}),
                               make_frame(TrafficClass::rows, 3, {5, 6})});
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    auto changed = bytes;
    changed[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    PieceReader reader({});
    std::vector<Frame> out;

    const auto status = reader.feed(changed, out);

    EXPECT_TRUE(status.ok() || status.error().code() == Errc::data_corruption);
    EXPECT_LE(out.size(), 3U);
  }
}

TEST(PieceReader, SurvivesRandomBytes) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    DrawStream stream({{3, 4}}, seed);
    std::vector<std::byte> bytes(200);
    for (auto& byte : bytes) {
      byte = static_cast<std::byte>(stream.below(seed % 2 == 0 ? 256 : 4));
    }
    EXPECT_FALSE(read_with({}, bytes).ok());
  }
}

}  // namespace
}  // namespace troupe::net
