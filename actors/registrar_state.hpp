#pragma once
/// \file registrar_state.hpp
/// What the registrar keeps, and how its parts call each other; only for actors/registrar*.cpp.
#include "actors/error.hpp"
#include "actors/message.hpp"
#include "actors/registrar.hpp"
#include "runtime/wire/messages.hpp"

#include <caf/all.hpp>

#include <chrono>
#include <cstdint>
#include <memory>

namespace troupe::registrar {

struct State {
  const char* name = "troupe.registrar";
  RegistrarOptions options;
  std::unique_ptr<Roster> roster;
  bool ending = false;
  std::uint64_t restarts = 0;  ///< of the ranks
};
using Registrar = caf::stateful_actor<State>;

/// To itself, after a pause.
struct StartNow {
  Roster::Action action;
};
struct JoinDeadline {};
struct ReturnDeadline {
  std::uint64_t restart = 0;
};
struct StartDeadline {
  net::ProcessInstance instance;
  std::chrono::milliseconds within;
};

// registrar.cpp
/// Does what the roster says.
void carry_out(Registrar* self, const Roster::Actions& actions);

// registrar_processes.cpp
/// \param start  a StartAgent or Spawn
void start_after(Registrar* self, std::chrono::milliseconds pause, const Roster::Action& start);
/// Does nothing for an instance that was lost with its agent during the pause: a later one follows.
void start_now(Registrar* self, const Roster::Action& action);
void start_deadline(Registrar* self, const StartDeadline& late);
void kill(Registrar* self, const Roster::Kill& kill);

}  // namespace troupe::registrar
