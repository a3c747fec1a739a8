#include "actors/sampler.hpp"

#include "actors/assembly.hpp"
#include "actors/batch_request.hpp"
#include "actors/local_messages.hpp"
#include "runtime/feature/hinted_batches.hpp"
#include "runtime/sample/sampling_work.hpp"

#include <caf/all.hpp>

#include <fmt/format.h>
#include <map>
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
  std::optional<Turn> turn = std::nullopt;
  Ref<SampleBatch> hint = nullptr;  ///< Of a batch that is sampled ahead; null: it was requested
};
using Sampling = Assemblies<SamplingWork, ForCollector>;

struct Waiting {
  Ref<SampleBatch> request;
  caf::response_promise promise;
};

struct SamplerState {
  const char* name = "troupe.sampler";
  std::shared_ptr<const HostContext> host;
  caf::actor collector;
  TraceTrack trace;
  std::shared_ptr<CachedLists> lists;       ///< null: none are kept
  std::shared_ptr<const Halos> with_lists;  ///< the host's halos and what is kept; null until it is
  std::shared_ptr<BatchScratchPool> scratch = std::make_shared<BatchScratchPool>();
  std::optional<Sampling> batches;
  std::optional<HintedBatches> ahead;  ///< nothing: hints are ignored
  /// Requests for batches that are being sampled on hints.
  std::map<const SampleBatch*, Waiting> waiting;
};
using Sampler = caf::stateful_actor<SamplerState>;

/// Has a sampled batch collected, for whoever asked for it.
void collect(Sampler* self, caf::response_promise promise, HintedBatch batch, ForCollector about) {
  promise.delegate(self->state.collector, Ref<CollectBatch>(CollectBatch{
                                              std::move(batch.sampled), std::move(about.collect),
                                              std::move(batch.trace), about.flow, about.turn}));
}

void sample_ahead(Sampler* self);

/// Keeps a batch that was sampled on a hint, unless its request waits for it.
void finish_ahead(Sampler* self, HintedBatch batch, ForCollector about) {
  auto& state = self->state;
  const auto waiting = state.waiting.extract(about.hint.get());
  const bool kept = state.ahead->keep(*about.hint, batch);
  if (!waiting.empty()) {
    collect(self, std::move(waiting.mapped().promise), std::move(batch), std::move(about));
  } else if (kept) {
    self->send(state.collector, Ref<ReadsAhead>(ReadsAhead{std::move(batch.sampled),
                                                           std::move(about.collect), *about.turn}));
  }
  sample_ahead(self);
}

void finish(Sampler* self, Sampling::Item batch) {
  HintedBatch sampled;
  sampled.trace.frontier = batch.work->frontier();
  sampled.trace.sample_ns = batch.nanoseconds();
  self->state.trace.slice("sample", batch.began, batch.about.flow);
  sampled.sampled = std::make_shared<const SampledBatch>(std::move(*batch.work).take());
  if (batch.about.hint) {
    return finish_ahead(self, std::move(sampled), std::move(batch.about));
  }
  collect(self, std::move(batch.promise), std::move(sampled), std::move(batch.about));
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

/// \param hint  it is sampled ahead
void begin_sampling(Sampler* self, caf::response_promise promise, const Ref<SampleBatch>& request,
                    const RequestOptions& options, bool hint) {
  auto& state = self->state;
  SamplingInputs inputs{
      .graph = state.host->graph,
      .book = state.host->book,
      .options = options.sample,
      .halos = halos_for(self, *options.sample),
      .lists_here = [host = state.host](PartId part) { return host->local_lists(part); },
      .scratch = state.scratch,
      .on_hop = state.host->on_hop,
      .trace = state.trace,
      .flow = request->flow};
  state.batches->begin(
      std::move(promise),
      SamplingWork(std::move(inputs), request->key,
                   {request->seed_type, request->seeds, request->times, request->links}),
      {options.collect, request->flow, request->turn, hint ? request : nullptr});
}

/// Samples batches that are hinted at. What is wrong with one is said when it is
/// requested.
void sample_ahead(Sampler* self) {
  auto& state = self->state;
  while (!state.batches->full()) {
    const Ref<SampleBatch> hint(state.ahead->begin());
    if (!hint) {
      return;
    }
    const auto options = options_of(*state.host, *hint);
    if (!options || !check_seeds(*state.host, *hint, *options->sample)) {
      state.ahead->drop(*hint);
      continue;
    }
    begin_sampling(self, {}, hint, *options, true);
  }
}

/// Samples a batch at its request, unless it was sampled before, or is being sampled.
void begin(Sampler* self, const Ref<SampleBatch>& request, caf::response_promise promise) {
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
  auto ahead = state.ahead ? state.ahead->take(*request) : HintedBatches::Taken{};
  if (ahead.found == HintedBatches::Found::whole) {
    return collect(self, std::move(promise), std::move(ahead.batch),
                   {options->collect, request->flow, request->turn});
  }
  if (ahead.found == HintedBatches::Found::under_way) {
    state.waiting.emplace(ahead.hint.get(), Waiting{request, std::move(promise)});
    return;
  }
  begin_sampling(self, std::move(promise), request, *options, false);
}

/// Drops a batch that failed while it was sampled on a hint, and samples it anew if its request has come.
bool keeps_failure(Sampler* self, const Sampling::Item& batch) {
  auto& state = self->state;
  const auto& hint = batch.about.hint;
  if (!hint) {
    return false;
  }
  state.ahead->drop(*hint);
  if (auto waiting = state.waiting.extract(hint.get()); !waiting.empty()) {
    begin(self, waiting.mapped().request, std::move(waiting.mapped().promise));
  }
  sample_ahead(self);
  return true;
}

caf::behavior sampler(Sampler* self, std::shared_ptr<const HostContext> host, caf::actor collector,
                      TraceTrack trace, std::shared_ptr<CachedLists> lists) {
  self->state.host = std::move(host);
  self->state.collector = std::move(collector);
  self->state.trace = std::move(trace);
  self->state.lists = std::move(lists);
  self->state.batches.emplace(
      self, self->state.host,
      Sampling::Hooks{
          .doing = "sampling",
          .finish = [self](Sampling::Item batch) { finish(self, std::move(batch)); },
          .keeps_failure = [self](Sampling::Item& batch) { return keeps_failure(self, batch); }});
  if (const auto lookahead = self->state.host->lookahead(); lookahead > 0) {
    self->state.ahead.emplace(
        HintedBatchesOptions{.most = lookahead, .most_bytes = self->state.host->ahead_bytes});
  }
  self->set_down_handler([self](const caf::down_msg& down) { self->state.batches->on_down(down); });
  return {
      [self](const Ref<SampleBatch>& request) {
        begin(self, request, self->make_response_promise());
        if (self->state.ahead) {
          sample_ahead(self);
        }
      },
      [self](const Ref<SampleAhead>& ahead) {
        if (self->state.ahead) {
          self->state.ahead->add(ahead->request);
          sample_ahead(self);
        }
      },
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
