#pragma once
/// \file evaluator.hpp
/// The evaluator: exact layer-wise inference over all nodes of its host's parts, with all
/// neighbours.
#include "actors/data_path.hpp"
#include "actors/host_context.hpp"
#include "runtime/base/trace.hpp"
#include "runtime/feature/row_collection.hpp"
#include "runtime/graph/store.hpp"
#include "runtime/nn/network.hpp"
#include "runtime/run/inference_progress.hpp"
#include "runtime/sample/batch_builder.hpp"

#include <caf/actor.hpp>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace troupe {

struct EvaluatorOptions {
  std::shared_ptr<const nn::Network> network;
  EdgeDir dir = EdgeDir::in;
  std::vector<RowDecoder> decoders;  ///< of the features, for the first layer
  std::map<std::string, std::shared_ptr<const SeedList>> seeds;  ///< by role
  std::uint64_t block_bytes = nn::infer_block_bytes;
  /// Ends with the input rows of the network's last layer instead of the logits.
  bool embeddings = false;
  /// Called after each block, on the evaluator's thread; `process` is left to the caller.
  std::function<void(const InferenceReport&)> on_block = {};
  TraceTrack trace = {};
};

/// The stages that exact inference with such an evaluator takes.
std::vector<nn::InferStage> stages_of(const nn::Network& network, bool embeddings);

/// Starts the evaluator of one host. It has a data path of its own.
/// \param trainer  gives a trainer of this host as it is known now; its parameters are used
/// | receives               | replies               | errors                                           |
/// |------------------------|-----------------------|--------------------------------------------------|
/// | Ref<net::InferRequest> | Ref<net::InferResult> | those of data path, holders, trainer             |
/// | Ref<net::ScoreRequest> | Ref<net::ScoreResult> | failed_precondition: the last layer is not there |
/// | Ref<net::Ping>         | Ref<net::Pong>        |                                                  |
/// Requests may be repeated. A request for another layer ends the one under way.
/// Back-pressure: two blocks in flight; one layer at a time (the director waits for all before
///   the next)
/// Peer loss: the data path is started anew and asked again
caf::actor spawn_evaluator(caf::actor_system& system, std::shared_ptr<const HostContext> host,
                           EvaluatorOptions options, SpawnDataPath data_path,
                           std::function<caf::actor()> trainer);

}  // namespace troupe
