#include "runtime/base/digest.hpp"

#include "tests/support/expect.hpp"

namespace troupe {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

TEST(Digest, OfNothingIsThePublishedXxh3) {
  EXPECT_EQ(to_string(digest_of({})), "99aa06d3014798d86001c324468d497f");
}

TEST(Digest, TextAndBack) {
  const Digest digest{.low = 0x0123456789ABCDEF, .high = 0x00000000000000FF};
  EXPECT_EQ(to_string(digest), "00000000000000ff0123456789abcdef");
  ASSERT_OK_AND_ASSIGN(const Digest parsed, parse_digest(to_string(digest)));
  EXPECT_EQ(parsed, digest);
}

TEST(Digest, TextThatIsNoDigestIsRefused) {
  for (const std::string text :
       {"", "123", "00000000000000ff0123456789abcdeg", "00000000000000ff0123456789abcdef0",
        "-0000000000000ff0123456789abcdef", "00000000000000ff 123456789abcdef"}) {
    EXPECT_ERROR(parse_digest(text), Errc::invalid_argument, "32 hexadecimal digits");
  }
}

TEST(DigestBuilder, BytesInPiecesGiveTheDigestOfTheWhole) {
  DigestBuilder builder;
  builder.add_bytes(bytes_of("feature"));
  builder.add_bytes({});
  builder.add_bytes(bytes_of(" rows"));
  EXPECT_EQ(builder.digest(), digest_of(bytes_of("feature rows")));
}

TEST(DigestBuilder, BordersBetweenArraysCount) {
  const std::vector<std::uint32_t> values = {1, 2, 3};
  const std::span<const std::uint32_t> all(values);
  const auto split_at = [&](std::size_t at) {
    DigestBuilder builder;
    builder.add_array(all.first(at));
    builder.add_array(all.subspan(at));
    return builder.digest();
  };
  EXPECT_NE(split_at(0), split_at(1));
  EXPECT_NE(split_at(1), split_at(2));
  EXPECT_EQ(split_at(1), split_at(1));
}

TEST(DigestBuilder, FeedingMayGoOnAfterReading) {
  DigestBuilder builder;
  builder.add(5);
  const Digest early = builder.digest();
  EXPECT_EQ(builder.digest(), early);
  builder.add(early);
  EXPECT_NE(builder.digest(), early);

  DigestBuilder moved = std::move(builder);
  DigestBuilder same;
  same.add(5);
  same.add(early);
  EXPECT_EQ(moved.digest(), same.digest());
}

}  // namespace
}  // namespace troupe
