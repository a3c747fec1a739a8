#pragma once
/// \file list_keeper.hpp
/// Fetches the neighbour lists of other hosts' nodes that the samplers of one rank keep, once, beside
/// their first batches (runtime/sample/list_cache.hpp).
#include "actors/host_context.hpp"

#include <caf/actor.hpp>
#include <caf/fwd.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>

namespace troupe {

/// What the samplers of one rank have in common.
/// Threads: any number at once
class CachedLists {
 public:
  /// True once: whoever is told so starts the keeper.
  bool begin() { return !begun_.exchange(true); }
  /// The lists in the halo of a part without nodes; null until all are there.
  std::shared_ptr<const Part> part() const {
    const std::lock_guard guard(mutex_);
    return part_;
  }
  void set(std::shared_ptr<const Part> part) {
    const std::lock_guard guard(mutex_);
    part_ = std::move(part);
  }

 private:
  std::atomic<bool> begun_{false};
  mutable std::mutex mutex_;
  std::shared_ptr<const Part> part_;
};

/// Ends when `lists` is set, when `sampler` ends, or after many failures in a row: then nothing is
/// kept.
/// \param sampler  fetches the lists
/// \requires the host has `lists_cache` and `sample`
caf::actor spawn_list_keeper(caf::actor_system& system, std::shared_ptr<const HostContext> host,
                             std::shared_ptr<CachedLists> lists, const caf::actor& sampler);

}  // namespace troupe
