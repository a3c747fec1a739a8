#pragma once
/// \file recovery_support.hpp
/// A recovery whose actions are text.
#include "runtime/run/recovery.hpp"
#include "tests/support/expect.hpp"

#include <chrono>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string>
#include <vector>

namespace troupe::testing {

/// An action as a line, e.g. "regroup in 2 without 0,1": generation 2, ranks 0 and 1 are lost.
struct RecoveryText {
  std::string operator()(const Recovery::StartGeneration& a) const {
    return fmt::format("generation {}: {}", a.generation, a.why.what());
  }
  std::string operator()(const Recovery::FindProcesses&) const { return "find processes"; }
  std::string operator()(const Recovery::SetDeadline& a) const {
    return fmt::format("deadline of wait {} after {}", a.wait, a.after.count());
  }
  std::string operator()(const Recovery::Regroup& a) const {
    std::vector<std::uint32_t> lost;
    for (const auto rank : a.message.lost_ranks) {
      lost.push_back(raw(rank));
    }
    return fmt::format("regroup in {} without {}", a.message.generation, fmt::join(lost, ","));
  }
  std::string operator()(const Recovery::Introduce& a) const {
    return fmt::format("introduce in {}", a.message.generation);
  }
  std::string operator()(const Recovery::Meet&) const { return "meet"; }
  std::string operator()(const Recovery::MeetEvaluators&) const { return "meet evaluators"; }
  std::string operator()(const Recovery::Restore& a) const {
    return fmt::format("restore in {}", a.generation);
  }
  std::string operator()(const Recovery::Resume&) const { return "resume"; }
  std::string operator()(const Recovery::Evaluate&) const { return "evaluate"; }
  std::string operator()(const Recovery::End& a) const { return "end: " + a.why.what(); }
};

/// Drives a recovery; every input gives its actions as text.
struct RecoveryTrace {
  using Lines = std::vector<std::string>;

  struct Limits {
    bool supervised = true;
    std::chrono::milliseconds return_deadline{500};
    std::uint32_t max_rollbacks = 3;
  };
  RecoveryTrace() : RecoveryTrace(Limits()) {}
  explicit RecoveryTrace(const Limits& limits)
      : recovery_({limits.supervised, limits.return_deadline, limits.max_rollbacks}) {}

  static Lines text(const Recovery::Actions& all) {
    Lines lines;
    for (const auto& action : all) {
      lines.push_back(std::visit(RecoveryText{}, action));
    }
    return lines;
  }
  Lines begin() { return text(recovery_.begin()); }
  Lines failed(Errc code) { return text(recovery_.failed(Error(code, "failed"))); }
  Lines rank_lost(Rank rank) {
    const Error why(Errc::peer_lost, fmt::format("rank {} ended", raw(rank)));
    return text(recovery_.rank_lost(rank, why));
  }
  Lines evaluator_lost(bool with_process) {
    const Error why(Errc::peer_lost, "evaluator ended");
    return text(recovery_.evaluator_lost(why, with_process));
  }
  Lines process_lost() {
    return text(recovery_.process_lost(Error(Errc::peer_lost, "process ended")));
  }
  Lines evaluate() { return text(recovery_.evaluate()); }
  Lines all_there() { return text(recovery_.processes("")); }
  Lines missing(const std::string& name) { return text(recovery_.processes(name)); }
  Lines waited_enough(std::uint64_t wait) { return text(recovery_.waited_enough(wait)); }
  Lines regrouped() { return text(recovery_.regrouped()); }
  Lines introduced() { return text(recovery_.introduced()); }
  Lines restored() { return text(recovery_.restored()); }

  /// From the beginning until commands are given.
  void lead() {
    begin();
    EXPECT_EQ(restored(), (Lines{"resume"}));
  }
  /// From a loss until the run resumes.
  void recover() {
    all_there();
    regrouped();
    introduced();
    EXPECT_EQ(restored(), (Lines{"resume"}));
  }

  Recovery recovery_;
};

}  // namespace troupe::testing
