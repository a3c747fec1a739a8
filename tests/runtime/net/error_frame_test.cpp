#include "runtime/net/endpoint.hpp"
#include "tests/runtime/net/net_test_support.hpp"
#include "tests/support/expect.hpp"

namespace troupe::net {
namespace {

TEST(ErrorReply, EveryCodeComesBack) {
  for (int code = 1; code <= static_cast<int>(Errc::internal); ++code) {
    Frame frame;
    encode_error(Error(static_cast<Errc>(code), "half: expected even x, got 3"), frame);
    const Error back = decode_error(frame);
    EXPECT_EQ(back.code(), static_cast<Errc>(code));
    EXPECT_EQ(back.what(), "half: expected even x, got 3");
  }
}

TEST(ErrorReply, LongSentencesAreCutBetweenCharacters) {
  Frame frame;
  std::string sentence(4095, 'x');
  sentence += "ä";
  sentence.append(5000, 'y');
  encode_error(Error(Errc::internal, sentence), frame);
  EXPECT_LT(frame.size_bytes(), 4400U);
  EXPECT_EQ(decode_error(frame).what(), std::string(4095, 'x'));
}

TEST(ErrorReply, DamagedOnesBecomeSomeError) {
  Frame frame;
  encode_error(Error(Errc::overloaded, "a sentence of some length"), frame);
  for (std::size_t bit = 0; bit < frame.meta.size() * 64; ++bit) {
    Frame changed = frame;
    reinterpret_cast<unsigned char*>(changed.meta.data())[bit / 8] ^=
        static_cast<unsigned char>(1U << (bit % 8));
    EXPECT_NE(decode_error(changed).code(), Errc::ok);
  }
  EXPECT_EQ(decode_error(Frame{}).code(), Errc::data_corruption);
}

}  // namespace
}  // namespace troupe::net
