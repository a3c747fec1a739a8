#pragma once
/// \file best_hits.hpp
/// What the best choice of rows to keep would have found: the limit for the hit rate of a cache.
#include "runtime/base/ids.hpp"
#include "runtime/base/pooled_vector.hpp"
#include "runtime/sample/id_index.hpp"

#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <vector>

namespace troupe {

/// Reads of one epoch, counted by row. The rows read most often are the best to keep, and the reads
/// of the K rows read most often are the sum over c >= 1 of min(K, rows read at least c times). So a
/// read adds one to it or nothing, known at once, and the sum does not depend on the order of reads.
/// Threads: one at a time
/// \cost some 40 bytes for each row that is read
class BestHits {
 public:
  /// \param room  [types] rows of each type that may be kept
  explicit BestHits(const std::vector<std::uint64_t>& room);
  /// \returns by how much the reads of the best rows grew
  std::uint64_t count(NodeTypeId type, std::span<const NodeId> read);

 private:
  struct OfType {
    std::uint64_t room = 0;
    IdIndex index;
    std::vector<std::uint32_t> times;     ///< [rows seen]
    std::vector<std::uint64_t> at_least;  ///< [c]: rows read more than c times
  };
  std::vector<OfType> types_;
};

/// The same for epoch after epoch. The last batches of one may come among the first of the next.
/// Threads: any number at once
class BestHitsOfEpochs {
 public:
  explicit BestHitsOfEpochs(std::vector<std::uint64_t> room) : room_(std::move(room)) {}
  /// Counts what a batch read.
  /// \param read  [types]; a row of one type once
  /// \returns as BestHits::count, of the batches of this epoch since one further away was counted
  std::uint64_t count(std::uint32_t epoch, std::span<const PooledVector<NodeId>> read);

 private:
  const std::vector<std::uint64_t> room_;
  std::mutex mutex_;
  std::map<std::uint32_t, BestHits> epochs_;  ///< The one under way and the one after it, begun
};

}  // namespace troupe
