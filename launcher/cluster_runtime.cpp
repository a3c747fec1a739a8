#include "launcher/cluster_runtime.hpp"

#include "actors/system_config.hpp"
#include "runtime/base/philox.hpp"

#include <caf/all.hpp>
#include <caf/scheduler/test_coordinator.hpp>

#include <thread>

namespace troupe {
namespace {

class RealRuntime final : public ClusterRuntime {
 public:
  explicit RealRuntime(std::size_t threads)
      : pool_(threads > 0 ? std::make_shared<ComputePool>(threads) : nullptr),
        io_(std::make_shared<ComputePool>(1)),
        system_(std::make_unique<caf::actor_system>(config_)),
        driver_(std::make_unique<net::RealTimeDriver>()) {}
  ~RealRuntime() override {
    if (pool_) {
      pool_->stop();
    }
    io_->stop();
    driver_.reset();
    system_.reset();
  }
  caf::actor_system& system() override { return *system_; }
  net::SimDriver& driver() override { return *driver_; }
  void start_compute(std::size_t threads) override {
    pool_ = std::make_shared<ComputePool>(threads);
  }
  std::shared_ptr<Executor> compute() override { return pool_; }
  std::shared_ptr<Executor> io() override { return io_; }
  bool wait_until(const std::function<bool()>& done) override {
    while (!done()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
  }
  void finish() override { system_->await_all_actors_done(); }

 private:
  std::shared_ptr<ComputePool> pool_;
  std::shared_ptr<ComputePool> io_;
  ThreadedConfig config_;
  std::unique_ptr<caf::actor_system> system_;
  std::unique_ptr<net::RealTimeDriver> driver_;
};

struct VirtualConfig : SystemConfig {
  VirtualConfig() { set("scheduler.policy", caf::atom("testing")); }
};

/// Runs tasks as events of the virtual clock, each after a time that only its number decides.
class EventExecutor final : public Executor {
 public:
  EventExecutor(net::SimDriver& driver, const VirtualOptions& options)
      : driver_(driver), options_(options) {
    limit_matrix_threads();
  }
  void post(Task task) override {
    std::chrono::nanoseconds takes(0);
    if (const auto longest = options_.longest_task; longest.count() > 0) {
      const PhiloxKey key = {static_cast<std::uint32_t>(options_.seed),
                             static_cast<std::uint32_t>(options_.seed >> 32)};
      const auto word = philox4x32_10({static_cast<std::uint32_t>(posted_), 0, 0, 0}, key);
      takes = std::chrono::nanoseconds(word[0] % std::chrono::nanoseconds(longest).count());
    }
    ++posted_;
    driver_.at(driver_.now() + takes, std::move(task));
  }
  void parallel_for(std::size_t n, const std::function<void(std::size_t)>& body) override {
    for (std::size_t i = 0; i < n; ++i) {
      body(i);
    }
  }
  std::size_t concurrency() const override { return 1; }

 private:
  net::SimDriver& driver_;
  const VirtualOptions options_;
  std::uint64_t posted_ = 0;
};

}  // namespace

std::unique_ptr<ClusterRuntime> make_real_runtime(std::size_t threads) {
  return std::make_unique<RealRuntime>(threads);
}

struct VirtualRuntime::State {
  explicit State(const VirtualOptions& o)
      : options(o), system(config), executor(std::make_shared<EventExecutor>(driver, o)) {
    auto& clock = coordinator().clock();
    clock.advance_time(driver.now() - clock.now());  // one time for actors and links
    began = driver.now();
  }
  caf::scheduler::test_coordinator& coordinator() {
    return dynamic_cast<caf::scheduler::test_coordinator&>(system.scheduler());
  }
  net::Clock::time_point next_event() {
    const auto& timeouts = coordinator().clock().schedule();
    const auto link = driver.next_event();
    return timeouts.empty() ? link : std::min(link, timeouts.begin()->first);
  }
  /// Lets all actors that can run do so.
  void run_actors() { coordinator().run(); }
  /// Time goes on to the next event. False: nothing will ever happen again.
  bool advance() {
    const auto next = next_event();
    if (next == net::Clock::time_point::max() || next - began > options.give_up) {
      return false;
    }
    auto& clock = coordinator().clock();
    const auto t = std::max(next, driver.now());
    driver.run_until(t);
    clock.advance_time(t - clock.now());
    return true;
  }

  VirtualOptions options;
  net::VirtualDriver driver;
  VirtualConfig config;
  caf::actor_system system;
  std::shared_ptr<EventExecutor> executor;
  net::Clock::time_point began{};
};

VirtualRuntime::VirtualRuntime(VirtualOptions options) : state_(std::make_unique<State>(options)) {}
VirtualRuntime::~VirtualRuntime() = default;

caf::actor_system& VirtualRuntime::system() {
  return state_->system;
}
net::SimDriver& VirtualRuntime::driver() {
  return state_->driver;
}
std::shared_ptr<Executor> VirtualRuntime::compute() {
  return state_->executor;
}
std::shared_ptr<Executor> VirtualRuntime::io() {
  return state_->executor;
}

bool VirtualRuntime::wait_until(const std::function<bool()>& done) {
  state_->run_actors();
  while (!done()) {
    if (!state_->advance()) {
      return false;
    }
    state_->run_actors();
  }
  return true;
}

void VirtualRuntime::finish() {
  state_->coordinator().run();
  while (state_->driver.next_event() != net::Clock::time_point::max()) {
    state_->driver.run_until(state_->driver.next_event());
    state_->coordinator().run();
  }
}

std::chrono::nanoseconds VirtualRuntime::elapsed() const {
  return state_->driver.now() - state_->began;
}

}  // namespace troupe
