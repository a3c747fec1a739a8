// What hops and row requests announce, against the answers that parts give.
#include "runtime/wire/codec.hpp"
#include "tests/runtime/feature/collect.hpp"
#include "tests/support/one_section.hpp"

namespace troupe::net {
namespace {

using testing::collect_with_edges;
using testing::cut_graph;
using testing::drive;
using testing::fanouts;
using testing::featured_graph;

TEST(AnnouncedBytes, RowsAreAnnouncedExactly) {
  for (const DType dtype : {DType::f32, DType::u8}) {
    auto graph = featured_graph(dtype);
    testing::add_edge_features(graph.edges[0], 3);
    const auto cut = cut_graph(graph, 3);
    auto options = fanouts({4, 3});
    options.edge_data.entries = true;
    const auto sampled =
        std::make_shared<const SampledBatch>(drive(cut, options, {}, {5, 1, 20, 5, 34}));
    const RowCollection collection(*cut.book, collect_with_edges(cut), sampled);
    for (const auto& question : collection.questions()) {
      ASSERT_OK_AND_ASSIGN(const auto reply,
                           read_part_rows(*cut.parts[raw(question.part)], question.request));
      std::uint64_t segments = 0;
      for (const auto& segment : to_frame(reply).segments) {
        segments += segment.bytes.size();
      }
      // Besides, what a failure may take, and the heads of section and table.
      const auto announced = Wire<RowRequest>::reply_bytes(question.request);
      EXPECT_GE(announced, segments + largest_failure_bytes);
      EXPECT_LE(announced, segments + largest_failure_bytes + 112);
      EXPECT_LE(to_frame(reply).size_bytes(), announced);
    }
  }
}

TEST(AnnouncedBytes, HopsAreBounded) {
  const auto cut = cut_graph(featured_graph(), 1);
  const auto& part = *cut.parts[0];
  for (const std::int32_t fanout : {0, 1, 3, 50, all_neighbours}) {
    for (const std::uint64_t max_edges : {0U, 1U, 2U, 7U, 1000U}) {
      for (const bool replace : {false, true}) {
        HopRequest request = testing::one_hop_request();
        request.sections[0].fanout = fanout;
        request.sections[0].edge_data = {.edge_ids = true, .entries = true};
        request.max_edges = max_edges;
        request.replace = replace && fanout >= 0;
        for (std::uint64_t i = 0; i < part.nodes[0].count; ++i) {
          request.frontiers[0].nodes.push_back(advance(part.nodes[0].first, i));
        }
        ASSERT_OK_AND_ASSIGN(const auto reply, sample_one_hop(part, request));
        EXPECT_LE(to_frame(reply).size_bytes(), Wire<HopRequest>::reply_bytes(request))
            << fanout << " of at most " << max_edges << " edges";
      }
    }
  }
}

}  // namespace
}  // namespace troupe::net
