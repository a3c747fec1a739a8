#include "runtime/graph/link_list.hpp"

#include "runtime/base/buffer.hpp"
#include "tests/support/expect.hpp"

#include <memory>
#include <utility>
#include <vector>

namespace troupe {
namespace {

/// Links [i, 10 + i] of two types, with times and labels.
LinkList seven_links() {
  std::vector<std::uint64_t> ends;
  std::vector<std::int64_t> times;
  std::vector<float> labels;
  for (std::uint64_t i = 0; i < 7; ++i) {
    ends.insert(ends.end(), {i, 10 + i});
    times.push_back(static_cast<std::int64_t>(100 * i));
    labels.push_back(0.5F * static_cast<float>(i));
  }
  const auto rows = Segment::of(std::move(ends));
  const auto when = Segment::of(std::move(times));
  const auto what = Segment::of(std::move(labels));
  return LinkList(EdgeTypeId{1}, rows.as<std::uint64_t>(), 2, when.as<std::int64_t>(),
                  what.as<float>(), {rows.owner, when.owner, what.owner});
}

TEST(LinksAt, HaveWhatBelongsToThem) {
  const auto all = seven_links().in_groups(
      {{EdgeTypeId{1}, 0, 3}, {EdgeTypeId{4}, 3, 1}, {EdgeTypeId{0}, 4, 3}});

  const auto some = links_at(all, {0, 2, 5, 6});

  ASSERT_EQ(some.size(), 4U);
  EXPECT_EQ(some.groups(),
            (std::vector<LinkGroup>{
                {EdgeTypeId{1}, 0, 2}, {EdgeTypeId{4}, 2, 0}, {EdgeTypeId{0}, 2, 2}}));
  const std::vector<std::uint64_t> positions{0, 2, 5, 6};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(raw(some.at(i).original_source), positions[i]);
    EXPECT_EQ(raw(some.at(i).destination), 10 + positions[i]);
    EXPECT_EQ(some.times()[i], static_cast<std::int64_t>(100 * positions[i]));
    EXPECT_EQ(some.labels()[i], 0.5F * static_cast<float>(positions[i]));
  }
  EXPECT_EQ(some.edge_type_at(3), EdgeTypeId{0});
}

TEST(LinksAt, MayBeInAnyOrderAndRepeatedWithoutGroups) {
  const std::vector<std::uint64_t> positions{6, 0, 0, 3};
  const auto some = links_at(seven_links(), positions);
  ASSERT_EQ(some.size(), positions.size());
  for (std::size_t i = 0; i < positions.size(); ++i) {
    EXPECT_EQ(some.at(i), seven_links().at(positions[i]));
    EXPECT_EQ(some.times()[i], static_cast<std::int64_t>(100 * positions[i]));
  }
  const auto without = links_at(seven_links().without_labels(), positions);
  EXPECT_TRUE(without.labels().empty());
  EXPECT_EQ(without.times().size(), positions.size());
}

/// Positions and their squares.
class Squares : public LinkRows {
 public:
  explicit Squares(std::uint64_t size) : size_(size) {}
  std::uint64_t size() const override { return size_; }
  Link at(std::uint64_t position) const override {
    return {OriginalId{position}, OriginalId{position * position}, NodeId{position + 1},
            NodeId{position * position + 1}};
  }

 private:
  std::uint64_t size_;
};

TEST(LinkList, IsReadFromRowsAsFromAnArray) {
  const LinkList list(EdgeTypeId{2}, std::make_shared<const Squares>(9),
                      {0, 1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_EQ(list.size(), 9U);
  EXPECT_EQ(list.edge_type(), EdgeTypeId{2});
  EXPECT_TRUE(list.labels().empty());
  EXPECT_EQ(list.at(3), Squares(9).at(3));

  const auto grouped = list.in_groups({{EdgeTypeId{2}, 0, 4}, {EdgeTypeId{5}, 4, 5}});
  const auto inner = grouped.slice(2, 6).slice(1, 4);  // positions 3 to 6
  ASSERT_EQ(inner.size(), 4U);
  EXPECT_EQ(inner.at(0), Squares(9).at(3));
  EXPECT_EQ(inner.at(3), Squares(9).at(6));
  EXPECT_EQ(inner.times().front(), 3);
  EXPECT_EQ(inner.groups(), (std::vector<LinkGroup>{{EdgeTypeId{2}, 0, 1}, {EdgeTypeId{5}, 1, 3}}));
  EXPECT_EQ(inner.edge_type_at(1), EdgeTypeId{5});
  const auto some = links_at(inner, {1, 3});
  EXPECT_EQ(some.at(1), Squares(9).at(6));
  EXPECT_EQ(some.groups(), (std::vector<LinkGroup>{{EdgeTypeId{2}, 0, 0}, {EdgeTypeId{5}, 0, 2}}));
  EXPECT_EQ(LinkList(EdgeTypeId{0}, std::make_shared<const Squares>(0)).size(), 0U);
}

TEST(LinksAt, OfOneTypeOrPairsStayThose) {
  const auto none = links_at(seven_links(), {});
  EXPECT_EQ(none.size(), 0U);
  EXPECT_TRUE(none.groups().empty());
  EXPECT_EQ(none.edge_type(), EdgeTypeId{1});
  const auto pairs = links_at(seven_links().as_pairs_of(NodeTypeId{2}), {3});
  EXPECT_EQ(pairs.pairs_of(), NodeTypeId{2});
}

}  // namespace
}  // namespace troupe
