#include "runtime/generate/powerlaw.hpp"

#include "runtime/generate/power.hpp"
#include "runtime/generate/streams.hpp"
#include "runtime/generate/weighted_places.hpp"
#include "tests/runtime/generate/generated.hpp"
#include "tests/support/statistics.hpp"

#include <cmath>
#include <numeric>

namespace troupe {
namespace {

using testing::degrees;
using testing::edges_of;

PowerlawOptions small_powerlaw() {
  PowerlawOptions options;
  options.nodes = 1001;
  options.edges = 20'000;
  options.features = 6;
  options.classes = 4;
  options.train = 100;
  options.seed = 3;
  return options;
}

class Powerlaw : public testing::Generated {
 protected:
  Result<GraphStore> make(const PowerlawOptions& options) {
    return Generated::make(options, powerlaw_graph);
  }
};

/// Hill's estimate of a distribution's exponent from its largest values.
double exponent_of(const std::vector<double>& sorted, std::size_t largest) {
  double sum = 0;
  for (std::size_t i = 0; i < largest; ++i) {
    sum += std::log(sorted[i] / sorted[largest]);
  }
  return 1 + static_cast<double>(largest) / sum;
}

TEST_F(Powerlaw, DegreesHaveTheExponentAskedFor) {
  for (const double exponent : {2.2, 2.5, 3.0}) {
    PowerlawOptions options;
    options.nodes = 50'000;
    options.edges = 1'000'000;
    options.exponent = exponent;
    ASSERT_OK_AND_ASSIGN(const auto store, make(options));
    const auto edges = edges_of(store);

    for (const bool outgoing : {false, true}) {
      EXPECT_NEAR(exponent_of(degrees(edges, 50'000, outgoing), 1000), exponent, 0.15)
          << exponent << (outgoing ? " out" : " in");
    }
  }
}

TEST_F(Powerlaw, ClassesKeepTheDegreesAndTheShareInside) {
  PowerlawOptions options;
  options.nodes = 50'000;
  options.edges = 1'000'000;
  options.classes = 10;
  options.homophily = 0.75;
  ASSERT_OK_AND_ASSIGN(const auto store, make(options));
  const auto edges = edges_of(store);
  const auto labels = store.graph()->nodes[0].labels;

  EXPECT_NEAR(testing::share_inside(edges, labels, labels), 0.75, 0.002);
  options.classes = 0;
  ASSERT_OK_AND_ASSIGN(const auto plain, make(options));
  const auto with = degrees(edges, 50'000, false);
  const auto without = degrees(edges_of(plain), 50'000, false);
  for (const std::size_t rank : {0U, 1U, 10U, 100U, 1000U, 10'000U}) {
    EXPECT_NEAR(with[rank] / without[rank], 1, 0.1) << "rank " << rank;
  }
}

TEST_F(Powerlaw, RandomLabelsLeaveTheGraphAsItIs) {
  auto options = small_powerlaw();
  options.labels = LabelKind::random;
  ASSERT_OK_AND_ASSIGN(const auto random, make(options));
  const auto labels = random.graph()->nodes[0].labels;
  EXPECT_LT(testing::share_inside(edges_of(random), labels, labels), 0.4);
  const auto checksum = [](const GraphInfo& info) {
    const auto found = std::ranges::find_if(
        info.files, [](const FileInfo& file) { return file.path.ends_with("neighbours.npy"); });
    return found->checksum;
  };
  options.classes = 0;
  ASSERT_OK_AND_ASSIGN(const auto none, make(options));
  EXPECT_EQ(checksum(random.info()), checksum(none.info()));
}

TEST_F(Powerlaw, DegreesSayNothingAboutIds) {
  PowerlawOptions options;
  options.nodes = 10'000;
  options.edges = 100'000;
  ASSERT_OK_AND_ASSIGN(const auto store, make(options));

  std::uint64_t low = 0;
  for (const auto& edge : edges_of(store)) {
    low += edge.source < 5000 ? 1U : 0U;
  }
  EXPECT_GT(low, 30'000U);
  EXPECT_LT(low, 70'000U);
}

TEST_F(Powerlaw, ThreadsMemoryAndPiecesDoNotChangeAByte) {
  expect_bytes(small_powerlaw(), powerlaw_graph, "db84b85e96ef8cf32d4b7be44880bfd1");
}

TEST_F(Powerlaw, OneNodeHasLoops) {
  PowerlawOptions options;
  options.nodes = 1;
  options.edges = 4;
  ASSERT_OK_AND_ASSIGN(const auto store, make(options));
  EXPECT_EQ(edges_of(store).size(), 4U);
}

TEST_F(Powerlaw, RefusesOptionsThatCannotBe) {
  auto options = small_powerlaw();
  options.exponent = 1.9;
  EXPECT_ERROR(powerlaw_graph(options), Errc::invalid_argument,
               "exponent: expected 2 to 10, got 1.9");
  options = small_powerlaw();
  options.nodes = 1ULL << 32;
  EXPECT_ERROR(powerlaw_graph(options), Errc::invalid_argument,
               "nodes: expected 1 to 4294967295, got 4294967296");
  options = small_powerlaw();
  options.homophily = -0.1;
  EXPECT_ERROR(powerlaw_graph(options), Errc::invalid_argument, "homophily: expected 0 to 1");
  options = small_powerlaw();
  options.classes = 1002;
  EXPECT_ERROR(powerlaw_graph(options), Errc::invalid_argument, "a node for each class");
}

TEST(PowerWeights, FollowThePowerAndFit) {
  InlineExecutor here;
  for (const double exponent : {2.0, 2.5, 10.0}) {
    const auto weights = generate::power_weights(100'000, exponent, here);

    EXPECT_TRUE(std::ranges::is_sorted(weights, std::greater<>()));
    EXPECT_GE(weights.back(), 1U);
    EXPECT_LT(std::accumulate(weights.begin(), weights.end(), 0.0), 0x1p63);
    for (const std::size_t rank : {1U, 99U, 99'999U}) {
      const double expected = std::pow(static_cast<double>(rank + 1), -1 / (exponent - 1));
      EXPECT_NEAR(static_cast<double>(weights[rank]) / static_cast<double>(weights[0]) / expected,
                  1, 1e-9);
    }
  }
}

TEST(Power, LogarithmAndExponentialAreThoseOfTheLibraryToAFewBits) {
  for (double x = 1; x < 1e12; x *= 1.37) {
    EXPECT_NEAR(generate::natural_log(x), std::log(x), 4e-16 * std::max(1.0, std::log(x))) << x;
  }
  for (double x = 0; x > -700; x -= 0.377) {
    EXPECT_NEAR(generate::exponential(x) / std::exp(x), 1, 1e-15) << x;
  }
  EXPECT_EQ(generate::natural_log(1), 0);
  EXPECT_EQ(generate::exponential(0), 1);
}

TEST(WeightedPlaces, FindsThePlaceOfEveryNumber) {
  const std::vector<std::uint64_t> weights{3, 1, 1, 20, 1, 5};
  const generate::WeightedPlaces places(weights);

  ASSERT_EQ(places.total(), 31U);
  std::uint64_t x = 0;
  for (std::uint64_t place = 0; place < weights.size(); ++place) {
    EXPECT_EQ(places.before(place), x);
    for (std::uint64_t i = 0; i < weights[place]; ++i) {
      EXPECT_EQ(places.at(x++), place);
    }
  }
  EXPECT_EQ(generate::WeightedPlaces({1}).at(0), 0U);
}

TEST(WeightedPlaces, FindsPlacesOfLargeAndUnequalWeights) {
  std::vector<std::uint64_t> weights;
  for (std::uint64_t i = 0; i < 5000; ++i) {
    weights.push_back(i % 97 == 0 ? std::uint64_t{1} << 50 : 1 + i % 7);
  }
  const generate::WeightedPlaces places(weights);

  for (std::uint64_t place = 0; place < weights.size(); ++place) {
    EXPECT_EQ(places.at(places.before(place)), place);
    EXPECT_EQ(places.at(places.before(place) + weights[place] - 1), place);
  }
}

TEST(WeightedPlaces, DrawsInsideAndOutsideOfAClassByWeight) {
  const generate::NodeClasses classes({{1, 2}}, 7, 3);  // places 0..2, 3..4, 5..6
  const generate::WeightedPlaces places({1, 2, 3, 4, 5, 6, 7});
  std::vector<double> inside(7);
  std::vector<double> outside(7);
  constexpr std::uint64_t draws = 90'000;
  for (std::uint64_t i = 0; i < draws; ++i) {
    const auto word = ~std::uint64_t{0} / draws * i;
    ++inside[places.inside(classes, 1, word)];
    ++outside[places.outside(classes, 1, word)];
  }

  EXPECT_EQ(inside[0] + inside[1] + inside[2] + inside[5] + inside[6], 0);
  EXPECT_NEAR(inside[3] / draws, 4.0 / 9, 1e-4);
  EXPECT_EQ(outside[3] + outside[4], 0);
  EXPECT_NEAR(outside[0] / draws, 1.0 / 19, 1e-4);
  EXPECT_NEAR(outside[6] / draws, 7.0 / 19, 1e-4);
}

TEST(NodeClasses, PlacesAreClassAfterClass) {
  for (const std::uint64_t nodes : {1U, 5U, 12U, 100U}) {
    for (std::uint64_t count = 1; count <= std::min<std::uint64_t>(nodes, 13); ++count) {
      const generate::NodeClasses classes({{7, 8}}, nodes, count);
      EXPECT_EQ(classes.begin(0), 0U);
      EXPECT_EQ(classes.begin(count), nodes);
      for (std::uint64_t c = 0; c < count; ++c) {
        for (auto place = classes.begin(c); place < classes.begin(c + 1); ++place) {
          EXPECT_EQ(classes.class_of_place(place), c);
          EXPECT_EQ(classes.class_of_id(classes.ids()(place)), c);
        }
      }
    }
  }
}

}  // namespace
}  // namespace troupe
