#include "launcher/cluster_host.hpp"

#include "actors/agent.hpp"
#include "actors/collector.hpp"
#include "actors/holder.hpp"
#include "actors/local_messages.hpp"
#include "actors/message.hpp"
#include "actors/router.hpp"
#include "actors/sampler.hpp"
#include "launcher/seconds.hpp"
#include "runtime/job/plan.hpp"

#include <caf/all.hpp>

#include <algorithm>
#include <fmt/format.h>

namespace troupe {
namespace {

using std::chrono::milliseconds;

std::string holder_name(PartId part) {
  return fmt::format("holder of part {}", raw(part));
}
std::string trainer_name(Rank rank) {
  return fmt::format("trainer of rank {}", raw(rank));
}

/// A link has a deadline of its own, and says more when it ends.
constexpr std::chrono::milliseconds grace{1000};

}  // namespace

ClusterHost::ClusterHost(HostId id, std::shared_ptr<const ClusterPlan> plan,
                         ClusterRuntime& runtime, std::shared_ptr<const ClusterHooks> hooks)
    : id_(id), plan_(std::move(plan)), runtime_(runtime), hooks_(std::move(hooks)) {
  context_->host = id_;
  context_->graph = plan_->graph;
  context_->book = plan_->book;
  context_->sample = plan_->sample;
  context_->collect = plan_->collect;
  context_->executor = runtime_.compute();
  context_->on_hop = hooks_->on_hop;
  const auto& cluster = plan_->job.cluster;
  // Routers always answer, but may need that long.
  context_->request_deadline =
      seconds_as<milliseconds>(cluster.request_deadline_s + cluster.recovery_deadline_s) +
      grace * 2;
  context_->replicated = std::min(cluster.replicas, plan_->hosts()) > 1;
}

Status ClusterHost::load(const PartitionedStore& store) {
  for (std::uint32_t p = 0; p < plan_->parts(); ++p) {
    const auto part = static_cast<PartId>(p);
    const auto hosts = plan_->hosts_of_part(part);
    if (std::ranges::count(hosts, id_) == 0) {
      continue;
    }
    TROUPE_ASSIGN_OR_RETURN(context_->parts[part], store.load_part(part));
    if (hosts.front() != id_) {
      context_->replicas.insert(part);
    }
  }
  return ok_status();
}

void ClusterHost::connect(HostId other, std::shared_ptr<Gate> gate) {
  gates_[raw(other)] = std::move(gate);
}

// ---- who is known here ----

void ClusterHost::know(const std::string& name, const caf::actor& actor) {
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

TraceTrack ClusterHost::track(const std::string& name) const {
  return {hooks_->tracer, raw(id_), name};
}

void ClusterHost::export_to_all(Address address, const caf::actor& actor) {
  for (const auto& [other, gate] : gates_) {
    gate->export_actor(address, actor);
  }
}

caf::actor ClusterHost::local(const std::string& name) {
  const std::lock_guard guard(mutex_);
  const auto found = known_.find(name);
  return found == known_.end() ? caf::actor() : found->second;
}

caf::actor ClusterHost::find(HostId at, const std::string& name, Address address) {
  return at == id_ ? local(name) : gates_.at(raw(at))->proxy(address);
}

caf::actor ClusterHost::holder(HostId at, PartId part) {
  return find(at, holder_name(part), {Role::holder, raw(part)});
}
caf::actor ClusterHost::trainer(Rank rank) {
  return find(host_of_rank(plan_->job, rank), trainer_name(rank), {Role::trainer, raw(rank)});
}
caf::actor ClusterHost::evaluator(HostId at) {
  return find(at, "evaluator", {Role::evaluator, raw(at)});
}
caf::actor ClusterHost::agent(HostId at) {
  return find(at, "agent", {Role::agent, raw(at)});
}

// ---- starting ----

Result<caf::actor> ClusterHost::start_holder(PartId part) {
  auto& system = runtime_.system();
  auto actor = spawn_holder(system, context_->local_part(part), runtime_.compute(),
                            track(holder_name(part)));
  know(holder_name(part) + ", the thing itself", actor);
  if (hooks_->wrap_holder) {
    actor = hooks_->wrap_holder(system, part, actor);
  }
  know(holder_name(part), actor);
  export_to_all({Role::holder, raw(part)}, actor);
  return actor;
}

void ClusterHost::start_routers() {
  for (std::uint32_t p = 0; p < plan_->parts(); ++p) {
    const auto part = static_cast<PartId>(p);
    RouterOptions options;
    options.part = part;
    options.request_deadline =
        seconds_as<milliseconds>(plan_->job.cluster.request_deadline_s) + grace;
    options.recovery_deadline = seconds_as<milliseconds>(plan_->job.cluster.recovery_deadline_s);
    auto hosts = plan_->hosts_of_part(part);
    std::ranges::stable_partition(hosts, [this](HostId h) { return h == id_; });  // nearest first
    for (const auto at : hosts) {
      options.replicas.push_back([weak = weak_from_this(), at, part] {
        const auto self = weak.lock();
        return self ? self->holder(at, part) : caf::actor();
      });
    }
    const auto router = spawn_router(runtime_.system(), std::move(options));
    know(fmt::format("router of part {}", p), router);
    context_->holders.push_back(router);
  }
}

DataPath ClusterHost::start_data_path(const std::string& owner) {
  auto& system = runtime_.system();
  DataPath path;
  const auto collector_name = "collector of " + owner;
  path.collector = spawn_collector(system, context_, track(collector_name));
  know(collector_name, path.collector);
  for (std::uint32_t s = 0; s < plan_->job.cluster.samplers_per_trainer; ++s) {
    const auto name = fmt::format("sampler {} of {}", s, owner);
    path.samplers.push_back(spawn_sampler(system, context_, path.collector, track(name)));
    know(name, path.samplers.back());
  }
  return path;
}

SpawnDataPath ClusterHost::data_path_of(const std::string& owner) {
  return [self = shared_from_this(), owner] { return self->start_data_path(owner); };
}

Result<caf::actor> ClusterHost::start_trainer(Rank rank, std::uint32_t generation) {
  auto options = plan_->trainer_options(rank);
  options.on_step = hooks_->on_step;
  options.pause = hooks_->pause;
  options.generation = generation;
  options.trace = track(trainer_name(rank));
  const auto path = data_path_of(trainer_name(rank));
  TROUPE_ASSIGN_OR_RETURN(
      auto trainer,
      hooks_->spawn_rank
          ? hooks_->spawn_rank({runtime_.system(), std::move(options), context_, path})
          : spawn_trainer(runtime_.system(), std::move(options), path, runtime_.compute()));
  know(trainer_name(rank), trainer);
  export_to_all({Role::trainer, raw(rank)}, trainer);
  return trainer;
}

Result<caf::actor> ClusterHost::start_evaluator() {
  const auto first = plan_->ranks_of_host(id_).front();
  auto options = plan_->evaluator_options();
  options.trace = track("evaluator");
  auto evaluator = spawn_evaluator(runtime_.system(), context_, std::move(options),
                                   data_path_of("the evaluator"), [weak = weak_from_this(), first] {
                                     const auto self = weak.lock();
                                     return self ? self->trainer(first) : caf::actor();
                                   });
  know("evaluator", evaluator);
  export_to_all({Role::evaluator, raw(id_)}, evaluator);
  return evaluator;
}

Status ClusterHost::start_actors() {
  for (const auto& [part, data] : context_->parts) {
    TROUPE_RETURN_IF_ERROR(start_holder(part));
  }
  start_routers();
  for (const auto rank : plan_->ranks_of_host(id_)) {
    TROUPE_RETURN_IF_ERROR(start_trainer(rank, 0));
  }
  if (!plan_->take_only()) {
    TROUPE_RETURN_IF_ERROR(start_evaluator());
  }
  return ok_status();
}

/// Tells the trainers here who their peers are now.
void ClusterHost::introduce() {
  TrainerPeers peers;
  for (std::uint32_t r = 0; r < plan_->world(); ++r) {
    peers.trainers.push_back(trainer(static_cast<Rank>(r)));
  }
  for (const auto rank : plan_->ranks_of_host(id_)) {
    caf::anon_send(trainer(rank), Ref<TrainerPeers>(peers));
  }
}

void ClusterHost::start_agent() {
  introduce();
  AgentOptions options;
  options.host = id_;
  options.say = hooks_->say;
  options.regroup = [self = shared_from_this()](std::uint32_t generation) {
    *self->generation_ = generation;
  };
  options.introduce = [self = shared_from_this()](std::uint32_t) { self->introduce(); };
  for (const auto& [part, data] : context_->parts) {
    AgentMember member{holder_name(part), local(holder_name(part)), {}, true, std::nullopt};
    member.start = [self = shared_from_this(), id = part](std::uint32_t) -> Result<caf::actor> {
      if (self->hooks_->may_restart_holder) {
        TROUPE_RETURN_IF_ERROR(self->hooks_->may_restart_holder(self->id_, id));
      }
      return self->start_holder(id);
    };
    options.members.push_back(std::move(member));
  }
  for (const auto rank : plan_->ranks_of_host(id_)) {
    AgentMember member{trainer_name(rank), trainer(rank), {}, false, rank};
    member.start = [self = shared_from_this(), rank](std::uint32_t generation) {
      return self->start_trainer(rank, generation);
    };
    options.members.push_back(std::move(member));
  }
  if (!plan_->take_only()) {
    AgentMember member{"evaluator", local("evaluator"), {}, false, std::nullopt};
    member.start = [self = shared_from_this()](std::uint32_t) { return self->start_evaluator(); };
    options.members.push_back(std::move(member));
  }
  const auto agent = spawn_agent(runtime_.system(), std::move(options));
  know("agent", agent);
  export_to_all({Role::agent, raw(id_)}, agent);
}

// ---- ending ----

void ClusterHost::close(const Error& why) {
  for (const auto& [other, gate] : gates_) {
    gate->close(why);
  }
}

void ClusterHost::end_actors() {
  std::map<std::string, caf::actor> known;
  {
    const std::lock_guard guard(mutex_);
    closed_ = true;
    known.swap(known_);
  }
  // The agent first: it would start again what ends.
  if (const auto agent = known.find("agent"); agent != known.end()) {
    caf::anon_send_exit(agent->second, caf::exit_reason::user_shutdown);
  }
  for (const auto& [name, actor] : known) {
    caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
  }
}

}  // namespace troupe
