#pragma once
/// \file held_tensors.hpp
/// The rows of tensors that one part has, for user programs: written, added to and read by number, and copied for
/// checkpoints.
#include "runtime/base/result.hpp"
#include "runtime/feature/tensor_blocks.hpp"
#include "runtime/feature/tensor_messages.hpp"
#include "runtime/graph/part.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace troupe {

/// Threads:    one at a time
/// Guarantees: an operation is applied as a whole or not at all, and once; those of one writer in their order. Rows that
///   nobody wrote take no memory, and a copy costs what is written after it
/// Borrows:    the original ids of the part
class HeldTensors {
 public:
  /// \errors failed_precondition: an operation of the writer before it is missing (this holder was started again
  ///   and has lost what was written); invalid_argument: facts that do not fit, too many tensors
  Status make(const Part& part, const MakeTensor& request);
  /// \errors the same; not_found: no such tensor; out_of_memory: no room for its rows
  Status write(const Part& part, const WriteTensor& request);
  /// Rows in the order of the request.
  /// \errors not_found: no such tensor; invalid_argument: a row that the part does not have, other sizes
  Result<TensorRows> read(const Part& part, const ReadTensor& request) const;

  // ---- checkpoints ----

  /// Keeps a copy of all tensors, in the place of the one before.
  /// \errors failed_precondition: as make()
  Status keep(const Part& part, const KeepTensors& request);
  void drop(const DropTensors& request);
  /// Some rows of the copy, about `tensor_piece_bytes` with their ids.
  /// \errors not_found: no copy of that step
  Result<CopiedTensors> read_copy(const Part& part, const ReadTensorCopy& request) const;
  /// Writes the rows of a checkpoint that the part has, to the tensor of that name.
  /// \errors failed_precondition: as make(); a tensor that was not made, or with another start;
  ///   data_corruption: rows that do not fit the tensor; out_of_memory: as write()
  Status load(const Part& part, const LoadTensors& request);

  std::size_t size() const { return tensors_.size(); }
  /// Memory of rows: of the tensors, and of blocks that the copy alone has.
  std::uint64_t made_bytes() const;

 private:
  struct Tensor {
    MakeTensor facts;
    TensorBlocks rows;
  };
  using Tensors = std::map<std::uint32_t, Tensor>;
  struct Copy {
    std::uint64_t step = 0;
    Tensors tensors;
  };
  /// (original id, place in the part) of each node of a type, in ascending order.
  using Places = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

  /// Whether an operation is the writer's next one; false: it was applied before.
  Result<bool> is_next(const Part& part, Rank writer, std::uint64_t operation) const;
  Status apply(const Part& part, const MakeTensor& request);
  /// \errors not_found
  Result<const Tensor*> find(const Part& part, std::uint32_t tensor) const;
  static Status check(const Tensor& tensor, const Part& part, const TensorPlaces& places,
                      std::uint64_t row_bytes);
  static Status no_room(const Part& part, const Tensor& tensor);
  Status take_piece(const Part& part, const TensorPiece& piece);
  Result<Tensor*> tensor_of(const Part& part, const TensorPiece& piece);
  const Places& places_of(const Part& part, std::uint16_t node_type);

  Tensors tensors_;
  std::optional<Copy> copy_;
  std::map<Rank, std::uint64_t> last_operation_;
  std::map<std::uint16_t, Places> places_;  ///< By node type, while a checkpoint is loaded
};

}  // namespace troupe
