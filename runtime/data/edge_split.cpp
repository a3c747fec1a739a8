#include "runtime/data/edge_split.hpp"

#include "runtime/base/assert.hpp"

#include <cmath>
#include <fmt/format.h>
#include <utility>

namespace troupe {

Status check_edge_split(const EdgeSplit& split) {
  if (split.times) {
    const auto [val, test] = *split.times;
    const bool shares = split.train != 0 || split.val != 0 || split.test != 0;
    return !shares && val <= test
               ? ok_status()
               : Error(Errc::invalid_argument,
                       shares ? std::string("edge split: expected shares or times, got both")
                              : fmt::format("edge split: expected the first time of val, then that "
                                            "of test, got {} and {}",
                                            val, test));
  }
  constexpr double most_off = 1e-6;  // decimal fractions do not sum to 1 exactly
  const auto share = [](double value) { return value >= 0 && value <= 1; };
  const auto sum = split.train + split.val + split.test;
  if (!share(split.train) || !share(split.val) || !share(split.test) ||
      std::abs(sum - 1) > most_off) {
    return Error(Errc::invalid_argument,
                 fmt::format("edge split: expected shares of train, val and test from 0 to 1 with "
                             "the sum 1, got {}, {} and {}\ntry: 0.8,0.1,0.1",
                             split.train, split.val, split.test));
  }
  return ok_status();
}

namespace stream_store {
namespace {

/// StreamName::hop among the streams of domain `generators`: part of what a seed means.
constexpr std::uint8_t edge_split_stream = 32;

}  // namespace

EdgeRoles::EdgeRoles(const EdgeSplit& split, bool one_type)
    : times_(split.times),
      one_type_(one_type),
      key_(stream_key(split.seed, {.domain = Domain::generators, .hop = edge_split_stream})) {
  if (times_) {
    return;
  }
  const auto sum = split.train + split.val + split.test;
  ends_ = {split.train / sum, (split.train + split.val) / sum, 1};
  if (split.test == 0) {  // rounded sums must not give a role that nobody asked for
    ends_[1] = 1;
  }
  if (split.test == 0 && split.val == 0) {
    ends_[0] = 1;
  }
}

std::uint8_t EdgeRoles::of(std::uint64_t source, std::uint64_t destination) const {
  if (one_type_ && destination < source) {
    std::swap(source, destination);
  }
  const auto block = philox4x32_10(
      {static_cast<std::uint32_t>(source), static_cast<std::uint32_t>(source >> 32),
       static_cast<std::uint32_t>(destination), static_cast<std::uint32_t>(destination >> 32)},
      key_.words);
  const auto word = std::uint64_t{block[0]} << 32 | block[1];
  const auto unit = static_cast<double>(word >> 11) * 0x1p-53;  // in [0, 1)
  return unit < ends_[0] ? 0 : (unit < ends_[1] ? 1 : 2);
}

std::uint8_t EdgeRoles::of_time(std::int64_t time) const {
  TROUPE_ASSERT(times_.has_value(), "roles are drawn by shares");
  return time < (*times_)[0] ? 0 : (time < (*times_)[1] ? 1 : 2);
}

}  // namespace stream_store
}  // namespace troupe
