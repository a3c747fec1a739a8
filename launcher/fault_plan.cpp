#include "launcher/fault_plan.hpp"

#include "runtime/base/philox.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <tuple>
#include <utility>

namespace troupe {
namespace {

using std::chrono::microseconds;

/// Choices of one plan.
class Dice {
 public:
  explicit Dice(std::uint64_t seed)
      : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)} {}
  /// 0 … n-1. \requires n > 0
  std::uint64_t below(std::uint64_t n) {
    const auto word = philox4x32_10({next_++, 0, 0, 0}, key_);
    return (std::uint64_t{word[0]} << 32 | word[1]) % n;
  }
  std::uint64_t between(std::uint64_t low, std::uint64_t high) {
    return low + below(high - low + 1);
  }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  template <class T, std::size_t N>
  T one_of(const std::array<T, N>& values) {
    return values[below(N)];
  }

 private:
  PhiloxKey key_;
  std::uint32_t next_ = 0;
};

void choose_cluster(FaultPlan& plan, Dice& dice) {
  static constexpr std::array<std::pair<std::uint32_t, std::uint32_t>, 7> shapes = {
      {{1, 1}, {1, 2}, {2, 1}, {2, 1}, {2, 2}, {3, 1}, {4, 1}}};
  const auto [hosts, trainers] = dice.one_of(shapes);
  plan.hosts = hosts;
  plan.trainers_per_host = trainers;
  plan.samplers = static_cast<std::uint32_t>(dice.between(1, 2));
  plan.parts = static_cast<std::uint32_t>(dice.between(1, 4));
  plan.placement = dice.one_of(std::array{"collocated", "collocated", "worker", "server_client"});
  plan.servers =
      plan.placement == "server_client" ? static_cast<std::uint32_t>(dice.between(1, 2)) : 0;
  const auto owners = plan.servers > 0 ? plan.servers : hosts;
  plan.replicas = static_cast<std::uint32_t>(dice.between(1, std::min(owners, 2U)));
  plan.heterogeneous = dice.one_in(4);
  plan.row_cache = dice.one_in(4) ? 20'000 : 0;
  plan.known_future = plan.row_cache > 0 && plan.placement == "collocated" && plan.seed % 4 != 0;
  plan.batches_in_flight = dice.one_of(std::array{1U, 2U, 4U, 16U});
  plan.window_bytes = dice.one_of(
      std::array{std::uint64_t{64} << 10, std::uint64_t{256} << 10, std::uint64_t{4} << 20});
  plan.checkpoint_steps = dice.one_of(std::array{0U, 1U, 2U, 5U});
  plan.latency_us = static_cast<double>(dice.one_of(std::array{0U, 20U, 200U, 2000U}));
  plan.bandwidth_gbps = dice.one_of(std::array{0.0, 0.01, 0.1, 10.0});
  if (dice.one_in(4)) {
    plan.slow_part = static_cast<PartId>(dice.below(plan.parts));
    plan.holder_delay = microseconds(dice.between(1, 20'000));
  }
}

using ProcessPair = std::pair<ProcessId, ProcessId>;

/// Of processes that talk.
std::vector<ProcessPair> links_of(const Layout& layout) {
  std::vector<ProcessPair> links;
  for (const auto& a : layout.processes) {
    for (const auto& b : layout.processes) {
      if (raw(a.id) < raw(b.id) && layout.talk(a.id, b.id)) {
        links.emplace_back(a.id, b.id);
      }
    }
  }
  return links;
}

/// Over which gradients go: nothing takes their place.
std::vector<ProcessPair> links_of_ranks(const Layout& layout) {
  auto links = links_of(layout);
  std::erase_if(links, [&](const ProcessPair& link) {
    return layout.at(link.first).ranks.empty() || layout.at(link.second).ranks.empty();
  });
  return links;
}

bool is_on_link(FaultKind kind) {
  return kind == FaultKind::cut_link || kind == FaultKind::cut_link_forever ||
         kind == FaultKind::slow_link || kind == FaultKind::silent_link ||
         kind == FaultKind::corrupt_frame;
}

/// Where and when. \requires there are links, where it is on one
Fault place(FaultKind kind, const FaultPlan& plan, const std::vector<ProcessPair>& links,
            std::uint64_t steps, Dice& dice) {
  const auto layout = layout_of(plan);
  Fault fault;
  fault.kind = kind;
  fault.step = dice.below(steps);
  fault.after = microseconds(dice.below(3000));
  fault.rank = static_cast<Rank>(dice.below(plan.world()));
  fault.part = static_cast<PartId>(dice.below(plan.parts));
  fault.lose_in_flight = dice.one_in(2);
  const auto evaluators = layout.evaluators();
  if (is_on_link(kind)) {
    std::tie(fault.host, fault.other) = links[dice.below(links.size())];
    if (dice.one_in(2)) {
      std::swap(fault.host, fault.other);
    }
  } else if (kind == FaultKind::lose_evaluator || kind == FaultKind::stall_evaluator ||
             kind == FaultKind::stall_evaluator_forever) {
    fault.host = evaluators[dice.below(evaluators.size())];
  } else if (kind == FaultKind::lose_holder || kind == FaultKind::lose_holder_forever) {
    fault.host = layout.servers_of(fault.part).front();
  } else {
    fault.host = layout.process_of(fault.rank);
  }
  return fault;
}

/// Half of the faults wait for a step, the others for what comes seldom.
void choose_moment(Fault& fault, std::uint64_t steps, Dice& dice) {
  static constexpr std::array moments = {FaultMoment::evaluation, FaultMoment::recovery,
                                         FaultMoment::finish};
  if (dice.one_in(2)) {
    return;
  }
  fault.moment = dice.one_of(moments);
  fault.step = fault.moment == FaultMoment::finish     ? steps
               : fault.moment == FaultMoment::recovery ? 1
                                                       : dice.between(1, 8);
}

/// Longer than lost_after in one of three: then a living rank is given up and replaced.
microseconds cut_length(Dice& dice) {
  return dice.one_in(3) ? microseconds(dice.between(3'000'000, 15'000'000))
                        : microseconds(dice.between(1, 500'000));
}

void add_recoverable(FaultPlan& plan, std::uint64_t steps, Dice& dice) {
  static constexpr std::array kinds = {
      FaultKind::cut_link,       FaultKind::slow_link,       FaultKind::silent_link,
      FaultKind::corrupt_frame,  FaultKind::lose_sampler,    FaultKind::lose_sampler,
      FaultKind::lose_collector, FaultKind::lose_holder,     FaultKind::lose_holder,
      FaultKind::lose_trainer,   FaultKind::lose_evaluator,  FaultKind::stall_trainer,
      FaultKind::stall_holder,   FaultKind::stall_evaluator, FaultKind::disk_error};
  const auto links = links_of(layout_of(plan));
  std::uint32_t cuts = 0;
  const auto count = dice.between(0, 5);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto kind = dice.one_of(kinds);
    if (is_on_link(kind) && (links.empty() || ++cuts > 2)) {
      continue;  // two cuts at their longest still end before the recovery deadline
    }
    auto fault = place(kind, plan, links, steps, dice);
    choose_moment(fault, steps, dice);
    fault.lasts = is_on_link(kind) ? cut_length(dice) : microseconds(dice.between(1, 2'000'000));
    plan.faults.push_back(fault);
  }
}

/// Whether anybody asks the holders of a part: who samples without it, and exact inference.
bool is_asked_for(PartId part, const FaultPlan& plan, const Layout& layout) {
  const auto asks = [&](const ProcessPlan& process) {
    const bool samples_own = std::ranges::any_of(
        process.ranks, [&](Rank rank) { return layout.samplers_of(rank).empty(); });
    const bool samples = samples_own || !process.samples_for.empty();
    return samples && !std::ranges::binary_search(process.maps, part);
  };
  return (!plan.heterogeneous && layout.workers().size() > 1) ||
         std::ranges::any_of(layout.processes, asks);
}

void add_fatal(FaultPlan& plan, std::uint64_t steps, Dice& dice) {
  static constexpr std::array kinds = {
      FaultKind::cut_link_forever, FaultKind::lose_holder_forever, FaultKind::lose_trainer_always,
      FaultKind::stall_trainer_forever, FaultKind::stall_evaluator_forever};
  auto kind = dice.one_of(kinds);
  if (kind == FaultKind::lose_holder_forever) {
    plan.replicas = std::min(plan.replicas, 1U);
  }
  const auto layout = layout_of(plan);
  const auto links = links_of_ranks(layout);
  if ((kind == FaultKind::cut_link_forever && links.empty()) ||
      (kind == FaultKind::stall_evaluator_forever && plan.heterogeneous)) {
    kind = FaultKind::lose_trainer_always;
  }
  // Early enough that the rest of the run needs what is lost: a step takes 100 us of virtual time.
  auto fault = place(kind, plan, links, std::max<std::uint64_t>(steps / 2, 1), dice);
  fault.after /= 64;
  if (kind == FaultKind::lose_holder_forever && !is_asked_for(fault.part, plan, layout)) {
    kind = fault.kind = FaultKind::lose_trainer_always;
    fault.host = layout.process_of(fault.rank);
  }
  fault.step = std::max<std::uint64_t>(fault.step, 1);
  if (kind == FaultKind::lose_holder_forever) {
    plan.fatal = fmt::format("part {}", raw(fault.part));
  } else if (kind == FaultKind::cut_link_forever) {
    const auto [low, high] = std::minmax(fault.host, fault.other);
    plan.fatal = fmt::format("link of {} and {}", layout.name_of(low), layout.name_of(high));
  } else if (kind == FaultKind::stall_evaluator_forever) {
    plan.fatal = "evaluator of " + layout.name_of(fault.host);
  } else {
    plan.fatal = fmt::format("trainer {}", raw(fault.rank));
  }
  plan.faults.push_back(fault);
}

/// With a replica a holder may be lost for good.
void add_lost_replica(FaultPlan& plan, std::uint64_t steps, Dice& dice) {
  plan.faults.push_back(place(FaultKind::lose_holder_forever, plan, {}, steps, dice));
}

}  // namespace

std::string to_string(FaultKind kind) {
  static constexpr std::array<const char*, 18> names = {"cut link",
                                                        "cut link forever",
                                                        "slow link",
                                                        "lose sampler",
                                                        "lose collector",
                                                        "lose holder",
                                                        "lose holder forever",
                                                        "lose trainer",
                                                        "lose trainer always",
                                                        "lose evaluator",
                                                        "stall trainer",
                                                        "stall trainer forever",
                                                        "disk error",
                                                        "silent link",
                                                        "corrupt frame",
                                                        "stall holder",
                                                        "stall evaluator",
                                                        "stall evaluator forever"};
  return names[static_cast<std::size_t>(kind)];
}

Layout layout_of(const FaultPlan& plan) {
  Job job;
  job.partition.parts = plan.parts;
  job.cluster.launch = "simulate";
  job.cluster.placement = plan.placement;
  job.cluster.servers = plan.servers;
  job.cluster.hosts = plan.hosts;
  job.cluster.trainers_per_host = plan.trainers_per_host;
  job.cluster.samplers_per_trainer = plan.samplers;
  job.cluster.replicas = plan.replicas;
  return make_layout(job);
}

FaultPlan make_fault_plan(std::uint64_t seed, std::uint64_t steps) {
  FaultPlan plan;
  plan.seed = seed;
  Dice dice(seed);
  choose_cluster(plan, dice);
  if (dice.one_in(6)) {
    add_fatal(plan, steps, dice);
    // A roll-back for another reason ends a stall, and may be the last one that is allowed.
    const auto kind = plan.faults.front().kind;
    const bool lasts =
        kind == FaultKind::cut_link_forever || kind == FaultKind::lose_holder_forever;
    if (lasts && dice.one_in(2)) {
      add_recoverable(plan, steps, dice);
    }
    return plan;
  }
  add_recoverable(plan, steps, dice);
  if (plan.replicas > 1 && dice.one_in(3)) {
    add_lost_replica(plan, steps, dice);
  }
  return plan;
}

std::chrono::microseconds time_limit(const FaultPlan& plan) {
  constexpr microseconds work = std::chrono::seconds(15);
  constexpr microseconds noticed = std::chrono::seconds(5);        // lost_after, and restarts
  constexpr microseconds given_up = std::chrono::seconds(3 * 60);  // recovery_deadline, in a row
  constexpr microseconds no_step = std::chrono::seconds(10 * 60);  // step_deadline
  auto limit = work;
  for (const auto& fault : plan.faults) {
    limit += fault.lasts + noticed;
    if (fault.kind == FaultKind::stall_trainer_forever ||
        fault.kind == FaultKind::stall_evaluator_forever) {
      limit += no_step;
    } else if (!plan.fatal.empty()) {
      limit += given_up;
    }
  }
  return limit;
}

namespace {

const char* to_string(FaultMoment moment) {
  switch (moment) {
    case FaultMoment::step:
      return "step";
    case FaultMoment::evaluation:
      return "block of inference";
    case FaultMoment::recovery:
      return "roll-back";
    case FaultMoment::finish:
      return "the last step,";
  }
  return "";
}

/// What is not as usual.
std::string shape_of(const FaultPlan& plan) {
  std::string text = plan.placement == "collocated" ? "" : plan.placement + ", ";
  if (plan.servers > 0) {
    text += fmt::format("{} servers, ", plan.servers);
  }
  if (plan.row_cache > 0) {
    text += fmt::format("cache of {} bytes{}, ", plan.row_cache,
                        plan.known_future ? " that knows the future" : "");
  }
  return text + (plan.heterogeneous ? "heterogeneous graph, " : "");
}

/// Where and for how long, as far as the kind has it.
std::string details(const Fault& fault) {
  const auto ms = std::chrono::duration<double, std::milli>(fault.lasts).count();
  switch (fault.kind) {
    case FaultKind::cut_link:
    case FaultKind::cut_link_forever:
    case FaultKind::slow_link:
    case FaultKind::silent_link:
    case FaultKind::corrupt_frame: {
      auto text = fmt::format("from process {} to {}", raw(fault.host), raw(fault.other));
      if (fault.kind != FaultKind::cut_link_forever && fault.kind != FaultKind::corrupt_frame) {
        text += fmt::format(" for {:.1f} ms", ms);
      }
      const bool cut =
          fault.kind == FaultKind::cut_link || fault.kind == FaultKind::cut_link_forever;
      const bool lost = fault.lose_in_flight && cut;
      return text + (lost ? ", what is in flight is lost" : "");
    }
    case FaultKind::lose_holder:
      return fmt::format("of part {}", raw(fault.part));
    case FaultKind::lose_holder_forever:
      return fmt::format("of part {} in process {}", raw(fault.part), raw(fault.host));
    case FaultKind::stall_holder:
      return fmt::format("of part {} for {:.1f} ms", raw(fault.part), ms);
    case FaultKind::lose_evaluator:
    case FaultKind::stall_evaluator_forever:
      return fmt::format("of process {}", raw(fault.host));
    case FaultKind::stall_evaluator:
      return fmt::format("of process {} for {:.1f} ms", raw(fault.host), ms);
    case FaultKind::stall_trainer:
      return fmt::format("of rank {} for {:.1f} ms", raw(fault.rank), ms);
    case FaultKind::disk_error:
      return fmt::format("for {:.1f} ms", ms);
    default:
      return fmt::format("of rank {}", raw(fault.rank));
  }
}

}  // namespace

std::string to_string(const FaultPlan& plan) {
  std::string text = fmt::format(
      "seed {}: {}{} hosts x {} ranks, {} parts x {} replicas, {} samplers, {} in flight, window "
      "{} "
      "KiB, checkpoint every {} steps, latency {} us, {} Gb/s",
      plan.seed, shape_of(plan), plan.hosts, plan.trainers_per_host, plan.parts, plan.replicas,
      plan.samplers, plan.batches_in_flight, plan.window_bytes >> 10, plan.checkpoint_steps,
      plan.latency_us, plan.bandwidth_gbps);
  if (plan.holder_delay.count() > 0) {
    text += fmt::format("\n  the holders of part {} answer {} us late", raw(plan.slow_part),
                        plan.holder_delay.count());
  }
  for (const auto& fault : plan.faults) {
    text += fmt::format("\n  after {} {} + {} us: {} {}", to_string(fault.moment), fault.step,
                        fault.after.count(), to_string(fault.kind), details(fault));
  }
  return text + (plan.fatal.empty() ? "\n  expected: the right digests"
                                    : "\n  expected: an error that names " + plan.fatal);
}

}  // namespace troupe
