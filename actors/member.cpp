#include "actors/member.hpp"

#include "actors/message.hpp"
#include "runtime/wire/messages.hpp"

#include <caf/all.hpp>

namespace troupe {
namespace {

struct MemberState {
  const char* name = "troupe.member";
  MemberOptions options;
  std::uint64_t number = 0;  ///< of the last table
};
using Member = caf::stateful_actor<MemberState>;

caf::behavior member(Member* self, MemberOptions options) {
  self->state.options = std::move(options);
  return {
      [self](const Ref<net::Members>& members) {
        if (members->number >= self->state.number) {
          self->state.number = members->number;
          self->state.options.meet(*members);
        }
        return Ref<net::Done>(net::Done{});
      },
      [self](const Ref<net::StopRanks>&) {
        if (self->state.options.stop_ranks) {
          self->state.options.stop_ranks();
        }
        return Ref<net::Done>(net::Done{});
      },
      [self](const Ref<net::EndProcess>& end) {
        auto promise = self->make_response_promise();
        self->state.options.decide_end(*end);
        promise.deliver(Ref<net::LinkTotals>(self->state.options.totals()));
        self->state.options.begin_end();
      },
  };
}

}  // namespace

caf::actor spawn_member(caf::actor_system& system, MemberOptions options) {
  return system.spawn(member, std::move(options));
}

}  // namespace troupe
