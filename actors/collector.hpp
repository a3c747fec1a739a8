#pragma once
/// \file collector.hpp
/// The feature collector: brings together the rows of sampled batches, or those of them that a device lacks.
#include "actors/host_context.hpp"
#include "runtime/base/trace.hpp"

#include <caf/fwd.hpp>

#include <memory>

namespace troupe {

/// Starts a collector.
/// | receives          | replies          | errors                                  |
/// |-------------------|------------------|-----------------------------------------|
/// | Ref<CollectBatch> | Ref<ReadyBatch>, with slots Ref<StagedBatch> | those of holders; overloaded; internal |
/// | Ref<ReadsAhead>   | none             |                                         |
/// Back-pressure: at most 2048 batches in progress; the next gets `overloaded`. One request per
///   holder and batch
/// Cache:     as HostContext::cache says. Chosen at the first batch, or after the batches that are
///   watched; filled a piece at a time beside the batches, which use it once it is whole. A damaged
///   answer that was to fill it fails all batches from then on. With policy `future` it takes rows of
///   answers, as ReadsAhead and requests say what is read next
/// Ordering:  batches may overtake each other
/// Peer loss: another replica of the part is asked, or the holder is waited for; a batch fails with
///   deadline_exceeded when none answers within the recovery deadline (replica_client.hpp)
caf::actor spawn_collector(caf::actor_system& system, std::shared_ptr<const HostContext> host,
                           TraceTrack trace = {});

}  // namespace troupe
