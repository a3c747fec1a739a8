#pragma once
/// \file triple_batches.hpp
/// Batches of triples with the negative candidates that chunks of them share (decision 0042), each
/// a pure function of (job seed, epoch, batch number). Nothing is asked of other parts: candidates
/// are original ids, for the directory to find, or nodes of the rank's own parts.
#include "runtime/base/ids.hpp"
#include "runtime/base/result.hpp"
#include "runtime/graph/store.hpp"
#include "runtime/sample/knowledge/chunk_candidates.hpp"
#include "runtime/sample/knowledge/replaced_end.hpp"
#include "runtime/sample/mini_batch.hpp"
#include "runtime/sample/seed_order.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace troupe {

/// The triples of one batch. Lists are in batch order.
struct TripleBatch {
  ReplacedEnd replaced = ReplacedEnd::tail;
  std::vector<NodeId> heads;
  std::vector<std::uint32_t> relations;  ///< [heads]
  std::vector<NodeId> tails;             ///< [heads]
  std::uint64_t chunks = 0;
  /// [chunks * negatives]: original ids of candidates, chunk after chunk, or global ones where they
  /// are of the rank's own parts.
  std::vector<std::uint64_t> candidates;
};

/// Number of relations of a split: as the roles say, or where they do not, the largest label of
/// their links + 1.
/// \param roles  the links of all roles
/// \errors invalid_argument: links without labels, or labels that are no whole numbers from 0 to
///   2^24
Result<std::uint64_t> count_relations(const SplitInfo& split, std::span<const LinkList> roles);

/// Threads: immutable; any number at once
class TripleBatches {
 public:
  /// \param order       over links with relations as labels (count_relations() has checked them)
  /// \param tails,heads  candidates for each end
  TripleBatches(SeedOrder order, const GraphInfo& graph, std::uint64_t job_seed,
                const ChunkOptions& options, CandidateNodes tails, CandidateNodes heads);

  const SeedOrder& order() const { return order_; }
  /// \requires key.number < order().num_batches()
  TripleBatch batch(const BatchKey& key) const;

 private:
  SeedOrder order_;
  std::uint64_t job_seed_;
  ChunkOptions options_;
  CandidateNodes tails_;
  CandidateNodes heads_;
  NodeTypeId tail_type_{};
  NodeTypeId head_type_{};
};

}  // namespace troupe
