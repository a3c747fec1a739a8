#pragma once
/// \file router.hpp
/// The way to one part, or to batches that other processes sample: whoever asks for them asks the
/// router of its process, which knows the replicas and waits for lost ones to come back.
#include <caf/actor.hpp>
#include <caf/fwd.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace troupe {

struct RouterOptions {
  std::string what;             ///< that is reached, for messages: "part 3"
  std::string who = "holders";  ///< of the replicas, for messages
  /// Give the actor of a replica as it is known now (it may be dead, or null), nearest first.
  std::vector<std::function<caf::actor()>> replicas;
  std::chrono::milliseconds request_deadline{60'000};  ///< of one attempt; not for batches
  std::chrono::milliseconds recovery_deadline{
      60'000};  ///< until what no replica answers for is given up
  std::chrono::milliseconds first_pause{
      10};  ///< between rounds over all replicas; doubles up to 1 s
};

/// Starts a router. As a rank's sampler it takes SampleBatch, else the others.
/// | receives          | replies         | errors                                                 |
/// |-------------------|-----------------|--------------------------------------------------------|
/// | Ref<HopRequest>   | Ref<HopReply>   | those of the holder; deadline_exceeded: no replica     |
/// | Ref<RowRequest>   | Ref<RowReply>   |   answered within the recovery deadline                |
/// | Ref<StoreTensor>  | Ref<net::Done>  | only on a host of the part; with replicas not waited for |
/// | Ref<WriteRows>    | Ref<net::Done>  | as above; answered when every replica has applied it   |
/// | Ref<SampleBatch>  | Ref<ReadyBatch> | those of the data path; deadline_exceeded as above     |
/// Back-pressure: keeps what others have asked; they bound that
/// Ordering:  replies may overtake each other
/// Peer loss: a request whose holder is lost goes to the next replica, then round again with growing
///   pauses: requests are idempotent
caf::actor spawn_router(caf::actor_system& system, RouterOptions options);

}  // namespace troupe
