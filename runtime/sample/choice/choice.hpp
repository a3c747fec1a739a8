#pragma once
/// \file choice.hpp
/// Choices of neighbors: which entries of a stretch of a neighbor list a hop takes. A choice knows
/// neither parts nor messages: runtime/sample/one_hop.cpp finds the stretches and copies the
/// entries. A new choice is a class in this folder and a row of choices.cpp.
#include "runtime/base/alias_table.hpp"
#include "runtime/base/id_list.hpp"
#include "runtime/base/philox.hpp"

#include <cstdint>
#include <span>

namespace troupe {

/// Fanout that takes every entry of a list; no choice is made then.
inline constexpr std::int32_t all_neighbours = -1;

/// Options of all choices; each ignores those that its row does not name. With the options come the
/// arrays of all lists, for kinds that read more of an entry than its place.
struct ChoiceOptions {
  std::uint32_t fanout = 0;
  bool replace = false;
  IdSpan neighbours = {};           ///< Global ids
  IdSpan neighbour_originals = {};  ///< Original ids, where the kind needs them
};

/// The entries of one node's list among which a choice is made.
struct Stretch {
  std::uint64_t original_id = 0;       ///< Of the node; set where `whole` is false
  const AliasSlot* aliases = nullptr;  ///< [entries], where the kind needs weights
  /// [entries] in the place of `aliases`, where the stretch is not a whole list: running sums of weights,
  /// which begin after `sum_before`.
  const std::uint64_t* weight_sums = nullptr;
  std::uint64_t sum_before = 0;
  /// Positions that are not to be taken, ascending; for kinds that read entries. The others do not see
  /// such entries.
  std::span<const std::uint32_t> excluded = {};
  std::uint64_t first_entry = 0;  ///< Where it begins in the arrays of all lists
  std::uint32_t tree = 0;         ///< That it is drawn for, in disjoint batches
  std::uint32_t entries = 0;
  std::uint32_t taken = 0;  ///< Entries that are taken, at most while planned
  bool zero_weights =
      false;           ///< Entries of weight 0 may be among them; for kinds that need weights
  bool whole = false;  ///< All entries are taken as they lie; choose() does not see it
};

/// Integers alone decide, so that a device gives the same bits.
/// Lifecycle: one per request and fanout
/// Threads:   one at a time
class Choice {
 public:
  Choice() = default;
  Choice(const Choice&) = delete;
  Choice& operator=(const Choice&) = delete;
  virtual ~Choice() = default;

  /// Lists of at most so many entries are taken whole; plan() need not see groups that have no others.
  virtual std::uint32_t whole_up_to() const { return 0; }
  /// Sets `taken`, to the most that choose() may take, and `whole` from `entries`.
  virtual void plan(StreamKey key, std::span<Stretch> group) = 0;
  /// Writes the positions taken of each stretch, stretch after stretch: ascending, below its
  /// `entries`, repeats allowed. May lower `taken`.
  /// \param positions  [sum of `taken` as planned]; those of a stretch begin where the ones before it,
  ///   as taken, end
  /// \requires no stretch is whole or empty; the stretches come in the order of plan(), whose last ones
  ///   may be left out
  virtual void choose(StreamKey key, std::span<Stretch> group,
                      std::span<std::uint32_t> positions) = 0;
};

}  // namespace troupe
