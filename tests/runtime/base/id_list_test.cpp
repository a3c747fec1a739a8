#include "runtime/base/id_list.hpp"

#include "tests/support/expect.hpp"

namespace troupe {
namespace {

TEST(IdList, ReadsBothWidths) {
  const IdList narrow{Segment::of(std::vector<std::uint32_t>{1, 0xFFFFFFFF}), 4};
  const IdList wide{Segment::of(std::vector<std::uint64_t>{1, std::uint64_t{1} << 40}), 8};

  EXPECT_EQ(narrow.size(), 2U);
  EXPECT_EQ(narrow.ids()[1], NodeId{0xFFFFFFFF});
  EXPECT_EQ(wide.size(), 2U);
  EXPECT_EQ(wide.ids()[1], NodeId{std::uint64_t{1} << 40});
  EXPECT_EQ(wide.ids().width_bytes(), 8);
}

TEST(IdSpan, VisitsTheTrueType) {
  const std::vector<std::uint32_t> ids = {5, 6};
  const IdSpan span{std::span<const std::uint32_t>(ids)};
  const std::size_t width = span.visit([](auto heterogeneous) { return sizeof(heterogeneous[0]); });
  const std::uint64_t sum = span.visit([](auto heterogeneous) {
    std::uint64_t total = 0;
    for (const auto id : heterogeneous) {
      total += id;
    }
    return total;
  });
  EXPECT_EQ(width, 4U);
  EXPECT_EQ(sum, 11U);
}

TEST(IdSpan, IsEmptyByDefault) {
  EXPECT_TRUE(IdSpan().empty());
  EXPECT_EQ(IdSpan().visit([](auto ids) { return ids.size(); }), 0U);
  EXPECT_EQ(IdList{}.size(), 0U);
}

TEST(IdSpanDeathTest, OtherWidthsAreABug) {
  EXPECT_DEATH(IdSpan(std::span<const std::byte>(), 3), "id width 3");
}

TEST(IdWidth, IsFourBytesWhileAllIdsFit) {
  EXPECT_EQ(id_width_bytes(0), 4);
  EXPECT_EQ(id_width_bytes(std::uint64_t{1} << 32), 4);
  EXPECT_EQ(id_width_bytes((std::uint64_t{1} << 32) + 1), 8);
}

TEST(Ids, AdvanceAndRaw) {
  EXPECT_EQ(advance(NodeId{40}, 2), NodeId{42});
  EXPECT_EQ(raw(PartId{7}), 7U);
}

}  // namespace
}  // namespace troupe
