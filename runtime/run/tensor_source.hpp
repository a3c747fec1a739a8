#pragma once
/// \file tensor_source.hpp
/// Copies of tensors by name at one step, as checkpoints read and write them: part by part, in pieces (piece_file.hpp).
#include "runtime/base/result.hpp"
#include "runtime/feature/tensor_messages.hpp"
#include "runtime/run/piece_file.hpp"

#include <cstdint>
#include <string>

namespace troupe {

/// Rows of one tensor after the other, at least one piece of each.
using TensorSource = PieceSource<TensorPiece>;
/// The files of a checkpoint.
using TensorFiles = PieceFiles<TensorPiece>;

/// "tensors-3.bin"
std::string tensor_file_name(std::uint32_t part);

void write_piece(PieceWriter& out, const TensorPiece& piece);
/// \errors data_corruption: no such piece, or one of more than `max_tensor_read_bytes`
Status read_piece(PieceReader& in, TensorPiece& piece);

}  // namespace troupe
