@0xb1593412143dbdc5;
# Whole batches: method 4, `sample_batch`.
# Who:        a trainer (or a session of a user's program) asks a sampler of another process, which samples the batch and has it
#             collected there.
# Ordering:   replies may overtake each other; they are matched by request id. Requests are idempotent: a batch is a pure function
#             of the graph, the job and its key.
# Versioning: fields are only added, at the end, with defaults that mean "as before"; numbers are never reused. Whatever an old
#             reader would misunderstand raises `protocol_version`.
# Bulk:       "segment n" is the n-th bulk segment of the frame: a plain little-endian array.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("troupe::wire");

enum Purpose {
  train @0;
  evaluate @1;  # draws from streams of its own
}

struct BatchKey {
  purpose @0 :Purpose;
  epoch @1 :UInt32;
  # From 0, below 2^31.
  number @2 :UInt64;
  # Global batch number in the epoch.
}

enum BatchOptions {
  own @0;  # other options than the job's: such a request is refused, because they do not travel
  job @1;  # those of the job's sections `sample` and `features`, which the receiver has
}

struct SampleBatch {
  # Segment 0: the seeds, global ids of `seedWidth` bytes each, order kept, duplicates allowed; if `links` the sources of all, then
  # their destinations.
  # Segment 1: i64, the times of the seeds; or empty: they have none, or that of the job.
  # Segment 2: f32, the labels of the links; or empty.

  key @0 :BatchKey;
  # Set by the trainer: names the batch; all draws follow from it.

  seedType @1 :UInt16;
  # Set by the trainer: position in the graph's list of node types. The sampler checks it. Default 0: the first type.

  options @2 :BatchOptions;
  # Set by the trainer: which options are meant. Default `own`.

  seedWidth @3 :UInt8 = 8;
  # Set by the trainer: bytes per id in segment 0: 4 where all seeds fit, else 8. Nothing else is valid.

  flow @4 :UInt64;
  # Set by the trainer: the batch in the trace of the run (docs/outputs.md). Any value; changes nothing else. Default 0: the run keeps
  # no trace.

  links @5 :Bool;
  # Set by the trainer: the seeds are links, edges of `edgeType`. Default false: nodes of `seedType`.

  edgeType @6 :UInt16;
  # Set by the trainer, if `links`: position in the graph's list of edge types. The sampler checks it.
}

struct BatchTrace {
  # Set by sampler and collector: what happened to the batch on its way. Units are in the names, else counts; all default to 0.
  sampleNs @0 :UInt64;        # from asking to sampled
  collectNs @1 :UInt64;       # from sampled to collected
  frontierNodes @2 :List(UInt64);   # by hop: nodes whose neighbours were asked for
  frontierRemote @3 :List(UInt64);  # of these, from other processes; as long as `frontierNodes`
  rows @4 :UInt64;            # rows looked up
  rowsRemote @5 :UInt64;      # of these, from other processes
  rowsCached @6 :UInt64;      # of these, found in the cache
  rowsCachedAtBest @7 :UInt64;      # by how much the reads of the best rows of the epoch grew; 0 where that is not measured
  rowsDevice @8 :UInt64;      # of `rows`, read in a device's memory; 0 of batches that travel
  rowsPinned @9 :UInt64;      # of `rows`, read by a device in pinned memory of the host; the same
}

struct ReadyBatch {
  # Segment 0, u32, one list behind the other: batch-local index of each seed; per node type the `hops` + 1 ends of hops; node ids per
  # node type (`idWidth` 4); if `disjoint` the trees of the nodes per node type; original ids per node type (`originalWidth` 4); per edge
  # type the offsets [rows + 1] and sources; per edge type the edge ids (`edgeIdWidth` 4) and the weights, as bits of f32; if `hasLinks`
  # sources and destinations of the positive links, then of the negative ones, as batch-local indices, their labels, as bits of f32,
  # and the candidates that triples share, as batch-local indices.
  # If `hasWalks`, the nodes of the walks [walks, columns] as batch-local indices, 2^32 - 1 where there is none, then the places in
  # them before which a walk returned to its seed.
  # The rows of an edge type follow from the ends of hops of its destination type, `frontier` and `subgraph`.
  # Segment 1, u64, likewise: node ids, original ids where their width is 8; per edge type edge ids where their width is 8, and i64
  # times; then i64 labels, one per seed, if `hasLabels`; then i64 times of the links; then the bytes of each of `columns`, in whole
  # words, zeros after the last row.
  # Segment 2, f32: the feature rows of the type with the most numbers, the first of these: of nodes, or after them of edges.
  # Segment 3, f32: the feature rows of the other node types; then the targets [seeds, `targetCols`]; then the feature rows of the other
  # edge types, one for each edge.

  struct Nodes {
    nodes @0 :UInt32;
    # Distinct nodes of this type in the batch.
    featureRows @1 :UInt32;
    # 0, or `nodes`, or only the distinct seeds, which come first.
    featureCols @2 :UInt32;
    # Numbers per row. Default 0: no features.
    originals @3 :UInt32;
    # Original ids: 0, or `nodes`, or only the distinct seeds.
  }

  struct Edges {
    destinationType @0 :UInt16;
    # Node type of the rows: the nodes whose neighbours were drawn.
    sourceType @1 :UInt16;
    # Node type of the neighbours.
    edges @2 :UInt32;
    hasEdgeIds @3 :Bool;
    hasWeights @4 :Bool;
    hasTimes @5 :Bool;
    # Default false: not asked for, or the graph does not have them.
    featureCols @6 :UInt32;
    # Numbers per row of features. Default 0: no rows.
  }

  enum Frontier {
    fresh @0;  # each hop asks for the nodes that are new
    all @1;    # each hop asks for all nodes so far
  }

  key @0 :BatchKey;
  # Set by the sampler: of the request.

  frontier @1 :Frontier;
  # Set by the sampler, from the options.

  hops @2 :UInt8;
  # Set by the sampler, from the options.

  seedType @3 :UInt16;
  # Set by the sampler: of the request.

  seeds @4 :UInt32;
  # Set by the sampler: number of seeds, duplicates counted.

  nodes @5 :List(Nodes);
  # Set by the sampler: one per node type of the graph, at least one.

  edges @6 :List(Edges);
  # Set by the sampler: one per edge type of the graph.

  idWidth @7 :UInt8 = 8;
  originalWidth @8 :UInt8 = 8;
  edgeIdWidth @9 :UInt8 = 8;
  # Set by the sampler: bytes per id: 4 where all ids of the kind fit, else 8. Nothing else is valid.

  hasLabels @10 :Bool;
  # Set by the collector: segment 1 ends with labels. Default false.

  targetCols @11 :UInt32;
  # Set by the collector: columns of multi-label targets. Default 0: none.

  trace @12 :BatchTrace;

  disjoint @13 :Bool;
  # Set by the sampler, from the options: each seed has a tree of its own, and segment 0 the trees of the nodes. Default false.

  struct Links {
    edgeType @0 :UInt16;
    sourceType @1 :UInt16;
    destinationType @2 :UInt16;
    # Of the nodes at the links' ends.
    positives @3 :UInt32;
    negatives @4 :UInt32;
    # A multiple of `positives`.
    hasLabels @5 :Bool;
    hasTimes @6 :Bool;
    edgesDrawn @7 :UInt64;
    # Negatives that are edges all the same, where the job wants none.
    candidates @8 :UInt32;
    # Nodes that triples of a chunk share as negatives, in the place of negative links.
  }

  hasLinks @14 :Bool;
  # Set by the sampler: the seeds are links. Default false.

  links @15 :Links;
  # Set by the sampler, if `hasLinks`.

  enum Subgraph {
    directional @0;
    bidirectional @1;
    induced @2;
  }

  struct Walks {
    columnTypes @0 :List(UInt16);
    # Node type of each column of the walks; the first is the seeds'.
    walks @1 :UInt32;
    restarts @2 :UInt32;
    undecided @3 :UInt64;
    # Steps of second-order walks that took the last of all rejected candidates.
  }

  hasWalks @17 :Bool;
  # Set by the sampler: the batch is one of random walks. Default false.

  walks @18 :Walks;
  # Set by the sampler, if `hasWalks`.

  subgraph @16 :Subgraph;
  # Set by the sampler, from the job's `sample.subgraph`. Unless directional, `hops` is 1, and an edge type has one row for every node
  # of its destination type. Default: only edges that were drawn.

  struct Column {
    # A named column of the nodes of a type, or of the edges: as many rows as these.
    ofEdges @0 :Bool;
    type @1 :UInt16;
    # Node or edge type.
    name @2 :Text;
    # At most 100 bytes.
    dtype @3 :Text;
    # As in graph.json: u8, f16, bf16, f32, f64, i32 or i64.
    shape @4 :List(UInt64);
    # Of a row: at most 3 extents.
  }

  columns @19 :List(Column);
  # Set by the collector, in the order of node types, then of edge types. Default: none.
}
