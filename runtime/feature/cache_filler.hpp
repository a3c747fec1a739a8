#pragma once
/// \file cache_filler.hpp
/// Filling of a rank's cache of rows: chooses the rows, at the first batch or once enough batches were
/// watched, then names one request after the other. Batches do without the cache until it is whole.
#include "runtime/base/result.hpp"
#include "runtime/feature/best_hits.hpp"
#include "runtime/feature/row_cache.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace troupe {

/// Lifecycle: watch() with each batch until it returns a choice; chosen(); take() replies until
///   next() is null
/// Threads:   one at a time
class CacheFiller {
 public:
  using Choose = std::function<std::vector<RowQuestion>()>;

  /// \param here  [parts] whether this host has a part
  CacheFiller(std::shared_ptr<const GraphInfo> graph, std::shared_ptr<const PartitionBook> book,
              std::shared_ptr<const CacheOptions> options, std::vector<bool> here);

  /// Counts the rows that a batch requests elsewhere.
  /// \returns when it is time to choose, once: the choice, to be made on any thread; else null
  Choose watch(std::span<const RowQuestion> elsewhere);
  void chosen(std::vector<RowQuestion> questions);
  /// The request to be sent, or null. Valid until take().
  const RowQuestion* next() const;
  /// Keeps the reply to next().
  /// \errors data_corruption: the cache cannot be filled, and every batch from now on is to fail so
  Status take(const RowReply& reply);
  /// A reply was damaged on its way.
  void give_up(const Error& why);

  /// Null until it is whole.
  const std::shared_ptr<const RowCache>& cache() const { return whole_; }
  /// Null unless the options say so, and until the cache is whole.
  const std::shared_ptr<BestHitsOfEpochs>& measure() const { return measure_; }
  const std::optional<Error>& damage() const { return damage_; }

 private:
  void finish();

  std::shared_ptr<const GraphInfo> graph_;
  std::shared_ptr<const PartitionBook> book_;
  std::shared_ptr<const CacheOptions> options_;
  std::vector<bool> here_;
  bool begun_ = false;
  std::shared_ptr<RowCounter> counter_;  ///< While the first batches are watched
  std::uint64_t watched_ = 0;
  std::vector<RowQuestion> questions_;
  std::size_t next_ = 0;
  std::shared_ptr<RowCache> filling_;
  std::shared_ptr<const RowCache> whole_;
  std::shared_ptr<BestHitsOfEpochs> measure_;
  std::optional<Error> damage_;
};

}  // namespace troupe
