// Random joins, losses and repeats: whatever happens, the table stays true and the run settles.
#include "runtime/base/philox.hpp"
#include "tests/runtime/run/roster_support.hpp"

#include <cstdlib>
#include <map>
#include <set>

namespace troupe {
namespace {

using net::ProcessInstance;

/// What a started incarnation has done.
enum class Stage { started, joined, ready };

/// Plays the processes of a run against a roster, one random step at a time.
class Play {
 public:
  Play(std::uint64_t seed, const std::string& placement, bool manual, bool together)
      : draws_({{3, 5}}, seed),
        layout_(testing::two_hosts(placement)),
        manual_(manual),
        roster_(options(layout_, manual, together)) {
    take(roster_.begin());
    start_agents_by_hand();
  }

  void step(bool may_lose) {
    switch (draws_.below(may_lose ? 9 : 5)) {
      case 0:
        start_agents_by_hand();
        start_what_is_due();
        break;
      case 1:
      case 2:
        with_some_instance(
            [this](ProcessInstance instance, Stage& stage) { go_on(instance, stage); });
        break;
      case 3:
        with_some_instance([this](ProcessInstance instance, Stage&) { repeat(instance); });
        break;
      case 4:
        tell_one();
        break;
      case 5:
        speak_from_the_grave();
        break;
      default:
        with_some_instance([this](ProcessInstance instance, Stage&) { lose(instance); });
    }
    check();
  }

  /// All instances go on until there is nothing left to do.
  void settle() {
    for (int round = 0; round < 100; ++round) {
      start_agents_by_hand();
      start_what_is_due();
      for (auto& [instance, stage] : std::map(alive_)) {
        if (alive_.contains(instance)) {
          go_on(instance, alive_.at(instance));
        }
      }
      while (!owed_.empty()) {
        tell_one();
      }
      check();
    }
    EXPECT_TRUE(roster_.is_complete());
    EXPECT_EQ(completed_, 1);
    EXPECT_TRUE(roster_.missing().empty());
    for (const auto& process : layout_.processes) {
      EXPECT_EQ(roster_.settled(process.id), !process.directs) << process.name;
    }
  }

 private:
  static RosterOptions options(const Layout& layout, bool manual, bool together) {
    auto all = testing::roster_options(manual);
    all.restart_together = together;
    all.layout = layout;
    all.max_failures = 1U << 20;
    return all;
  }
  void take(const Roster::Actions& actions) {
    for (const auto& action : actions) {
      if (const auto* agent = std::get_if<Roster::StartAgent>(&action)) {
        begin(agent->instance);
      } else if (const auto* spawn = std::get_if<Roster::Spawn>(&action)) {
        begin(spawn->instance);
      } else if (const auto* kill = std::get_if<Roster::Kill>(&action)) {
        alive_.erase(kill->instance);
      } else if (const auto* drop = std::get_if<Roster::Drop>(&action)) {
        alive_.erase(drop->instance);
        due_.erase(drop->instance);
        dead_.insert(drop->instance);
      } else if (std::holds_alternative<Roster::TellMembers>(action)) {
        const auto table = roster_.table(0);
        for (const auto& entry : table.entries) {
          owed_.emplace_back(entry.instance, table.number);
        }
      } else if (std::holds_alternative<Roster::RestartRanks>(action)) {
        ++restarts_;
      } else if (std::holds_alternative<Roster::Complete>(action)) {
        ++completed_;
      } else {
        EXPECT_FALSE(std::holds_alternative<Roster::GiveUp>(action));
      }
    }
  }
  void begin(ProcessInstance instance) {
    auto& last = started_[instance.process];
    EXPECT_GT(instance.incarnation, last) << "incarnations only grow";
    last = instance.incarnation;
    EXPECT_TRUE(std::ranges::none_of(alive_, [&](const auto& other) {
      return other.first.process == instance.process;
    })) << "the one before is not dropped yet";
    due_.insert(instance);
  }
  void start_agents_by_hand() {
    for (const auto& process : layout_.processes) {
      const bool there = std::ranges::any_of(
          alive_, [&](const auto& other) { return other.first.process == process.id; });
      if (manual_ && process.agent && !there) {
        alive_[{process.id, ++started_[process.id]}] = Stage::started;
      }
    }
  }
  void start_what_is_due() {
    for (const auto& instance : std::exchange(due_, {})) {
      alive_[instance] = Stage::started;
    }
  }
  template <class F>
  void with_some_instance(F then) {
    if (!alive_.empty()) {
      const auto place = std::next(
          alive_.begin(),
          static_cast<std::ptrdiff_t>(draws_.below(static_cast<std::uint32_t>(alive_.size()))));
      then(place->first, place->second);
    }
  }
  void go_on(ProcessInstance instance, Stage& stage) {
    if (stage == Stage::started) {
      stage = layout_.at(instance.process).agent ? Stage::ready : Stage::joined;
      const auto joined = roster_.join({instance, "address", "v"});
      EXPECT_OK(joined);
      joined_after_[instance] = restarts_;
      take(*joined);
    } else if (stage == Stage::joined) {
      stage = Stage::ready;
      take(roster_.ready({instance, Errc::ok, ""}));
    }
  }
  void repeat(ProcessInstance instance) {
    if (alive_.at(instance) != Stage::started) {
      take(*roster_.join({instance, "address", "v"}));
    }
    if (alive_.at(instance) == Stage::ready && !layout_.at(instance.process).agent) {
      take(roster_.ready({instance, Errc::ok, ""}));
    }
  }
  void tell_one() {
    if (!owed_.empty()) {
      const auto place =
          owed_.begin() +
          static_cast<std::ptrdiff_t>(draws_.below(static_cast<std::uint32_t>(owed_.size())));
      const auto [instance, number] = *place;
      owed_.erase(place);
      if (alive_.contains(instance)) {
        take(roster_.acknowledged(instance.process, number));
      }
    }
  }
  void lose(ProcessInstance instance) {
    // One that was started by hand and did not join is not known to anybody.
    const bool unknown =
        manual_ && layout_.at(instance.process).agent && alive_.at(instance) == Stage::started;
    const bool gone = draws_.below(2) == 0 || unknown;
    if (gone) {
      alive_.erase(instance);
    }
    take(roster_.lost(instance, "lost", gone));
    EXPECT_FALSE(alive_.contains(instance));
  }
  /// Old incarnations are heard no more.
  void speak_from_the_grave() {
    for (const auto& instance : dead_) {
      EXPECT_FALSE(roster_.admit(instance).ok());
      EXPECT_FALSE(roster_.join({instance, "address", "v"}).ok());
      EXPECT_TRUE(roster_.ready({instance, Errc::ok, ""}).empty());
      EXPECT_TRUE(roster_.lost(instance, "lost", true).empty());
    }
  }
  /// The table has those that said they are ready and were not lost, each process once.
  void check() {
    const auto table = roster_.table(0);
    EXPECT_GE(table.number, number_);
    number_ = table.number;
    std::set<ProcessInstance> listed;
    std::set<ProcessId> processes;
    for (const auto& entry : table.entries) {
      listed.insert(entry.instance);
      EXPECT_TRUE(processes.insert(entry.instance.process).second)
          << "two incarnations of a process";
    }
    std::set<ProcessInstance> expected;
    for (const auto& [instance, stage] : alive_) {
      if (stage == Stage::ready && !layout_.at(instance.process).agent) {
        expected.insert(instance);
      }
    }
    EXPECT_EQ(listed, expected);
    for (const auto& instance : listed) {
      EXPECT_EQ(joined_after_[instance], restarts_) << "it begins where others do not";
    }
  }

  DrawStream draws_;
  const Layout layout_;
  const bool manual_;
  Roster roster_;
  std::map<ProcessInstance, Stage> alive_;
  std::set<ProcessInstance> due_;                                ///< to be started
  std::set<ProcessInstance> dead_;                               ///< dropped
  std::vector<std::pair<ProcessInstance, std::uint64_t>> owed_;  ///< answers to tables
  std::map<ProcessId, std::uint32_t> started_;
  std::uint64_t restarts_ = 0;
  std::map<ProcessInstance, std::uint64_t> joined_after_;  ///< so many restarts
  std::uint64_t number_ = 0;
  int completed_ = 0;
};

/// TROUPE_TEST_SEED=N plays that seed alone.
void play(const std::string& placement, bool manual, bool together = false) {
  const char* only = std::getenv("TROUPE_TEST_SEED");
  const std::uint64_t first = only == nullptr ? 1 : std::strtoull(only, nullptr, 10);
  for (std::uint64_t seed = first; seed <= (only == nullptr ? 300 : first); ++seed) {
    SCOPED_TRACE(fmt::format("TROUPE_TEST_SEED={}", seed));
    Play game(seed, placement, manual, together);
    for (int i = 0; i < 300; ++i) {
      game.step(i % 100 < 80);
    }
    game.settle();
    if (::testing::Test::HasFailure()) {
      return;
    }
  }
}

TEST(RosterProperty, StaysTrueAndSettlesWhateverIsLost) {
  play("collocated", false);
}
TEST(RosterProperty, StaysTrueAndSettlesWithSamplerProcesses) {
  play("worker", false);
}
TEST(RosterProperty, StaysTrueAndSettlesWithAgentsStartedByHand) {
  play("collocated", true);
}
TEST(RosterProperty, RanksOfAUserProgramBeginTogether) {
  play("collocated", false, true);
  play("worker", false, true);
  play("server_client", false, true);
  play("collocated", true, true);
}

}  // namespace
}  // namespace troupe
