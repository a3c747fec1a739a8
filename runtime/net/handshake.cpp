#include "runtime/net/handshake.hpp"

#include "runtime/base/cut_text.hpp"
#include "runtime/net/frame.hpp"
#include "runtime/net/handshake_errors.hpp"
#include "runtime/net/handshake_wire.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <openssl/rand.h>
#include <optional>
#include <utility>

namespace troupe::net {
namespace {

using namespace handshake;

static_assert(VersionRange{}.newest == FrameHeader::protocol_version);

Status check_options(const HandshakeOptions& options) {
  const auto at_most = [](std::string_view what, const std::string& text, std::size_t most) {
    return text.size() <= most
               ? ok_status()
               : Status(Error(Errc::invalid_argument,
                              fmt::format("handshake: expected {} of at most {} bytes, got {}",
                                          what, most, text.size())));
  };
  TROUPE_RETURN_IF_ERROR(at_most("a job id", options.job, max_job_bytes));
  TROUPE_RETURN_IF_ERROR(at_most("a transport", options.transport, max_transport_bytes));
  TROUPE_RETURN_IF_ERROR(at_most("an address", options.self.address, max_address_bytes));
  if (options.versions.oldest > options.versions.newest) {
    return Error(Errc::invalid_argument,
                 fmt::format("handshake: expected a range of versions, got {} to {}",
                             options.versions.oldest, options.versions.newest));
  }
  if (options.token.empty()) {
    return wrong_token();
  }
  return ok_status();
}

Result<Nonce> fresh_nonce() {
  Nonce nonce;
  if (RAND_bytes(reinterpret_cast<unsigned char*>(nonce.data()), static_cast<int>(nonce.size())) !=
      1) {
    return Error(Errc::internal, "handshake: the system gave no random bytes");
  }
  return nonce;
}

/// What both ends do: whole messages in, messages with their proofs out, errors that last.
class End : public Handshake {
 public:
  Result<std::size_t> feed(std::span<const std::byte> bytes) final {
    std::size_t taken = 0;
    while (!error_ && !finished_ && taken < bytes.size()) {
      const auto next = bytes.subspan(taken, std::min(missing(), bytes.size() - taken));
      held_.insert(held_.end(), next.begin(), next.end());
      taken += next.size();
      look();
    }
    return error_ ? Result<std::size_t>(*error_) : taken;
  }
  std::vector<std::byte> output() final { return std::exchange(output_, {}); }
  bool done() const final { return finished_ && output_.empty(); }
  const PeerIdentity& peer() const final {
    TROUPE_ASSERT(done(), "the peer is known when the handshake is done");
    return peer_;
  }
  std::uint16_t version() const final {
    TROUPE_ASSERT(done(), "the version is known when the handshake is done");
    return version_;
  }
  const SessionKey& session_key() const final {
    TROUPE_ASSERT(done(), "the key is known when the handshake is done");
    return key_;
  }
  bool error_is_proven() const final { return error_.has_value() && proven_; }

 protected:
  explicit End(HandshakeOptions options) : options_(std::move(options)) {
    if (auto status = check_options(options_); !status) {
      error_ = std::move(status).error();
      if (options_.token.empty()) {
        put(encode(Refused{Reason::token, {0, 0}}));
      }
    }
  }

  virtual bool awaits(Kind kind) const = 0;
  /// \param message  whole, its proof was good
  virtual void take(Kind kind, std::span<const std::byte> message) = 0;

  /// Ends the handshake and tells the peer.
  void refuse(Reason reason, Error error) {
    put(encode(
        Refused{reason, reason == Reason::versions ? options_.versions : VersionRange{0, 0}}));
    error_ = std::move(error);
  }
  void fail(Error error) { error_ = std::move(error); }
  void finish(PeerIdentity peer) {
    const auto key = keyed_hash(options_.token.bytes(), "troupe session key\n", so_far_);
    if (!key) {
      return fail(key.error());
    }
    key_ = *key;
    peer_ = std::move(peer);
    finished_ = true;
  }
  void send_plain(std::span<const std::byte> message) {
    record(message);
    put(message);
  }
  void send_proven(Kind kind, std::span<const std::byte> message) {
    record(message);
    const auto proof = prove(options_.token, kind, so_far_);
    if (!proof) {
      return fail(proof.error());
    }
    record(*proof);
    put(message);
    put(*proof);
  }
  /// The value, or refuses what cannot be one.
  template <class T>
  std::optional<T> possible(Result<T> decoded) {
    if (!decoded) {
      refuse(Reason::not_a_handshake, not_a_handshake());
      return std::nullopt;
    }
    return *std::move(decoded);
  }
  const HandshakeOptions& options() const { return options_; }
  void set_version(std::uint16_t version) { version_ = version; }

 private:
  static constexpr std::size_t head_bytes = 4;

  /// Bytes until there is something new to look at.
  std::size_t missing() const {
    return (held_.size() < head_bytes ? head_bytes : size_of(held_kind())) - held_.size();
  }
  Kind held_kind() const { return static_cast<Kind>(held_[head_bytes - 1]); }

  void look() {
    const auto kind = kind_of(held_);
    if (!kind || (*kind && **kind != Kind::refused && !awaits(**kind))) {
      return refuse(Reason::not_a_handshake, not_a_handshake());
    }
    if (!*kind || held_.size() < size_of(**kind)) {
      return;
    }
    const auto message = std::exchange(held_, {});
    if (**kind == Kind::refused) {
      return be_refused(message);
    }
    if (verify(**kind, message)) {
      take(**kind, message);
    }
  }

  void be_refused(std::span<const std::byte> message) {
    const auto refused = decode_refused(message);
    if (!refused) {
      return fail(not_a_handshake());
    }
    switch (refused->reason) {
      case Reason::not_a_handshake:
        return fail(not_a_handshake());
      case Reason::versions:
        return fail(peer_lacks_version(refused->versions));
      case Reason::transport:
        return fail(other_transport());
      case Reason::token:
        return fail(wrong_token());
    }
  }
  virtual Error peer_lacks_version(VersionRange theirs) const = 0;

  /// A hello has no proof; it is covered by all that follow.
  bool verify(Kind kind, std::span<const std::byte> message) {
    if (kind == Kind::hello) {
      record(message);
      return true;
    }
    record(message.first(message.size() - sizeof(Proof)));
    const auto proof = prove(options_.token, kind, so_far_);
    if (!proof) {
      fail(proof.error());
      return false;
    }
    record(*proof);
    if (!same(*proof, message.last(sizeof(Proof)))) {
      refuse(Reason::token, wrong_token());
      return false;
    }
    proven_ = kind != Kind::challenge;  // after which anybody may still cut in with `refused`
    return true;
  }

  void record(std::span<const std::byte> bytes) {
    so_far_.insert(so_far_.end(), bytes.begin(), bytes.end());
  }
  void put(std::span<const std::byte> bytes) {
    output_.insert(output_.end(), bytes.begin(), bytes.end());
  }

  HandshakeOptions options_;
  std::vector<std::byte> held_;    ///< of one message, not complete
  std::vector<std::byte> so_far_;  ///< of both ends, as prove() takes it
  std::vector<std::byte> output_;
  std::optional<Error> error_;
  bool finished_ = false;
  bool proven_ = false;  ///< the last message's proof was good, and the handshake ends with it
  PeerIdentity peer_;
  SessionKey key_{};
  std::uint16_t version_ = 0;
};

class DiallingEnd final : public End {
 public:
  explicit DiallingEnd(HandshakeOptions given) : End(std::move(given)) {
    if (!feed({})) {
      return;
    }
    const auto nonce = fresh_nonce();
    if (!nonce) {
      fail(nonce.error());
      return;
    }
    send_plain(encode(Hello{options().versions, options().transport, *nonce}));
  }

 private:
  bool awaits(Kind kind) const override {
    return claimed_ ? kind == Kind::accepted || kind == Kind::denied : kind == Kind::challenge;
  }

  void take(Kind kind, std::span<const std::byte> message) override {
    if (kind == Kind::challenge) {
      return claim(message);
    }
    if (kind == Kind::denied) {
      if (const auto denied = possible(decode_denied(message))) {
        fail(told(*denied));
      }
      return;
    }
    auto accepted = possible(decode_accepted(message));
    if (!accepted) {
      return;
    }
    if (!expected(options(), accepted->self)) {
      return fail(
          not_expected(options().expect_process, options().expect_incarnation, accepted->self));
    }
    finish(std::move(accepted->self));
  }

  void claim(std::span<const std::byte> message) {
    const auto challenge = possible(decode_challenge(message));
    if (!challenge) {
      return;
    }
    const auto [oldest, newest] = options().versions;
    if (challenge->version < oldest || challenge->version > newest) {
      return refuse(Reason::not_a_handshake, not_a_handshake());
    }
    set_version(challenge->version);
    claimed_ = true;
    send_proven(Kind::claim, encode(Claim{options().self, options().expect_process,
                                          options().expect_incarnation, options().job}));
  }

  static bool expected(const HandshakeOptions& options, const PeerIdentity& found) {
    return options.expect_incarnation == 0 || (options.expect_process == found.process &&
                                               options.expect_incarnation == found.incarnation);
  }

  Error peer_lacks_version(VersionRange theirs) const override {
    return no_common_version(theirs, options().versions);
  }

  bool claimed_ = false;
};

class AcceptingEnd final : public End {
 public:
  explicit AcceptingEnd(HandshakeOptions given) : End(std::move(given)) {}

 private:
  bool awaits(Kind kind) const override {
    return kind == (challenged_ ? Kind::claim : Kind::hello);
  }

  void take(Kind kind, std::span<const std::byte> message) override {
    kind == Kind::hello ? challenge(message) : answer(message);
  }

  void challenge(std::span<const std::byte> message) {
    const auto hello = possible(decode_hello(message));
    if (!hello) {
      return;
    }
    const auto own = options().versions;
    const auto version = std::min(own.newest, hello->versions.newest);
    if (version < own.oldest || version < hello->versions.oldest) {
      return refuse(Reason::versions, no_common_version(own, hello->versions));
    }
    if (hello->transport != options().transport) {
      return refuse(Reason::transport, other_transport());
    }
    const auto nonce = fresh_nonce();
    if (!nonce) {
      return fail(nonce.error());
    }
    set_version(version);
    challenged_ = true;
    send_proven(Kind::challenge, encode(Challenge{version, *nonce}));
  }

  void answer(std::span<const std::byte> message) {
    auto claim = possible(decode_claim(message));
    if (!claim) {
      return;
    }
    if (const auto status = judge(*claim); !status) {
      const Denied denied{static_cast<std::uint8_t>(status.error().code()),
                          std::string(cut_text(status.error().what(), max_sentence_bytes))};
      send_proven(Kind::denied, encode(denied));
      return fail(told(denied));
    }
    send_proven(Kind::accepted, encode(Accepted{options().self}));
    finish(std::move(claim->self));
  }

  Status judge(const Claim& claim) const {
    const auto& self = options().self;
    if (claim.job != options().job) {
      return other_job(options().job, claim.job);
    }
    if (claim.expect_incarnation != 0 &&
        (claim.expect_process != self.process || claim.expect_incarnation != self.incarnation)) {
      return not_expected(claim.expect_process, claim.expect_incarnation, self);
    }
    return options().admit ? options().admit(claim.self) : ok_status();
  }

  Error peer_lacks_version(VersionRange theirs) const override {
    return no_common_version(options().versions, theirs);
  }

  bool challenged_ = false;
};

}  // namespace

std::unique_ptr<Handshake> Handshake::dial(HandshakeOptions options) {
  return std::make_unique<DiallingEnd>(std::move(options));
}

std::unique_ptr<Handshake> Handshake::accept(HandshakeOptions options) {
  return std::make_unique<AcceptingEnd>(std::move(options));
}

}  // namespace troupe::net
