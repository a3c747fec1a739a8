#include "launcher/simulation_stage.hpp"

#include "actors/local_messages.hpp"
#include "actors/message.hpp"
#include "runtime/feature/row_request.hpp"
#include "runtime/feature/tensor_rows.hpp"
#include "runtime/run/checkpoint.hpp"
#include "runtime/sample/one_hop.hpp"

#include <caf/all.hpp>

#include <algorithm>
#include <fmt/format.h>

namespace troupe {
namespace {

constexpr double virtual_gigabit = 125e6;  // bytes per second

struct Later {
  std::function<void()> run;
};

/// Passes requests on in their order, each after as long as `delay` says then.
caf::behavior late_actor(caf::event_based_actor* self, const caf::actor& actor,
                         const std::function<std::chrono::nanoseconds()>& delay) {
  self->link_to(actor);
  const auto pass_on = [=](auto request) {
    auto promise = std::make_shared<caf::response_promise>(self->make_response_promise());
    const auto wait = delay();
    if (wait.count() <= 0) {
      promise->delegate(actor, request);
      return;
    }
    self->delayed_send(
        self, wait,
        Ref<Later>(Later{[promise, actor, request] { promise->delegate(actor, request); }}));
  };
  return {
      [=](const Ref<HopRequest>& request) { pass_on(request); },
      [=](const Ref<RowRequest>& request) { pass_on(request); },
      [=](const Ref<StoreTensor>& request) { pass_on(request); },
      [=](const Ref<net::InferRequest>& request) { pass_on(request); },
      [=](const Ref<net::ScoreRequest>& request) { pass_on(request); },
      [=](const Ref<net::Ping>& request) { return self->delegate(actor, request); },
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
  hooks.on_step = [this](const StepReport& report) {
    tell(fmt::format("rank {} made step {}", raw(report.rank), report.global_step));
    reached(FaultMoment::step, report.global_step);
    if (report.global_step == steps_) {
      reached(FaultMoment::finish, steps_);
    }
  };
  hooks.on_infer = [this](const InferenceReport&) { reached(FaultMoment::evaluation, ++blocks_); };
  hooks.on_start = [this](ProcessId host, const std::string& actor) {
    if (actor == cursed_) {
      later(std::chrono::microseconds(1), [this, host, actor] { kill(host, actor); });
    }
  };
  hooks.say = [this](const std::string& text) {
    if (text.find("all ranks go back") != std::string::npos) {
      reached(FaultMoment::recovery, ++outcome_.rollbacks);
    }
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
  const auto until = [this](const auto& stalled, std::uint32_t which) {
    const auto found = stalled.find(which);
    const auto left = found == stalled.end() ? std::chrono::nanoseconds(0)
                                             : found->second - runtime_.driver().now();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(left);
  };
  hooks.wrap_holder = [this, until](caf::actor_system& system, PartId part, caf::actor holder) {
    const auto delay = part == plan_.slow_part ? plan_.holder_delay : std::chrono::microseconds(0);
    return system.spawn(late_actor, holder, [this, until, part, delay] {
      return std::max<std::chrono::nanoseconds>(delay, until(stalled_parts_, raw(part)));
    });
  };
  hooks.wrap_evaluator = [this, until](caf::actor_system& system, ProcessId id,
                                       caf::actor evaluator) {
    return system.spawn(late_actor, evaluator,
                        [this, until, id] { return until(stalled_evaluators_, raw(id)); });
  };
  return hooks;
}

void Stage::reached(FaultMoment moment, std::uint64_t count) {
  for (std::size_t i = 0; i < plan_.faults.size(); ++i) {
    const auto& fault = plan_.faults[i];
    if (fault.moment == moment && fault.step == count && happened_.insert(i).second) {
      schedule(fault);
    }
  }
}

void Stage::schedule(const Fault& fault) {
  const bool stalls =
      fault.kind == FaultKind::stall_trainer || fault.kind == FaultKind::stall_trainer_forever;
  if (stalls && fault.moment == FaultMoment::step) {  // takes effect at the rank's next step
    const auto length = fault.kind == FaultKind::stall_trainer
                            ? fault.lasts
                            : std::chrono::microseconds(std::chrono::hours(20));
    pauses_[{raw(fault.rank), fault.step + 1}] = length;
    return;
  }
  later(fault.after, [this, fault] { happen(fault); });
}

void Stage::kill(ProcessId host, const std::string& actor) {
  tell(fmt::format("fault: the {} in process {} is killed", actor, raw(host)));
  cluster_->kill(host, actor);
}

void Stage::cut(const Fault& fault) {
  const auto cable = cluster_->cable(fault.host, fault.other);
  tell(fmt::format("fault: the link of processes {} and {} is cut", raw(fault.host),
                   raw(fault.other)));
  cable->cut(Error(Errc::peer_lost, "cut"), {.lose_in_flight = fault.lose_in_flight, .notice = {}});
  if (fault.kind == FaultKind::cut_link_forever) {
    never_healed_.insert(cable.get());
    return;
  }
  heal_later(cable, fault.lasts);
}

void Stage::heal_later(const std::shared_ptr<net::SimCable>& cable,
                       std::chrono::microseconds after) {
  later(after, [this, cable] {
    if (!never_healed_.contains(cable.get())) {
      tell("a link is healed");
      cable->heal();
    }
  });
}

void Stage::slow(const Fault& fault) {
  const auto cable = cluster_->cable(fault.host, fault.other);
  tell(fmt::format("fault: the link of processes {} and {} is slow", raw(fault.host),
                   raw(fault.other)));
  cable->set_latency(std::chrono::milliseconds(20));
  cable->set_bandwidth(virtual_gigabit / 100);
  later(fault.lasts, [this, cable] {
    cable->set_latency(std::chrono::microseconds(static_cast<std::int64_t>(plan_.latency_us)));
    cable->set_bandwidth(plan_.bandwidth_gbps * virtual_gigabit);
  });
}

void Stage::silence(const Fault& fault) {
  const auto cable = cluster_->cable(fault.host, fault.other);
  const std::size_t end = raw(fault.host) < raw(fault.other) ? 0 : 1;
  constexpr std::chrono::microseconds lost_after = std::chrono::seconds(3);
  tell(fmt::format("fault: nothing of process {} reaches process {}", raw(fault.host),
                   raw(fault.other)));
  cable->hold(end, true);
  if (fault.lasts < lost_after) {  // TCP sends it again
    later(fault.lasts, [this, cable, end] {
      tell("the silent link is healed");
      cable->hold(end, false);
    });
    return;
  }
  later(lost_after, [this, cable] {
    tell("the silent link is closed");
    cable->cut(Error(Errc::peer_lost, "silent for 3 s"), {.lose_in_flight = true, .notice = {}});
  });
  heal_later(cable, fault.lasts);
}

std::pair<ProcessId, std::string> Stage::data_path_of(Rank rank) const {
  const auto elsewhere = layout_.samplers_of(rank);
  return elsewhere.empty()
             ? std::pair(layout_.process_of(rank), fmt::format("trainer of rank {}", raw(rank)))
             : std::pair(elsewhere.front(), fmt::format("the batch server of rank {}", raw(rank)));
}

void Stage::happen(const Fault& fault) {
  const auto rank = fmt::format("trainer of rank {}", raw(fault.rank));
  const auto holder = fmt::format("holder of part {}", raw(fault.part));
  const auto [sampling, owner] = data_path_of(fault.rank);
  switch (fault.kind) {
    case FaultKind::cut_link:
    case FaultKind::cut_link_forever:
      return cut(fault);
    case FaultKind::slow_link:
      return slow(fault);
    case FaultKind::silent_link:
      return silence(fault);
    case FaultKind::corrupt_frame:
      tell(fmt::format("fault: a byte from process {} to process {} changes", raw(fault.host),
                       raw(fault.other)));
      return cluster_->cable(fault.host, fault.other)
          ->corrupt(raw(fault.host) < raw(fault.other) ? 0 : 1);
    case FaultKind::lose_sampler:
      return kill(sampling, "sampler 0 of " + owner);
    case FaultKind::lose_collector:
      return kill(sampling, "collector of " + owner);
    case FaultKind::lose_holder:
      return kill(fault.host, holder);
    case FaultKind::stall_holder:
      tell(fmt::format("fault: the holders of part {} stall", raw(fault.part)));
      stalled_parts_[raw(fault.part)] = runtime_.driver().now() + fault.lasts;
      return;
    case FaultKind::stall_evaluator:
    case FaultKind::stall_evaluator_forever:
      tell(fmt::format("fault: the evaluator of process {} stalls", raw(fault.host)));
      stalled_evaluators_[raw(fault.host)] =
          runtime_.driver().now() + (fault.kind == FaultKind::stall_evaluator
                                         ? fault.lasts
                                         : std::chrono::microseconds(std::chrono::hours(20)));
      return;
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
  reached(FaultMoment::step, 0);
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
  outcome_.windows = cluster_->check_windows();
  outcome_.elapsed = runtime_.elapsed();
  tell(result ? "the run is done" : "the run ended: " + result.error().what());
  cluster_.reset();
  return result;
}

}  // namespace troupe
