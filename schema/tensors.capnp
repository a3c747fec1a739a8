@0xb57e2f1c04d9a683;
# Tensors by name, for user programs: methods 51 `make_tensor`, 52 `write_tensor`, 53 `read_tensor`, 54 `keep_tensors`, 55 `drop_tensors`,
# 56 `read_tensor_copy`, 57 `load_tensors`.
# Who:        ranks of a user program ask the holders of parts. `make_tensor` and `keep_tensors` come from rank 0 alone, while the others wait,
#             `drop_tensors` from its process; copies are read and loaded by the process that has the checkpoints, the director's.
# Ordering:   operations of one writer on one part are numbered without gaps, from 1, and applied in that order, each once, at every replica of
#             the part before the writer goes on. Reads come between two operations. A copy has what was written before it, whoever reads it when.
# Versioning: fields are only added, at the end, with defaults that mean "as before"; numbers are never reused. Whatever an old
#             reader would misunderstand raises `protocol_version`.
# Bulk:       ids are u64, rows are plain little-endian arrays of the tensor's numbers; bf16 and f16 as their words.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("troupe::wire");

struct MakeTensor {
  writer @0 :UInt32;
  # Set by the writer: its rank.

  operation @1 :UInt64;
  # Set by the writer: counts its operations on this part, from 1, without gaps. One that the holder has is answered, not applied again;
  # one that leaves a gap is refused: the holder has lost what came before.

  tensor @2 :UInt32;
  # Set by the writer: its number, which all ranks count alike. One that was used is never used again.

  gone @3 :Bool;
  # Set by the writer: the tensor is deleted. Default false: it is made, and the fields below say how.

  name @4 :Text;
  # Set by the writer: at most 256 bytes; its start depends on it.

  of @5 :UInt16;
  # Set by the writer: 0 rows of nodes, 1 of edges by original edge id, 2 of nothing. The holder checks it.

  type @6 :UInt16;
  # Set by the writer: position in the graph's list of node or edge types. The holder checks that of nodes.

  first @7 :UInt64;
  count @8 :UInt64;
  # Set by the writer: the rows of the receiver's part; those of nodes are its nodes, which the holder checks.

  dtype @9 :UInt16;
  # Set by the writer: 0 u8, 2 i32, 3 i64, 6 f16, 7 bf16, 8 f32, 9 f64. The holder checks it.

  cols @10 :UInt32;
  # Set by the writer: numbers of a row, from 1; of at most 2^20 bytes.

  start @11 :UInt16;
  # Set by the writer: 0 zeros; of float numbers also 1 uniform, 2 normal, by Philox from (name, original id, place in the row).

  size @12 :Float64;
  # Set by the writer: bound, or standard deviation.

  seed @13 :UInt64;
  # Set by the writer: that of the job.
}

struct WriteTensor {
  # Segment 0: u64 ids of rows, all of the receiver's part, written in order; or empty. Segment 1: rows [ids, or count].

  writer @0 :UInt32;
  operation @1 :UInt64;
  # As in MakeTensor.

  tensor @2 :UInt32;

  add @3 :Bool;
  # Set by the writer: adds to the rows; whole numbers wrap. Default false: replaces them.

  rowBytes @4 :UInt64;
  # Set by the writer: of the tensor. The holder checks it.

  first @5 :UInt64;
  count @6 :UInt64;
  # Set by the writer: `count` rows from `first` on, in the place of ids. Default 0: the ids say which.
}

struct ReadTensor {
  # Segment 0: as in WriteTensor; duplicates allowed.

  tensor @0 :UInt32;

  rowBytes @1 :UInt64;
  # Set by the rank: of the tensor. The holder checks it.

  first @2 :UInt64;
  count @3 :UInt64;
  # Set by the rank: as in WriteTensor.
}

struct TensorRows {
  # Segment 0: rows in the order of the request.
}

struct KeepTensors {
  writer @0 :UInt32;
  operation @1 :UInt64;
  # As in MakeTensor.

  step @2 :UInt64;
  # Set by the writer: name of the copy, which takes the place of the one before.
}

struct DropTensors {
  step @0 :UInt64;
  # Set by the process of rank 0: name of the copy that is no longer needed; another one stays.
}

struct ReadTensorCopy {
  step @0 :UInt64;
  # Set by the director's process: name of the copy.

  tensor @1 :UInt32;
  row @2 :UInt64;
  # Set by the director's process: where to go on: the first tensor with this number or a higher one, and of the one with this number the
  # row, counted from the part's first one. Default 0: at the beginning.
}

struct CopiedTensors {
  # Segment 0: u64 original ids of the rows, of nodes alone. Segment 1: u64 pairs of a first row and a number of rows, of other tensors.
  # Segment 2: rows. Rows are those in blocks that were written; all others are as the tensor starts.

  step @0 :UInt64;
  # Set by the holder: name of the copy.

  name @1 :Text;
  # Set by the holder: at most 256 bytes. Empty: there is no tensor, and no rows.

  of @2 :UInt16;
  type @3 :UInt16;
  dtype @4 :UInt16;
  cols @5 :UInt32;
  start @6 :UInt16;
  size @7 :Float64;
  seed @8 :UInt64;
  # Set by the holder: as in MakeTensor. Whoever loads them compares them with those of the tensor of that name.

  last @9 :Bool;
  # Set by the holder: no rows follow. Default false.

  nextTensor @10 :UInt32;
  nextRow @11 :UInt64;
  # Set by the holder: what to ask for next, unless `last`.
}

struct LoadTensors {
  # Segments as CopiedTensors. Sent to every replica of every part, which takes the rows that its part has.

  step @0 :UInt64;
  # Set by the director's process: name of the copy.

  name @1 :Text;
  # Set by the director's process: at most 256 bytes. Empty: there is no tensor, and no rows.

  of @2 :UInt16;
  type @3 :UInt16;
  dtype @4 :UInt16;
  cols @5 :UInt32;
  start @6 :UInt16;
  size @7 :Float64;
  seed @8 :UInt64;
  # Set by the director's process: as in MakeTensor. Whoever loads them compares them with those of the tensor of that name.

  last @9 :Bool;
  # Set by the director's process: no rows follow. Default false.

  operation @10 :UInt64;
  # Set by the director's process: counts from 1, as if it were a writer of its own.
}
