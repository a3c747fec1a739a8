#include "runtime/base/ranked_set.hpp"

#include "runtime/base/philox.hpp"
#include "tests/support/expect.hpp"

namespace troupe {
namespace {

TEST(RankedSet, AnEmptySetContainsNothing) {
  for (const auto& set : {RankedSet(), RankedSet({}, 0), RankedSet({}, 1000)}) {
    EXPECT_EQ(set.size(), 0U);
    EXPECT_FALSE(set.contains(0));
    EXPECT_FALSE(set.contains(~std::uint64_t{0}));
    EXPECT_EQ(set.rank(5), std::nullopt);
  }
}

TEST(RankedSet, RanksAreThePlacesOfTheMembers) {
  for (const std::uint64_t end : {1U, 63U, 64U, 65U, 511U, 512U, 513U, 5000U}) {
    for (const std::uint32_t one_in : {1U, 2U, 40U}) {
      DrawStream draw(stream_key(end, {.domain = Domain::generators, .batch = one_in}), 0);
      std::vector<std::uint64_t> members;
      for (std::uint64_t number = 0; number < end; ++number) {
        if (draw.below(one_in) == 0) {
          members.push_back(number);
        }
      }
      const RankedSet set(members, end);
      EXPECT_EQ(set.size(), members.size());
      std::uint64_t next = 0;
      for (std::uint64_t number = 0; number < end + 600; ++number) {
        const bool is_member = next < members.size() && members[next] == number;
        EXPECT_EQ(set.contains(number), is_member) << number;
        EXPECT_EQ(set.rank(number), is_member ? std::optional(next) : std::nullopt) << number;
        next += is_member ? 1U : 0U;
      }
    }
  }
}

}  // namespace
}  // namespace troupe
