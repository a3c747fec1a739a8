#include "tests/runtime/sample/drive.hpp"

#include <sys/mman.h>

namespace troupe {
namespace {

/// A builder that waits for one reply: nodes 0 and 1 of a graph of 10 nodes in one part, each with
/// 3 in-neighbours.
class HostileReply : public ::testing::Test {
 protected:
  HostileReply() : cut_(testing::cut_graph(graph(), 1)) {}

  static testing::TestGraph graph() {
    return testing::plain_graph(10, {{2, 0}, {3, 0}, {4, 0}, {5, 1}, {6, 1}, {7, 1}});
  }

  BatchBuilder start(std::int32_t fanout) {
    auto options = std::make_shared<SampleOptions>(testing::fanouts({fanout}));
    BatchBuilder builder(cut_.info, *cut_.book, options, {}, NodeTypeId{}, cut_.globals({0, 1}));
    question_ = builder.questions().at(0);
    auto reply = sample_one_hop(*cut_.parts[0], question_.request);
    EXPECT_OK(reply);
    good_ = *reply;
    return builder;
  }

  void expect_corrupt(std::int32_t fanout, const std::string& text,
                      const std::function<void(HopReply&)>& spoil) {
    BatchBuilder builder = start(fanout);
    HopReply bad = good_;
    spoil(bad);
    EXPECT_ERROR(builder.answer(question_.id, bad), Errc::data_corruption, text);
    EXPECT_FALSE(builder.done());
  }

  testing::CutGraph cut_;
  HopQuestion question_;
  HopReply good_;
};

TEST_F(HostileReply, CountsThatDoNotFitTheQuestionAreRefused) {
  expect_corrupt(2, "expected answers for 1 to 2 nodes, got 3", [](HopReply& reply) {
    reply.counts.push_back(0);
    reply.sections[0].nodes = 3;
  });
  expect_corrupt(2, "expected answers for 1 to 2 nodes, got 0", [](HopReply& reply) {
    reply = HopReply{};
    reply.sections.emplace_back();
  });
  expect_corrupt(2, "expected 12 bytes of ids, found 16",
                 [](HopReply& reply) { reply.counts[0] = 1; });
  expect_corrupt(2, "expected 3 counts or more, found 2",
                 [](HopReply& reply) { reply.sections[0].nodes = 3; });
  expect_corrupt(2, "expected 1 counts, found 2", [](HopReply& reply) {
    reply.sections[0].nodes = 1;
    reply.neighbours.bytes = reply.neighbours.bytes.first(8);
  });
  expect_corrupt(2, "expected at most 2 neighbours, got 3", [](HopReply& reply) {
    reply.counts = {3, 1};
  });
}

TEST_F(HostileReply, SectionsThatDoNotFitTheQuestionAreRefused) {
  expect_corrupt(2, "expected answers for 1 to 1 edge types, got 0",
                 [](HopReply& reply) { reply = HopReply{}; });
  expect_corrupt(2, "expected answers for 1 to 1 edge types, got 2",
                 [](HopReply& reply) { reply.sections.emplace_back(); });
}

TEST_F(HostileReply, IdsThatCannotBeAreRefused) {
  expect_corrupt(2, "expected ids below 10, got 10", [](HopReply& reply) {
    reply.neighbours = Segment::of(std::vector<std::uint32_t>{1, 2, 10, 3});
  });
  for (const int width : {0, 1, 3, 255}) {
    expect_corrupt(2, "4 or 8 bytes", [width](HopReply& reply) {
      reply.sections[0].width_bytes = static_cast<std::uint8_t>(width);
    });
  }
}

TEST_F(HostileReply, EdgeIdsOfTheWrongSizeAreRefused) {
  expect_corrupt(2, "expected 32 bytes of edge data or more, found 0",
                 [](HopReply& reply) { reply.edge_data = {}; });
  expect_corrupt(2, "expected 4 edge ids, got 0", [](HopReply& reply) {
    reply.edge_data = {};
    reply.sections[0].edge_data = {};
  });
  expect_corrupt(2, "expected 0 weights, got 4", [](HopReply& reply) {
    reply.edge_data = Segment::of(std::vector<std::uint64_t>{1, 2, 3, 4, 5, 6});
    reply.sections[0].edge_data.weights = true;
  });
  expect_corrupt(2, "expected 32 bytes of edge data, found 40", [](HopReply& reply) {
    reply.edge_data = Segment::of(std::vector<std::uint64_t>{1, 2, 3, 4, 5});
  });
  expect_corrupt(2, "expected 32 bytes of edge data or more, found 31",
                 [](HopReply& reply) { reply.edge_data.bytes = reply.edge_data.bytes.first(31); });
}

TEST_F(HostileReply, EntryNumbersThatCannotBeAreRefused) {
  auto with_features = graph();
  testing::add_edge_features(with_features.edges[0], 2);
  cut_ = testing::cut_graph(with_features, 1);
  auto options = std::make_shared<SampleOptions>(testing::fanouts({2}));
  options->edge_data = {.entries = true};
  BatchBuilder builder(cut_.info, *cut_.book, options, {}, NodeTypeId{}, cut_.globals({0, 1}));
  const auto question = builder.questions().at(0);
  ASSERT_OK_AND_ASSIGN(const auto good, sample_one_hop(*cut_.parts[0], question.request));
  const auto answer = [&](std::vector<std::uint64_t> entries) {
    BatchBuilder again(cut_.info, *cut_.book, options, {}, NodeTypeId{}, cut_.globals({0, 1}));
    HopReply reply = good;
    reply.edge_data = Segment::of(std::move(entries));
    return again.answer(again.questions().at(0).id, reply);
  };
  EXPECT_OK(answer({0, 5, 5, 1}));
  EXPECT_ERROR(answer({0, 1, 2, 6}), Errc::data_corruption,
               "expected entry numbers below 6, got 6");
  EXPECT_ERROR(answer({~std::uint64_t{0}, 1, 2, 3}), Errc::data_corruption, "below 6");
  EXPECT_ERROR(answer({0, 1, 2}), Errc::data_corruption, "32 bytes of edge data or more, found 24");
  EXPECT_ERROR(answer({}), Errc::data_corruption, "32 bytes of edge data or more, found 0");
  HopReply without = good;
  without.edge_data = {};
  without.sections[0].edge_data = {};
  EXPECT_ERROR(builder.answer(question.id, without), Errc::data_corruption,
               "expected 4 features, got 0");
}

TEST_F(HostileReply, PlacesToGoOnMustFollowFromTheCounts) {
  expect_corrupt(2, "cannot go on at position 2",
                 [](HopReply& reply) { reply.sections[0].resume_position = 2; });
  expect_corrupt(all_neighbours, "cannot go on at position 7",
                 [](HopReply& reply) { reply.sections[0].resume_position = 7; });
  expect_corrupt(all_neighbours, "cannot go on at position 1: 0 entries", [](HopReply& reply) {
    reply.counts = {6, 0};
    reply.sections[0].resume_position = 1;
  });
}

TEST_F(HostileReply, RepliesThatNobodyWaitsForAreRefusedAndChangeNothing) {
  BatchBuilder builder = start(2);

  EXPECT_ERROR(builder.answer(99, good_), Errc::invalid_argument, "question 99");
  EXPECT_OK(builder.answer(question_.id, good_));
  EXPECT_ERROR(builder.answer(question_.id, good_), Errc::invalid_argument, "question 0");

  EXPECT_TRUE(builder.done());
  EXPECT_EQ(std::move(builder).take().num_edges(), 4U);
}

TEST_F(HostileReply, ABatchOfTooManyEdgesIsAnError) {
  BatchBuilder builder = start(all_neighbours);
  // 2^32 ids that nobody may read: only their number counts.
  constexpr std::size_t edges = std::size_t{1} << 32;
  void* memory =
      mmap(nullptr, edges * 8, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  const auto* bytes = static_cast<const std::byte*>(memory);
  HopReply reply;
  reply.counts = {0xFFFFFFFFU, 1};
  reply.sections.push_back({.nodes = 2, .width_bytes = 4, .edge_data = {.edge_ids = true}});
  reply.neighbours = Segment{nullptr, {bytes, edges * 4}};
  reply.edge_data = Segment{nullptr, {bytes, edges * 8}};

  EXPECT_ERROR(builder.answer(question_.id, reply), Errc::invalid_argument, "4294967296");

  munmap(memory, edges * 8);
}

}  // namespace
}  // namespace troupe
