#include "actors/collector.hpp"

#include "actors/error.hpp"
#include "actors/local_messages.hpp"
#include "actors/offload.hpp"
#include "runtime/feature/best_hits.hpp"

#include <caf/all.hpp>

#include <fmt/format.h>
#include <optional>

namespace troupe {
namespace {

using SteadyClock = std::chrono::steady_clock;

struct ArrivedRows {
  std::uint32_t question = 0;
  Ref<RowReply> reply;
};

/// How the cache comes to be. Batches do without until it is whole.
struct CacheFilling {
  bool begun = false;
  std::shared_ptr<RowCounter> counter;  ///< while the first batches are watched
  std::uint64_t watched = 0;
  std::vector<RowQuestion> questions;  ///< asked one after the other
  std::size_t next = 0;
  std::shared_ptr<RowCache> filling;
  std::shared_ptr<const RowCache> whole;
  std::shared_ptr<BestHitsOfEpochs> measure;  ///< once it is whole, where it was asked for
  std::optional<Error> damage;                ///< of an answer that was to fill it
};

/// One batch whose rows come in. `rows` is used by one task at a time: `busy` says that one has it.
struct CollectingBatch {
  Ref<CollectBatch> request;
  caf::response_promise promise;
  std::shared_ptr<RowCollection> rows;
  std::vector<ArrivedRows> arrived;
  std::vector<std::pair<std::uint32_t, PartId>> local;
  bool busy = false;
  BatchTrace trace;
  SteadyClock::time_point began = SteadyClock::now();
};

struct CollectorState {
  const char* name = "troupe.collector";
  std::shared_ptr<const HostContext> host;
  TraceTrack trace;
  std::map<std::uint64_t, CollectingBatch> batches;
  std::uint64_t next_id = 0;
  CacheFilling cache;
};
using Collector = caf::stateful_actor<CollectorState>;

/// Off the mailbox: puts rows in their place; gives the batch when the last ones are in.
Result<std::shared_ptr<Batch>> place(const HostContext& host, RowCollection& rows,
                                     const std::vector<ArrivedRows>& arrived,
                                     const std::vector<std::pair<std::uint32_t, PartId>>& local) {
  for (const auto& [question, reply] : arrived) {
    TROUPE_RETURN_IF_ERROR(rows.answer(question, *reply));
  }
  for (const auto& [question, part] : local) {
    TROUPE_RETURN_IF_ERROR(rows.answer_from(question, *host.local_part(part)));
  }
  if (!rows.done()) {
    return std::shared_ptr<Batch>();
  }
  return std::make_shared<Batch>(std::move(rows).take());
}

void fail(Collector* self, std::uint64_t id, const Error& why) {
  auto node = self->state.batches.extract(id);
  if (node.empty()) {
    return;
  }
  const auto& key = node.mapped().request->sampled->key;
  node.mapped().promise.deliver(to_caf(
      Error(why).with(fmt::format("collecting batch {} of epoch {}", key.number, key.epoch + 1))));
}

void finish(Collector* self, std::uint64_t id, Batch batch) {
  auto node = self->state.batches.extract(id);
  auto& done = node.mapped();
  done.trace.collect_ns = static_cast<std::uint64_t>((SteadyClock::now() - done.began).count());
  self->state.trace.slice("collect", done.began, done.request->flow);
  done.promise.deliver(Ref<ReadyBatch>(ReadyBatch{std::move(batch), done.trace}));
}

void advance(Collector* self, std::uint64_t id) {
  auto& batch = self->state.batches.at(id);
  batch.busy = true;
  offload(
      self, *self->state.host->executor,
      [host = self->state.host, rows = batch.rows, arrived = std::exchange(batch.arrived, {}),
       local = std::exchange(batch.local, {})] { return place(*host, *rows, arrived, local); },
      [self, id](Result<std::shared_ptr<Batch>> placed) {
        const auto found = self->state.batches.find(id);
        if (found == self->state.batches.end()) {
          return;
        }
        if (!placed) {
          fail(self, id, placed.error());
        } else if (*placed) {
          finish(self, id, std::move(**placed));
        } else {
          found->second.busy = false;
          if (!found->second.arrived.empty()) {
            advance(self, id);
          }
        }
      });
}

void ask(Collector* self, std::uint64_t id, const RowQuestion& question) {
  const auto& host = *self->state.host;
  auto request = question.request;
  request.flow = self->state.batches.at(id).request->flow;
  self->request(host.holders[raw(question.part)], host.request_deadline,
                Ref<RowRequest>(std::move(request)))
      .then(
          [self, id, number = question.id](const Ref<RowReply>& reply) {
            const auto found = self->state.batches.find(id);
            if (found == self->state.batches.end()) {
              return;
            }
            found->second.arrived.push_back({number, reply});
            if (!found->second.busy) {
              advance(self, id);
            }
          },
          [self, id, part = question.part](const caf::error& error) {
            fail(self, id, from_caf(error).with(fmt::format("holder of part {}", raw(part))));
          });
}

/// Sends what must be asked of others, keeps what lies here. Tensors are read from their holder,
/// also on this host.
void dispatch(Collector* self, std::uint64_t id) {
  const auto& host = *self->state.host;
  auto& batch = self->state.batches.at(id);
  const bool features = batch.request->collect->source.kind == RowSource::Kind::features;
  for (const auto& question : batch.rows->questions()) {
    const auto nodes = question.request.num_nodes();
    const bool here = host.local_part(question.part) != nullptr;
    batch.trace.rows += nodes;
    batch.trace.rows_remote += here ? 0 : nodes;
    if (here && features) {
      batch.local.emplace_back(question.id, question.part);
    } else {
      ask(self, id, question);
    }
  }
}

// Rows of one question that fills the cache: small beside a window, so that batches pass it.
constexpr std::uint64_t cache_piece_bytes = 1 << 20;
constexpr std::chrono::seconds cache_pause{1};  // after a failure, before it goes on

void fill_cache(Collector* self);

std::vector<bool> parts_here(const HostContext& host) {
  std::vector<bool> here(host.book->parts());
  for (const auto& part : host.parts) {
    here[raw(part.first)] = true;
  }
  return here;
}

/// `choose` says what to keep, off the mailbox.
template <class Choose>
void begin_to_fill(Collector* self, Choose choose) {
  const auto& host = self->state.host;
  self->state.cache.begun = true;
  offload(
      self, *host->executor,
      [host, choose = std::move(choose)] {
        return cache_questions(*host->graph, choose(*host), cache_piece_bytes);
      },
      [self](std::vector<RowQuestion> questions) {
        auto& cache = self->state.cache;
        cache.questions = std::move(questions);
        cache.filling = std::make_shared<RowCache>(*self->state.host->graph);
        fill_cache(self);
      });
}

/// A damaged answer ends every batch, as one for a batch ends that batch.
void end_by_damage(Collector* self, const Error& why) {
  auto& cache = self->state.cache;
  cache.filling = nullptr;
  cache.questions = {};
  cache.damage = why;
  while (!self->state.batches.empty()) {
    fail(self, self->state.batches.begin()->first, why);
  }
}

/// Asks for the next piece; a holder that is lost is asked again when it may be back.
void fill_cache(Collector* self) {
  auto& cache = self->state.cache;
  const auto& host = *self->state.host;
  if (cache.next == cache.questions.size()) {
    cache.whole = std::exchange(cache.filling, nullptr);
    if (host.cache->measure) {
      cache.measure = std::make_shared<BestHitsOfEpochs>(cache.whole->rows_of_types());
    }
    cache.questions = {};
    return;
  }
  const auto& question = cache.questions[cache.next];
  self->request(host.holders[raw(question.part)], host.request_deadline,
                Ref<RowRequest>(RowRequest(question.request)))
      .then(
          [self](const Ref<RowReply>& reply) {
            auto& filled = self->state.cache;
            if (const auto kept = filled.filling->add(filled.questions[filled.next], *reply);
                !kept) {
              return end_by_damage(self, kept.error());
            }
            ++filled.next;
            fill_cache(self);
          },
          [self, part = question.part](const caf::error& error) {
            const auto why = from_caf(error);
            if (why.code() == Errc::data_corruption) {
              return end_by_damage(self, Error(why).with(fmt::format(
                                             "filling the cache: holder of part {}", raw(part))));
            }
            self->delayed_send(self, cache_pause, Ref<CacheGoesOn>(CacheGoesOn{}));
          });
}

/// Chooses what to keep: at the first batch, or once enough batches were watched.
void watch_for_cache(Collector* self, const RowCollection& rows) {
  auto& cache = self->state.cache;
  const auto& host = *self->state.host;
  if (host.cache == nullptr || cache.begun) {
    return;
  }
  if (host.cache->policy == CacheOptions::Policy::order) {
    return begin_to_fill(self, [](const HostContext& of) {
      return choose_first_rows(*of.graph, *of.book, *of.cache, parts_here(of));
    });
  }
  if (!cache.counter) {
    cache.counter = std::make_shared<RowCounter>(host.graph->node_types.size());
  }
  for (const auto& question : rows.questions()) {
    if (host.local_part(question.part) == nullptr) {
      for (const auto& section : question.request.sections) {
        if (section.with_rows) {
          cache.counter->count(section);
        }
      }
    }
  }
  if (++cache.watched == host.cache->presample_batches) {
    begin_to_fill(self, [counter = std::exchange(cache.counter, nullptr)](const HostContext& of) {
      return counter->choose(*of.graph, *of.book, of.cache->budget_bytes);
    });
  }
}

struct Collection {
  std::shared_ptr<RowCollection> rows;
  std::uint64_t cached_at_best = 0;
};

/// Off the mailbox: makes the questions of a batch.
Collection collect(const HostContext& host, const CollectBatch& request,
                   std::shared_ptr<const RowCache> cache, BestHitsOfEpochs* measure) {
  Collection made{std::make_shared<RowCollection>(*host.book, request.collect, request.sampled,
                                                  std::move(cache), host.halos)};
  const auto& key = request.sampled->key;
  if (measure != nullptr && key.purpose == Purpose::train &&
      request.collect->source.kind == RowSource::Kind::features) {
    made.cached_at_best = measure->count(key.epoch, made.rows->cacheable(parts_here(host)));
  }
  return made;
}

void begin(Collector* self, const Ref<CollectBatch>& request) {
  auto promise = self->make_response_promise();
  auto& state = self->state;
  if (state.batches.size() == max_batches_in_progress) {
    promise.deliver(to_caf(
        Error(Errc::overloaded, fmt::format("collector: {} batches in progress, the most it takes",
                                            max_batches_in_progress))));
    return;
  }
  const auto id = state.next_id++;
  auto& batch = state.batches[id];
  batch.request = request;
  batch.promise = std::move(promise);
  batch.trace = request->trace;
  batch.busy = true;
  if (state.cache.damage) {
    return fail(self, id, *state.cache.damage);
  }
  offload(
      self, *state.host->executor,
      [host = state.host, request, cache = state.cache.whole, measure = state.cache.measure] {
        return collect(*host, *request, cache, measure.get());
      },
      [self, id](Collection collection) {
        const auto found = self->state.batches.find(id);
        if (found == self->state.batches.end()) {
          return;
        }
        auto& opened = found->second;
        opened.rows = std::move(collection.rows);
        opened.trace.rows += opened.rows->cached_rows() + opened.rows->halo_rows();
        opened.trace.rows_cached += opened.rows->cached_rows();
        opened.trace.rows_cached_at_best += collection.cached_at_best;
        if (opened.request->collect->source.kind == RowSource::Kind::features) {
          watch_for_cache(self, *opened.rows);
        }
        dispatch(self, id);
        advance(self, id);
      });
}

caf::behavior collector(Collector* self, std::shared_ptr<const HostContext> host,
                        TraceTrack trace) {
  self->state.host = std::move(host);
  self->state.trace = std::move(trace);
  return {
      [self](const Ref<CollectBatch>& request) { begin(self, request); },
      [self](const Ref<CacheGoesOn>&) { fill_cache(self); },
      run_continuation,
  };
}

}  // namespace

caf::actor spawn_collector(caf::actor_system& system, std::shared_ptr<const HostContext> host,
                           TraceTrack trace) {
  return system.spawn(collector, std::move(host), std::move(trace));
}

}  // namespace troupe
