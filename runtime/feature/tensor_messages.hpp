#pragma once
/// \file tensor_messages.hpp
/// What ranks of a user's program ask of the holders of tensors (docs/tensors.md). Names are resolved when a tensor is
/// made: after that a number stands for it, which all ranks count alike.
#include "runtime/base/buffer.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/pooled_vector.hpp"
#include "runtime/base/result.hpp"
#include "runtime/graph/graph_info.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

inline constexpr std::uint32_t max_tensors = 1024;  ///< per holder
inline constexpr std::size_t max_tensor_name = 256;
inline constexpr std::uint64_t max_tensor_row_bytes = std::uint64_t{1} << 20;
/// Of one holder; a larger one is a mistake.
inline constexpr std::uint64_t max_tensor_bytes = std::uint64_t{1} << 46;
/// Of one ReadTensor; ranks ask for about `tensor_piece_bytes`.
inline constexpr std::uint64_t max_tensor_read_bytes = std::uint64_t{64} << 20;

/// What the rows of a tensor belong to.
enum class TensorOf : std::uint8_t {
  nodes = 0,  ///< Of a type; a row lies where its node lies
  edges = 1,  ///< Of a type, by original edge id; parts have even ranges
  rows = 2,   ///< To nothing; parts have even ranges
};
/// What a tensor starts as.
enum class TensorStart : std::uint8_t { zeros = 0, uniform = 1, normal = 2 };
/// Whether a tensor may have numbers of this kind: f32, f64, f16, bf16, i32, i64, u8.
bool is_tensor_dtype(DType dtype) noexcept;
bool is_float_dtype(DType dtype) noexcept;

/// Makes a tensor, or deletes it, at every replica of a part. Answered with Done.
struct MakeTensor {
  Rank writer{};
  /// Counts the writer's operations on this part, from 1. A repeated one is not applied again.
  std::uint64_t operation = 0;
  std::uint32_t tensor = 0;
  bool gone = false;  ///< Deletes it; nothing below counts
  std::string name = {};
  std::uint16_t of = 0;     ///< TensorOf
  std::uint16_t type = 0;   ///< Node or edge type
  std::uint64_t first = 0;  ///< Row of the part's first one
  std::uint64_t count = 0;  ///< Rows of the part
  std::uint16_t dtype = 0;  ///< DType
  std::uint32_t cols = 0;   ///< Numbers of a row, from 1
  std::uint16_t start = 0;  ///< TensorStart; of float numbers alone other than zeros
  double size = 0;          ///< Standard deviation, or bound
  std::uint64_t seed = 0;   ///< Of the job
};

/// Rows that a request names: `count` from `first` on, or those of `ids`, never both.
struct TensorPlaces {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  std::span<const std::uint64_t> ids = {};  ///< Order is kept; duplicates allowed

  std::uint64_t size() const { return ids.empty() ? count : ids.size(); }
};

/// Writes rows that one part has, at every replica of it. Answered with Done.
struct WriteTensor {
  Rank writer{};
  std::uint64_t operation = 0;  ///< As in MakeTensor
  std::uint32_t tensor = 0;
  bool add = false;             ///< Adds to the rows instead of replacing them
  std::uint64_t row_bytes = 0;  ///< Of the tensor
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  PooledVector<std::uint64_t> ids = {};  ///< A row named twice is written in order
  Segment values = {};                   ///< [places, row_bytes]

  TensorPlaces places() const { return {first, count, ids}; }
};

/// Reads rows that one part has. Answered with TensorRows.
struct ReadTensor {
  std::uint32_t tensor = 0;
  std::uint64_t row_bytes = 0;
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  PooledVector<std::uint64_t> ids = {};

  TensorPlaces places() const { return {first, count, ids}; }
};
struct TensorRows {
  Segment values;  ///< [places, row_bytes]
};

// ---- checkpoints ----

/// Writer of LoadTensors, in the place of a rank.
inline constexpr Rank tensor_loader{0xFFFFFFFF};
/// Bytes of one TensorPiece, about.
inline constexpr std::uint64_t tensor_piece_bytes = std::uint64_t{4} << 20;

/// Has every replica of a part keep a copy of all tensors as they are, in the place of the copy before.
/// Answered with Done.
struct KeepTensors {
  Rank writer{};
  std::uint64_t operation = 0;  ///< As in MakeTensor
  std::uint64_t step = 0;       ///< Name of the copy
};
/// Has a holder drop the copy of a step, if it has that. Answered with Done.
struct DropTensors {
  std::uint64_t step = 0;
};

/// Rows of one tensor, as checkpoints have them: those in blocks that were written. Others are as the tensor starts.
struct TensorPiece {
  std::uint64_t step = 0;  ///< Name of the copy
  std::string name = {};   ///< Empty: there is no tensor
  std::uint16_t of = 0;    ///< TensorOf
  std::uint16_t type = 0;  ///< As in MakeTensor, like the fields below
  std::uint16_t dtype = 0;
  std::uint32_t cols = 0;
  std::uint16_t start = 0;
  double size = 0;
  std::uint64_t seed = 0;
  bool last = false;                     ///< No rows follow
  std::vector<std::uint64_t> ids = {};   ///< Of nodes: the original id of each row
  std::vector<std::uint64_t> runs = {};  ///< Of others: pairs of a first row and a number of rows
  Segment values = {};                   ///< [rows, cols]
};

/// Reads rows of a copy, some at a time: those from a row of a tensor on, in ascending order of tensors and rows.
/// Answered with CopiedTensors.
struct ReadTensorCopy {
  std::uint64_t step = 0;
  std::uint32_t tensor = 0;  ///< The first one with this number or a higher one
  std::uint64_t row = 0;     ///< Counted from the part's first one
};
struct CopiedTensors : TensorPiece {
  std::uint32_t next_tensor = 0;  ///< Of the next ReadTensorCopy, unless `last`
  std::uint64_t next_row = 0;
};

/// Rows of a checkpoint, which every holder gets and takes its own of. Answered with Done.
struct LoadTensors : TensorPiece {
  std::uint64_t operation = 0;  ///< As in MakeTensor; the writer is `tensor_loader`
};

/// Rows that a piece names; the largest number if that does not fit. \requires an even number of `runs`
std::uint64_t piece_rows(const TensorPiece& piece);
/// \errors data_corruption: ids or runs that do not fit the kind of rows, or values of another size
Status check_tensor_piece(std::string_view where, const TensorPiece& piece);

/// Bytes of the rows; the largest number if that does not fit.
std::uint64_t tensor_bytes(const TensorPlaces& places, std::uint64_t row_bytes);
/// \errors data_corruption: rows that are too long
Status check_tensor_places(std::string_view message, const TensorPlaces& places,
                           std::uint64_t row_bytes);

}  // namespace troupe
