// One end of a handshake and what its peer sends (handshake_input.hpp), in two cuts that must not
// matter. Nobody is let in without the token.
#include "fuzz/handshake_input.hpp"
#include "fuzz/targets.hpp"

namespace troupe::fuzz {
namespace {

using namespace net;
using handshake::Kind;
using handshake::Proof;

struct Ended {
  bool done = false;
  std::string error;
  PeerIdentity peer;
  std::size_t taken = 0;
  bool operator==(const Ended&) const = default;
};

class Peer {
 public:
  Peer(std::uint8_t flags, std::span<const std::byte> sends)
      : sealed_((flags & handshake_sealed) != 0), rest_(sends) {
    auto options = handshake_options(1);
    options.admit = [](const PeerIdentity& peer) {
      return peer.incarnation == 7 ? Status(Error(Errc::fenced, "replaced")) : ok_status();
    };
    options.expect_process = ProcessId{2};
    options.expect_incarnation = (flags & 4) != 0 ? 1 : 0;
    end_ = (flags & handshake_dials) != 0 ? Handshake::dial(std::move(options))
                                          : Handshake::accept(std::move(options));
  }

  /// Sends everything, in cuts of `cut` bytes inside each message.
  Ended run(std::size_t cut) {
    for (hear(); !rest_.empty() && !end_->done(); hear()) {
      const auto message = next_message();
      for (std::size_t at = 0; at < message.size(); at += cut) {
        const auto bytes = std::span(message).subspan(at, std::min(cut, message.size() - at));
        const auto took = end_->feed(bytes);
        if (!took.ok()) {
          return failed(took.error());
        }
        ended_.taken += *took;
      }
    }
    ended_.done = end_->done();
    if (ended_.done) {
      ended_.peer = end_->peer();
      require(sealed_, "who is let in knows the token");
      require(ended_.peer.incarnation != 7 || !accepts_, "who is let in was admitted");
    }
    return ended_;
  }

 private:
  /// Takes what the end says.
  void hear() {
    const auto said = end_->output();
    said_ += said.size();
    so_far_.insert(so_far_.end(), said.begin(), said.end());
    require(said_ <= max_handshake_bytes, "what is said is bounded");
  }

  Ended failed(const Error& error) {
    hear();
    require(!end_->done() && !error.what().empty(), "an error is the end, and has a sentence");
    const auto again = end_->feed(rest_);
    require(!again.ok() && again.error().what() == error.what(), "an error lasts");
    require(end_->output().empty(), "a refusal is said once");
    require(error.what().size() <= 2048, "a sentence is bounded");
    ended_.error = std::string(to_string(error.code())) + ": " + error.what();
    return ended_;
  }

  /// The next message as its first bytes tell it, else all that is left.
  std::vector<std::byte> next_message() {
    const auto kind = handshake::kind_of(rest_.first(std::min<std::size_t>(rest_.size(), 4)));
    const bool whole = kind.ok() && *kind && rest_.size() >= size_of(**kind);
    const auto bytes = rest_.first(whole ? size_of(**kind) : rest_.size());
    rest_ = rest_.subspan(bytes.size());
    std::vector<std::byte> message(bytes.begin(), bytes.end());
    if (whole && sealed_ && **kind != Kind::hello && **kind != Kind::refused) {
      seal(**kind, message);
    }
    so_far_.insert(so_far_.end(), message.begin(), message.end());
    accepts_ = accepts_ || (whole && **kind == Kind::claim);
    return message;
  }

  void seal(Kind kind, std::vector<std::byte>& message) const {
    auto proven = so_far_;
    proven.insert(proven.end(), message.begin(), message.end() - sizeof(Proof));
    const auto proof = handshake::prove(handshake_options(1).token, kind, proven);
    require(proof.ok(), "HMAC works");
    std::ranges::copy(*proof, message.end() - sizeof(Proof));
  }

  bool sealed_;
  bool accepts_ = false;
  std::span<const std::byte> rest_;
  std::unique_ptr<Handshake> end_;
  std::vector<std::byte> so_far_;
  std::size_t said_ = 0;
  Ended ended_;
};

/// What is accepted is written again and comes back the same.
void decode_all(std::span<const std::byte> bytes) {
  const auto kind = handshake::kind_of(bytes.first(std::min<std::size_t>(bytes.size(), 4)));
  if (!kind.ok() || !*kind || bytes.size() < size_of(**kind)) {
    return;
  }
  const auto message = bytes.first(size_of(**kind));
  const auto same_again = [&](const auto& decoded) {
    if (!decoded.ok()) {
      return;
    }
    const auto again = handshake::encode(*decoded);
    require(std::ranges::equal(again, message.first(again.size())), "a message has one encoding");
  };
  switch (**kind) {
    case Kind::hello:
      return same_again(handshake::decode_hello(message));
    case Kind::challenge:
      return same_again(handshake::decode_challenge(message));
    case Kind::claim:
      return same_again(handshake::decode_claim(message));
    case Kind::accepted:
      return same_again(handshake::decode_accepted(message));
    case Kind::refused:
      return same_again(handshake::decode_refused(message));
    case Kind::denied:
      return same_again(handshake::decode_denied(message));
  }
}

}  // namespace

void run_handshake(Input input) {
  Bytes bytes(input);
  const auto flags = bytes.number<std::uint8_t>();
  const std::size_t cut = 1 + bytes.number<std::uint8_t>();
  const auto sends = std::as_bytes(bytes.rest());
  decode_all(sends);
  const auto whole = Peer(flags, sends).run(std::max<std::size_t>(sends.size(), 1));
  const auto in_cuts = Peer(flags, sends).run(cut);
  require(whole.done == in_cuts.done && whole.peer == in_cuts.peer,
          "who is let in is not for the cut");
  require(whole.error == in_cuts.error, "nor why not");
  require(!whole.done || whole.taken == in_cuts.taken, "nor what is left for the link");
}

}  // namespace troupe::fuzz

TROUPE_FUZZ_TARGET(troupe::fuzz::run_handshake)
