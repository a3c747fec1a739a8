#pragma once
/// \file state_pieces.hpp
/// What processes begin with, on its way between them in pieces of bounded size: states of user programs, with
/// the names of their blobs and which of them a process needs, and nodes of exact inference. Not for states of
/// the built-in models, which travel whole.
#include "runtime/base/ids.hpp"
#include "runtime/base/result.hpp"
#include "runtime/graph/store.hpp"
#include "runtime/wire/messages.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// Bytes of blobs in one message: a fraction of the smallest usual window.
inline constexpr std::uint64_t state_piece_bytes = std::uint64_t{16} << 20;

/// Name of the blob that the save hook of a rank gave.
std::string rank_blob(Rank rank);
/// Name of the blob, without bytes, that stands for a tensor, whose rows are elsewhere (Checkpoint::tensors).
/// \param what  name, kind of rows and shape of the tensor
std::string tensor_blob(std::string_view what);
bool is_tensor_blob(std::string_view name);

/// Name of the blob with the task that a trained model predicts (predicted_task.hpp), which all processes need.
inline constexpr const char* task_blob = "predicted task";

/// A state that has nothing but lists of nodes that outputs are inferred of: blobs that all processes need.
net::TrainingState state_of_nodes(std::span<const std::shared_ptr<const SeedList>> lists);
/// Without original ids. \errors data_corruption: a state that state_of_nodes() does not make
Result<std::vector<std::shared_ptr<const SeedList>>> lists_of_state(
    const net::TrainingState& state);

/// Pieces that the blobs make, at least one.
std::uint64_t count_pieces(const net::TrainingState& state, std::uint64_t piece_bytes);
/// Position and digest, and bytes `number * piece_bytes` and following of all blobs, by name. A piece
/// past the end has no blobs.
net::TrainingState piece_of(const net::TrainingState& state, std::uint64_t number,
                            std::uint64_t piece_bytes);
/// The same of the state that the process of `ranks` begins with: without blobs of other ranks.
net::TrainingState piece_for(std::span<const Rank> ranks, const net::TrainingState& state,
                             std::uint64_t number, std::uint64_t piece_bytes);

/// Puts pieces together again.
/// Threads: one at a time
class PieceCollector {
 public:
  /// Piece 0 begins a new state. The piece that was added last may come again: its answer was lost with a link.
  /// \returns whether it is new
  /// \errors failed_precondition: neither piece 0 nor the next one, or of another step
  Result<bool> add(std::uint64_t number, const net::TrainingState& piece);
  net::TrainingState take() { return std::move(state_); }

 private:
  net::TrainingState state_;
  std::uint64_t step_ = 0;  ///< Of the state
  std::uint64_t next_ = 0;
};

}  // namespace troupe
