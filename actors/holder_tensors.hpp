#pragma once
/// \file holder_tensors.hpp
/// Copies of tensors by name at the holders, read for a checkpoint and put back from one. All of it blocks: it is for
/// threads that may, such as the director's for the disk.
#include "actors/replica_client.hpp"
#include "runtime/run/tensor_source.hpp"

#include <caf/fwd.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace troupe {

using PartHolders = std::vector<std::shared_ptr<const Replicas>>;  ///< [parts]

/// The copy that holders keep of a step.
class HolderTensors final : public TensorSource {
 public:
  HolderTensors(caf::actor_system& system, PartHolders holders, std::uint64_t step)
      : system_(system), holders_(std::move(holders)), step_(step) {}
  std::uint32_t parts() const override { return static_cast<std::uint32_t>(holders_.size()); }
  /// \errors not_found: the copy is no longer there; those of the way to the holder
  Status read(std::uint32_t part, const Take& take) const override;
  /// Has the holders drop the copy, as far as they are there: the next copy takes its place anyway.
  void drop() const;

 private:
  caf::actor_system& system_;
  PartHolders holders_;
  std::uint64_t step_;
};

/// Gives every holder the rows of a checkpoint, of which it takes those that it has.
/// \errors data_corruption: rows that do not fit; failed_precondition: a tensor that was not made so; those of the source
///   and of the way
Status load_tensors(caf::actor_system& system, const PartHolders& holders,
                    const TensorSource& from);

}  // namespace troupe
