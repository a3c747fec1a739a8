#pragma once
/// \file host_context.hpp
/// What all actors of one process share: the graph, the parts that it has, how to reach the holders
/// of every part, the executor.
#include "actors/replica_client.hpp"
#include "runtime/base/executor.hpp"
#include "runtime/feature/row_collection.hpp"
#include "runtime/graph/part.hpp"
#include "runtime/partition/partition_book.hpp"
#include "runtime/sample/batch_builder.hpp"
#include "runtime/sample/list_cache.hpp"
#include "runtime/sample/sampling_work.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace troupe {

/// Most batches that a sampler or collector works on: twice what a rank may have in flight.
inline constexpr std::size_t max_batches_in_progress = 2048;

/// Threads: immutable once actors run; the executor may be used from any thread.
struct HostContext {
  HostId host{};
  std::string process;  ///< its name, for messages
  std::shared_ptr<const GraphInfo> graph;
  std::shared_ptr<const PartitionBook> book;
  std::map<PartId, std::shared_ptr<const Part>> parts;  ///< that are read in place
  /// Those of `parts` that keep lists or rows of nodes around them: asked instead of their owners.
  std::vector<std::shared_ptr<const Part>> halos;
  /// With replicated topology the neighbour lists of all other parts.
  std::map<PartId, std::shared_ptr<const Part>> lists;
  std::vector<std::shared_ptr<const Replicas>> holders;  ///< [parts]
  std::set<PartId> replicas;                             ///< of `parts`, those scored elsewhere
  std::set<PartId> mapped;                               ///< of `parts`, those only held elsewhere
  /// Of the job: what a request that came over a link without options of its own means.
  std::shared_ptr<const SampleOptions> sample;
  std::shared_ptr<const CollectOptions> collect;
  std::shared_ptr<const SampleOptions> eval_sample;  ///< of batches to evaluate; null: `sample`
  std::shared_ptr<const CacheOptions> cache;         ///< of each collector; null: none
  /// Bytes of lists that each sampler keeps of batches sampled on hints; 0: not bounded.
  std::uint64_t ahead_bytes = 0;
  std::shared_ptr<const ListCacheOptions> lists_cache;  ///< of each rank's samplers; null: none
  std::shared_ptr<Executor> executor;
  std::chrono::milliseconds request_deadline{60'000};
  HopObserver on_hop;

  /// Number of coming batches that a rank hints at.
  std::uint32_t lookahead() const { return cache ? cache->batches_ahead() : 0; }
  /// Whether this host gives the scores of a part that lies here.
  bool scores(PartId part) const { return !replicas.contains(part); }
  /// The part if it lies here, else nullptr.
  std::shared_ptr<const Part> local_part(PartId part) const {
    const auto found = parts.find(part);
    return found == parts.end() ? nullptr : found->second;
  }
  /// A part whose neighbour lists lie here, else nullptr.
  std::shared_ptr<const Part> local_lists(PartId part) const {
    const auto found = lists.find(part);
    return found == lists.end() ? local_part(part) : found->second;
  }
  /// [parts] whether this host has a part.
  std::vector<bool> parts_here() const {
    std::vector<bool> here(book->parts());
    for (const auto& part : parts) {
      here[raw(part.first)] = true;
    }
    return here;
  }
};

}  // namespace troupe
