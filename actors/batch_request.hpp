#pragma once
/// \file batch_request.hpp
/// What a request of a batch means in a process, wherever it came from.
#include "actors/host_context.hpp"
#include "runtime/feature/ready_batch.hpp"

#include <memory>

namespace troupe {

/// Its own options, or those of the job where it came without.
struct RequestOptions {
  std::shared_ptr<const SampleOptions> sample;
  std::shared_ptr<const CollectOptions> collect;
};

/// \errors invalid_argument: it has none, and does not mean the job's
Result<RequestOptions> options_of(const HostContext& host, const SampleBatch& request);

/// Whether nodes, links and times are those of the graph, and such as the options want them.
/// \errors invalid_argument
Status check_seeds(const HostContext& host, const SampleBatch& request,
                   const SampleOptions& sample);

}  // namespace troupe
