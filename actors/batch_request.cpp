#include "actors/batch_request.hpp"

#include <fmt/format.h>
#include <span>

namespace troupe {
namespace {

Status check_ids(const HostContext& host, const SampleBatch& request, NodeTypeId type,
                 std::span<const NodeId> ids) {
  for (const NodeId id : ids) {
    if (!host.book->contains(type, id)) {
      return Error(Errc::invalid_argument,
                   fmt::format("seeds of batch {}: expected ids below {}, found {}",
                               request.key.number, host.book->count(type), raw(id)));
    }
  }
  return ok_status();
}

Status check_links(const HostContext& host, const SampleBatch& request,
                   const SampleOptions& sample) {
  const auto& links = *request.links;
  const auto types = host.graph->edge_types.size();
  if (raw(links.edge_type) >= types) {
    return Error(Errc::invalid_argument,
                 fmt::format("links of batch {}: expected an edge type below {}, found {}",
                             request.key.number, types, raw(links.edge_type)));
  }
  if (!sample.links || (!links.times.empty() && !sample.time)) {
    return Error(Errc::invalid_argument,
                 fmt::format("links of batch {}: expected {}, found links{}", request.key.number,
                             sample.links ? "no times" : "nodes as seeds",
                             links.times.empty() ? "" : " with times"));
  }
  const auto types_of_ends = end_types(*host.graph, *sample.links, links.edge_type);
  TROUPE_RETURN_IF_ERROR(check_ids(host, request, types_of_ends.source, links.sources));
  return check_ids(host, request, types_of_ends.destination, links.destinations);
}

}  // namespace

Result<RequestOptions> options_of(const HostContext& host, const SampleBatch& request) {
  RequestOptions options{request.sample, request.collect};
  if (request.options == BatchOptions::job) {
    const bool scores = request.key.purpose == Purpose::evaluate && host.eval_sample;
    const auto& of_job = scores ? host.eval_sample : host.sample;
    options.sample = options.sample ? options.sample : of_job;
    options.collect = options.collect ? options.collect : host.collect;
  }
  if (!options.sample || !options.collect) {
    return Error(Errc::invalid_argument,
                 fmt::format("batch {}: expected options of its own or those of the job, found "
                             "neither; only those of the job go from process to process",
                             request.key.number));
  }
  return options;
}

Status check_seeds(const HostContext& host, const SampleBatch& request,
                   const SampleOptions& sample) {
  const auto types = host.graph->node_types.size();
  if (raw(request.seed_type) >= types) {
    return Error(Errc::invalid_argument,
                 fmt::format("seeds of batch {}: expected a node type below {}, found {}",
                             request.key.number, types, raw(request.seed_type)));
  }
  const auto times = request.times.size();
  if (times != 0 && (times != request.seeds.size() || !sample.time)) {
    return Error(
        Errc::invalid_argument,
        fmt::format("seeds of batch {}: expected {} times, found {}", request.key.number,
                    sample.time ? fmt::format("{} or no", request.seeds.size()) : "no", times));
  }
  TROUPE_RETURN_IF_ERROR(check_ids(host, request, request.seed_type, request.seeds));
  return request.links ? check_links(host, request, sample) : ok_status();
}

}  // namespace troupe
