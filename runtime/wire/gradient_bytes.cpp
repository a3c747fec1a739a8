#include "runtime/base/digest.hpp"
#include "runtime/net/saturate.hpp"
#include "runtime/wire/codec.hpp"

#include <algorithm>

namespace troupe::net {

std::uint64_t reply_bytes(const GradientChunk& request) {
  const auto values = std::max<std::uint64_t>(request.values.bytes.size(), request.sum_bytes);
  return saturating_add(values, small_reply_bytes);
}

std::uint64_t gradient_exchange_bytes(std::uint64_t values_bytes, std::uint64_t world) {
  return values_bytes + gradient_sum_bytes(values_bytes, Rank{}, world) + 2 * small_reply_bytes;
}

std::uint64_t gradient_sum_bytes(std::uint64_t values_bytes, Rank owner, std::uint64_t world) {
  return values_bytes + (owner == Rank{} ? world * sizeof(Digest) : 0);
}

}  // namespace troupe::net
