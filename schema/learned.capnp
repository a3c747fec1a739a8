@0xc41f0a7e95d2b38d;
# Learned rows: methods 11 `add_gradients`, 12 `read_learned`, 13 `keep_learned`, 14 `begin_learned`, 15 `digest_learned`,
# 43 `read_copy`, 44 `load_copy`, 45 `rank_entities`, 46 `follow_learned`, 47 `pull_learned`.
# Who:        each trainer asks the holders of parts. `begin_learned`, `keep_learned` and `digest_learned` come from rank 0 alone,
#             copies from the director's process. A holder that was started again asks another replica of its part (43, 46, 47).
# Ordering:   gradients and requests for rows may come in any order: the holder applies step s when all ranks' shares of s are there, in rank
#             order, and answers requests at step s when the steps before s are applied. A share is keyed by (generation, step, rank) and counted
#             once, however often it is sent. Gradients and requests for rows have a class each: what waits is in nobody's way.
# Versioning: fields are only added, at the end, with defaults that mean "as before"; numbers are never reused. Whatever an old
#             reader would misunderstand raises `protocol_version`.
# Bulk:       ids are u64 global ids, rows are float32, plain little-endian arrays.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("troupe::wire");

struct LearnedSection {
  nodeType @0 :UInt16;
  # Set by the trainer: position in the graph's list of node types; sections are in ascending order of it. The holder checks both.

  cols @1 :UInt32;
  # Set by the trainer: columns of the table, 1..65536. The holder checks them.

  nodes @2 :UInt64;
  # Set by the trainer: how many ids of segment 0 are this section's. Sections lie there one after another.
}

struct SparseGradients {
  # Segment 0: the nodes of all sections, all owned by the receiver's part; gradients of duplicates are added in this order.
  # Segment 1: f32 gradients of the sum of the rank's losses, section after section [nodes, cols].

  generation @0 :UInt32;
  # Set by the trainer: of the run. An older one is answered `fenced`.

  step @1 :UInt64;
  # Set by the trainer: counted over the run, from 0. One that is applied already is answered, not counted again.

  rank @2 :UInt32;
  # Set by the trainer: its logical rank, 0..W-1. The holder checks it.

  weight @3 :UInt64;
  # Set by the trainer: terms of the sum of losses. Default 0: no share; there are no sections then.

  sections @4 :List(LearnedSection);
  # Set by the trainer: one per table that the batch has nodes of, in this part.
}

struct ReadLearned {
  # Segment 0: as in SparseGradients; duplicates allowed, order kept.

  generation @0 :UInt32;
  # Set by the trainer: of the run.

  step @1 :UInt64;
  # Set by the trainer: the rows are those before the gradients of this step, at most one step ahead of what is applied.

  best @2 :Bool;
  # Set by the trainer: those of the best epoch, where such are kept. Default false.

  sections @3 :List(LearnedSection);
  # Set by the trainer.

  orLater @4 :Bool;
  # Set by the trainer: rows of a later step will do, too. Default false.
}

struct LearnedRows {
  # Segment 0: f32 rows, section after section [nodes, cols], as the request has them.
}

struct KeepLearned {
  generation @0 :UInt32;
  # Set by the trainer: of the run.

  step @1 :UInt64;
  # Set by the trainer: rows and state are copied as they are before the gradients of this step.

  best @2 :Bool;
  # Set by the trainer: the rows are those of the best epoch, in the place of the last such. Default false: for roll-backs.

  oldest @3 :UInt64;
  # Set by the trainer: copies for roll-backs to steps before this one are dropped.
}

struct BeginLearned {
  generation @0 :UInt32;
  # Set by the trainer: of the run, higher than any before. What waits for an older one is answered `fenced`.

  step @1 :UInt64;
  # Set by the trainer: rows and state are put back as they were at this step, from a copy. Default 0: as tables start, if there is no copy.
}

struct ReadCopy {
  step @0 :UInt64;
  # Set by the director's process: of a copy for roll-backs.

  nodeType @1 :UInt16;
  # Set by the director's process: position in the graph's list of node types.

  first @2 :UInt64;
  count @3 :UInt64;
  # Set by the director's process: which of the rows that the part owns; fewer come where the part ends.

  follower @4 :UInt64;
  # Set by a holder: of the copies made for it (FollowLearned). Default 0: of those kept for roll-backs.
}

struct CopyPiece {
  # Segment 0: u64 original ids. Segment 1: f32 rows [ids, columns]. Segment 2: f32 [ids, numbers of the optimizer's state of a row].
  # Segment 3: f32 rows of the best epoch, as segment 1; empty: none are kept.

  step @0 :UInt64;
  # Set by the holder: that of the copy.

  nodeType @1 :UInt16;
  # Set by the holder: position in the graph's list of node types.

  steps @2 :UInt64;
  # Set by the holder: steps that the table has seen, for its optimizer.

  last @3 :Bool;
  # Set by the holder: it has no further rows of this type. Default false.
}

struct LoadCopy {
  # Segments as CopyPiece. Sent to every holder, which takes the rows that its part owns.

  step @0 :UInt64;
  # Set by the director's process: that of the copy.

  nodeType @1 :UInt16;
  # Set by the director's process: position in the graph's list of node types.

  steps @2 :UInt64;
  # Set by the director's process: steps that the table has seen, for its optimizer.

  last @3 :Bool;
  # Set by the director's process: no rows follow, of any type or part; the holder checks that it has all of its own. Default false.
}

struct DigestLearned {
  generation @0 :UInt32;
  # Set by the trainer: of the run.

  step @1 :UInt64;
  # Set by the trainer: as in ReadLearned.
}

struct TableDigest {
  nodeType @0 :UInt16;
  # Set by the holder.

  rowsLow @1 :UInt64;
  rowsHigh @2 :UInt64;
  # Set by the holder: sum modulo 2^128, over the rows of the part, of XXH3-128(name of the type, original id, bytes of the row).

  bestLow @3 :UInt64;
  bestHigh @4 :UInt64;
  # Set by the holder: the same of the best epoch's rows, or of these where none are kept.
}

struct LearnedDigests {
  tables @0 :List(TableDigest);
  # Set by the holder: of all tables, in ascending order of node types.
}

struct RankEntities {
  # Segment 0: f32 queries [queries, cols]; of a perceptron first the matrix [hidden, cols] that rows are multiplied by and the factors [hidden]
  # of what is above 0 of query + product, then the queries [queries, hidden]. Segment 1: f32 keys of the answers [queries]. Segment 2: u64 offsets [queries + 1] into segment 3.
  # Segment 3: u64 places among the nodes of the receiver's part that a query does not count, ascending, none twice.

  generation @0 :UInt32;
  # Set by the trainer: of the run.

  step @1 :UInt64;
  # Set by the trainer: as in ReadLearned.

  best @2 :Bool;
  # Set by the trainer: as in ReadLearned.

  nodeType @3 :UInt16;
  # Set by the trainer: of the table whose rows are compared. The holder checks it.

  cols @4 :UInt32;
  # Set by the trainer: columns of the table. The holder checks them.

  score @5 :UInt16;
  # Set by the trainer: 0 TransE, 1 DistMult, 2 ComplEx, 3 RotatE, 4 a perceptron of both ends. The holder checks it.

  norm @6 :UInt16;
  # Set by the trainer: of distances, 1 or 2. The holder checks it.

  unit @7 :Bool;
  # Set by the trainer: rows are divided by their length first. Default false.

  tensor @8 :UInt32;
  # Set by the evaluator: number of the tensor whose rows are compared, as StoreTensor has it; generation, step and best are not read then. Default 0: the table of learned rows.

  hidden @9 :UInt32;
  # Set by the evaluator: of a perceptron, columns of its queries; the holder checks it. Default 0: there is none.
}

struct EntityCounts {
  # Segment 0: u64 rows of the part that score above the answer [queries]. Segment 1: u64 rows that are level with it [queries].
}

struct FollowLearned {
  follower @0 :UInt64;
  # Set by the holder that was started again: a number of its own, not 0. The same again begins anew.
}

struct LearnedState {
  generation @0 :UInt32;
  # Set by the holder: of the run.

  step @1 :UInt64;
  # Set by the holder: that of the copy made for the follower, of all steps before it.

  kept @2 :List(UInt64);
  # Set by the holder: steps of the copies for roll-backs, ascending, 1024 at most.
}

struct PullLearned {
  follower @0 :UInt64;
  # Set by the follower: as in FollowLearned.

  from @1 :UInt64;
  # Set by the follower: how many events it has; the next one is wanted, at once, or none.

  last @2 :Bool;
  # Set by the follower: once it has all, nothing more is noted for it. Default false.
}

struct LearnedEvent {
  # Segments as SparseGradients.

  kind @0 :UInt16;
  # Set by the holder: 0 nothing has come, 1 a share (SparseGradients), 2 KeepLearned, 3 BeginLearned. Default 0.

  generation @1 :UInt32;
  step @2 :UInt64;
  rank @3 :UInt32;
  weight @4 :UInt64;
  best @5 :Bool;
  oldest @6 :UInt64;
  sections @7 :List(LearnedSection);
  # Set by the holder: as in the message of that kind.
}
