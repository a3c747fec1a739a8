#include "runtime/net/handshake_wire.hpp"

#include "runtime/base/assert.hpp"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

namespace troupe::net::handshake {
namespace {

constexpr std::string_view magic = "TRH";
constexpr std::array kinds{Kind::hello,    Kind::challenge, Kind::claim,
                           Kind::accepted, Kind::refused,   Kind::denied};

std::string_view name_of(Kind kind) {
  switch (kind) {
    case Kind::hello:
      return "hello";
    case Kind::challenge:
      return "challenge";
    case Kind::claim:
      return "claim";
    case Kind::accepted:
      return "accepted";
    case Kind::refused:
      return "refused";
    case Kind::denied:
      return "denied";
  }
  return "";
}

/// Numbers are little endian; a text is its length in two bytes, then its bytes and zeros.
class Writer {
 public:
  explicit Writer(Kind kind) {
    block(std::as_bytes(std::span(magic)));
    number(static_cast<std::uint8_t>(kind));
  }
  template <class T>
  void number(T value) {
    for (std::size_t i = 0; i < sizeof value; ++i) {
      bytes_.push_back(static_cast<std::byte>(static_cast<std::uint64_t>(value) >> 8 * i & 0xFF));
    }
  }
  void block(std::span<const std::byte> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  void text(std::string_view text, std::size_t most) {
    TROUPE_ASSERT(text.size() <= most, "a text in a handshake is bounded", text.size(), most);
    number(static_cast<std::uint16_t>(text.size()));
    block(std::as_bytes(std::span(text)));
    bytes_.resize(bytes_.size() + most - text.size());
  }
  void range(VersionRange versions) {
    number(versions.oldest);
    number(versions.newest);
  }
  void identity(const PeerIdentity& self) {
    number(raw(self.process));
    number(self.incarnation);
    text(self.address, max_address_bytes);
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

/// Reads a message of one kind; good() once all of it was possible.
class Reader {
 public:
  Reader(Kind kind, std::span<const std::byte> message) : kind_(kind), rest_(message) {
    good_ = message.size() == size_of(kind);
    block(magic.size() + 1);
  }
  template <class T>
  T number() {
    std::uint64_t value = 0;
    std::size_t shift = 0;
    for (const auto byte : block(sizeof(T))) {
      value |= std::to_integer<std::uint64_t>(byte) << shift;
      shift += 8;
    }
    return static_cast<T>(value);
  }
  std::span<const std::byte> block(std::size_t size) {
    good_ = good_ && size <= rest_.size();
    const auto bytes = rest_.first(good_ ? size : 0);
    rest_ = rest_.subspan(bytes.size());
    return bytes;
  }
  std::string text(std::size_t most) {
    const std::size_t size = number<std::uint16_t>();
    const auto bytes = block(most);
    good_ = good_ && size <= most &&
            std::ranges::all_of(bytes.subspan(size), [](std::byte b) { return b == std::byte{}; });
    return good_ ? std::string(reinterpret_cast<const char*>(bytes.data()), size) : std::string();
  }
  Nonce nonce() {
    Nonce nonce{};
    std::ranges::copy(block(nonce.size()), nonce.begin());
    return nonce;
  }
  VersionRange range() {
    VersionRange versions;
    versions.oldest = number<std::uint16_t>();
    versions.newest = number<std::uint16_t>();
    require(versions.oldest <= versions.newest);
    return versions;
  }
  PeerIdentity identity() {
    PeerIdentity self;
    self.process = static_cast<ProcessId>(number<std::uint32_t>());
    self.incarnation = number<std::uint32_t>();
    self.address = text(max_address_bytes);
    return self;
  }
  void require(bool holds) { good_ = good_ && holds; }

  template <class T>
  Result<T> finish(T message) const {
    if (!good_) {
      return Error(Errc::data_corruption,
                   fmt::format("handshake: expected lengths and numbers that a message \"{}\" of "
                               "{} bytes can have, got others",
                               name_of(kind_), size_of(kind_)));
    }
    return message;
  }

 private:
  Kind kind_;
  std::span<const std::byte> rest_;
  bool good_ = true;
};

}  // namespace

Result<std::optional<Kind>> kind_of(std::span<const std::byte> first) {
  const auto head = first.first(std::min(first.size(), magic.size()));
  const bool possible =
      std::ranges::equal(head, std::as_bytes(std::span(magic)).first(head.size()));
  if (possible && first.size() <= magic.size()) {
    return std::optional<Kind>();
  }
  const auto* kind =
      possible ? std::ranges::find(kinds, static_cast<Kind>(first[magic.size()])) : kinds.end();
  if (kind == kinds.end()) {
    return Error(Errc::data_corruption, "handshake: these bytes begin no message");
  }
  return std::optional<Kind>(*kind);
}

std::vector<std::byte> encode(const Hello& message) {
  Writer out(Kind::hello);
  out.range(message.versions);
  out.text(message.transport, max_transport_bytes);
  out.block(message.nonce);
  return out.take();
}
std::vector<std::byte> encode(const Challenge& message) {
  Writer out(Kind::challenge);
  out.number(message.version);
  out.block(message.nonce);
  return out.take();
}
std::vector<std::byte> encode(const Claim& message) {
  Writer out(Kind::claim);
  out.identity(message.self);
  out.number(raw(message.expect_process));
  out.number(message.expect_incarnation);
  out.text(message.job, max_job_bytes);
  return out.take();
}
std::vector<std::byte> encode(const Accepted& message) {
  Writer out(Kind::accepted);
  out.identity(message.self);
  return out.take();
}
std::vector<std::byte> encode(const Refused& message) {
  Writer out(Kind::refused);
  out.number(static_cast<std::uint8_t>(message.reason));
  out.range(message.versions);
  return out.take();
}
std::vector<std::byte> encode(const Denied& message) {
  Writer out(Kind::denied);
  out.number(message.code);
  out.text(message.sentence, max_sentence_bytes);
  return out.take();
}

Result<Hello> decode_hello(std::span<const std::byte> message) {
  Reader in(Kind::hello, message);
  Hello hello;
  hello.versions = in.range();
  hello.transport = in.text(max_transport_bytes);
  hello.nonce = in.nonce();
  return in.finish(std::move(hello));
}
Result<Challenge> decode_challenge(std::span<const std::byte> message) {
  Reader in(Kind::challenge, message);
  Challenge challenge;
  challenge.version = in.number<std::uint16_t>();
  challenge.nonce = in.nonce();
  return in.finish(challenge);
}
Result<Claim> decode_claim(std::span<const std::byte> message) {
  Reader in(Kind::claim, message);
  Claim claim;
  claim.self = in.identity();
  claim.expect_process = static_cast<ProcessId>(in.number<std::uint32_t>());
  claim.expect_incarnation = in.number<std::uint32_t>();
  claim.job = in.text(max_job_bytes);
  return in.finish(std::move(claim));
}
Result<Accepted> decode_accepted(std::span<const std::byte> message) {
  Reader in(Kind::accepted, message);
  return in.finish(Accepted{in.identity()});
}
Result<Refused> decode_refused(std::span<const std::byte> message) {
  Reader in(Kind::refused, message);
  Refused refused;
  refused.reason = static_cast<Reason>(in.number<std::uint8_t>());
  refused.versions = in.range();
  in.require(refused.reason >= Reason::not_a_handshake && refused.reason <= Reason::token &&
             (refused.reason == Reason::versions || refused.versions == VersionRange{0, 0}));
  return in.finish(refused);
}
Result<Denied> decode_denied(std::span<const std::byte> message) {
  Reader in(Kind::denied, message);
  Denied denied;
  denied.code = in.number<std::uint8_t>();
  denied.sentence = in.text(max_sentence_bytes);
  in.require(denied.code != 0);
  return in.finish(std::move(denied));
}

Result<Proof> keyed_hash(std::span<const std::byte> key, std::string_view label,
                         std::span<const std::byte> bytes) {
  std::vector<unsigned char> input(label.begin(), label.end());
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  input.insert(input.end(), data, data + bytes.size());
  Proof proof;
  unsigned size = 0;
  const auto* made = HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), input.data(),
                          input.size(), reinterpret_cast<unsigned char*>(proof.data()), &size);
  if (made == nullptr || size != proof.size()) {
    return Error(Errc::internal, "handshake: HMAC-SHA-256 failed");
  }
  return proof;
}

Result<Proof> prove(const Token& token, Kind kind, std::span<const std::byte> so_far) {
  return keyed_hash(token.bytes(), fmt::format("troupe handshake {}\n", name_of(kind)), so_far);
}

bool same(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace troupe::net::handshake
