// Random losses, returns, answers and deadlines: whatever happens, steps come one at a time and the run
// resumes or ends.
#include "runtime/base/philox.hpp"
#include "tests/runtime/run/recovery_support.hpp"

#include <cstdlib>
#include <optional>
#include <set>

namespace troupe {
namespace {

/// The step that a recovery has asked for.
enum class Step { none, regroup, introduce, restore };

/// Plays the processes and ranks of a run against a recovery, one random event at a time.
class RecoveringRun {
 public:
  RecoveringRun(std::uint64_t seed, std::uint32_t max_rollbacks)
      : draws_({{7, 9}}, seed), recovery_({true, std::chrono::milliseconds(500), max_rollbacks}) {
    take(recovery_.begin());
  }

  void event() {
    switch (draws_.below(12)) {
      case 0:
        lose_process();
        break;
      case 1:
        return_process();
        break;
      case 2:
        lose_rank();
        break;
      case 3:
        lose_evaluator();
        break;
      case 4:
        fail_what_is_asked();
        break;
      case 5:
        pass_a_deadline();
        break;
      case 6:
        answer_out_of_place();
        break;
      case 7:
        recovery_.new_state();
        break;
      case 8:
        command();
        break;
      default:
        answer();
    }
    check();
  }

  /// All processes return, and all that is asked for is answered.
  void settle() {
    for (std::size_t i = 0; i < there_.size(); ++i) {
      return_process();
    }
    for (int i = 0; i < 4 && !ended_ && !resumed_; ++i) {
      answer();
    }
    check();
    EXPECT_TRUE(ended_ || resumed_);
    EXPECT_FALSE(resumed_ && recovery_.recovering());
    EXPECT_FALSE(recovery_.awaits_processes());
  }
  bool ended() const { return ended_; }
  std::uint32_t generation() const { return generation_; }

 private:
  // ---- actions ----
  void take(const Recovery::Actions& actions) {
    EXPECT_TRUE(!ended_ || actions.empty()) << "nothing follows the end";
    for (std::size_t i = 0; i < actions.size(); ++i) {
      const bool last = i + 1 == actions.size();
      std::visit([&](const auto& action) { carry_out(action, last); }, actions[i]);
    }
  }
  void carry_out(const Recovery::StartGeneration& what, bool /*last*/) {
    EXPECT_EQ(what.generation, generation_ + 1);
    generation_ = what.generation;
    step_ = Step::none;  // its answer is void
    resumed_ = evaluation_waits_ = evaluating_ = false;
    watched_ = false;
  }
  void carry_out(const Recovery::FindProcesses&, bool last) {
    EXPECT_TRUE(last);
    take(recovery_.processes(missing()));
  }
  void carry_out(const Recovery::SetDeadline& what, bool /*last*/) {
    EXPECT_NE(missing(), "");
    EXPECT_TRUE(deadlines_.empty() || what.wait > *deadlines_.rbegin()) << "one for each wait";
    deadlines_.insert(what.wait);
  }
  void carry_out(const Recovery::Regroup& what, bool last) {
    EXPECT_EQ(missing(), "");
    EXPECT_EQ(what.message.generation, generation_);
    EXPECT_EQ(std::set<Rank>(what.message.lost_ranks.begin(), what.message.lost_ranks.end()),
              lost_);
    ask(Step::regroup, last);
  }
  void carry_out(const Recovery::Introduce& what, bool last) {
    EXPECT_EQ(what.message.generation, generation_);
    ask(Step::introduce, last);
  }
  void carry_out(const Recovery::Meet&, bool /*last*/) { watched_ = true; }
  void carry_out(const Recovery::MeetEvaluators&, bool /*last*/) { EXPECT_TRUE(watched_); }
  void carry_out(const Recovery::Restore& what, bool last) {
    EXPECT_TRUE(watched_);
    EXPECT_EQ(what.generation, generation_);
    ask(Step::restore, last);
  }
  void carry_out(const Recovery::Resume&, bool last) {
    EXPECT_TRUE(last && !resumed_);
    resumed_ = true;
  }
  void carry_out(const Recovery::Evaluate&, bool last) {
    EXPECT_TRUE(last && resumed_ && evaluation_waits_ && !evaluating_);
    EXPECT_EQ(missing(), "");
    evaluation_waits_ = false;
    evaluating_ = true;
  }
  void carry_out(const Recovery::End&, bool last) {
    EXPECT_TRUE(last && !ended_);
    ended_ = true;
  }
  void ask(Step step, bool last) {
    EXPECT_TRUE(last);
    EXPECT_EQ(step_, Step::none) << "two steps at a time";
    EXPECT_FALSE(resumed_);
    step_ = step;
  }

  // ---- events ----
  std::string missing() const {
    for (std::size_t i = 0; i < there_.size(); ++i) {
      if (!there_[i]) {
        return fmt::format("process {}", i);
      }
    }
    return "";
  }
  void lose_process() {
    there_[draws_.below(static_cast<std::uint32_t>(there_.size()))] = false;
    take(recovery_.process_lost(Error(Errc::peer_lost, "process ended")));
    take(recovery_.processes(missing()));
  }
  void return_process() {
    for (auto& there : there_) {
      if (!there) {
        there = true;
        break;
      }
    }
    take(recovery_.processes(missing()));
  }
  void lose_rank() {
    if (watched_) {
      const auto rank = static_cast<Rank>(draws_.below(4));
      lost_.insert(rank);
      take(recovery_.rank_lost(rank, Error(Errc::peer_lost, "rank ended")));
    }
  }
  void lose_evaluator() {
    if (watched_) {
      take(recovery_.evaluator_lost(Error(Errc::peer_lost, "evaluator ended"),
                                    draws_.below(2) == 0));
    }
  }
  void fail_what_is_asked() {
    if (step_ != Step::none || evaluating_) {
      take(recovery_.failed(Error(Errc::peer_lost, "failed")));
    }
  }
  void pass_a_deadline() {
    if (!deadlines_.empty()) {
      const auto all = static_cast<std::uint32_t>(deadlines_.size());
      // The current one rarely: it ends the run.
      const auto nth = draws_.below(draws_.below(8) == 0 ? all : std::max(all, 2U) - 1);
      take(recovery_.waited_enough(*std::next(deadlines_.begin(), nth)));
    }
  }
  void command() {
    if (resumed_ && !evaluation_waits_ && !evaluating_) {
      evaluation_waits_ = true;
      take(recovery_.evaluate());
    }
  }
  void answer() {
    const auto step = std::exchange(step_, Step::none);
    if (step == Step::regroup) {
      lost_.clear();
      take(recovery_.regrouped());
    } else if (step == Step::introduce) {
      take(recovery_.introduced());
    } else if (step == Step::restore) {
      take(recovery_.restored());
    } else if (std::exchange(evaluating_, false)) {
      recovery_.answered();
    }
  }
  void answer_out_of_place() {
    if (step_ != Step::regroup) {
      take(recovery_.regrouped());
    }
    if (step_ != Step::introduce) {
      take(recovery_.introduced());
    }
    if (step_ != Step::restore) {
      take(recovery_.restored());
    }
  }
  void check() const {
    if (!ended_) {
      EXPECT_EQ(recovery_.generation(), generation_);
      EXPECT_EQ(recovery_.recovering(), !resumed_);
      EXPECT_EQ(recovery_.evaluating(), evaluating_);
      EXPECT_EQ(recovery_.awaits_processes(),
                evaluation_waits_ || (!resumed_ && step_ == Step::none));
    }
  }

  DrawStream draws_;
  Recovery recovery_;
  std::array<bool, 3> there_ = {true, true, true};
  std::set<Rank> lost_;                ///< Not restarted yet
  std::set<std::uint64_t> deadlines_;  ///< All that were set
  Step step_ = Step::none;             ///< Asked for and not answered
  bool watched_ = false;               ///< Ranks and evaluators are
  bool resumed_ = false;
  bool evaluation_waits_ = false;
  bool evaluating_ = false;
  bool ended_ = false;
  std::uint32_t generation_ = 0;
};

/// TROUPE_TEST_SEED=N plays that seed alone.
struct Totals {
  std::uint64_t ended = 0;
  std::uint64_t generations = 0;
};
Totals play_recoveries(std::uint32_t max_rollbacks) {
  const char* only = std::getenv("TROUPE_TEST_SEED");
  const std::uint64_t first = only == nullptr ? 1 : std::strtoull(only, nullptr, 10);
  Totals totals;
  for (std::uint64_t seed = first; seed <= (only == nullptr ? 1000 : first); ++seed) {
    SCOPED_TRACE(fmt::format("TROUPE_TEST_SEED={}", seed));
    RecoveringRun game(seed, max_rollbacks);
    for (int i = 0; i < 200; ++i) {
      game.event();
    }
    game.settle();
    totals.ended += game.ended() ? 1U : 0U;
    totals.generations += game.generation();
    if (::testing::Test::HasFailure()) {
      return totals;
    }
  }
  return totals;
}

TEST(RecoveryProperty, ResumesOrEndsWhateverIsLost) {
  const auto totals = play_recoveries(1U << 20);

  if (std::getenv("TROUPE_TEST_SEED") == nullptr) {
    EXPECT_GT(totals.ended, 0U) << "deadlines pass";
    EXPECT_LT(totals.ended, 1000U) << "runs resume";
    EXPECT_GT(totals.generations, 1000U);
  }
}
TEST(RecoveryProperty, EndsWhenLossesAreTooMany) {
  const auto totals = play_recoveries(3);

  if (std::getenv("TROUPE_TEST_SEED") == nullptr) {
    EXPECT_GT(totals.ended, 500U);
  }
}

}  // namespace
}  // namespace troupe
