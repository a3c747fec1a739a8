#pragma once
/// \file application.hpp
/// How a host that is started by hand gets its place in a run.
#include "launcher/processes/process_arguments.hpp"
#include "runtime/base/result.hpp"

#include <cstdint>

namespace troupe {

/// Asks the director for the next incarnation of a host's agent, and checks that this host has the
/// director's store. A host that is there is kept: a line says so, and the request is repeated until it
/// is lost or the join deadline is over.
/// \param agent  all but the incarnation
/// \errors those of Neighbourhood::connect, Roster::apply and check_store()
///   peer_lost: the run ended meanwhile
Result<std::uint32_t> apply_for_place(const ProcessArguments& agent);

}  // namespace troupe
