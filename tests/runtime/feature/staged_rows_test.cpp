// Rows of batches for a device that has some of them: each row is found where its slot says, and is the one
// that the host would place.
#include "tests/runtime/feature/staged_rows.hpp"

#include "runtime/feature/row_cache.hpp"
#include "tests/runtime/feature/hostile_replies.hpp"

#include <fmt/format.h>
#include <map>

namespace troupe {
namespace {

using testing::collect_options;
using testing::CutGraph;
using testing::StagingProcess;
using Tier = StagingProcess::Tier;

/// Two types with features of different widths and dtypes, one without, all of them sampled.
testing::TestGraph staged_graph() {
  testing::TestGraph graph;
  graph.nodes = {{.name = "paper", .count = 90},
                 {.name = "author", .count = 40},
                 {.name = "venue", .count = 6}};
  testing::add_features(graph.nodes[0], 3);
  testing::add_features(graph.nodes[1], 5, DType::u8);
  for (std::uint64_t i = 0; i < 90; ++i) {
    graph.nodes[0].labels.push_back(static_cast<std::int64_t>(i % 3));
  }
  graph.edges = {{.name = "writes", .source = 1, .destination = 0},
                 {.name = "cites", .source = 0, .destination = 0},
                 {.name = "publishes", .source = 2, .destination = 0}};
  for (std::uint64_t i = 0; i < 90; ++i) {
    for (std::uint64_t k = 0; k < 4; ++k) {
      graph.edges[0].edges.push_back({(i * 3 + k * k) % 40, i});
      graph.edges[1].edges.push_back({(i * i + 11 * k) % 90, i});
    }
    graph.edges[2].edges.push_back({i % 6, i});
  }
  return graph;
}

std::shared_ptr<const SampledBatch> sampled_of(const CutGraph& cut) {
  SampleOptions options;
  options.fanout = {{3, 3, 1}, {2, 3, 1}};
  return std::make_shared<const SampledBatch>(
      testing::drive(cut, options, {}, {1, 2, 3, 20, 50, 89, 2, 64}));
}

/// Rows by where they were found.
using FoundIn = std::map<Tier, std::uint64_t>;

FoundIn expect_same_rows(const StagingProcess& process, const CutGraph& cut,
                         const CollectOptions& options, const Batch& batch, const Batch& expected) {
  FoundIn found;
  const auto& staged = *batch.staged;
  for (std::size_t t = 0; t < batch.rows.size(); ++t) {
    const auto type = static_cast<NodeTypeId>(t);
    const auto& decoder = options.decoders[t];
    const auto slots = staged.slots(type);
    EXPECT_EQ(slots.size(), expected.rows[t].features.rows());
    EXPECT_EQ(batch.rows[t].features.rows(), 0U) << "left to the device";
    std::vector<float> row(decoder.cols());
    for (std::size_t i = 0; i < slots.size(); ++i) {
      const auto [stored, tier] = process.read(staged, type, slots[i]);
      ++found[tier];
      EXPECT_EQ(stored.size(), decoder.row_bytes());
      decoder.decode(stored, row);
      EXPECT_TRUE(std::ranges::equal(row, expected.rows[t].features.view().row(i)))
          << "type " << t << ", row " << i << ", "
          << cut.original(batch.sampled->nodes[t].ids[i], t);
    }
    EXPECT_EQ(batch.rows[t].original_ids, expected.rows[t].original_ids);
  }
  EXPECT_EQ(batch.labels, expected.labels);
  EXPECT_EQ(staged.rows_near, found[Tier::near]);
  EXPECT_EQ(staged.rows_far, found[Tier::far]);
  return found;
}

TEST(StagedRows, EachRowIsWhereItsSlotSays) {
  for (const std::uint32_t parts : {1U, 2U, 3U, 5U}) {
    const auto cut = testing::cut_graph(staged_graph(), parts);
    const auto sampled = sampled_of(cut);
    const auto expected = testing::collect(cut, collect_options(cut), *sampled);
    for (const std::set<std::uint32_t>& here :
         {std::set<std::uint32_t>{}, {0}, {parts - 1}, {0, parts - 1}}) {
      for (const std::uint64_t near : {0U, 3U, 8U}) {
        SCOPED_TRACE(fmt::format("{} parts, {} here, {} eighths near", parts, here.size(), near));
        const StagingProcess process(cut, here, near);
        const auto options = collect_options(cut);

        const auto [batch, counts] = process.collect(process.inputs(options, sampled));

        auto found = expect_same_rows(process, cut, *options, batch, expected);
        EXPECT_EQ(found[Tier::staged] == 0, here.size() == parts);
        EXPECT_EQ(found[Tier::near] == 0, near == 0 || here.empty());
        EXPECT_EQ(found[Tier::far] == 0, near == 8 || here.empty());
        // Nodes without features are asked for their original ids.
        const auto bare = sampled->nodes[2].ids.size();
        EXPECT_LE(found[Tier::staged], counts.remote);
        EXPECT_GE(found[Tier::staged] + bare, counts.remote);
        EXPECT_EQ(counts.rows, sampled->num_nodes());
      }
    }
  }
}

TEST(StagedRows, HalosAreRowsOfTheDevice) {
  const auto cut = testing::cut_graph(staged_graph(), 3);
  const auto sampled = sampled_of(cut);
  const auto options = collect_options(cut);
  const auto expected = testing::collect(cut, options, *sampled);
  for (const std::uint64_t near : {0U, 3U, 8U}) {
    const StagingProcess without(cut, {1}, near);
    const StagingProcess with(cut, {1}, near, true);
    const auto plain = without.collect(without.inputs(options, sampled));
    const auto halos = with.collect(with.inputs(options, sampled));
    auto far = expect_same_rows(without, cut, *options, plain.batch, expected);
    auto found = expect_same_rows(with, cut, *options, halos.batch, expected);
    EXPECT_LT(found[Tier::staged], far[Tier::staged]);
    EXPECT_GT(found[Tier::staged], 0U) << "halos have every other row";
    EXPECT_LT(halos.counts.remote, plain.counts.remote);
    EXPECT_EQ(halos.counts.rows, plain.counts.rows);
  }
}

TEST(StagedRows, CachedRowsAreStaged) {
  const auto cut = testing::cut_graph(staged_graph(), 3);
  const auto sampled = sampled_of(cut);
  const auto options = collect_options(cut);
  const auto expected = testing::collect(cut, options, *sampled);
  const StagingProcess process(cut, {0}, 4);
  auto cache = std::make_shared<RowCache>(cut.info);
  std::vector<CacheChoice> choices;
  for (const std::uint32_t part : {1U, 2U}) {
    for (const auto type : {std::uint16_t{0}, std::uint16_t{1}}) {
      auto& choice = choices.emplace_back(CacheChoice{PartId{part}, NodeTypeId{type}, {}});
      const auto range = cut.book->range(NodeTypeId{type}, PartId{part});
      for (auto id = raw(range.first); id < raw(range.end); id += 2) {
        choice.nodes.push_back(NodeId{id});
      }
    }
  }
  for (const auto& question : cache_questions(cut.info, choices, 1'000'000)) {
    ASSERT_OK_AND_ASSIGN(const auto reply,
                         read_part_rows(*cut.parts[raw(question.part)], question.request));
    ASSERT_OK(cache->add(question, reply));
  }
  const auto plain = process.collect(process.inputs(options, sampled));
  auto inputs = process.inputs(options, sampled);
  inputs.cache = cache;
  const auto cached = process.collect(std::move(inputs));
  auto before = expect_same_rows(process, cut, *options, plain.batch, expected);
  auto found = expect_same_rows(process, cut, *options, cached.batch, expected);
  EXPECT_EQ(found, before) << "rows of a cache are staged as those that come";
  EXPECT_GT(cached.counts.cached, 0U);
  EXPECT_EQ(cached.counts.remote + cached.counts.cached, plain.counts.remote);
}

/// The same with a cache that takes rows of replies.
TEST(StagedRows, OfACacheThatLooksAheadAreTheSame) {
  const auto cut = testing::cut_graph(staged_graph(), 3);
  const auto sampled = sampled_of(cut);
  const auto options = collect_options(cut);
  const auto expected = testing::collect(cut, options, *sampled);
  const StagingProcess process(cut, {0}, 4);
  auto future = std::make_shared<CacheOptions>();
  future->policy = CacheOptions::Policy::future;
  future->budget_bytes = 100'000;
  const auto cache =
      std::make_shared<FutureCache>(std::make_shared<const GraphInfo>(cut.info), cut.book, future,
                                    std::vector<bool>{true, false, false});
  for (Turn turn = 0; turn < 2; ++turn) {
    auto inputs = process.inputs(options, sampled);
    inputs.future = {cache, turn, turn + 1};
    const auto [batch, counts] = process.collect(std::move(inputs));
    expect_same_rows(process, cut, *options, batch, expected);
    EXPECT_EQ(counts.cached == 0, turn == 0);
  }
}

TEST(StagedRows, ADigestIsLeftToWhoGathersThem) {
  const auto cut = testing::cut_graph(staged_graph(), 2);
  const StagingProcess process(cut, {0}, 4);
  auto options = collect_options(cut);
  options->digest_here = true;
  const auto batch = process.collect(process.inputs(options, sampled_of(cut))).batch;
  EXPECT_EQ(batch.digest.mode, DigestMode::off);
}

TEST(StagedRows, RowsOfDevicesAreNotAskedFor) {
  const auto cut = testing::cut_graph(staged_graph(), 3);
  const StagingProcess process(cut, {0, 2}, 4);
  RowCollection rows(*cut.book, collect_options(cut), sampled_of(cut), nullptr, {}, {},
                     process.slots);
  for (const auto& question : rows.questions()) {
    for (const auto& section : question.request.sections) {
      EXPECT_EQ(section.with_rows,
                question.part == PartId{1} && section.node_type != NodeTypeId{2});
    }
  }
}

/// What the device has not, though the part is here.
TEST(StagedRows, PartsThatTheDeviceDoesNotHaveAreStagedFromWhereverTheyAre) {
  const auto cut = testing::cut_graph(staged_graph(), 3);
  const auto sampled = sampled_of(cut);
  const auto options = collect_options(cut);
  const auto expected = testing::collect(cut, options, *sampled);
  const StagingProcess process(cut, {1}, 4);
  RowCollection rows(*cut.book, options, sampled, nullptr, {}, {}, process.slots);
  const auto questions = rows.questions();
  for (const auto& question : questions) {
    EXPECT_OK(rows.answer_from(question.id, *cut.parts[raw(question.part)]));
  }
  expect_same_rows(process, cut, *options, std::move(rows).take(), expected);
}

TEST(StagedRows, OneBlockHasAllOfThem) {
  const auto cut = testing::cut_graph(staged_graph(), 3);
  const StagingProcess process(cut, {0}, 4);
  const auto batch = process.collect(process.inputs(collect_options(cut), sampled_of(cut))).batch;
  const auto& staged = *batch.staged;
  std::size_t end = 0;
  for (const auto& of : staged.types) {
    EXPECT_EQ(of.slots_begin, end);
    end = (of.slots_begin + of.rows * 8 + 255) / 256 * 256;
  }
  for (const auto& of : staged.types) {
    EXPECT_EQ(of.staged_begin, end);
    end = (of.staged_begin + of.staged * of.row_bytes + 255) / 256 * 256;
  }
  EXPECT_LE(staged.size_bytes, end);
  EXPECT_GT(staged.size_bytes + 256, end);
  EXPECT_LE(staged.size_bytes, staged.block.size());
  EXPECT_GT(size_bytes(batch), staged.size_bytes);
}

class HostileStagedReplies : public testing::HostileReplies {
 protected:
  HostileStagedReplies()
      : HostileReplies(
            testing::cut_graph(staged_graph(), 2),
            [](const CutGraph& cut) { return collect_options(cut); },
            [](const CutGraph& cut) { return *sampled_of(cut); }) {
    const StagingProcess process(cut_, {}, 0);
    collection_ =
        RowCollection(*cut_.book, collect_options(cut_), sampled_, nullptr, {}, {}, process.slots);
  }
};

TEST_F(HostileStagedReplies, AreErrorsAndWriteNothingOutsideTheirRows) {
  expect_corrupt("expected", [](RowReply& reply) { reply.sections[0].row_bytes += 1; });
  expect_corrupt("expected", [](RowReply& reply) { reply.sections[0].row_bytes = 0; });
  expect_corrupt("expected", [](RowReply& reply) { reply.sections[0].nodes += 1; });
  expect_corrupt("expected", [](RowReply& reply) { reply.sections[0].nodes -= 1; });
  expect_corrupt("expected 3 node types, got 2", [](RowReply& reply) {
    reply.sections.pop_back();
    reply.original_ids.resize(reply.sections[0].nodes + reply.sections[1].nodes);
  });
  expect_corrupt("expected", [](RowReply& reply) { reply.original_ids.pop_back(); });
  expect_corrupt("expected", [](RowReply& reply) { reply.rows.bytes = {}; });
  for (std::uint32_t question = 0; question < replies_.size(); ++question) {
    EXPECT_OK(collection_.answer(question, replies_[question])) << "errors change nothing";
  }
  EXPECT_ERROR(collection_.answer(0, replies_[0]), Errc::invalid_argument, "no reply is awaited");
  const StagingProcess process(cut_, {}, 0);
  const auto options = collect_options(cut_);
  expect_same_rows(process, cut_, *options, std::move(collection_).take(),
                   testing::collect(cut_, options, *sampled_));
}

TEST(RowSlots, NumberNearRowsThenFarOnesThenStagedOnes) {
  const std::vector<std::vector<RowPiece>> pieces{
      {{.rows = 10, .near = 4}, {.rows = 6, .near = 6}, {.rows = 3, .near = 0}, {.rows = 0}}};
  const RowSlots slots({PartId{3}, PartId{1}}, pieces);
  const NodeTypeId type{0};
  EXPECT_EQ(slots.far_begin(type), 10U);
  EXPECT_EQ(slots.staged_begin(type), 19U);
  const auto& first = *slots.of_part(type, PartId{3});
  EXPECT_EQ(first(0), 0U);
  EXPECT_EQ(first(3), 3U);
  EXPECT_EQ(first(4), 10U);
  EXPECT_EQ(first(9), 15U);
  const auto& second = *slots.of_part(type, PartId{1});
  EXPECT_EQ(second(0), 4U);
  EXPECT_EQ(second(5), 9U);
  EXPECT_EQ((*slots.of_halo(type, PartId{3}))(0), 16U);
  EXPECT_EQ((*slots.of_halo(type, PartId{3}))(2), 18U);
  EXPECT_EQ(slots.of_part(type, PartId{0}), nullptr);
  EXPECT_EQ(slots.of_halo(type, PartId{2}), nullptr);
}

/// Every slot is one row's, whatever the pieces.
TEST(RowSlots, AreOneForEachRow) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<RowPiece> pieces;
    for (std::uint64_t p = 0; p < 6; ++p) {
      const auto rows = (seed * 7 + p * 5) % 11;
      pieces.push_back({rows, rows * ((seed + p) % 3) / 2});
    }
    const RowSlots slots({PartId{0}, PartId{1}, PartId{2}}, {&pieces, 1});
    const NodeTypeId type{0};
    std::set<std::uint64_t> seen;
    for (std::uint32_t p = 0; p < 6; ++p) {
      const auto& of =
          p < 3 ? *slots.of_part(type, PartId{p}) : *slots.of_halo(type, PartId{p - 3});
      for (std::uint64_t row = 0; row < pieces[p].rows; ++row) {
        EXPECT_TRUE(seen.insert(of(row)).second);
        EXPECT_EQ(of(row) < slots.far_begin(type), row < pieces[p].near);
      }
    }
    EXPECT_EQ(seen.size(), slots.staged_begin(type));
    EXPECT_TRUE(seen.empty() || *seen.rbegin() + 1 == seen.size());
  }
}

}  // namespace
}  // namespace troupe
