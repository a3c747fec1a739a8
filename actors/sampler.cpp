#include "actors/sampler.hpp"

#include "actors/error.hpp"
#include "actors/local_messages.hpp"
#include "actors/offload.hpp"

#include <caf/all.hpp>

#include <algorithm>
#include <fmt/format.h>

namespace troupe {
namespace {

using SteadyClock = std::chrono::steady_clock;

struct ArrivedHop {
  std::uint32_t question = 0;
  Ref<HopReply> reply;
};

/// Parts that keep lists of nodes around them.
using Halos = std::vector<std::shared_ptr<const Part>>;

/// One batch on its way through the hops. `builder` is used by one task at a time: `busy` says that
/// one has it.
struct SamplingBatch {
  Ref<SampleBatch> request;
  std::shared_ptr<const CollectOptions> collect;
  caf::response_promise promise;
  std::shared_ptr<const Halos> here;  ///< asked before the owners of nodes
  std::shared_ptr<BatchBuilder> builder;
  std::vector<ArrivedHop> arrived;
  std::vector<HopQuestion> local;
  bool busy = false;
  BatchTrace trace;
  SteadyClock::time_point began = SteadyClock::now();
  SteadyClock::time_point hop_began{};
};

struct SamplerState {
  const char* name = "troupe.sampler";
  std::shared_ptr<const HostContext> host;
  caf::actor collector;
  TraceTrack trace;
  std::shared_ptr<CachedLists> lists;       ///< null: none are kept
  std::shared_ptr<const Halos> with_lists;  ///< the host's halos and what is kept; null until it is
  std::map<std::uint64_t, SamplingBatch> batches;
  std::uint64_t next_id = 0;
};
using Sampler = caf::stateful_actor<SamplerState>;
using Questions = Result<std::vector<HopQuestion>>;

/// The part that has the lists asked for, if it lies here.
std::shared_ptr<const Part> lists_here(const HostContext& host, const Halos& here,
                                       const HopQuestion& question) {
  if (question.lists_of == ListsOf::halo) {
    return *std::ranges::find(here, question.part, &Part::id);
  }
  return host.local_lists(question.part);
}

/// Off the mailbox: takes replies, samples this host's share, says what to ask next.
Questions grow(const HostContext& host, const Halos& here, BatchBuilder& builder,
               const std::vector<ArrivedHop>& arrived, const std::vector<HopQuestion>& local) {
  for (const auto& [question, reply] : arrived) {
    TROUPE_RETURN_IF_ERROR(builder.answer(question, *reply));
  }
  for (const auto& question : local) {
    TROUPE_ASSIGN_OR_RETURN(const auto reply, sample_one_hop(*lists_here(host, here, question),
                                                             question.request, question.lists_of));
    TROUPE_RETURN_IF_ERROR(builder.answer(question.id, reply));
  }
  return builder.questions();
}

void fail(Sampler* self, std::uint64_t id, const Error& why) {
  auto node = self->state.batches.extract(id);
  if (node.empty()) {
    return;
  }
  const auto& key = node.mapped().request->key;
  node.mapped().promise.deliver(to_caf(
      Error(why).with(fmt::format("sampling batch {} of epoch {}", key.number, key.epoch + 1))));
}

/// The hop that was under way is over.
void trace_hop(Sampler* self, const SamplingBatch& batch) {
  if (batch.hop_began != SteadyClock::time_point{}) {
    self->state.trace.slice("hop", batch.hop_began, batch.request->flow);
  }
}

void finish(Sampler* self, std::uint64_t id) {
  auto node = self->state.batches.extract(id);
  auto& batch = node.mapped();
  if (self->state.host->on_hop) {
    self->state.host->on_hop(batch.request->key, batch.builder->hop());
  }
  auto sampled = std::make_shared<const SampledBatch>(std::move(*batch.builder).take());
  batch.trace.sample_ns = static_cast<std::uint64_t>((SteadyClock::now() - batch.began).count());
  trace_hop(self, batch);
  self->state.trace.slice("sample", batch.began, batch.request->flow);
  batch.promise.delegate(self->state.collector,
                         Ref<CollectBatch>(CollectBatch{std::move(sampled), batch.collect,
                                                        batch.trace, batch.request->flow}));
}

void advance(Sampler* self, std::uint64_t id);

void ask(Sampler* self, std::uint64_t id, HopQuestion question) {
  const auto& host = *self->state.host;
  const auto number = question.id;
  const auto part = question.part;
  question.request.flow = self->state.batches.at(id).request->flow;
  self->request(host.holders[raw(part)], host.request_deadline,
                Ref<HopRequest>(std::move(question.request)))
      .then(
          [self, id, number](const Ref<HopReply>& reply) {
            const auto found = self->state.batches.find(id);
            if (found == self->state.batches.end()) {
              return;
            }
            found->second.arrived.push_back({number, reply});
            if (!found->second.busy) {
              advance(self, id);
            }
          },
          [self, id, part](const caf::error& error) {
            fail(self, id, from_caf(error).with(fmt::format("holder of part {}", raw(part))));
          });
}

/// Sends what must be asked of others, keeps what lies here.
void dispatch(Sampler* self, std::uint64_t id, std::vector<HopQuestion> questions) {
  const auto& host = *self->state.host;
  auto& batch = self->state.batches.at(id);
  if (!questions.empty() && host.on_hop) {
    host.on_hop(batch.request->key, batch.builder->hop());
  }
  if (!questions.empty()) {
    trace_hop(self, batch);
    batch.hop_began = self->state.trace.now();
  }
  const auto hop = batch.builder->hop();
  for (auto& question : questions) {
    const auto nodes = question.request.num_nodes();
    const bool here = lists_here(host, *batch.here, question) != nullptr;
    batch.trace.frontier.add(hop, nodes, here ? 0 : nodes);
    if (here) {
      batch.local.push_back(std::move(question));
    } else {
      ask(self, id, std::move(question));
    }
  }
}

void advance(Sampler* self, std::uint64_t id) {
  auto& batch = self->state.batches.at(id);
  batch.busy = true;
  offload(
      self, *self->state.host->executor,
      [host = self->state.host, here = batch.here, builder = batch.builder,
       arrived = std::exchange(batch.arrived, {}), local = std::exchange(batch.local, {})] {
        return grow(*host, *here, *builder, arrived, local);
      },
      [self, id](Questions questions) {
        const auto found = self->state.batches.find(id);
        if (found == self->state.batches.end()) {
          return;
        }
        if (!questions) {
          return fail(self, id, questions.error());
        }
        auto& grown = found->second;
        grown.busy = false;
        dispatch(self, id, *std::move(questions));
        if (grown.builder->done()) {
          finish(self, id);
        } else if (!grown.arrived.empty() || !grown.local.empty()) {
          advance(self, id);
        }
      });
}

/// What the request means: its own options, or those of the job where it came without.
struct Options {
  std::shared_ptr<const SampleOptions> sample;
  std::shared_ptr<const CollectOptions> collect;
};

Result<Options> options_of(const HostContext& host, const SampleBatch& request) {
  Options options{request.sample, request.collect};
  if (request.options == BatchOptions::job) {
    options.sample = options.sample ? options.sample : host.sample;
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

Status check_seeds(const HostContext& host, const SampleBatch& request) {
  const auto types = host.graph->node_types.size();
  if (raw(request.seed_type) >= types) {
    return Error(Errc::invalid_argument,
                 fmt::format("seeds of batch {}: expected a node type below {}, found {}",
                             request.key.number, types, raw(request.seed_type)));
  }
  for (const NodeId seed : request.seeds) {
    if (!host.book->contains(request.seed_type, seed)) {
      return Error(Errc::invalid_argument,
                   fmt::format("seeds of batch {}: expected ids below {}, found {}",
                               request.key.number, host.book->count(request.seed_type), raw(seed)));
    }
  }
  return ok_status();
}

/// Which halos a batch asks; the first batch has the lists fetched that are to be kept.
std::shared_ptr<const Halos> halos_for(Sampler* self, const SampleOptions& options) {
  auto& state = self->state;
  const auto& host = state.host;
  const std::shared_ptr<const Halos> of_host(host, &host->halos);
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
  const bool serves =
      options.dir == host->sample->dir && (host->sample->with_edge_ids || !options.with_edge_ids);
  return serves && state.with_lists ? state.with_lists : of_host;
}

void begin(Sampler* self, const Ref<SampleBatch>& request) {
  auto promise = self->make_response_promise();
  auto& state = self->state;
  if (state.batches.size() == max_batches_in_progress) {
    promise.deliver(to_caf(
        Error(Errc::overloaded, fmt::format("sampler: {} batches in progress, the most it takes",
                                            max_batches_in_progress))));
    return;
  }
  if (const auto seeds = check_seeds(*state.host, *request); !seeds) {
    promise.deliver(to_caf(seeds.error()));
    return;
  }
  auto options = options_of(*state.host, *request);
  if (!options) {
    promise.deliver(to_caf(options.error()));
    return;
  }
  const auto id = state.next_id++;
  auto& batch = state.batches[id];
  batch.request = request;
  batch.collect = std::move(options->collect);
  batch.promise = std::move(promise);
  batch.here = halos_for(self, *options->sample);
  batch.builder = std::make_shared<BatchBuilder>(*state.host->graph, *state.host->book,
                                                 std::move(options->sample), request->key,
                                                 request->seed_type, request->seeds, *batch.here);
  advance(self, id);
}

caf::behavior sampler(Sampler* self, std::shared_ptr<const HostContext> host, caf::actor collector,
                      TraceTrack trace, std::shared_ptr<CachedLists> lists) {
  self->state.host = std::move(host);
  self->state.collector = std::move(collector);
  self->state.trace = std::move(trace);
  self->state.lists = std::move(lists);
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
