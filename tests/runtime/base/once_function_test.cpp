#include "runtime/base/once_function.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>

namespace troupe {
namespace {

using Answer = OnceFunction<void(std::string)>;

/// Holds a share of `counted`, so that it shows how many there are, and `Bytes` besides.
template <std::size_t Bytes>
auto counting(const std::shared_ptr<std::string>& counted) {
  return [counted, more = std::array<char, Bytes>{}](const std::string& text) {
    *counted += text + static_cast<char>(more[0] + '.');
  };
}

template <std::size_t Bytes>
void check_one_life() {
  const auto counted = std::make_shared<std::string>();
  {
    Answer first = counting<Bytes>(counted);
    EXPECT_EQ(counted.use_count(), 2);
    Answer second = std::move(first);
    EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move): what a move leaves is tested
    ASSERT_TRUE(second);
    EXPECT_EQ(counted.use_count(), 2);
    second("a");
  }
  EXPECT_EQ(counted.use_count(), 1);
  EXPECT_EQ(*counted, "a.");
}

TEST(OnceFunction, HoldsSmallAndLargeCallablesOnce) {
  check_one_life<1>();
  check_one_life<32>();
  check_one_life<33>();
  check_one_life<1000>();
}

TEST(OnceFunction, HoldsWhatCannotBeCopied) {
  std::string heard;
  Answer answer = [&heard, mine = std::make_unique<std::string>("x")](const std::string& text) {
    heard = *mine + text;
  };
  answer("y");
  EXPECT_EQ(heard, "xy");
}

TEST(OnceFunction, LetsGoOfWhatAnAssignmentReplaces) {
  const auto counted = std::make_shared<std::string>();
  Answer answer = counting<1>(counted);
  answer = counting<100>(counted);
  EXPECT_EQ(counted.use_count(), 2);
  answer = {};
  EXPECT_FALSE(answer);
  EXPECT_EQ(counted.use_count(), 1);
}

TEST(OnceFunction, IsEmptyFromTheStart) {
  EXPECT_FALSE(Answer());
}

}  // namespace
}  // namespace troupe
