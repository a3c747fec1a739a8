@0xd3a5a0e6f17c4b29;
# Stopping, continuing and recovering: methods 21 `take_state`, 22 `restore`, 23 `regroup`, 24 `introduce`, 25 `ping`, 26 `actor_down`,
# 29 `read_start`, 30 `keep_state`, 50 `load_start`.
# Who:        the director asks trainers (state, restore, ping), evaluators (ping) and the supervisors of processes (regroup, introduce); `actor_down` goes
#             from the host where an exported actor ended to those that may know it. Where a user program trains, the processes of its ranks send
#             `read_start`, and that of rank 0 `keep_state` and `load_start`, to the director's process.
# Ordering:   a roll-back is regroup (all agents), introduce (all agents), restore (all trainers), each after all answers to the one before.
# Versioning: fields are only added, at the end, with defaults that mean "as before"; numbers are never reused. Whatever an old
#             reader would misunderstand raises `protocol_version`.
# Bulk:       arrays are plain little-endian float32, one after the other.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("troupe::wire");

struct TrainingState {
  # Segment 0: f32 parameters. Segment 1: f32 arrays of the optimizer, in the order of `arrays`.
  # Segment 2: f32 parameters of the best epoch, or none. Segment 3: bytes of `blobs`, in their order.

  epoch @0 :UInt32;
  # Set by the trainer: of the next step, from 0.

  step @1 :UInt64;
  # Set by the trainer: steps of `epoch` that are done.

  globalStep @2 :UInt64;
  # Set by the trainer: steps of the run that are done.

  lossSum @3 :Float64;
  # Set by the trainer: of `epoch` so far, over all ranks.

  lossWeight @4 :UInt64;
  # Set by the trainer: of `epoch` so far, over all ranks; `weight` of gradients.capnp.

  batchesLow @5 :UInt64;
  batchesHigh @6 :UInt64;
  # Set by the trainer: running digest of the run's batches. Default 0: none yet, or digest "off".

  optimizerSteps @7 :UInt64;
  # Set by the trainer.

  struct Piece {
    name @0 :Text;
    # At most 256 bytes.
    size @1 :UInt64;
    # Elements of its segment that belong to it.
  }

  arrays @8 :List(Piece);
  # Set by the trainer: what the optimizer keeps, in float32 elements. At most 64.

  blobs @9 :List(Piece);
  # Set by the trainer: what a user's own trainer saved, in bytes; names ascend. At most 65536.
}

struct TakeState {
  generation @0 :UInt32;
  # Set by the director.

  multipleOf @1 :UInt64;
  # Set by the director: the answer comes after the first step, counted over the run, that is a multiple of this and larger than
  # `afterStep`. Default 0: now.

  afterStep @2 :UInt64;
  # Set by the director.

  oldest @3 :UInt64;
  # Set by the director: copies of learned rows at steps before this one are no longer needed. Default 0: all are.
}

struct Restore {
  # Segments as TrainingState.

  generation @0 :UInt32;
  # Set by the director: higher than any before. Whoever has a higher one answers `fenced`.

  state @1 :TrainingState;
}

struct ReadStart {
  process @0 :UInt32;
  # Set by the process: its position in the job's layout. It gets the blobs of its own ranks.

  piece @1 :UInt64;
  # Set by the process: counts from 0. The answer to one past the end has no blobs.
}

struct LoadStart {
  # Answered when every holder has what the run begins with: a copy of learned rows, before `begin_learned`, or the rows of tensors by name,
  # after the program has made them.

  process @0 :UInt32;
  # Set by the process of rank 0: its position in the job's layout.

  tensors @1 :Bool;
  # Set by the process of rank 0: rows of tensors are wanted. Default false: learned rows.
}

struct KeepState {
  # Segments as TrainingState.

  piece @0 :UInt64;
  # Set by the process of rank 0: counts from 0 for every state, in order. A blob that goes on in the next piece has its name there, too.

  last @1 :Bool;
  # Set by the process of rank 0: the state is complete. It is kept before the answer. Default false: more pieces follow.

  state @2 :TrainingState;
}

struct Regroup {
  generation @0 :UInt32;
  # Set by the director: higher than any before.

  lostRanks @1 :List(UInt32);
  # Set by the director: ranks that it has lost; their hosts start them anew.
}

struct Introduce {
  generation @0 :UInt32;
}

struct Ping {
}

struct Pong {
  globalStep @0 :UInt64;
  # Set by a trainer: steps of the run that are done. Default 0: not a trainer, or none yet.

  waits @1 :Bool;
  # Set by a trainer: it waits for the shares of others, or for a command. Set by an evaluator: no block of its layer is here.

  work @2 :UInt64;
  # Set by trainers and evaluators: batches and blocks that are done. Default 0: none yet, or an older program.
}

struct ActorDown {
  target @0 :UInt64;
  # Set by the sender: the address that it exported.

  incarnation @1 :UInt64;
  # Set by the sender: counts the actors exported there, from 1. A repeat is ignored.

  why @2 :Text;
  # Set by the sender: one sentence, at most 4096 bytes.
}
