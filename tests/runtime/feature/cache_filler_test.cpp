#include "runtime/feature/cache_filler.hpp"

#include "tests/runtime/feature/collect.hpp"

namespace troupe {
namespace {

/// A graph in three parts; the host has the first.
class Filling : public ::testing::Test {
 protected:
  CacheFiller filler(CacheOptions::Policy policy, std::uint64_t batches = 2, bool measure = false) {
    auto options = std::make_shared<CacheOptions>();
    options->policy = policy;
    options->budget_bytes = 1'000'000;
    options->presample_batches = batches;
    options->measure = measure;
    options->heat.mean.assign(
        1, std::vector<std::vector<double>>(3, std::vector<double>(PartHeat::buckets, 1.0)));
    return {std::make_shared<const GraphInfo>(cut_.info), cut_.book, options, {true, false, false}};
  }

  /// Requests for the first `rows` rows of part 1.
  std::vector<RowQuestion> batch(std::uint64_t rows) const {
    RowQuestion question{.id = 0, .part = PartId{1}, .request = {}};
    auto& section = question.request.sections.emplace_back();
    for (std::uint64_t i = 0; i < rows; ++i) {
      section.nodes.push_back(advance(cut_.parts[1]->nodes[0].first, i));
    }
    return {question};
  }

  /// Answers its requests as holders do. \returns how many there were
  std::size_t fill(CacheFiller& filler) const {
    std::size_t requests = 0;
    for (const auto* next = filler.next(); next != nullptr; next = filler.next()) {
      auto reply = read_part_rows(*cut_.parts[raw(next->part)], next->request);
      EXPECT_OK(reply);
      EXPECT_EQ(filler.cache(), nullptr) << "it is not whole yet";
      EXPECT_OK(filler.take(*reply));
      ++requests;
    }
    return requests;
  }

  testing::CutGraph cut_ = testing::cut_graph(testing::featured_graph(), 3);
};

TEST_F(Filling, ByOrderChoosesAtTheFirstBatchAndOnlyThen) {
  auto filling = filler(CacheOptions::Policy::order);

  const auto choose = filling.watch({});
  ASSERT_NE(choose, nullptr);
  EXPECT_EQ(filling.watch({}), nullptr);
  EXPECT_EQ(filling.next(), nullptr) << "nothing is chosen yet";
  filling.chosen(choose());

  EXPECT_GE(fill(filling), 2U);
  ASSERT_NE(filling.cache(), nullptr);
  EXPECT_EQ(filling.cache()->rows(), cut_.parts[1]->nodes[0].count + cut_.parts[2]->nodes[0].count);
  EXPECT_EQ(filling.measure(), nullptr);
}

TEST_F(Filling, ByPresamplingKeepsWhatTheFirstBatchesRequested) {
  auto filling = filler(CacheOptions::Policy::presample, 2, true);

  EXPECT_EQ(filling.watch(batch(3)), nullptr);
  const auto choose = filling.watch(batch(5));
  ASSERT_NE(choose, nullptr);
  filling.chosen(choose());
  fill(filling);

  ASSERT_NE(filling.cache(), nullptr);
  EXPECT_EQ(filling.cache()->rows(), 5U);
  EXPECT_NE(filling.measure(), nullptr);
}

TEST_F(Filling, WithNothingToKeepIsWholeAtOnce) {
  auto filling = filler(CacheOptions::Policy::presample, 1);

  const auto choose = filling.watch({});
  filling.chosen(choose());

  EXPECT_EQ(filling.next(), nullptr);
  ASSERT_NE(filling.cache(), nullptr);
  EXPECT_EQ(filling.cache()->rows(), 0U);
}

TEST_F(Filling, ADamagedReplyEndsItForGood) {
  auto filling = filler(CacheOptions::Policy::order);
  const auto choose = filling.watch({});
  filling.chosen(choose());

  EXPECT_ERROR(filling.take(RowReply{}), Errc::data_corruption, "filling the cache");

  EXPECT_EQ(filling.next(), nullptr);
  EXPECT_EQ(filling.cache(), nullptr);
  ASSERT_TRUE(filling.damage());
  EXPECT_EQ(filling.watch({}), nullptr);
}

}  // namespace
}  // namespace troupe
