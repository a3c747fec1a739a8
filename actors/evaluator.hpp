#pragma once
/// \file evaluator.hpp
/// The evaluator: exact layer-wise inference over all nodes of its host's parts, with all
/// neighbors.
#include "actors/data_path.hpp"
#include "actors/host_context.hpp"
#include "runtime/base/trace.hpp"
#include "runtime/run/exact_inference.hpp"
#include "runtime/run/exact_links.hpp"

#include <caf/actor.hpp>

#include <functional>
#include <memory>

namespace troupe {

struct EvaluatorOptions {
  ExactInferenceOptions inference;
  ExactLinkOptions links = {};  ///< with orders where seeds are links
  /// Called after each block, on the evaluator's thread; `process` is left to the caller.
  std::function<void(const InferenceReport&)> on_block = {};
  TraceTrack trace = {};
};

/// The graph and a host's parts as exact inference takes them.
/// \param traced  blocks have numbers in the trace
InferenceHost inference_host(const std::shared_ptr<const HostContext>& host, bool traced);

/// Starts the evaluator of one host. It has a data path of its own.
/// \param inferrer  computes blocks (learner.hpp); ends with the evaluator
/// \param trainer  gives a trainer of this host as it is known now; its parameters are used
/// | receives               | replies               | errors                                           |
/// |------------------------|-----------------------|--------------------------------------------------|
/// | Ref<net::InferRequest> | Ref<net::InferResult> | those of data path, holders, trainer             |
/// | Ref<net::ScoreRequest> | Ref<net::ScoreResult> | failed_precondition: the last layer is not there |
/// | Ref<net::Ping>         | Ref<net::Pong>        |                                                  |
/// Requests may be repeated. A request for another layer ends the one under way.
/// Back-pressure: two blocks in flight, of each device where devices compute; one layer at a time (the
///   director waits for all before the next)
/// Peer loss: the data path is restarted and the blocks that have not arrived are requested again
caf::actor spawn_evaluator(caf::actor_system& system, std::shared_ptr<const HostContext> host,
                           EvaluatorOptions options, SpawnDataPath data_path, caf::actor inferrer,
                           std::function<caf::actor()> trainer);

}  // namespace troupe
