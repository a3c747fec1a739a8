#pragma once
/// \file reduction_route.hpp
/// Which way the vectors of a run's steps are reduced: over the links, or between devices. Ranks agree on it
/// with what travels over the links in each step anyway; knows no actors.
///
/// A generation begins with the links. Each rank tells rank 0 where its vectors lie. If these places can
/// exchange vectors, rank 0 makes the id of a communicator, which all ranks get with a step's sum, and join
/// while steps go on over the links. The sum of a step in which all have joined says so, and from the step
/// after it vectors stay on the devices: a rank that has that step's sum over the links, of empty vectors,
/// knows that all ranks have their share ready, and launches the device's mean. So all launch in step order,
/// and nobody waits for one that will not come but where a rank is lost.
#include "runtime/base/ids.hpp"
#include "runtime/base/result.hpp"
#include "runtime/run/device_mean.hpp"
#include "runtime/run/gradient_reducer.hpp"
#include "runtime/run/reduction.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace troupe {

/// Of one rank.
/// Lifecycle: begin_generation(); then for each step offer(), decide() at rank 0 for its sum, take() the sum,
///   and launch where vectors stay on devices; the communicator is aborted with the route
/// Threads:   one at a time
class ReductionRoute {
 public:
  using Clock = std::chrono::steady_clock;
  /// After so long without a connection between all ranks rank 0 has news of it.
  static constexpr std::chrono::seconds longest_join{60};

  /// \param means  of the rank's device; null: the links
  /// \param now    for tests
  ReductionRoute(Rank rank, std::uint32_t world, std::shared_ptr<DeviceMeans> means,
                 std::function<Clock::time_point()> now = &Clock::now);
  ReductionRoute(const ReductionRoute&) = delete;
  ReductionRoute& operator=(const ReductionRoute&) = delete;
  ~ReductionRoute();

  /// Aborts the communicator of the one before: what it has under way ends with an error.
  void begin_generation();

  /// The vector of the next step stays on the device; no more of it goes over the links than its weight.
  bool by_devices() const { return by_devices_; }
  /// What this rank tells rank 0 with the next step's share.
  net::DeviceOffer offer();
  /// At rank 0, before a step's sum goes out. \param shares  of all ranks, in their order
  void decide(std::span<const GradientReducer::Share> shares, net::GradientSum& sum);

  enum class Next : std::uint8_t {
    apply,   ///< The sum is the mean, or no rank has one
    launch,  ///< communicator()'s mean follows
  };
  /// A step's sum has come.
  /// \errors failed_precondition: a step that is not after the last one; the communicator is no more
  Result<Next> take(std::uint64_t step, const Reduced& sum);
  /// \requires take() said launch
  const std::shared_ptr<DeviceMean>& communicator() const { return communicator_; }

  /// What the user is to know since the last call, if there is something: which way, or why not the other.
  std::optional<std::string> news();

 private:
  void join(const CommunicatorId& id);
  void tell(std::string what);
  void look_at_joining(std::span<const GradientReducer::Share> shares, bool all);
  std::optional<std::string> why_links(std::span<const GradientReducer::Share> shares) const;

  Rank rank_;
  std::uint32_t world_;
  std::shared_ptr<DeviceMeans> means_;
  std::shared_ptr<DeviceMean> communicator_;  ///< Of this generation
  CommunicatorId made_;                       ///< At rank 0: that of this generation
  std::function<Clock::time_point()> now_;
  Clock::time_point made_at_;
  bool late_ = false;      ///< At rank 0: it had news of ranks that have not joined
  bool gives_up_ = false;  ///< This rank cannot join in this generation
  bool by_devices_ = false;
  std::optional<std::uint64_t> last_step_;
  std::optional<std::string> news_;
  std::string told_;  ///< The last news
};

}  // namespace troupe
