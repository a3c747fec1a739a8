#pragma once
/// \file membership.hpp
/// Messages between the director's process and the other processes of a run, as plain data: joining,
/// who is there, starting and ending processes (docs/protocol.md).
#include "runtime/base/counters.hpp"
#include "runtime/base/digest.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/result.hpp"
#include "runtime/feature/embedding/messages.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace troupe::net {

/// One incarnation of a process.
struct ProcessInstance {
  ProcessId process{};
  std::uint32_t incarnation = 0;  ///< from 1
  friend auto operator<=>(const ProcessInstance&, const ProcessInstance&) = default;
};

/// A process outside the layout: a host started by hand, until the director has given it an incarnation.
constexpr std::uint32_t first_applicant = 1U << 31;
constexpr bool is_applicant(ProcessId process) {
  return raw(process) >= first_applicant;
}

/// The first message of a process. Answered with Welcome.
struct Join {
  ProcessInstance instance;  ///< incarnation 0: asks for one, of an agent that is started by hand
  std::string address;       ///< where it listens
  std::string version;       ///< of the program
  std::string name = {};     ///< with incarnation 0: what its job file calls the agent
};

/// What a process needs to know of the run; all empty for an agent. For a host that asks for an incarnation of
/// its agent: that incarnation and the store.
struct Welcome {
  std::string job;                   ///< the whole job as JSON
  std::string folder;                ///< that relative paths of the job are meant from
  std::string store;                 ///< the partitioned store
  std::uint64_t store_checksum = 0;  ///< of its description, as the director has it
  std::uint32_t generation = 0;
  bool resume = false;       ///< Ranks with a user program continue from a checkpoint (ReadStart)
  bool own_program = false;  ///< ranks run a program of the user's
  std::uint32_t incarnation = 0;  ///< given to an agent that is started by hand
  bool infers = false;      ///< Outputs of nodes (ReadStart) are inferred, and nothing is trained
  bool embeddings = false;  ///< With `infers`: those of the layer before the last
};

/// A process has all its actors, or cannot have them. Answered with Done.
struct Ready {
  ProcessInstance instance;
  Errc code = Errc::ok;  ///< else `why` says what is missing; starting it again cannot help
  std::string why;
};

/// All processes that are there. Answered with Done when the receiver has links to them, or is about
/// to.
struct Members {
  struct Entry {
    ProcessInstance instance;
    std::string address;
  };
  std::uint64_t number = 0;  ///< ascending; a lower one than the last is ignored
  std::uint32_t generation = 0;
  std::vector<Entry> entries;  ///< by process, ascending
};

/// To an agent: start a process of its host. Answered with Done when it runs.
struct SpawnProcess {
  ProcessInstance instance;
  std::string name;  ///< in messages and before its output
};
/// To an agent: end one at once, whatever it does. Answered with Done; ProcessExited follows.
struct KillProcess {
  ProcessInstance instance;
};
/// From an agent. Answered with Done.
struct ProcessExited {
  ProcessInstance instance;
  std::string how;  ///< "killed by signal 9 (Killed)", "exit code 3"
};

/// From a process: no link to another one within the recovery deadline. Answered with Done.
struct PeerUnreachable {
  ProcessInstance instance;
  ProcessInstance peer;
  std::string why;
};

/// Where a user's own program trains: the ranks of a process have ended their work. Answered with Done.
struct RanksEnded {
  ProcessInstance instance;
  Errc code = Errc::ok;
  std::string why;
  Digest batches;                        ///< running digest of the run
  std::uint64_t steps = 0;               ///< of the whole run
  std::vector<TableDigest> tables = {};  ///< of rank 0: of learned rows, whole
};
/// To a process: its ranks are to end with a checkpoint after the step under way. Answered with Done.
struct StopRanks {};

/// To a process: the run is over, end. Answered with LinkTotals.
struct EndProcess {
  Errc code = Errc::ok;
  std::string why;
};
/// What the links of a process have carried, and what it holds.
struct LinkTotals {
  std::uint64_t requests = 0;
  std::uint64_t resent = 0;
  std::uint64_t bytes = 0;  ///< sent
  std::uint64_t interruptions = 0;
  std::uint64_t max_in_flight_bytes = 0;
  std::uint64_t max_queued_bytes = 0;
  std::uint64_t store_copied_bytes = 0;  ///< of parts that are not mapped
  std::uint64_t scratch_bytes = 0;       ///< Memory kept for later batches

  static constexpr auto counters() {
    return std::to_array<Counter<LinkTotals>>(
        {{"requests", &LinkTotals::requests},
         {"resent", &LinkTotals::resent},
         {"bytes", &LinkTotals::bytes},
         {"interruptions", &LinkTotals::interruptions},
         {"max_in_flight_bytes", &LinkTotals::max_in_flight_bytes, CounterSum::largest},
         {"max_queued_bytes", &LinkTotals::max_queued_bytes, CounterSum::largest},
         {"store_copied_bytes", &LinkTotals::store_copied_bytes},
         {"scratch_bytes", &LinkTotals::scratch_bytes}});
  }
};
static_assert(sizeof(LinkTotals) == LinkTotals::counters().size() * sizeof(std::uint64_t),
              "every counter is in the list");

/// Of the messages above that tell how something went: `code` and `why`.
template <class Message>
Status status_of(const Message& message) {
  return message.code == Errc::ok ? ok_status() : Status(Error(message.code, message.why));
}
template <class Message>
void set_status(Message& message, const Status& status) {
  message.code = status ? Errc::ok : status.error().code();
  message.why = status ? std::string() : status.error().what();
}

/// State of a process' exact inference after a block; work counts over all layers.
struct InferenceState {
  ProcessId process{};
  std::uint32_t layer = 0;   ///< Layer of the block, from 0
  std::uint32_t layers = 0;  ///< 0: there is no such state
  std::uint64_t done = 0;
  std::uint64_t total = 0;
};

/// To the director's process, for the display of the run. Answered with Done.
struct Notice {
  std::string text;  ///< a line about a loss; empty: about a step or about exact inference
  Rank rank{};       ///< of the step that is done, and all below
  std::uint32_t epoch = 0;
  std::uint64_t step = 0;
  std::uint64_t steps = 0;
  std::uint64_t global_step = 0;
  double loss = 0;
  double lr = 0;
  double seconds = 0;
  InferenceState inference = {};  ///< with layers: the notice is about it, not about a step
};

}  // namespace troupe::net
