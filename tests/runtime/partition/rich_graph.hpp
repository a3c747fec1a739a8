#pragma once
/// \file rich_graph.hpp
/// Small graph stores that have everything a store can have, for tests of partitioning.
#include "runtime/base/executor.hpp"
#include "runtime/base/philox.hpp"
#include "runtime/data/stream_store.hpp"
#include "runtime/graph/store.hpp"

#include <filesystem>
#include <vector>

namespace troupe::testing {

/// Draws edges of one type, some of them parallel, and gives their data.
class RichEdges {
 public:
  RichEdges(StoreWriter& writer, std::uint64_t count) : writer_(writer), count_(count) {}

  Status add(EdgeTypeId type, std::uint64_t sources, std::uint64_t destinations, bool data) {
    DrawStream draw(stream_key(7, {.domain = Domain::generators, .type = raw(type)}), 0);
    std::vector<std::uint64_t> from;
    std::vector<std::uint64_t> to;
    std::vector<float> weights;
    std::vector<std::int64_t> times;
    std::vector<float> rows;
    for (std::uint64_t e = 0; e < count_; ++e) {
      from.push_back(draw.below(static_cast<std::uint32_t>(sources)));
      to.push_back(draw.below(static_cast<std::uint32_t>(destinations)));
      weights.push_back(static_cast<float>(e) / 4);
      times.push_back(static_cast<std::int64_t>(draw.below(20)) - 10);
      rows.push_back(static_cast<float>(e));
      rows.push_back(static_cast<float>(raw(type)));
    }
    if (!data) {
      return writer_.add_edges(type, from, to);
    }
    TROUPE_RETURN_IF_ERROR(writer_.add_edge_features(type, std::as_bytes(std::span(rows))));
    return writer_.add_edges(type, {from, to, weights, times});
  }

 private:
  StoreWriter& writer_;
  std::uint64_t count_;
};

inline NewEdgeType rich_edge_type(std::string name, NodeTypeId source, NodeTypeId destination) {
  return {.name = std::move(name),
          .source = source,
          .destination = destination,
          .weights = true,
          .times = true,
          .features = FeatureInfo{.dtype = DType::f32, .cols = 2, .scale = 1}};
}

inline Status add_rows(StoreWriter& writer, NodeTypeId type, std::uint64_t count) {
  std::vector<std::uint8_t> features;
  std::vector<std::int64_t> labels;
  for (std::uint64_t v = 0; v < count; ++v) {
    features.push_back(static_cast<std::uint8_t>(v));
    features.push_back(static_cast<std::uint8_t>(v * 7));
    features.push_back(static_cast<std::uint8_t>(raw(type)));
    labels.push_back(static_cast<std::int64_t>(v % 4) - 1);
  }
  TROUPE_RETURN_IF_ERROR(writer.add_features(type, std::as_bytes(std::span(features))));
  return writer.add_labels(type, labels);
}

/// One node type of 60 nodes and one edge type, with weights, times and features of edges.
inline Result<GraphStore> rich_graph(const std::filesystem::path& out) {
  InlineExecutor executor;
  LabelInfo classes;
  classes.classes = 3;
  TROUPE_ASSIGN_OR_RETURN(auto writer, StoreWriter::create(out, {}, executor));
  TROUPE_ASSIGN_OR_RETURN(
      const auto node, writer.add_node_type({"node", 60, FeatureInfo{DType::u8, 3, 1}, classes}));
  TROUPE_ASSIGN_OR_RETURN(const auto edge,
                          writer.add_edge_type(rich_edge_type("edge", node, node)));
  TROUPE_RETURN_IF_ERROR(add_rows(writer, node, 60));
  TROUPE_RETURN_IF_ERROR(RichEdges(writer, 240).add(edge, 50, 50, true));  // the last 10 have none
  TROUPE_RETURN_IF_ERROR(writer.set_seeds("", "train", node, {1, 5, 7, 20, 33, 41, 59}));
  TROUPE_RETURN_IF_ERROR(writer.finish());
  return GraphStore::open(out, {});
}

/// Four node types (one empty, one smaller than the number of parts) and five edge types (one
/// empty), with data of different widths, or none.
inline Result<GraphStore> rich_heterogeneous_graph(const std::filesystem::path& out) {
  InlineExecutor executor;
  TROUPE_ASSIGN_OR_RETURN(auto writer, StoreWriter::create(out, {}, executor));
  LabelInfo classes;
  classes.classes = 3;
  LabelInfo targets;
  targets.kind = LabelInfo::Kind::targets;
  targets.classes = 2;
  TROUPE_ASSIGN_OR_RETURN(
      const auto author,
      writer.add_node_type({"author", 40, FeatureInfo{DType::u8, 3, 1}, classes}));
  TROUPE_ASSIGN_OR_RETURN(const auto paper, writer.add_node_type({"paper", 70, {}, targets}));
  TROUPE_ASSIGN_OR_RETURN(const auto venue, writer.add_node_type({"venue", 3, {}, {}}));
  TROUPE_ASSIGN_OR_RETURN(const auto none, writer.add_node_type({"none", 0, {}, {}}));
  auto writes = rich_edge_type("writes", author, paper);
  writes.transforms.reverse_edges = true;
  TROUPE_ASSIGN_OR_RETURN(const auto writes_id, writer.add_edge_type(writes));
  TROUPE_ASSIGN_OR_RETURN(
      const auto cites,
      writer.add_edge_type({.name = "cites", .source = paper, .destination = paper}));
  TROUPE_ASSIGN_OR_RETURN(
      const auto in, writer.add_edge_type({.name = "in", .source = paper, .destination = venue}));
  TROUPE_RETURN_IF_ERROR(
      writer.add_edge_type({.name = "empty", .source = none, .destination = author}));
  TROUPE_RETURN_IF_ERROR(add_rows(writer, author, 40));
  std::vector<float> rows;
  for (int i = 0; i < 140; ++i) {
    rows.push_back(static_cast<float>(i % 2));
  }
  TROUPE_RETURN_IF_ERROR(writer.add_targets(paper, rows));
  RichEdges edges(writer, 160);
  TROUPE_RETURN_IF_ERROR(edges.add(writes_id, 40, 70, true));
  TROUPE_RETURN_IF_ERROR(edges.add(cites, 60, 60, false));
  TROUPE_RETURN_IF_ERROR(edges.add(in, 70, 3, false));
  TROUPE_RETURN_IF_ERROR(writer.set_seeds("", "train", author, {0, 3, 9, 17, 25, 30, 36, 39}));
  TROUPE_RETURN_IF_ERROR(writer.finish());
  return GraphStore::open(out, {});
}

}  // namespace troupe::testing
