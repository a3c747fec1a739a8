#pragma once
/// \file sampler.hpp
/// The sampler: grows many mini-batches at once, hop by hop.
#include "actors/host_context.hpp"
#include "actors/list_keeper.hpp"
#include "runtime/base/trace.hpp"

#include <caf/fwd.hpp>

#include <memory>

namespace troupe {

/// Starts a sampler that hands finished batches to `collector`.
/// \param lists  what it keeps of other hosts' neighbour lists, with the other samplers of its rank;
///   null: nothing
/// | receives          | replies                          | errors                                      |
/// |-------------------|----------------------------------|---------------------------------------------|
/// | Ref<SampleBatch>  | Ref<ReadyBatch>, by the collector | those of holders; overloaded; internal      |
/// | Ref<SampleAhead>  | none                             |                                             |
/// Back-pressure: at most 2048 batches in progress; the next gets `overloaded`. At most one request
///   per holder and hop, along all edge types, and one more for each reply that was cut
/// Hints:     with a cache of rows that looks ahead, it samples batches that it gets hints at, tells the
///   collector of them (ReadsAhead), and keeps them until their requests come. Nothing depends on a hint
/// Ordering:  batches may overtake each other; the asker sorts
/// Peer loss: another replica of the part is asked, or the holder is waited for; a batch fails with
///   deadline_exceeded when none answers within the recovery deadline (replica_client.hpp)
/// The parts of its own host are sampled in place, on the compute pool, while requests to other
/// holders are in flight.
caf::actor spawn_sampler(caf::actor_system& system, std::shared_ptr<const HostContext> host,
                         caf::actor collector, TraceTrack trace = {},
                         std::shared_ptr<CachedLists> lists = nullptr);

}  // namespace troupe
