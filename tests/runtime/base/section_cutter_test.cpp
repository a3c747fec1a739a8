#include "runtime/base/section_cutter.hpp"

#include "tests/support/expect.hpp"

#include <vector>

namespace troupe {
namespace {

TEST(SectionBegin, IsTheNextMultipleOfEightUnlessTheSectionIsEmpty) {
  EXPECT_EQ(section_begin(0, 5), 0U);
  EXPECT_EQ(section_begin(8, 1), 8U);
  EXPECT_EQ(section_begin(9, 1), 16U);
  EXPECT_EQ(section_begin(9, 0), 9U);
}

TEST(SectionCutter, TakesSectionsInTheirOrderAndNamesWhatIsMissing) {
  const std::vector<int> values = {1, 2, 3, 4, 5};
  SectionCutter<int> cutter(values, "a reply", "labels");

  ASSERT_OK_AND_ASSIGN(const auto first, cutter.take(2));
  ASSERT_OK_AND_ASSIGN(const auto none, cutter.take(0));
  EXPECT_EQ(std::vector<int>(first.begin(), first.end()), (std::vector<int>{1, 2}));
  EXPECT_TRUE(none.empty());
  EXPECT_ERROR(cutter.take(4), Errc::data_corruption,
               "a reply: expected 6 labels or more, found 5");
  EXPECT_ERROR(cutter.finish(), Errc::data_corruption, "a reply: expected 2 labels, found 5");
  ASSERT_OK(cutter.take(3));
  EXPECT_OK(cutter.finish());
}

TEST(SectionCutter, SkipsTheBytesBeforeAnAlignedSection) {
  const std::vector<std::byte> bytes(18);
  SectionCutter<std::byte> cutter(bytes, "a reply", "bytes");

  ASSERT_OK(cutter.take_aligned(3));
  ASSERT_OK(cutter.take_aligned(0));
  EXPECT_EQ(cutter.taken(), 3U);
  EXPECT_EQ(cutter.left_aligned(), 10U);
  ASSERT_OK_AND_ASSIGN(const auto second, cutter.take_aligned(10));
  EXPECT_EQ(second.data(), bytes.data() + 8);
  EXPECT_EQ(cutter.left_aligned(), 0U);
  EXPECT_OK(cutter.finish());
  EXPECT_ERROR(cutter.take_aligned(1), Errc::data_corruption, "bytes or more, found 18");
}

}  // namespace
}  // namespace troupe
