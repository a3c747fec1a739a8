#pragma once
/// \file link_seeds.hpp
/// Turns the positive links of a batch into what the batch grows from: its seeds with the ends of
/// negative links, and the edges that it leaves out (decision 0030).
#include "runtime/base/pooled_vector.hpp"
#include "runtime/base/result.hpp"
#include "runtime/graph/graph_info.hpp"
#include "runtime/partition/partition_book.hpp"
#include "runtime/sample/batch_builder.hpp"
#include "runtime/sample/links/graph_questions.hpp"
#include "runtime/sample/links/link_options.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

namespace troupe {

LinkEndTypes end_types(const GraphInfo& graph, const LinkOptions& options, EdgeTypeId links);

/// One question to a part. `id` names it when its answer comes.
struct LinkQuestion {
  std::uint32_t id = 0;
  PartId part{};
  std::variant<FindNodes, HasEdges> request;
};

/// Lifecycle:  construct; ask questions() and answer each until done(); take()
/// Threads:    one at a time
/// Guarantees: the same seeds whatever the partitioning and the order of answers
/// Borrows:    `graph` and `book`, which must outlive it
class LinkSeeds {
 public:
  /// \param types  of the ends, as end_types() has them, or of pairs on walks turn_of_pairs()
  /// \requires options->links; every end is in `book`
  LinkSeeds(const GraphInfo& graph, const PartitionBook& book,
            std::shared_ptr<const SampleOptions> options, BatchKey key, PositiveLinks links,
            LinkEndTypes types);

  /// Those that became askable since the last call, at most one per part and kind.
  std::vector<LinkQuestion> questions();

  /// \errors invalid_argument: unknown or answered question; data_corruption: another number of answers
  ///   than was asked for, nodes that the graph does not have
  Status answer(std::uint32_t question, const NodesFound& found);
  Status answer(std::uint32_t question, const EdgesThere& there);

  bool done() const;

  struct Seeds {
    BatchSeeds seeds;
    BatchLinks links;  ///< Ends are places among all seeds, where batches have their index
  };
  /// \requires done()
  Seeds take() &&;

 private:
  enum class Stage : std::uint8_t { find, check, done };
  /// A candidate for a drawn end.
  struct Candidate {
    bool is_source = false;   ///< The source is drawn; else the destination
    std::uint64_t drawn = 0;  ///< Original id, or by degree the number of an edge
    NodeId node{};
    bool is_edge = false;
  };
  struct Asked {
    PartId part{};
    NodeTypeId node_type{};                  ///< Of a search
    PooledVector<std::uint32_t> candidates;  ///< By number; empty once answered
  };

  NodeTypeId drawn_type(const Candidate& candidate) const;
  std::uint32_t tries() const;
  void draw_candidates();
  void draw_shared(const SharedCandidates& shared);
  std::uint64_t draw(StreamKey key, std::uint64_t positive, std::uint32_t candidate,
                     bool is_source) const;
  /// By degree: edges in the slices before each part's.
  const std::vector<std::uint64_t>& edges_before(bool is_source) const;
  FindNodes question_for(const Candidate& candidate) const;
  PartId part_with(const Candidate& candidate, std::uint64_t& place) const;
  void ask_for_nodes();
  void ask_for_edges();
  void go_on();
  Result<Asked*> open(std::uint32_t question, std::size_t answers);
  std::size_t positive_of(std::size_t candidate) const;
  PooledVector<std::size_t> chosen(std::uint64_t& edges_drawn) const;
  /// Ends of the pair that a candidate makes.
  std::pair<NodeId, NodeId> ends(std::size_t candidate) const;
  void exclude(Exclusions& exclusions) const;
  BatchLinks links_of_batch() const;
  Seeds take_shared();

  const GraphInfo& graph_;
  const PartitionBook& book_;
  std::shared_ptr<const SampleOptions> options_;
  BatchKey key_;
  PositiveLinks links_;
  LinkEndTypes types_;
  Stage stage_ = Stage::find;
  PooledVector<Candidate> candidates_;  ///< [links, per_positive, tries], or those that are shared
  std::vector<LinkQuestion> pending_;
  std::vector<Asked> asked_;  ///< By question
  std::size_t open_ = 0;
};

}  // namespace troupe
