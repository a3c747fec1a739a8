#pragma once
/// \file registrar.hpp
/// The registrar: one per run with real processes, beside the director. Takes in the processes of the
/// run, tells all who is there, and has started again what is lost.
#include "runtime/base/executor.hpp"
#include "runtime/run/roster.hpp"
#include "runtime/wire/membership.hpp"
#include "runtime/wire/messages.hpp"

#include <caf/actor.hpp>
#include <caf/fwd.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace troupe {

/// All are called on the registrar's thread.
struct RegistrarOptions {
  RosterOptions roster;
  net::Welcome welcome;  ///< for processes with actors; the generation is filled in
  std::function<std::uint32_t()> generation;
  std::function<caf::actor(ProcessId)> member;  ///< proxy of its member actor, or null
  std::function<caf::actor(ProcessId)> agent;   ///< proxy of its agent actor, or null
  std::function<void(HostId, const net::ProcessInstance&)>
      start_agent;  ///< may be empty with `manual`
  std::function<void(const net::ProcessInstance&)>
      expect;  ///< this incarnation of a process may come now
  std::function<void(const net::ProcessInstance&)> give;  ///< may come by itself, with `manual`
  std::function<void(const net::ProcessInstance&, const std::string& why)>
      drop;                                                 ///< closes the link to it
  std::function<void(const Roster&)> changed;               ///< others are there
  std::function<void()> complete;                           ///< once: all are there
  std::function<void(const Error&)> give_up;                ///< the run cannot go on
  std::function<void(const std::string&)> say;              ///< a line about a loss
  std::function<void(const net::Notice&)> notice;           ///< of a process
  std::function<void(const net::RanksEnded&)> ranks_ended;  ///< those of a process; may be empty
  /// With a user program: all ranks begin again. Returns whether from a state, which start_state then
  /// gives; else from the beginning.
  std::function<bool(const std::string& why)> restart_ranks = {};
  /// With a user program: a rank has made the last step of an epoch; may be empty.
  std::function<void(const net::RankEpoch&)> rank_epoch = {};
  /// The state that ranks of a user program begin with, where `Welcome::resume` says so.
  std::function<Result<net::StateReply>(const net::ReadStart&)> start_state = {};
  /// With a user program: what gives holders the learned rows or tensors that the ranks begin with. That is called on
  /// `io`, may block.
  std::function<std::function<Status()>(const net::LoadStart&)> load_start = {};
  /// With a user program: keeps a state of the ranks. Called on `io`, may block; may be empty.
  std::function<Status(const net::KeepState&)> keep_state = {};
  std::shared_ptr<Executor> io = nullptr;           ///< For keep_state and load_start
  std::chrono::milliseconds join_deadline{60'000};  ///< until all are there for the first time
  /// With a user program: until all are there again, after a loss.
  std::chrono::milliseconds return_deadline{60'000};
  /// From the start of a process until it joins, doubled with every loss in a row; 0: not bounded.
  std::chrono::milliseconds start_deadline{0};
  std::chrono::milliseconds agent_start_deadline{0};
};

/// The link to a process is down for good.
struct LinkLost {
  net::ProcessInstance instance;
  std::string why;
};

/// Ends all processes. Answered with net::LinkTotals, summed over those that answered within
/// `deadline`.
struct EndAll {
  net::EndProcess how;
  std::chrono::milliseconds deadline{3000};
};

/// | receives                | replies               | errors                                         |
/// |-------------------------|-----------------------|------------------------------------------------|
/// | Ref<net::Join>          | Ref<net::Welcome>     | those of Roster::join and Roster::apply        |
/// | Ref<net::Ready>         | Ref<net::Done>        |                                                |
/// | Ref<net::ProcessExited> | Ref<net::Done>        |                                                |
/// | Ref<net::PeerUnreachable> | Ref<net::Done>      |                                                |
/// | Ref<net::Notice>        | Ref<net::Done>        |                                                |
/// | Ref<net::RanksEnded>    | Ref<net::Done>        |                                                |
/// | Ref<net::RankEpoch>     | Ref<net::Done>        |                                                |
/// | Ref<net::ReadStart>     | Ref<net::StateReply>  | failed_precondition: the run is not resumed    |
/// | Ref<net::KeepState>     | Ref<net::Done>        | those of keeping it                            |
/// | Ref<net::LoadStart>     | Ref<net::Done>        | those of loading them                          |
/// | Ref<LinkLost>           | none                  |                                                |
/// | Ref<EndAll>             | Ref<net::LinkTotals>  |                                                |
/// Peer loss: what ends or falls silent is started again by its agent, an agent by `start_agent`; two
///   processes without a link between them end the run
caf::actor spawn_registrar(caf::actor_system& system, RegistrarOptions options);

}  // namespace troupe
