#include "runtime/base/digest.hpp"

#include <array>
#include <charconv>
#include <fmt/format.h>
#include <new>
// Compiled for this processor: the library is for any, and half as fast.
#define XXH_INLINE_ALL  // NOLINT(cppcoreguidelines-macro-usage)
#ifdef __AVX512F__
#define XXH_VECTOR 2  // AVX2, as fast; g++ 12 warns of its own header for AVX-512 (PR 105593)
#endif
#include <xxhash.h>

namespace troupe {

std::string to_string(const Digest& digest) {
  return fmt::format("{:016x}{:016x}", digest.high, digest.low);
}

Result<Digest> parse_digest(const std::string& text) {
  Digest digest;
  const auto parse = [](const char* first, std::uint64_t& value) {
    const auto [end, error] = std::from_chars(first, first + 16, value, 16);
    return error == std::errc{} && end == first + 16;
  };
  if (text.size() != 32 || !parse(text.data(), digest.high) ||
      !parse(text.data() + 16, digest.low)) {
    return Error(Errc::invalid_argument,
                 fmt::format("digest: expected 32 hexadecimal digits, got \"{}\"", text));
  }
  return digest;
}

Digest digest_of(std::span<const std::byte> bytes) {
  const auto hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.low64, hash.high64};
}

Digest chain(const Digest& running, const Digest& next) {
  const std::array<std::uint64_t, 4> words = {running.low, running.high, next.low, next.high};
  return digest_of(std::as_bytes(std::span(words)));
}

struct DigestBuilder::State {
  State() : hash(XXH3_createState()) {
    if (hash == nullptr) {
      throw std::bad_alloc();
    }
    XXH3_128bits_reset(hash);
  }
  ~State() { XXH3_freeState(hash); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  XXH3_state_t* hash;
};

DigestBuilder::DigestBuilder() : state_(std::make_unique<State>()) {}
DigestBuilder::~DigestBuilder() = default;
DigestBuilder::DigestBuilder(DigestBuilder&&) noexcept = default;
DigestBuilder& DigestBuilder::operator=(DigestBuilder&&) noexcept = default;

void DigestBuilder::add_bytes(std::span<const std::byte> bytes) {
  XXH3_128bits_update(state_->hash, bytes.data(), bytes.size());
}

void DigestBuilder::add(std::uint64_t number) {
  add_bytes(std::as_bytes(std::span(&number, 1)));
}

void DigestBuilder::add(const Digest& digest) {
  add(digest.low);
  add(digest.high);
}

Digest DigestBuilder::digest() const {
  const auto hash = XXH3_128bits_digest(state_->hash);
  return {hash.low64, hash.high64};
}

}  // namespace troupe
