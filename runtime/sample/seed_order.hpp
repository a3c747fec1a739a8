#pragma once
/// \file seed_order.hpp
/// Which seeds a batch has. Every rank computes this alone (design, section 3.1).
#include "runtime/base/ids.hpp"
#include "runtime/base/pooled_vector.hpp"
#include "runtime/graph/store.hpp"
#include "runtime/sample/links/link_options.hpp"
#include "runtime/sample/mini_batch.hpp"
#include "runtime/sample/seed_split.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace troupe {

/// The seeds of one batch: nodes, or links.
struct OrderedSeeds {
  NodeTypeId type{};  ///< Of the nodes
  PooledVector<NodeId> nodes;
  PooledVector<std::int64_t> times;  ///< [nodes], or empty where the split has none
  std::optional<PositiveLinks> links;
  friend bool operator==(const OrderedSeeds&, const OrderedSeeds&) = default;
};

/// Batch b belongs to rank b mod W. `seed_order: "global"`: it is batch b of the permuted list.
/// "local": it is batch b / W of the rank's own permuted share, so it depends on the partition.
/// A list of links of several edge types makes batches of one type each: those that the type's links
/// alone would make, in a permuted order of all batches of the epoch; "local" those of the rank's own
/// share, in an order of its own.
/// Threads: immutable; any number at once.
class SeedOrder {
 public:
  /// \param shuffle  false: the list's own order (evaluation)
  /// \param shares  "local": of all positions, none with fewer batches than the next one, nor with two
  ///   more than the last one; the order is inside the shares. Or none: "global"
  SeedOrder(std::shared_ptr<const SeedList> seeds, std::uint64_t batch_size, std::uint64_t job_seed,
            bool shuffle, SeedShares shares = {}, ShortBatch last = ShortBatch::kept);
  /// Of links. \param shares  of links of several edge types in ascending order
  SeedOrder(std::shared_ptr<const LinkList> links, std::uint64_t batch_size, std::uint64_t job_seed,
            bool shuffle, SeedShares shares = {}, ShortBatch last = ShortBatch::kept);

  /// Batches come without the times of the list: they have one for all seeds, or none.
  void leave_out_times() { with_times_ = false; }

  std::uint64_t num_seeds() const;
  /// Batches of one epoch over all ranks; the last may be short where it is kept. 0 without seeds.
  std::uint64_t num_batches() const;
  /// All links of the first edge type whose links fill no batch. Nothing where each type has one, or seeds are of one type.
  std::optional<LinkGroup> links_without_batches() const;
  /// Steps that every rank makes: the largest number of batches of any rank.
  std::uint64_t num_steps(std::uint32_t world) const;
  /// Nothing if seeds are links.
  const SeedList& seeds() const { return *seeds_; }
  /// Null if seeds are nodes.
  const LinkList* links() const { return links_.get(); }

  /// Positions in the seed list of batch `number` of `epoch`, in batch order.
  /// \requires number < num_batches()
  PooledVector<std::uint64_t> positions(std::uint32_t epoch, std::uint64_t number) const;
  /// The same as global ids. \requires seeds are nodes
  PooledVector<NodeId> batch(std::uint32_t epoch, std::uint64_t number) const;
  /// The same with all that the list says of them.
  OrderedSeeds seeds_of(std::uint32_t epoch, std::uint64_t number) const;
  /// Of a batch without any.
  OrderedSeeds no_seeds() const;

 private:
  /// Where a batch lies: in the list, or in the share of its rank.
  struct Place {
    std::uint64_t first = 0;  ///< position of the seeds that it is among
    std::uint64_t count = 0;  ///< of these
    std::uint64_t batch = 0;  ///< number among their batches
    std::uint16_t type = 0;   ///< of the stream that permutes them
  };
  Place place_of(std::uint32_t epoch, std::uint64_t number) const;
  /// Batches of the list, or of the share of a rank.
  std::uint64_t batches_in(std::size_t share) const;
  bool local() const { return !shares_.empty(); }

  std::shared_ptr<const SeedList> seeds_;
  std::shared_ptr<const LinkList> links_;  ///< Null: seeds are nodes
  SeedShares shares_;                      ///< empty: global
  /// By share, of the whole list where there are none: where it has links of each edge type. Empty: seeds
  /// are of one type.
  std::vector<std::vector<LinkGroup>> groups_;
  BatchSizes sizes_;
  std::uint64_t job_seed_;
  bool shuffle_;
  bool with_times_ = true;
};

}  // namespace troupe
