#include "runtime/net/frame.hpp"

#include "tests/runtime/net/net_test_support.hpp"
#include "tests/support/expect.hpp"

#include <cstring>
#include <fmt/format.h>

namespace troupe::net {
namespace {

Frame sealed() {
  Frame frame = make_frame(TrafficClass::rows, 7, {100, 0, 3}, 5);
  seal(frame);
  return frame;
}

FrameHeader resealed(FrameHeader head) {
  Frame frame;
  frame.head = head;
  seal(frame);  // right checksum for wrong contents, but lengths of nothing
  return frame.head;
}

TEST(FrameHeader, SealFillsLengthsThatAddUpToTheSize) {
  const Frame frame = sealed();

  EXPECT_EQ(frame.head.meta_words, 5U);
  EXPECT_EQ(frame.head.segment_bytes, (std::array<std::uint64_t, 4>{100, 0, 3, 0}));
  EXPECT_EQ(frame.size_bytes(), sizeof(FrameHeader) + 40 + 103);
  EXPECT_OK(check_header(frame.head, {}));
}

TEST(FrameHeader, EveryFlippedBitIsFound) {
  const Frame frame = sealed();
  for (std::size_t bit = 0; bit < sizeof(FrameHeader) * 8; ++bit) {
    std::array<unsigned char, sizeof(FrameHeader)> bytes{};
    std::memcpy(bytes.data(), &frame.head, bytes.size());
    bytes[bit / 8] = static_cast<unsigned char>(bytes[bit / 8] ^ (1U << (bit % 8)));
    FrameHeader head;
    std::memcpy(&head, bytes.data(), bytes.size());

    EXPECT_ERROR(check_header(head, {}), Errc::data_corruption, "frame header");
  }
}

TEST(FrameHeader, NamesTheFieldThatCannotBe) {
  FrameHeader head;
  head.magic = 0x12345678;
  EXPECT_ERROR(check_header(head, {}), Errc::data_corruption,
               "magic: expected 0x31545254, found 0x12345678");
  head = {};
  head.version = 9;
  EXPECT_ERROR(check_header(resealed(head), {}), Errc::data_corruption,
               fmt::format("version: expected {}, found 0x9", FrameHeader::protocol_version));
  head = {};
  head.kind = static_cast<FrameKind>(6);
  EXPECT_ERROR(check_header(resealed(head), {}), Errc::data_corruption,
               "kind: expected 1..4, found 0x6");
  head.kind = static_cast<FrameKind>(0);
  EXPECT_ERROR(check_header(resealed(head), {}), Errc::data_corruption, "kind");
  head = {};
  head.traffic = static_cast<TrafficClass>(6);
  EXPECT_ERROR(check_header(resealed(head), {}), Errc::data_corruption, "traffic class");
}

TEST(FrameHeader, LimitsAreInclusiveAndNamed) {
  const Frame frame = sealed();
  const std::uint64_t size = frame.size_bytes();

  EXPECT_OK(check_header(frame.head, {.max_meta_bytes = 40, .max_frame_bytes = size}));
  EXPECT_ERROR(check_header(frame.head, {.max_meta_bytes = 39, .max_frame_bytes = size}),
               Errc::invalid_argument, "max_meta_bytes = 39 bytes, found 40");
  EXPECT_ERROR(check_header(frame.head, {.max_meta_bytes = 40, .max_frame_bytes = size - 1}),
               Errc::invalid_argument, "max_frame_bytes");
}

TEST(FrameHeader, LengthsThatOverflowAreOverTheLimit) {
  Frame huge;  // segments that claim more than they are: only the header is looked at
  huge.segments.assign(
      4, Segment{nullptr, {static_cast<const std::byte*>(nullptr), ~std::size_t{0} / 2}});
  seal(huge);

  EXPECT_ERROR(check_header(huge.head, {.max_meta_bytes = 1, .max_frame_bytes = ~std::uint64_t{0}}),
               Errc::invalid_argument, "more than 2^64");
}

}  // namespace
}  // namespace troupe::net
