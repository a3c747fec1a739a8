// A gigabyte in one message over every kind of link; too much memory for every day.
#include "tests/runtime/net/link_world.hpp"

namespace troupe::net {
namespace {

constexpr std::size_t gib = std::size_t{1} << 30;

class LargeMessages : public ::testing::TestWithParam<Transport> {
 protected:
  void SetUp() override {
    if (const auto why = missing_for(GetParam()); !why.empty()) {
      GTEST_SKIP() << why;
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Conformance, LargeMessages, ::testing::ValuesIn(all_transports()),
                         name_of);

TEST_P(LargeMessages, AGigabyteArrivesAndSmallOnesPassIt) {
  const auto world = GetParam().make({});
  StartedEnds ends(world->connect());
  const auto large = make_frame(TrafficClass::rows, 1, {gib});
  ends.a->send(Frame(large));
  for (std::uint64_t i = 2; i < 10; ++i) {
    ends.a->send(make_frame(TrafficClass::rows, i, {i}));
  }
  ASSERT_TRUE(ends.at_b->wait_for(300s, [](auto& r) { return r.frames.size() == 9; }));
  EXPECT_EQ(ends.at_b->frames[8].head.request, 1U);
  EXPECT_TRUE(same_contents(ends.at_b->frames[8], large));
}

}  // namespace
}  // namespace troupe::net
