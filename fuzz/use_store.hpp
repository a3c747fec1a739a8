#pragma once
/// \file use_store.hpp
/// Trains on what a store gave, as far as a batch: what passed the checks must not lead later code
/// astray.
#include "runtime/feature/row_collection.hpp"
#include "runtime/graph/directory.hpp"
#include "runtime/graph/store.hpp"
#include "runtime/sample/batch_builder.hpp"

#include "fuzz/target.hpp"

#include <memory>
#include <vector>

namespace troupe::fuzz {

/// A graph in parts, all of them loaded.
struct LoadedGraph {
  const GraphInfo& info;
  PartRanges ranges;
  std::vector<std::shared_ptr<const Part>> parts;
};

inline Batch collect_rows(const LoadedGraph& graph, const PartitionBook& book,
                          std::shared_ptr<const SampledBatch> sampled, bool entries) {
  auto options = std::make_shared<CollectOptions>();
  options->digest = DigestMode::full;
  for (const auto& type : graph.info.node_types) {
    auto decoder = RowDecoder::create(type, type.column_stats ? Normalize::column : Normalize::row);
    require(decoder.ok(), "a type that was read has a decoder");
    options->decoders.push_back(*std::move(decoder));
  }
  for (std::size_t e = 0; entries && e < graph.info.edge_types.size(); ++e) {
    auto decoder = RowDecoder::create(graph.info.edge_types[e]);
    require(decoder.ok(), "a type that was read has a decoder");
    options->edge_decoders.push_back(*std::move(decoder));
  }
  const auto add_columns = [&](TableName::Kind kind, const auto& types) {
    for (std::size_t t = 0; t < types.size(); ++t) {
      for (std::size_t c = 0; c < types[t].columns.size(); ++c) {
        const TableName name{kind, static_cast<std::uint16_t>(t), static_cast<std::uint16_t>(c)};
        options->columns.push_back({name, types[t].columns[c]});
      }
    }
  };
  add_columns(TableName::Kind::node_column, graph.info.node_types);
  if (entries) {
    add_columns(TableName::Kind::edge_column, graph.info.edge_types);
  }
  RowCollection rows(book, options, std::move(sampled));
  const auto questions = rows.questions();
  for (const auto& question : questions) {
    const auto status = rows.answer_from(question.id, *graph.parts[raw(question.part)]);
    require(status.ok(), "a part answers for the rows that it owns");
  }
  return std::move(rows).take();
}

/// Samples two hops from `seeds` and collects the rows.
inline void make_batch(const LoadedGraph& graph, const SeedList& seeds, EdgeDir dir,
                       Frontier frontier) {
  const PartitionBook book(graph.ranges);
  auto options = std::make_shared<SampleOptions>();
  options->fanout = {std::vector<std::int32_t>(graph.info.edge_types.size(), 3),
                     std::vector<std::int32_t>(graph.info.edge_types.size(), all_neighbours)};
  options->dir = dir;
  options->frontier = frontier;
  // What there is; features lie beside the main lists.
  const bool entries = dir == EdgeDir::in || graph.parts.front()->complete_for == CompleteFor::out;
  options->edge_data = {true, true, true, entries};
  for (std::size_t e = 0; entries && e < graph.info.edge_types.size(); ++e) {
    options->entries_of.push_back(static_cast<EdgeTypeId>(e));
  }
  options->max_edges_per_reply = 100;
  const auto count = std::min<std::size_t>(seeds.global.size(), 32);
  BatchBuilder builder(graph.info, book, options, {}, seeds.node_type,
                       std::span(seeds.global).first(count));
  while (!builder.done()) {
    for (const auto& question : builder.questions()) {
      const auto reply = sample_one_hop(*graph.parts[raw(question.part)], question.request);
      require(reply.ok(), "a part answers for the nodes that it owns");
      require(builder.answer(question.id, *reply).ok(), "and the answer fits the question");
    }
  }
  collect_rows(graph, book, std::make_shared<const SampledBatch>(std::move(builder).take()),
               entries);
}

/// Batches in every direction that the lists are complete for.
inline void use_graph(const LoadedGraph& graph, const SeedList& seeds) {
  const auto complete = graph.parts.front()->complete_for;
  for (const auto frontier : {Frontier::fresh, Frontier::all}) {
    if (complete != CompleteFor::out) {
      make_batch(graph, seeds, EdgeDir::in, frontier);
    }
    if (complete != CompleteFor::in) {
      make_batch(graph, seeds, EdgeDir::out, frontier);
    }
  }
}

/// Both ends of every link belong to some part, and the directories that there are lead to parts.
inline void use_links(const LoadedGraph& graph, const LinkList& links) {
  const PartitionBook book(graph.ranges);
  const auto& type = graph.info.edge_types[raw(links.edge_type())];
  require(links.times().empty() || links.times().size() == links.size(), "a time per link");
  require(links.labels().empty() || links.labels().size() == links.size(), "a label per link");
  for (std::uint64_t i = 0; i < links.size(); ++i) {
    const auto link = links.at(i);
    require(book.contains(type.source, link.source), "a source is a node");
    require(book.contains(type.destination, link.destination), "a destination is a node");
    const DirectorySlices slices{book.count(type.source), book.parts()};
    const auto part = slices.part_of(link.original_source);
    const auto& directory = graph.parts[raw(part)]->nodes_of(type.source).directory;
    if (!directory.empty()) {
      const auto id = directory[raw(link.original_source) - slices.first(raw(part))];
      require(book.contains(type.source, id), "a directory leads to a node");
    }
  }
}

}  // namespace troupe::fuzz
