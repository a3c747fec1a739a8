#include "runtime/feature/row_collection.hpp"

#include "tests/runtime/feature/collect.hpp"
#include "tests/runtime/feature/hostile_replies.hpp"

namespace troupe {
namespace {

using testing::Answers;
using testing::collect;
using testing::collect_options;
using testing::cut_graph;
using testing::drive;
using testing::fanouts;
using testing::featured_graph;

const std::vector<std::uint64_t> collected_seeds = {5, 1, 20, 5, 34};

TEST(RowCollection, PutsRowsIdsAndLabelsInTheirPlaces) {
  for (const DType dtype : {DType::f32, DType::u8}) {
    const auto graph = featured_graph(dtype);
    for (const std::uint32_t parts : {1U, 2U, 5U}) {
      for (const auto answers : {Answers::replies, Answers::parts}) {
        const auto cut = cut_graph(graph, parts);

        const Batch batch = collect(cut, collect_options(cut),
                                    drive(cut, fanouts({4, 3}), {}, collected_seeds), answers);

        const auto& ids = batch.sampled->nodes[0].ids;
        ASSERT_EQ(batch.rows[0].features.rows(), ids.size());
        for (std::size_t i = 0; i < ids.size(); ++i) {
          const auto original = cut.original(ids[i]);
          EXPECT_EQ(raw(batch.rows[0].original_ids[i]), original);
          for (std::size_t c = 0; c < 5; ++c) {
            EXPECT_EQ(batch.rows[0].features.view().row(i)[c],
                      graph.nodes[0].features[original * 5 + c]);
          }
        }
        EXPECT_EQ(batch.labels, (std::vector<std::int64_t>{0, 1, 0, 0, -1}));
        EXPECT_EQ(batch.targets.rows(), 0U);
      }
    }
  }
}

TEST(RowCollection, AsksEachPartOnceWithSeedsFirst) {
  const auto cut = cut_graph(featured_graph(), 5);
  const auto sampled =
      std::make_shared<const SampledBatch>(drive(cut, fanouts({4, 3}), {}, collected_seeds));

  const RowCollection collection(*cut.book, collect_options(cut), sampled);

  std::set<PartId> parts;
  std::size_t nodes = 0;
  std::uint64_t labelled = 0;
  for (const auto& question : collection.questions()) {
    EXPECT_TRUE(parts.insert(question.part).second);
    ASSERT_EQ(question.request.sections.size(), 1U);
    const auto& request = question.request.sections[0];
    nodes += request.nodes.size();
    labelled += request.label_nodes;
    for (std::size_t i = 0; i < request.nodes.size(); ++i) {
      const auto originals = cut.original(request.nodes[i]);
      EXPECT_EQ(std::ranges::find(collected_seeds, originals) != collected_seeds.end(),
                i < request.label_nodes);
    }
  }
  EXPECT_EQ(nodes, sampled->num_nodes());
  EXPECT_EQ(labelled, 4U);
}

/// Papers with rows of 12 bytes and labels, authors with rows of 5 bytes, venues with none.
testing::TestGraph three_types() {
  testing::TestGraph graph;
  graph.nodes = {{.name = "paper", .count = 40},
                 {.name = "author", .count = 15},
                 {.name = "venue", .count = 4}};
  testing::add_features(graph.nodes[0], 3);
  testing::add_features(graph.nodes[1], 5, DType::u8);
  for (std::uint64_t i = 0; i < 40; ++i) {
    graph.nodes[0].labels.push_back(static_cast<std::int64_t>(i % 3));
  }
  graph.edges = {{.name = "writes", .source = 1, .destination = 0},
                 {.name = "cites", .source = 0, .destination = 0},
                 {.name = "publishes", .source = 2, .destination = 0}};
  for (std::uint64_t i = 0; i < 40; ++i) {
    graph.edges[0].edges.push_back({(i * 3) % 15, i});
    graph.edges[1].edges.push_back({(i * i + 11) % 40, i});
    graph.edges[2].edges.push_back({i % 4, i});
  }
  return graph;
}

TEST(RowCollection, AsksEachPartOnceWhateverTheNodeTypes) {
  const auto cut = cut_graph(three_types(), 3);
  SampleOptions options;
  options.fanout = {{3, 3, 3}, {3, 3, 3}};
  const auto sampled =
      std::make_shared<const SampledBatch>(drive(cut, options, {}, {1, 2, 3, 20, 30, 39, 2}));
  const auto by_parts = collect(cut, collect_options(cut), *sampled, Answers::parts);

  RowCollection collection(*cut.book, collect_options(cut), sampled);
  std::set<PartId> parts;
  std::size_t sections = 0;
  for (const auto& question : collection.questions()) {
    EXPECT_TRUE(parts.insert(question.part).second);
    sections += question.request.sections.size();
    ASSERT_OK_AND_ASSIGN(const auto reply,
                         read_part_rows(*cut.parts[raw(question.part)], question.request));
    EXPECT_OK(collection.answer(question.id, reply));
  }
  EXPECT_GT(sections, 2 * parts.size());
  const auto by_replies = std::move(collection).take();

  EXPECT_EQ(digest_batch(by_replies, DigestMode::full), digest_batch(by_parts, DigestMode::full));
  EXPECT_EQ(by_replies.labels, by_parts.labels);
  for (std::size_t i = 0; i < sampled->nodes[1].ids.size(); ++i) {
    EXPECT_EQ(raw(by_replies.rows[1].original_ids[i]), cut.original(sampled->nodes[1].ids[i], 1));
  }
}

TEST(RowCollection, AsksForTheSeedsAloneWhereOnlyTheyAreWanted) {
  const auto cut = cut_graph(featured_graph(), 3);
  const auto everything =
      collect(cut, collect_options(cut), drive(cut, fanouts({4, 3}), {}, collected_seeds));
  auto options = collect_options(cut);
  options->digest = DigestMode::off;
  options->seeds_only = true;
  for (const auto answers : {Answers::replies, Answers::parts}) {
    const auto batch =
        collect(cut, options, drive(cut, fanouts({4, 3}), {}, collected_seeds), answers);

    ASSERT_EQ(batch.rows[0].features.rows(), 4U);
    EXPECT_GT(batch.sampled->num_nodes(), 4U);
    EXPECT_TRUE(std::ranges::equal(batch.rows[0].features.view().flat(),
                                   everything.rows[0].features.view().slice(0, 4).flat()));
    EXPECT_EQ(batch.rows[0].original_ids.size(), 4U);
    EXPECT_EQ(batch.labels, everything.labels);
  }
}

TEST(RowCollection, SpreadsTargetsOverDuplicateSeeds) {
  auto graph = featured_graph();
  graph.nodes[0].labels.clear();
  graph.nodes[0].target_cols = 2;
  for (std::uint64_t i = 0; i < 120; ++i) {
    graph.nodes[0].targets.push_back(static_cast<float>(i));
  }
  const auto cut = cut_graph(graph, 3);

  const Batch batch =
      collect(cut, collect_options(cut), drive(cut, fanouts({2}), {}, collected_seeds));

  ASSERT_EQ(batch.targets.rows(), 5U);
  ASSERT_EQ(batch.targets.cols(), 2U);
  for (std::size_t i = 0; i < collected_seeds.size(); ++i) {
    EXPECT_EQ(batch.targets.view().row(i)[1], static_cast<float>(2 * collected_seeds[i] + 1));
  }
  EXPECT_TRUE(batch.labels.empty());
}

TEST(RowCollection, AsksOnlyForWhatIsWanted) {
  const auto cut = cut_graph(testing::skewed_graph(60, 6), 3);
  auto options = collect_options(cut);
  options->digest = DigestMode::off;
  options->with_original_ids = false;
  const auto sampled =
      std::make_shared<const SampledBatch>(drive(cut, fanouts({4}), {}, collected_seeds));

  const RowCollection labels_only(*cut.book, options, sampled);
  std::size_t nodes = 0;
  for (const auto& question : labels_only.questions()) {
    EXPECT_FALSE(question.request.sections.at(0).with_rows);
    nodes += question.request.num_nodes();
  }
  EXPECT_EQ(nodes, 4U) << "the distinct collected_seeds";

  auto nothing = std::make_shared<CollectOptions>(*options);
  nothing->with_labels = false;
  EXPECT_TRUE(RowCollection(*cut.book, nothing, sampled).questions().empty());
}

TEST(RowCollection, AnEmptyBatchIsDoneAtOnce) {
  const auto cut = cut_graph(featured_graph(), 2);

  const Batch batch = collect(cut, collect_options(cut), drive(cut, fanouts({4}), {}, {}));

  EXPECT_EQ(batch.rows[0].features.rows(), 0U);
  EXPECT_TRUE(batch.labels.empty());
}

TEST(RowCollection, GraphsWithoutLabelsGiveNone) {
  auto graph = featured_graph();
  graph.nodes[0].labels.clear();
  const auto cut = cut_graph(graph, 2);

  const Batch batch =
      collect(cut, collect_options(cut), drive(cut, fanouts({4}), {}, collected_seeds));

  EXPECT_TRUE(batch.labels.empty());
  EXPECT_EQ(batch.targets.view().size(), 0U);
}

/// One collection over two parts and its correct replies.
class HostileRows : public testing::HostileReplies {
 protected:
  HostileRows()
      : HostileReplies(
            cut_graph(featured_graph(), 2),
            [](const testing::CutGraph& cut) { return collect_options(cut); },
            [](const testing::CutGraph& cut) {
              return drive(cut, fanouts({4}), {}, collected_seeds);
            }) {}
};

TEST_F(HostileRows, SizesThatDoNotFitTheRequestAreRefused) {
  expect_corrupt("rows of 20 bytes or more", [](RowReply& reply) {
    reply.rows.bytes = reply.rows.bytes.first(reply.rows.bytes.size() - 1);
  });
  expect_corrupt("in rows of 19", [](RowReply& reply) {
    reply.sections[0].row_bytes = 19;
    reply.rows.bytes = reply.rows.bytes.first(reply.sections[0].nodes * 19);
  });
  expect_corrupt("original ids or more", [](RowReply& reply) { reply.original_ids.pop_back(); });
  expect_corrupt("original ids, got 0", [](RowReply& reply) { reply.original_ids.clear(); });
  expect_corrupt("labels or none", [](RowReply& reply) {
    reply.labels.push_back(1);
    ++reply.sections[0].labels;
  });
  expect_corrupt("targets of", [](RowReply& reply) {
    reply.targets.assign(reply.labels.size() + 1, 0.0F);
    reply.sections[0].targets = reply.targets.size();
  });
}

TEST_F(HostileRows, PartsMustAgreeOnLabels) {
  ASSERT_EQ(replies_.size(), 2U);
  EXPECT_OK(collection_.answer(0, replies_[0]));
  RowReply without = replies_[1];
  without.labels.clear();
  without.sections[0].labels = 0;
  RowReply with_both = replies_[1];
  with_both.targets.assign(with_both.labels.size() * 2, 0.0F);
  with_both.sections[0].targets = with_both.targets.size();

  EXPECT_ERROR(collection_.answer(1, without), Errc::data_corruption, "differ");
  EXPECT_ERROR(collection_.answer(1, with_both), Errc::data_corruption, "differ");
}

TEST_F(HostileRows, AnswersThatNobodyWaitsForAreRefused) {
  EXPECT_OK(collection_.answer(0, replies_[0]));
  EXPECT_ERROR(collection_.answer(0, replies_[0]), Errc::invalid_argument, "question 0");
  EXPECT_ERROR(collection_.answer(2, replies_[0]), Errc::invalid_argument, "question 2");
  EXPECT_ERROR(collection_.answer_from(1, *cut_.parts[0]), Errc::invalid_argument, "part 1");
  EXPECT_FALSE(collection_.done());
  EXPECT_OK(collection_.answer_from(1, *cut_.parts[1]));
  EXPECT_TRUE(collection_.done());
}

TEST_F(HostileRows, APartWithOtherFeaturesIsRefused) {
  Part part = *cut_.parts[0];
  part.nodes[0].features->info.cols = 4;
  EXPECT_ERROR(collection_.answer_from(0, part), Errc::data_corruption, "the part has 16");
  part.nodes[0].features.reset();
  EXPECT_ERROR(collection_.answer_from(0, part), Errc::data_corruption, "the part has 0");
}

TEST(RowCollection, TensorsComeByReplyOnly) {
  const auto cut = cut_graph(featured_graph(), 1);
  auto options = collect_options(cut);
  options->source = {.kind = RowSource::Kind::tensor, .tensor = 3};
  options->decoders = {RowDecoder::plain(1)};
  const auto sampled = std::make_shared<const SampledBatch>(drive(cut, fanouts({1}), {}, {2}));
  RowCollection collection(*cut.book, options, sampled);
  const RowRequest& request = collection.questions().at(0).request;
  EXPECT_EQ(request.source.tensor, 3U);
  EXPECT_EQ(request.sections.at(0).row_bytes, 4U);
  EXPECT_ERROR(collection.answer_from(0, *cut.parts[0]), Errc::failed_precondition, "tensor 3");

  RowReply reply;
  const auto nodes = request.num_nodes();
  reply.sections = {{.nodes = nodes, .row_bytes = 4, .labels = 1}};
  reply.rows = Segment::of(std::vector<float>(nodes, 2.5F));
  reply.original_ids.resize(nodes);
  reply.labels = {1};
  EXPECT_OK(collection.answer(0, reply));

  EXPECT_EQ(std::move(collection).take().rows[0].features.view().row(0)[0], 2.5F);
}

}  // namespace
}  // namespace troupe
