#include "actors/collector.hpp"

#include "actors/assembly.hpp"
#include "actors/local_messages.hpp"
#include "runtime/feature/cache_filler.hpp"
#include "runtime/feature/collecting_work.hpp"

#include <caf/all.hpp>

#include <fmt/format.h>
#include <optional>

namespace troupe {
namespace {

constexpr std::chrono::seconds cache_pause{1};  // between a failed request and its repetition

using Collecting = Assemblies<CollectingWork, Ref<CollectBatch>>;

struct CollectorState {
  const char* name = "troupe.collector";
  std::shared_ptr<const HostContext> host;
  TraceTrack trace;
  std::optional<CacheFiller> cache;           ///< nothing: the job has no cache, or `future`
  std::shared_ptr<FutureCache> future;        ///< null: the job has another one, or none
  std::shared_ptr<BestHitsOfEpochs> measure;  ///< of `future`; null: not measured
  std::uint64_t tickets = 0;                  ///< what `future` was asked
  std::optional<Collecting> batches;
  std::optional<ReplicaClient> holders;  ///< For what fills the cache
};
using Collector = caf::stateful_actor<CollectorState>;

void finish(Collector* self, Collecting::Item done) {
  const auto& request = *done.about;
  const auto& counts = done.work->counts();
  auto trace = request.trace;
  trace.rows += counts.rows;
  trace.rows_remote += counts.remote;
  trace.rows_cached += counts.cached;
  trace.rows_cached_at_best += counts.cached_at_best;
  trace.collect_ns = done.nanoseconds();
  self->state.trace.slice("collect", done.began, request.flow);
  if (request.slots) {
    done.promise.deliver(Ref<StagedBatch>(
        StagedBatch{std::make_shared<Batch>(std::move(*done.work).take()), trace}));
    return;
  }
  done.promise.deliver(Ref<ReadyBatch>(ReadyBatch{std::move(*done.work).take(), std::move(trace)}));
}

/// A damaged answer ends every batch, as one for a batch ends that batch.
void end_by_damage(Collector* self) {
  self->state.batches->fail_all(*self->state.cache->damage());
}

/// Requests the next piece; after a lost holder the request is repeated when it may be back.
void fill_cache(Collector* self) {
  const auto& host = *self->state.host;
  const auto* question = self->state.cache->next();
  if (question == nullptr) {
    return;
  }
  self->state.holders->request<RowReply>(
      host.holders[raw(question->part)], Ref<RowRequest>(RowRequest(question->request)),
      [self, part = question->part](const Result<Ref<RowReply>>& reply) {
        if (reply) {
          if (const auto kept = self->state.cache->take(**reply); !kept) {
            return end_by_damage(self);
          }
          return fill_cache(self);
        }
        const auto& why = reply.error();
        if (why.code() == Errc::data_corruption) {
          self->state.cache->give_up(
              Error(why).with(fmt::format("filling the cache: holder of part {}", raw(part))));
          return end_by_damage(self);
        }
        self->delayed_send(self, cache_pause, Ref<CacheGoesOn>(CacheGoesOn{}));
      });
}

/// Chooses what to keep when the cache says that it is time.
void watch(Collector* self, const CollectingWork::Step& first) {
  auto& state = self->state;
  const bool tensors = std::ranges::any_of(first.ask, [](const RowQuestion& question) {
    return question.request.source.kind == RowSource::Kind::tensor;
  });
  auto choose = state.cache && !tensors ? state.cache->watch(first.ask) : nullptr;
  if (choose) {
    offload(self, *state.host->executor, std::move(choose),
            [self](std::vector<RowQuestion> questions) {
              self->state.cache->chosen(std::move(questions));
              fill_cache(self);
            });
  }
}

void begin(Collector* self, const Ref<CollectBatch>& request) {
  auto promise = self->make_response_promise();
  auto& state = self->state;
  CollectingInputs inputs{
      .book = state.host->book,
      .options = request->collect,
      .sampled = request->sampled,
      .cache = state.cache ? state.cache->cache() : nullptr,
      .future = {state.future, request->turn, ++state.tickets},
      .measure = state.cache ? state.cache->measure() : state.measure,
      .halos = state.host->halos,
      .part_here = [host = state.host](PartId part) { return host->local_part(part); },
      .flow = request->flow,
      .slots = request->slots};
  state.batches->begin(std::move(promise), CollectingWork(std::move(inputs)), request);
  if (state.cache && state.cache->damage()) {
    end_by_damage(self);
  }
}

/// Tells the cache what a batch will read.
void expect(Collector* self, const Ref<ReadsAhead>& ahead) {
  auto& state = self->state;
  if (!state.future) {
    return;
  }
  state.host->executor->post([future = state.future, ahead, ticket = ++state.tickets] {
    future->expect(ahead->turn, ticket, *ahead->sampled, *ahead->collect);
  });
}

caf::behavior collector(Collector* self, std::shared_ptr<const HostContext> host,
                        TraceTrack trace) {
  auto& state = self->state;
  state.host = std::move(host);
  state.trace = std::move(trace);
  if (state.host->cache && state.host->cache->policy == CacheOptions::Policy::future) {
    state.future = std::make_shared<FutureCache>(state.host->graph, state.host->book,
                                                 state.host->cache, state.host->parts_here());
    if (state.host->cache->measure) {
      state.measure = std::make_shared<BestHitsOfEpochs>(state.future->room());
    }
  } else if (state.host->cache) {
    state.cache.emplace(state.host->graph, state.host->book, state.host->cache,
                        state.host->parts_here());
  }
  state.holders.emplace(self);
  self->set_down_handler([self](const caf::down_msg& down) {
    self->state.holders->on_down(down);
    self->state.batches->on_down(down);
  });
  state.batches.emplace(
      self, state.host,
      Collecting::Hooks{
          .doing = "collecting",
          .finish = [self](Collecting::Item done) { finish(self, std::move(done)); },
          .after_first_step = [self](const CollectingWork::Step& step) { watch(self, step); }});
  return {
      [self](const Ref<CollectBatch>& request) { begin(self, request); },
      [self](const Ref<CacheGoesOn>&) { fill_cache(self); },
      [self](const Ref<ReadsAhead>& ahead) { expect(self, ahead); },
      run_continuation,
  };
}

}  // namespace

caf::actor spawn_collector(caf::actor_system& system, std::shared_ptr<const HostContext> host,
                           TraceTrack trace) {
  return system.spawn(collector, std::move(host), std::move(trace));
}

}  // namespace troupe
