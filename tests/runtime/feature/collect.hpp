#pragma once
/// \file collect.hpp
/// Drives a RowCollection with parts in memory.
#include "runtime/feature/row_collection.hpp"
#include "tests/runtime/sample/drive.hpp"

namespace troupe::testing {

/// Two node types, of which the second has wider rows, and one without rows, in three parts.
inline CutGraph cut_narrow_and_wide() {
  TestGraph graph;
  graph.nodes.push_back({.name = "narrow", .count = 90});
  graph.nodes.push_back({.name = "wide", .count = 60});
  graph.nodes.push_back({.name = "bare", .count = 12});
  add_features(graph.nodes[0], 4);
  add_features(graph.nodes[1], 16);
  return cut_graph(graph, 3);
}

inline std::shared_ptr<CollectOptions> collect_options(const CutGraph& cut,
                                                       Normalize normalize = Normalize::none) {
  auto options = std::make_shared<CollectOptions>();
  for (const auto& type : cut.info.node_types) {
    const auto decoder = RowDecoder::create(type, normalize);
    EXPECT_OK(decoder);
    options->decoders.push_back(*decoder);
    options->label_bytes.push_back(type.labels ? type.labels->row_bytes() : 0);
  }
  options->digest = DigestMode::full;
  return options;
}

/// With features of edges, of batches that have entry numbers.
inline std::shared_ptr<CollectOptions> collect_with_edges(const CutGraph& cut) {
  auto options = collect_options(cut);
  for (const auto& type : cut.info.edge_types) {
    const auto decoder = RowDecoder::create(type);
    EXPECT_OK(decoder);
    options->edge_decoders.push_back(*decoder);
  }
  return options;
}

/// How questions are answered: by replies (last first), or straight from the parts.
enum class Answers { replies, parts };

inline Batch collect(const CutGraph& cut, std::shared_ptr<const CollectOptions> options,
                     SampledBatch sampled, Answers answers = Answers::parts) {
  RowCollection collection(*cut.book, std::move(options),
                           std::make_shared<const SampledBatch>(std::move(sampled)));
  const auto questions = collection.questions();
  for (auto question = questions.rbegin(); question != questions.rend(); ++question) {
    const Part& part = *cut.parts[raw(question->part)];
    if (answers == Answers::parts) {
      EXPECT_OK(collection.answer_from(question->id, part));
    } else {
      const auto reply = read_part_rows(part, question->request);
      EXPECT_OK(reply);
      EXPECT_OK(collection.answer(question->id, *reply));
    }
  }
  EXPECT_TRUE(collection.done());
  return std::move(collection).take();
}

/// A skewed graph of 60 nodes with features and labels.
inline TestGraph featured_graph(DType dtype = DType::f32) {
  TestGraph graph = skewed_graph(60, 6);
  add_features(graph.nodes[0], 5, dtype);
  return graph;
}

}  // namespace troupe::testing
