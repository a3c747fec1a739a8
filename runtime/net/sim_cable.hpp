#pragma once
/// \file sim_cable.hpp
/// A simulated cable between two hosts that can be cut, healed and slowed while it is in use. For
/// tests of faults and `troupe simulate`; where nothing fails, `make_sim_link` is enough.
#include "runtime/net/reconnect.hpp"
#include "runtime/net/sim_network.hpp"

#include <array>
#include <functional>
#include <memory>
#include <mutex>

namespace troupe::net {

class SimWire;

/// How a cable is cut.
struct SimCut {
  bool lose_in_flight = false;  ///< else what had left before arrives, unless an end knows already
  std::array<Clock::duration, 2> notice{};  ///< until each end learns that its link is down
};

/// Lifecycle:  make(), connect() once for the first two links; from then on end 0 dials and end 1
///   accepts. `driver` must outlive it
/// Threads:    all members from any thread
/// Guarantees: at most one connection that works at a time; a link made before a cut stays down
///   after heal(). A dial takes a latency there and one back; it fails if the cable is cut when it
///   arrives
class SimCable : public std::enable_shared_from_this<SimCable> {
 public:
  static std::shared_ptr<SimCable> make(SimDriver& driver, SimLinkOptions options);

  /// The links of end 0 and end 1, not started.
  std::pair<std::shared_ptr<Link>, std::shared_ptr<Link>> connect();
  /// Where links go that end 0 dials: to the endpoint of end 1. Called by the driver.
  void on_accept(std::function<void(std::shared_ptr<Link>)> accept);
  /// For the Reconnector of end 0. Keeps the cable alive.
  std::shared_ptr<Dialer> dialer();

  /// Nothing more passes; both ends learn `why`. Ignored while cut.
  void cut(Error why, SimCut how);
  void heal();
  bool is_cut() const;
  /// While on, nothing that `end` sends passes, and nobody is told: a network that drops one direction, whose
  /// bytes TCP sends again later. Of the link that there is.
  void hold(std::size_t end, bool on);
  /// The next byte that leaves `end` is changed on the way.
  void corrupt(std::size_t end);
  void set_latency(Clock::duration latency);    ///< of what leaves from now on
  void set_bandwidth(double bytes_per_second);  ///< of what leaves from now on; 0: unlimited

 private:
  class CableDialer;
  SimCable(SimDriver& driver, SimLinkOptions options);
  void dial(std::function<void(Result<std::shared_ptr<Link>>)> done);
  void arrive(const std::function<void(Result<std::shared_ptr<Link>>)>& done);

  SimDriver& driver_;
  mutable std::mutex mutex_;
  SimLinkOptions options_;
  std::function<void(std::shared_ptr<Link>)> accept_;
  std::shared_ptr<SimWire> wire_;  ///< the last connection
  bool cut_ = false;
};

}  // namespace troupe::net
