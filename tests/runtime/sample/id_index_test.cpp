#include "runtime/sample/id_index.hpp"

#include <gtest/gtest.h>

#include <map>

namespace troupe {
namespace {

TEST(IdIndex, NumbersIdsByFirstAppearance) {
  IdIndex index;
  EXPECT_EQ(index.find_or_insert(500, 0), 0U);
  EXPECT_EQ(index.find_or_insert(7, 1), 1U);
  EXPECT_EQ(index.find_or_insert(500, 2), 0U);
  EXPECT_EQ(index.size(), 2U);
  EXPECT_EQ(index.find(7), 1U);
  EXPECT_EQ(index.find(8), std::nullopt);
}

TEST(IdIndex, AgreesWithAMapWhileItGrows) {
  IdIndex index;
  std::map<std::uint64_t, std::uint32_t> known;
  std::uint64_t state = 1;
  for (int i = 0; i < 20000; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const std::uint64_t id = i % 2 == 0 ? state >> 40U : state % 5000;
    index.prefetch(id);
    const auto next = static_cast<std::uint32_t>(known.size());
    ASSERT_EQ(index.find_or_insert(id, next), known.try_emplace(id, next).first->second);
  }
  EXPECT_EQ(index.size(), known.size());
  for (const auto& [id, number] : known) {
    ASSERT_EQ(index.find(id), number);
  }
}

TEST(IdIndex, AnEmptyOneFindsNothing) {
  const IdIndex index;
  EXPECT_EQ(index.find(0), std::nullopt);
  EXPECT_EQ(index.find(~std::uint64_t{0}), std::nullopt);
  index.prefetch(3);
}

TEST(IdIndex, ClearForgetsAndReserveKeeps) {
  IdIndex index;
  index.find_or_insert(0, 0);
  index.find_or_insert(~std::uint64_t{0} - 1, 1);
  index.reserve(1000);
  EXPECT_EQ(index.find(0), 0U);
  EXPECT_EQ(index.find(~std::uint64_t{0} - 1), 1U);

  index.clear();

  EXPECT_EQ(index.size(), 0U);
  EXPECT_EQ(index.find(0), std::nullopt);
  EXPECT_EQ(index.find_or_insert(0, 5), 5U);
}

TEST(IdIndexDeathTest, TheHighestIdIsABug) {
  IdIndex index;
  EXPECT_DEATH(index.find_or_insert(~std::uint64_t{0}, 0), "highest id");
}

}  // namespace
}  // namespace troupe
