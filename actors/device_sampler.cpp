#include "actors/device_sampler.hpp"

#include "actors/assembly.hpp"
#include "actors/error.hpp"
#include "actors/offload.hpp"
#include "runtime/feature/ready_batch.hpp"

#include <caf/all.hpp>

#include <chrono>
#include <deque>
#include <fmt/format.h>
#include <utility>

namespace troupe {
namespace {

struct WaitingBatch {
  Ref<SampleBatch> request;
  caf::response_promise promise;
  std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
};

struct DeviceSamplerState {
  const char* name = "troupe.device_sampler";
  DeviceSamplerOptions options;
  std::deque<WaitingBatch> waiting;
  bool busy = false;  ///< A task makes a batch
};
using DeviceSamplerActor = caf::stateful_actor<DeviceSamplerState>;

Result<ReadyBatch> make_batch(const DeviceSamplerOptions& options, const SampleBatch& request) {
  const bool trains = request.key.purpose == Purpose::train;
  const BatchSeeds seeds{.groups = {{request.seed_type, request.seeds}}, .times = request.times};
  TROUPE_ASSIGN_OR_RETURN(
      Batch batch, options.batches->make(request.key, seeds,
                                         trains ? options.collect->digest : DigestMode::off));
  BatchTrace trace;
  trace.rows = batch.sampled->num_nodes();
  return ReadyBatch{std::move(batch), std::move(trace)};
}

void make_next(DeviceSamplerActor* self) {
  auto& state = self->state;
  if (state.busy || state.waiting.empty()) {
    return;
  }
  state.busy = true;
  auto next = std::move(state.waiting.front());
  state.waiting.pop_front();
  offload(
      self, *state.options.executor,
      [options = state.options, request = next.request] { return make_batch(options, *request); },
      [self, next](Result<ReadyBatch> made) mutable {
        if (made) {
          const auto took = std::chrono::steady_clock::now() - next.began;
          made->trace.sample_ns = static_cast<std::uint64_t>(took.count());
          self->state.options.trace.slice("sample", next.began, next.request->flow);
        }
        deliver(next.promise, std::move(made));
        self->state.busy = false;
        make_next(self);
      });
}

void begin_batch(DeviceSamplerActor* self, const Ref<SampleBatch>& request) {
  auto& state = self->state;
  const auto& options = state.options;
  if (request->sample != options.sample || request->collect != options.collect) {
    self->delegate(options.on_host, request);
    return;
  }
  auto promise = self->make_response_promise();
  if (state.waiting.size() == max_batches_in_progress) {
    promise.deliver(to_caf(Error(
        Errc::overloaded,
        fmt::format("batches on a device: {} wait, the most it takes", state.waiting.size()))));
    return;
  }
  state.waiting.push_back({request, std::move(promise)});
  make_next(self);
}

caf::behavior device_sampler(DeviceSamplerActor* self, DeviceSamplerOptions options) {
  self->state.options = std::move(options);
  return {
      [self](const Ref<SampleBatch>& request) { begin_batch(self, request); },
      run_continuation,
  };
}

}  // namespace

caf::actor spawn_device_sampler(caf::actor_system& system, DeviceSamplerOptions options) {
  return system.spawn(device_sampler, std::move(options));
}

}  // namespace troupe
