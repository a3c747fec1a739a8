#include "runtime/feature/row_numbers.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace troupe {
namespace {

TEST(RowNumbers, AreThoseOfAMapWhateverComesAndGoes) {
  for (const std::uint64_t ids : {1U, 9U, 64U, 1000U}) {
    std::mt19937_64 random(ids);
    RowNumbers numbers;
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
        numbers.insert(id, step);
        expected.emplace(id, step);
      }
      ASSERT_EQ(numbers.size(), expected.size());
    }
    for (const auto& [id, number] : expected) {
      EXPECT_EQ(numbers.find(id), number);
    }
  }
}

TEST(RowNumbers, FindNothingInAnEmptyTable) {
  RowNumbers numbers;
  EXPECT_EQ(numbers.find(0), std::nullopt);
  EXPECT_EQ(numbers.find(~std::uint64_t{0}), std::nullopt);

  numbers.insert(0, 7);
  numbers.erase(0);

  EXPECT_EQ(numbers.find(0), std::nullopt);
  EXPECT_EQ(numbers.size(), 0U);
}

TEST(RowNumbersDeathTest, RefuseWhatIsNotThereAndWhatIsThereTwice) {
  RowNumbers numbers;
  numbers.insert(3, 1);
  EXPECT_DEATH(numbers.insert(3, 2), "the id is in the table");
  EXPECT_DEATH(numbers.erase(4), "the id is not in the table");
  EXPECT_DEATH(numbers.insert(~std::uint64_t{0}, 2), "the highest id marks empty slots");
}

}  // namespace
}  // namespace troupe
