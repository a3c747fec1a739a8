#pragma once
/// \file cluster_runtime.hpp
/// What the actors of a cluster in this process run on: the actor system, time and links, and where
/// computations go. In real time on all cores for `troupe run`; on a virtual clock and one thread,
/// step by step and always alike, for tests of faults and `troupe simulate`.
#include "runtime/base/executor.hpp"
#include "runtime/net/sim_network.hpp"

#include <caf/fwd.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

namespace troupe {

/// Lifecycle: outlives all actors and gates of the cluster; finish() after they were told to end
class ClusterRuntime {
 public:
  virtual ~ClusterRuntime() = default;
  virtual caf::actor_system& system() = 0;
  virtual net::SimDriver& driver() = 0;
  /// Where it had no compute threads. Before compute() is called.
  virtual void start_compute(std::size_t /*threads*/) {}
  virtual std::shared_ptr<Executor> compute() = 0;
  virtual std::shared_ptr<Executor> io() = 0;  ///< may block on the disk
  /// Waits until `done` is true, which some actor brings about. False: it never will be.
  virtual bool wait_until(const std::function<bool()>& done) = 0;
  /// Waits until all actors have ended.
  virtual void finish() = 0;
};

/// \param threads  of the compute pool; 0: none, see start_compute()
std::unique_ptr<ClusterRuntime> make_real_runtime(std::size_t threads);

struct VirtualOptions {
  std::uint64_t seed = 0;                     ///< of how long computations take
  std::chrono::microseconds longest_task{0};  ///< 0: computations take no time
  std::chrono::hours give_up{24};             ///< virtual time after which wait_until() is false
};

/// One thread, CAF's test scheduler, a virtual clock.
class VirtualRuntime final : public ClusterRuntime {
 public:
  explicit VirtualRuntime(VirtualOptions options);
  ~VirtualRuntime() override;
  caf::actor_system& system() override;
  net::SimDriver& driver() override;
  std::shared_ptr<Executor> compute() override;
  std::shared_ptr<Executor> io() override;
  bool wait_until(const std::function<bool()>& done) override;
  void finish() override;
  std::chrono::nanoseconds elapsed() const;  ///< virtual time since the start

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace troupe
