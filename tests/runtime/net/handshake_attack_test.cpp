// What somebody without the token, or on the way between two ends, can try.
#include "runtime/base/philox.hpp"
#include "runtime/net/handshake_wire.hpp"
#include "tests/runtime/net/handshake_test_support.hpp"
#include "tests/support/expect.hpp"

namespace troupe::net {
namespace {

using handshake::Kind;

bool refused(Handshake& end) {
  return !end.feed({}).ok() && !end.done();
}

std::string sent_text(const std::vector<Wire8>& messages) {
  std::string all;
  for (const auto& message : messages) {
    all.append(reinterpret_cast<const char*>(message.data()), message.size());
  }
  return all;
}

TEST(HandshakeAttack, ARecordedDiallerIsRefused) {
  Exchange recorded;
  recorded.run();
  ASSERT_TRUE(recorded.accepting->done());

  const auto fresh = Handshake::accept(options_of(2));
  ASSERT_OK(fresh->feed(recorded.dialled[0]));
  EXPECT_ERROR(fresh->feed(recorded.dialled[1]), Errc::unauthenticated, "different tokens");
}

TEST(HandshakeAttack, ARecordedAnswerIsRefused) {
  Exchange recorded;
  recorded.run();

  const auto fresh = Handshake::dial(options_of(1));
  EXPECT_ERROR(fresh->feed(recorded.accepted[0]), Errc::unauthenticated, "different tokens");
}

TEST(HandshakeAttack, ReflectedBytesAreRefused) {
  const auto dialling = Handshake::dial(options_of(1));
  EXPECT_ERROR(dialling->feed(dialling->output()), Errc::data_corruption, "expected Troupe's");
}

TEST(HandshakeAttack, AProofOfOneRoleIsNoneOfTheOther) {
  // The accepting end's own proof, given back to it as the dialling end's.
  const auto accepting = Handshake::accept(options_of(2));
  const auto dialling = Handshake::dial(options_of(1));
  ASSERT_OK(accepting->feed(dialling->output()));
  const auto challenge = accepting->output();
  auto claim = handshake::encode(handshake::Claim{options_of(1).self, {}, 0, options_of(1).job});
  claim.insert(claim.end(), challenge.end() - 32, challenge.end());
  EXPECT_ERROR(accepting->feed(claim), Errc::unauthenticated, "different tokens");

  // Even over the same bytes, each message has a proof of its own.
  const Wire8 bytes(100, std::byte{1});
  ASSERT_OK_AND_ASSIGN(const auto one, handshake::prove(token_of('7'), Kind::challenge, bytes));
  ASSERT_OK_AND_ASSIGN(const auto other, handshake::prove(token_of('7'), Kind::claim, bytes));
  EXPECT_NE(one, other);
}

TEST(HandshakeAttack, StrangersLearnNothingAboutTheJob) {
  // A stranger who dials, and one who listens, with everything right but the token.
  auto stranger = options_of(9);
  stranger.token = token_of('8');
  auto dials = exchange_of(stranger, options_of(2));
  dials.run();
  auto listens = exchange_of(options_of(1), stranger);
  listens.run();
  for (const auto& shown : {sent_text(dials.accepted), sent_text(listens.dialled)}) {
    EXPECT_FALSE(shown.empty());
    EXPECT_FALSE(has(shown, "papers")) << "the job id";
    EXPECT_FALSE(has(shown, "host-")) << "an address";
    EXPECT_LE(shown.size(), 80U);
  }
}

TEST(HandshakeAttack, NoTextOfAStrangerIsInAnError) {
  auto stranger = options_of(9);
  stranger.token = token_of('8');
  stranger.job = "evil-job";
  stranger.self.address = "evil-host:1";
  for (const auto* transport : {"tcp", "evil"}) {
    stranger.transport = transport;
    auto exchange = exchange_of(stranger, options_of(2));
    exchange.run();
    EXPECT_FALSE(has(exchange.accepting_end().error, "evil"));
    auto turned = exchange_of(options_of(1), stranger);
    turned.run();
    EXPECT_FALSE(has(turned.dialling_end().error, "evil"));
  }
}

TEST(HandshakeAttack, EveryFlippedBitOfEveryMessageIsRefused) {
  Exchange undisturbed;
  undisturbed.run();
  const std::vector<std::size_t> sizes{
      undisturbed.dialled[0].size(), undisturbed.accepted[0].size(), undisturbed.dialled[1].size(),
      undisturbed.accepted[1].size()};
  for (std::size_t message = 0; message < sizes.size(); ++message) {
    for (std::size_t bit = 0; bit < 8 * sizes[message]; ++bit) {
      Exchange exchange;
      exchange.run([&](std::size_t number, Wire8& bytes) {
        if (number == message) {
          bytes[bit / 8] ^= std::byte{1} << (bit % 8);
        }
      });
      // The end that got the changed message notices; behind the last one the other is done already.
      auto& receiver = message % 2 == 0 ? exchange.accepting : exchange.dialling;
      EXPECT_TRUE(refused(message == 0 ? *exchange.dialling : *receiver))
          << "message " << message << ", bit " << bit;
      EXPECT_TRUE(message == 3 || refused(*exchange.dialling)) << message << ", bit " << bit;
      EXPECT_TRUE(message == 3 || refused(*exchange.accepting)) << message << ", bit " << bit;
    }
  }
}

TEST(HandshakeAttack, FlippedBitsOfARefusalDoNotMakeItSomethingElse) {
  auto accepting = options_of(2);
  accepting.admit = [](const PeerIdentity&) -> Status { return Error(Errc::fenced, "replaced"); };
  for (std::size_t bit = 0; bit < 8 * size_of(Kind::denied); ++bit) {
    auto exchange = exchange_of(options_of(1), accepting);
    exchange.run([&](std::size_t number, Wire8& bytes) {
      if (number == 3) {
        bytes[bit / 8] ^= std::byte{1} << (bit % 8);
      }
    });
    const auto outcome = exchange.dialling_end();
    EXPECT_FALSE(outcome.done);
    EXPECT_TRUE(begins(outcome.error, "unauthenticated") ||
                begins(outcome.error, "data_corruption"))
        << outcome.error;
    EXPECT_FALSE(exchange.dialling->error_is_proven());
  }
}

TEST(HandshakeAttack, ARefusalCutInAfterAGoodChallengeIsNotProven) {
  for (const std::size_t instead_of : {1U, 3U}) {
    Exchange exchange;
    exchange.run([&](std::size_t number, Wire8& bytes) {
      if (number == instead_of) {
        bytes = handshake::encode(handshake::Refused{handshake::Reason::token, {0, 0}});
      }
    });
    EXPECT_TRUE(begins(exchange.dialling_end().error, "unauthenticated"));
    EXPECT_FALSE(exchange.dialling->error_is_proven());
  }
}

TEST(HandshakeAttack, OtherProtocolsAreRefusedAtTheirFirstBytes) {
  const auto bytes = [](std::string_view text) {
    return Wire8(std::as_bytes(std::span(text)).begin(), std::as_bytes(std::span(text)).end());
  };
  for (const std::string_view text :
       {"G", "TG", "TRE", "TRHx", "\x16\x03\x01", "SSH-2.0-", "TRT1"}) {
    const auto accepting = Handshake::accept(options_of(2));
    EXPECT_ERROR(accepting->feed(bytes(text)), Errc::data_corruption,
                 "both ends use TLS or neither");
    EXPECT_EQ(accepting->output().size(), size_of(Kind::refused));
    EXPECT_TRUE(accepting->output().empty()) << "said once";
    EXPECT_ERROR(accepting->feed(bytes("TRH\x11")), Errc::data_corruption, "expected Troupe's");
  }
}

TEST(HandshakeAttack, MessagesOutOfTurnAreRefusedAtTheirFirstBytes) {
  const Kind all[] = {Kind::hello, Kind::challenge, Kind::claim, Kind::accepted, Kind::denied};
  for (const auto kind : all) {
    const Wire8 head{std::byte{'T'}, std::byte{'R'}, std::byte{'H'}, static_cast<std::byte>(kind)};
    EXPECT_EQ(Handshake::accept(options_of(2))->feed(head).ok(), kind == Kind::hello);
    EXPECT_EQ(Handshake::dial(options_of(1))->feed(head).ok(), kind == Kind::challenge);
  }
}

TEST(HandshakeAttack, OversizedInputIsNotHeld) {
  // A hello and then a megabyte: only the four bytes that show it to be no claim are looked at.
  const auto accepting = Handshake::accept(options_of(2));
  auto bytes = Handshake::dial(options_of(1))->output();
  bytes.resize(std::size_t{1} << 20, std::byte{0xA5});
  EXPECT_ERROR(accepting->feed(bytes), Errc::data_corruption, "expected Troupe's");
  EXPECT_LE(accepting->output().size(), max_handshake_bytes);
}

TEST(HandshakeAttack, RandomBytesAreRefused) {
  DrawStream draws({{3, 5}}, 1U << 16);
  for (int i = 0; i < 2000; ++i) {
    Wire8 bytes(1 + draws.below(600));
    for (auto& byte : bytes) {
      byte = static_cast<std::byte>(draws.below(256));
    }
    // From behind the first bytes of a message, so that more than those is looked at.
    const auto from = Handshake::dial(options_of(1))->output();
    const std::size_t keep = draws.below(static_cast<std::uint32_t>(from.size()) + 1);
    std::copy_n(from.begin(), std::min(keep, bytes.size()), bytes.begin());
    const auto accepting = Handshake::accept(options_of(2));
    (void)accepting->feed(bytes);
    EXPECT_FALSE(accepting->done());
    const auto dialling = Handshake::dial(options_of(1));
    (void)dialling->feed(bytes);
    EXPECT_FALSE(dialling->done());
  }
}

TEST(HandshakeAttack, ImpossibleContentsAreRefusedEvenWithTheToken) {
  // A hello whose transport is longer than its field, or has something behind it.
  for (const std::size_t at : {8U, 14U}) {
    auto hello = Handshake::dial(options_of(1))->output();
    hello[at] = std::byte{0x7F};
    EXPECT_ERROR(Handshake::accept(options_of(2))->feed(hello), Errc::data_corruption,
                 "expected Troupe's");
  }
  // A claim with a good proof and a job id that is too long.
  const auto accepting = Handshake::accept(options_of(2));
  auto so_far = Handshake::dial(options_of(1))->output();
  ASSERT_OK(accepting->feed(so_far));
  const auto challenge = accepting->output();
  so_far.insert(so_far.end(), challenge.begin(), challenge.end());
  auto claim = handshake::encode(handshake::Claim{options_of(1).self, {}, 0, ""});
  claim[claim.size() - handshake::max_job_bytes - 2] = std::byte{65};
  so_far.insert(so_far.end(), claim.begin(), claim.end());
  ASSERT_OK_AND_ASSIGN(const auto proof, handshake::prove(token_of('7'), Kind::claim, so_far));
  claim.insert(claim.end(), proof.begin(), proof.end());
  EXPECT_ERROR(accepting->feed(claim), Errc::data_corruption, "expected Troupe's");
}

TEST(HandshakeAttack, NoncesAreNeverUsedAgain) {
  EXPECT_NE(Handshake::dial(options_of(1))->output(), Handshake::dial(options_of(1))->output());
}

}  // namespace
}  // namespace troupe::net
