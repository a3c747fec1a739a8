#pragma once
/// \file router.hpp
/// The way to one part: whoever asks for its neighbours or rows asks the router of its host, which
/// knows the replicas and waits for lost ones to come back.
#include "runtime/base/ids.hpp"

#include <caf/actor.hpp>
#include <caf/fwd.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

namespace troupe {

struct RouterOptions {
  PartId part{};
  /// Give the holder of a replica as it is known now (it may be dead), nearest first.
  std::vector<std::function<caf::actor()>> replicas;
  std::chrono::milliseconds request_deadline{60'000};  ///< of one attempt
  std::chrono::milliseconds recovery_deadline{
      60'000};  ///< until a part without a holder is given up
  std::chrono::milliseconds first_pause{
      10};  ///< between rounds over all replicas; doubles up to 1 s
};

/// Starts the router of one part on one host.
/// | receives          | replies         | errors                                                 |
/// |-------------------|-----------------|--------------------------------------------------------|
/// | Ref<HopRequest>   | Ref<HopReply>   | those of the holder; deadline_exceeded: no replica     |
/// | Ref<RowRequest>   | Ref<RowReply>   |   answered within the recovery deadline                |
/// | Ref<StoreTensor>  | Ref<net::Done>  | only on a host of the part; with replicas not waited for |
/// | Ref<WriteRows>    | Ref<net::Done>  | as above; answered when every replica has applied it   |
/// Back-pressure: keeps what others have asked; they bound that
/// Ordering:  replies may overtake each other
/// Peer loss: a request whose holder is lost goes to the next replica, then round again with growing
///   pauses: requests are idempotent
caf::actor spawn_router(caf::actor_system& system, RouterOptions options);

}  // namespace troupe
