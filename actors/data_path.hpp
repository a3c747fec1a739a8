#pragma once
/// \file data_path.hpp
/// The actors that make batches for one trainer, evaluator or session: see batch_client.hpp.
#include "actors/replica_client.hpp"

#include <caf/actor.hpp>

#include <functional>
#include <memory>
#include <vector>

namespace troupe {

/// Either samplers and their collector here, or servers in other processes (or both: see `own`).
struct DataPath {
  std::vector<caf::actor> samplers = {};
  caf::actor collector = {};  ///< Null: no samplers here
  /// Per slot the batch servers of a rank, in the order in which a batch of that slot tries them.
  std::vector<std::shared_ptr<const Replicas>> servers = {};
  /// Samples here, with options that do not travel, beside `servers`; null: any of `samplers` can.
  caf::actor own = {};
  /// Actors that those above send requests to: all of a path end together, and the path restarts where one
  /// is lost.
  std::vector<caf::actor> behind = {};
};
using SpawnDataPath = std::function<DataPath()>;

}  // namespace troupe
