#include "runtime/wire/codec.hpp"

#include "tests/runtime/net/net_test_support.hpp"
#include "tests/runtime/wire/examples.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/one_section.hpp"

#include <cmath>
#include <cstring>

namespace troupe::net {
namespace {

/// One kind of message. Frames are equal when messages are: encoding is deterministic.
struct MessageKind {
  std::string_view name;
  std::uint32_t method;
  TrafficClass traffic;
  Frame (*example)();
  Frame (*defaults)();
  Result<Frame> (*again)(const Frame& frame);  ///< decoded and encoded
  bool four_segments;                          ///< or more may come
};

template <class T>
MessageKind kind_of(std::type_identity<T> /*kind*/) {
  return {.name = type_name<T>(),
          .method = Wire<T>::method,
          .traffic = Wire<T>::traffic,
          .example = [] { return to_frame(example(static_cast<T*>(nullptr))); },
          .defaults = [] { return to_frame(T()); },
          .again = [](const Frame& frame) -> Result<Frame> {
            TROUPE_ASSIGN_OR_RETURN(const T message, Wire<T>::decode(frame));
            return to_frame(message);
          },
          .four_segments = std::is_same_v<T, RowReply> || std::is_same_v<T, StateReply> ||
                           std::is_same_v<T, Restore> || std::is_same_v<T, ReadyBatch> ||
                           std::is_same_v<T, KeepState> || std::is_same_v<T, HopRequest> ||
                           std::is_base_of_v<CopyPiece, T> || std::is_same_v<T, RankEntities> ||
                           std::is_same_v<T, EdgesFound> || std::is_same_v<T, ScoreResult> ||
                           std::is_same_v<T, HopReply>};
}

class Codec : public ::testing::TestWithParam<MessageKind> {
 protected:
  static Frame frame() { return GetParam().example(); }
};
INSTANTIATE_TEST_SUITE_P(All, Codec, ::testing::ValuesIn(for_all_kinds([](auto kind) {
                           return kind_of(kind);
                         })),
                         name_of_kind<MessageKind>);

TEST_P(Codec, DecodesAndEncodesToTheSameFrame) {
  const Frame frame = this->frame();
  ASSERT_OK_AND_ASSIGN(const Frame back, GetParam().again(frame));
  EXPECT_TRUE(same_contents(back, frame));
  EXPECT_EQ(frame.head.method, GetParam().method);
  EXPECT_EQ(frame.head.traffic, GetParam().traffic);
}

TEST_P(Codec, DefaultsComeBackToo) {
  // A batch has node types.
  if (GetParam().name != type_name<ReadyBatch>()) {
    const Frame frame = GetParam().defaults();
    ASSERT_OK_AND_ASSIGN(const Frame back, GetParam().again(frame));
    EXPECT_TRUE(same_contents(back, frame));
  }
}

TEST_P(Codec, SurvivesAWireThatCutsFramesIntoPieces) {
  PieceWriter writer;
  writer.push(this->frame());
  PieceReader reader({});
  std::vector<Frame> out;
  ASSERT_OK(reader.feed(drain(writer), out));
  ASSERT_EQ(out.size(), 1U);
  ASSERT_OK_AND_ASSIGN(const Frame back, GetParam().again(out[0]));
  EXPECT_TRUE(same_contents(back, this->frame()));
}

/// A damaged frame gives an error, or a message that is valid: it can be sent on.
void expect_error_or_valid(const MessageKind& kind, const Frame& frame) {
  const auto decoded = kind.again(frame);
  if (decoded.ok()) {
    EXPECT_OK(kind.again(*decoded));
  } else {
    EXPECT_EQ(decoded.error().code(), Errc::data_corruption) << decoded.error().what();
    EXPECT_FALSE(decoded.error().what().empty());
  }
}

Segment copy_of(const Segment& segment) {
  return Segment::of(std::vector<std::byte>(segment.bytes.begin(), segment.bytes.end()));
}

TEST_P(Codec, SurvivesEveryFlippedBitAndManyAtOnce) {
  const Frame frame = this->frame();
  for (std::size_t bit = 0; bit < frame.meta.size() * 64; ++bit) {
    Frame changed = frame;
    reinterpret_cast<unsigned char*>(changed.meta.data())[bit / 8] ^=
        static_cast<unsigned char>(1U << (bit % 8));
    expect_error_or_valid(GetParam(), changed);
  }
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    DrawStream draw({{5, 6}}, seed);
    Frame changed = frame;
    for (std::uint32_t n = 1 + draw.below(6); n > 0; --n) {
      auto* bytes = reinterpret_cast<unsigned char*>(changed.meta.data());
      bytes[draw.below(static_cast<std::uint32_t>(changed.meta.size() * 8))] =
          static_cast<unsigned char>(draw.next());
    }
    for (auto& segment : changed.segments) {
      if (!segment.empty() && draw.below(2) == 0) {
        segment = copy_of(segment);
        const auto at = draw.below(static_cast<std::uint32_t>(segment.bytes.size()));
        const_cast<std::byte*>(segment.bytes.data())[at] = static_cast<std::byte>(draw.next());
      }
    }
    expect_error_or_valid(GetParam(), changed);
  }
}

TEST_P(Codec, SurvivesEveryTruncation) {
  const Frame frame = this->frame();
  for (std::size_t words = 0; words < frame.meta.size(); ++words) {
    Frame changed = frame;
    changed.meta.resize(words);
    expect_error_or_valid(GetParam(), changed);
  }
  for (std::size_t s = 0; s < frame.segments.size(); ++s) {
    for (std::size_t n = 0; n < frame.segments[s].bytes.size(); ++n) {
      Frame changed = frame;
      changed.segments[s].bytes = changed.segments[s].bytes.first(n);
      expect_error_or_valid(GetParam(), changed);
      changed.segments[s].bytes = frame.segments[s].bytes.subspan(n);  // not aligned any more
      expect_error_or_valid(GetParam(), changed);
    }
    Frame fewer = frame;
    fewer.segments.resize(s);
    expect_error_or_valid(GetParam(), fewer);
  }
  Frame empty;
  EXPECT_ERROR(GetParam().again(empty), Errc::data_corruption, "cannot be read");
}

TEST_P(Codec, RefusesSegmentsThatItDoesNotHave) {
  Frame frame = this->frame();
  frame.segments.resize(4);
  frame.segments[3] = pattern_segment(8, 1);
  if (!GetParam().four_segments) {
    EXPECT_ERROR(GetParam().again(frame), Errc::data_corruption, "segments, found 4");
  }
}

// ---- sampling ----

TEST(HopRequestCodec, NarrowIdsTravelInFourBytes) {
  HopRequest request = example(static_cast<HopRequest*>(nullptr));
  EXPECT_EQ(to_frame(request).segments.at(0).bytes.size(), 5 * 8U);
  request.frontiers[0].nodes = nodes({0, 0xFFFFFFFF});
  request.frontiers[0].trees = {};
  request.frontiers[1].times = {};
  const Frame narrow = to_frame(request);
  EXPECT_EQ(narrow.segments.at(0).bytes.size(), 3 * 4U);
  ASSERT_OK_AND_ASSIGN(const HopRequest back, Wire<HopRequest>::decode(narrow));
  EXPECT_EQ(back.frontiers[0].nodes, request.frontiers[0].nodes);
  EXPECT_EQ(back.frontiers[1].nodes, request.frontiers[1].nodes);
  request.frontiers[1].nodes = nodes({~0ULL});
  ASSERT_OK_AND_ASSIGN(const HopRequest wide, Wire<HopRequest>::decode(to_frame(request)));
  EXPECT_EQ(wide.frontiers[1].nodes, request.frontiers[1].nodes);
}

TEST(HopRequestCodec, EveryFieldComesBack) {
  const HopRequest request = example(static_cast<HopRequest*>(nullptr));
  ASSERT_OK_AND_ASSIGN(const HopRequest back, Wire<HopRequest>::decode(to_frame(request)));
  // Does not compile when a field is added: then the schema and the codec need it too.
  const auto& [dir, choice, replace, time, frontiers, sections, max_edges, flow] = back;
  EXPECT_EQ(dir, EdgeDir::out);
  EXPECT_EQ(choice, 1U);
  EXPECT_TRUE(replace);
  EXPECT_TRUE(time.inclusive);
  EXPECT_EQ(time.window, 1ULL << 62);
  ASSERT_EQ(frontiers.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    const auto& [node_type, of_type, trees, times] = frontiers[i];
    EXPECT_EQ(node_type, request.frontiers[i].node_type);
    EXPECT_EQ(of_type, request.frontiers[i].nodes);
    EXPECT_EQ(trees, request.frontiers[i].trees);
    EXPECT_EQ(times, request.frontiers[i].times);
  }
  ASSERT_EQ(sections.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    const auto& [edge_type, frontier, fanout, key, first_position, edge_data, excluded, within] =
        sections[i];
    EXPECT_EQ(within, request.sections[i].within);
    EXPECT_EQ(edge_type, request.sections[i].edge_type);
    EXPECT_EQ(frontier, request.sections[i].frontier);
    EXPECT_EQ(fanout, request.sections[i].fanout);
    EXPECT_EQ(key, request.sections[i].key);
    EXPECT_EQ(first_position, request.sections[i].first_position);
    EXPECT_EQ(edge_data, request.sections[i].edge_data);
    EXPECT_EQ(excluded, request.sections[i].excluded);
  }
  EXPECT_EQ(max_edges, 1000U);
  EXPECT_EQ(flow, 1ULL << 63);
}

TEST(HopRequestCodec, RefusesNumbersThatNoJobGives) {
  const auto broken = [](auto change) {
    HopRequest request = example(static_cast<HopRequest*>(nullptr));
    change(request);
    return Wire<HopRequest>::decode(to_frame(request));
  };
  EXPECT_ERROR(broken([](auto& r) { r.sections[1].fanout = -2; }), Errc::data_corruption,
               "fanout: expected -1 to 1048576, found -2");
  EXPECT_ERROR(broken([](auto& r) { r.time.window = 1ULL << 63; }), Errc::data_corruption,
               "window: expected below 2^63");
  EXPECT_ERROR(broken([](auto& r) { r.choice = 77; }), Errc::data_corruption,
               "choice: expected below");
  EXPECT_ERROR(broken([](auto& r) { r.sections[1].within = 2; }), Errc::data_corruption,
               "set of neighbors: expected one of 2 with fanout -1, found 3");
  EXPECT_ERROR(broken([](auto& r) { r.sections[0].within = 0; }), Errc::data_corruption,
               "found 1 with fanout 15");
  EXPECT_ERROR(broken([](auto& r) { r.sections[0].frontier = 2; }), Errc::data_corruption,
               "frontier: expected below 2, found 2");
}

// Empty entries of a list take no bytes: the size of a message does not bound their number (a fuzz
// target found 256 MB in a message of 400 bytes).
TEST(SectionLists, OfMoreEntriesThanAGraphHasTypesAreRefused) {
  const auto many = [](auto message, auto list) {
    (message.*list).resize(65537);
    return Wire<decltype(message)>::decode(to_frame(message)).error();
  };
  for (const auto& error :
       {many(HopRequest{}, &HopRequest::frontiers), many(HopRequest{}, &HopRequest::sections),
        many(HopReply{}, &HopReply::sections), many(RowRequest{}, &RowRequest::sections),
        many(RowReply{}, &RowReply::sections), many(RowRequest{}, &RowRequest::tables),
        many(RowReply{}, &RowReply::tables)}) {
    EXPECT_EQ(error.code(), Errc::data_corruption);
    EXPECT_NE(error.what().find("expected at most 65536, found 65537"), std::string::npos)
        << error.what();
  }
}

TEST(HopRequestCodec, RefusesFrontiersThatDoNotFitTheIds) {
  const auto with_ids = [](std::uint64_t count) {
    Frame frame = to_frame(example(static_cast<HopRequest*>(nullptr)));
    frame.segments[0] = array<std::uint64_t>(std::vector<std::uint64_t>(count, 1));
    return Wire<HopRequest>::decode(frame);
  };
  EXPECT_OK(with_ids(5));
  EXPECT_ERROR(with_ids(4), Errc::data_corruption, "ids: expected at least 5, found 4");
  EXPECT_ERROR(with_ids(6), Errc::data_corruption, "ids: expected 5, found 6");
}

TEST(HopRequestCodec, RefusesTreesThatDoNotFitTheFrontiers) {
  const auto with_trees = [](std::uint64_t count) {
    Frame frame = to_frame(example(static_cast<HopRequest*>(nullptr)));
    frame.segments[1] = array<std::uint32_t>(std::vector<std::uint32_t>(count, 1));
    return Wire<HopRequest>::decode(frame);
  };
  EXPECT_OK(with_trees(4));
  EXPECT_ERROR(with_trees(3), Errc::data_corruption, "expected 4 trees or more, found 3");
  EXPECT_ERROR(with_trees(5), Errc::data_corruption, "expected 4 trees, found 5");
  Frame frame = to_frame(example(static_cast<HopRequest*>(nullptr)));
  frame.segments[2] = array<std::int64_t>({1, 2});
  EXPECT_ERROR(Wire<HopRequest>::decode(frame), Errc::data_corruption, "expected 1 times, found 2");
}

TEST(HopRequestCodec, RefusesExcludedEdgesThatDoNotFitTheSections) {
  const auto with_pairs = [](std::size_t count) {
    Frame frame = to_frame(example(static_cast<HopRequest*>(nullptr)));
    frame.segments[3] = array<std::uint64_t>(std::vector<std::uint64_t>(2 * count, 1));
    return Wire<HopRequest>::decode(frame);
  };
  EXPECT_OK(with_pairs(3));
  EXPECT_ERROR(with_pairs(2), Errc::data_corruption, "3 excluded edges or more, found 2");
  EXPECT_ERROR(with_pairs(4), Errc::data_corruption, "expected 3 excluded edges, found 4");
  Frame frame = to_frame(example(static_cast<HopRequest*>(nullptr)));
  frame.segments[3] = array<std::uint32_t>({1, 2, 3, 4, 5});
  EXPECT_ERROR(Wire<HopRequest>::decode(frame), Errc::data_corruption, "");
}

TEST(LinkQuestionCodecs, RefuseListsThatDoNotFit) {
  auto request = example(static_cast<HasEdges*>(nullptr));
  request.neighbours.pop_back();
  EXPECT_ERROR(Wire<HasEdges>::decode(to_frame(request)), Errc::data_corruption, "neighbors");
  auto there = example(static_cast<EdgesThere*>(nullptr));
  there.has[1] = 2;
  EXPECT_ERROR(Wire<EdgesThere>::decode(to_frame(there)), Errc::data_corruption, "largest answer");
  EXPECT_OK(Wire<EdgesThere>::decode(to_frame(EdgesThere{})));
}

TEST(EdgeQuestionCodecs, RefuseListsThatDoNotFit) {
  auto found = example(static_cast<EdgesFound*>(nullptr));
  EXPECT_OK(Wire<EdgesFound>::decode(to_frame(found)));
  found.sources.pop_back();
  EXPECT_ERROR(Wire<EdgesFound>::decode(to_frame(found)), Errc::data_corruption, "sources");
  found.sources.push_back(NodeId{1});
  found.destinations.push_back(NodeId{1});
  EXPECT_ERROR(Wire<EdgesFound>::decode(to_frame(found)), Errc::data_corruption, "destinations");
  EXPECT_OK(Wire<EdgesFound>::decode(to_frame(EdgesFound{})));
}

TEST(EdgeQuestionCodecs, ChargeWhatTheAnswerMayTake) {
  FindEdges request;
  request.edges.resize(1000);
  EdgesFound found;
  found.places.resize(1000);
  found.sources.resize(1000);
  found.destinations.resize(1000);
  EXPECT_LE(to_frame(found).size_bytes(), Wire<FindEdges>::reply_bytes(request));
  CountEdges counting;
  counting.nodes.resize(1000);
  EdgesCounted counted;
  counted.degrees.resize(1000);
  EXPECT_LE(to_frame(counted).size_bytes(), Wire<CountEdges>::reply_bytes(counting));
}

TEST(HopRequestCodec, ChargesWhatTheAnswerMayTake) {
  HopRequest request = testing::one_hop_request(nodes({1, 2, 3}));
  auto& fanout = request.sections[0].fanout;
  const auto edges_and = [&](std::uint64_t edge_bytes) {
    return Wire<HopRequest>::reply_bytes(request) - largest_failure_bytes - 3 * 4 - edge_bytes;
  };
  fanout = 10;
  const std::uint64_t head = edges_and(3 * 10 * 8);
  EXPECT_LT(head, 64U);
  request.sections[0].edge_data.edge_ids = true;
  EXPECT_EQ(edges_and(3 * 10 * 16), head);
  fanout = all_neighbours;
  EXPECT_EQ(edges_and(3 * 64 * 16), head);
  request.max_edges = 5;
  EXPECT_EQ(edges_and(5 * 16), head);
  request.max_edges = 0;  // one all the same
  EXPECT_EQ(edges_and(16), head);
  request.max_edges = 1'000'000;  // one of the nodes may have them all
  EXPECT_EQ(edges_and(1'000'000 * 16), head);
  fanout = 10;
  request.max_edges = 7;  // such answers are cut between nodes
  EXPECT_EQ(edges_and(10 * 16), head);
}

TEST(HopRequestCodec, SectionsShareTheLimitOfEdges) {
  HopRequest request = testing::one_hop_request(nodes({1, 2, 3}));
  request.sections[0].fanout = 10;
  const auto of_one = Wire<HopRequest>::reply_bytes(request);
  request.sections.push_back(request.sections[0]);
  const auto of_two = Wire<HopRequest>::reply_bytes(request);
  request.max_edges = 30;
  const auto limited = Wire<HopRequest>::reply_bytes(request);

  EXPECT_GE(of_two - of_one, 3U * 4 + 3 * 10 * 8);
  EXPECT_EQ(of_two - limited, 3U * 10 * 8);
}

TEST(HopReplyCodec, NeighborsAndDataOfEdgesAreNotCopied) {
  const Frame frame = to_frame(example(static_cast<HopReply*>(nullptr)));
  ASSERT_OK_AND_ASSIGN(const HopReply back, Wire<HopReply>::decode(frame));
  EXPECT_EQ(back.counts, (std::vector<std::uint32_t>{2, 0, 1, 2}));
  EXPECT_EQ(back.neighbours.bytes.data(), frame.segments[1].bytes.data());
  EXPECT_EQ(testing::neighbors_of(back, 0), (std::vector<std::uint64_t>{1, 2, 9}));
  EXPECT_EQ(testing::neighbors_of(back, 1), (std::vector<std::uint64_t>{8, 7}));
  EXPECT_EQ(back.sections[1].resume_position, 3U);
  EXPECT_EQ(back.edge_data.bytes.data(), frame.segments[2].bytes.data());
  ASSERT_OK_AND_ASSIGN(const auto sections, sections_of(back));
  EXPECT_EQ(sections[0].edge_ids.size(), 3U);
  EXPECT_TRUE(sections[0].weights.empty());
  EXPECT_EQ(sections[0].times[2], 1LL << 40);
  EXPECT_EQ(sections[1].edge_ids[0], 40U);
  EXPECT_EQ(sections[1].weights[1], 2);
  EXPECT_TRUE(sections[1].times.empty());
}

TEST(HopReplyCodec, ListedNodesComeBack) {
  HopReply reply;
  reply.sections = {{.nodes = 9, .width_bytes = 8, .listed = 2}, {.nodes = 2}, {.nodes = 4}};
  reply.sections[2].listed = 0;
  reply.counts = {1, 2, 0, 1};
  reply.places = {3, 8};
  reply.neighbours = array<std::uint64_t>({11, 12, 13, 14});
  ASSERT_OK_AND_ASSIGN(const HopReply back, Wire<HopReply>::decode(to_frame(reply)));
  EXPECT_EQ(back.sections[0].listed, 2U);
  EXPECT_FALSE(back.sections[1].listed.has_value());
  EXPECT_EQ(back.sections[2].listed, 0U);
  EXPECT_EQ(back.places, (std::vector<std::uint32_t>{3, 8}));
  ASSERT_OK_AND_ASSIGN(const auto sections, sections_of(back));
  EXPECT_EQ(sections[0].nodes, 9U);
  EXPECT_TRUE(std::ranges::equal(*sections[0].places, std::array{3U, 8U}));
  EXPECT_TRUE(std::ranges::equal(sections[1].counts, std::array{0U, 1U}));
  EXPECT_TRUE(sections[2].places->empty());
  reply.places = {3, 9};
  EXPECT_ERROR(Wire<HopReply>::decode(to_frame(reply)), Errc::data_corruption,
               "listed places that rise below 9, found 9");
}

TEST(HopReplyCodec, UnalignedSegmentsAreCopiedIntoPlace) {
  Frame frame = to_frame(example(static_cast<HopReply*>(nullptr)));
  std::vector<std::byte> shifted(frame.segments[1].bytes.size() + 1);
  std::memcpy(shifted.data() + 1, frame.segments[1].bytes.data(), shifted.size() - 1);
  frame.segments[1] = Segment::of(std::move(shifted));
  frame.segments[1].bytes = frame.segments[1].bytes.subspan(1);
  ASSERT_OK_AND_ASSIGN(const HopReply back, Wire<HopReply>::decode(frame));
  EXPECT_EQ(testing::neighbors_of(back, 1), (std::vector<std::uint64_t>{8, 7}));
}

TEST(HopReplyCodec, RefusesNumbersThatDoNotAgree) {
  const auto broken = [](auto change) {
    HopReply reply = example(static_cast<HopReply*>(nullptr));
    change(reply);
    return Wire<HopReply>::decode(to_frame(reply));
  };
  EXPECT_ERROR(broken([](auto& r) { r.counts[1] = 1; }), Errc::data_corruption,
               "expected 112 bytes of edge data or more, found 96");
  EXPECT_ERROR(broken([](auto& r) { r.counts[1] = 9; }), Errc::data_corruption,
               "bytes of ids or more");
  EXPECT_ERROR(broken([](auto& r) { r.counts[3] = 1; }), Errc::data_corruption,
               "expected 24 bytes of ids, found 32");
  EXPECT_ERROR(broken([](auto& r) { r.counts = {}; }), Errc::data_corruption,
               "expected 3 counts or more, found 0");
  EXPECT_ERROR(broken([](auto& r) { r.sections.erase(r.sections.begin() + 1); }),
               Errc::data_corruption, "expected 3 counts, found 4");
  EXPECT_ERROR(broken([](auto& r) { r.sections[1].nodes = ~0ULL; }), Errc::data_corruption,
               "counts or more");
  EXPECT_ERROR(broken([](auto& r) { r.edge_data = array<std::uint64_t>({1}); }),
               Errc::data_corruption, "expected 24 bytes of edge data or more, found 8");
  EXPECT_ERROR(broken([](auto& r) { r.sections[0].edge_data = {}; }), Errc::data_corruption,
               "expected 24 bytes of edge data, found 96");
  EXPECT_ERROR(broken([](auto& r) { r.sections[0].edge_data.weights = true; }),
               Errc::data_corruption, "expected 100 bytes of edge data or more, found 96");
  EXPECT_ERROR(broken([](auto& r) { r.sections[1].edge_data.entries = true; }),
               Errc::data_corruption, "expected 104 bytes of edge data or more, found 96");
  EXPECT_ERROR(broken([](auto& r) { r.sections[0].width_bytes = 3; }), Errc::data_corruption,
               "ids of 4 or 8 bytes, found 3");
  EXPECT_ERROR(broken([](auto& r) { r.sections[0].width_bytes = 8; }), Errc::data_corruption,
               "bytes of ids or more");
}

// ---- rows ----

TEST(RowCodec, EveryFieldComesBack) {
  const RowRequest request = example(static_cast<RowRequest*>(nullptr));
  ASSERT_OK_AND_ASSIGN(const RowRequest back, Wire<RowRequest>::decode(to_frame(request)));
  const auto& [source, with_original_ids, sections, tables, flow] = back;
  EXPECT_EQ(source.kind, RowSource::Kind::tensor);
  EXPECT_EQ(source.tensor, 3U);
  EXPECT_TRUE(with_original_ids);
  EXPECT_EQ(flow, 77U);
  ASSERT_EQ(sections.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    const auto& [node_type, with_rows, node_ids, label_nodes, row_bytes, label_bytes] = sections[i];
    EXPECT_EQ(node_type, request.sections[i].node_type);
    EXPECT_EQ(with_rows, request.sections[i].with_rows);
    EXPECT_EQ(node_ids, request.sections[i].nodes);
    EXPECT_EQ(label_nodes, request.sections[i].label_nodes);
    EXPECT_EQ(row_bytes, 0U) << "for the asker's charge only";
    EXPECT_EQ(label_bytes, 0U);
  }
  ASSERT_EQ(tables.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    const auto& [table, rows, row_bytes] = tables[i];
    EXPECT_EQ(table, request.tables[i].table);
    EXPECT_EQ(rows, request.tables[i].rows);
    EXPECT_EQ(row_bytes, 0U) << "for the asker's charge only";
  }
}

TEST(RowCodec, PlacesInTablesTakeAsFewBytesAsTheyFit) {
  RowRequest request;
  request.tables = {{{.type = 2}, {1, 2, 3}}};
  EXPECT_EQ(to_frame(request).segments.at(1).bytes.size(), 3 * 4U);
  request.tables[0].rows[1] = 1ULL << 32;
  EXPECT_EQ(to_frame(request).segments.at(1).bytes.size(), 3 * 8U);
  ASSERT_OK_AND_ASSIGN(const auto back, Wire<RowRequest>::decode(to_frame(request)));
  EXPECT_EQ(back.tables[0].rows, request.tables[0].rows);
}

TEST(RowCodec, ChargesRowsOfTables) {
  RowRequest request;
  const auto nothing = Wire<RowRequest>::reply_bytes(request);
  request.tables = {{{.type = 2}, {1, 2, 3}, 400}, {{.type = 3}, {5}, 7}};
  RowReply reply;
  reply.tables = {{3, 400}, {1, 7}};
  reply.rows = pattern_segment(1207, 1);
  const auto charge = Wire<RowRequest>::reply_bytes(request);
  EXPECT_GE(charge, to_frame(reply).size_bytes());
  EXPECT_LE(charge, nothing + 1207 + 100);
}

TEST(RowCodec, RowsAreNotCopiedOnEitherSide) {
  const RowReply reply = example(static_cast<RowReply*>(nullptr));
  ASSERT_OK_AND_ASSIGN(const RowReply back, Wire<RowReply>::decode(to_frame(reply)));
  const auto& [sections, tables, rows, original_ids, labels, targets] = back;
  EXPECT_EQ(rows.bytes.data(), reply.rows.bytes.data());
  ASSERT_EQ(sections.size(), 2U);
  EXPECT_EQ(sections[1].row_bytes, 6U);
  EXPECT_EQ(original_ids, reply.original_ids);
  EXPECT_EQ(labels, reply.labels);
  EXPECT_EQ(targets, reply.targets);
  ASSERT_EQ(tables.size(), 2U);
  ASSERT_OK_AND_ASSIGN(const auto of_tables, tables_of(back));
  EXPECT_EQ(of_tables[0].rows.data(), rows.bytes.data() + 72);
  EXPECT_EQ(of_tables[1].rows.data(), rows.bytes.data() + 96);
  EXPECT_EQ(of_tables[1].row_bytes, 5U);
  ASSERT_OK_AND_ASSIGN(const auto views, sections_of(back));
  EXPECT_EQ(views[1].rows.data(), rows.bytes.data() + 64);
  EXPECT_EQ(views[1].original_ids[0], static_cast<OriginalId>(3));
}

TEST(RowCodec, ChargesWhatTheAnswerTakes) {
  for (const std::uint64_t row_bytes : {1U, 400U, 1024U, 40'000U}) {
    for (const std::uint64_t label_bytes : {8U, 484U}) {
      RowRequest request = testing::one_row_request(std::vector<NodeId>(1000));
      request.sections[0].row_bytes = row_bytes;
      request.with_original_ids = true;
      request.sections[0].label_nodes = 30;
      request.sections[0].label_bytes = label_bytes;
      RowReply reply;
      reply.rows = pattern_segment(1000 * row_bytes, 1);
      reply.original_ids.resize(1000);
      reply.labels.resize(label_bytes == 8 ? 30 : 0);
      reply.targets.resize(label_bytes == 8 ? 0 : 30 * label_bytes / sizeof(float));
      reply.sections = {
          {1000, static_cast<std::uint32_t>(row_bytes), reply.labels.size(), reply.targets.size()}};
      const auto charge = Wire<RowRequest>::reply_bytes(request);
      EXPECT_GE(charge, to_frame(reply).size_bytes());
      EXPECT_LE(charge, to_frame(reply).size_bytes() + largest_failure_bytes);
    }
  }
}

TEST(RowCodec, ChargesRowsAndOriginalIdsOnlyIfAskedFor) {
  RowRequest request = testing::one_row_request(std::vector<NodeId>(10));
  auto& section = request.sections[0];
  const std::uint64_t nothing = Wire<RowRequest>::reply_bytes(request);
  section.row_bytes = 400;
  EXPECT_EQ(Wire<RowRequest>::reply_bytes(request), nothing + 10 * 400);
  section.with_rows = false;
  EXPECT_EQ(Wire<RowRequest>::reply_bytes(request), nothing);
  request.with_original_ids = true;
  EXPECT_EQ(Wire<RowRequest>::reply_bytes(request), nothing + 10 * 8);
}

TEST(RowCodec, RefusesNumbersThatDoNotAgree) {
  RowRequest request = example(static_cast<RowRequest*>(nullptr));
  request.sections[0].label_nodes = 4;
  EXPECT_ERROR(Wire<RowRequest>::decode(to_frame(request)), Errc::data_corruption,
               "at most the 3 nodes, found 4");

  const auto broken = [](auto change) {
    RowReply reply = example(static_cast<RowReply*>(nullptr));
    change(reply);
    return Wire<RowReply>::decode(to_frame(reply));
  };
  EXPECT_ERROR(broken([](auto& r) { r.sections[1].row_bytes = 0; }), Errc::data_corruption,
               "expected 93 bytes of rows, found 101");
  EXPECT_ERROR(broken([](auto& r) { r.sections[1].row_bytes = 38; }), Errc::data_corruption,
               "expected 1 rows of 38 bytes or more");
  EXPECT_ERROR(broken([](auto& r) { r.tables[0].rows = ~0ULL; }), Errc::data_corruption,
               "rows of 12 bytes or more");
  EXPECT_ERROR(broken([](auto& r) { r.tables[1].row_bytes = 6; }), Errc::data_corruption,
               "expected 1 rows of 6 bytes or more, found 0");
  EXPECT_ERROR(broken([](auto& r) { r.tables.pop_back(); }), Errc::data_corruption,
               "expected 96 bytes of rows, found 101");
  EXPECT_ERROR(broken([](auto& r) { r.sections[0].nodes = ~0ULL; }), Errc::data_corruption,
               "rows of 20 bytes or more");
  EXPECT_ERROR(broken([](auto& r) { r.original_ids.pop_back(); }), Errc::data_corruption,
               "expected 4 original ids or more, found 3");
  EXPECT_ERROR(broken([](auto& r) { r.original_ids.resize(5); }), Errc::data_corruption,
               "expected 4 original ids, found 5");
  EXPECT_ERROR(broken([](auto& r) { r.sections[0].labels = 4; }), Errc::data_corruption,
               "labels: expected at most 3, found 4");
  EXPECT_ERROR(broken([](auto& r) { r.labels.resize(3); }), Errc::data_corruption,
               "expected 2 labels, found 3");
  EXPECT_ERROR(broken([](auto& r) { r.sections[0].targets = ~0ULL; }), Errc::data_corruption,
               "targets or more");
}

// ---- the run ----

TEST(GradientCodec, WeightZeroHasNoValues) {
  GradientChunk chunk = example(static_cast<GradientChunk*>(nullptr));
  chunk.weight = 0;
  EXPECT_ERROR(Wire<GradientChunk>::decode(to_frame(chunk)), Errc::data_corruption,
               "expected 0, found 8");
  chunk.values = {};
  EXPECT_OK(Wire<GradientChunk>::decode(to_frame(chunk)));
}

TEST(GradientCodec, ChargesTheSumAlsoWithoutAShare) {
  constexpr std::uint64_t world = 1000;
  for (const auto owner : {Rank{0}, Rank{7}}) {
    GradientSum sum;
    sum.values = pattern_segment(1 << 20, 1);
    sum.batches.resize(owner == Rank{0} ? world : 0);
    GradientChunk chunk;
    chunk.sum_bytes = gradient_sum_bytes(1 << 20, owner, world);
    for (const std::uint64_t weight : {0U, 3U}) {
      chunk.weight = weight;
      chunk.values = weight > 0 ? sum.values : Segment{};
      const auto charge = Wire<GradientChunk>::reply_bytes(chunk);
      EXPECT_GE(charge, to_frame(sum).size_bytes());
      EXPECT_LE(to_frame(chunk).size_bytes() + charge, gradient_exchange_bytes(1 << 20, world));
    }
  }
}

TEST(ControlCodec, CountersOfMoreHopsThanABatchCanHaveAreRefused) {
  EpochResult result;
  result.counters.frontier.add(254, 1, 1);
  EXPECT_OK(Wire<EpochResult>::decode(to_frame(result)));
  result.counters.frontier.add(255, 1, 1);
  EXPECT_ERROR(Wire<EpochResult>::decode(to_frame(result)), Errc::data_corruption,
               "at most 255 hops, found 256");
}

TEST(ControlCodec, CountersAndDigestsComeBack) {
  const auto sent = testing::example_message<EpochResult>();

  ASSERT_OK_AND_ASSIGN(const EpochResult back, Wire<EpochResult>::decode(to_frame(sent)));

  EXPECT_EQ(back.counters, sent.counters);
  EXPECT_EQ(back.loss_sum, sent.loss_sum);
  EXPECT_EQ(back.batches, sent.batches);
}

TEST(GradientCodec, TheDigestsOfAStepComeBackInOrder) {
  ASSERT_OK_AND_ASSIGN(
      const GradientSum back,
      Wire<GradientSum>::decode(to_frame(example(static_cast<GradientSum*>(nullptr)))));
  EXPECT_EQ(back.batches, (std::vector<Digest>{{1, 2}, {~0ULL, 4}}));
  EXPECT_EQ(back.loss_sum, 0.125);

  Frame frame = to_frame(example(static_cast<GradientSum*>(nullptr)));
  frame.segments[1].bytes = frame.segments[1].bytes.first(24);
  EXPECT_ERROR(Wire<GradientSum>::decode(frame), Errc::data_corruption, "16 bytes each");
}

TEST(GradientCodec, WhatRanksTellOfDevicesComesBackAndIsLimited) {
  const auto sent = example(static_cast<GradientChunk*>(nullptr));
  ASSERT_OK_AND_ASSIGN(const GradientChunk chunk, Wire<GradientChunk>::decode(to_frame(sent)));
  EXPECT_EQ(chunk.offer, sent.offer);
  const auto sum = example(static_cast<GradientSum*>(nullptr));
  ASSERT_OK_AND_ASSIGN(const GradientSum back, Wire<GradientSum>::decode(to_frame(sum)));
  EXPECT_EQ(back.communicator, sum.communicator);
  EXPECT_TRUE(back.by_devices);

  auto longer = sent;
  longer.offer.network.assign(most_offer_bytes, 'x');
  longer.offer.device.assign(most_offer_bytes, 'y');
  EXPECT_OK(Wire<GradientChunk>::decode(to_frame(longer)));
  longer.offer.device += 'y';
  EXPECT_ERROR(Wire<GradientChunk>::decode(to_frame(longer)), Errc::data_corruption, "201");
  auto more = sum;
  more.communicator.assign(most_communicator_words, 1);
  EXPECT_OK(Wire<GradientSum>::decode(to_frame(more)));
  more.communicator.push_back(1);
  EXPECT_ERROR(Wire<GradientSum>::decode(to_frame(more)), Errc::data_corruption, "17");
}

TEST(RecoveryCodec, AStateComesBackWhole) {
  const auto sent = example(static_cast<Restore*>(nullptr));

  ASSERT_OK_AND_ASSIGN(const Restore back, Wire<Restore>::decode(to_frame(sent)));

  EXPECT_EQ(back.generation, sent.generation);
  EXPECT_EQ(back.state->global_step, sent.state->global_step);
  EXPECT_EQ(back.state->loss_sum, sent.state->loss_sum);
  EXPECT_EQ(back.state->batches, sent.state->batches);
  EXPECT_EQ(back.state->parameters, sent.state->parameters);
  EXPECT_EQ(back.state->optimizer.steps, sent.state->optimizer.steps);
  EXPECT_EQ(back.state->optimizer.arrays, sent.state->optimizer.arrays);
  EXPECT_EQ(back.state->best, sent.state->best);
  EXPECT_EQ(back.state->blobs, sent.state->blobs);
}

TEST(RecoveryCodec, TheArraysOfAStateMustFillTheirSegment) {
  auto frame = to_frame(example(static_cast<Restore*>(nullptr)));
  frame.segments[1].bytes = frame.segments[1].bytes.first(8);
  EXPECT_ERROR(Wire<Restore>::decode(frame), Errc::data_corruption, "exp_avg");

  auto more = to_frame(example(static_cast<Restore*>(nullptr)));
  more.segments[1] = array<float>({1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_ERROR(Wire<Restore>::decode(more), Errc::data_corruption, "elements of the pieces");
}

TEST(ControlCodec, ScoresMustFitTogether) {
  const auto broken = [](auto change) {
    ScoreResult result = example(static_cast<ScoreResult*>(nullptr));
    change(result);
    return Wire<ScoreResult>::decode(to_frame(result));
  };
  EXPECT_ERROR(broken([](auto& r) { r.cols = 2; }), Errc::data_corruption,
               "outputs, positions x cols: expected 4, found 6");
  EXPECT_ERROR(broken([](auto& r) { r.labels.pop_back(); }), Errc::data_corruption, "labels");
  EXPECT_ERROR(broken([](auto& r) { r.numbers.pop_back(); }), Errc::data_corruption,
               "numbers, positions x cols: expected 6, found 5");
  EXPECT_OK(broken([](auto& r) { r.numbers.clear(); }));
  EXPECT_ERROR(broken([](auto& r) { r.positions.pop_back(); }), Errc::data_corruption, "outputs");
}

TEST(ControlCodec, RolesAreShort) {
  EXPECT_OK(Wire<ScoreRequest>::decode(
      to_frame(ScoreRequest{.epoch = 0, .role = std::string(256, 'x')})));
  EXPECT_ERROR(
      Wire<ScoreRequest>::decode(to_frame(ScoreRequest{.epoch = 0, .role = std::string(257, 'x')})),
      Errc::data_corruption, "at most 256 bytes, found 257");
}

TEST(ControlCodec, ADivergedLossTravels) {
  EpochResult result;
  result.loss_sum = NAN;
  ASSERT_OK_AND_ASSIGN(const EpochResult back, Wire<EpochResult>::decode(to_frame(result)));
  EXPECT_TRUE(std::isnan(back.loss_sum));
}

}  // namespace
}  // namespace troupe::net
