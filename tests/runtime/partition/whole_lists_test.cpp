#include "runtime/partition/whole_lists.hpp"

#include "tests/runtime/partition/partition_fixture.hpp"

namespace troupe {
namespace {

using namespace testing;

TEST(WholeLists, OutListsAreInOrderOfNeighbourThenPlaceInTheInLists) {
  const TempDir temp;
  const EdgePairs edges{{3, 0}, {1, 0}, {3, 0}, {0, 2}, {2, 2}, {1, 0}};
  ASSERT_OK_AND_ASSIGN(const auto store,
                       store_of(plain_contents({4, 3}, {{0, 1, edges}}), temp / "graph"));
  InlineExecutor executor;

  const auto in = whole_in_lists(store, EdgeTypeId{0});
  ASSERT_OK_AND_ASSIGN(const auto out,
                       whole_out_lists(store, EdgeTypeId{0}, temp.path(), 1 << 20, executor));

  const auto neighbours = [](const WholeLists& lists) {
    std::vector<std::uint64_t> ids;
    for (std::size_t i = 0; i < lists.neighbours.size(); ++i) {
      ids.push_back(raw(lists.neighbours[i]));
    }
    return ids;
  };
  EXPECT_EQ(neighbours(in), (std::vector<std::uint64_t>{1, 1, 3, 3, 0, 2}));
  EXPECT_TRUE(std::ranges::equal(out.offsets, std::vector<std::uint64_t>{0, 1, 3, 4, 6}));
  EXPECT_EQ(neighbours(out), (std::vector<std::uint64_t>{2, 0, 0, 2, 0, 0}));
  EXPECT_TRUE(std::ranges::equal(out.places, std::vector<std::uint64_t>{4, 0, 1, 5, 2, 3}));
}

}  // namespace
}  // namespace troupe
