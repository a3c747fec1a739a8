#include "launcher/simulated_cluster.hpp"

#include "actors/director.hpp"
#include "actors/message.hpp"
#include "launcher/cluster_host.hpp"
#include "launcher/cluster_plan.hpp"
#include "launcher/seconds.hpp"

#include <caf/all.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <mutex>
#include <optional>
#include <thread>

namespace troupe {
namespace {

using std::chrono::milliseconds;

std::size_t thread_count(const Job& job) {
  return job.cluster.threads > 0 ? job.cluster.threads
                                 : std::max(1U, std::thread::hardware_concurrency());
}

net::SimLinkOptions link_options(const Job& job) {
  net::SimLinkOptions options;
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
  std::vector<std::shared_ptr<ClusterHost>> hosts;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::shared_ptr<net::SimCable>> cables;
  caf::actor director;

  ~State();
  void connect();
  void connect(std::uint32_t a, std::uint32_t b);
  DirectorOptions director_options(RunSetup setup) const;
};

SimulatedCluster::State::~State() {
  const Error why(Errc::cancelled, "the cluster is shut down");
  if (director) {
    caf::anon_send_exit(director, caf::exit_reason::user_shutdown);
    director = {};
  }
  for (const auto& host : hosts) {
    host->end_actors();
    host->close(why);
  }
  runtime->finish();
  for (const auto& host : hosts) {
    for (const auto& [other, gate] : host->gates()) {
      gate->wait_closed(std::chrono::seconds(10));
    }
  }
  cables.clear();
  hosts.clear();
}

/// The cable between two hosts and a gate at each end; the lower one dials.
void SimulatedCluster::State::connect(std::uint32_t a, std::uint32_t b) {
  auto& driver = runtime->driver();
  auto cable = net::SimCable::make(driver, link_options(plan->job));
  auto [left, right] = cable->connect();
  auto options = plan->gate_options();
  options.endpoint.timers = &driver;
  options.endpoint.name = fmt::format("link of hosts {} and {}", a, b);
  options.generation = hosts[b]->generation();
  const auto far = Gate::make(runtime->system(), std::move(right), options);
  options.generation = hosts[a]->generation();
  options.endpoint.source =
      std::make_shared<net::Reconnector>(driver, cable->dialer(), net::ReconnectOptions{});
  const auto near = Gate::make(runtime->system(), std::move(left), options);
  cable->on_accept([weak = std::weak_ptr<Gate>(far)](std::shared_ptr<net::Link> link) {
    if (const auto gate = weak.lock()) {
      gate->attach(std::move(link));
    } else {
      link->close(Error(Errc::cancelled, "the host is gone"));
    }
  });
  hosts[a]->connect(static_cast<HostId>(b), near);
  hosts[b]->connect(static_cast<HostId>(a), far);
  cables[{a, b}] = std::move(cable);
}

void SimulatedCluster::State::connect() {
  for (std::uint32_t a = 0; a < hosts.size(); ++a) {
    for (std::uint32_t b = a + 1; b < hosts.size(); ++b) {
      connect(a, b);
    }
  }
}

SimulatedCluster::SimulatedCluster(std::unique_ptr<State> state) : state_(std::move(state)) {}
SimulatedCluster::~SimulatedCluster() = default;

Result<std::unique_ptr<SimulatedCluster>> SimulatedCluster::create(const Job& job,
                                                                   const PartitionedStore& store,
                                                                   ClusterHooks hooks) {
  auto runtime = make_real_runtime(thread_count(job));
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
  for (std::uint32_t h = 0; h < job.cluster.hosts; ++h) {
    state->hosts.push_back(
        std::make_shared<ClusterHost>(static_cast<HostId>(h), state->plan, runtime, state->hooks));
    TROUPE_RETURN_IF_ERROR(state->hosts.back()->load(store));
  }
  state->connect();
  for (const auto& host : state->hosts) {
    TROUPE_RETURN_IF_ERROR(host->start_actors());
  }
  for (const auto& host : state->hosts) {
    host->start_agent();
  }
  return std::unique_ptr<SimulatedCluster>(new SimulatedCluster(std::move(state)));
}

DirectorOptions SimulatedCluster::State::director_options(RunSetup setup) const {
  const auto& job = plan->job;
  DirectorOptions options;
  options.world = plan->world();
  options.hosts = plan->hosts();
  const auto home = hosts.front();
  options.trainer = [home](Rank rank) { return home->trainer(rank); };
  if (!plan->take_only()) {
    options.evaluator = [home](std::uint32_t at) {
      return home->evaluator(static_cast<HostId>(at));
    };
  }
  for (std::uint32_t h = 0; h < hosts.size(); ++h) {
    options.agents.push_back(home->agent(static_cast<HostId>(h)));
  }
  const auto& task = plan->inference;
  const auto stages = plan->model ? stages_of(*plan->model, task && task->embeddings).size() : 0;
  options.conductor = {.epochs = task ? 0 : job.train.epochs,
                       .world = plan->world(),
                       .stages = static_cast<std::uint32_t>(stages),
                       .eval_every = job.eval.every,
                       .eval_exact = job.eval.mode == "exact",
                       .eval_partial = job.eval.max_batches > 0,
                       .metric = job.eval.metric,
                       .digest = job.digest != DigestMode::off,
                       .train_only = plan->take_only(),
                       .final_roles = {"val", "test"},
                       .keep_outputs = job.eval.predictions ? "test" : "",
                       .seeds = plan->seeds};
  if (task) {
    options.conductor.final_roles = {inference_role};
    options.conductor.keep_outputs = inference_role;
  }
  options.progress = std::move(setup.progress);
  options.start = std::move(setup.resume);
  options.checkpoints = {job.checkpoint.epochs, job.checkpoint.steps, job.checkpoint.seconds};
  options.write_checkpoint = std::move(setup.write_checkpoint);
  options.io = runtime->io();
  options.heartbeat = seconds_as<milliseconds>(job.cluster.heartbeat_s);
  options.lost_after = seconds_as<milliseconds>(job.cluster.lost_after_s);
  options.step_deadline = seconds_as<milliseconds>(job.cluster.step_deadline_s);
  options.say = hooks->say;
  options.trace = TraceTrack(hooks->tracer, raw(home->id()), "director");
  return options;
}

void SimulatedCluster::start(RunSetup setup, std::function<void(Result<RunResult>)> on_end) {
  auto parameters = std::move(setup.parameters);
  auto options = state_->director_options(std::move(setup));
  if (!options.start) {
    auto initial = state_->plan->initial_state();
    if (!initial) {
      return on_end(initial.error());
    }
    if (!parameters.empty()) {
      initial->training.best = parameters;
      initial->training.parameters = std::move(parameters);
    }
    options.start = std::make_shared<const Checkpoint>(*std::move(initial));
  }
  options.on_end = [on_end = std::move(on_end)](Result<RunEnd> ended) {
    if (ended) {
      on_end(
          RunResult{std::move(ended->record), std::move(ended->state), std::move(ended->outputs)});
    } else {
      on_end(ended.error());
    }
  };
  state_->director = spawn_director(state_->runtime->system(), std::move(options));
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
  caf::anon_send(state_->director, Ref<StopRun>(StopRun{}));
}

std::uint64_t SimulatedCluster::steps_per_epoch() const {
  return state_->plan->orders.at("train")->num_steps(state_->plan->world());
}

const nn::ParameterLayout& SimulatedCluster::layout() const {
  static const nn::ParameterLayout none;
  return state_->plan->model ? state_->plan->model->layout() : none;
}

std::size_t SimulatedCluster::threads() const {
  return state_->runtime->compute()->concurrency();
}

Traffic SimulatedCluster::traffic() const {
  Traffic traffic;
  for (const auto& host : state_->hosts) {
    for (const auto& [other, gate] : host->gates()) {
      const auto stats = gate->stats();
      traffic.requests += stats.requests;
      traffic.resent += stats.resent;
      traffic.bytes += stats.bytes_sent;
      traffic.interruptions += stats.interruptions;
      traffic.max_in_flight_bytes =
          std::max(traffic.max_in_flight_bytes, stats.max_in_flight_bytes);
      traffic.max_queued_bytes = std::max(traffic.max_queued_bytes, stats.max_queued_bytes);
    }
  }
  traffic.interruptions /= 2;  // both ends count
  return traffic;
}

bool SimulatedCluster::kill(HostId host, const std::string& actor) {
  const auto victim = state_->hosts.at(raw(host))->local(actor);
  if (victim) {
    caf::anon_send_exit(victim, caf::exit_reason::kill);
  }
  return victim != nullptr;
}

std::shared_ptr<net::SimCable> SimulatedCluster::cable(HostId a, HostId b) {
  return state_->cables.at({std::min(raw(a), raw(b)), std::max(raw(a), raw(b))});
}

}  // namespace troupe
