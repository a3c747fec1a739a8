@0xf04e6b92c8135d05;
# Steering a run: methods 16 `run_epoch`, 17 `infer_layer`, 18 `score`, 19 `keep_best`, 20 `finish`, 28 `read_parameters`, 31 `rank_epoch`.
# Who:        the director asks trainers (epochs, scores, keepBest, finish) and evaluators (inference, scores); they answer.
#             An evaluator asks a trainer for its parameters. Processes of ranks with a user program send `rank_epoch` to the director's.
# Ordering:   the director sends the next step only after all answers to the last one, so nothing depends on the link's order.
# Versioning: fields are only added, at the end, with defaults that mean "as before"; numbers are never reused. Whatever an old
#             reader would misunderstand raises `protocol_version`.
# Bulk:       "segment n" is the n-th bulk segment of the frame: a plain little-endian array.

using Cxx = import "/capnp/c++.capnp";
using Learned = import "learned.capnp";
$Cxx.namespace("troupe::wire");

struct Digest {
  # XXH3-128. Set by whoever computed it; all values are valid. Default 0: not computed.
  low @0 :UInt64;
  high @1 :UInt64;
}

struct EpochRequest {
  generation @0 :UInt32;
  # Set by the director: of the job; raised at every roll-back. Default 0: the first.

  epoch @1 :UInt32;
  # Set by the director: counts from 0.

  nextFollows @2 :Bool;
  # Set by the director: the trainer's next pass is the next epoch, whose first batches it may request before. Default
  # false: there is none, or the trainer scores first.
}

struct EpochCounters {
  # Set by the trainer: sums over the epoch but for `batchesInFlight`; all default to 0. Units are in the names, else counts.
  batches @0 :UInt64;         # trained
  seeds @1 :UInt64;           # in these batches
  nodes @2 :UInt64;           # distinct nodes per batch, summed
  edges @3 :UInt64;           # sampled
  waitNs @4 :UInt64;          # trainer without a batch to train
  sampleNs @5 :UInt64;        # from asking to sampled, summed over batches in flight
  collectNs @6 :UInt64;       # from sampled to collected, likewise
  trainNs @7 :UInt64;         # forward, backward, step
  reduceNs @8 :UInt64;        # gradients over the ranks
  frontierNodes @9 :List(UInt64);   # by hop: nodes whose neighbours were asked for
  frontierRemote @10 :List(UInt64); # of these, from other hosts; as long as `frontierNodes`
  rows @11 :UInt64;           # rows looked up
  rowsRemote @12 :UInt64;     # of these, from other hosts
  rowsCached @13 :UInt64;     # of these, found in the cache
  rowsCachedAtBest @14 :UInt64;     # with the best choice of as many rows to keep; 0 where that is not measured
  batchesInFlight @15 :UInt64; # that the rank may have requested and not trained on, at the end of the epoch
  learnedNs @16 :UInt64;      # trainer without learned rows of its batch
  learnedRows @17 :UInt64;    # read, duplicates counted
  learnedBytes @18 :UInt64;   # of rows read and gradients sent, with their ids
  learnedMessages @19 :UInt64; # requests for them and shares of gradients
  rowsDevice @20 :UInt64;     # of `rows`, read in a device's memory
  rowsPinned @21 :UInt64;     # of `rows`, read by a device in pinned memory of the host
}

struct EpochResult {
  rank @0 :UInt32;
  # Set by the trainer: its logical rank, 0..W-1. The director checks it.

  epoch @1 :UInt32;
  # Set by the trainer: echoed from the request.

  lossSum @2 :Float64;
  # Set by the trainer: of the losses of all ranks. May be infinite or NaN when training diverged.

  lossWeight @3 :UInt64;
  # Set by the trainer: what `lossSum` is a sum over, of all ranks; `weight` of gradients.capnp.

  wallNs @4 :UInt64;
  # Set by the trainer: ns from the request to this answer.

  counters @5 :EpochCounters;
  # Set by the trainer: of this rank. Default: all 0.

  batches @6 :Digest;
  # Set by the trainer: running digest of the run's batches at the end of the epoch, equal on all ranks. Default 0: digest "off".
}

struct RankEpoch {
  result @0 :EpochResult;
  # Set by the process of a rank with a user program. Loss and weight are 0.

  globalStep @1 :UInt64;
  # Set by it: steps of the run that are done.
}

struct InferRequest {
  round @0 :UInt32;
  # Set by the director: counts exact inferences from 0; parameters are read from the host's trainer at layer 0.

  layer @1 :UInt32;
  # Set by the director: 0..layers-1. The evaluator checks it.

  best @2 :Bool;
  # Set by the director: use the best epoch's parameters. Default false: the current ones.
}

struct InferResult {
  nodes @0 :UInt64;
  # Set by the evaluator: nodes computed.

  edges @1 :UInt64;
  # Set by the evaluator: edges aggregated.
}

struct ScoreRequest {
  epoch @0 :UInt32;
  # Set by the director: counts from 0.

  role @1 :Text;
  # Set by the director: name of the seed list: "train", "val" or "test"; at most 256 bytes. The receiver checks it.

  best @2 :Bool;
  # Set by the director, to a trainer: with the best epoch's parameters, all seeds of the list; else with those of now.
  # Default false. An evaluator has what it inferred last.

  nextFollows @3 :Bool;
  # Set by the director, to a trainer: as in EpochRequest, of the epoch after `epoch`.
}

struct ScoreResult {
  # Segment 0: u64 positions in the role's seed list.
  # Segment 1: f32 outputs [positions, cols].
  # Segment 2: i64 labels [positions], or with multi-label targets [positions, cols]; -1: unknown.
  # Segment 3: f32 numbers that are to be predicted [positions, cols], NaN: unknown; empty where labels are classes or targets.

  cols @0 :UInt32;
  # Set by the receiver: outputs per position. Default 0: none, segment 1 is empty.
}

struct KeepBest {
  epoch @0 :UInt32;
  # Set by the director: the epoch, from 0, whose parameters the trainers keep as the best so far.
}

struct Done {
  # The answer where there is nothing to say.
}

struct Finish {
  # The run is over: the trainer answers with its digests; nothing else is asked of it afterwards.
}

struct FinishResult {
  rank @0 :UInt32;
  # Set by the trainer: its logical rank, 0..W-1. The director checks it.

  parameters @1 :Digest;
  # Set by the trainer: of its parameters after the last step; equal on all ranks.

  bestParameters @2 :Digest;
  # Set by the trainer: of the best epoch's parameters. Default 0: no epoch was kept.

  tables @3 :List(Learned.TableDigest);
  # Set by the trainer of rank 0: of all learned rows, in ascending order of node types. Default: the job has none.
}

struct ReadParameters {
  best @0 :Bool;
  # Set by the evaluator: those of the best epoch. Default false: as they are now.
}

struct ParameterVector {
  # Segment 0: f32 parameters, in the order of the model's layout. The evaluator checks their number.

  generation @0 :UInt32;
  step @1 :UInt64;
  # Set by the trainer: where it stands; learned rows at this step belong to these parameters. Default 0.
}
