#include "launcher/simulated_cluster.hpp"

#include "actors/director.hpp"
#include "actors/message.hpp"
#include "launcher/cluster_plan.hpp"
#include "launcher/cluster_process.hpp"
#include "launcher/director_options.hpp"
#include "runtime/base/free_memory.hpp"
#include "runtime/job/store_memory.hpp"
#include "runtime/sample/batch_scratch.hpp"
#include "runtime/wire/link_totals.hpp"

#include <caf/all.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <mutex>
#include <optional>

namespace troupe {
namespace {

/// Processes of one host are joined without delay.
net::SimLinkOptions link_options(const Job& job, bool same_host) {
  net::SimLinkOptions options;
  if (same_host) {
    return options;
  }
  options.latency =
      std::chrono::nanoseconds(static_cast<std::int64_t>(job.cluster.network.latency_us * 1000));
  options.bytes_per_second = job.cluster.network.bandwidth_gbps * 1e9 / 8;
  return options;
}

}  // namespace

struct SimulatedCluster::State {
  std::shared_ptr<const ClusterPlan> plan;
  std::shared_ptr<const ClusterHooks> hooks;
  std::unique_ptr<ClusterRuntime> own_runtime;
  ClusterRuntime* runtime = nullptr;
  std::vector<std::shared_ptr<ClusterProcess>> processes;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::shared_ptr<net::SimCable>> cables;
  std::mutex mutex;  ///< Guards what follows
  caf::actor director;
  bool stop_wanted = false;  ///< Before there was a director

  ~State();
  GateOptions gate_options() const;
  void connect();
  void connect(std::uint32_t a, std::uint32_t b);
};

GateOptions SimulatedCluster::State::gate_options() const {
  auto options = plan->gate_options();
  options.endpoint.learned_window_bytes = hooks->learned_window_bytes;
  return options;
}

SimulatedCluster::State::~State() {
  const Error why(Errc::cancelled, "the cluster is shut down");
  if (director) {
    caf::anon_send_exit(director, caf::exit_reason::user_shutdown);
    director = {};
  }
  for (const auto& process : processes) {
    process->end_actors();
    process->close(why);
  }
  runtime->finish();
  for (const auto& process : processes) {
    for (const auto& gate : process->gates()) {
      gate->wait_closed(std::chrono::seconds(10));
    }
  }
  cables.clear();
  processes.clear();
}

/// The cable between two processes and a gate at each end; the lower one dials.
void SimulatedCluster::State::connect(std::uint32_t a, std::uint32_t b) {
  auto& driver = runtime->driver();
  const auto& [near_process, far_process] = std::pair(processes[a]->plan(), processes[b]->plan());
  auto cable =
      net::SimCable::make(driver, link_options(plan->job, near_process.host == far_process.host));
  auto [left, right] = cable->connect();
  auto options = gate_options();
  options.endpoint.timers = &driver;
  options.endpoint.name = fmt::format("link of {} and {}", near_process.name, far_process.name);
  options.generation = processes[b]->generation();
  const auto far = Gate::make(runtime->system(), std::move(right), options);
  options.generation = processes[a]->generation();
  options.endpoint.source =
      std::make_shared<net::Reconnector>(driver, cable->dialer(), net::ReconnectOptions{});
  const auto near = Gate::make(runtime->system(), std::move(left), options);
  cable->on_accept([weak = std::weak_ptr<Gate>(far)](const std::shared_ptr<net::Link>& link) {
    if (const auto gate = weak.lock()) {
      gate->attach(link);
    } else {
      link->close(Error(Errc::cancelled, "the process is gone"));
    }
  });
  processes[a]->connect(processes[b]->id(), near);
  processes[b]->connect(processes[a]->id(), far);
  cables[{a, b}] = std::move(cable);
}

void SimulatedCluster::State::connect() {
  for (std::uint32_t a = 0; a < processes.size(); ++a) {
    for (std::uint32_t b = a + 1; b < processes.size(); ++b) {
      connect(a, b);
    }
  }
}

SimulatedCluster::SimulatedCluster(std::unique_ptr<State> state) : state_(std::move(state)) {}
SimulatedCluster::~SimulatedCluster() = default;

Result<std::unique_ptr<SimulatedCluster>> SimulatedCluster::create(const Job& job,
                                                                   const PartitionedStore& store,
                                                                   ClusterHooks hooks) {
  auto runtime = make_real_runtime(compute_threads(job.cluster));
  TROUPE_ASSIGN_OR_RETURN(auto cluster, create(job, store, std::move(hooks), *runtime));
  cluster->state_->own_runtime = std::move(runtime);
  return cluster;
}

Result<std::unique_ptr<SimulatedCluster>> SimulatedCluster::create(const Job& job,
                                                                   const PartitionedStore& store,
                                                                   ClusterHooks hooks,
                                                                   ClusterRuntime& runtime) {
  auto state = std::make_unique<State>();
  state->runtime = &runtime;
  TROUPE_ASSIGN_OR_RETURN(state->plan, ClusterPlan::make(job, store, hooks));
  state->hooks = std::make_shared<const ClusterHooks>(std::move(hooks));
  // Once, before the first of them copies anything.
  TROUPE_ASSIGN_OR_RETURN(const auto memory, store_memory(job, state->plan->layout, store,
                                                          HostId{0}, free_memory_bytes()));
  for (const auto& process : state->plan->layout.processes) {
    state->processes.push_back(
        std::make_shared<ClusterProcess>(process.id, state->plan, runtime, state->hooks));
    TROUPE_RETURN_IF_ERROR(state->processes.back()->load(store.with_memory(memory)));
  }
  state->connect();
  for (const auto& process : state->processes) {
    TROUPE_RETURN_IF_ERROR(process->start_actors());
  }
  for (const auto& process : state->processes) {
    process->introduce();
    process->start_supervisor();
  }
  return std::unique_ptr<SimulatedCluster>(new SimulatedCluster(std::move(state)));
}

void SimulatedCluster::start(RunSetup setup, std::function<void(Result<RunResult>)> on_end) {
  auto options = director_options(*state_->plan, state_->processes.front(), *state_->hooks,
                                  std::move(setup), std::move(on_end));
  if (options) {
    options->io = state_->runtime->io();
    auto director = spawn_director(state_->runtime->system(), *std::move(options));
    const std::lock_guard guard(state_->mutex);
    state_->director = std::move(director);
    if (state_->stop_wanted) {
      caf::anon_send(state_->director, Ref<StopRun>(StopRun{}));
    }
  }
}

Result<RunResult> SimulatedCluster::run(RunSetup setup) {
  struct Ending {
    std::mutex mutex;
    std::optional<Result<RunResult>> result;
  };
  const auto ending = std::make_shared<Ending>();
  start(std::move(setup), [ending](Result<RunResult> result) {
    const std::lock_guard guard(ending->mutex);
    ending->result = std::move(result);
  });
  const bool ended = state_->runtime->wait_until([ending] {
    const std::lock_guard guard(ending->mutex);
    return ending->result.has_value();
  });
  if (!ended) {
    return Error(Errc::internal, "the run hangs: nothing is left to happen");
  }
  return *std::move(ending->result);
}

void SimulatedCluster::stop() {
  const std::lock_guard guard(state_->mutex);
  if (state_->director) {
    caf::anon_send(state_->director, Ref<StopRun>(StopRun{}));
  } else {  // first steps may be made while start() is still on its way
    state_->stop_wanted = true;
  }
}

std::uint64_t SimulatedCluster::steps_per_epoch() const {
  return state_->plan->orders.at("train")->num_steps(state_->plan->world());
}

std::uint32_t SimulatedCluster::reports_per_step() const {
  return state_->plan->world();
}

const nn::ParameterLayout& SimulatedCluster::layout() const {
  static const nn::ParameterLayout none;
  return state_->plan->network ? state_->plan->network->layout() : none;
}

std::string SimulatedCluster::devices() const {
  return state_->plan->device_text();
}

std::size_t SimulatedCluster::threads() const {
  return state_->runtime->compute()->concurrency();
}

Traffic SimulatedCluster::traffic() const {
  Traffic traffic;
  for (const auto& process : state_->processes) {
    for (const auto& gate : process->gates()) {
      net::add(traffic, gate->stats());
    }
  }
  traffic.interruptions /= 2;  // both ends count
  for (const auto& process : state_->processes) {
    traffic.store_copied_bytes += process->copied_bytes();
  }
  traffic.scratch_bytes = scratch_bytes();  // of one process in truth
  return traffic;
}

Status SimulatedCluster::check_windows() const {
  const auto options = state_->gate_options().endpoint;
  for (const auto& process : state_->processes) {
    for (const auto& gate : process->gates()) {
      if (auto held = net::check_windows(options, gate->stats()); !held) {
        return Error(std::move(held).error())
            .with(fmt::format("links of process {}", raw(process->id())));
      }
    }
  }
  return ok_status();
}

bool SimulatedCluster::kill(ProcessId process, const std::string& actor) {
  const auto victim = state_->processes.at(raw(process))->local(actor);
  if (victim) {
    caf::anon_send_exit(victim, caf::exit_reason::kill);
  }
  return victim != nullptr;
}

std::shared_ptr<net::SimCable> SimulatedCluster::cable(ProcessId a, ProcessId b) {
  return state_->cables.at({std::min(raw(a), raw(b)), std::max(raw(a), raw(b))});
}

}  // namespace troupe
