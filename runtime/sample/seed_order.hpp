#pragma once
/// \file seed_order.hpp
/// Which seeds a batch has. Every rank computes this alone (design, section 3.1).
#include "runtime/base/ids.hpp"
#include "runtime/graph/store.hpp"
#include "runtime/sample/mini_batch.hpp"
#include "runtime/sample/seed_split.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace troupe {

/// Batch b belongs to rank b mod W. `seed_order: "global"`: it is batch b of the permuted list.
/// "local": it is batch b / W of the rank's own permuted share, so it depends on the partition.
/// Threads: immutable; any number at once.
class SeedOrder {
 public:
  /// \param shuffle  false: the list's own order (evaluation)
  SeedOrder(std::shared_ptr<const SeedList> seeds, std::uint64_t batch_size, std::uint64_t job_seed,
            bool shuffle);
  /// "local": shuffled inside the shares.
  /// \requires shares of all positions; none has fewer seeds than the next one
  SeedOrder(std::shared_ptr<const SeedList> seeds, std::uint64_t batch_size, std::uint64_t job_seed,
            SeedShares shares);

  std::uint64_t num_seeds() const;
  /// Batches of one epoch over all ranks; the last may be short. 0 without seeds.
  std::uint64_t num_batches() const;
  /// Steps that every rank makes: the largest number of batches of any rank.
  std::uint64_t num_steps(std::uint32_t world) const;
  const SeedList& seeds() const { return *seeds_; }

  /// Positions in the seed list of batch `number` of `epoch`, in batch order.
  /// \requires number < num_batches()
  std::vector<std::uint64_t> positions(std::uint32_t epoch, std::uint64_t number) const;
  /// The same as global ids.
  std::vector<NodeId> batch(std::uint32_t epoch, std::uint64_t number) const;

 private:
  std::uint64_t batches_of(std::uint64_t seeds) const {
    return seeds / batch_size_ + (seeds % batch_size_ != 0 ? 1 : 0);
  }

  std::shared_ptr<const SeedList> seeds_;
  SeedShares shares_;  ///< empty: global
  std::uint64_t batch_size_;
  std::uint64_t job_seed_;
  bool shuffle_;
};

}  // namespace troupe
