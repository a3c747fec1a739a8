#pragma once
/// \file device_mean.hpp
/// The mean of a vector over the ranks where it lies, in the memory of their devices: what Reduction and
/// GradientReducer do over the links. gpu/comm implements it; reduction_route.hpp decides when it is used.
#include "runtime/base/ids.hpp"
#include "runtime/base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace troupe {

/// Names the communicator of one generation of a run. Rank 0 makes it, all ranks join it; what is in it is for
/// the library that made it.
using CommunicatorId = std::vector<std::uint64_t>;
inline constexpr std::size_t most_communicator_words = 16;  ///< ncclUniqueId has 128 bytes

/// Where a rank's vectors lie, as it tells the others.
struct DevicePlace {
  /// Devices of one network can exchange vectors; empty: this one cannot.
  std::string network = {};
  std::string device =
      {};  ///< Tells devices of a network apart; net::most_offer_bytes each at most
  friend bool operator==(const DevicePlace&, const DevicePlace&) = default;
};

/// How vectors of ranks are added.
enum class SumOrder : std::uint8_t {
  by_rank,  ///< The bits of the reduction over links
  any,      ///< As is fastest; other bits in each run, perhaps
};

struct DeviceMeansOptions {
  SumOrder order = SumOrder::by_rank;
  /// Nobody reads along between the hosts: what libraries exchange is neither encrypted nor authenticated.
  bool trusted_network = false;
};

/// One rank of a communicator.
/// Lifecycle: DeviceMeans::join(); launch() once ready() is true, the next after the end of the one before.
///   Ends as abort() does
/// Threads:   launch() one at a time; abort(), ready() any
class DeviceMean {
 public:
  using Done = std::function<void(const Status&)>;
  struct Work {
    std::span<float> vector = {};  ///< On the device; in place of it comes the mean
    std::uint64_t weight = 1;      ///< What the sum is divided by; not 0
    /// Launches what follows the mean on the device, in its stream. Called once, from any thread, also
    /// inside launch(), and not after an error.
    std::function<void()> after = {};
    /// Called once, from any thread, also inside launch() and abort(): all of it is done, or what went wrong.
    Done done = {};
  };

  DeviceMean() = default;
  DeviceMean(const DeviceMean&) = delete;
  DeviceMean& operator=(const DeviceMean&) = delete;
  virtual ~DeviceMean() = default;

  /// This rank has joined: at once, or when all ranks have.
  /// \errors of the library, or of a rank that it has lost
  virtual Result<bool> ready() = 0;
  /// Does not wait: neither for the device nor for other ranks. The work ends once all ranks have launched
  /// theirs, as the same one in their order, with vectors of one length.
  /// \errors by `done`. cancelled: abort(); peer_lost: of another rank; out_of_memory; cuda_failure
  virtual void launch(Work work) = 0;
  /// Ends what is under way and all that is launched later with an error; what is in the vectors then is not
  /// defined. Other ranks wait until they abort, too.
  virtual void abort() = 0;
};

/// Makes the communicators of one rank.
/// Threads: one at a time
class DeviceMeans {
 public:
  DeviceMeans() = default;
  DeviceMeans(const DeviceMeans&) = delete;
  DeviceMeans& operator=(const DeviceMeans&) = delete;
  virtual ~DeviceMeans() = default;

  virtual DevicePlace place() const = 0;
  /// At rank 0, once for each communicator. \errors of the library
  virtual Result<CommunicatorId> make_id() = 0;
  /// Does not wait for other ranks.
  /// \errors invalid_argument: no such id; of the library
  virtual Result<std::shared_ptr<DeviceMean>> join(const CommunicatorId& id, Rank rank,
                                                   std::uint32_t world) = 0;
};

}  // namespace troupe
