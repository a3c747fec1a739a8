#include "runtime/run/class_counts.hpp"

#include "runtime/partition/partitioner.hpp"
#include "tests/runtime/graph/store_fixture.hpp"
#include "tests/support/expect.hpp"

#include <filesystem>
#include <vector>

namespace troupe {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)
using Counts = std::vector<std::uint64_t>;

class ClassCounts : public ::testing::Test {
 protected:
  void SetUp() override {
    auto contents = random_graph(97, 300, 5).contents;
    labels_ = contents.nodes[0].labels;
    seeds_ = contents.seeds[{"", "train"}];
    ASSERT_OK(write_graph_store(contents, temp_ / "graph"));
    ASSERT_OK_AND_ASSIGN(const auto graph, GraphStore::open(temp_ / "graph", {}));
    for (const std::uint32_t parts : {1U, 2U, 5U}) {
      ASSERT_OK(partition_store(graph, {.parts = parts, .seed = 9}, folder(parts)));
    }
  }
  std::filesystem::path folder(std::uint32_t parts) const {
    return temp_ / ("parts" + std::to_string(parts));
  }
  PartitionedStore store(std::uint32_t parts) const {
    return *PartitionedStore::open(folder(parts), {.verify = Verify::sizes});
  }
  static Result<Counts> classes_of(const PartitionedStore& store, const SeedList& seeds) {
    return count_classes(store, PartitionBook(store.partition().ranges), seeds);
  }
  Counts expected() const {
    Counts counts(4);
    for (const auto seed : seeds_) {
      if (labels_[seed] >= 0) {
        ++counts[static_cast<std::size_t>(labels_[seed])];
      }
    }
    return counts;
  }

  TempDir temp_;
  std::vector<std::int64_t> labels_;
  std::vector<std::uint64_t> seeds_;
};

TEST_F(ClassCounts, AreThoseOfTheWholeStoreHoweverItIsCut) {
  for (const std::uint32_t parts : {1U, 2U, 5U}) {
    const auto cut = store(parts);
    ASSERT_OK_AND_ASSIGN(const auto seeds, cut.seeds("", "train"));
    ASSERT_OK_AND_ASSIGN(const auto counts, classes_of(cut, seeds));
    EXPECT_EQ(counts, expected()) << parts;
  }
}

TEST_F(ClassCounts, RepeatedSeedsCountAsOftenAsTheyAreLearned) {
  const auto cut = store(2);
  ASSERT_OK_AND_ASSIGN(auto seeds, cut.seeds("", "train"));
  for (std::size_t i = 0, once = seeds.global.size(); i < once; ++i) {
    seeds.global.push_back(seeds.global[i]);
  }
  ASSERT_OK_AND_ASSIGN(const auto counts, classes_of(cut, seeds));

  auto twice = expected();
  for (auto& count : twice) {
    count *= 2;
  }
  EXPECT_EQ(counts, twice);
}

TEST_F(ClassCounts, NeedTheLabelsOfAllPartsOnThisHost) {
  const auto cut = store(2);
  ASSERT_OK_AND_ASSIGN(const auto seeds, cut.seeds("", "train"));
  std::filesystem::remove(folder(2) / "part-1/nodes-node/labels.npy");

  const auto counts = classes_of(cut, seeds);
  EXPECT_ERROR(counts, Errc::not_found, "/train/class_weights: expected the labels of all parts");
  EXPECT_ERROR(counts, Errc::not_found, "part-1/nodes-node/labels.npy");
}

TEST_F(ClassCounts, RefuseALabelThatIsNoClass) {
  auto contents = random_graph(97, 300, 5).contents;
  contents.info.node_types[0].labels->classes = 2;
  std::ranges::fill(contents.nodes[0].labels, 1);
  ASSERT_OK(write_graph_store(contents, temp_ / "two"));
  ASSERT_OK_AND_ASSIGN(const auto graph, GraphStore::open(temp_ / "two", {}));
  ASSERT_OK(partition_store(graph, {.parts = 2, .seed = 9}, temp_ / "two_parts"));
  ASSERT_OK_AND_ASSIGN(auto seeds, store(2).seeds("", "train"));
  for (const char* part : {"part-0", "part-1"}) {
    std::filesystem::copy_file(folder(2) / part / "nodes-node/labels.npy",
                               temp_ / "two_parts" / part / "nodes-node/labels.npy",
                               std::filesystem::copy_options::overwrite_existing);
  }
  ASSERT_OK_AND_ASSIGN(const auto cut, PartitionedStore::open(temp_ / "two_parts", {}));

  EXPECT_ERROR(classes_of(cut, seeds), Errc::data_corruption, "expected -1 to 1, found");
}

LinkList links_with(const std::vector<float>& labels) {
  const auto ends = Segment::of(std::vector<std::uint64_t>(2 * labels.size()));
  const auto kept = Segment::of(std::vector<float>(labels));
  return {EdgeTypeId{0},    ends.as<std::uint64_t>(), 2, {},
          kept.as<float>(), {ends.owner, kept.owner}};
}

TEST(ClassCountsOfLinks, AreOfTheirLabels) {
  ASSERT_OK_AND_ASSIGN(const auto counts, count_classes(links_with({2, 0, 2, 2}), 4));
  EXPECT_EQ(counts, (Counts{1, 0, 3, 0}));
  for (const float bad : {4.0F, -1.0F, 0.5F, std::nanf("")}) {
    EXPECT_ERROR(count_classes(links_with({1, bad}), 4), Errc::failed_precondition,
                 "expected classes from 0 to 3");
  }
  EXPECT_ERROR(count_classes(links_with({1}).without_labels(), 4), Errc::failed_precondition,
               "expected 1 labels to count, found 0");
}

Job weighted_job(const std::vector<double>& weights, const std::string& loss = "cross_entropy") {
  Job job;
  job.train.class_weights = {.balanced = weights.empty(), .values = weights};
  job.train.loss = loss;
  return job;
}

TEST(ClassWeightsOfAJob, DependOnRatiosButForTheLossWhoseMeanCountsTerms) {
  ASSERT_OK_AND_ASSIGN(const auto some, class_weights(weighted_job({1, 3}), {}, 100));
  ASSERT_OK_AND_ASSIGN(const auto more, class_weights(weighted_job({1e-9, 3e-9}), {}, 100));
  ASSERT_OK_AND_ASSIGN(const auto balanced, class_weights(weighted_job({}), Counts{30, 10}, 100));
  EXPECT_EQ(some.of_class, more.of_class);
  EXPECT_EQ(some.of_class, balanced.of_class);
  EXPECT_NEAR(static_cast<double>(some.of_class[1]) / static_cast<double>(some.of_class[0]), 3,
              1e-9);

  ASSERT_OK_AND_ASSIGN(const auto labels,
                       class_weights(weighted_job({0.5, 3}, "bce_logits"), {}, 100));
  EXPECT_EQ(labels.of_class, (Counts{labels.unit / 2, 3 * labels.unit}));
}

TEST(ClassWeightsOfAJob, AClassWithoutTrainingSeedsHasNone) {
  ASSERT_OK_AND_ASSIGN(const auto balanced, class_weights(weighted_job({}), Counts{3, 0, 1}, 4));
  EXPECT_EQ(balanced.of_class[1], 0U);
  EXPECT_ERROR(class_weights(weighted_job({}), Counts{0, 0}, 4), Errc::failed_precondition,
               "no training seed has a label");
}

}  // namespace
}  // namespace troupe
