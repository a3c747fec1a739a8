@0xd5a1b0c46e7f2202;
# One hop of neighbour sampling: method 1, `sample_neighbors`.
# Who:        a sampler asks the holder of the part that owns the frontier nodes; the holder answers.
# Ordering:   replies may overtake each other; they are matched by request id. Requests are idempotent: the same request gets the
#             same reply, from any replica, any number of times (docs: design, determinism).
# Versioning: fields are only added, at the end, with defaults that mean "as before"; numbers are never reused. A change of what is
#             drawn raises `sampling_version`; a change that an old reader would misunderstand raises `protocol_version`.
# Bulk:       "segment n" is the n-th bulk segment of the frame: a plain little-endian array.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("troupe::wire");

enum Direction {
  in @0;   # to the sources of the in-edges
  out @1;  # to the targets of the out-edges
}

struct HopRequest {
  # Segment 0: the frontier, global ids of `frontierWidth` bytes each, all owned by the receiver's part, order kept,
  # duplicates allowed.

  edgeType @0 :UInt16;
  # Set by the sampler: position in the graph's list of edge types. The holder checks it. Default 0: the first type.

  nodeType @10 :UInt16;
  # Set by the sampler: position in the graph's list of node types, of the frontier: the edge type's destination for `in`, its
  # source for `out`. The holder checks it. Default 0: the first type.

  direction @1 :Direction;
  # Set by the sampler, from the job's `sample.edge_dir`. Default `in`.

  fanout @2 :Int32 = -1;
  # Set by the sampler: neighbours per node, >= 0; -1: all of them. Below -1 the frame is corrupt.

  replace @3 :Bool;
  # Set by the sampler: draw with replacement. Default false.

  withEdgeIds @4 :Bool;
  # Set by the sampler: the reply carries original edge ids. Default false, because they double the reply.

  keyLow @5 :UInt32;
  keyHigh @6 :UInt32;
  # Set by the sampler: the two words of the Philox key of this (edge type, hop, epoch, batch). Any values.

  firstPosition @7 :UInt64;
  # Set by the sampler: where to go on in the neighbour list of the first frontier node, from `resumePosition` of the reply that
  # was cut. Default 0: at its start.

  maxEdges @8 :UInt64 = 0xffffffffffffffff;
  # Set by the sampler: most edges in the reply; the holder returns at least one if there is any. Default: no limit.

  frontierWidth @9 :UInt8 = 8;
  # Set by the sampler: bytes per id in segment 0: 4 where all ids of the request fit, else 8. Nothing else is valid.

  flow @11 :UInt64;
  # Set by the sampler: the batch in the trace of the run (docs/outputs.md), so that the holder's work shows up with it. Any value;
  # changes nothing else. Default 0: the run keeps no trace.
}

struct HopReply {
  # Segment 0: u32 per covered frontier node, how many neighbours it got. The first so many frontier nodes are covered.
  # Segment 1: the neighbours, global ids of `neighbourWidth` bytes each; as many as segment 0 adds up to.
  # Segment 2: u64 original edge ids, as many as neighbours; or empty.

  neighbourWidth @0 :UInt8 = 8;
  # Set by the holder: bytes per id in segment 1, as the store has them: 4 or 8.

  resumePosition @1 :UInt64;
  # Set by the holder: not 0: the last covered node's list was cut by `maxEdges`; ask for it again with this `firstPosition`.
  # Default 0: the last covered node is complete.
}
