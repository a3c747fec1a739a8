#pragma once
/// \file evaluator.hpp
/// The evaluator: exact layer-wise inference over all nodes of its host's parts, with all
/// neighbours.
#include "actors/host_context.hpp"
#include "runtime/feature/row_collection.hpp"
#include "runtime/graph/store.hpp"
#include "runtime/nn/model.hpp"
#include "runtime/sample/batch_builder.hpp"

#include <caf/actor.hpp>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace troupe {

struct EvaluatorOptions {
  std::shared_ptr<const nn::Model> model;
  EdgeDir dir = EdgeDir::in;
  std::vector<RowDecoder> decoders;  ///< of the features, for the first layer
  std::map<std::string, std::shared_ptr<const SeedList>> seeds;  ///< by role
  std::uint64_t block_bytes = std::uint64_t{64}
                              << 20;  ///< of input rows per block; does not change results
};

/// Starts the evaluator of one host.
/// \param sampler  of this host, samples the blocks;
/// \param trainer  of this host, gives the parameters
/// | receives               | replies               | errors                                           |
/// |------------------------|-----------------------|--------------------------------------------------|
/// | Ref<net::InferRequest> | Ref<net::InferResult> | those of sampler, collector, holders             |
/// | Ref<net::ScoreRequest> | Ref<net::ScoreResult> | failed_precondition: the last layer is not there |
/// Back-pressure: two blocks in flight; one request at a time (the director waits for all before
///   the next layer)
/// Peer loss: the layer fails with the error of the lost actor; without its sampler or trainer
///   the evaluator ends
caf::actor spawn_evaluator(caf::actor_system& system, std::shared_ptr<const HostContext> host,
                           EvaluatorOptions options, caf::actor sampler, caf::actor trainer);

}  // namespace troupe
