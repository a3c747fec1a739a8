#include "launcher/cluster_process.hpp"

#include "actors/batch_server.hpp"
#include "actors/collector.hpp"
#include "actors/holder.hpp"
#include "actors/local_messages.hpp"
#include "actors/message.hpp"
#include "actors/sampler.hpp"
#include "actors/supervisor.hpp"
#include "gpu/run/exact_devices.hpp"
#include "launcher/program_device.hpp"
#include "launcher/seconds.hpp"
#include "runtime/graph/list_tables.hpp"
#include "runtime/job/link_rules.hpp"
#include "runtime/nn/ops/cpu_block_ops.hpp"

#include <caf/all.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace troupe {
namespace {

using std::chrono::milliseconds;

std::string holder_name(PartId part) {
  return fmt::format("holder of part {}", raw(part));
}
std::string batch_server_name(Rank rank) {
  return fmt::format("batch server of rank {}", raw(rank));
}
std::string trainer_name(Rank rank) {
  return fmt::format("trainer of rank {}", raw(rank));
}

/// A link has a deadline of its own, and says more when it ends.
constexpr std::chrono::milliseconds grace{1000};

}  // namespace

ClusterProcess::ClusterProcess(ProcessId id, std::shared_ptr<const ClusterPlan> plan,
                               ClusterRuntime& runtime, std::shared_ptr<const ClusterHooks> hooks)
    : id_(id), plan_(std::move(plan)), runtime_(runtime), hooks_(std::move(hooks)) {
  context_->host = plan_->layout.at(id_).host;
  context_->process = plan_->layout.at(id_).name;
  context_->graph = plan_->graph;
  context_->book = plan_->book;
  context_->sample = plan_->sample;
  context_->eval_sample = plan_->eval_sample;
  // Batches for other processes are digested there.
  CollectOptions for_others = *plan_->collect;
  for_others.digest_here = false;
  context_->collect = std::make_shared<const CollectOptions>(std::move(for_others));
  context_->cache = plan_->cache;
  context_->ahead_bytes =
      plan_->job.cluster.channel_budget / plan_->job.cluster.samplers_per_trainer;
  context_->lists_cache = plan_->lists_cache;
  context_->executor = runtime_.compute();
  context_->on_hop = hooks_->on_hop;
  const auto& cluster = plan_->job.cluster;
  // A request that recovers may need that long.
  context_->request_deadline =
      seconds_as<milliseconds>(cluster.request_deadline_s + cluster.recovery_deadline_s) +
      grace * 2;
}

Status ClusterProcess::load(const PartitionedStore& store) {
  const auto tables = list_tables(*plan_->sample);
  std::vector<std::shared_ptr<const Part>> loaded;  // Lists may name nodes of all of them
  const auto prepared = [&](const std::shared_ptr<const Part>& part) {
    return with_list_tables(part, tables, plan_->sample->dir, loaded);
  };
  for (const auto part : plan().maps) {
    if (store.memory() == StoreMemory::copied) {
      TROUPE_ASSIGN_OR_RETURN(const auto bytes, store.part_bytes(part));
      copied_bytes_ += bytes;
    }
    TROUPE_ASSIGN_OR_RETURN(auto whole, store.load_part(part));
    TROUPE_ASSIGN_OR_RETURN(whole, with_ends_of(std::move(whole), plan_->job, store));
    loaded.push_back(whole);
    TROUPE_ASSIGN_OR_RETURN(context_->parts[part], prepared(whole));
    if (store.partition().halo_hops > 0 || store.partition().halo_features) {
      context_->halos.push_back(context_->parts[part]);
    }
    if (plan_->layout.servers_of(part).front() != id_) {
      context_->replicas.insert(part);
    }
    if (!std::ranges::binary_search(plan().serves, part)) {
      context_->mapped.insert(part);
    }
  }
  const bool samples = !plan().ranks.empty() || !plan().samples_for.empty();
  for (std::uint32_t p = 0;
       samples && plan_->job.partition.replicated_topology && p < store.partition().parts; ++p) {
    if (const auto part = static_cast<PartId>(p); !context_->parts.contains(part)) {
      TROUPE_ASSIGN_OR_RETURN(auto lists, store.load_lists(part));
      TROUPE_ASSIGN_OR_RETURN(context_->lists[part],
                              with_ends_of(std::move(lists), plan_->job, store));
      loaded.push_back(context_->lists[part]);
    }
  }
  for (auto& [id, part] : context_->lists) {
    TROUPE_ASSIGN_OR_RETURN(part, prepared(part));
  }
  return ok_status();
}

// ---- who is known here ----

void ClusterProcess::know(const std::string& name, const caf::actor& actor) {
  bool too_late = false;
  {
    const std::lock_guard guard(mutex_);
    known_[name] = actor;
    too_late = closed_;
  }
  if (too_late) {
    caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
  }
  if (hooks_->on_start) {
    hooks_->on_start(id_, name);
  }
}

TraceTrack ClusterProcess::track(const std::string& name) const {
  return {hooks_->tracer, raw(context_->host), name};
}

void ClusterProcess::connect(ProcessId other, std::shared_ptr<Gate> gate) {
  const std::lock_guard guard(mutex_);
  for (const auto& [word, exported] : exports_) {
    gate->export_actor(exported.first, exported.second);
  }
  gates_[other] = std::move(gate);
}

void ClusterProcess::disconnect(ProcessId other, const std::shared_ptr<Gate>& gate) {
  const std::lock_guard guard(mutex_);
  const auto found = gates_.find(other);
  if (found != gates_.end() && found->second == gate) {
    gates_.erase(found);
  }
}

std::vector<std::shared_ptr<Gate>> ClusterProcess::gates() const {
  const std::lock_guard guard(mutex_);
  std::vector<std::shared_ptr<Gate>> found;
  for (const auto& [other, gate] : gates_) {
    found.push_back(gate);
  }
  return found;
}

void ClusterProcess::export_to_all(Address address, const caf::actor& actor) {
  const std::lock_guard guard(mutex_);
  exports_.insert_or_assign(address.word(), std::pair(address, actor));
  for (const auto& [other, gate] : gates_) {
    gate->export_actor(address, actor);
  }
}

caf::actor ClusterProcess::local(const std::string& name) {
  const std::lock_guard guard(mutex_);
  const auto found = known_.find(name);
  return found == known_.end() ? caf::actor() : found->second;
}

caf::actor ClusterProcess::find(ProcessId at, const std::string& name, Address address) {
  if (at == id_) {
    return local(name);
  }
  std::shared_ptr<Gate> gate;
  {
    const std::lock_guard guard(mutex_);
    const auto found = gates_.find(at);
    gate = found == gates_.end() ? nullptr : found->second;
  }
  return gate ? gate->proxy(address) : caf::actor();
}

caf::actor ClusterProcess::holder(ProcessId at, PartId part) {
  return find(at, holder_name(part), {Role::holder, raw(part)});
}
caf::actor ClusterProcess::trainer(Rank rank) {
  return find(plan_->layout.process_of(rank), trainer_name(rank), {Role::trainer, raw(rank)});
}
caf::actor ClusterProcess::batch_server(ProcessId at, Rank rank) {
  return find(at, batch_server_name(rank), {Role::batch_server, raw(rank)});
}
caf::actor ClusterProcess::evaluator(ProcessId at) {
  return find(at, "evaluator", {Role::evaluator, raw(at)});
}
caf::actor ClusterProcess::member(ProcessId at) {
  return find(at, "member", {Role::member, raw(at)});
}
caf::actor ClusterProcess::agent(ProcessId at) {
  return find(at, "agent", {Role::agent, raw(at)});
}
caf::actor ClusterProcess::supervisor(ProcessId at) {
  return find(at, "supervisor", {Role::supervisor, raw(at)});
}

// ---- starting ----

Result<caf::actor> ClusterProcess::start_holder(PartId part, bool replaces_lost) {
  auto& system = runtime_.system();
  HolderRows rows;
  if (plan_->embedding) {
    auto others = *holders_of(part);
    others.actors.erase(others.actors.begin());  // itself
    others.request_deadline.reset();             // Copying takes as long as it takes
    rows = {plan_->embedding, std::make_shared<const Replicas>(std::move(others)), replaces_lost};
  }
  auto actor = spawn_holder(system, context_->local_part(part), runtime_.compute(),
                            track(holder_name(part)), std::move(rows));
  know(holder_name(part) + ", the thing itself", actor);
  if (hooks_->wrap_holder) {
    actor = hooks_->wrap_holder(system, part, actor);
  }
  know(holder_name(part), actor);
  export_to_all({Role::holder, raw(part)}, actor);
  return actor;
}

Replicas ClusterProcess::replicas(std::string what) const {
  const auto& cluster = plan_->job.cluster;
  Replicas to;
  to.what = std::move(what);
  to.request_deadline = seconds_as<milliseconds>(cluster.request_deadline_s) + grace;
  to.recovery_deadline = seconds_as<milliseconds>(cluster.recovery_deadline_s);
  return to;
}

std::shared_ptr<const Replicas> ClusterProcess::holders_of(PartId part) {
  auto to = replicas(fmt::format("part {}", raw(part)));
  const auto is_near = [this](ProcessId other) {
    return plan_->layout.at(other).host == context_->host;
  };
  auto servers = plan_->layout.servers_of(part);
  std::stable_partition(servers.begin(), servers.end(), is_near);
  std::stable_partition(servers.begin(), servers.end(),
                        [this](ProcessId other) { return other == id_; });
  for (const auto at : servers) {
    to.actors.push_back([weak = weak_from_this(), at, part] {
      const auto self = weak.lock();
      return self ? self->holder(at, part) : caf::actor();
    });
  }
  return std::make_shared<const Replicas>(std::move(to));
}

std::vector<std::shared_ptr<const Replicas>> ClusterProcess::holders() {
  std::vector<std::shared_ptr<const Replicas>> by_part;
  for (std::uint32_t part = 0; part < plan_->parts(); ++part) {
    by_part.push_back(holders_of(static_cast<PartId>(part)));
  }
  return by_part;
}

DataPath ClusterProcess::start_data_path(const std::string& owner, const WrapCollector& wrap) {
  auto& system = runtime_.system();
  DataPath path;
  const auto collector_name = "collector of " + owner;
  path.collector = spawn_collector(system, context_, track(collector_name));
  know(collector_name, path.collector);
  const auto collects = wrap ? wrap(path.collector) : path.collector;
  const auto lists = context_->lists_cache ? std::make_shared<CachedLists>() : nullptr;
  for (std::uint32_t s = 0; s < plan_->job.cluster.samplers_per_trainer; ++s) {
    const auto name = fmt::format("sampler {} of {}", s, owner);
    path.samplers.push_back(spawn_sampler(system, context_, collects, track(name), lists));
    know(name, path.samplers.back());
  }
  return path;
}

SpawnDataPath ClusterProcess::data_path_of(const std::string& owner) {
  return [self = shared_from_this(), owner] { return self->start_data_path(owner); };
}

/// Batches of a rank come from other processes; each of them first from one of them.
SpawnDataPath ClusterProcess::remote_path_of(Rank rank) {
  return [self = shared_from_this(), rank] {
    DataPath path;
    auto servers = self->plan_->layout.samplers_of(rank);
    for (std::size_t i = 0; i < servers.size(); ++i) {
      auto to = self->replicas(fmt::format("batches of rank {} from {}", raw(rank),
                                           self->plan_->layout.at(servers[i]).name));
      to.who = "batch servers";
      to.request_deadline.reset();  // A batch takes as long as those requested before it
      for (std::size_t k = 0; k < servers.size(); ++k) {
        to.actors.push_back(
            [weak = self->weak_from_this(), at = servers[(i + k) % servers.size()], rank] {
              const auto process = weak.lock();
              return process ? process->batch_server(at, rank) : caf::actor();
            });
      }
      path.servers.push_back(std::make_shared<const Replicas>(std::move(to)));
    }
    if (self->hooks_->spawn_rank) {  // may ask for more than the job's batches
      const auto here = self->start_data_path(trainer_name(rank));
      path.own = here.samplers.front();
      path.collector = here.collector;
    }
    return path;
  };
}

Result<caf::actor> ClusterProcess::start_batch_server(Rank rank) {
  const auto name = batch_server_name(rank);
  const auto owner = fmt::format("the batch server of rank {}", raw(rank));
  auto path = data_path_of(owner);
  if (sampler_data_) {
    auto there = sampler_device_path_of(rank, owner);
    if (!there) {
      return with_figures(there.error(), planned_memory_of_samplers());
    }
    path = *std::move(there);
  }
  auto server = spawn_batch_server(runtime_.system(), std::move(path));
  know(name, server);
  export_to_all({Role::batch_server, raw(rank)}, server);
  return server;
}

Result<caf::actor> ClusterProcess::start_trainer(Rank rank, std::uint32_t generation) {
  auto options = plan_->trainer_options(rank);
  options.device_memory = planned_memory();
  options.on_step = hooks_->on_step;
  options.pause = hooks_->pause;
  options.say = hooks_->say;
  options.generation = generation;
  options.trace = track(trainer_name(rank));
  if (plan_->embedding) {
    options.learned = {plan_->embedding, plan_->book, context_->holders};
    options.staleness = plan_->job.train.staleness;
  }
  const auto planned = options.device_memory;
  auto trainer = make_trainer(rank, std::move(options));
  if (!trainer) {
    return planned ? with_figures(trainer.error(), *planned) : trainer.error();
  }
  know(trainer_name(rank), *trainer);
  export_to_all({Role::trainer, raw(rank)}, *trainer);
  return trainer;
}

/// With its path of batches, and what it computes with.
Result<caf::actor> ClusterProcess::make_trainer(Rank rank, TrainerOptions options) {
  auto path = plan_->layout.samplers_of(rank).empty() ? data_path_of(trainer_name(rank))
                                                      : remote_path_of(rank);
  if (device_data_) {
    TROUPE_ASSIGN_OR_RETURN(path, device_path_of(rank, trainer_name(rank)));
  }
  if (hooks_->spawn_rank) {
    TROUPE_ASSIGN_OR_RETURN(auto device, program_device_of(rank));
    return hooks_->spawn_rank({runtime_.system(), std::move(options), context_, path,
                               std::move(device), runtime_.compute()});
  }
  LearnerHandle learner;
  if (!plan_->take_only()) {
    TROUPE_ASSIGN_OR_RETURN(learner, start_learner(rank, options.learner));
  }
  return spawn_trainer(runtime_.system(), std::move(options), path, std::move(learner));
}

Result<LearnerHandle> ClusterProcess::start_learner(Rank rank, const LearnerOptions& options) {
  std::unique_ptr<nn::BlockOps> ops;
  std::shared_ptr<DeviceMeans> means;
  const auto precision = plan_->job.train.precision;
  if (devices_) {
    TROUPE_ASSIGN_OR_RETURN(ops, devices_->block_ops(rank, precision));
    TROUPE_ASSIGN_OR_RETURN(means, means_of(rank, *ops));
  } else {
    ops = std::make_unique<nn::CpuBlockOps>(precision);
  }
  TROUPE_ASSIGN_OR_RETURN(
      auto learner, spawn_learner(runtime_.system(), options, runtime_.compute(), std::move(ops)));
  learner.means = std::move(means);
  return learner;
}

/// Of a rank that a user program trains; null: the CPU.
Result<std::shared_ptr<ProgramDevice>> ClusterProcess::program_device_of(Rank rank) {
  if (!devices_) {
    return std::shared_ptr<ProgramDevice>();
  }
  const auto place = gpu::device_of(*devices_, rank);
  const bool emulated =
      plan_->job.cluster.device_on(raw(context_->host)).kind == DeviceKind::emulated;
  auto device = std::make_shared<ProgramDevice>();
  device->info = {.kind = emulated ? RankDevice::Kind::emulated : RankDevice::Kind::cuda,
                  .number = devices_->numbers().at(place),
                  .name = devices_->names().at(place)};
  TROUPE_ASSIGN_OR_RETURN(device->stream, devices_->program_stream(rank));
  TROUPE_ASSIGN_OR_RETURN(device->means, means_of(rank, *device->stream));
  device->why_host = device_data_ ? "" : plan_->devices.why_not;
  return device;
}

/// Gradients can go over the links as well, with the same bits; but not as "fast" asks for.
/// \param of_stream  what owns the stream that the rank's vectors are in
template <class Owner>
Result<std::shared_ptr<DeviceMeans>> ClusterProcess::means_of(Rank rank, const Owner& of_stream) {
  const auto& gradients = plan_->gradients;
  if (!gradients.by_devices) {
    return std::shared_ptr<DeviceMeans>();
  }
  auto means = devices_->means(rank, of_stream, gradients.options);
  if (means) {
    return std::shared_ptr<DeviceMeans>(*std::move(means));
  }
  if (gradients.options.order == SumOrder::any) {
    return means.error();
  }
  if (hooks_->say) {
    hooks_->say(
        fmt::format("rank {}: gradients go over the links: {}", raw(rank), means.error().what()));
  }
  return std::shared_ptr<DeviceMeans>();
}

/// On the devices of the ranks here, where they can. \param options  of the evaluator, that get their share
Result<caf::actor> ClusterProcess::start_inferrer(EvaluatorOptions& options) {
  const auto on_cpu = [this](const std::string& why) {
    if (!why.empty() && hooks_->say && !said_why_not_exact_.exchange(true)) {
      hooks_->say(fmt::format("{}: exact inference on the CPU: {}", plan().name, why));
    }
    return spawn_cpu_inferrer(runtime_.system(), runtime_.compute());
  };
  const auto wanted = plan_->devices.exact_bytes;
  if (!devices_ || wanted == 0) {
    return on_cpu(wanted == 0 ? "" : "the process has no ranks, and so no devices");
  }
  TROUPE_ASSIGN_OR_RETURN(auto exact,
                          gpu::exact_devices(devices_, plan().ranks, wanted, options.inference,
                                             inference_host(context_, false)));
  if (exact.devices.empty()) {
    return on_cpu(exact.why_not);
  }
  options.inference.device = exact.share;
  return spawn_device_inferrer(runtime_.system(), runtime_.compute(), std::move(exact.devices));
}

Result<caf::actor> ClusterProcess::start_evaluator() {
  const auto first = plan().ranks.empty() ? Rank{0} : plan().ranks.front();
  auto options = plan_->evaluator_options(id_);
  options.trace = track("evaluator");
  if (hooks_->on_infer) {
    options.on_block = [hooks = hooks_, id = id_](InferenceReport report) {
      report.process = id;
      hooks->on_infer(report);
    };
  }
  TROUPE_ASSIGN_OR_RETURN(auto inferrer, start_inferrer(options));
  auto evaluator = spawn_evaluator(runtime_.system(), context_, std::move(options),
                                   data_path_of("the evaluator"), std::move(inferrer),
                                   [weak = weak_from_this(), first] {
                                     const auto self = weak.lock();
                                     return self ? self->trainer(first) : caf::actor();
                                   });
  if (hooks_->wrap_evaluator) {
    evaluator = hooks_->wrap_evaluator(runtime_.system(), id_, evaluator);
  }
  know("evaluator", evaluator);
  export_to_all({Role::evaluator, raw(id_)}, evaluator);
  return evaluator;
}

Status ClusterProcess::start_actors() {
  const auto& here = plan();
  TROUPE_RETURN_IF_ERROR(open_devices());
  TROUPE_RETURN_IF_ERROR(fill_devices());
  TROUPE_RETURN_IF_ERROR(fill_sampler_devices());
  for (const auto part : here.serves) {
    TROUPE_RETURN_IF_ERROR(start_holder(part, false));
  }
  for (std::uint32_t p = 0; p < plan_->parts(); ++p) {
    context_->holders.push_back(holders_of(static_cast<PartId>(p)));
  }
  for (const auto rank : here.samples_for) {
    TROUPE_RETURN_IF_ERROR(start_batch_server(rank));
  }
  for (const auto rank : here.ranks) {
    TROUPE_RETURN_IF_ERROR(start_trainer(rank, *generation_));
  }
  if (!plan_->take_only() && !here.serves.empty()) {
    TROUPE_RETURN_IF_ERROR(start_evaluator());
  }
  return ok_status();
}

void ClusterProcess::introduce() {
  TrainerPeers peers;
  for (std::uint32_t r = 0; r < plan_->world(); ++r) {
    peers.trainers.push_back(trainer(static_cast<Rank>(r)));
  }
  for (const auto rank : plan().ranks) {
    caf::anon_send(trainer(rank), Ref<TrainerPeers>(peers));
  }
}

void ClusterProcess::start_supervisor() {
  SupervisorOptions options;
  options.process = plan().name;
  options.say = hooks_->say;
  options.regroup = [self = shared_from_this()](std::uint32_t generation) {
    *self->generation_ = generation;
  };
  options.introduce = [self = shared_from_this()](std::uint32_t) { self->introduce(); };
  for (const auto part : plan().serves) {
    SupervisedActor member{holder_name(part), local(holder_name(part)), {}, true, std::nullopt};
    member.start = [self = shared_from_this(), part](std::uint32_t) -> Result<caf::actor> {
      if (self->hooks_->may_restart_holder) {
        TROUPE_RETURN_IF_ERROR(self->hooks_->may_restart_holder(self->id_, part));
      }
      return self->start_holder(part, true);
    };
    options.members.push_back(std::move(member));
  }
  for (const auto rank : plan().samples_for) {
    const auto name = batch_server_name(rank);
    SupervisedActor member{name, local(name), {}, true, std::nullopt};
    member.start = [self = shared_from_this(), rank](std::uint32_t) {
      return self->start_batch_server(rank);
    };
    options.members.push_back(std::move(member));
  }
  for (const auto rank : plan().ranks) {
    SupervisedActor member{trainer_name(rank), trainer(rank), {}, false, rank};
    member.start = [self = shared_from_this(), rank](std::uint32_t generation) {
      return self->start_trainer(rank, generation);
    };
    options.members.push_back(std::move(member));
  }
  if (const auto evaluator = local("evaluator")) {
    SupervisedActor member{"evaluator", evaluator, {}, false, std::nullopt};
    member.start = [self = shared_from_this()](std::uint32_t) { return self->start_evaluator(); };
    options.members.push_back(std::move(member));
  }
  const auto supervisor = spawn_supervisor(runtime_.system(), std::move(options));
  know("supervisor", supervisor);
  export_to_all({Role::supervisor, raw(id_)}, supervisor);
}

// ---- ending ----

void ClusterProcess::close(const Error& why) {
  for (const auto& gate : gates()) {
    gate->close(why);
  }
}

void ClusterProcess::end_actors() {
  std::map<std::string, caf::actor> known;
  {
    const std::lock_guard guard(mutex_);
    closed_ = true;
    known.swap(known_);
    exports_.clear();
  }
  // The supervisor first: it would start again what ends.
  if (const auto supervisor = known.find("supervisor"); supervisor != known.end()) {
    caf::anon_send_exit(supervisor->second, caf::exit_reason::user_shutdown);
  }
  for (const auto& [name, actor] : known) {
    caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
  }
}

}  // namespace troupe
