#include "actors/sampler.hpp"

#include "actors/assembly.hpp"
#include "actors/local_messages.hpp"
#include "runtime/sample/sampling_work.hpp"

#include <caf/all.hpp>

#include <fmt/format.h>
#include <optional>
#include <span>

namespace troupe {
namespace {

/// Parts that keep lists of nodes around them.
using Halos = std::vector<std::shared_ptr<const Part>>;

/// Options and trace of a batch that the collector needs besides its nodes and edges.
struct ForCollector {
  std::shared_ptr<const CollectOptions> collect;
  std::uint64_t flow = 0;
};
using Sampling = Assemblies<SamplingWork, ForCollector>;

struct SamplerState {
  const char* name = "troupe.sampler";
  std::shared_ptr<const HostContext> host;
  caf::actor collector;
  TraceTrack trace;
  std::shared_ptr<CachedLists> lists;       ///< null: none are kept
  std::shared_ptr<const Halos> with_lists;  ///< the host's halos and what is kept; null until it is
  std::shared_ptr<BatchScratchPool> scratch = std::make_shared<BatchScratchPool>();
  std::optional<Sampling> batches;
};
using Sampler = caf::stateful_actor<SamplerState>;

void finish(Sampler* self, Sampling::Item batch) {
  BatchTrace trace;
  trace.frontier = batch.work->frontier();
  trace.sample_ns = batch.nanoseconds();
  self->state.trace.slice("sample", batch.began, batch.about.flow);
  batch.promise.delegate(self->state.collector,
                         Ref<CollectBatch>(CollectBatch{
                             std::make_shared<const SampledBatch>(std::move(*batch.work).take()),
                             std::move(batch.about.collect), std::move(trace), batch.about.flow}));
}

/// What the request means: its own options, or those of the job where it came without.
struct Options {
  std::shared_ptr<const SampleOptions> sample;
  std::shared_ptr<const CollectOptions> collect;
};

Result<Options> options_of(const HostContext& host, const SampleBatch& request) {
  Options options{request.sample, request.collect};
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

/// Which halos a batch asks; the first batch has the lists fetched that are to be kept.
std::shared_ptr<const Halos> halos_for(Sampler* self, const SampleOptions& options) {
  auto& state = self->state;
  const auto& host = state.host;
  std::shared_ptr<const Halos> of_host(host, &host->halos);
  if (!state.lists) {
    return of_host;
  }
  if (state.lists->begin()) {
    spawn_list_keeper(self->system(), host, state.lists, caf::actor_cast<caf::actor>(self));
  }
  if (const auto kept = state.with_lists ? nullptr : state.lists->part()) {
    auto all = host->halos;
    all.push_back(kept);
    state.with_lists = std::make_shared<const Halos>(std::move(all));
  }
  const auto needed = kept_data(options);
  const bool serves =
      options.dir == host->sample->dir && (kept_data(*host->sample) & needed) == needed;
  return serves && state.with_lists ? state.with_lists : of_host;
}

void begin(Sampler* self, const Ref<SampleBatch>& request) {
  auto promise = self->make_response_promise();
  auto& state = self->state;
  auto options = options_of(*state.host, *request);
  if (!options) {
    promise.deliver(to_caf(options.error()));
    return;
  }
  if (const auto seeds = check_seeds(*state.host, *request, *options->sample); !seeds) {
    promise.deliver(to_caf(seeds.error()));
    return;
  }
  SamplingInputs inputs{
      .graph = state.host->graph,
      .book = state.host->book,
      .options = options->sample,
      .halos = halos_for(self, *options->sample),
      .lists_here = [host = state.host](PartId part) { return host->local_lists(part); },
      .scratch = state.scratch,
      .on_hop = state.host->on_hop,
      .trace = state.trace,
      .flow = request->flow};
  state.batches->begin(
      std::move(promise),
      SamplingWork(std::move(inputs), request->key,
                   {request->seed_type, request->seeds, request->times, request->links}),
      {std::move(options->collect), request->flow});
}

caf::behavior sampler(Sampler* self, std::shared_ptr<const HostContext> host, caf::actor collector,
                      TraceTrack trace, std::shared_ptr<CachedLists> lists) {
  self->state.host = std::move(host);
  self->state.collector = std::move(collector);
  self->state.trace = std::move(trace);
  self->state.lists = std::move(lists);
  self->state.batches.emplace(
      self, self->state.host,
      Sampling::Hooks{.doing = "sampling",
                      .finish = [self](Sampling::Item batch) { finish(self, std::move(batch)); }});
  self->set_down_handler([self](const caf::down_msg& down) { self->state.batches->on_down(down); });
  return {
      [self](const Ref<SampleBatch>& request) { begin(self, request); },
      run_continuation,
  };
}

}  // namespace

caf::actor spawn_sampler(caf::actor_system& system, std::shared_ptr<const HostContext> host,
                         caf::actor collector, TraceTrack trace,
                         std::shared_ptr<CachedLists> lists) {
  return system.spawn(sampler, std::move(host), std::move(collector), std::move(trace),
                      std::move(lists));
}

}  // namespace troupe
