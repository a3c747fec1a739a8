#pragma once
/// \file holder.hpp
/// The partition holder: serves one part's topology, rows and tensors to whoever asks.
#include "actors/replica_client.hpp"
#include "runtime/base/executor.hpp"
#include "runtime/base/trace.hpp"
#include "runtime/feature/embedding/options.hpp"
#include "runtime/graph/part.hpp"

#include <caf/fwd.hpp>

#include <cstddef>
#include <memory>

namespace troupe {

/// Requests that a holder has under way at most. Those who ask bound theirs by batches in flight,
/// and links by their windows; this bounds what a part can be asked for in total.
inline constexpr std::size_t holder_max_under_way = 65536;

/// What the holder of a job with learned rows needs.
struct HolderRows {
  std::shared_ptr<const EmbeddingPlan> plan = nullptr;  ///< null: the job has none
  /// Other replicas of the part, from which one that was lost gets them. null: none
  std::shared_ptr<const Replicas> others = nullptr;
  bool replaces_lost = false;  ///< The holder takes the place of one that was lost
};

/// Starts the holder of `part`.
/// | receives             | replies          | errors                                       |
/// |----------------------|------------------|----------------------------------------------|
/// | Ref<HopRequest>      | Ref<HopReply>    | invalid_argument, overloaded                 |
/// | Ref<FindNodes>       | Ref<NodesFound>  | invalid_argument, overloaded; failed_precondition: no directory |
/// | Ref<HasEdges>        | Ref<EdgesThere>  | invalid_argument, overloaded                 |
/// | Ref<CountEdges>      | Ref<EdgesCounted> | invalid_argument, overloaded; failed_precondition: no whole lists |
/// | Ref<FindEdges>       | Ref<EdgesFound>  | invalid_argument, overloaded; failed_precondition: no edge ids |
/// | Ref<RowRequest>      | Ref<RowReply>    | invalid_argument, not_found, overloaded      |
/// | Ref<StoreTensor>     | Ref<net::Done>   | invalid_argument; only from its own host     |
/// | Ref<MakeTensor>, Ref<WriteTensor> | Ref<net::Done> | those of HeldTensors              |
/// | Ref<ReadTensor>      | Ref<TensorRows>  | those of HeldTensors                         |
/// | Ref<KeepTensors>, Ref<DropTensors>, Ref<LoadTensors> | Ref<net::Done> | those of HeldTensors |
/// | Ref<ReadTensorCopy>  | Ref<CopiedTensors> | those of HeldTensors                       |
/// | Ref<SparseGradients>, Ref<KeepLearned>, Ref<BeginLearned> | Ref<net::Done> | those of LearnedReplica |
/// | Ref<ReadLearned>     | Ref<LearnedRows> | those of LearnedReplica                      |
/// | Ref<RankEntities>    | Ref<EntityCounts> | the same                                    |
/// | Ref<DigestLearned>   | Ref<LearnedDigests> | those of LearnedReplica                   |
/// | Ref<ReadCopy>        | Ref<CopyPiece>   | those of LearnedReplica                      |
/// | Ref<LoadCopy>        | Ref<net::Done>   | those of LearnedReplica                      |
/// | Ref<FollowLearned>   | Ref<LearnedState> | those of LearnedReplica                     |
/// | Ref<PullLearned>     | Ref<LearnedEvent> | those of LearnedReplica                     |
/// Sends:     FollowLearned, ReadCopy and PullLearned to another replica, if it takes the place of a lost one
/// Back-pressure: at most `holder_max_under_way` requests under way; the next gets `overloaded`
/// Ordering:  replies may overtake each other; rows of tensors by name are read and written one
///   request after the other; those of learned rows wait for the steps before theirs
/// Peer loss: serves whoever asks; monitors another replica while it asks that one
caf::actor spawn_holder(caf::actor_system& system, std::shared_ptr<const Part> part,
                        std::shared_ptr<Executor> executor, TraceTrack trace = {},
                        HolderRows rows = {});

}  // namespace troupe
