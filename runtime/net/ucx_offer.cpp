#include "runtime/net/ucx_offer.hpp"

#include "runtime/net/handshake_wire.hpp"

#include <cstring>
#include <fmt/format.h>

namespace troupe::net {
namespace {

constexpr std::size_t max_worker_address_bytes = std::size_t{16} << 10;
constexpr std::size_t key_words = sizeof(UcxKey) / sizeof(std::uint64_t);
constexpr std::size_t sealed_words = key_words + 3;  // the version, the place
constexpr std::size_t offer_words = sealed_words + sizeof(SessionKey) / sizeof(std::uint64_t);

/// HMAC-SHA-256 over who speaks, the words before the seal, and the address.
Result<SessionKey> hash_of(const Frame& frame, const OfferSeal& seal) {
  const auto words = std::as_bytes(frame.words().first(sealed_words));
  std::vector<std::byte> bytes{std::byte{seal.dialled}};
  bytes.insert(bytes.end(), words.begin(), words.end());
  for (const auto& segment : frame.segments) {
    bytes.insert(bytes.end(), segment.bytes.begin(), segment.bytes.end());
  }
  return handshake::keyed_hash(seal.key, "troupe ucx offer\n", bytes);
}

}  // namespace

Result<Frame> to_frame(const UcxOffer* offer, const OfferSeal& seal) {
  Frame frame;
  frame.head.method = offer_method;
  frame.meta.resize(offer_words);
  if (offer != nullptr) {
    std::memcpy(frame.meta.data(), offer->key.data(), offer->key.size());
    frame.meta[key_words] = offer->version;
    frame.meta[key_words + 1] = offer->place.machine;
    frame.meta[key_words + 2] = offer->place.space;
    frame.segments.push_back(Segment::of(std::vector<std::byte>(offer->address)));
  }
  TROUPE_ASSIGN_OR_RETURN(const auto hash, hash_of(frame, seal));
  std::memcpy(frame.meta.data() + sealed_words, hash.data(), hash.size());
  return frame;
}

Result<std::optional<UcxOffer>> read_offer(const Frame& frame, const OfferSeal& seal) {
  const std::size_t bytes = frame.segments.empty() ? 0 : frame.segments[0].bytes.size();
  if (frame.meta.size() != offer_words || frame.segments.size() > 1 ||
      bytes > max_worker_address_bytes) {
    return Error(Errc::data_corruption,
                 fmt::format("UCX offer: expected {} words and at most one segment of {} bytes, "
                             "found {} words and {} segments, the first of {} bytes",
                             offer_words, max_worker_address_bytes, frame.meta.size(),
                             frame.segments.size(), bytes));
  }
  TROUPE_ASSIGN_OR_RETURN(const auto hash, hash_of(frame, seal));
  if (!handshake::same(hash, std::as_bytes(frame.words().subspan(sealed_words)))) {
    return Error(Errc::data_corruption,
                 "UCX offer: expected one with the seal of this link's handshake, found another");
  }
  if (bytes == 0) {
    return std::optional<UcxOffer>();
  }
  UcxOffer offer;
  std::memcpy(offer.key.data(), frame.meta.data(), offer.key.size());
  offer.address.assign(frame.segments[0].bytes.begin(), frame.segments[0].bytes.end());
  offer.version = frame.meta[key_words];
  offer.place = {frame.meta[key_words + 1], frame.meta[key_words + 2]};
  return std::optional<UcxOffer>(std::move(offer));
}

}  // namespace troupe::net
