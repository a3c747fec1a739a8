#pragma once
/// \file pair_outputs.hpp
/// Scores or logits of pairs of nodes with a trained model: links, edges, or triples of a knowledge graph, from rows
/// of their ends that were inferred or learned.
#include "runtime/base/executor.hpp"
#include "runtime/base/matrix.hpp"
#include "runtime/base/result.hpp"
#include "runtime/graph/store.hpp"
#include "runtime/job/job.hpp"
#include "runtime/job/link_rules.hpp"
#include "runtime/nn/network.hpp"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace troupe {

/// Pairs by original ids, in the order asked for; the same pair may be there more than once.
struct AskedPairs {
  EdgeTypeId edge_type{};
  EndTypes types;
  std::vector<std::uint64_t> sources;
  std::vector<std::uint64_t> destinations;    ///< [sources]
  std::vector<std::uint32_t> relations = {};  ///< Of triples: [sources]
};

/// The edge type of links that a user names. \param name  empty: the only one that is learned
/// \errors invalid_argument: one that is not learned, or none where several are
Result<EdgeTypeId> learned_edge_type(const GraphInfo& graph, const SplitInfo::LinkRole& train,
                                     const std::string& name);

/// Types of the ends that its decoder compares: those that the edge type joins, of pairs on walks the seeds' type unless
/// they are of all types.
EndTypes learned_end_types(const GraphInfo& graph, const Job& job, const SplitInfo::LinkRole& train,
                           EdgeTypeId edge_type);

/// \param from  "train", "val" or "test" of the job's split, or a file of original ids: [pairs, 2], of a knowledge
///   graph [pairs, 3] as head, relation, tail (.npy of integers, or text)
/// \param edge_type  that the pairs count as ones of, for learned_edge_type()
/// \errors as learned_edge_type(); invalid_argument: another shape or dtype, ids that the graph does not have;
///   not_found: no such file or role
Result<AskedPairs> asked_pairs(const PartitionedStore& store, const Job& job,
                               const std::string& from, const std::string& edge_type);

/// Ends of one side of pairs, each node once, ascending by original id.
struct DistinctEnds {
  SeedList nodes;
  std::vector<std::uint32_t> places;  ///< [pairs] in `nodes`
};
/// \errors those of locate_nodes()
Result<DistinctEnds> distinct_ends(const PartitionedStore& store, NodeTypeId type,
                                   const std::vector<std::uint64_t>& originals);

/// Rows of both sides, by DistinctEnds::places.
struct RowsOfEnds {
  ConstMatrix sources;
  ConstMatrix destinations;
  std::span<const std::uint32_t> of;
  std::span<const std::uint32_t> to;
};
/// What the decoder makes of each pair, or the score of each triple: [pairs, outputs]. A pair's bits do not depend on
/// the others.
/// \param parameters  of the network
/// \requires relations below those of the model, where there are such
Matrix pair_outputs(Executor& executor, const nn::Network& network,
                    std::span<const float> parameters, const TaskJob& task, const AskedPairs& pairs,
                    const RowsOfEnds& rows);

/// Writes `predictions.npy` (float32 [nodes, k]: scores), `node_ids.npy` (int64 [nodes]) and `partners.npy` (int64
/// [nodes, k]: original ids of the nodes that have those scores, -1 where there is none).
/// Guarantees, errors: as write_pair_predictions()
Status write_top_predictions(const std::filesystem::path& dir, std::span<const OriginalId> node_ids,
                             std::span<const std::int64_t> partners, ConstMatrix scores);

/// Writes `predictions.npy` (float32 [pairs, outputs]) and `links.npy` (int64 [pairs, 2], of triples [pairs, 3]) into
/// `dir`, which is made if it is missing; `node_ids.npy` of other predictions is removed.
/// Guarantees: each file is replaced whole; a `predictions.npy` that is there has its own `links.npy` beside it
/// \errors failed_precondition: the disk
Status write_pair_predictions(const std::filesystem::path& dir, const AskedPairs& pairs,
                              ConstMatrix outputs);

}  // namespace troupe
