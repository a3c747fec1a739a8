#pragma once
/// \file chunk_candidates.hpp
/// Negative candidates that chunks of a batch's triples share (decision 0042): a pure function of (job
/// seed, epoch, batch number). Nothing is asked of other parts: candidates are original ids, for the
/// directory to find, or nodes of the rank's own parts.
#include "runtime/base/ids.hpp"
#include "runtime/sample/knowledge/replaced_end.hpp"
#include "runtime/sample/mini_batch.hpp"

#include <cstdint>
#include <vector>

namespace troupe {

/// Nodes of a part: contiguous global ids.
struct NodeRange {
  NodeId first{};
  std::uint64_t count = 0;
};

struct ChunkOptions {
  std::uint64_t triples = 256;  ///< Of a chunk, at least 1; the last one of a batch may have fewer
  std::uint32_t negatives = 256;  ///< Candidates of each chunk

  std::uint64_t chunks_of(std::uint64_t batch) const { return (batch + triples - 1) / triples; }
};

/// Whose nodes a rank draws candidates from.
struct CandidateNodes {
  std::uint64_t count = 0;          ///< All nodes of the type
  std::vector<NodeRange> own = {};  ///< Or only these, of the rank's own parts
  bool local() const { return !own.empty(); }
};

/// Candidates of links that are triples, whose ends are of one node type.
struct SharedCandidates {
  ChunkOptions chunks;
  /// [ranks] nodes of each rank's parts, which its batches draw from; empty: all nodes of the type.
  std::vector<std::vector<NodeRange>> of_ranks = {};
};

/// Tails are replaced in the batches where epoch + number is even, heads in the others.
constexpr ReplacedEnd replaced_in(const BatchKey& key) {
  return (key.epoch + key.number) % 2 == 0 ? ReplacedEnd::tail : ReplacedEnd::head;
}

/// Nodes that candidates are drawn from.
std::uint64_t nodes_drawn_from(const CandidateNodes& nodes);

/// \param type    of the replaced end
/// \param chunks  of the batch
/// \returns [chunks * negatives], chunk after chunk: original ids, or global ones where they are of the
///   rank's own parts
std::vector<std::uint64_t> chunk_candidates(std::uint64_t job_seed, const BatchKey& key,
                                            NodeTypeId type, std::uint64_t chunks,
                                            std::uint32_t negatives, const CandidateNodes& nodes);

}  // namespace troupe
