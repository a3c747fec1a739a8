@0xa9b3c1e07d5f4a62;
# Processes of a run: methods 32 `join`, 33 `ready`, 34 `members`, 35 `spawn_process`, 36 `kill_process`, 37 `process_exited`,
# 38 `end_process`, 39 `notice`, 40 `ranks_ended`, 41 `stop_ranks`, 42 `peer_unreachable`.
# Who:        every process sends `join`, then `ready` or nothing, then notices, to the director's process; agents also `process_exited`.
#             The director's process sends `members` and `end_process` to all, `spawn_process` and `kill_process` to agents.
# Ordering:   `join` first. A `members` with a lower number than the last is ignored.
# Versioning: fields are only added, at the end, with defaults that mean "as before"; numbers are never reused. Whatever an old
#             reader would misunderstand raises `protocol_version`. Processes of different versions of the program do not run together.

using Cxx = import "/capnp/c++.capnp";
using Learned = import "learned.capnp";
$Cxx.namespace("troupe::wire");

struct ProcessInstance {
  process @0 :UInt32;
  # Position in the job's layout.

  incarnation @1 :UInt32;
  # Counts the processes that had this position, from 1. With `manual` agents count from a number that the director draws.
}

struct Join {
  instance @0 :ProcessInstance;

  address @1 :Text;
  # Set by the process: where it listens, "HOST:PORT". At most 256 bytes.

  version @2 :Text;
  # Set by the process: version, digest of the library's sources, sampling and wire version. At most 256 bytes. Another than the
  # director's is refused.

  name @3 :Text;
  # Set by a host that asks for the place of an agent (incarnation 0): the agent's name in its job file. At most 256 bytes. Another
  # than in the director's layout is refused.
}

struct Welcome {
  job @0 :Text;
  # Set by the director: the whole job as JSON, at most 1 MiB. Default, as the others: empty, for agents.

  folder @1 :Text;
  # Set by the director: that relative paths of the job are meant from. At most 4096 bytes.

  store @2 :Text;
  # Set by the director: folder of the partitioned store. At most 4096 bytes.

  storeChecksum @3 :UInt64;
  # Set by the director: of the store's description. A process with another one does not join.

  generation @4 :UInt32;

  resume @5 :Bool;
  # Set by the director: ranks with a user program continue from a checkpoint, which their processes ask for with `read_start`.

  ownProgram @6 :Bool;
  # Set by the director: ranks run a program of the user's. A process that has none, or one that is not wanted, does not join.

  incarnation @7 :UInt32;
  # Set by the director: of the agent that a host may now start. Default 0: the process did not ask for one.

  infers @8 :Bool;
  # Set by the director: nothing is trained, and outputs of some nodes are inferred, which processes ask for with `read_start`.

  embeddings @9 :Bool;
  # Set by the director, with `infers`: the outputs are the inputs of the last layer.
}

struct Ready {
  instance @0 :ProcessInstance;

  code @1 :UInt16;
  # Set by the process: number of an Errc. Default 0: it has all its actors.

  why @2 :Text;
  # Set by the process: one sentence, at most 4096 bytes.
}

struct Members {
  number @0 :UInt64;
  generation @1 :UInt32;

  struct Entry {
    instance @0 :ProcessInstance;
    address @1 :Text;
    # At most 256 bytes.
  }
  entries @2 :List(Entry);
  # Set by the director: processes ascend; at most 65536.
}

struct SpawnProcess {
  instance @0 :ProcessInstance;

  name @1 :Text;
  # Set by the director: for messages and before the output of the process. At most 256 bytes.
}

struct KillProcess {
  instance @0 :ProcessInstance;
}

struct ProcessExited {
  instance @0 :ProcessInstance;

  how @1 :Text;
  # Set by the agent: at most 4096 bytes.
}

struct RanksEnded {
  instance @0 :ProcessInstance;

  code @1 :UInt16;
  # Set by the process: number of an Errc. Default 0: all its ranks' functions have returned well.

  why @2 :Text;
  # At most 4096 bytes.

  batchesLow @3 :UInt64;
  batchesHigh @4 :UInt64;
  # Set by the process: running digest of the run.

  steps @5 :UInt64;

  tables @6 :List(Learned.TableDigest);
  # Set by the process of rank 0: of all tables of learned rows, whole, in ascending order of node types; at most 65536. Default: none.
}

struct StopRanks {
}

struct PeerUnreachable {
  instance @0 :ProcessInstance;
  # Set by the process: itself.

  peer @1 :ProcessInstance;

  why @2 :Text;
  # At most 4096 bytes.
}

struct EndProcess {
  code @0 :UInt16;
  # Set by the director: number of an Errc. Default 0: the run went well.

  why @1 :Text;
  # At most 4096 bytes.
}

struct LinkTotals {
  requests @0 :UInt64;
  resent @1 :UInt64;
  bytes @2 :UInt64;
  interruptions @3 :UInt64;
  maxInFlightBytes @4 :UInt64;
  maxQueuedBytes @5 :UInt64;
  storeCopiedBytes @6 :UInt64;
  # Of parts that the process has copied into its memory instead of mapping them.

  scratchBytes @7 :UInt64;
  # Memory that the process has kept for later batches. Default 0: a process without batches.
}

struct Notice {
  text @0 :Text;
  # Set by the process: one line, at most 4096 bytes. Default: the notice is about a step or about exact inference, which the rest describes.

  rank @1 :UInt32;
  epoch @2 :UInt32;
  step @3 :UInt64;
  steps @4 :UInt64;
  globalStep @5 :UInt64;
  loss @6 :Float64;
  lr @7 :Float64;
  seconds @8 :Float64;

  struct Inference {
    process @0 :UInt32;
    # Set by the process: its position in the job's layout.

    layer @1 :UInt32;
    # Layer of the block that is computed, from 0.

    layers @2 :UInt32;
    # More than `layer`. Default 0: the notice is about a step.

    done @3 :UInt64;
    # Work of the process that is done, over all layers. Only its ratio to `total` matters; at most `total`.

    total @4 :UInt64;
  }
  inference @9 :Inference;
}
