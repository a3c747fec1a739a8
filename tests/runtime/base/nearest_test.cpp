#include "runtime/base/nearest.hpp"

#include "tests/support/expect.hpp"

namespace troupe {
namespace {

TEST(EditDistance, CountsEditsAndSwapsIgnoringCase) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("abc", ""), 3U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
  EXPECT_EQ(edit_distance("epcohs", "epochs"), 1U);
  EXPECT_EQ(edit_distance("Seed", "seed"), 0U);
  EXPECT_EQ(edit_distance("fanout", "fan_out"), edit_distance("fan_out", "fanout"));
}

TEST(Nearest, TakesTheFirstOfTheClosest) {
  const std::vector<std::string> words = {"seed", "feed", "output"};

  EXPECT_EQ(nearest("need", words).word, "seed");
  EXPECT_TRUE(nearest("ouput", words).close);
  EXPECT_FALSE(nearest("checkpoint", words).close);
  EXPECT_EQ(nearest("x", {}).word, "");
  EXPECT_FALSE(nearest(std::string(100000, 's'), words).close);
}

}  // namespace
}  // namespace troupe
