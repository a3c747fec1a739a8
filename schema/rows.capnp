@0xe83c9d51a7402b03;
# Reading rows of nodes and edges: method 2, `read_rows`. Method 27, `write_rows`, was here.
# Who:        a feature collector (or the exact inference of another host) asks the holder of the part that owns the nodes.
# Ordering:   replies may overtake each other; they are matched by request id. Reads are
#             idempotent.
# Versioning: fields are only added, at the end, with defaults that mean "as before"; numbers are never reused. Whatever an old
#             reader would misunderstand raises `protocol_version`.
# Bulk:       "segment n" is the n-th bulk segment of the frame: a plain little-endian array.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("troupe::wire");

enum SourceKind {
  features @0;  # the stored feature rows
  tensor @1;    # rows of a numbered tensor that the holder keeps for the job
}

struct RowSection {
  nodeType @0 :UInt16;
  # Set by the collector: position in the graph's list of node types; sections are in ascending order of it. The holder checks
  # both. Default 0: the first type.

  nodes @1 :UInt64;
  # Set by the collector: how many ids of segment 0 are this section's. Sections lie there one after another.

  withRows @2 :Bool = true;
  # Set by the collector: the reply carries rows. Default true; false asks for labels or original ids only.

  labelNodes @3 :UInt64;
  # Set by the collector: labels are wanted for the first so many nodes, 0..nodes. Default 0: none.
}

enum TableKind {
  edgeFeatures @0;  # the stored feature rows of the edges in the part's main lists
  nodeColumn @1;    # a named column of the part's nodes
  edgeColumn @2;    # a named column of the edges in its main lists
}

struct TableSection {
  # Rows of one table, read by place.

  type @0 :UInt16;
  # Set by the collector: position in the graph's list of node or edge types. Default 0: the first type.

  rows @1 :UInt64;
  # Set by the collector: how many places of segment 1 are this table's. Tables lie there one after another.

  kind @2 :TableKind;
  # Set by the collector. Default `edgeFeatures`.

  column @3 :UInt16;
  # Set by the collector: position in the type's list of columns. Tables are in ascending order of (kind, type, column), none twice.
  # The holder checks all three. Default 0: the first column, or features.
}

struct RowRequest {
  # Segment 0: the nodes of all sections, global ids of `nodeWidth` bytes each, all owned by the receiver's part, order kept,
  # duplicates allowed.
  # Segment 1: the places of the rows of all tables, `tableWidth` bytes each: entry numbers of edges, as hop replies have them
  # (sampling.capnp), positions of nodes inside the part; order kept, duplicates allowed. The holder checks them against the table.

  source @0 :SourceKind;
  # Set by the collector: which table. Default `features`.

  tensor @1 :UInt32;
  # Set by the collector: number of the tensor if `source` is `tensor`, else ignored. Default 0.

  withOriginalIds @2 :Bool;
  # Set by the collector: the reply carries original ids. Default false.

  nodeWidth @3 :UInt8 = 8;
  # Set by the collector: bytes per id in segment 0: 4 where all ids of the request fit, else 8. Nothing else is valid.

  flow @4 :UInt64;
  # Set by the collector: the batch in the trace of the run (docs/outputs.md), so that the holder's work shows up with it. Any
  # value; changes nothing else. Default 0: the run keeps no trace.

  sections @5 :List(RowSection);
  # Set by the collector: one per node type.

  tables @6 :List(TableSection);
  # Set by the collector, with source `features`: one per edge type whose features are wanted, and per column. Default: none.

  tableWidth @7 :UInt8 = 8;
  # Set by the collector: bytes per place in segment 1: 4 where all fit, else 8. Nothing else is valid.
}

struct RowReplySection {
  nodes @0 :UInt64;
  # Set by the holder: nodes of the request's section.

  rowBytes @1 :UInt32;
  # Set by the holder: bytes per row. Default 0: no rows.

  labels @2 :UInt64;
  # Set by the holder: class labels in segment 2; `labelNodes`, or 0 if the type has none.

  targets @3 :UInt64;
  # Set by the holder: numbers in segment 3; `labelNodes` times the target columns, or 0 if the type has none.
}

struct RowReplyTable {
  rows @0 :UInt64;
  # Set by the holder: rows of the request's table.

  rowBytes @1 :UInt32;
  # Set by the holder: bytes per row.
}

struct RowReply {
  # Segment 0: rows in the order of the request, in the stored dtype, those of sections, then those of tables; each section and table
  # begins at a multiple of 8 bytes, zeros between.
  # Segment 1: u64 original ids, one per node, or empty.
  # Segment 2: i64 class labels of the first `labelNodes` nodes of each section.
  # Segment 3: f32 targets [labelNodes, columns] of each section.

  sections @0 :List(RowReplySection);
  # Set by the holder: as many as the request has.

  tables @1 :List(RowReplyTable);
  # Set by the holder: as many as the request has.
}
