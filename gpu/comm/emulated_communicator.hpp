#pragma once
/// \file emulated_communicator.hpp
/// Communicators of emulated devices of one process.
#include "gpu/base/emulated_device.hpp"
#include "gpu/comm/emulated_group.hpp"
#include "runtime/run/device_mean.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>

namespace troupe::gpu {

/// Operations of one rank; see communicator.hpp. They read memory of the other ranks' devices.
class EmulatedCommunicator {
 public:
  EmulatedCommunicator(std::shared_ptr<EmulatedGroup> group, std::size_t rank)
      : group_(std::move(group)), rank_(rank) {}
  std::size_t rank() const { return rank_; }
  std::size_t world() const { return group_->world(); }
  void exchange(EmulatedStream& on, std::span<float> vector, float* received);
  void gather(EmulatedStream& on, const float* mine, std::size_t count, float* all);
  /// Each number begins with another rank, so that nobody takes these sums for exact ones.
  void add(EmulatedStream& on, std::span<float> vector);

 private:
  std::shared_ptr<EmulatedGroup> group_;
  std::size_t rank_;
};

/// Emulated devices that reach each other.
/// Threads: any
class EmulatedNetwork {
 public:
  EmulatedNetwork();
  const std::string& name() const { return name_; }
  CommunicatorId make_id();
  /// \errors invalid_argument: an id of another network, or of another number of ranks
  Result<std::shared_ptr<EmulatedGroup>> group(const CommunicatorId& id, std::size_t world);

 private:
  std::uint64_t token_;  ///< of this network
  std::string name_;
  std::mutex mutex_;
  std::uint64_t made_ = 0;
  std::map<std::uint64_t, std::weak_ptr<EmulatedGroup>> groups_;
};

/// \param on  where the vectors are computed
std::unique_ptr<DeviceMeans> emulated_means(std::shared_ptr<EmulatedNetwork> network,
                                            EmulatedStream on, SumOrder order);

}  // namespace troupe::gpu
