#pragma once
/// \file batch_server.hpp
/// The batch server: one per rank and process that samples for it from elsewhere. Stands before the
/// samplers and the collector that work for the rank there.
#include "actors/data_path.hpp"

#include <caf/actor.hpp>
#include <caf/fwd.hpp>

namespace troupe {

/// Starts it, and with it the data path.
/// | receives         | replies         | errors                                                  |
/// |------------------|-----------------|---------------------------------------------------------|
/// | Ref<SampleBatch> | Ref<ReadyBatch> | those of the data path; overloaded: 2048 are under way  |
/// Ordering:  replies may overtake each other
/// Peer loss: samplers and collector are started anew and asked again; after too many losses in a row
///   it ends
caf::actor spawn_batch_server(caf::actor_system& system, SpawnDataPath data_path);

}  // namespace troupe
