#include "actors/agent.hpp"

#include "actors/error.hpp"
#include "actors/message.hpp"
#include "runtime/wire/messages.hpp"

#include <caf/all.hpp>

#include <set>

namespace troupe {
namespace {

struct AgentState {
  const char* name = "troupe.agent";
  AgentOptions options;
  std::set<net::ProcessInstance> started;  ///< a link may bring a request again
};
using Agent = caf::stateful_actor<AgentState>;

caf::behavior agent(Agent* self, AgentOptions options) {
  self->state.options = std::move(options);
  return {
      [self](const Ref<net::SpawnProcess>& request) {
        auto promise = self->make_response_promise();
        const bool is_new = self->state.started.insert(request->instance).second;
        const auto spawned = is_new ? self->state.options.spawn(*request) : ok_status();
        deliver(promise,
                spawned ? Result<net::Done>(net::Done{}) : Result<net::Done>(spawned.error()));
      },
      [self](const Ref<net::KillProcess>& request) {
        self->state.options.kill(request->instance);
        return Ref<net::Done>(net::Done{});
      },
      [self](const Ref<net::EndProcess>& end) {
        auto promise = self->make_response_promise();
        self->state.options.decide_end(*end);
        promise.deliver(Ref<net::LinkTotals>(net::LinkTotals{}));
        self->state.options.begin_end();
      },
  };
}

}  // namespace

caf::actor spawn_agent(caf::actor_system& system, AgentOptions options) {
  return system.spawn(agent, std::move(options));
}

}  // namespace troupe
