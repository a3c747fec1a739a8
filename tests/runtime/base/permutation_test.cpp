#include "runtime/base/permutation.hpp"

#include "tests/support/expect.hpp"

#include <set>

namespace troupe {
namespace {

constexpr StreamKey key{{11, 22}};

TEST(Permutation, IsABijection) {
  for (const std::uint64_t n : {1U, 2U, 3U, 4U, 5U, 16U, 17U, 1000U, 1025U}) {
    const Permutation permutation(key, n);
    std::vector<bool> seen(n);
    for (std::uint64_t i = 0; i < n; ++i) {
      const std::uint64_t to = permutation(i);
      ASSERT_LT(to, n);
      ASSERT_FALSE(seen[to]) << "n " << n << ", position " << i;
      seen[to] = true;
    }
    EXPECT_EQ(permutation.size(), n);
  }
}

TEST(Permutation, ManyPositionsGoWhereEachGoesAlone) {
  for (const std::uint64_t n :
       {std::uint64_t{1}, std::uint64_t{5}, std::uint64_t{16}, std::uint64_t{17},
        std::uint64_t{10007}, (std::uint64_t{1} << 32) - 5, (std::uint64_t{1} << 40) + 1,
        std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
    const Permutation permutation(key, n);
    for (const std::uint64_t size : {0U, 1U, 31U, 32U, 33U, 1000U, 4096U, 4097U, 9000U}) {
      std::vector<std::uint64_t> places(std::min(size, n));
      for (const std::uint64_t first :
           {std::uint64_t{0}, (n - places.size()) / 3, n - places.size()}) {
        permutation.fill(first, places);
        for (std::uint64_t i = 0; i < places.size(); ++i) {
          ASSERT_EQ(places[i], permutation(first + i)) << "n " << n << ", position " << first + i;
        }
      }
    }
  }
}

TEST(Permutation, TheInverseUndoesIt) {
  for (const std::uint64_t n : {std::uint64_t{1}, std::uint64_t{5}, std::uint64_t{1025},
                                (std::uint64_t{1} << 40) + 1, ~std::uint64_t{0}}) {
    const Permutation permutation(key, n);
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(n, 2000); ++i) {
      ASSERT_EQ(permutation.inverse(permutation(i)), i) << "n " << n;
      ASSERT_EQ(permutation(permutation.inverse(n - 1 - i)), n - 1 - i) << "n " << n;
    }
  }
}

TEST(Permutation, KeepsHugePositionsApartAndInRange) {
  for (const std::uint64_t n : {std::uint64_t{1} << 40, (std::uint64_t{1} << 40) + 1,
                                std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
    const Permutation permutation(key, n);
    std::set<std::uint64_t> seen;
    for (std::uint64_t i = 0; i < 2000; ++i) {
      for (const std::uint64_t at : {i, n - 1 - i, n / 2 + i}) {
        const std::uint64_t to = permutation(at);
        ASSERT_LT(to, n);
        ASSERT_TRUE(seen.insert(to).second);
      }
    }
    EXPECT_GT(*seen.rbegin(), n / 4 * 3) << "the whole range is used";
  }
}

TEST(Permutation, DiffersByKeyAndRepeatsForTheSameKey) {
  const auto order = [](StreamKey of) {
    const Permutation permutation(of, 100);
    std::vector<std::uint64_t> all;
    for (std::uint64_t i = 0; i < 100; ++i) {
      all.push_back(permutation(i));
    }
    return all;
  };
  EXPECT_EQ(order(key), order(key));
  EXPECT_NE(order(key), order(StreamKey{{11, 23}}));
  EXPECT_NE(order(key), order(StreamKey{{12, 22}}));
}

/// The network of design section 4, written out for a domain of 16 (two halves of 2 bits).
TEST(Permutation, IsTheFeistelNetworkOfTheDesign) {
  const Permutation permutation(key, 16);
  for (std::uint32_t i = 0; i < 16; ++i) {
    std::uint32_t left = i >> 2;
    std::uint32_t right = i & 3;
    for (std::uint32_t round = 0; round < 8; ++round) {
      const std::uint32_t f = philox4x32_10({right, round, 0, 0}, key.words)[0] & 3;
      const std::uint32_t mixed = left ^ f;
      left = right;
      right = mixed;
    }
    EXPECT_EQ(permutation(i), left << 2 | right);
  }
}

TEST(PermutationDeathTest, APositionPastTheEndIsABug) {
  EXPECT_DEATH(static_cast<void>(Permutation(key, 5)(5)), "past the end");
  EXPECT_DEATH(static_cast<void>(Permutation(key, 0)(0)), "past the end");
}

}  // namespace
}  // namespace troupe
