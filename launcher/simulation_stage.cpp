#include "launcher/simulation_stage.hpp"

#include "actors/local_messages.hpp"
#include "actors/message.hpp"
#include "runtime/feature/row_request.hpp"
#include "runtime/feature/tensor_rows.hpp"
#include "runtime/run/checkpoint.hpp"
#include "runtime/sample/one_hop.hpp"

#include <caf/all.hpp>

#include <fmt/format.h>

namespace troupe {
namespace {

constexpr double virtual_gigabit = 125e6;  // bytes per second

struct Later {
  std::function<void()> run;
};

caf::behavior late_holder(caf::event_based_actor* self, const caf::actor& holder,
                          std::chrono::microseconds delay) {
  self->link_to(holder);
  const auto pass_on = [=](auto request) {
    auto promise = std::make_shared<caf::response_promise>(self->make_response_promise());
    self->delayed_send(
        self, delay,
        Ref<Later>(Later{[promise, holder, request] { promise->delegate(holder, request); }}));
  };
  return {
      [=](const Ref<HopRequest>& request) { pass_on(request); },
      [=](const Ref<RowRequest>& request) { pass_on(request); },
      [=](const Ref<StoreTensor>& request) { pass_on(request); },
      [](const Ref<Later>& later) { later->run(); },
  };
}

}  // namespace

void Stage::tell(const std::string& what) {
  const auto line =
      fmt::format("{:>12.3f} ms: {}",
                  std::chrono::duration<double, std::milli>(runtime_.elapsed()).count(), what);
  outcome_.log = chain(outcome_.log, digest_of(std::as_bytes(std::span(line))));
  if (trace_) {
    trace_(line);
  }
}

ClusterHooks Stage::hooks() {
  ClusterHooks hooks;
  hooks.on_step = [this](const StepReport& report) { on_step(report); };
  hooks.on_start = [this](ProcessId host, const std::string& actor) {
    if (actor == cursed_) {
      later(std::chrono::microseconds(1), [this, host, actor] { kill(host, actor); });
    }
  };
  hooks.say = [this](const std::string& text) {
    outcome_.rollbacks += text.find("all ranks go back") != std::string::npos ? 1U : 0U;
    outcome_.restarts += text.find("started the holder") != std::string::npos ? 1U : 0U;
    tell(text);
  };
  hooks.pause = [this](Rank rank, std::uint64_t step) {
    const auto found = pauses_.find({raw(rank), step});
    if (found == pauses_.end()) {
      return std::chrono::milliseconds(0);
    }
    const auto length = found->second;
    pauses_.erase(found);
    tell(fmt::format("rank {} stalls for {} us", raw(rank), length.count()));
    return std::chrono::ceil<std::chrono::milliseconds>(length);
  };
  hooks.may_restart_holder = [this](ProcessId host, PartId part) -> Status {
    if (gone_.contains({raw(host), raw(part)})) {
      return Error(Errc::data_corruption, "its store cannot be read any more");
    }
    return ok_status();
  };
  if (plan_.holder_delay.count() > 0) {
    hooks.wrap_holder = [this](caf::actor_system& system, PartId part, caf::actor holder) {
      return part == plan_.slow_part ? system.spawn(late_holder, holder, plan_.holder_delay)
                                     : holder;
    };
  }
  return hooks;
}

void Stage::on_step(const StepReport& report) {
  tell(fmt::format("rank {} made step {}", raw(report.rank), report.global_step));
  for (std::size_t i = 0; i < plan_.faults.size(); ++i) {
    const auto& fault = plan_.faults[i];
    if (report.global_step == fault.step && happened_.insert(i).second) {
      schedule(fault);
    }
  }
}

void Stage::schedule(const Fault& fault) {
  const bool stalls =
      fault.kind == FaultKind::stall_trainer || fault.kind == FaultKind::stall_trainer_forever;
  if (stalls) {  // takes effect at the rank's next step
    const auto length = fault.kind == FaultKind::stall_trainer
                            ? fault.lasts
                            : std::chrono::microseconds(std::chrono::hours(20));
    pauses_[{raw(fault.rank), fault.step + 1}] = length;
    return;
  }
  later(fault.after, [this, fault] { happen(fault); });
}

void Stage::kill(ProcessId host, const std::string& actor) {
  tell(fmt::format("fault: the {} on host {} is killed", actor, raw(host)));
  cluster_->kill(host, actor);
}

void Stage::cut(const Fault& fault) {
  const auto cable = cluster_->cable(fault.host, fault.other);
  tell(fmt::format("fault: the link of hosts {} and {} is cut", raw(fault.host), raw(fault.other)));
  cable->cut(Error(Errc::peer_lost, "cut"), {.lose_in_flight = fault.lose_in_flight, .notice = {}});
  if (fault.kind == FaultKind::cut_link) {
    later(fault.lasts, [this, cable] {
      tell("the link is healed");
      cable->heal();
    });
  }
}

void Stage::slow(const Fault& fault) {
  const auto cable = cluster_->cable(fault.host, fault.other);
  tell(
      fmt::format("fault: the link of hosts {} and {} is slow", raw(fault.host), raw(fault.other)));
  cable->set_latency(std::chrono::milliseconds(20));
  cable->set_bandwidth(virtual_gigabit / 100);
  later(fault.lasts, [this, cable] {
    cable->set_latency(std::chrono::microseconds(static_cast<std::int64_t>(plan_.latency_us)));
    cable->set_bandwidth(plan_.bandwidth_gbps * virtual_gigabit);
  });
}

void Stage::happen(const Fault& fault) {
  const auto rank = fmt::format("trainer of rank {}", raw(fault.rank));
  const auto holder = fmt::format("holder of part {}", raw(fault.part));
  const auto home = static_cast<ProcessId>(raw(fault.part) % plan_.hosts);
  switch (fault.kind) {
    case FaultKind::cut_link:
    case FaultKind::cut_link_forever:
      return cut(fault);
    case FaultKind::slow_link:
      return slow(fault);
    case FaultKind::lose_sampler:
      return kill(fault.host, "sampler 0 of " + rank);
    case FaultKind::lose_collector:
      return kill(fault.host, "collector of " + rank);
    case FaultKind::lose_holder:
      return kill(home, holder);
    case FaultKind::lose_holder_forever:
      gone_.insert({raw(fault.host), raw(fault.part)});
      return kill(fault.host, holder);
    case FaultKind::lose_trainer:
      return kill(fault.host, rank);
    case FaultKind::lose_trainer_always:
      cursed_ = rank;
      return kill(fault.host, rank);
    case FaultKind::lose_evaluator:
      return kill(fault.host, "evaluator");
    case FaultKind::disk_error:
      tell("fault: the disk is full");
      ++full_disks_;
      later(fault.lasts, [this] { --full_disks_; });
      return;
    case FaultKind::stall_trainer:
    case FaultKind::stall_trainer_forever:
      return;
  }
}

Result<RunResult> Stage::run(const Job& job, const PartitionedStore& store) {
  TROUPE_ASSIGN_OR_RETURN(cluster_, SimulatedCluster::create(job, store, hooks(), runtime_));
  for (std::size_t i = 0; i < plan_.faults.size(); ++i) {
    if (plan_.faults[i].step == 0 && happened_.insert(i).second) {
      schedule(plan_.faults[i]);
    }
  }
  RunSetup setup;
  if (plan_.checkpoint_steps > 0) {
    CheckpointFolderOptions options;
    options.dir = checkpoints_;
    options.layout = cluster_->layout();
    options.flush = Flush::no;
    options.before_write = [this](const std::filesystem::path& path) -> Status {
      if (full_disks_ > 0) {
        return Error(Errc::failed_precondition,
                     fmt::format("{}: no space left on device", path.filename().string()));
      }
      return ok_status();
    };
    const auto folder = std::make_shared<CheckpointFolder>(std::move(options));
    setup.write_checkpoint = [folder](const Checkpoint& what) { return folder->write(what); };
  }
  auto result = cluster_->run(std::move(setup));
  over_ = true;
  outcome_.traffic = cluster_->traffic();
  outcome_.elapsed = runtime_.elapsed();
  tell(result ? "the run is done" : "the run ended: " + result.error().what());
  cluster_.reset();
  return result;
}

}  // namespace troupe
