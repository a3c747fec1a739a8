#pragma once
/// \file examples.hpp
/// One example of every message, for heterogeneous tests over all of them.
#include "runtime/wire/codec.hpp"
#include "runtime/wire/codec_by_hand.hpp"
#include "tests/runtime/net/net_test_support.hpp"
#include "tests/support/example_message.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <type_traits>

namespace troupe::net {

/// What `of` gives for every kind of message: `of(std::type_identity<T>())`. Tests of all kinds take values
/// with functions of a kind, not types: a typed test compiles its classes once per kind and test.
template <class Of>
auto for_all_kinds(const Of& of) {
  return [&]<class... T>(MessageList<T...>) {
    return std::vector{of(std::type_identity<T>())...};
  }(Messages());
}

/// Name of a test's kind of message.
template <class Kind>
std::string name_of_kind(const ::testing::TestParamInfo<Kind>& info) {
  return std::string(info.param.name);
}

template <class T>
Segment array(std::vector<T> values) {
  return Segment::of(std::move(values));
}

inline std::vector<NodeId> nodes(std::initializer_list<std::uint64_t> ids) {
  std::vector<NodeId> out;
  for (const auto id : ids) {
    out.push_back(static_cast<NodeId>(id));
  }
  return out;
}

// One example per message, no field at its default: by hand where the codec is, and where a test needs
// certain numbers.

template <class T>
T example(T*) {
  return testing::example_message<T>();
}

inline HopRequest example(HopRequest*) {
  return {.dir = EdgeDir::out,
          .choice = 1,
          .replace = true,
          .time = {.inclusive = true, .window = 1ULL << 62},
          .frontiers = {{static_cast<NodeTypeId>(3), nodes({5, 3, 5, 1ULL << 40}), {0, 0, 9, ~0U}},
                        {static_cast<NodeTypeId>(0), nodes({6}), {}, {-5}}},
          .sections = {{.edge_type = static_cast<EdgeTypeId>(7),
                        .frontier = 1,
                        .fanout = 15,
                        .key = {{0xDEADBEEF, 0x12345678}},
                        .first_position = 99,
                        .edge_data = {.edge_ids = true, .times = true, .entries = true},
                        .excluded = {{0, NodeId{8}}, {0, NodeId{1ULL << 40}}}},
                       {.edge_type = static_cast<EdgeTypeId>(9),
                        .key = {},
                        .edge_data = {.weights = true},
                        .excluded = {{3, NodeId{2}}},
                        .within = 0}},
          .max_edges = 1000,
          .flow = 1ULL << 63};
}
inline HasEdges example(HasEdges*) {
  return {.edge_type = static_cast<EdgeTypeId>(4),
          .out = true,
          .nodes = nodes({5, 5, 1ULL << 40}),
          .neighbours = nodes({0, 6, 1ULL << 41}),
          .flow = 3};
}
inline EdgesThere example(EdgesThere*) {
  return {.has = {1, 0, 1}};
}
inline HopReply example(HopReply*) {
  return {
      .sections = {{.nodes = 3,
                    .width_bytes = 4,
                    .edge_data = {.edge_ids = true, .times = true, .entries = true}},
                   {.nodes = 1,
                    .width_bytes = 8,
                    .resume_position = 3,
                    .edge_data = {.edge_ids = true, .weights = true}},
                   {.nodes = 5, .listed = 0}},
      .counts = {2, 0, 1, 2},
      .places = {},
      // 3 ids of 4 bytes, 4 bytes of nothing, 2 ids of 8
      .neighbours = array<std::uint64_t>({1 | 2ULL << 32, 9, 8, 7}),
      // 5 ids, 3 entry numbers and 3 times of 8 bytes, 2 weights of 4
      .edge_data = array<std::uint64_t>({10, 20, 30, 40, 50, 0, 6, 1ULL << 33, ~0ULL, 0, 1ULL << 40,
                                         std::bit_cast<std::uint64_t>(std::array{0.5F, 2.0F})})};
}
inline RowRequest example(RowRequest*) {
  return {
      .source = {RowSource::Kind::tensor, 3},
      .with_original_ids = true,
      .sections = {{.node_type = static_cast<NodeTypeId>(2),
                    .with_rows = false,
                    .nodes = nodes({4, 4, 2}),
                    .label_nodes = 2},
                   {.node_type = static_cast<NodeTypeId>(5), .nodes = nodes({1ULL << 33})}},
      .tables = {{{.type = 3}, {7, 7, 0}}, {{TableName::Kind::edge_column, 4, 2}, {1ULL << 34}}},
      .flow = 77};
}
inline RowReply example(RowReply*) {
  return {.sections = {{.nodes = 3, .row_bytes = 20, .labels = 2, .targets = 2},
                       {.nodes = 1, .row_bytes = 6}},
          .tables = {{.rows = 2, .row_bytes = 12}, {.rows = 1, .row_bytes = 5}},
          // 60 bytes, 4 of nothing, 6 bytes, 2 of nothing, 24 bytes, 5 bytes
          .rows = pattern_segment(64 + 8 + 24 + 5, 1),
          .original_ids = {static_cast<OriginalId>(8), static_cast<OriginalId>(1ULL << 50),
                           static_cast<OriginalId>(0), static_cast<OriginalId>(3)},
          .labels = {-1, 5},
          .targets = {0.5F, -2.0F}};
}
inline GradientChunk example(GradientChunk*) {
  return {.generation = 2,
          .step = 1ULL << 33,
          .rank = static_cast<Rank>(6),
          .weight = 1024,
          .values = array<float>({1.5F, -0.25F}),
          .loss_sum = -3.25,
          .batch = Digest{7, ~0ULL},
          .offer = {.network = "four GPUs", .device = "GPU 3", .joined = true}};
}
inline GradientSum example(GradientSum*) {
  return {.step = 12,
          .weight = 4096,
          .values = array<float>({0.5F, NAN, 3.0F}),
          .loss_sum = 0.125,
          .batches = {{1, 2}, {~0ULL, 4}},
          .communicator = {~0ULL, 0, 1ULL << 40},
          .by_devices = true};
}
inline ScoreResult example(ScoreResult*) {
  return {.positions = {0, 1ULL << 34},
          .cols = 3,
          .outputs = array<float>({1, 2, 3, 4, 5, 6}),
          .labels = {-7, 2},
          .numbers = {1.5F, NAN, -2, 0, 4, 1e9F}};
}

inline std::shared_ptr<const TrainingState> example_state() {
  TrainingState state;
  state.epoch = 3;
  state.step = 17;
  state.global_step = 1ULL << 36;
  state.loss_sum = 2.5;
  state.loss_weight = 12;
  state.batches = {5, 6};
  state.parameters = {1, 2, 3};
  state.optimizer = {1ULL << 36, {{"exp_avg", {4, 5, 6}}, {"exp_avg_sq", {7, 8, 9}}}};
  state.best = {3, 2, 1};
  state.blobs = {{"rank 0", {std::byte{1}, std::byte{2}}}, {"rank 1", {}}};
  return std::make_shared<const TrainingState>(std::move(state));
}
inline StateReply example(StateReply*) {
  return {.state = example_state()};
}
inline Restore example(Restore*) {
  return {.generation = 4, .state = example_state()};
}
inline KeepState example(KeepState*) {
  return {.piece = 1ULL << 40, .last = true, .state = example_state()};
}

inline Members example(Members*) {
  return {1ULL << 40, 5, {{{ProcessId{1}, 2}, "a:1"}, {{ProcessId{4}, 1}, "b:2"}}};
}
inline Notice example(Notice*) {
  auto notice = testing::example_message<Notice>();
  notice.inference = {ProcessId{2}, 1, 3, 1ULL << 40, 1ULL << 41};
  return notice;
}

inline SampleBatch example(SampleBatch*) {
  SampleBatch batch;
  batch.key = {Purpose::evaluate, 3, 1ULL << 40};
  batch.seed_type = static_cast<NodeTypeId>(2);
  batch.links = {.edge_type = static_cast<EdgeTypeId>(3),
                 .sources = nodes({4, 4, 1ULL << 33}),
                 .destinations = nodes({0, 1, 2}),
                 .times = {-1, 0, 1LL << 62},
                 .labels = {0.5F, -1, 7}};
  batch.flow = 5;
  batch.options = BatchOptions::job;
  return batch;
}
/// Two node types, both with features, and an edge type between them, over one hop.
inline ReadyBatch example(ReadyBatch*) {
  SampledBatch sampled;
  sampled.key = {Purpose::train, 1, 2};
  sampled.seed_type = static_cast<NodeTypeId>(1);
  sampled.hops = 1;
  sampled.seed_index = {0, 1, 0};
  sampled.disjoint = true;
  sampled.nodes = {{nodes({9, 1ULL << 35}), {1, 2}, {1, 2}}, {nodes({3, 4}), {2, 2}, {0, 1}}};
  sampled.edges = {{.destination_type = static_cast<NodeTypeId>(1),
                    .source_type = static_cast<NodeTypeId>(0),
                    .offsets = {0, 1, 3},
                    .sources = {0, 1, 0},
                    .edge_ids = {EdgeId{7}, EdgeId{8}, EdgeId{9}},
                    .weights = {0, -0.0F, 1e-45F},
                    .times = {-1, 0, 1LL << 62},
                    .row_begin = {0, 2}}};
  sampled.links = {.edge_type = static_cast<EdgeTypeId>(5),
                   .source_type = static_cast<NodeTypeId>(1),
                   .destination_type = static_cast<NodeTypeId>(0),
                   .sources = {0, 1},
                   .destinations = {0, 0},
                   .negative_sources = {1, 1, 0, 0},
                   .negative_destinations = {0, 0, 0, 0},
                   .labels = {0.5F, -1},
                   .times = {-1, 1LL << 62},
                   .candidates = {0, 0, 0},
                   .edges_drawn = 9};
  sampled.subgraph = Subgraph::bidirectional;
  sampled.walks = {.steps = 2,
                   .column_types = {NodeTypeId{1}, NodeTypeId{0}, NodeTypeId{1}},
                   .nodes = {0, 1, 1, 1, BatchWalks::no_node, 0},
                   .restarts = {2, 5},
                   .undecided = 1ULL << 40};
  ReadyBatch ready;
  ready.batch.sampled = std::make_shared<const SampledBatch>(std::move(sampled));
  ready.batch.rows.resize(2);
  ready.batch.rows[0] = {Matrix::zeros(2, 3), {OriginalId{5}, OriginalId{6}}};
  ready.batch.rows[1] = {Matrix::zeros(2, 2), {OriginalId{7}, OriginalId{8}}};
  ready.batch.labels = {-1, 4, -1};
  ready.batch.targets = Matrix::zeros(3, 2);
  ready.batch.edge_features.push_back(Matrix::zeros(3, 4));
  const auto column = [&](bool of_edges, std::uint16_t type, ColumnInfo info, std::uint64_t rows) {
    const auto bytes = rows * info.row_bytes();
    ready.batch.columns.push_back(
        {of_edges, type, std::move(info), rows, pattern_segment(bytes, 1)});
  };
  column(false, 1, {"age", DType::i64, {}}, 2);
  column(true, 0, {"kind", DType::u8, {1, 3}}, 3);  // 9 bytes, 7 of nothing
  ready.trace = {1, 2, {{3, 30}, {4, 40}}, 5, 6, 7, 8, 9, 10};
  return ready;
}

}  // namespace troupe::net
