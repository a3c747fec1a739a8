#pragma once
/// \file edge_lookup.hpp
/// The asking side of edge_questions.hpp: cuts what a program wants to know into questions to parts, and
/// joins the answers, which it takes nothing of on trust.
#include "runtime/base/ids.hpp"
#include "runtime/base/result.hpp"
#include "runtime/graph/graph_info.hpp"
#include "runtime/partition/partition_book.hpp"
#include "runtime/sample/edge_questions.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

/// Degrees of nodes.
/// Lifecycle: questions() once; answer() for each; then degrees()
/// Borrows:   the book
class DegreeLookup {
 public:
  struct Question {
    PartId part{};
    CountEdges request;
  };

  /// \param type    node type at that end of the edge type
  /// \requires the book has all nodes
  DegreeLookup(const PartitionBook& book, NodeTypeId type, const CountEdges& about,
               std::span<const NodeId> nodes);
  const std::vector<Question>& questions() const { return questions_; }
  /// \param question  place among questions()
  /// \errors data_corruption: other than one answer for each node
  Status answer(std::size_t question, const EdgesCounted& counted);
  /// In the order of the nodes.
  std::vector<std::uint64_t> degrees() && { return std::move(degrees_); }

 private:
  std::vector<Question> questions_;
  std::vector<std::vector<std::size_t>> places_;  ///< [questions] of their nodes
  std::vector<std::uint64_t> degrees_;
};

/// Nodes at the ends of edges, by the order in which the edges were given.
struct EdgeNodes {
  std::vector<NodeId> sources;       ///< Global ids of the edge type's source type
  std::vector<NodeId> destinations;  ///< Global ids of its destination type
};

/// Where rows of edges' tables lie, by the order in which the edges were given.
struct EdgePlaces {
  std::vector<PartId> parts;
  std::vector<std::uint64_t> entries;  ///< [parts] rows of the part's tables
};

/// Ends of edges, or where their rows lie.
/// Lifecycle: question() goes to every part; answer() for each; then take()
/// Borrows:   the book
class EdgeLookup {
 public:
  /// \param edges  original ids, duplicates allowed
  EdgeLookup(const PartitionBook& book, const EdgeTypeInfo& type, EdgeTypeId number,
             std::span<const EdgeId> edges);
  const FindEdges& question() const { return question_; }
  /// \errors data_corruption: places, nodes or numbers of them that cannot be, an edge that another
  ///   answer had
  Status answer(PartId part, const EdgesFound& found);
  /// In the order of the edges.
  /// \errors not_found: an edge that no part has
  Result<EdgeNodes> take() &&;
  /// The same of rows.
  /// \errors those of take(); unimplemented: a holder does not say where
  Result<EdgePlaces> take_places() &&;

 private:
  Status check_found() const;

  static constexpr NodeId unknown{~std::uint64_t{0}};

  const PartitionBook& book_;
  NodeTypeId source_type_;
  NodeTypeId destination_type_;
  std::string name_;  ///< Of the edge type
  FindEdges question_;
  std::vector<std::uint64_t> places_;        ///< [edges] in the question
  EdgeNodes ends_;                           ///< [question]
  std::vector<PartId> parts_ = {};           ///< [question]
  std::vector<std::uint64_t> entries_ = {};  ///< [question]
  bool all_say_where_ = true;
};

}  // namespace troupe
