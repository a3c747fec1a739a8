#pragma once
/// \file links_mean.hpp
/// What the reduction over links makes of the ranks' vectors, for tests of other ways.
#include "runtime/run/gradient_reducer.hpp"
#include "runtime/run/reduction.hpp"
#include "tests/support/expect.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <utility>
#include <vector>

namespace troupe::testing {

struct Weighed {
  std::vector<float> values = {};
  std::uint64_t weight = 0;
};

/// Of all ranks, at rank 0.
inline Reduced mean_over_links(const std::vector<Weighed>& mine, std::size_t size) {
  const auto world = static_cast<std::uint32_t>(mine.size());
  Reduction at_first(Rank{0}, world, size);
  for (std::uint32_t owner = 0; owner < world; ++owner) {
    const auto at = static_cast<Rank>(owner);
    GradientReducer reducer(world);
    EXPECT_OK(reducer.begin(0, gradient_slice(size, world, at).size));
    std::optional<GradientReducer::Sum> sum;
    for (std::uint32_t r = 0; r < world; ++r) {
      const Contribution share{Segment::of(std::vector<float>(mine[r].values)), mine[r].weight, 0,
                               std::nullopt};
      const auto added = reducer.add(std::make_shared<const net::GradientChunk>(
          Reduction(static_cast<Rank>(r), world, size).share(at, share, 0, 0)));
      EXPECT_OK(added);
      sum = *added;
    }
    EXPECT_OK(at_first.take(at, **sum));
  }
  return std::move(at_first).take_result();
}

/// Values of very different sizes, whose sums depend on the order.
inline std::vector<Weighed> uneven_shares(std::size_t world, std::size_t size, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Weighed> shares(world);
  for (auto& share : shares) {
    share.weight = random() % 100 + 1;
    for (std::size_t i = 0; i < size; ++i) {
      const auto unit = static_cast<float>(random() % 2000) / 1000 - 1;
      share.values.push_back(std::ldexp(unit, static_cast<int>(random() % 30) - 15));
    }
  }
  return shares;
}

}  // namespace troupe::testing
