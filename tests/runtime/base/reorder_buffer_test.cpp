#include "runtime/base/reorder_buffer.hpp"

#include "tests/support/expect.hpp"

#include <string>

namespace troupe {
namespace {

TEST(ReorderBuffer, GivesItemsBackInNumberOrder) {
  ReorderBuffer<std::string> buffer;

  EXPECT_TRUE(buffer.put(2, "c"));
  EXPECT_TRUE(buffer.put(0, "a"));

  EXPECT_EQ(buffer.take(), "a");
  EXPECT_EQ(buffer.take(), std::nullopt);
  EXPECT_TRUE(buffer.put(1, "b"));
  EXPECT_EQ(buffer.take(), "b");
  EXPECT_EQ(buffer.take(), "c");
  EXPECT_EQ(buffer.waiting(), 0U);
}

TEST(ReorderBuffer, DropsRepeatsOfWaitingAndTakenItems) {
  ReorderBuffer<int> buffer(5);

  EXPECT_TRUE(buffer.put(5, 1));
  EXPECT_FALSE(buffer.put(5, 2));
  EXPECT_EQ(buffer.take(), 1);
  EXPECT_FALSE(buffer.put(5, 3));
  EXPECT_FALSE(buffer.put(4, 3));
  EXPECT_EQ(buffer.next(), 6U);
}

}  // namespace
}  // namespace troupe
