#pragma once
/// \file roster_support.hpp
/// A roster of two hosts with one process each, and its actions as text.
#include "runtime/run/roster.hpp"
#include "tests/support/expect.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string>
#include <vector>

namespace troupe::testing {

inline ProcessId agent(std::uint32_t id) {
  return static_cast<ProcessId>(id);
}
inline net::ProcessInstance member(std::uint32_t id, std::uint32_t instance) {
  return {static_cast<ProcessId>(id), instance};
}

inline Layout two_hosts(const std::string& placement = "collocated") {
  Job job;
  job.cluster.launch = "local";
  job.cluster.placement = placement;
  job.cluster.hosts = 2;
  job.cluster.trainers_per_host = 1;
  job.cluster.samplers_per_trainer = 2;
  job.partition.parts = 2;
  return make_layout(job);
}

inline RosterOptions roster_options(bool manual = false,
                                    const std::string& placement = "collocated") {
  RosterOptions options;
  options.layout = two_hosts(placement);
  options.version = "v";
  options.manual = manual;
  return options;
}

/// An action as a line, e.g. "spawn 3.1 by 1 after 0": incarnation 1 of process 3.
struct ActionText {
  static std::string of(const net::ProcessInstance& instance) {
    return fmt::format("{}.{}", raw(instance.process), instance.incarnation);
  }
  std::string operator()(const Roster::StartAgent& a) const {
    return fmt::format("start agent {} after {}", of(a.instance), a.after.count());
  }
  std::string operator()(const Roster::Spawn& a) const {
    return fmt::format("spawn {} by {} after {}", of(a.instance), raw(a.agent), a.after.count());
  }
  std::string operator()(const Roster::Kill& a) const {
    return fmt::format("kill {} by {}", of(a.instance), raw(a.agent));
  }
  std::string operator()(const Roster::Drop& a) const { return "drop " + of(a.instance); }
  std::string operator()(const Roster::TellMembers&) const { return "tell members"; }
  std::string operator()(const Roster::Say& a) const { return a.line; }
  std::string operator()(const Roster::Changed&) const { return "changed"; }
  std::string operator()(const Roster::Complete&) const { return "complete"; }
  std::string operator()(const Roster::RestartRanks& a) const { return "restart: " + a.why; }
  std::string operator()(const Roster::TakeEnd& a) const {
    return fmt::format("ranks of {} ended", of(a.ended.instance));
  }
  std::string operator()(const Roster::GiveUp& a) const { return "give up: " + a.why.what(); }
};

/// Drives a roster; every call gives its actions as text.
struct Registry {
  using Lines = std::vector<std::string>;

  explicit Registry(RosterOptions options = roster_options()) : roster_(std::move(options)) {
    began_ = actions(roster_.begin());
  }
  static Lines actions(const Roster::Actions& all) {
    Lines lines;
    for (const auto& action : all) {
      lines.push_back(std::visit(ActionText{}, action));
    }
    return lines;
  }
  Lines join(std::uint32_t id, std::uint32_t instance) {
    const auto done =
        roster_.join({member(id, instance), fmt::format("host:{}{:03}", id, instance), "v"});
    EXPECT_OK(done);
    return done ? actions(*done) : Lines{};
  }
  Lines ready(std::uint32_t id, std::uint32_t instance) {
    return actions(roster_.ready({member(id, instance), Errc::ok, ""}));
  }
  Lines acknowledged(std::uint32_t id) {
    return actions(roster_.acknowledged(agent(id), roster_.table(0).number));
  }
  Lines lost(std::uint32_t id, std::uint32_t instance, bool gone = true,
             const std::string& how = "killed") {
    return actions(roster_.lost(member(id, instance), how, gone));
  }
  /// \param code  what the ranks of a process end with
  Lines ranks_ended(std::uint32_t id, std::uint32_t instance, Errc code) {
    return actions(roster_.ranks_ended({member(id, instance), code, "why", {}, 0}));
  }
  void bring_all() {
    for (std::uint32_t id = 1; id <= 4; ++id) {
      join(id, 1);
    }
    for (const std::uint32_t id : {3U, 4U}) {
      ready(id, 1);
    }
    for (const std::uint32_t id : {3U, 4U}) {
      acknowledged(id);
    }
    ASSERT_TRUE(roster_.is_complete());
  }

  Roster roster_;
  Lines began_;
};

}  // namespace troupe::testing
