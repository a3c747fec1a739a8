#include "actors/error.hpp"

#include "tests/support/expect.hpp"

#include <caf/all.hpp>

namespace troupe {
namespace {

TEST(CafError, KeepsCodeAndSentenceBothWays) {
  const auto back = from_caf(to_caf(Error(Errc::data_corruption, "page 7: bad checksum")));

  EXPECT_EQ(back.code(), Errc::data_corruption);
  EXPECT_EQ(back.what(), "page 7: bad checksum");
}

TEST(CafError, TranslatesWhatTheActorSystemSays) {
  EXPECT_EQ(from_caf(caf::make_error(caf::sec::request_timeout)).code(), Errc::deadline_exceeded);
  EXPECT_EQ(from_caf(caf::make_error(caf::sec::request_receiver_down)).code(), Errc::peer_lost);
  EXPECT_EQ(from_caf(caf::make_error(caf::exit_reason::kill)).code(), Errc::peer_lost);
  EXPECT_EQ(from_caf(caf::make_error(caf::sec::unexpected_message)).code(), Errc::internal);
}

}  // namespace
}  // namespace troupe
