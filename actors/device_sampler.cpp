#include "actors/device_sampler.hpp"

#include "actors/assembly.hpp"
#include "actors/batch_request.hpp"
#include "actors/error.hpp"
#include "actors/local_messages.hpp"
#include "actors/offload.hpp"
#include "runtime/feature/ready_batch.hpp"

#include <caf/all.hpp>

#include <chrono>
#include <deque>
#include <fmt/format.h>
#include <functional>
#include <utility>

namespace troupe {
namespace {

using Rest = gpu::DeviceBatches::Rest;

struct WaitingBatch {
  std::function<Result<Rest>()> make;
  BatchTrace trace = {};
  caf::response_promise promise;
  std::uint64_t flow = 0;
  bool sampled = false;  ///< By the host: only rows are missing
  bool counted = false;  ///< Rows, by the collector
  std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
};

struct DeviceSamplerState {
  const char* name = "troupe.device_sampler";
  DeviceSamplerOptions options;
  std::deque<WaitingBatch> waiting;
  std::size_t staging = 0;  ///< Batches that the collector stages
  bool busy = false;        ///< A task makes a batch
};
using DeviceSamplerActor = caf::stateful_actor<DeviceSamplerState>;

DigestMode digest_of(const DeviceSamplerOptions& options, const BatchKey& key) {
  const bool digests = options.digests && key.purpose == Purpose::train;
  return digests ? options.collect->digest : DigestMode::off;
}

Result<Rest> make_batch(const DeviceSamplerOptions& options, const SampleBatch& request) {
  const BatchSeeds seeds{.groups = {{request.seed_type, request.seeds}}, .times = request.times};
  return options.batches->make(request.key, seeds, digest_of(options, request.key));
}

Result<Rest> collect_rows(const DeviceSamplerOptions& options, const CollectBatch& request) {
  return options.batches->collect(request.sampled, digest_of(options, request.sampled->key));
}

/// What the host does, on any thread.
/// \param sample  options that the device sampled with; null: the host did
ReadyBatch finished(const Rest& rest, BatchTrace trace, bool counted, const SampleOptions* sample) {
  auto made = rest();
  if (sample != nullptr) {
    trace.frontier.add(frontier_of(*made.batch.sampled, *sample));
  }
  trace.rows += counted ? 0 : made.batch.sampled->num_nodes();
  trace.rows_device += made.rows_device;
  trace.rows_pinned += made.rows_pinned;
  return ReadyBatch{std::move(made.batch), std::move(trace)};
}

void deliver_made(DeviceSamplerActor* self, WaitingBatch& batch, Result<ReadyBatch> made) {
  if (made) {
    const auto took =
        static_cast<std::uint64_t>((std::chrono::steady_clock::now() - batch.began).count());
    (batch.sampled ? made->trace.collect_ns : made->trace.sample_ns) = took;
    self->state.options.trace.slice(batch.sampled ? "collect" : "sample", batch.began, batch.flow);
  }
  deliver(batch.promise, std::move(made));
}

/// The device makes one batch at a time; meanwhile the host finishes those before it.
void make_next(DeviceSamplerActor* self) {
  auto& state = self->state;
  if (state.busy || state.waiting.empty()) {
    return;
  }
  state.busy = true;
  auto next = std::move(state.waiting.front());
  state.waiting.pop_front();
  offload(self, *state.options.executor, next.make, [self, next](Result<Rest> rest) mutable {
    self->state.busy = false;
    make_next(self);
    if (!rest) {
      const auto& memory = self->state.options.memory;
      return deliver_made(self, next, memory ? with_figures(rest.error(), *memory) : rest.error());
    }
    offload(
        self, *self->state.options.executor,
        [rest = *std::move(rest), trace = next.trace, counted = next.counted,
         sample = next.sampled ? nullptr : self->state.options.sample] {
          return Result<ReadyBatch>(finished(rest, trace, counted, sample.get()));
        },
        [self, next](Result<ReadyBatch> made) mutable {
          deliver_made(self, next, std::move(made));
        });
  });
}

/// \returns whether there is room for one more batch; where there is none the asker has its error
bool admits(DeviceSamplerActor* self, caf::response_promise& promise) {
  const auto count = self->state.waiting.size() + self->state.staging;
  if (count < max_batches_in_progress) {
    return true;
  }
  promise.deliver(to_caf(Error(
      Errc::overloaded, fmt::format("batches on a device: {} wait, the most it takes", count))));
  return false;
}

void begin(DeviceSamplerActor* self, WaitingBatch batch) {
  if (admits(self, batch.promise)) {
    self->state.waiting.push_back(std::move(batch));
    make_next(self);
  }
}

/// The collector stages the rows that the device lacks, of many batches at once.
void begin_staged(DeviceSamplerActor* self, const CollectBatch& request) {
  auto& state = self->state;
  auto promise = self->make_response_promise();
  if (!admits(self, promise)) {
    return;
  }
  ++state.staging;
  CollectBatch staged = request;
  staged.slots = state.options.slots;
  const auto began = std::chrono::steady_clock::now();
  const auto digest = digest_of(state.options, request.sampled->key);
  self->request(state.options.rows_from_host, caf::infinite, Ref<CollectBatch>(std::move(staged)))
      .then(
          [self, promise, began, digest, flow = request.flow](const Ref<StagedBatch>& ready) {
            --self->state.staging;
            begin(self, {.make = [batches = self->state.options.batches, batch = ready->batch,
                                  digest] { return batches->place(batch, digest); },
                         .trace = ready->trace,
                         .promise = promise,
                         .flow = flow,
                         .sampled = true,
                         .counted = true,
                         .began = began});
          },
          [self, promise](const caf::error& error) mutable {
            --self->state.staging;
            promise.deliver(error);
          });
}

void begin_batch(DeviceSamplerActor* self, const Ref<SampleBatch>& request) {
  const auto& options = self->state.options;
  const auto meant = options_of(*options.host, *request);
  if (!meant || meant->sample != options.sample || meant->collect != options.collect) {
    self->delegate(options.on_host, request);
    return;
  }
  if (const auto seeds = check_seeds(*options.host, *request, *options.sample); !seeds) {
    self->make_response_promise().deliver(to_caf(seeds.error()));
    return;
  }
  begin(self, {.make = [options, request] { return make_batch(options, *request); },
               .promise = self->make_response_promise(),
               .flow = request->flow});
}

void begin_rows(DeviceSamplerActor* self, const Ref<CollectBatch>& request) {
  const auto& options = self->state.options;
  if (request->collect != options.collect) {
    self->delegate(options.rows_from_host, request);
    return;
  }
  if (options.slots) {
    return begin_staged(self, *request);
  }
  begin(self, {.make = [options, request] { return collect_rows(options, *request); },
               .trace = request->trace,
               .promise = self->make_response_promise(),
               .flow = request->flow,
               .sampled = true});
}

caf::behavior device_sampler(DeviceSamplerActor* self, DeviceSamplerOptions options) {
  self->state.options = std::move(options);
  return {
      [self](const Ref<SampleBatch>& request) { begin_batch(self, request); },
      [self](const Ref<CollectBatch>& request) { begin_rows(self, request); },
      [self](const Ref<ReadsAhead>& ahead) {
        self->send(self->state.options.rows_from_host, ahead);
      },
      run_continuation,
  };
}

}  // namespace

caf::actor spawn_device_sampler(caf::actor_system& system, DeviceSamplerOptions options) {
  return system.spawn(device_sampler, std::move(options));
}

}  // namespace troupe
