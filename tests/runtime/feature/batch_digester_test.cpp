#include "runtime/feature/batch_digester.hpp"

#include "tests/runtime/feature/collect.hpp"

namespace troupe {
namespace {

using testing::collect_options;
using testing::cut_graph;
using testing::CutGraph;
using testing::drive;

/// Papers and authors have rows so wide that the cache holds a few, tags none.
testing::TestGraph wide_graph() {
  testing::TestGraph graph;
  graph.nodes = {
      {.name = "paper", .count = 40}, {.name = "author", .count = 15}, {.name = "tag", .count = 4}};
  testing::add_features(graph.nodes[0], 1500);
  testing::add_features(graph.nodes[1], 4000);
  for (std::uint64_t i = 0; i < 40; ++i) {
    graph.nodes[0].labels.push_back(static_cast<std::int64_t>(i % 3));
  }
  graph.edges = {{.name = "writes", .source = 1, .destination = 0},
                 {.name = "cites", .source = 0, .destination = 0},
                 {.name = "of", .source = 2, .destination = 0}};
  for (std::uint64_t i = 0; i < 40; ++i) {
    graph.edges[0].edges.push_back({(i * 3) % 15, i});
    graph.edges[1].edges.push_back({(i * i + 11) % 40, i});
    graph.edges[2].edges.push_back({i % 4, i});
  }
  return graph;
}

/// How the questions to parts are answered: those to the first parts before the others.
enum class Way { replies, parts_at_once, replies_then_parts, parts_then_replies };

Batch collect_digesting(const CutGraph& cut, DigestMode mode, const BatchKey& key, Way way) {
  SampleOptions options;
  options.fanout = {{3, 3, 3}, {3, 3, 3}};
  auto collect = collect_options(cut);
  collect->digest = mode;
  collect->digest_here = true;
  RowCollection rows(
      *cut.book, collect,
      std::make_shared<const SampledBatch>(drive(cut, options, key, {1, 2, 3, 20, 30, 39, 2, 17})));
  const auto questions = rows.questions();
  std::vector<RowCollection::PartHere> here;
  std::vector<RowQuestion> away;
  for (const auto& question : questions) {
    const bool at_once = way == Way::parts_at_once || (way != Way::replies && question.id % 2 == 0);
    if (at_once) {
      here.push_back({question.id, *cut.parts[raw(question.part)]});
    } else {
      away.push_back(question);
    }
  }
  const auto take_replies = [&] {
    for (const auto& question : away) {
      const auto reply = read_part_rows(*cut.parts[raw(question.part)], question.request);
      EXPECT_OK(reply);
      EXPECT_OK(rows.answer(question.id, *reply));
    }
  };
  if (way != Way::parts_then_replies) {
    take_replies();
  }
  EXPECT_OK(rows.answer_from(here));
  if (way == Way::parts_then_replies) {
    take_replies();
  }
  EXPECT_TRUE(rows.done());
  return std::move(rows).take();
}

TEST(BatchDigester, DigestsWhileRowsComeFromAnywhere) {
  std::set<Digest> of_modes;
  for (const auto mode : {DigestMode::full, DigestMode::ids}) {
    std::set<Digest> digests;
    for (const std::uint32_t parts : {1U, 2U, 3U, 5U}) {
      const auto cut = cut_graph(wide_graph(), parts);
      for (const auto way :
           {Way::replies, Way::parts_at_once, Way::replies_then_parts, Way::parts_then_replies}) {
        const auto batch = collect_digesting(cut, mode, {.epoch = 1, .number = 2}, way);
        EXPECT_EQ(batch.digest.mode, mode);
        EXPECT_EQ(batch.digest.value, digest_batch(batch, mode));
        digests.insert(batch.digest.value);
      }
    }
    EXPECT_EQ(digests.size(), 1U);
    of_modes.merge(digests);
  }
  EXPECT_EQ(of_modes.size(), 2U);
}

TEST(BatchDigester, BatchesThatAreNotTrainedOnAreNotDigested) {
  const auto cut = cut_graph(wide_graph(), 2);
  const auto mode_of = [&](DigestMode mode, Purpose purpose) {
    return collect_digesting(cut, mode, {.purpose = purpose}, Way::parts_at_once).digest.mode;
  };
  EXPECT_EQ(mode_of(DigestMode::full, Purpose::evaluate), DigestMode::off);
  EXPECT_EQ(mode_of(DigestMode::off, Purpose::train), DigestMode::off);
}

TEST(BatchDigester, TrainersDigestWhatIsNotDigestedYet) {
  const auto cut = cut_graph(wide_graph(), 2);
  auto batch = collect_digesting(cut, DigestMode::full, {}, Way::parts_at_once);
  EXPECT_EQ(digest_of_trained(batch, DigestMode::ids), digest_batch(batch, DigestMode::ids));
  EXPECT_EQ(digest_of_trained(batch, DigestMode::full), batch.digest.value);
  EXPECT_EQ(digest_of_trained(batch, DigestMode::off), Digest{});

  batch.rows[0].features.data()[0] += 1;
  EXPECT_EQ(digest_of_trained(batch, DigestMode::full), batch.digest.value);
  batch.digest = {};  // as after a link
  EXPECT_EQ(digest_of_trained(batch, DigestMode::full), digest_batch(batch, DigestMode::full));
  EXPECT_EQ(digest_of_trained(batch, DigestMode::off), Digest{});
}

}  // namespace
}  // namespace troupe
