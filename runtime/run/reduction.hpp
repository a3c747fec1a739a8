#pragma once
/// \file reduction.hpp
/// One vector summed over the ranks, as a rank that wants the sum sees it: a share goes to the owner
/// of each slice, a sum of each slice comes back. GradientReducer is the owner's side. Knows no
/// actors.
#include "runtime/base/matrix.hpp"
#include "runtime/base/result.hpp"
#include "runtime/wire/messages.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace troupe {

/// What one rank adds.
struct Contribution {
  Segment values;            ///< float32; with weight 0 empty, or any
  std::uint64_t weight = 0;  ///< 0: `values` adds nothing
  double number = 0;         ///< Added up as well
  std::optional<Digest> batch;
  net::DeviceOffer offer = {};
  /// Gradients of learned rows, by node type, as `values` of the rank alone; null: there are none. They go
  /// to the holders of the rows, not to other ranks.
  std::shared_ptr<const std::vector<Matrix>> learned = nullptr;
};

/// The sum over all ranks.
struct Reduced {
  std::vector<float> values;
  std::uint64_t weight = 0;
  double number = 0;
  std::vector<Digest> batches;  ///< In rank order, of the ranks that gave one
  // As net::GradientSum:
  std::vector<std::uint64_t> communicator = {};
  bool by_devices = false;
};

/// Lifecycle: share() for each rank as owner, take() each owner's sum, then result()
/// Threads:   one at a time
class Reduction {
 public:
  /// \param size  numbers of the whole vector
  Reduction(Rank rank, std::uint32_t world, std::size_t size);

  /// The share for the owner of a slice.
  net::GradientChunk share(Rank owner, const Contribution& mine, std::uint32_t generation,
                           std::uint64_t step) const;
  /// \errors data_corruption: a sum of another length than the owner's slice
  Status take(Rank owner, const net::GradientSum& sum);
  bool done() const { return missing_ == 0; }
  /// [world] whether an owner's sum is here.
  const std::vector<bool>& answered() const { return answered_; }
  const Reduced& result() const { return result_; }
  Reduced take_result() && { return std::move(result_); }

 private:
  Rank rank_;
  std::uint32_t world_;
  Reduced result_;
  std::vector<bool> answered_;
  std::size_t missing_;
};

}  // namespace troupe
