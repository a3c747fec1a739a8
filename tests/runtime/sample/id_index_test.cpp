#include "runtime/sample/id_index.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

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

TEST(IdIndex, AgreesWithAMapWhateverComesAndGoes) {
  for (const std::uint64_t ids : {1U, 9U, 64U, 1000U}) {
    std::mt19937_64 random(ids);
    IdIndex numbers;
    std::map<std::uint64_t, std::uint32_t> expected;
    for (std::uint32_t step = 0; step < 20'000; ++step) {
      const auto id = random() % ids * 0x1'0000'0001U;  // collide in the table's lower bits
      if (const auto found = expected.find(id); found != expected.end()) {
        ASSERT_EQ(numbers.find(id), found->second);
        if (random() % 4 != 0) {
          numbers.erase(id);
          expected.erase(found);
        }
      } else {
        ASSERT_EQ(numbers.find(id), std::nullopt);
        ASSERT_EQ(numbers.find_or_insert(id, step), step);
        expected.emplace(id, step);
      }
      ASSERT_EQ(numbers.size(), expected.size());
    }
    for (const auto& [id, number] : expected) {
      EXPECT_EQ(numbers.find(id), number);
    }
  }
}

TEST(IdIndex, OneThatIsEmptyAgainFindsNothing) {
  IdIndex numbers;
  EXPECT_EQ(numbers.find(0), std::nullopt);
  EXPECT_EQ(numbers.find(~std::uint64_t{0}), std::nullopt);

  numbers.find_or_insert(0, 7);
  numbers.erase(0);

  EXPECT_EQ(numbers.find(0), std::nullopt);
  EXPECT_EQ(numbers.size(), 0U);
}

TEST(IdIndexDeathTest, OnlyWhatIsThereIsErased) {
  IdIndex index;
  EXPECT_DEATH(index.erase(4), "the id is not in the table");
  index.find_or_insert(3, 1);
  EXPECT_DEATH(index.erase(4), "the id is not in the table");
}

TEST(IdIndexDeathTest, TheHighestIdIsABug) {
  IdIndex index;
  EXPECT_DEATH(index.find_or_insert(~std::uint64_t{0}, 0), "highest id");
}

}  // namespace
}  // namespace troupe
