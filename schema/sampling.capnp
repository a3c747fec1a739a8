@0xd5a1b0c46e7f2202;
# One hop of neighbor sampling: method 1, `sample_neighbors`. Questions for batches of links: methods 5, `has_edges`, and 8,
# `find_nodes`. Questions of programs about edges: methods 9, `count_edges`, and 10, `find_edges`.
# Who:        a sampler asks the holder of the part that owns the frontier nodes, once per hop, along all edge types; the holder
#             answers.
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

struct HopFrontier {
  nodeType @0 :UInt16;
  # Set by the sampler: position in the graph's list of node types. The holder checks it. Default 0: the first type.

  nodes @1 :UInt64;
  # Set by the sampler: how many ids of segment 0 are this frontier's. Frontiers lie there one after another.

  hasTimes @3 :Bool;
  # Set by the sampler: segment 2 has as many times of this frontier: those of the nodes' trees, which edges with times are held
  # against. Default false: no edge is left out.

  hasTrees @2 :Bool;
  # Set by the sampler: segment 1 has as many trees of this frontier. Default false: all nodes are drawn for tree 0.
}

struct HopSection {
  # One edge type of a request.

  edgeType @0 :UInt16;
  # Set by the sampler: position in the graph's list of edge types; sections are in ascending order of it. The holder checks both.
  # Default 0: the first type.

  frontier @1 :UInt32;
  # Set by the sampler: position in `frontiers`; the node type there is the edge type's destination for `in`, its source for `out`.

  fanout @2 :Int32 = -1;
  # Set by the sampler: neighbors per node, >= 0; -1: all of them. Below -1 the frame is corrupt.

  keyLow @3 :UInt32;
  keyHigh @4 :UInt32;
  # Set by the sampler: the two words of the Philox key of this (edge type, hop, epoch, batch). Any values.

  firstPosition @5 :UInt64;
  # Set by the sampler: where to continue in the neighbor list of the first frontier node, from `resumePosition` of the reply that
  # was cut. Default 0: at its start.

  excluded @9 :UInt64;
  # Set by the sampler: how many pairs of segment 3 are this section's: edges that are left out of the lists, as the seeds of a batch
  # of links. Default 0.

  within @10 :UInt32;
  # Set by the sampler, with `fanout` -1: one more than the position in `frontiers` of a set of nodes of the neighbors' type; the reply
  # has the neighbors that are in it. Default 0: all of them.

  withEdgeIds @6 :Bool;
  withWeights @7 :Bool;
  withTimes @8 :Bool;
  withEntries @11 :Bool;
  # Set by the sampler, from the job's `sample.edge_data`, where the edge type has it: the reply carries it for each neighbor. Entries:
  # the edges' places in the holder's main lists, by which rows of their features are requested (rows.capnp). Default false.
}

struct HopRequest {
  # Segment 0: the nodes of all frontiers, global ids of `frontierWidth` bytes each, all owned by the receiver's part unless they are a
  # set of neighbors, order kept, duplicates allowed.
  # Segment 1: u32, the trees that nodes are drawn for in disjoint batches, of the frontiers that have them; or empty.
  # Segment 2: i64, the times of these trees, of the frontiers that have them; or empty.
  # Segment 3: u64, pairs for section after section, ascending in each and none twice: the place of a node in the section's frontier,
  # and the global id of a neighbor; or empty.

  direction @0 :Direction;
  # Set by the sampler, from the job's `sample.edge_dir`. Default `in`.

  choice @1 :UInt16;
  # Set by the sampler, from the job's `sample.choice`: position in the table of choices (runtime/sample/choice/choices.cpp), which
  # is the same at both ends. Above it the frame is corrupt. Default 0: uniform.

  replace @2 :Bool;
  # Set by the sampler: draw with replacement. Default false.

  maxEdges @3 :UInt64 = 0xffffffffffffffff;
  # Set by the sampler: most edges in the reply; the holder returns at least one if there is any. Default: no limit.

  frontierWidth @4 :UInt8 = 8;
  # Set by the sampler: bytes per id in segment 0: 4 where all ids of the request fit, else 8. Nothing else is valid.

  flow @5 :UInt64;
  # Set by the sampler: the batch in the trace of the run (docs/outputs.md), so that the holder's work shows up with it. Any value;
  # changes nothing else. Default 0: the run keeps no trace.

  frontiers @6 :List(HopFrontier);
  # Set by the sampler: one per node type whose lists are requested whole, one per section that continues a reply, and sets that
  # sections are answered within.

  sections @7 :List(HopSection);
  # Set by the sampler: one per edge type.

  inclusive @8 :Bool;
  # Set by the sampler, from the job's `sample.time.until`: of frontiers with times, edges at the time itself are taken too. Default
  # false: only earlier ones.

  window @9 :UInt64;
  # Set by the sampler, from the job's `sample.time.window`: not 0: none that are earlier than the time minus this, below 2^63. Above
  # it the frame is corrupt. Default 0: however old.
}

struct HopReplySection {
  nodes @0 :UInt64;
  # Set by the holder: frontier nodes covered, the first so many.

  neighbourWidth @1 :UInt8 = 8;
  # Set by the holder: bytes per id of the section in segment 1, as the store has them: 4 or 8.

  resumePosition @2 :UInt64;
  # Set by the holder: not 0: the last covered node's list was cut by `maxEdges`; request it again with this `firstPosition`.
  # Default 0: the last covered node is complete.

  hasEdgeIds @3 :Bool;
  hasWeights @4 :Bool;
  hasTimes @5 :Bool;
  hasEntries @6 :Bool;
  # Set by the holder, as the section was requested: segment 2 has it for the section's neighbors. Default false.

  listed @7 :UInt64;
  # Set by the holder, where few of the covered nodes got neighbors: one more than their number; segments 0 and 3 are about these
  # alone. Default 0: segment 0 is about all covered nodes.
}

struct HopReply {
  # Segment 0: u32 per covered frontier node, or per listed one, how many neighbors it got, above 0 if listed; section after section.
  # Segment 1: the neighbors, global ids, as many as segment 0 adds up to; each section begins at a multiple of 8 bytes, zeros between.
  # Segment 2: u64 original edge ids, then u64 entry numbers, then i64 times, then f32 weights; of each those of the sections that have
  # it, as many as neighbors.
  # Segment 3: u32 per listed node, its place in the frontier, ascending in each section; or not there, if there are none.

  sections @0 :List(HopReplySection);
  # Set by the holder: the request's first so many sections are answered. Those that are missing, and what is missing of the last
  # one, are requested again.
}

struct FindNodes {
  # Where nodes with certain original ids have gone: asked of the part whose slice of the directory has them.
  # Segment 0: u64, places in the slice: original ids less the slice's first; with `byEdge` numbers of edges.

  byEdge @2 :Bool;
  # Set by the sampler, where nodes are drawn by degree: the holder finds the nodes that edges with these numbers in its slice end at
  # (docs/store.md, the ends of edges). Default false.

  edgeType @3 :UInt16;
  # Set by the sampler, with `byEdge`: position in the graph's list of edge types. The holder checks it. Default 0: the first type.

  out @4 :Bool;
  # Set by the sampler, with `byEdge`: the nodes are sources. Default false: destinations.

  nodeType @0 :UInt16;
  # Set by the sampler: position in the graph's list of node types. The holder checks it. Default 0: the first type.

  flow @1 :UInt64;
  # Set by the sampler: the batch in the trace of the run. Any value; changes nothing else. Default 0: the run keeps no trace.
}

struct NodesFound {
  # Segment 0: u64, the global ids, in the order of the request.
}

struct HasEdges {
  # Whether the graph has edges: asked of the part that owns the nodes.
  # Segment 0: u64, nodes of the receiver's part, global ids.
  # Segment 1: u64, as many neighbors, global ids.

  edgeType @0 :UInt16;
  # Set by the sampler: position in the graph's list of edge types. The holder checks it. Default 0: the first type.

  out @1 :Bool;
  # Set by the sampler: the lists of out-edges are read. Default false: those of in-edges.

  flow @2 :UInt64;
  # Set by the sampler: the batch in the trace of the run. Any value; changes nothing else. Default 0: the run keeps no trace.
}

struct EdgesThere {
  # Segment 0: u8, in the order of the request: 1 if the edge is there, 0 if not. Nothing else is valid.
}

struct CountEdges {
  # How many edges nodes have: asked of the part that owns the nodes.
  # Segment 0: u64, nodes of the receiver's part, global ids.

  edgeType @0 :UInt16;
  # Set by the rank: position in the graph's list of edge types. The holder checks it. Default 0: the first type.

  out @1 :Bool;
  # Set by the rank: the lists of out-edges are read. Default false: those of in-edges.
}

struct EdgesCounted {
  # Segment 0: u64, the lengths of the lists, in the order of the request.
}

struct FindEdges {
  # Which nodes edges are between: asked of every part. Each edge is in the lists of one.
  # Segment 0: u64, original edge ids, ascending, none twice.

  edgeType @0 :UInt16;
  # Set by the rank: position in the graph's list of edge types. The holder checks it. Default 0: the first type.
}

struct EdgesFound {
  # Segment 0: u64, places in the request of the edges that the part has, in any order.
  # Segment 1: u64, as many sources, global ids.
  # Segment 2: u64, as many destinations, global ids.
  # Segment 3: u64, as many entry numbers in the part's main lists, by which rows of its edge tables are read. Older holders give none.
}
