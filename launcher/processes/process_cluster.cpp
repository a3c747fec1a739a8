#include "launcher/processes/process_cluster.hpp"

#include "actors/error.hpp"
#include "actors/message.hpp"
#include "actors/registrar.hpp"
#include "launcher/cluster_process.hpp"
#include "launcher/processes/agent_starters.hpp"
#include "launcher/processes/director_link.hpp"
#include "launcher/processes/local_address.hpp"
#include "launcher/processes/store_identity.hpp"
#include "launcher/seconds.hpp"
#include "launcher/version.hpp"
#include "runtime/net/messages.hpp"

#include <caf/all.hpp>

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <mutex>
#include <set>
#include <thread>

namespace troupe {
namespace {

using std::chrono::milliseconds;

std::size_t thread_count(const Job& job) {
  return job.cluster.threads > 0 ? job.cluster.threads
                                 : std::max(1U, std::thread::hardware_concurrency());
}

/// With `manual` it lies in a file, for the others to be given.
std::filesystem::path token_path(const Job& job) {
  return job.cluster.token_file.empty() ? job.output / "token"
                                        : std::filesystem::path(job.cluster.token_file);
}

Result<net::Token> make_token(const Job& job) {
  if (job.cluster.launch != "manual") {
    return net::Token::random();
  }
  const auto path = token_path(job);
  std::error_code error;
  if (std::filesystem::exists(path, error)) {
    return net::Token::read(path);
  }
  TROUPE_ASSIGN_OR_RETURN(auto token, net::Token::random());
  TROUPE_RETURN_IF_ERROR(token.write(path));
  return token;
}

Result<std::string> listen_address(const Job& job) {
  const auto& cluster = job.cluster;
  if (!cluster.listen.empty()) {
    return cluster.listen;
  }
  if (cluster.launch != "ssh") {
    return std::string("127.0.0.1:0");
  }
  TROUPE_ASSIGN_OR_RETURN(const auto address, local_address_towards(cluster.named.at(0).address));
  return address + ":0";
}

/// From the start of a program on a host until it is heard of.
milliseconds start_deadline(const ClusterJob& cluster) {
  return seconds_as<milliseconds>(cluster.lost_after_s) + milliseconds(1500);
}

class ProcessCluster final : public Cluster {
 public:
  static Result<std::unique_ptr<ProcessCluster>> make(const Job& job, const PartitionedStore& store,
                                                      ProcessClusterSetup setup,
                                                      const std::function<bool()>& stop);
  /// With a program of the user's: ends with `status` ok when all its ranks have.
  void start_ranks(std::function<void(SessionOutcome)> on_end);
  void stop_ranks();
  ~ProcessCluster() override;

  void start(RunSetup setup, std::function<void(Result<RunResult>)> on_end) override;
  void stop() override { caf::anon_send(director_, Ref<StopRun>(StopRun{})); }
  Traffic finish() override;
  std::uint64_t steps_per_epoch() const override {
    return plan_->orders.at("train")->num_steps(plan_->world());
  }
  std::uint32_t reports_per_step() const override { return 1; }
  const nn::ParameterLayout& layout() const override;
  std::size_t threads() const override { return thread_count(plan_->job); }

 private:
  /// What callbacks of other threads may touch.
  struct Shared {
    std::mutex mutex;
    std::set<ProcessId> settled;
    std::map<ProcessId, std::uint32_t> lives;  ///< the latest of each
    Status state = Error(Errc::overloaded, "not all are there yet");
    bool complete = false;
    bool over = false;  ///< on_end was called
    std::function<void(Result<RunResult>)> on_end;
    caf::actor registrar;
    caf::actor director;
    // With a program of the user's.
    std::size_t ranks_missing = 0;  ///< processes whose ranks have not ended
    SessionOutcome outcome;
    std::function<void(SessionOutcome)> on_ranks_end;
  };

  ProcessCluster() = default;
  Status open(const Job& job, const PartitionedStore& store, ProcessClusterSetup setup);
  Status open_neighbourhood();
  void tell_how_to_join();
  Result<std::shared_ptr<const net::TlsContext>> make_tls();
  void start_registrar(const net::Welcome& welcome);
  void start_agent(HostId host, const net::ProcessLife& life);
  void changed(const Roster& roster);
  caf::actor if_settled(ProcessId id, const caf::actor& handle);
  void guard_handles(DirectorOptions& options);
  void fail(const Error& why);
  void lost(const net::ProcessLife& life, const std::string& why);
  void ranks_ended(const net::RanksEnded& ended);

  ProcessClusterSetup setup_;
  net::Token token_;
  std::string tls_folder_;  ///< empty: no TLS
  std::unique_ptr<ClusterRuntime> runtime_;
  std::shared_ptr<const ClusterPlan> plan_;
  std::shared_ptr<const ClusterHooks> hooks_;
  std::shared_ptr<ClusterProcess> process_;
  std::unique_ptr<AgentStarter> agents_;
  std::shared_ptr<Neighbourhood> neighbours_;
  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  caf::actor registrar_;
  caf::actor director_;
  std::optional<Traffic> traffic_;
};

// ---- starting ----

Result<std::unique_ptr<ProcessCluster>> ProcessCluster::make(const Job& job,
                                                             const PartitionedStore& store,
                                                             ProcessClusterSetup setup,
                                                             const std::function<bool()>& stop) {
  std::unique_ptr<ProcessCluster> cluster(new ProcessCluster());
  TROUPE_RETURN_IF_ERROR(cluster->open(job, store, std::move(setup)));
  for (;;) {
    {
      const std::lock_guard guard(cluster->shared_->mutex);
      const auto& shared = *cluster->shared_;
      if (shared.complete || shared.state.error().code() != Errc::overloaded) {
        TROUPE_RETURN_IF_ERROR(shared.state);
        break;
      }
    }
    if (stop()) {
      return Error(Errc::cancelled, "interrupted");
    }
    std::this_thread::sleep_for(milliseconds(2));
  }
  return cluster;
}

Status ProcessCluster::open(const Job& job, const PartitionedStore& store,
                            ProcessClusterSetup setup) {
  setup_ = std::move(setup);
  setup_.hooks.take_only = setup_.hooks.take_only || !setup_.program.empty();
  hooks_ = std::make_shared<const ClusterHooks>(setup_.hooks);
  TROUPE_ASSIGN_OR_RETURN(token_, make_token(job));
  TROUPE_ASSIGN_OR_RETURN(plan_, ClusterPlan::make(job, store, *hooks_));
  runtime_ = make_real_runtime(1);
  process_ = std::make_shared<ClusterProcess>(plan_->layout.director(), plan_, *runtime_, hooks_);
  TROUPE_RETURN_IF_ERROR(open_neighbourhood());
  agents_ = make_agent_starter(job);
  if (!agents_) {
    tell_how_to_join();
  }
  net::Welcome welcome;
  welcome.job = job.json;
  welcome.folder = setup_.folder.string();
  welcome.resume = setup_.resume;
  welcome.store = std::filesystem::absolute(store.dir()).string();
  TROUPE_ASSIGN_OR_RETURN(welcome.store_checksum, store_identity(store.dir()));
  for (const auto& process : plan_->layout.processes) {
    shared_->ranks_missing += process.ranks.empty() ? 0U : 1U;
  }
  start_registrar(welcome);
  return ok_status();
}

Status ProcessCluster::open_neighbourhood() {
  const auto& cluster = plan_->job.cluster;
  NeighbourhoodOptions options;
  options.token = token_;
  options.self = director_life;
  TROUPE_ASSIGN_OR_RETURN(options.listen, listen_address(plan_->job));
  options.tcp.heartbeat = seconds_as<std::chrono::nanoseconds>(cluster.heartbeat_s);
  options.tcp.lost_after = seconds_as<std::chrono::nanoseconds>(cluster.lost_after_s);
  TROUPE_ASSIGN_OR_RETURN(options.tcp.tls, make_tls());
  options.tcp.ucx = ucx_use(ucx_of(cluster));
  TROUPE_ASSIGN_OR_RETURN(const auto links, describe_links(cluster));
  if (!links.empty()) {
    setup_.say(links);
  }
  options.gate = plan_->gate_options();
  options.gate.generation = process_->generation();
  options.gate.endpoint.recovery_deadline = director_grace(cluster.lost_after_s);
  options.name = [plan = plan_](ProcessId id) {
    return raw(id) < plan->layout.processes.size() ? plan->layout.at(id).name
                                                   : fmt::format("process {}", raw(id));
  };
  options.admit = [shared = shared_, plan = plan_](const net::ProcessLife& life) -> Status {
    const std::lock_guard guard(shared->mutex);
    const bool comes_by_itself = plan->job.cluster.launch == "manual" &&
                                 raw(life.process) < plan->layout.processes.size() &&
                                 plan->layout.at(life.process).agent;
    if (comes_by_itself) {
      auto& latest = shared->lives[life.process];
      latest = std::max(latest, life.incarnation);
    }
    const auto found = shared->lives.find(life.process);
    if (found == shared->lives.end() || found->second != life.incarnation) {
      return Error(Errc::fenced,
                   fmt::format("process {}: its life {} is over; it was lost, and another takes "
                               "its place",
                               raw(life.process), life.incarnation));
    }
    return ok_status();
  };
  options.connected = [weak = std::weak_ptr(process_), shared = shared_](
                          ProcessId id, const std::shared_ptr<Gate>& gate) {
    {
      const std::lock_guard guard(shared->mutex);
      if (shared->registrar) {  // else the run is over
        gate->export_actor({Role::registrar, 0}, shared->registrar);
      }
    }
    if (const auto process = weak.lock()) {
      process->connect(id, gate);
    }
  };
  options.lost = [this](const net::ProcessLife& life, const Error& why) { lost(life, why.what()); };
  options.say = setup_.say;
  TROUPE_ASSIGN_OR_RETURN(neighbours_, Neighbourhood::open(runtime_->system(), std::move(options)));
  return ok_status();
}

/// A certificate for this run alone.
Result<std::shared_ptr<const net::TlsContext>> ProcessCluster::make_tls() {
  if (!plan_->job.cluster.tls) {
    return std::shared_ptr<const net::TlsContext>();
  }
  const auto folder = std::filesystem::absolute(plan_->job.output / "tls");
  std::error_code error;
  std::filesystem::remove_all(folder, error);
  std::filesystem::create_directories(folder, error);
  TROUPE_ASSIGN_OR_RETURN(const auto files, net::make_job_certificate(folder, 30));
  tls_folder_ = folder.string();
  return net::TlsContext::load(files);
}

void ProcessCluster::tell_how_to_join() {
  setup_.say(
      fmt::format("waiting for {} hosts; start on each: troupe join JOB --host-rank K "
                  "--director {} --token-file FILE, with K from 0 and a copy of {}",
                  plan_->layout.hosts, neighbours_->address(), token_path(plan_->job).string()));
}

/// Its handles are of no use any more, before anybody asks for them again.
void ProcessCluster::lost(const net::ProcessLife& life, const std::string& why) {
  process_->disconnect(life.process, neighbours_->gate(life));
  const std::lock_guard guard(shared_->mutex);
  shared_->settled.erase(life.process);
  if (shared_->registrar) {
    caf::anon_send(shared_->registrar, Ref<LinkLost>(LinkLost{life, why}));
  }
}

void ProcessCluster::start_registrar(const net::Welcome& welcome) {
  const auto& cluster = plan_->job.cluster;
  RegistrarOptions options;
  options.roster.layout = plan_->layout;
  options.roster.version = build_info().version;
  options.roster.manual = cluster.launch == "manual";
  options.welcome = welcome;
  options.generation = [generation = process_->generation()] { return generation->load(); };
  options.member = [process = process_](ProcessId id) { return process->member(id); };
  options.agent = [process = process_](ProcessId id) { return process->agent(id); };
  if (agents_) {
    options.start_agent = [this](HostId host, const net::ProcessLife& life) {
      start_agent(host, life);
    };
  }
  options.expect = [shared = shared_](const net::ProcessLife& life) {
    const std::lock_guard guard(shared->mutex);
    shared->lives[life.process] = life.incarnation;
  };
  options.drop = [this](const net::ProcessLife& life, const std::string& why) {
    if (!setup_.program.empty() && !plan_->layout.at(life.process).ranks.empty()) {
      fail(Error(Errc::peer_lost, why + "; try: --resume"));
    }
    {
      const std::lock_guard guard(shared_->mutex);
      const auto found = shared_->lives.find(life.process);
      if (found != shared_->lives.end() && found->second == life.incarnation) {
        shared_->lives.erase(found);
      }
    }
    process_->disconnect(life.process, neighbours_->gate(life));
    neighbours_->drop(life, Error(Errc::peer_lost, why));
  };
  options.ranks_ended = [this](const net::RanksEnded& ended) { ranks_ended(ended); };
  options.changed = [this](const Roster& roster) { changed(roster); };
  options.complete = [shared = shared_] {
    const std::lock_guard guard(shared->mutex);
    shared->complete = true;
    shared->state = ok_status();
  };
  options.give_up = [this](const Error& why) { fail(why); };
  options.say = setup_.say;
  options.notice = [this](const net::Notice& notice) {
    if (!notice.text.empty()) {
      setup_.say(notice.text);
    } else if (hooks_->on_step) {
      hooks_->on_step({notice.rank, notice.epoch, notice.step, notice.steps, notice.global_step,
                       notice.loss, notice.lr, notice.seconds});
    }
  };
  options.join_deadline = seconds_as<milliseconds>(cluster.join_deadline_s);
  options.start_deadline = start_deadline(cluster);
  if (cluster.launch == "local") {  // a login elsewhere may take its time
    options.agent_start_deadline = options.start_deadline;
  }
  registrar_ = spawn_registrar(runtime_->system(), std::move(options));
  const std::lock_guard guard(shared_->mutex);
  shared_->registrar = registrar_;
}

void ProcessCluster::start_agent(HostId host, const net::ProcessLife& life) {
  const auto& cluster = plan_->job.cluster;
  ProcessArguments arguments;
  arguments.life = life;
  arguments.name = plan_->layout.at(life.process).name;
  arguments.director = neighbours_->address();
  arguments.listen = "127.0.0.1:0";
  arguments.heartbeat_s = cluster.heartbeat_s;
  arguments.lost_after_s = cluster.lost_after_s;
  arguments.join_deadline_s = cluster.join_deadline_s;
  arguments.ucx = ucx_of(cluster);
  arguments.tls = tls_folder_;
  arguments.program = setup_.program;
  const auto started =
      agents_->start(host, arguments, token_, [this, life](const std::string& how) {
        const std::lock_guard guard(shared_->mutex);
        if (shared_->registrar) {
          caf::anon_send(shared_->registrar,
                         Ref<net::ProcessExited>(net::ProcessExited{life, how}));
        }
      });
  if (!started) {
    fail(Error(started.error()).with(arguments.name));
  }
}

// ---- running ----

void ProcessCluster::changed(const Roster& roster) {
  const std::lock_guard guard(shared_->mutex);
  shared_->settled.clear();
  for (const auto& process : plan_->layout.processes) {
    if (roster.settled(process.id)) {
      shared_->settled.insert(process.id);
    }
  }
  if (shared_->director) {
    caf::anon_send(shared_->director, Ref<ProcessesChanged>(ProcessesChanged{}));
  }
}

/// The director must not ask a process before all others know it.
caf::actor ProcessCluster::if_settled(ProcessId id, const caf::actor& handle) {
  const std::lock_guard guard(shared_->mutex);
  return shared_->settled.contains(id) ? handle : caf::actor();
}

void ProcessCluster::guard_handles(DirectorOptions& options) {
  options.trainer = [this](Rank rank) {
    return if_settled(plan_->layout.process_of(rank), process_->trainer(rank));
  };
  options.evaluators.handle = [this, ids = plan_->layout.evaluators()](std::size_t i) {
    return if_settled(ids[i], process_->evaluator(ids[i]));
  };
  options.supervisors.handle = [this, ids = plan_->layout.workers()](std::size_t i) {
    return if_settled(ids[i], process_->supervisor(ids[i]));
  };
  options.return_deadline = seconds_as<milliseconds>(plan_->job.cluster.recovery_deadline_s);
}

void ProcessCluster::start(RunSetup setup, std::function<void(Result<RunResult>)> on_end) {
  const auto once = [shared = shared_](Result<RunResult> result) {
    std::function<void(Result<RunResult>)> tell;
    {
      const std::lock_guard guard(shared->mutex);
      shared->over = true;
      tell = std::exchange(shared->on_end, nullptr);
    }
    if (tell) {
      tell(std::move(result));
    }
  };
  Status state = ok_status();
  {
    const std::lock_guard guard(shared_->mutex);
    shared_->on_end = std::move(on_end);
    state = shared_->state;
  }
  if (!state) {  // since all were there
    return once(state.error());
  }
  auto options = director_options(*plan_, process_, *hooks_, std::move(setup), once);
  if (!options) {
    return;
  }
  guard_handles(*options);
  options->say = setup_.say;
  options->io = runtime_->io();
  director_ = spawn_director(runtime_->system(), *std::move(options));
  const std::lock_guard guard(shared_->mutex);
  shared_->director = director_;
}

// ---- ranks with a program of the user's ----

void ProcessCluster::start_ranks(std::function<void(SessionOutcome)> on_end) {
  Status state = ok_status();
  SessionOutcome outcome;
  {
    const std::lock_guard guard(shared_->mutex);
    state = shared_->state;
    outcome = shared_->outcome;
    if (state && shared_->ranks_missing > 0) {
      shared_->on_ranks_end = std::move(on_end);
      return;
    }
  }
  if (!state) {
    outcome.status = state;
  }
  on_end(std::move(outcome));
}

void ProcessCluster::ranks_ended(const net::RanksEnded& ended) {
  std::function<void(SessionOutcome)> tell;
  SessionOutcome outcome;
  {
    const std::lock_guard guard(shared_->mutex);
    auto& sum = shared_->outcome;
    if (ended.code != Errc::ok && sum.status) {
      sum.status = Error(ended.code, ended.why);
    }
    const auto& ranks = plan_->layout.at(ended.life.process).ranks;
    if (std::ranges::count(ranks, Rank{0}) > 0) {
      sum.batches = ended.batches;
      sum.steps = ended.steps;
    }
    shared_->ranks_missing -= std::min<std::size_t>(shared_->ranks_missing, 1);
    if (shared_->ranks_missing == 0 || !sum.status) {
      tell = std::exchange(shared_->on_ranks_end, nullptr);
      outcome = sum;
    }
  }
  if (tell) {
    tell(std::move(outcome));
  }
}

void ProcessCluster::stop_ranks() {
  const auto first = plan_->layout.process_of(Rank{0});  // the ranks follow it
  if (const auto member = process_->member(first)) {
    caf::anon_send(member, Ref<net::StopRanks>(net::StopRanks{}));
  }
}

// ---- failing ----

/// The run cannot go on.
void ProcessCluster::fail(const Error& why) {
  std::function<void(Result<RunResult>)> tell;
  std::function<void(SessionOutcome)> tell_ranks;
  {
    const std::lock_guard guard(shared_->mutex);
    if (shared_->over) {
      return;
    }
    shared_->state = why;
    tell = std::exchange(shared_->on_end, nullptr);
    tell_ranks = std::exchange(shared_->on_ranks_end, nullptr);
    if (shared_->director) {
      caf::anon_send_exit(shared_->director, caf::exit_reason::user_shutdown);
    }
  }
  if (tell) {
    tell(why);
  }
  if (tell_ranks) {
    tell_ranks({.status = why, .batches = {}, .steps = 0});
  }
}

const nn::ParameterLayout& ProcessCluster::layout() const {
  static const nn::ParameterLayout none;
  return plan_->model ? plan_->model->layout() : none;
}

// ---- the end ----

Traffic ProcessCluster::finish() {
  if (traffic_) {
    return *traffic_;
  }
  {
    const std::lock_guard guard(shared_->mutex);
    shared_->over = true;
    shared_->director = {};
  }
  if (director_) {
    caf::anon_send_exit(director_, caf::exit_reason::user_shutdown);
  }
  traffic_.emplace();
  caf::scoped_actor self(runtime_->system());
  self->request(registrar_, std::chrono::seconds(5), Ref<EndAll>(EndAll{}))
      .receive([this](const Ref<net::LinkTotals>& totals) { traffic_ = *totals; },
               [](const caf::error&) {});
  const auto own = neighbours_->totals();
  traffic_->requests += own.requests;
  traffic_->resent += own.resent;
  traffic_->bytes += own.bytes;
  traffic_->interruptions = (traffic_->interruptions + own.interruptions) / 2;  // both ends count
  return *traffic_;
}

ProcessCluster::~ProcessCluster() {
  if (!runtime_) {
    return;
  }
  if (registrar_) {
    finish();
  }
  {
    const std::lock_guard guard(shared_->mutex);
    shared_->registrar = {};
  }
  if (agents_) {
    agents_->end();
    agents_.reset();
  }
  if (registrar_) {
    caf::anon_send_exit(registrar_, caf::exit_reason::user_shutdown);
  }
  if (process_) {
    process_->end_actors();
  }
  if (neighbours_) {
    neighbours_->close(Error(Errc::cancelled, "the run is over"));
  }
  runtime_->finish();
  neighbours_.reset();
  process_.reset();
}

class Sessions final : public ProcessSessions {
 public:
  explicit Sessions(std::unique_ptr<ProcessCluster> cluster) : cluster_(std::move(cluster)) {}
  void start(std::function<void(SessionOutcome)> on_end) override {
    cluster_->start_ranks(std::move(on_end));
  }
  void stop() override { cluster_->stop_ranks(); }

 private:
  const std::unique_ptr<ProcessCluster> cluster_;
};

}  // namespace

Result<std::unique_ptr<Cluster>> make_process_cluster(const Job& job, const PartitionedStore& store,
                                                      ProcessClusterSetup setup,
                                                      const std::function<bool()>& stop) {
  TROUPE_ASSIGN_OR_RETURN(auto cluster, ProcessCluster::make(job, store, std::move(setup), stop));
  return std::unique_ptr<Cluster>(std::move(cluster));
}

Result<std::unique_ptr<ProcessSessions>> make_process_sessions(const Job& job,
                                                               const PartitionedStore& store,
                                                               ProcessClusterSetup setup,
                                                               const std::function<bool()>& stop) {
  TROUPE_ASSIGN_OR_RETURN(auto cluster, ProcessCluster::make(job, store, std::move(setup), stop));
  return std::unique_ptr<ProcessSessions>(std::make_unique<Sessions>(std::move(cluster)));
}

}  // namespace troupe
