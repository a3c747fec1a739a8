#include "runtime/base/result.hpp"

#include "tests/support/expect.hpp"

#include <memory>

namespace troupe {
namespace {

Result<int> half(int x) {
  if (x % 2 != 0) {
    return Error(Errc::invalid_argument, "half: expected even x, got " + std::to_string(x));
  }
  return x / 2;
}

Result<int> quarter(int x) {
  TROUPE_ASSIGN_OR_RETURN(const int once, half(x));
  TROUPE_ASSIGN_OR_RETURN(const int twice, half(once));
  return twice;
}

Status check_quarter(int x) {
  TROUPE_RETURN_IF_ERROR(quarter(x));
  return ok_status();
}

TEST(Result, HoldsAValueOrAnError) {
  EXPECT_TRUE(half(4).ok());
  EXPECT_EQ(*half(4), 2);
  EXPECT_FALSE(half(3).ok());
  EXPECT_ERROR(half(3), Errc::invalid_argument, "expected even x, got 3");
}

TEST(Result, MacrosPassValuesAndErrorsOn) {
  ASSERT_OK_AND_ASSIGN(const int value, quarter(8));
  EXPECT_EQ(value, 2);
  EXPECT_ERROR(quarter(6), Errc::invalid_argument, "got 3");
  EXPECT_OK(check_quarter(8));
  EXPECT_ERROR(check_quarter(7), Errc::invalid_argument, "got 7");
}

TEST(Result, CarriesTypesThatOnlyMove) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(5);
  EXPECT_EQ(**result, 5);
  const std::unique_ptr<int> taken = *std::move(result);
  EXPECT_EQ(*taken, 5);
}

TEST(Error, KnowsItsPlaceAndTakesContext) {
  const Error error(Errc::not_found, "no such file: x");
  EXPECT_NE(std::string(error.where().file).find("result_test.cpp"), std::string::npos);
  EXPECT_GT(error.where().line, 0);
  EXPECT_EQ(Error(error).with("store").what(), "store: no such file: x");
  EXPECT_EQ(Error(error).with("store").code(), Errc::not_found);
}

TEST(Errc, EveryCodeHasItsName) {
  EXPECT_EQ(to_string(Errc::ok), "ok");
  EXPECT_EQ(to_string(Errc::peer_lost), "peer_lost");
  EXPECT_EQ(to_string(Errc::internal), "internal");
  EXPECT_EQ(to_string(static_cast<Errc>(200)), "unknown");
}

TEST(ResultDeathTest, ReadingWhatIsNotThereIsABug) {
  EXPECT_DEATH(static_cast<void>(*half(3)), "expected even x, got 3");
  EXPECT_DEATH(static_cast<void>(half(4).error()), "holds a value");
  EXPECT_DEATH(static_cast<void>(Error(Errc::ok, "fine")), "needs a code");
}

TEST(AssertDeathTest, PrintsConditionAndValues) {
  const int three = 3;
  EXPECT_DEATH(TROUPE_ASSERT(three == 4, "numbers", three, 4), "`three == 4` failed: numbers 3 4");
  TROUPE_ASSERT(three == 3);
}

}  // namespace
}  // namespace troupe
