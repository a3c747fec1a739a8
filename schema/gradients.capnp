@0x9b7741c2f5d86a04;
# Summing gradients over the ranks: method 3, `reduce_gradients`.
# Who:        each trainer sends its share of a chunk to the rank that owns the chunk; the owner answers all of them with the sum.
# Ordering:   shares arrive in any order and are added in rank order; the answer comes when all are in. A share is keyed by
#             (generation, step, rank) and the chunk, and counted once, however often it is sent.
# Versioning: fields are only added, at the end, with defaults that mean "as before"; numbers are never reused. Whatever an old
#             reader would misunderstand raises `protocol_version`.
# Bulk:       segment 0 is a plain little-endian float32 array in both messages.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("troupe::wire");

struct GradientChunk {
  # Segment 0: f32 gradient of the sum of the rank's losses, or empty with weight 0.

  generation @0 :UInt32;
  # Set by the trainer: of the job; raised at every roll-back. Default 0: the first.

  step @1 :UInt64;
  # Set by the trainer: steps since the start of the run, from 0.

  rank @2 :UInt32;
  # Set by the trainer: its logical rank, 0..W-1. The owner checks it.

  weight @3 :UInt64;
  # Set by the trainer: what `lossSum` is a sum over: labelled seeds of its batch, or known targets, terms of links, triples, or
  # the whole-number weights of the seeds' classes. Default 0: no share; segment 0 must be empty.
  # Of the end of a user program's step: its epoch, from 0, the same of all ranks, with segment 0 empty.

  lossSum @4 :Float64;
  # Set by the trainer: of the losses of its batch.

  hasBatch @5 :Bool;
  # Set by the trainer: `batchLow` and `batchHigh` are the digest of its batch. Default false: it has none in this step, or the
  # digest is off, or the chunk is not rank 0's.

  batchLow @6 :UInt64;
  batchHigh @7 :UInt64;
  # Set by the trainer. Default 0.

  offerNetwork @8 :Text;
  # Set by the trainer in its share to rank 0: devices of one network can exchange vectors. At most 200 bytes. Default empty: this
  # rank's cannot, or not in this generation.

  offerDevice @9 :Text;
  # Set by the trainer with `offerNetwork`: tells its device from others of the network. At most 200 bytes. Default empty.

  offerJoined @10 :Bool;
  # Set by the trainer with `offerNetwork`: it has joined the communicator of this generation. Default false.
}

struct GradientSum {
  # Segment 0: f32 sum over ranks divided by `weight`; zeros if that is 0.
  # Segment 1: digests of the step's batches in rank order, 16 bytes each (low, high); only from rank 0.

  step @0 :UInt64;
  # Set by the owner: echoed from the request.

  weight @1 :UInt64;
  # Set by the owner: sum of the requests' `weight`.

  lossSum @2 :Float64;
  # Set by the owner: over all ranks, added in rank order.

  communicator @3 :List(UInt64);
  # Set by rank 0: the id of a communicator of the ranks' devices, which each rank then joins; the same in all steps of a
  # generation that have one. At most 16 words, of the library that made it. Default empty: there is none.

  byDevices @4 :Bool;
  # Set by rank 0: all ranks have joined. From the next step of the generation on vectors stay on the devices; shares and sums have
  # none, and a rank that has all sums of a step knows that all ranks have their share ready. Default false.
}
