#include "runtime/net/handshake.hpp"

#include "runtime/net/frame.hpp"
#include "tests/runtime/net/handshake_test_support.hpp"
#include "tests/support/expect.hpp"

namespace troupe::net {
namespace {

const Outcome satisfied{true, ""};

/// Both ends failed, with the same words.
void expect_both(Exchange& exchange, const std::string& code, const std::string& part) {
  exchange.run();
  const auto dialling = exchange.dialling_end();
  const auto accepting = exchange.accepting_end();
  EXPECT_EQ(dialling, accepting);
  EXPECT_FALSE(dialling.done);
  EXPECT_TRUE(begins(dialling.error, code + ": ")) << dialling.error;
  EXPECT_TRUE(has(dialling.error, part)) << dialling.error;
}

TEST(Handshake, TellsBothEndsWhoThePeerIs) {
  Exchange exchange;

  exchange.run();

  EXPECT_EQ(exchange.dialling_end(), satisfied);
  EXPECT_EQ(exchange.accepting_end(), satisfied);
  EXPECT_EQ(exchange.dialling->peer(), options_of(2).self);
  EXPECT_EQ(exchange.accepting->peer(), options_of(1).self);
  EXPECT_EQ(exchange.dialling->version(), FrameHeader::protocol_version);
}

TEST(Handshake, IsNotDoneBeforeItsLastMessageIsTaken) {
  Exchange exchange;
  ASSERT_OK(exchange.accepting->feed(exchange.dialling->output()));
  ASSERT_OK(exchange.dialling->feed(exchange.accepting->output()));
  ASSERT_OK(exchange.accepting->feed(exchange.dialling->output()));

  EXPECT_FALSE(exchange.accepting->done());
  ASSERT_OK(exchange.dialling->feed(exchange.accepting->output()));
  EXPECT_TRUE(exchange.accepting->done());
  EXPECT_TRUE(exchange.dialling->done());
}

TEST(Handshake, TakesBytesInAnyCut) {
  for (const std::size_t step : {1U, 2U, 3U, 5U, 31U, 64U, 255U}) {
    Exchange exchange;
    for (int round = 0; round < 4; ++round) {
      auto& from = round % 2 == 0 ? exchange.dialling : exchange.accepting;
      auto& to = round % 2 == 0 ? exchange.accepting : exchange.dialling;
      const auto bytes = from->output();
      for (std::size_t at = 0; at < bytes.size(); at += step) {
        const auto cut = std::span(bytes).subspan(at, std::min(step, bytes.size() - at));
        ASSERT_OK_AND_ASSIGN(const std::size_t taken, to->feed(cut));
        EXPECT_EQ(taken, cut.size());
      }
    }
    EXPECT_EQ(exchange.dialling_end(), satisfied) << step;
    EXPECT_EQ(exchange.accepting_end(), satisfied) << step;
  }
}

TEST(Handshake, LeavesWhatFollowsForTheLink) {
  Exchange exchange;
  ASSERT_OK(exchange.accepting->feed(exchange.dialling->output()));
  ASSERT_OK(exchange.dialling->feed(exchange.accepting->output()));
  ASSERT_OK(exchange.accepting->feed(exchange.dialling->output()));
  auto last = exchange.accepting->output();
  const auto size = last.size();
  last.resize(size + sizeof(FrameHeader), std::byte{0x5A});

  ASSERT_OK_AND_ASSIGN(const std::size_t taken, exchange.dialling->feed(last));
  EXPECT_EQ(taken, size);
  ASSERT_OK_AND_ASSIGN(const std::size_t more, exchange.dialling->feed(last));
  EXPECT_EQ(more, 0U);
  EXPECT_TRUE(exchange.dialling->done());
}

TEST(Handshake, WrongTokenIsSaidAtBothEnds) {
  auto stranger = options_of(1);
  stranger.token = token_of('8');
  auto exchange = exchange_of(stranger, options_of(2));
  expect_both(exchange, "unauthenticated", "try: start both ends with the same token file");
}

TEST(Handshake, AnEndWithoutTokenTellsItsPeerToo) {
  auto without = options_of(1);
  without.token = Token();
  auto dialling = exchange_of(without, options_of(2));
  expect_both(dialling, "unauthenticated", "one has none");
  auto accepting = exchange_of(options_of(1), without);
  expect_both(accepting, "unauthenticated", "one has none");
}

TEST(Handshake, TwoEndsWithoutTokenDoNotAgree) {
  auto without = options_of(1);
  without.token = Token();
  auto exchange = exchange_of(without, without);
  expect_both(exchange, "unauthenticated", "one has none");
}

TEST(Handshake, OtherJobIsSaidAtBothEndsByName) {
  auto other = options_of(1);
  other.job = "products-11";
  auto exchange = exchange_of(other, options_of(2));
  expect_both(exchange, "unauthenticated",
              "accepting end belongs to job 'papers-7f3a', the dialling end to job 'products-11'");
}

TEST(Handshake, OtherTransportIsSaidAtBothEnds) {
  auto other = options_of(1);
  other.transport = "tcp+tls";
  auto exchange = exchange_of(other, options_of(2));
  expect_both(exchange, "invalid_argument", "different transports");
}

TEST(Handshake, TakesTheNewestVersionThatBothSpeak) {
  auto older = options_of(1);
  older.versions = {1, 4};
  auto newer = options_of(2);
  newer.versions = {3, 9};
  for (const bool swap : {false, true}) {
    auto exchange = swap ? exchange_of(newer, older) : exchange_of(older, newer);
    exchange.run();
    ASSERT_EQ(exchange.dialling_end(), satisfied);
    EXPECT_EQ(exchange.dialling->version(), 4);
    EXPECT_EQ(exchange.accepting->version(), 4);
  }
}

TEST(Handshake, VersionsThatDoNotMeetAreSaidWithBothRanges) {
  auto older = options_of(1);
  older.versions = {1, 2};
  auto newer = options_of(2);
  newer.versions = {3, 9};
  auto to_newer = exchange_of(older, newer);
  expect_both(to_newer, "unimplemented",
              "accepting end speaks versions 3 to 9 of the protocol, the "
              "dialling end 1 to 2");
  auto to_older = exchange_of(newer, older);
  expect_both(to_older, "unimplemented",
              "accepting end speaks versions 1 to 2 of the protocol, the "
              "dialling end 3 to 9");
}

TEST(Handshake, FindsAnotherIncarnationOrProcessThanExpected) {
  auto dialling = options_of(1);
  dialling.expect_process = ProcessId{2};
  dialling.expect_incarnation = 1;
  auto as_expected = exchange_of(dialling, options_of(2));
  as_expected.run();
  EXPECT_EQ(as_expected.dialling_end(), satisfied);

  auto replaced = options_of(2);
  replaced.self.incarnation = 3;
  auto later = exchange_of(dialling, replaced);
  expect_both(later, "fenced",
              "expected process 2, incarnation 1, and found process 2, "
              "incarnation 3");
  auto elsewhere = exchange_of(dialling, options_of(5));
  expect_both(elsewhere, "fenced", "found process 5, incarnation 1");
}

TEST(Handshake, WhoAdmitsHasTheLastWordAndItReachesThePeer) {
  auto accepting = options_of(2);
  std::vector<PeerIdentity> asked;
  accepting.admit = [&](const PeerIdentity& peer) -> Status {
    asked.push_back(peer);
    return Error(Errc::fenced, "process 1 was replaced by incarnation 2");
  };
  auto exchange = exchange_of(options_of(1), accepting);
  expect_both(exchange, "fenced", "process 1 was replaced by incarnation 2");
  EXPECT_EQ(asked, std::vector{options_of(1).self});
}

TEST(Handshake, NobodyIsAdmittedWithoutTheToken) {
  auto accepting = options_of(2);
  accepting.admit = [](const PeerIdentity&) -> Status {
    ADD_FAILURE() << "a stranger was shown to the one who admits";
    return ok_status();
  };
  auto stranger = options_of(1);
  stranger.token = token_of('8');
  auto exchange = exchange_of(stranger, accepting);
  expect_both(exchange, "unauthenticated", "different tokens");
}

TEST(Handshake, ALongSentenceIsCutTheSameAtBothEnds) {
  auto accepting = options_of(2);
  accepting.admit = [](const PeerIdentity&) -> Status {
    std::string long_one = "x";
    for (int i = 0; i < 1000; ++i) {
      long_one += "\u00e9";
    }
    return Error(Errc::overloaded, long_one);
  };
  auto exchange = exchange_of(options_of(1), accepting);
  expect_both(exchange, "overloaded", "x\u00e9");
  EXPECT_EQ(exchange.dialling_end().error.size(), std::string("overloaded: ").size() + 1023);
}

TEST(Handshake, OptionsThatDoNotFitAreTheFirstError) {
  auto job = options_of(1);
  job.job = std::string(65, 'j');
  EXPECT_ERROR(Handshake::dial(job)->feed({}), Errc::invalid_argument,
               "expected a job id of at most 64 bytes, got 65");
  auto transport = options_of(1);
  transport.transport = std::string(17, 't');
  EXPECT_ERROR(Handshake::accept(transport)->feed({}), Errc::invalid_argument,
               "expected a transport of at most 16 bytes, got 17");
  auto address = options_of(1);
  address.self.address = std::string(261, 'a');
  EXPECT_ERROR(Handshake::dial(address)->feed({}), Errc::invalid_argument,
               "expected an address of at most 260 bytes, got 261");
  auto versions = options_of(1);
  versions.versions = {2, 1};
  EXPECT_ERROR(Handshake::dial(versions)->feed({}), Errc::invalid_argument, "got 2 to 1");
  EXPECT_TRUE(Handshake::dial(job)->output().empty());
}

TEST(Handshake, TextsAsLongAsTheirBoundsFitInto4096Bytes) {
  auto dialling = options_of(1);
  dialling.job = std::string(64, 'j');
  dialling.transport = std::string(16, 't');
  dialling.self.address = std::string(260, 'a');
  auto accepting = dialling;
  accepting.self.process = ProcessId{2};
  auto exchange = exchange_of(dialling, accepting);
  exchange.run();

  EXPECT_EQ(exchange.dialling_end(), satisfied);
  EXPECT_EQ(exchange.accepting->peer().address, dialling.self.address);
  std::size_t bytes = 0;
  for (const auto& message : exchange.dialled) {
    bytes += message.size();
  }
  EXPECT_LE(bytes, max_handshake_bytes);
}

}  // namespace
}  // namespace troupe::net
