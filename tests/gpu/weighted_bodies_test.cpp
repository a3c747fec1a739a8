#include "gpu/sample/weighted_bodies.hpp"

#include "tests/gpu/sample_support.hpp"

namespace troupe {
namespace {

class WeightedHops : public ::testing::TestWithParam<unsigned> {};

INSTANTIATE_TEST_SUITE_P(Threads, WeightedHops, ::testing::Values(1, 4));

/// Lists with their tables.
struct WeightedLists {
  std::vector<std::uint64_t> offsets{0};
  std::vector<std::uint64_t> originals;
  std::vector<std::uint64_t> nodes;
  std::vector<std::vector<AliasSlot>> tables;
  std::vector<AliasSlot> aliases;
  bool zero_weights = false;

  void add(const testing::Weights& weights) {
    tables.push_back(testing::alias_table(weights));
    aliases.insert(aliases.end(), tables.back().begin(), tables.back().end());
    nodes.push_back(nodes.size());
    originals.push_back(nodes.size() * 0x9E3779B97F4A7C15U);
    offsets.push_back(aliases.size());
    zero_weights = zero_weights || std::ranges::count(weights, 0.0F) > 0;
  }
};

std::vector<std::vector<std::uint32_t>> weighted_positions(const WeightedLists& lists,
                                                           const gpu::ListRule& rule, StreamKey key,
                                                           gpu::EmulatedOptions options) {
  options.reads_host = true;
  gpu::EmulatedStream on(std::make_shared<gpu::EmulatedDevice>(options));
  const auto rows = static_cast<std::uint32_t>(lists.nodes.size());
  const gpu::HopRows of{lists.nodes.data(), lists.offsets.data(), 0, &rows};
  std::vector<std::uint32_t> counts(rows);
  std::vector<std::uint32_t> row_offsets(rows + std::size_t{1});
  on.for_each(rows, gpu::CountWeightedRow{of, rule, lists.aliases.data(), lists.zero_weights,
                                          counts.data()});
  on.running_sum(counts.data(), rows, row_offsets.data());
  EXPECT_OK(on.finish());
  std::vector<std::uint32_t> positions(row_offsets.back(), 0xA5A5A5A5U);
  on.for_each(rows, gpu::DrawWeightedRow{
                        of,
                        rule,
                        lists.aliases.data(),
                        {key, lists.originals.data(), row_offsets.data(), positions.data()}});
  EXPECT_OK(on.finish());
  std::vector<std::vector<std::uint32_t>> result;
  for (std::size_t row = 0; row < rows; ++row) {
    auto& of_row = result.emplace_back(positions.begin() + row_offsets[row],
                                       positions.begin() + row_offsets[row + 1]);
    if (rule.whole(of.degree(row), counts[row])) {
      std::iota(of_row.begin(), of_row.end(), 0U);
    }
  }
  return result;
}

/// Weights from which few entries, all, or none are likely; the last ones need sums.
WeightedLists lists_of_all_kinds(bool with_zeros) {
  WeightedLists lists;
  for (const std::size_t degree : {0U, 1U, 2U, 5U, 16U, 31U, 32U, 33U, 64U, 300U, 1023U}) {
    testing::Weights equal(degree, 1.0F);
    lists.add(equal);
    testing::Weights skewed(degree);
    testing::Weights heavy(degree, 1e-3F);
    for (std::size_t i = 0; i < degree; ++i) {
      skewed[i] = static_cast<float>(1 + i % 9) * (i % 11 == 0 ? 50.0F : 0.3F);
      if (with_zeros && i % 3 == 0) {
        skewed[i] = 0;
        heavy[i] = 0;
      }
    }
    if (degree > 0) {
      heavy[degree / 2] = 1e6F;
      heavy[degree - 1] = 3e6F;
    }
    lists.add(skewed);
    lists.add(heavy);
    if (with_zeros) {
      lists.add(testing::Weights(degree, 0.0F));
    }
  }
  return lists;
}

TEST_P(WeightedHops, TakeThePositionsOfTheReference) {
  for (const bool with_zeros : {false, true}) {
    const auto lists = lists_of_all_kinds(with_zeros);
    for (const bool replace : {false, true}) {
      for (const std::uint32_t fanout : {1U, 2U, 4U, 15U, 32U, 64U, 65U}) {
        for (std::uint64_t batch = 0; batch < 5; ++batch) {
          const auto key = stream_key(9, {.domain = Domain::neighbours, .batch = batch});
          const auto got = weighted_positions(lists, {.fanout = fanout, .replace = replace}, key,
                                              {.seed = batch, .threads = GetParam()});
          for (std::size_t row = 0; row < lists.nodes.size(); ++row) {
            ASSERT_EQ(got[row], testing::reference_weighted(DrawStream(key, lists.originals[row]),
                                                            lists.tables[row], fanout, replace))
                << lists.tables[row].size() << " entries, fanout " << fanout << ", replace "
                << replace << ", zeros " << with_zeros << ", row " << row;
          }
        }
      }
    }
  }
}

TEST_P(WeightedHops, GiveTheHostsBatches) {
  auto graph = testing::long_tailed_hetero_graph(31);
  for (auto& type : graph.edges) {
    testing::add_weights(type);
  }
  for (const auto dir : {EdgeDir::in, EdgeDir::out}) {
    auto cut = testing::cut_graph(graph, 1);
    testing::add_alias_tables(cut, dir);
    SampleOptions options{.fanout = {{5, 4, 3, 2, 1}, {2, -1, 4, 0, 15}},
                          .choice = place_of_kind(choice_kinds(), "weighted"),
                          .edge_data = {.edge_ids = true, .weights = true},
                          .dir = dir,
                          .job_seed = 4};
    for (int variant = 0; variant < 4; ++variant) {
      options.replace = (variant & 1) != 0;
      options.frontier = (variant & 2) != 0 ? Frontier::all : Frontier::fresh;
      const auto seeds = testing::random_seeds(60, 300, 7);
      const auto expected = testing::drive(cut, options, {}, seeds, 1);
      for (std::uint64_t order = 1; order <= 5; ++order) {
        testing::EmulatedSampling sampling(cut, options, {.seed = order, .threads = GetParam()});
        testing::expect_same(sampling.sample({}, seeds, 1), expected,
                             fmt::format("variant {}, order {}", variant, order));
      }
    }
  }
}

TEST(WeightedSampling, NeedsAliasTables) {
  auto graph = testing::long_tailed_graph(50, 1);
  testing::add_weights(graph.edges[0]);
  const auto cut = testing::cut_graph(graph, 1);
  auto options = testing::fanouts({2});
  options.choice = place_of_kind(choice_kinds(), "weighted");
  EXPECT_ERROR(gpu::arrays_for_device(cut.info, *cut.parts[0], options), Errc::failed_precondition,
               "has no alias tables of edge type");
  options.fanout = {{-1}};
  EXPECT_OK(gpu::arrays_for_device(cut.info, *cut.parts[0], options));
}

}  // namespace
}  // namespace troupe
