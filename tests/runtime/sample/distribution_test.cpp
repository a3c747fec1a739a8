#include "runtime/sample/choice/uniform.hpp"
#include "runtime/sample/seed_order.hpp"
#include "tests/runtime/sample/drive.hpp"
#include "tests/support/one_section.hpp"
#include "tests/support/statistics.hpp"

#include <numeric>

namespace troupe {
namespace {

constexpr std::uint64_t job_seeds = 12;

/// What changes from one draw of a test to the next; all else stays.
enum class Axis : std::uint8_t { nodes, epochs, batches, hops };
constexpr std::array axes = {Axis::nodes, Axis::epochs, Axis::batches, Axis::hops};

struct Shape {
  std::uint32_t degree;
  std::uint32_t fanout;
  bool replace;
  std::uint32_t trials;
};

/// Trial `i` along an axis. `stream` keeps the tests apart, so that no two of them see the same
/// words.
DrawStream stream_for(std::uint64_t job_seed, Axis axis, std::uint16_t stream, std::uint32_t i) {
  StreamName name{.domain = Domain::neighbours, .type = stream};
  std::uint64_t id = 1'000'000'007;
  switch (axis) {
    case Axis::nodes:
      id += i;
      break;
    case Axis::epochs:
      name.epoch = i;
      break;
    case Axis::batches:
      name.batch = i;
      break;
    case Axis::hops:
      name.hop = static_cast<std::uint8_t>(i % 256);
      id += i / 256;
      break;
  }
  return {stream_key(job_seed, name), id};
}

/// Collects p-values; all draws of a test must come from streams of its own.
class Distribution : public ::testing::Test {
 protected:
  std::uint16_t fresh_stream() { return next_stream_++; }

  void check(std::size_t least_tests) const {
    ASSERT_GE(p_values_.size(), least_tests);
    EXPECT_GT(*std::ranges::min_element(p_values_), 1e-6);
    EXPECT_GT(testing::kolmogorov_smirnov_p_value(p_values_), 1e-3)
        << p_values_.size() << " p-values are not uniform";
  }

  template <class Test>
  void for_all(const Test& test) {
    for (std::uint64_t seed = 1; seed <= job_seeds; ++seed) {
      for (const Axis axis : axes) {
        test(seed, axis);
      }
    }
  }

  std::vector<double> p_values_;

 private:
  std::uint16_t next_stream_ = 0;
};

TEST_F(Distribution, EveryPositionIsEquallyLikely) {
  const std::vector<Shape> shapes = {
      {7, 3, false, 2000}, {20, 10, false, 2000}, {16, 15, false, 2000}, {130, 100, false, 2000},
      {7, 3, true, 2000},  {3, 7, true, 2000},    {25, 25, true, 1000},
  };
  for (const Shape& shape : shapes) {
    for_all([&](std::uint64_t seed, Axis axis) {
      const std::uint16_t stream = fresh_stream();
      std::vector<std::uint64_t> counts(shape.degree);
      std::vector<std::uint32_t> drawn;
      for (std::uint32_t i = 0; i < shape.trials; ++i) {
        draw_positions(stream_for(seed, axis, stream, i), shape.degree, shape.fanout, shape.replace,
                       drawn);
        for (const auto position : drawn) {
          ++counts[position];
        }
      }
      p_values_.push_back(shape.replace
                              ? testing::uniform_p_value(counts)
                              : testing::inclusion_p_value(counts, shape.fanout, shape.trials));
    });
  }
  check(7 * job_seeds * axes.size());
}

TEST_F(Distribution, EverySubsetIsEquallyLikely) {
  for (const Shape& shape :
       {Shape{5, 2, false, 1500}, Shape{6, 3, false, 2000}, Shape{7, 4, false, 3500}}) {
    for_all([&](std::uint64_t seed, Axis axis) {
      const std::uint16_t stream = fresh_stream();
      std::map<std::vector<std::uint32_t>, std::uint64_t> subsets;
      std::vector<std::uint32_t> drawn;
      for (std::uint32_t i = 0; i < shape.trials; ++i) {
        draw_positions(stream_for(seed, axis, stream, i), shape.degree, shape.fanout, false, drawn);
        ++subsets[drawn];
      }
      std::vector<std::uint64_t> counts;
      for (const auto& [subset, count] : subsets) {
        counts.push_back(count);
      }
      const std::size_t all = shape.degree == 5 ? 10 : shape.degree == 6 ? 20 : 35;
      ASSERT_EQ(counts.size(), all) << "a subset never came";
      p_values_.push_back(testing::uniform_p_value(counts));
    });
  }
  check(3 * job_seeds * axes.size());
}

TEST_F(Distribution, NeighbouringIdsEpochsBatchesAndHopsAreIndependent) {
  constexpr std::uint32_t degree = 6;
  for_all([&](std::uint64_t seed, Axis axis) {
    const std::uint16_t stream = fresh_stream();
    std::vector<std::uint64_t> pairs(degree * degree);
    std::vector<std::uint32_t> first;
    std::vector<std::uint32_t> second;
    for (std::uint32_t i = 0; i < 6000; i += 2) {
      draw_positions(stream_for(seed, axis, stream, i), degree, 1, false, first);
      draw_positions(stream_for(seed, axis, stream, i + 1), degree, 1, false, second);
      ++pairs[first[0] * degree + second[0]];
    }
    p_values_.push_back(testing::uniform_p_value(pairs));
  });
  check(job_seeds * axes.size());
}

/// A star of `degree` leaves around each of many nodes, sampled as a holder samples it.
TEST_F(Distribution, OfWholeHopsOverStarsIsUniform) {
  constexpr std::uint64_t stars = 1000;
  constexpr std::uint64_t degree = 9;
  std::vector<testing::TestEdge> edges;
  for (std::uint64_t i = 0; i < stars; ++i) {
    for (std::uint64_t k = 0; k < degree; ++k) {
      edges.push_back({stars + k, i});
    }
  }
  const auto cut = testing::cut_graph(testing::plain_graph(stars + degree, std::move(edges)), 1);
  HopRequest request = testing::one_hop_request();
  request.sections[0].fanout = 4;
  for (std::uint64_t i = 0; i < stars; ++i) {
    request.frontiers[0].nodes.push_back(cut.global(i));
  }
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    request.replace = seed % 2 == 0;
    request.sections[0].key = stream_key(seed, {.domain = Domain::neighbours});
    std::vector<std::uint64_t> counts(degree);

    ASSERT_OK_AND_ASSIGN(const HopReply reply, sample_one_hop(*cut.parts[0], request));

    for (const auto id : testing::neighbors_of(reply)) {
      ++counts[cut.original(NodeId{id}) - stars];
    }
    p_values_.push_back(request.replace ? testing::uniform_p_value(counts)
                                        : testing::inclusion_p_value(counts, 4, stars));
  }
  check(60);
}

TEST_F(Distribution, OfSeedOrdersIsUniformOverPlacesAndPairs) {
  for (std::uint64_t seed = 1; seed <= job_seeds; ++seed) {
    for (const std::uint64_t n : {3U, 8U, 11U, 20U}) {
      auto list = std::make_shared<SeedList>();
      list->original.resize(n);
      list->global.resize(n);
      const SeedOrder order(list, n, seed * 1000 + n, true);
      std::vector<std::uint64_t> first(n);
      std::vector<std::uint64_t> pairs(n * n);
      for (std::uint32_t epoch = 0; epoch < 2000; ++epoch) {
        const auto positions = order.positions(epoch, 0);
        ++first[positions.front()];
        // Pairs of later epochs only, so that the two counts are independent.
        const auto later = order.positions(epoch + 2000, 0);
        ++pairs[later[n / 2] * n + later[n - 1]];
      }
      std::vector<std::uint64_t> possible;
      for (std::uint64_t k = 0; k < n * n; ++k) {
        if (k / n != k % n) {
          possible.push_back(pairs[k]);
        }
      }
      p_values_.push_back(testing::uniform_p_value(first));
      p_values_.push_back(testing::uniform_p_value(possible));
    }
  }
  check(8 * job_seeds);
}

TEST(DistributionBelowTheFanout, GivesAllPositionsAndNeedsNoDraw) {
  std::vector<std::uint32_t> drawn;
  for (std::uint64_t id = 0; id < 50; ++id) {
    for (std::uint32_t degree = 0; degree <= 12; ++degree) {
      std::vector<std::uint32_t> all(degree);
      std::iota(all.begin(), all.end(), 0U);
      draw_positions(DrawStream(StreamKey{}, id), degree, 12, false, drawn);
      EXPECT_EQ(drawn, all);
    }
  }
}

TEST(Statistics, AgreesWithTables) {
  EXPECT_NEAR(testing::chi_square_survival(3.841459, 1), 0.05, 1e-6);
  EXPECT_NEAR(testing::chi_square_survival(18.307038, 10), 0.05, 1e-6);
  EXPECT_NEAR(testing::chi_square_survival(4.865182, 10), 0.90, 1e-6);
  EXPECT_NEAR(testing::chi_square_survival(149.449253, 100), 0.001, 1e-6);
  EXPECT_EQ(testing::chi_square_survival(0, 3), 1);
}

TEST(Statistics, KolmogorovSmirnovTellsUniformFromSkewed) {
  std::vector<double> uniform;
  std::vector<double> skewed;
  for (int i = 0; i < 200; ++i) {
    uniform.push_back((i + 0.5) / 200);
    skewed.push_back(uniform.back() * uniform.back());
  }
  EXPECT_GT(testing::kolmogorov_smirnov_p_value(uniform), 0.99);
  EXPECT_LT(testing::kolmogorov_smirnov_p_value(skewed), 1e-6);
}

}  // namespace
}  // namespace troupe
