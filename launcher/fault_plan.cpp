#include "launcher/fault_plan.hpp"

#include "runtime/base/philox.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
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
  plan.replicas = static_cast<std::uint32_t>(dice.between(1, std::min(hosts, 2U)));
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

/// Where and when.
Fault place(FaultKind kind, const FaultPlan& plan, std::uint64_t steps, Dice& dice) {
  Fault fault;
  fault.kind = kind;
  fault.step = dice.below(steps);
  fault.after = microseconds(dice.below(3000));
  fault.host = static_cast<ProcessId>(dice.below(plan.hosts));
  if (plan.hosts > 1) {
    fault.other =
        static_cast<ProcessId>((raw(fault.host) + dice.between(1, plan.hosts - 1)) % plan.hosts);
  }
  fault.rank = static_cast<Rank>(raw(fault.host) * plan.trainers_per_host +
                                 dice.below(plan.trainers_per_host));
  fault.part = static_cast<PartId>(dice.below(plan.parts));
  fault.lose_in_flight = dice.one_in(2);
  return fault;
}

/// Longer than lost_after in one of three: then a living rank is given up and replaced.
microseconds cut_length(Dice& dice) {
  return dice.one_in(3) ? microseconds(dice.between(3'000'000, 15'000'000))
                        : microseconds(dice.between(1, 500'000));
}

void add_recoverable(FaultPlan& plan, std::uint64_t steps, Dice& dice) {
  static constexpr std::array kinds = {
      FaultKind::cut_link,      FaultKind::slow_link,      FaultKind::lose_sampler,
      FaultKind::lose_sampler,  FaultKind::lose_collector, FaultKind::lose_holder,
      FaultKind::lose_holder,   FaultKind::lose_trainer,   FaultKind::lose_evaluator,
      FaultKind::stall_trainer, FaultKind::disk_error};
  std::uint32_t cuts = 0;
  const auto count = dice.between(0, 5);
  for (std::uint64_t i = 0; i < count; ++i) {
    auto fault = place(dice.one_of(kinds), plan, steps, dice);
    const bool on_link = fault.kind == FaultKind::cut_link || fault.kind == FaultKind::slow_link;
    if (on_link && (plan.hosts == 1 || ++cuts > 2)) {
      continue;  // two cuts at their longest still end before the recovery deadline
    }
    fault.lasts = on_link ? cut_length(dice) : microseconds(dice.between(1, 2'000'000));
    plan.faults.push_back(fault);
  }
}

void add_fatal(FaultPlan& plan, std::uint64_t steps, Dice& dice) {
  static constexpr std::array kinds = {FaultKind::cut_link_forever, FaultKind::lose_holder_forever,
                                       FaultKind::lose_trainer_always,
                                       FaultKind::stall_trainer_forever};
  auto kind = dice.one_of(kinds);
  if (plan.hosts == 1 &&
      (kind == FaultKind::cut_link_forever || kind == FaultKind::lose_holder_forever)) {
    kind = FaultKind::lose_trainer_always;
  }
  // Early enough that the rest of the run needs what is lost.
  auto fault = place(kind, plan, std::max<std::uint64_t>(steps / 2, 1), dice);
  fault.step = std::max<std::uint64_t>(fault.step, 1);
  if (kind == FaultKind::lose_holder_forever) {
    plan.replicas = std::min(plan.replicas, 1U);
    plan.fatal = fmt::format("part {}", raw(fault.part));
    fault.host = static_cast<ProcessId>(raw(fault.part) % plan.hosts);
  } else if (kind == FaultKind::cut_link_forever) {
    plan.fatal =
        fmt::format("link of host {} and host {}", std::min(raw(fault.host), raw(fault.other)),
                    std::max(raw(fault.host), raw(fault.other)));
  } else {
    plan.fatal = fmt::format("trainer {}", raw(fault.rank));
  }
  plan.faults.push_back(fault);
}

/// With a replica a holder may be lost for good.
void add_lost_replica(FaultPlan& plan, std::uint64_t steps, Dice& dice) {
  auto fault = place(FaultKind::lose_holder_forever, plan, steps, dice);
  fault.host = static_cast<ProcessId>(raw(fault.part) % plan.hosts);
  plan.faults.push_back(fault);
}

}  // namespace

std::string to_string(FaultKind kind) {
  static constexpr std::array<const char*, 13> names = {"cut link",
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
                                                        "disk error"};
  return names[static_cast<std::size_t>(kind)];
}

FaultPlan make_fault_plan(std::uint64_t seed, std::uint64_t steps) {
  FaultPlan plan;
  plan.seed = seed;
  Dice dice(seed);
  choose_cluster(plan, dice);
  if (dice.one_in(6)) {
    add_fatal(plan, steps, dice);
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
    if (fault.kind == FaultKind::stall_trainer_forever) {
      limit += no_step;
    } else if (!plan.fatal.empty()) {
      limit += given_up;
    }
  }
  return limit;
}

namespace {

/// Where and for how long, as far as the kind has it.
std::string details(const Fault& fault) {
  const auto ms = std::chrono::duration<double, std::milli>(fault.lasts).count();
  switch (fault.kind) {
    case FaultKind::cut_link:
    case FaultKind::cut_link_forever:
    case FaultKind::slow_link: {
      auto text = fmt::format("of hosts {} and {}", raw(fault.host), raw(fault.other));
      if (fault.kind != FaultKind::cut_link_forever) {
        text += fmt::format(" for {:.1f} ms", ms);
      }
      const bool lost = fault.lose_in_flight && fault.kind != FaultKind::slow_link;
      return text + (lost ? ", what is in flight is lost" : "");
    }
    case FaultKind::lose_holder:
      return fmt::format("of part {}", raw(fault.part));
    case FaultKind::lose_holder_forever:
      return fmt::format("of part {} on host {}", raw(fault.part), raw(fault.host));
    case FaultKind::lose_evaluator:
      return fmt::format("of host {}", raw(fault.host));
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
      "seed {}: {} hosts x {} ranks, {} parts x {} replicas, {} samplers, {} in flight, window {} "
      "KiB, checkpoint every {} steps, latency {} us, {} Gb/s",
      plan.seed, plan.hosts, plan.trainers_per_host, plan.parts, plan.replicas, plan.samplers,
      plan.batches_in_flight, plan.window_bytes >> 10, plan.checkpoint_steps, plan.latency_us,
      plan.bandwidth_gbps);
  if (plan.holder_delay.count() > 0) {
    text += fmt::format("\n  the holders of part {} answer {} us late", raw(plan.slow_part),
                        plan.holder_delay.count());
  }
  for (const auto& fault : plan.faults) {
    text += fmt::format("\n  after step {} + {} us: {} {}", fault.step, fault.after.count(),
                        to_string(fault.kind), details(fault));
  }
  return text + (plan.fatal.empty() ? "\n  expected: the right digests"
                                    : "\n  expected: an error that names " + plan.fatal);
}

}  // namespace troupe
