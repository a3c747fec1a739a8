#include "actors/batch_server.hpp"

#include "actors/error.hpp"
#include "actors/local_messages.hpp"
#include "actors/message.hpp"

#include <caf/all.hpp>

#include <cstdint>
#include <fmt/format.h>
#include <map>
#include <memory>

namespace troupe {
namespace {

constexpr std::size_t max_open = 2048;  // as its samplers

struct Open {
  Ref<SampleBatch> request;
  caf::response_promise promise;
};

struct BatchServerState {
  const char* name = "troupe.batch_server";
  std::unique_ptr<DataPathKeeper> path;
  std::map<std::uint64_t, Open> open;
  std::uint64_t next_id = 0;
};
using BatchServer = caf::stateful_actor<BatchServerState>;

template <class Answer>
void answer(BatchServer* self, std::uint64_t id, Answer&& with) {
  if (auto node = self->state.open.extract(id)) {
    node.mapped().promise.deliver(std::forward<Answer>(with));
  }
}

void ask(BatchServer* self, std::uint64_t id) {
  auto& state = self->state;
  const auto& request = state.open.at(id).request;
  const auto is_current = [self, path = state.path->incarnation()] {
    return self->state.path->incarnation() == path;
  };
  self->request(state.path->sampler(request->key.number), caf::infinite, request)
      .then(
          [self, id, is_current](const Ref<ReadyBatch>& ready) {
            if (is_current()) {
              self->state.path->batch_arrived();
              answer(self, id, ready);
            }
          },
          [self, id, is_current](const caf::error& error) {
            // A lost sampler or collector is the down handler's business.
            if (is_current() && from_caf(error).code() != Errc::peer_lost) {
              answer(self, id, error);
            }
          });
}

void on_down(BatchServer* self, const caf::down_msg& down) {
  auto& state = self->state;
  if (!state.path->owns(down.source)) {
    return;
  }
  if (const auto restarted = state.path->restart(self, from_caf(down.reason)); !restarted) {
    auto open = std::exchange(state.open, {});
    for (auto& [id, batch] : open) {
      batch.promise.deliver(to_caf(restarted.error()));
    }
    return self->quit(to_caf(restarted.error()));
  }
  for (const auto& [id, batch] : state.open) {
    ask(self, id);
  }
}

void begin(BatchServer* self, const Ref<SampleBatch>& request) {
  auto& state = self->state;
  auto promise = self->make_response_promise();
  if (state.open.size() == max_open) {
    promise.deliver(to_caf(
        Error(Errc::overloaded,
              fmt::format("batch server: {} batches are under way, the most it takes", max_open))));
    return;
  }
  const auto id = state.next_id++;
  state.open.emplace(id, Open{request, std::move(promise)});
  ask(self, id);
}

caf::behavior batch_server(BatchServer* self, SpawnDataPath data_path) {
  self->state.path = std::make_unique<DataPathKeeper>(std::move(data_path));
  self->state.path->start(self);
  self->set_down_handler([self](const caf::down_msg& down) { on_down(self, down); });
  return {[self](const Ref<SampleBatch>& request) { begin(self, request); }};
}

}  // namespace

caf::actor spawn_batch_server(caf::actor_system& system, SpawnDataPath data_path) {
  return system.spawn(batch_server, std::move(data_path));
}

}  // namespace troupe
