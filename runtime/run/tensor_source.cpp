#include "runtime/run/tensor_source.hpp"

#include "runtime/base/saturating.hpp"

#include <fmt/format.h>
#include <span>

namespace troupe {
namespace {

/// In front of the arrays of a piece: name, ids, runs and rows, little endian.
struct TensorHead {
  static constexpr std::uint64_t expected_magic = 0x313052534E455454;  // "TTENSR01"
  std::uint64_t magic = expected_magic;
  std::uint64_t step = 0;
  std::uint64_t of = 0;
  std::uint64_t type = 0;
  std::uint64_t dtype = 0;
  std::uint64_t cols = 0;
  std::uint64_t start = 0;
  double size = 0;
  std::uint64_t seed = 0;
  std::uint64_t name_bytes = 0;
  std::uint64_t ids = 0;
  std::uint64_t runs = 0;  ///< Numbers, two for each run
  std::uint64_t values_bytes = 0;
};
static_assert(sizeof(TensorHead) == 104);

bool is_possible(const TensorHead& head) {
  constexpr std::uint64_t most = 0xFFFF;
  const auto bytes =
      plus(times(plus(head.ids, head.runs), sizeof(std::uint64_t)), head.values_bytes);
  return head.magic == TensorHead::expected_magic && head.of <= most && head.type <= most &&
         head.dtype <= most && head.start <= most && head.cols <= max_tensor_row_bytes &&
         head.name_bytes <= max_tensor_name && bytes <= max_tensor_read_bytes;
}

}  // namespace

std::string tensor_file_name(std::uint32_t part) {
  return fmt::format("tensors-{}.bin", part);
}

void write_piece(PieceWriter& out, const TensorPiece& piece) {
  const TensorHead head{.step = piece.step,
                        .of = piece.of,
                        .type = piece.type,
                        .dtype = piece.dtype,
                        .cols = piece.cols,
                        .start = piece.start,
                        .size = piece.size,
                        .seed = piece.seed,
                        .name_bytes = piece.name.size(),
                        .ids = piece.ids.size(),
                        .runs = piece.runs.size(),
                        .values_bytes = piece.values.bytes.size()};
  out.put(std::span(&head, 1));
  out.put(std::span<const char>(piece.name));
  out.put(std::span(piece.ids));
  out.put(std::span(piece.runs));
  out.put(piece.values.bytes);
}

Status read_piece(PieceReader& in, TensorPiece& piece) {
  TensorHead head;
  TROUPE_RETURN_IF_ERROR(in.read(std::span(&head, 1)));
  if (!is_possible(head)) {
    return Error(Errc::data_corruption, fmt::format("{}: expected a piece of a tensor, found "
                                                    "another head",
                                                    in.path().string()));
  }
  piece.step = head.step;
  piece.of = static_cast<std::uint16_t>(head.of);
  piece.type = static_cast<std::uint16_t>(head.type);
  piece.dtype = static_cast<std::uint16_t>(head.dtype);
  piece.cols = static_cast<std::uint32_t>(head.cols);
  piece.start = static_cast<std::uint16_t>(head.start);
  piece.size = head.size;
  piece.seed = head.seed;
  TROUPE_ASSIGN_OR_RETURN(const auto name, in.vector<char>(head.name_bytes));
  piece.name.assign(name.begin(), name.end());
  TROUPE_ASSIGN_OR_RETURN(piece.ids, in.vector<std::uint64_t>(head.ids));
  TROUPE_ASSIGN_OR_RETURN(piece.runs, in.vector<std::uint64_t>(head.runs));
  TROUPE_ASSIGN_OR_RETURN(piece.values, in.segment(head.values_bytes));
  return check_tensor_piece(in.path().string(), piece);
}

}  // namespace troupe
