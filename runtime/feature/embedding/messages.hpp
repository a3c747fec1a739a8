#pragma once
/// \file messages.hpp
/// What ranks ask of the holders of learned rows. All messages name the generation of the run, and a
/// step, counted over the run from 0: rows "at step s" are those before the gradients of step s.
#include "runtime/base/buffer.hpp"
#include "runtime/base/digest.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/pooled_vector.hpp"
#include "runtime/base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace troupe {

/// Nodes of one table among the nodes of a message.
struct LearnedSection {
  NodeTypeId node_type{};
  std::uint32_t cols = 0;   ///< of the table
  std::uint64_t nodes = 0;  ///< So many of the message's nodes, which lie section after section
};

/// One rank's share of a step: gradients of the sum of its losses with respect to learned rows. Sent for
/// every step to every replica of every part, also without rows. Answered with Done once it is kept.
struct SparseGradients {
  std::uint32_t generation = 0;
  std::uint64_t step = 0;
  Rank rank{};
  std::uint64_t weight = 0;              ///< Terms of the sum; 0: no sections
  std::vector<LearnedSection> sections;  ///< In ascending order of node types, none twice
  PooledVector<NodeId> nodes;            ///< Duplicates are summed in this order
  Segment rows;                          ///< float32, section after section [nodes, cols]
};

/// Reads rows at a step: answered once all steps before it are applied.
struct ReadLearned {
  std::uint32_t generation = 0;
  std::uint64_t step = 0;
  bool best = false;  ///< Those of the best epoch; where none were kept, those at the step
  std::vector<LearnedSection> sections;  ///< as in SparseGradients
  PooledVector<NodeId> nodes;
  bool or_later = false;  ///< Rows at a later step will do
};
struct LearnedRows {
  Segment rows;  ///< float32, section after section [nodes, cols]
};

/// Keeps a copy of rows and optimizer state at a step. Answered with Done.
struct KeepLearned {
  std::uint32_t generation = 0;
  std::uint64_t step = 0;
  bool best = false;  ///< The rows are those of the best epoch; else all that a roll-back needs
  std::uint64_t oldest = 0;  ///< Copies for roll-backs to earlier steps are dropped
};

/// Begins a generation: puts rows and state back as they were at a step. What waits for another one is
/// answered with `fenced`. Answered with Done.
struct BeginLearned {
  std::uint32_t generation = 0;
  std::uint64_t step = 0;  ///< 0: the rows that tables start with; else of a copy
};

/// Asks for some rows of a copy that was kept at `step` for roll-backs.
struct ReadCopy {
  std::uint64_t step = 0;
  NodeTypeId node_type{};
  std::uint64_t first = 0;     ///< Of the rows that the part owns
  std::uint64_t count = 0;     ///< At most; the answer has fewer where the part ends
  std::uint64_t follower = 0;  ///< Of the copies made for it; 0: of those kept for roll-backs
};
/// The answer: rows of a copy.
struct CopyPiece {
  std::uint64_t step = 0;
  NodeTypeId node_type{};
  std::uint64_t steps = 0;              ///< Of the table, for its optimizer
  bool last = false;                    ///< The copy is whole: no rows follow
  std::vector<std::uint64_t> ids = {};  ///< Original ids
  Segment rows = {};                    ///< float32 [ids, dim]
  Segment state = {};                   ///< float32 [ids, numbers of the optimizer's state]
  Segment best = {};                    ///< float32 [ids, dim]; empty: no best epoch was kept
};
/// Rows of a copy that holders make; each takes those that its part owns. Answered with Done.
struct LoadCopy : CopyPiece {};

// ---- between the replicas of a part ----

/// Asks a replica for all that it has: it copies rows and state as they are, adds the copies that it
/// keeps (ReadCopy has them all), and notes from then on what comes to it (PullLearned).
struct FollowLearned {
  std::uint64_t follower = 0;  ///< A number of the asker's own, not 0
};
struct LearnedState {
  std::uint32_t generation = 0;
  std::uint64_t step = 0;                ///< Of the copy of rows and state
  std::vector<std::uint64_t> kept = {};  ///< Steps of the copies for roll-backs, ascending
};
/// Asks for the next thing that came. Answered at once, also with nothing.
struct PullLearned {
  std::uint64_t follower = 0;
  std::uint64_t from = 0;  ///< How many the asker has
  bool last = false;       ///< When it has them all, no more are noted for it
};
struct LearnedEvent {
  enum Kind : std::uint16_t { nothing = 0, share = 1, keep = 2, begin = 3 };
  std::uint16_t kind = nothing;
  // Of SparseGradients, KeepLearned or BeginLearned.
  std::uint32_t generation = 0;
  std::uint64_t step = 0;
  Rank rank{};
  std::uint64_t weight = 0;
  bool best = false;
  std::uint64_t oldest = 0;
  std::vector<LearnedSection> sections = {};
  PooledVector<NodeId> nodes = {};
  Segment rows = {};
};

struct DigestLearned {
  std::uint32_t generation = 0;
  std::uint64_t step = 0;
};
struct TableDigest {
  NodeTypeId node_type{};
  Digest rows;
  Digest best;  ///< Of the best epoch's rows; where none were kept, the same as `rows`
  friend bool operator==(const TableDigest&, const TableDigest&) = default;
};
/// Of the rows that the part owns. Those of all parts are added (add_digests).
struct LearnedDigests {
  std::vector<TableDigest> tables;  ///< of all tables, in order
};

/// Counts rows of a table that score above the answers to queries, and level with them, at a step as
/// ReadLearned reads them. What a score is its holder's CountEntities knows.
struct RankEntities {
  std::uint32_t generation = 0;
  std::uint64_t step = 0;
  bool best = false;
  NodeTypeId node_type{};
  std::uint32_t cols = 0;   ///< of the table or tensor
  std::uint16_t score = 0;  ///< number of a kind, or score_of_perceptron
  std::uint16_t norm = 2;
  bool unit = false;         ///< rows are divided by their length
  std::uint32_t tensor = 0;  ///< whose rows are compared; 0: those of the table
  std::uint32_t hidden = 0;  ///< columns of a perceptron's queries; 0: it is none
  /// float32 [keys, cols]; of a perceptron its weights [hidden, cols] and [hidden], then [keys, hidden].
  Segment queries;
  PooledVector<float> keys;              ///< of the answers
  PooledVector<std::uint64_t> offsets;   ///< [keys + 1] into `left_out`
  PooledVector<std::uint64_t> left_out;  ///< of each query places among the part's nodes, ascending

  std::size_t query_cols() const { return hidden == 0 ? cols : hidden; }
  /// Numbers of a perceptron's weights, before the queries.
  std::size_t num_weights() const { return hidden * (cols + std::size_t{1}); }
};
/// RankEntities::score of a perceptron of pairs, after those of triples.
inline constexpr std::uint16_t score_of_perceptron = 4;
/// [queries]: what EntityRanker counts of the part's rows.
struct EntityCounts {
  PooledVector<std::uint64_t> above;
  PooledVector<std::uint64_t> level;
};

/// \errors data_corruption: numbers of queries, keys and places that do not fit each other
Status check_queries(std::string_view message, const RankEntities& request);

/// Sizes of sections against those of the lists.
/// \param values  float32 numbers of the rows; none: they are not there
/// \errors data_corruption: what was expected, what was found
Status check_learned(std::string_view message, const std::vector<LearnedSection>& sections,
                     std::size_t nodes, std::optional<std::size_t> values);
/// Numbers of all rows. \requires check_learned()
std::uint64_t learned_values(const std::vector<LearnedSection>& sections);
/// Sum modulo 2^128.
Digest add_digests(const Digest& a, const Digest& b);

}  // namespace troupe
