#include "actors/batch_server.hpp"

#include "actors/batch_client.hpp"
#include "actors/error.hpp"
#include "actors/offload.hpp"

#include <caf/all.hpp>

#include <cstdint>
#include <fmt/format.h>
#include <optional>

namespace troupe {
namespace {

constexpr std::size_t max_open = 2048;  // as its samplers

struct BatchServerState {
  const char* name = "troupe.batch_server";
  std::optional<BatchClient> path;
  std::size_t open = 0;  ///< Batches
  std::uint64_t next = 0;
};
using BatchServer = caf::stateful_actor<BatchServerState>;

void begin(BatchServer* self, const Ref<SampleBatch>& request) {
  auto& state = self->state;
  auto promise = self->make_response_promise();
  if (state.open == max_open) {
    promise.deliver(to_caf(
        Error(Errc::overloaded,
              fmt::format("batch server: {} batches are under way, the most it takes", max_open))));
    return;
  }
  ++state.open;
  state.path->ask(state.next++, request,
                  [self, promise](const Result<Ref<ReadyBatch>>& ready) mutable {
                    --self->state.open;
                    deliver(promise, ready);
                  });
}

void on_down(BatchServer* self, const caf::down_msg& down) {
  if (const auto mended = self->state.path->on_down(down); !mended) {
    self->quit(to_caf(mended.error()));
  }
}

caf::behavior batch_server(BatchServer* self, SpawnDataPath data_path) {
  self->state.path.emplace(self, std::move(data_path));
  self->set_down_handler([self](const caf::down_msg& down) { on_down(self, down); });
  return {
      [self](const Ref<SampleBatch>& request) { begin(self, request); },
      run_continuation,
  };
}

}  // namespace

caf::actor spawn_batch_server(caf::actor_system& system, SpawnDataPath data_path) {
  return system.spawn(batch_server, std::move(data_path));
}

}  // namespace troupe
