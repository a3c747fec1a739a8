// A process with actors of the run: joins, starts its actors, and works until the run ends.
#include "actors/error.hpp"
#include "actors/member.hpp"
#include "actors/message.hpp"
#include "launcher/bound_the_end.hpp"
#include "launcher/cluster_plan.hpp"
#include "launcher/cluster_process.hpp"
#include "launcher/prepare_store.hpp"
#include "launcher/print_error.hpp"
#include "launcher/processes/director_link.hpp"
#include "launcher/processes/store_identity.hpp"
#include "launcher/rank_threads.hpp"
#include "runtime/base/free_memory.hpp"
#include "runtime/base/trace.hpp"
#include "runtime/job/job_file.hpp"
#include "runtime/job/store_memory.hpp"
#include "runtime/run/job_store.hpp"
#include "runtime/run/state_pieces.hpp"
#include "runtime/sample/batch_scratch.hpp"
#include "runtime/wire/messages.hpp"

#include <caf/all.hpp>

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <mutex>

namespace troupe {
namespace {

/// The job as the director has it.
Result<Job> read_welcome(const net::Welcome& welcome) {
  TROUPE_ASSIGN_OR_RETURN(auto reading, parse_job(welcome.job, welcome.folder, {}));
  if (!reading.problems.empty()) {
    return Error(Errc::invalid_argument, "the director's job: " + to_string(reading.problems));
  }
  return std::move(reading.job);
}

/// The store with the job's own seeds.
Result<PartitionedStore> open_store(const net::Welcome& welcome, const Job& job) {
  TROUPE_RETURN_IF_ERROR(check_store(welcome));
  TROUPE_ASSIGN_OR_RETURN(auto store, PartitionedStore::open(welcome.store, {}));
  return store_of_job(job, std::move(store));
}

/// "host 0" gives trace-host-0.json.
std::string trace_file_name(std::string process) {
  std::ranges::replace(process, ' ', '-');
  return fmt::format("trace-{}.json", process);
}

class MemberProcess {
 public:
  /// \param returned  as run_process() has it
  MemberProcess(DirectorLink& link, std::function<Status(Session&)> fn, const RanksOptions& options,
                std::shared_ptr<const std::atomic<bool>> returned)
      : link_(link), fn_(std::move(fn)), options_(options), returned_(std::move(returned)) {}
  ~MemberProcess();

  Status run();

 private:
  std::string name_of(ProcessId id);
  void connected(ProcessId id, const std::shared_ptr<Gate>& gate);
  Status start(const net::Welcome& welcome);
  ClusterHooks hooks();
  void meet(const net::Members& members);
  Result<net::TrainingState> read_start();
  template <class Request>
  Status tell_registrar(Request request);
  Status keep_state(const net::TrainingState& state);
  Status prepare_ranks(const Job& job, bool resume, ClusterHooks& hooks);
  void start_ranks();
  void end_ranks(const Status& why);
  void write_trace();

  DirectorLink& link_;
  const std::function<Status(Session&)> fn_;  ///< the user's; empty: the built-in trainer
  const RanksOptions options_;                ///< of `fn_`
  const std::shared_ptr<const std::atomic<bool>> returned_;
  std::unique_ptr<RankThreads> ranks_;  ///< with `fn_`
  const net::ProcessInstance instance_ = link_.arguments().instance;
  caf::actor member_;
  std::shared_ptr<Tracer> tracer_;  ///< Null: the job wants no trace
  std::atomic<std::uint64_t> copied_bytes_ = 0;
  std::filesystem::path trace_file_;

  std::mutex mutex_;
  std::shared_ptr<const ClusterPlan> plan_;
  std::shared_ptr<ClusterProcess> process_;           ///< null until the store is open
  std::map<ProcessId, std::shared_ptr<Gate>> early_;  ///< gates from before
  std::map<ProcessId, std::uint32_t> there_;          ///< incarnations of the last table
  bool introduced_ = false;
};

std::string MemberProcess::name_of(ProcessId id) {
  if (id == director_instance.process) {
    return "director";
  }
  if (id == instance_.process) {
    return link_.arguments().name;
  }
  const std::lock_guard guard(mutex_);
  return plan_ ? plan_->layout.name_of(id) : fmt::format("process {}", raw(id));
}

void MemberProcess::connected(ProcessId id, const std::shared_ptr<Gate>& gate) {
  gate->export_actor({Role::member, raw(instance_.process)}, member_);
  std::shared_ptr<ClusterProcess> process;
  {
    const std::lock_guard guard(mutex_);
    process = process_;
    if (!process) {
      early_[id] = gate;
      return;
    }
  }
  process->connect(id, gate);
}

ClusterHooks MemberProcess::hooks() {
  ClusterHooks hooks;
  hooks.say = [registrar = link_.registrar()](const std::string& line) {
    caf::anon_send(registrar, Ref<net::Notice>(net::Notice{.text = line}));
  };
  hooks.on_step = [registrar = link_.registrar()](const StepReport& report) {
    if (raw(report.rank) == 0) {
      caf::anon_send(registrar, Ref<net::Notice>(net::Notice{.text = {},
                                                             .rank = report.rank,
                                                             .epoch = report.epoch,
                                                             .step = report.step,
                                                             .steps = report.steps,
                                                             .global_step = report.global_step,
                                                             .loss = report.loss,
                                                             .lr = report.lr,
                                                             .seconds = report.seconds,
                                                             .inference = {}}));
    }
  };
  hooks.on_infer = [registrar = link_.registrar()](const InferenceReport& report) {
    caf::anon_send(registrar, Ref<net::Notice>(net::Notice{
                                  .text = {},
                                  .inference = net::InferenceState{.process = report.process,
                                                                   .layer = report.layer,
                                                                   .layers = report.layers,
                                                                   .done = report.done,
                                                                   .total = report.total}}));
  };
  return hooks;
}

/// Whoever started this process by hand may have taken another program than the run has.
Status check_program(bool wanted, bool here) {
  if (wanted == here) {
    return ok_status();
  }
  return Error(Errc::failed_precondition,
               wanted ? "expected the program of the user's that trains in this run, found none\n"
                        "try: troupe join JOB ... -- PROGRAM, as with troupe run"
                      : "expected no program of the user's, as in this run, found one\n"
                        "try: troupe join JOB ... without -- PROGRAM");
}

Status MemberProcess::start(const net::Welcome& welcome) {
  TROUPE_RETURN_IF_ERROR(check_program(welcome.own_program, fn_ != nullptr));
  TROUPE_ASSIGN_OR_RETURN(auto job, read_welcome(welcome));
  TROUPE_ASSIGN_OR_RETURN(auto store, open_store(welcome, job));
  auto hooks_here = this->hooks();
  PredictedTask task;
  if (welcome.infers) {
    TROUPE_ASSIGN_OR_RETURN(const auto begin, read_start());
    TROUPE_ASSIGN_OR_RETURN(auto lists, lists_of_state(begin));
    TROUPE_ASSIGN_OR_RETURN(task, task_of_state(begin, store.info()));
    hooks_here.inference = InferenceTask{std::move(lists), welcome.embeddings, task};
    store = with_predicted_links(std::move(store), job, task);
  }
  fit_to_prediction(job, store.info(), task);
  if (!welcome.infers && job.trace) {
    tracer_ = std::make_shared<Tracer>();
    trace_file_ = job.output / trace_file_name(link_.arguments().name);
    hooks_here.tracer = tracer_;
  }
  if (fn_) {
    TROUPE_RETURN_IF_ERROR(prepare_ranks(job, welcome.resume, hooks_here));
  }
  const auto hooks = std::make_shared<const ClusterHooks>(std::move(hooks_here));
  TROUPE_ASSIGN_OR_RETURN(const auto plan, ClusterPlan::make(job, store, *hooks));
  auto& runtime = link_.runtime();
  runtime.start_compute(compute_threads(job.cluster, plan->layout.at(instance_.process).host));
  const auto process = std::make_shared<ClusterProcess>(instance_.process, plan, runtime, hooks);
  *process->generation() = welcome.generation;
  TROUPE_ASSIGN_OR_RETURN(
      const auto memory,
      store_memory(job, plan->layout, store, process->plan().host, free_memory_bytes()));
  TROUPE_RETURN_IF_ERROR(process->load(store.with_memory(memory)));
  copied_bytes_ = process->copied_bytes();
  auto options = plan->gate_options();
  options.generation = process->generation();
  link_.neighbours().set_gate_options(options, link_.tcp());
  std::map<ProcessId, std::shared_ptr<Gate>> early;
  {
    const std::lock_guard guard(mutex_);
    plan_ = plan;
    process_ = process;
    early.swap(early_);
  }
  for (const auto& [id, gate] : early) {
    process->connect(id, gate);
  }
  TROUPE_RETURN_IF_ERROR(process->start_actors());
  process->start_supervisor();
  return ok_status();
}

/// Links to those that are there; the one with the higher number dials.
void MemberProcess::meet(const net::Members& members) {
  auto& neighbours = link_.neighbours();
  std::map<ProcessId, std::uint32_t> now;
  std::size_t ranks = 0;
  for (const auto& entry : members.entries) {
    const auto id = entry.instance.process;
    if (raw(id) >= plan_->layout.processes.size()) {
      continue;
    }
    now[id] = entry.instance.incarnation;
    ranks += plan_->layout.at(id).ranks.size();
    if (plan_->layout.talk(instance_.process, id)) {
      neighbours.expect(entry.instance, raw(id) < raw(instance_.process) ? entry.address : "");
    }
  }
  for (const auto& [id, incarnation] : there_) {
    if (!now.contains(id)) {
      process_->disconnect(id, neighbours.gate({id, incarnation}));
      neighbours.drop({id, incarnation}, Error(Errc::peer_lost, name_of(id) + " is lost"));
    }
  }
  there_ = std::move(now);
  auto& generation = *process_->generation();
  generation = std::max(generation.load(), members.generation);
  if (!introduced_ && ranks == plan_->world()) {
    introduced_ = true;
    process_->introduce();
    start_ranks();
  }
}

/// What the director's process has for this one to begin with; blocks.
Result<net::TrainingState> MemberProcess::read_start() {
  PieceCollector pieces;
  caf::scoped_actor self(link_.runtime().system());
  for (net::ReadStart request{instance_.process, 0};; ++request.piece) {
    Result<Ref<net::StateReply>> answer = Error(Errc::internal, "no answer");
    self->request(link_.registrar(), caf::infinite, Ref<net::ReadStart>(request))
        .receive([&](const Ref<net::StateReply>& reply) { answer = reply; },
                 [&](const caf::error& error) { answer = from_caf(error); });
    TROUPE_ASSIGN_OR_RETURN(const auto reply, std::move(answer));
    const auto& piece = *reply->state;
    if (piece.blobs.empty() && request.piece > 0) {
      break;
    }
    TROUPE_ASSIGN_OR_RETURN([[maybe_unused]] const auto is_new, pieces.add(request.piece, piece));
  }
  return pieces.take();
}

// ---- user programs ----

/// Asks the registrar and waits. On any thread.
template <class Request>
Status MemberProcess::tell_registrar(Request request) {
  caf::scoped_actor self(link_.runtime().system());
  Status answered = ok_status();
  self->request(link_.registrar(), caf::infinite, Ref<Request>(std::move(request)))
      .receive([](const Ref<net::Done>&) {},
               [&](const caf::error& error) { answered = from_caf(error); });
  return answered;
}

/// Blocks until the director's process has kept it.
Status MemberProcess::keep_state(const net::TrainingState& state) {
  const auto count = count_pieces(state, state_piece_bytes);
  for (net::KeepState request; request.piece < count; ++request.piece) {
    request.last = request.piece + 1 == count;
    request.state = std::make_shared<const net::TrainingState>(
        piece_of(state, request.piece, state_piece_bytes));
    TROUPE_RETURN_IF_ERROR(tell_registrar(request));
  }
  return ok_status();
}

Status MemberProcess::prepare_ranks(const Job& job, bool resume, ClusterHooks& hooks) {
  SessionSetup setup;
  if (resume && !make_layout(job).at(instance_.process).ranks.empty()) {
    // The director's process has the checkpoints: this host may not see its folder.
    auto checkpoint = std::make_shared<Checkpoint>();
    TROUPE_ASSIGN_OR_RETURN(checkpoint->training, read_start());
    checkpoint->job = job.json;
    setup.resume = std::move(checkpoint);
  }
  setup.write_checkpoint = [this](const Checkpoint& checkpoint) {
    return keep_state(checkpoint.training);
  };
  setup.load_tables = [this] { return tell_registrar(net::LoadStart{instance_.process}); };
  setup.load_tensors = [this] {
    return tell_registrar(net::LoadStart{.process = instance_.process, .tensors = true});
  };
  setup.say = hooks.say;
  setup.on_epoch = [this](const net::RankEpoch& epoch) { return tell_registrar(epoch); };
  setup.on_step = hooks.on_step;
  setup.options = options_;
  ranks_ = std::make_unique<RankThreads>(job, std::move(setup));
  ranks_->add_to(hooks);
  return ok_status();
}

void MemberProcess::start_ranks() {
  if (!ranks_ || process_->plan().ranks.empty()) {
    return;
  }
  RankEvents events;
  events.failed = [registrar = link_.registrar(), instance = instance_](const Error& why) {
    if (why.code() != Errc::cancelled) {  // else what the others still do counts
      caf::anon_send(registrar, Ref<net::RanksEnded>(
                                    net::RanksEnded{instance, why.code(), why.what(), {}, 0}));
    }
  };
  events.ended = [this] {
    // On one of the threads that wait() waits for: told by another.
    link_.runtime().io()->post([this] {
      const auto outcome = ranks_->wait();
      net::RanksEnded ended{instance_,       Errc::ok,      {},
                            outcome.batches, outcome.steps, outcome.tables};
      net::set_status(ended, outcome.status);
      caf::anon_send(link_.registrar(), Ref<net::RanksEnded>(ended));
    });
  };
  ranks_->start(fn_, std::move(events));
}

/// Their calls fail from now on; their functions return.
void MemberProcess::end_ranks(const Status& why) {
  if (ranks_) {
    ranks_->fail(why ? Error(Errc::cancelled, "the run is over") : why.error());
    ranks_->wait();
  }
}

/// A trace that cannot be written does not fail the run.
void MemberProcess::write_trace() {
  if (!tracer_) {
    return;
  }
  std::error_code ignored;  // then writing fails, with the reason
  std::filesystem::create_directories(trace_file_.parent_path(), ignored);
  if (const auto written = tracer_->write(trace_file_); !written) {
    print_error(Error(written.error()).with(link_.arguments().name));
  }
}

Status MemberProcess::run() {
  const auto ending = link_.ending();
  member_ = spawn_member(link_.runtime().system(),
                         {.meet = [this](const net::Members& members) { meet(members); },
                          .stop_ranks =
                              [this] {
                                if (ranks_) {
                                  ranks_->stop();
                                }
                              },
                          .totals =
                              [this] {
                                auto totals = link_.neighbours().totals();
                                totals.store_copied_bytes = copied_bytes_;
                                totals.scratch_bytes = scratch_bytes();
                                return totals;
                              },
                          .decide_end =
                              [ending](const net::EndProcess& end) {
                                ending->decide_by_director(net::status_of(end));
                              },
                          .begin_end = [ending] { ending->begin(); }});
  TROUPE_RETURN_IF_ERROR(link_.connect(
      {.name = [this](ProcessId id) { return name_of(id); },
       .connected = [this](ProcessId id,
                           const std::shared_ptr<Gate>& gate) { connected(id, gate); },
       .unreachable =
           [this](const net::ProcessInstance& peer, const Error& why) {
             caf::anon_send(link_.registrar(), Ref<net::PeerUnreachable>(net::PeerUnreachable{
                                                   instance_, peer, why.what()}));
           }}));
  TROUPE_ASSIGN_OR_RETURN(const auto welcome, link_.join());
  const auto started = start(welcome);
  net::Ready ready{instance_, Errc::ok, {}};
  net::set_status(ready, started);
  if (!started) {
    print_error(Error(started.error()).with(link_.arguments().name));
  }
  caf::anon_send(link_.registrar(), Ref<net::Ready>(ready));
  auto ended = ending->wait();
  bound_the_end(ended, returned_);
  end_ranks(ending->by_director() ? ok_status() : ended);
  write_trace();
  return ended;
}

MemberProcess::~MemberProcess() {
  caf::anon_send_exit(member_, caf::exit_reason::user_shutdown);
  if (process_) {
    process_->end_actors();
  }
  link_.close();
  link_.runtime().finish();  // handlers use what is here
}

}  // namespace

ExitCode run_member(const ProcessArguments& arguments, const std::function<Status(Session&)>& fn,
                    const RanksOptions& options) {
  const auto returned = std::make_shared<std::atomic<bool>>(false);
  const auto code = run_process(
      arguments,
      [&](DirectorLink& link) {
        MemberProcess member(link, fn, options, returned);
        return member.run();
      },
      returned);
  *returned = fn != nullptr;  // a user program may have work left
  return code;
}

}  // namespace troupe
