#pragma once
/// \file pair_outputs.hpp
/// Scores or logits of pairs of nodes with a trained model: links, edges, or triples of a knowledge graph, from rows
/// of their ends that were inferred or learned.
#include "runtime/base/executor.hpp"
#include "runtime/base/matrix.hpp"
#include "runtime/base/result.hpp"
#include "runtime/data/triple_names.hpp"
#include "runtime/graph/store.hpp"
#include "runtime/job/job.hpp"
#include "runtime/job/link_rules.hpp"
#include "runtime/nn/network.hpp"
#include "runtime/sample/knowledge/replaced_end.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace troupe {

/// An edge type of links that a decoder scores.
struct AskedType {
  EdgeTypeId edge_type{};
  EndTypes
      ends;  ///< those that it joins, of pairs on walks the seeds' type unless they are of all types
};
/// The one that a user names. \param name  empty: the only one that is learned
/// \param option  that asks, for errors
/// \errors invalid_argument: a job without links, a type that is not learned, none where several are
Result<AskedType> learned_type(const GraphInfo& graph, const Job& job, const std::string& name,
                               const char* option);

/// Pairs by original ids, in the order asked for; the same pair may be there more than once.
struct AskedPairs {
  AskedType type;
  std::vector<std::uint64_t> sources;
  std::vector<std::uint64_t> destinations;    ///< [sources]
  std::vector<std::uint32_t> relations = {};  ///< Of triples: [sources]
};

/// Names that a file has in the place of numbers. Null: it has numbers.
struct AskedNames {
  const TripleNames* triples = nullptr;
  const NodeNames* sources = nullptr;  ///< of pairs
  const NodeNames* destinations = nullptr;
};

/// In place of a role: all edges of the type.
inline constexpr const char* all_links = "all";
/// \errors invalid_argument: edges of the graph are not what the job learns
Status check_all_links(const Job& job);

/// \param from  "train", "val" or "test" of the job's split, all_links, or a file of original ids: [pairs, 2], of a
///   knowledge graph [pairs, 3] as head, relation, tail (.npy of integers, or text)
/// \param edge_type  that the pairs count as ones of, for learned_type()
/// \errors as learned_type(); invalid_argument: another shape or dtype, ids that the graph does not have;
///   not_found: no such file or role; those of read_named_rows()
Result<AskedPairs> asked_pairs(const PartitionedStore& store, const Job& job,
                               const std::string& from, const std::string& edge_type,
                               const AskedNames& names = {});

/// Triples one end of which is asked for, by original ids, in the order asked for.
struct AskedCompletions {
  ReplacedEnd replaced = ReplacedEnd::tail;  ///< the end that is asked for
  AskedType type;                            ///< Both ends are of one node type
  std::vector<std::uint64_t> known;          ///< the other ends
  std::vector<std::uint32_t> relations;      ///< [known]
};
/// \param from  "train", "val" or "test": the triples of the role; or a file of numbers: [triples, 2] as head and
///   relation, or where heads are asked for as relation and tail (.npy of integers, or text)
/// \param names  null: the file has numbers \errors as asked_pairs() of a knowledge graph
Result<AskedCompletions> asked_completions(const PartitionedStore& store, const Job& job,
                                           const std::string& from, ReplacedEnd replaced,
                                           const TripleNames* names = nullptr);

/// Rows of both sides.
struct RowsOfEnds {
  ConstMatrix sources;
  ConstMatrix destinations;
  std::span<const std::uint32_t> of;  ///< [pairs] rows of `sources`
  std::span<const std::uint32_t> to;  ///< [pairs] rows of `destinations`
};
/// What the decoder makes of each pair, or the score of each triple: [pairs, outputs]. A pair's bits do not depend on
/// the others.
/// \param parameters  of the network
/// \requires relations below those of the model, where there are such
Matrix pair_outputs(Executor& executor, const nn::Network& network,
                    std::span<const float> parameters, const TaskJob& task, const AskedPairs& pairs,
                    const RowsOfEnds& rows);

/// [pairs, 2]: original ids of both ends; of triples [pairs, 3], with the relation between them.
std::vector<std::int64_t> ids_of(const AskedPairs& pairs);
/// [triples, 2]: head and relation, or relation and tail.
std::vector<std::int64_t> ids_of(const AskedCompletions& asked);

}  // namespace troupe
