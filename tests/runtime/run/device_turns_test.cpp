#include "runtime/run/device_turns.hpp"

#include <gtest/gtest.h>

#include <string>

namespace troupe {
namespace {

TEST(DeviceTurns, GiveBlocksInOrderToDevicesThatAreFree) {
  DeviceTurns<std::string> turns(2);
  EXPECT_FALSE(turns.next());
  for (const char* const block : {"a", "b", "c", "d"}) {
    turns.add(block);
  }

  const auto first = turns.next();
  const auto second = turns.next();
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->block + second->block, "ab");
  EXPECT_NE(first->device, second->device);
  EXPECT_FALSE(turns.next()) << "both devices have a block";

  turns.done(second->device);
  const auto third = turns.next();
  ASSERT_TRUE(third);
  EXPECT_EQ(third->block, "c");
  EXPECT_EQ(third->device, second->device);
  turns.done(first->device);
  turns.done(third->device);
  EXPECT_EQ(turns.next()->block, "d");
  EXPECT_FALSE(turns.next()) << "no block is left";
}

}  // namespace
}  // namespace troupe
