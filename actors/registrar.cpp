#include "actors/registrar.hpp"

#include "actors/ask_all.hpp"
#include "actors/error.hpp"
#include "actors/message.hpp"
#include "actors/offload.hpp"
#include "runtime/wire/link_totals.hpp"
#include "runtime/wire/messages.hpp"

#include <caf/all.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>

namespace troupe {
namespace {

struct RegistrarState {
  const char* name = "troupe.registrar";
  RegistrarOptions options;
  std::unique_ptr<Roster> roster;
  bool ending = false;
  std::uint64_t restarts = 0;  ///< of the ranks
};
using Registrar = caf::stateful_actor<RegistrarState>;

/// To itself, after a pause.
struct StartNow {
  Roster::Action action;
};
struct JoinDeadline {};
struct ReturnDeadline {
  std::uint64_t restart = 0;
};
struct StartDeadline {
  net::ProcessLife life;
  std::chrono::milliseconds within;
};

void carry_out(Registrar* self, const Roster::Actions& actions);

void tell_members(Registrar* self) {
  auto& state = self->state;
  const Ref<net::Members> table(state.roster->table(state.options.generation()));
  for (const auto& entry : table->entries) {
    const auto member = state.options.member(entry.life.process);
    if (!member) {
      continue;
    }
    self->request(member, caf::infinite, table)
        .then([self, id = entry.life.process, number = table->number](
                  const Ref<net::Done>&) { carry_out(self, self->state.roster->told(id, number)); },
              [](const caf::error&) {});  // its loss is noticed elsewhere
  }
}

/// A process without a link shows no sign of life that others would miss.
void expect_join(Registrar* self, const net::ProcessLife& life, std::chrono::milliseconds within) {
  const auto losses = self->state.roster->awaited(life);
  if (losses && within.count() > 0) {
    within *= 1U << std::min(*losses, 6U);
    self->delayed_send(self, within, Ref<StartDeadline>(StartDeadline{life, within}));
  }
}

void start_deadline(Registrar* self, const StartDeadline& late) {
  auto& state = self->state;
  if (!state.ending && state.roster->awaited(late.life)) {
    const auto why = fmt::format("started, and not heard of within {} ms", late.within.count());
    carry_out(self, state.roster->lost(late.life, why, false));
  }
}

void start_agent(Registrar* self, const Roster::StartAgent& start) {
  const auto& options = self->state.options;
  if (options.start_agent) {
    options.expect(start.life);
    options.start_agent(start.host, start.life);
    expect_join(self, start.life, options.agent_start_deadline);
  }
}

/// Without its agent a process is lost, and everything on its host with it.
void spawn(Registrar* self, const Roster::Spawn& spawn) {
  const auto& options = self->state.options;
  const auto& life = spawn.life;
  if (const auto agent = options.agent(spawn.agent)) {
    options.expect(life);
    const auto& name = options.roster.layout.at(life.process).name;
    self->request(agent, caf::infinite, Ref<net::SpawnProcess>(net::SpawnProcess{life, name}))
        .then(
            [self, life](const Ref<net::Done>&) {
              expect_join(self, life, self->state.options.start_deadline);
            },
            [self, life](const caf::error& error) {
              if (const auto why = from_caf(error); why.code() != Errc::peer_lost) {
                carry_out(self, self->state.roster->lost(life, why.what(), true));
              }
            });
  }
}

void kill(Registrar* self, const Roster::Kill& kill) {
  if (const auto agent = self->state.options.agent(kill.agent)) {
    caf::anon_send(agent, Ref<net::KillProcess>(net::KillProcess{kill.life}));
  }
}

template <class Start>
void start_after(Registrar* self, const Start& start) {
  if (start.after.count() == 0) {
    self->send(self, Ref<StartNow>(StartNow{start}));
  } else {
    self->delayed_send(self, start.after, Ref<StartNow>(StartNow{start}));
  }
}

/// Nothing if it was lost with its agent during the pause: then a later life is to come.
void start_now(Registrar* self, const Roster::Action& action) {
  const auto is_wanted = [self](const net::ProcessLife& life) {
    return !self->state.ending && self->state.roster->admit(life).ok();
  };
  if (const auto* agent = std::get_if<Roster::StartAgent>(&action)) {
    if (is_wanted(agent->life)) {
      start_agent(self, *agent);
    }
  } else if (const auto* process = std::get_if<Roster::Spawn>(&action)) {
    if (is_wanted(process->life)) {
      spawn(self, *process);
    }
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

  void operator()(const Roster::StartAgent& start) { start_after(self, start); }
  void operator()(const Roster::Spawn& what) { start_after(self, what); }
  void operator()(const Roster::Kill& what) { kill(self, what); }
  void operator()(const Roster::Drop& drop) { options.drop(drop.life, drop.why); }
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

void carry_out(Registrar* self, const Roster::Actions& actions) {
  for (const auto& action : actions) {
    if (self->state.ending) {
      return;
    }
    std::visit(Doing{self}, action);
  }
}

Result<net::Welcome> give_life(RegistrarState& state, const net::Join& request) {
  net::Welcome welcome;
  TROUPE_ASSIGN_OR_RETURN(welcome.incarnation, state.roster->apply(request));
  welcome.store = state.options.welcome.store;
  welcome.store_checksum = state.options.welcome.store_checksum;
  state.options.give({request.life.process, welcome.incarnation});
  return welcome;
}

Result<net::Welcome> join(Registrar* self, const net::Join& request) {
  auto& state = self->state;
  if (request.life.incarnation == 0) {
    return give_life(state, request);
  }
  TROUPE_ASSIGN_OR_RETURN(const auto actions, state.roster->join(request));
  net::Welcome welcome;
  if (state.options.roster.layout.at(request.life.process).works()) {
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

// ---- states of ranks with a user program ----

Result<net::StateReply> start_state(const RegistrarOptions& options,
                                    const net::ReadStart& request) {
  if (!options.welcome.resume) {
    return Error(Errc::failed_precondition,
                 fmt::format("process {}: expected a run that is resumed", raw(request.process)));
  }
  return options.start_state(request);
}

void keep_state(Registrar* self, const Ref<net::KeepState>& piece) {
  const auto& options = self->state.options;
  auto promise = self->make_response_promise();
  if (!options.keep_state || !options.io) {
    return promise.deliver(to_caf(
        Error(Errc::failed_precondition, "state: expected a run whose ranks run a user program")));
  }
  offload(
      self, *options.io, [piece, keep = options.keep_state] { return keep(*piece); },
      [promise](const Status& kept) mutable {
        promise.deliver(kept ? caf::make_message(Ref<net::Done>(net::Done{}))
                             : caf::make_message(to_caf(kept.error())));
      });
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

caf::behavior registrar(Registrar* self, RegistrarOptions options) {
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
        carry_out(self, self->state.roster->lost(exited->life, exited->how, true));
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
      run_continuation,
      [self](const Ref<LinkLost>& lost) {
        carry_out(self, self->state.roster->lost(lost->life, lost->why, false));
      },
      [self](const Ref<StartNow>& start) { start_now(self, start->action); },
      [self](const Ref<StartDeadline>& late) { start_deadline(self, *late); },
      [self](const Ref<JoinDeadline>&) { join_deadline(self); },
      [self](const Ref<ReturnDeadline>& late) { return_deadline(self, *late); },
      [self](const Ref<EndAll>& request) { end_all(self, *request); },
  };
}

}  // namespace

caf::actor spawn_registrar(caf::actor_system& system, RegistrarOptions options) {
  return system.spawn(registrar, std::move(options));
}

}  // namespace troupe
