#pragma once
/// \file member.hpp
/// The member: one per process with actors of the run. Listens to the registrar.
#include "runtime/wire/membership.hpp"

#include <caf/actor.hpp>
#include <caf/fwd.hpp>

#include <functional>

namespace troupe {

/// Called on the member's thread.
struct MemberOptions {
  std::function<void(const net::Members&)> meet;  ///< makes links to those that are there
  std::function<void()> stop_ranks;  ///< may be empty: no ranks with a program of the user's
  std::function<net::LinkTotals()> totals;
  /// Stores the reason of the end. Called before the answer, after which the director may close the
  /// link at once.
  std::function<void(const net::EndProcess&)> decide_end;
  std::function<void()> begin_end;  ///< Starts the end. Called after the answer
};

/// | receives             | replies              |
/// |----------------------|----------------------|
/// | Ref<net::Members>    | Ref<net::Done>       |
/// | Ref<net::StopRanks>  | Ref<net::Done>       |
/// | Ref<net::EndProcess> | Ref<net::LinkTotals> |
/// Ordering: a table with a lower number than the last is ignored
caf::actor spawn_member(caf::actor_system& system, MemberOptions options);

}  // namespace troupe
