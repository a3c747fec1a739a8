#include "launcher/processes/process_group.hpp"

#include "actors/director.hpp"
#include "actors/holder_tables.hpp"
#include "actors/holder_tensors.hpp"
#include "actors/message.hpp"
#include "actors/registrar.hpp"
#include "launcher/bound_the_end.hpp"
#include "launcher/processes/director_link.hpp"
#include "launcher/processes/store_identity.hpp"
#include "launcher/seconds.hpp"
#include "launcher/shell_quoted.hpp"
#include "launcher/version.hpp"
#include "runtime/job/link_encryption.hpp"
#include "runtime/run/state_pieces.hpp"
#include "runtime/wire/link_totals.hpp"
#include "runtime/wire/messages.hpp"

#include <caf/all.hpp>

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <random>
#include <thread>
#include <utility>

namespace troupe {
namespace {

using std::chrono::milliseconds;

/// How the run ended, for processes on other hosts.
Status as_processes_learn_it(const Status& ended) {
  if (ended) {
    return ended;
  }
  const auto& why = ended.error();
  return Error(why.code(), why.code() == Errc::cancelled
                               ? std::string("the run was interrupted")
                               : std::string("the run failed: ") + why.what());
}

/// From the start of a program on a host until it is heard of.
milliseconds start_deadline(const ClusterJob& cluster) {
  return seconds_as<milliseconds>(cluster.lost_after_s) + milliseconds(1500);
}

/// The same of a program of the user's, which may load an interpreter and its libraries before it calls
/// run_ranks. There is time for a second try.
milliseconds program_start_deadline(const ClusterJob& cluster) {
  const auto time = std::min(cluster.join_deadline_s, cluster.recovery_deadline_s) / 2;
  return std::max(start_deadline(cluster), seconds_as<milliseconds>(time));
}

}  // namespace

Result<std::unique_ptr<ProcessGroup>> ProcessGroup::open(const Job& job,
                                                         const PartitionedStore& store,
                                                         ProcessClusterSetup setup,
                                                         ProgramEvents events) {
  std::unique_ptr<ProcessGroup> group(new ProcessGroup(std::move(events)));
  TROUPE_RETURN_IF_ERROR(group->start(job, store, std::move(setup)));
  return group;
}

Status ProcessGroup::start(const Job& job, const PartitionedStore& store,
                           ProcessClusterSetup setup) {
  setup_ = std::move(setup);
  begin_ = setup_.resume;
  setup_.hooks.own_program = !setup_.program.empty();
  setup_.hooks.take_only = setup_.hooks.take_only || setup_.hooks.own_program;
  hooks_ = std::make_shared<const ClusterHooks>(setup_.hooks);
  TROUPE_ASSIGN_OR_RETURN(entrance_, make_entrance(job));
  TROUPE_ASSIGN_OR_RETURN(plan_, ClusterPlan::make(job, store, *hooks_));
  runtime_ = make_real_runtime(1);
  process_ = std::make_shared<ClusterProcess>(plan_->layout.director(), plan_, *runtime_, hooks_);
  // A process that joins meanwhile, with `manual`, waits for the registrar.
  std::unique_lock registrar_missing(shared_->mutex);
  TROUPE_RETURN_IF_ERROR(open_neighbourhood());
  agents_ = make_agent_starter(job);
  net::Welcome welcome;
  welcome.job = job.json;
  welcome.folder = setup_.folder.string();
  welcome.resume = setup_.resume != nullptr;
  welcome.own_program = !setup_.program.empty();
  if (const auto& task = hooks_->inference) {
    welcome.infers = true;
    welcome.embeddings = task->embeddings;
    auto begin = std::make_shared<Checkpoint>();
    begin->training = state_of_nodes(task->nodes);
    add_task(begin->training, task->task);
    begin_ = std::move(begin);
  }
  welcome.store = std::filesystem::absolute(store.dir()).string();
  TROUPE_ASSIGN_OR_RETURN(welcome.store_checksum, store_identity(store.dir()));
  start_registrar(welcome);
  shared_->registrar = registrar_;
  registrar_missing.unlock();
  if (!agents_) {
    tell_how_to_join();
  }
  return ok_status();
}

// ---- links ----

Status ProcessGroup::open_neighbourhood() {
  const auto& cluster = plan_->job.cluster;
  NeighbourhoodOptions options;
  options.token = entrance_.secrets.token;
  options.job = plan_->job.file_digest;
  options.self = director_instance;
  options.listen = entrance_.listen;
  TROUPE_ASSIGN_OR_RETURN(options.tcp, tcp_options(arguments_for(cluster), entrance_.secrets));
  TROUPE_ASSIGN_OR_RETURN(const auto links, describe_links(cluster));
  for (const auto& line : {links, plain_links_warning(cluster)}) {
    if (!line.empty()) {
      setup_.say(line);
    }
  }
  options.gate = plan_->gate_options();
  options.gate.generation = process_->generation();
  options.gate.endpoint.recovery_deadline = director_grace(cluster.lost_after_s);
  options.name = [plan = plan_](ProcessId id) { return plan->layout.name_of(id); };
  options.admit = [instances = instances_,
                   manual = cluster.launch == "manual"](const net::ProcessInstance& instance) {
    return manual && net::is_applicant(instance.process) ? ok_status() : instances->admit(instance);
  };
  options.connected = [weak = std::weak_ptr(process_), shared = shared_](
                          ProcessId id, const std::shared_ptr<Gate>& gate) {
    std::unique_lock guard(shared->mutex);
    if (!shared->registrar) {
      guard.unlock();
      return gate->close(Error(Errc::cancelled, "the run is over"));
    }
    gate->export_actor({Role::registrar, 0}, shared->registrar);
    guard.unlock();
    if (const auto process = weak.lock(); process && !net::is_applicant(id)) {
      process->connect(id, gate);
    }
  };
  options.lost = [this](const net::ProcessInstance& instance, const Error& why) {
    lost(instance, why.what());
  };
  options.say = setup_.say;
  auto opened = Neighbourhood::open(runtime_->system(), std::move(options));
  if (!opened && !cluster.listen.empty()) {
    return Error(opened.error().code(),
                 fmt::format("cluster.listen: {}; try: another port, 0 for any free one, or an "
                             "address of this host",
                             opened.error().what()));
  }
  TROUPE_ASSIGN_OR_RETURN(neighbours_, std::move(opened));
  return ok_status();
}

/// Its handles are of no use any more, before anybody asks for them again.
void ProcessGroup::lost(const net::ProcessInstance& instance, const std::string& why) {
  if (net::is_applicant(instance.process)) {
    return neighbours_->drop(instance, Error(Errc::peer_lost, why));
  }
  process_->disconnect(instance.process, neighbours_->gate(instance));
  {
    const std::lock_guard guard(shared_->mutex);
    shared_->settled.erase(instance.process);
  }
  tell_registrar([&](const caf::actor& registrar) {
    caf::anon_send(registrar, Ref<LinkLost>(LinkLost{instance, why}));
  });
}

void ProcessGroup::drop(const net::ProcessInstance& instance, const std::string& why) {
  instances_->forget(instance);
  process_->disconnect(instance.process, neighbours_->gate(instance));
  neighbours_->drop(instance, Error(Errc::peer_lost, why));
}

// ---- the registrar ----

void ProcessGroup::start_registrar(const net::Welcome& welcome) {
  const auto& cluster = plan_->job.cluster;
  RegistrarOptions options;
  options.roster.layout = plan_->layout;
  options.roster.version = build_identity();
  options.roster.manual = cluster.launch == "manual";
  options.roster.restart_together = !setup_.program.empty();
  if (options.roster.manual) {
    options.roster.first_given = std::random_device()() >> 12U;  // later ones are above it
  }
  options.welcome = welcome;
  options.generation = [generation = process_->generation()] { return generation->load(); };
  options.member = [process = process_](ProcessId id) { return process->member(id); };
  options.agent = [process = process_](ProcessId id) { return process->agent(id); };
  options.ranks_ended = events_.ended;
  options.join_deadline = seconds_as<milliseconds>(cluster.join_deadline_s);
  options.return_deadline = seconds_as<milliseconds>(cluster.recovery_deadline_s);
  options.start_deadline =
      setup_.program.empty() ? start_deadline(cluster) : program_start_deadline(cluster);
  if (cluster.launch == "local") {  // a login elsewhere may take its time
    options.agent_start_deadline = start_deadline(cluster);
  }
  add_actions(options);
  add_states(options);
  registrar_ = spawn_registrar(runtime_->system(), std::move(options));
}

void ProcessGroup::add_actions(RegistrarOptions& options) {
  if (agents_) {
    options.start_agent = [this](HostId host, const net::ProcessInstance& instance) {
      start_agent(host, instance);
    };
  }
  options.expect = [instances = instances_](const net::ProcessInstance& instance) {
    instances->expect(instance);
  };
  options.give = [instances = instances_](const net::ProcessInstance& instance) {
    instances->give(instance);
  };
  options.drop = [this](const net::ProcessInstance& instance, const std::string& why) {
    drop(instance, why);
  };
  options.changed = [this](const Roster& roster) { changed(roster); };
  options.complete = [end = end_] { end->complete(); };
  options.give_up = [end = end_](const Error& why) { end->fail(why); };
  options.say = setup_.say;
  options.notice = [this](const net::Notice& notice) {
    if (!notice.text.empty()) {
      setup_.say(notice.text);
    } else if (const auto& state = notice.inference; state.layers > 0) {
      if (hooks_->on_infer) {
        hooks_->on_infer({state.process, state.layer, state.layers, state.done, state.total});
      }
    } else if (hooks_->on_step) {
      hooks_->on_step({notice.rank, notice.epoch, notice.step, notice.steps, notice.global_step,
                       notice.loss, notice.lr, notice.seconds});
    }
  };
}

/// States of a user program's ranks are kept on this host, so that the others need not share a folder.
void ProcessGroup::add_states(RegistrarOptions& options) {
  options.start_state = [this](const net::ReadStart& request) { return start_state(request); };
  options.restart_ranks = [this](const std::string& why) { return restart_ranks(why); };
  options.rank_epoch = setup_.on_epoch;
  options.load_start = [this](const net::LoadStart& what) { return load_start(what.tensors); };
  if (setup_.keep_state) {
    options.io = runtime_->io();
    struct Keeping {
      PieceCollector pieces;
      Status kept = ok_status();  ///< The state before
    };
    options.keep_state =
        [this, keeping = std::make_shared<Keeping>()](const net::KeepState& request) -> Status {
      TROUPE_ASSIGN_OR_RETURN(const bool is_new,
                              keeping->pieces.add(request.piece, *request.state));
      if (!request.last) {
        return ok_status();
      }
      if (is_new) {
        keeping->kept = keep_state(keeping->pieces.take());
      }
      return keeping->kept;
    };
  }
}

/// With the rows that holders have of that step.
Status ProcessGroup::keep_state(net::TrainingState state) {
  const auto step = state.global_step;
  Checkpoint kept;
  kept.training = std::move(state);
  if (plan_->embedding) {
    kept.tables = std::make_shared<const HolderTables>(process_->system(), learned_rows(), step);
  }
  if (std::ranges::any_of(kept.training.blobs,
                          [](const auto& blob) { return is_tensor_blob(blob.first); })) {
    kept.tensors =
        std::make_shared<const HolderTensors>(process_->system(), process_->holders(), step);
  }
  return setup_.keep_state(std::move(kept));
}

LearnedRowsLinks ProcessGroup::learned_rows() const {
  return {plan_->embedding, plan_->book, process_->holders()};
}

/// Waits for the processes with holders, which may still be starting.
std::function<Status()> ProcessGroup::load_start(bool tensors) const {
  return [this, tensors, from = begin_]() -> Status {
    if (!from || (tensors ? !from->tensors : !from->tables)) {
      return Error(
          Errc::failed_precondition,
          fmt::format("expected {} in the checkpoint that the ranks begin with, found none",
                      tensors ? "rows of tensors" : "learned rows"));
    }
    const auto deadline = std::chrono::steady_clock::now() +
                          seconds_as<milliseconds>(plan_->job.cluster.recovery_deadline_s);
    while (!all_settled() && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(milliseconds(20));
    }
    return tensors ? load_tensors(process_->system(), process_->holders(), *from->tensors)
                   : load_tables(process_->system(), learned_rows(), *from->tables,
                                 from->training.global_step);
  };
}

bool ProcessGroup::all_settled() const {
  const std::lock_guard guard(shared_->mutex);
  return std::ranges::all_of(plan_->layout.processes, [this](const auto& process) {
    return process.serves.empty() || shared_->settled.contains(process.id);
  });
}

void ProcessGroup::stop_ranks() {
  stopping_ = true;
  std::unique_lock guard(shared_->mutex);
  const bool begin_again = shared_->begin_again;
  guard.unlock();
  if (begin_again) {
    end_->fail(Error(Errc::cancelled, "interrupted while ranks were starting again"));
  }
}

Result<net::StateReply> ProcessGroup::start_state(const net::ReadStart& request) const {
  const auto& processes = plan_->layout.processes;
  if (raw(request.process) >= processes.size()) {
    return Error(Errc::invalid_argument,
                 fmt::format("state: expected one of {} processes, found process {}",
                             processes.size(), raw(request.process)));
  }
  return net::StateReply{std::make_shared<const net::TrainingState>(
      piece_for(plan_->layout.at(request.process).ranks, begin_->training, request.piece,
                state_piece_bytes))};
}

/// Ranks of a user program go back together: their processes start again, and ask for their states.
bool ProcessGroup::restart_ranks(const std::string& why) {
  if (stopping_) {
    end_->fail(Error(Errc::cancelled, "interrupted; " + why));
    return false;
  }
  auto from = setup_.go_back();
  if (!from) {
    end_->fail(Error(from.error()).with(why));
    return false;
  }
  begin_ = *std::move(from);
  if (!restarts_.take(begin_ ? begin_->training.global_step : 0)) {
    end_->fail(Error(Errc::peer_lost,
                     fmt::format("{}; the ranks have started again {} times without a new "
                                 "checkpoint; try: what the process printed last, or --resume",
                                 why, max_restarts_in_a_row)));
  }
  {
    const std::lock_guard guard(shared_->mutex);
    shared_->begin_again = true;
  }
  if (stopping_) {  // asked for since
    end_->fail(Error(Errc::cancelled, "interrupted; " + why));
  }
  ++*process_->generation();
  events_.restarted();
  return begin_ != nullptr;
}

void ProcessGroup::start_agent(HostId host, const net::ProcessInstance& instance) {
  auto arguments = arguments_for(plan_->job.cluster);
  arguments.instance = instance;
  arguments.name = plan_->layout.at(instance.process).name;
  arguments.director = neighbours_->address();
  arguments.job = plan_->job.file_digest;
  arguments.program = setup_.program;
  if (const auto& named = plan_->job.cluster.named; raw(host) < named.size()) {
    arguments.cores = fmt::format("{}", fmt::join(named[raw(host)].cores, ","));
  }
  const auto ended = [this, instance](const std::string& how) {
    tell_registrar([&](const caf::actor& registrar) {
      caf::anon_send(registrar, Ref<net::ProcessExited>(net::ProcessExited{instance, how}));
    });
  };
  if (const auto started = agents_->start(host, arguments, entrance_.secrets, ended); !started) {
    end_->fail(Error(started.error()).with(arguments.name));
  }
}

void ProcessGroup::tell_how_to_join() {
  std::string program = setup_.program.empty() ? "" : " --";
  for (const auto& word : setup_.program) {
    program += " " + shell_word(word);
  }
  setup_.say(fmt::format(
      "waiting for {} hosts; start on each: troupe join JOB --host-rank K --director {} "
      "--token-file FILE{}, with K from 0 and a copy of {}",
      plan_->layout.hosts, neighbours_->address(), program, entrance_.token_file.string()));
}

/// Nothing once the run is over.
void ProcessGroup::tell_registrar(const std::function<void(const caf::actor&)>& send) {
  const std::lock_guard guard(shared_->mutex);
  if (shared_->registrar) {
    send(shared_->registrar);
  }
}

// ---- who is there ----

void ProcessGroup::changed(const Roster& roster) {
  const std::lock_guard guard(shared_->mutex);
  shared_->settled.clear();
  bool all_train = true;
  for (const auto& process : plan_->layout.processes) {
    if (roster.settled(process.id)) {
      shared_->settled.insert(process.id);
    } else if (!process.ranks.empty()) {
      all_train = false;
    }
  }
  shared_->begin_again = shared_->begin_again && !all_train;
  if (shared_->director) {
    caf::anon_send(shared_->director, Ref<ProcessesChanged>(ProcessesChanged{}));
  }
}

caf::actor ProcessGroup::if_settled(ProcessId id, const caf::actor& handle) const {
  const std::lock_guard guard(shared_->mutex);
  return shared_->settled.contains(id) ? handle : caf::actor();
}

void ProcessGroup::watch(const caf::actor& director) {
  const std::lock_guard guard(shared_->mutex);
  shared_->director = director;
}

// ---- the end ----

net::LinkTotals ProcessGroup::end_all() {
  net::LinkTotals totals;
  EndAll request;
  net::set_status(request.how, as_processes_learn_it(end_->outcome()));
  caf::scoped_actor self(runtime_->system());
  self->request(registrar_, std::chrono::seconds(5), Ref<EndAll>(std::move(request)))
      .receive([&](const Ref<net::LinkTotals>& sum) { totals = *sum; }, [](const caf::error&) {});
  net::add(totals, neighbours_->totals());
  totals.interruptions /= 2;  // both ends count
  return totals;
}

void ProcessGroup::let_programs_end() {
  if (agents_) {
    agents_->wait(time_to_end_ms);
  }
}

ExitCode ProcessGroup::wait_for_programs(const std::function<bool()>& stop) {
  if (!agents_) {
    return ExitCode::done;
  }
  for (bool said = false; !agents_->wait(50); said = true) {
    if (stop()) {
      agents_->kill();
      return ExitCode::interrupted;
    }
    if (!said) {
      setup_.say("the ranks have ended; waiting for their programs, which Ctrl-C ends");
    }
  }
  const auto failed = agents_->failure();
  if (failed && failed->killed) {  // else it has printed which program failed
    setup_.say(
        fmt::format("agent of host {}, with its programs: {}", raw(failed->host), failed->how));
  }
  return static_cast<ExitCode>(failed ? failed->code : 0);
}

ProcessGroup::~ProcessGroup() {
  if (!runtime_) {
    return;
  }
  {
    const std::lock_guard guard(shared_->mutex);
    shared_->registrar = {};
    shared_->director = {};
  }
  if (agents_) {
    agents_->wait(time_to_end_ms);
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

}  // namespace troupe
