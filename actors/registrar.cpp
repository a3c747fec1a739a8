#include "actors/registrar.hpp"

#include "actors/ask_all.hpp"
#include "actors/offload.hpp"
#include "actors/registrar_state.hpp"
#include "runtime/wire/link_totals.hpp"

#include <caf/all.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace troupe {
namespace registrar {
namespace {

void tell_members(Registrar* self) {
  auto& state = self->state;
  const Ref<net::Members> table(state.roster->table(state.options.generation()));
  for (const auto& entry : table->entries) {
    const auto member = state.options.member(entry.instance.process);
    if (!member) {
      continue;
    }
    self->request(member, caf::infinite, table)
        .then(
            [self, id = entry.instance.process, number = table->number](const Ref<net::Done>&) {
              carry_out(self, self->state.roster->acknowledged(id, number));
            },
            [](const caf::error&) {});  // its loss is noticed elsewhere
  }
}

/// All processes are to be there again within a deadline.
void restart_ranks(Registrar* self, const std::string& why) {
  auto& state = self->state;
  state.options.welcome.resume = state.options.restart_ranks(why);
  self->delayed_send(self, state.options.return_deadline,
                     Ref<ReturnDeadline>(ReturnDeadline{++state.restarts}));
}

void return_deadline(Registrar* self, const ReturnDeadline& late) {
  auto& state = self->state;
  const auto missing = state.roster->missing();
  if (state.ending || late.restart != state.restarts || missing.empty()) {
    return;
  }
  state.options.give_up(
      Error(Errc::peer_lost,
            fmt::format("{}: lost, and not back within {} ms; try: their output, a larger "
                        "cluster.recovery_deadline, or --resume",
                        fmt::join(missing, ", "), state.options.return_deadline.count())));
}

struct Doing {
  Registrar* self;
  RegistrarOptions& options = self->state.options;

  void operator()(const Roster::StartAgent& start) { start_after(self, start.after, start); }
  void operator()(const Roster::Spawn& what) { start_after(self, what.after, what); }
  void operator()(const Roster::Kill& what) { kill(self, what); }
  void operator()(const Roster::Drop& drop) { options.drop(drop.instance, drop.why); }
  void operator()(const Roster::TellMembers&) { tell_members(self); }
  void operator()(const Roster::Say& say) { options.say(say.line); }
  void operator()(const Roster::Changed&) { options.changed(*self->state.roster); }
  void operator()(const Roster::Complete&) { options.complete(); }
  void operator()(const Roster::RestartRanks& restart) { restart_ranks(self, restart.why); }
  void operator()(const Roster::TakeEnd& take) {
    if (options.ranks_ended) {
      options.ranks_ended(take.ended);
    }
  }
  void operator()(const Roster::GiveUp& give_up) { options.give_up(give_up.why); }
};

}  // namespace

void carry_out(Registrar* self, const Roster::Actions& actions) {
  for (const auto& action : actions) {
    if (self->state.ending) {
      return;
    }
    std::visit(Doing{self}, action);
  }
}

namespace {

Result<net::Welcome> give_incarnation(State& state, const net::Join& request) {
  net::Welcome welcome;
  TROUPE_ASSIGN_OR_RETURN(welcome.incarnation, state.roster->apply(request));
  welcome.store = state.options.welcome.store;
  welcome.store_checksum = state.options.welcome.store_checksum;
  state.options.give({request.instance.process, welcome.incarnation});
  return welcome;
}

Result<net::Welcome> join(Registrar* self, const net::Join& request) {
  auto& state = self->state;
  if (request.instance.incarnation == 0) {
    return give_incarnation(state, request);
  }
  TROUPE_ASSIGN_OR_RETURN(const auto actions, state.roster->join(request));
  net::Welcome welcome;
  if (state.options.roster.layout.at(request.instance.process).works()) {
    welcome = state.options.welcome;
    welcome.generation = state.options.generation();
  }
  carry_out(self, actions);
  return welcome;
}

void join_deadline(Registrar* self) {
  auto& state = self->state;
  if (state.roster->is_complete() || state.ending) {
    return;
  }
  state.options.give_up(Error(
      Errc::deadline_exceeded,
      fmt::format("not all processes are there after {} s; missing: {}; try: their output, or a "
                  "larger cluster.join_deadline",
                  static_cast<double>(state.options.join_deadline.count()) / 1000,
                  fmt::join(state.roster->missing(), ", "))));
}

// ---- what processes begin with ----

Result<net::StateReply> start_state(const RegistrarOptions& options,
                                    const net::ReadStart& request) {
  if (!options.welcome.resume && !options.welcome.infers) {
    return Error(Errc::failed_precondition,
                 fmt::format("process {}: expected a run that is resumed, or inference",
                             raw(request.process)));
  }
  return options.start_state(request);
}

/// Does what may block, and answers the current request.
/// \param work  empty: there is no user program
void do_on_io(Registrar* self, std::function<Status()> work) {
  const auto& options = self->state.options;
  auto promise = self->make_response_promise();
  if (!work || !options.io) {
    return promise.deliver(to_caf(
        Error(Errc::failed_precondition, "state: expected a run whose ranks run a user program")));
  }
  offload(self, *options.io, std::move(work), [promise](const Status& done) mutable {
    promise.deliver(done ? caf::make_message(Ref<net::Done>(net::Done{}))
                         : caf::make_message(to_caf(done.error())));
  });
}

void keep_state(Registrar* self, const Ref<net::KeepState>& piece) {
  const auto& keep = self->state.options.keep_state;
  do_on_io(self, keep ? std::function<Status()>([piece, keep] { return keep(*piece); }) : nullptr);
}

void load_start(Registrar* self, const net::LoadStart& what) {
  const auto& options = self->state.options;
  do_on_io(self, options.load_start ? options.load_start(what) : nullptr);
}

// ---- the end ----

void end_all(Registrar* self, const EndAll& request) {
  auto& state = self->state;
  state.ending = true;
  std::vector<caf::actor> present;
  for (const auto id : state.roster->present()) {
    const auto who = state.options.roster.layout.at(id).agent ? state.options.agent(id)
                                                              : state.options.member(id);
    if (who) {
      present.push_back(who);
    }
  }
  const auto totals = std::make_shared<net::LinkTotals>();
  ask_each<net::LinkTotals>(
      self, present, caf::duration(request.deadline), Ref<net::EndProcess>(request.how),
      [totals](std::size_t /*which*/, const Result<Ref<net::LinkTotals>>& of_one) {
        if (of_one) {
          net::add(*totals, **of_one);
        }
      },
      [totals, promise = self->make_response_promise()]() mutable {
        promise.deliver(Ref<net::LinkTotals>(*totals));
      });
}

caf::behavior behavior(Registrar* self, RegistrarOptions options) {
  auto& state = self->state;
  state.options = std::move(options);
  state.roster = std::make_unique<Roster>(state.options.roster);
  carry_out(self, state.roster->begin());
  self->delayed_send(self, state.options.join_deadline, Ref<JoinDeadline>(JoinDeadline{}));
  const auto done = [] { return Ref<net::Done>(net::Done{}); };
  return {
      [self](const Ref<net::Join>& request) {
        auto promise = self->make_response_promise();
        deliver(promise, join(self, *request));
      },
      [self, done](const Ref<net::Ready>& ready) {
        carry_out(self, self->state.roster->ready(*ready));
        return done();
      },
      [self, done](const Ref<net::ProcessExited>& exited) {
        carry_out(self, self->state.roster->lost(exited->instance, exited->how, true));
        return done();
      },
      [self, done](const Ref<net::PeerUnreachable>& report) {
        carry_out(self, self->state.roster->unreachable(*report));
        return done();
      },
      [self, done](const Ref<net::Notice>& notice) {
        self->state.options.notice(*notice);
        return done();
      },
      [self, done](const Ref<net::RanksEnded>& ended) {
        carry_out(self, self->state.roster->ranks_ended(*ended));
        return done();
      },
      [self, done](const Ref<net::RankEpoch>& epoch) {
        if (self->state.options.rank_epoch) {
          self->state.options.rank_epoch(*epoch);
        }
        return done();
      },
      [self](const Ref<net::ReadStart>& request) {
        auto promise = self->make_response_promise();
        deliver(promise, start_state(self->state.options, *request));
      },
      [self](const Ref<net::KeepState>& piece) { keep_state(self, piece); },
      [self](const Ref<net::LoadStart>& what) { load_start(self, *what); },
      run_continuation,
      [self](const Ref<LinkLost>& lost) {
        carry_out(self, self->state.roster->lost(lost->instance, lost->why, false));
      },
      [self](const Ref<StartNow>& start) { start_now(self, start->action); },
      [self](const Ref<StartDeadline>& late) { start_deadline(self, *late); },
      [self](const Ref<JoinDeadline>&) { join_deadline(self); },
      [self](const Ref<ReturnDeadline>& late) { return_deadline(self, *late); },
      [self](const Ref<EndAll>& request) { end_all(self, *request); },
  };
}

}  // namespace
}  // namespace registrar

caf::actor spawn_registrar(caf::actor_system& system, RegistrarOptions options) {
  return system.spawn(registrar::behavior, std::move(options));
}

}  // namespace troupe
