// A user program that is interrupted and resumed, in every launch mode.
#include "tests/e2e/embed_long_run.hpp"
#include "tests/support/network_hosts.hpp"
#include "tests/support/slurm_cluster.hpp"
#include "tests/support/watched_run.hpp"

#include <chrono>
#include <filesystem>
#include <fmt/format.h>
#include <functional>
#include <signal.h>

namespace troupe {
namespace {

using namespace std::chrono_literals;
using testing::line_of;
using testing::NetworkHosts;
using testing::WatchedRun;
using testing::Words;

class EmbedResume : public testing::EmbedLongRun {
 protected:
  /// Interrupts a run after some epochs and resumes it; expects the results of an undisturbed run.
  /// \param before  words in front of the command
  /// \param launcher  process that gets the signal; empty: the one that is started
  void expect_resumption(const std::string& name, const Words& before, const Words& settings,
                         const std::function<pid_t(const WatchedRun&)>& launcher = {}) const {
    const auto options = longer(settings);
    const auto words = [&](Words last) {
      auto all = before;
      auto more = options;
      more.insert(more.end(), last.begin(), last.end());
      const auto command = program_command(name, more);
      all.insert(all.end(), command.begin(), command.end());
      return all;
    };
    WatchedRun first(words({}), folder());
    ASSERT_TRUE(first.wait_for_line("epoch 3:", 60s)) << first.text();
    kill(launcher ? launcher(first) : first.pid(), SIGINT);
    const auto code = first.wait_for_end(60s);
    ASSERT_NE(code, std::nullopt) << first.text();
    const auto named = "go on from " + output(name) + "/checkpoints/step-";
    ASSERT_TRUE(first.find(named)) << first.text();
    EXPECT_FALSE(first.find(fmt::format("epoch {}:", epochs))) << first.text();
    const auto step = first.word_after(named);
    EXPECT_EQ(report(name).at("status"), "interrupted");

    const auto resumed = run(words({"--resume"}));
    const auto& undisturbed = run_once("undisturbed", longer({}));

    ASSERT_EQ(resumed.exit_code, 0) << resumed.out << resumed.err;
    EXPECT_NE(resumed.out.find("resuming from " + output(name) + "/checkpoints/step-" + step),
              std::string::npos)
        << resumed.out;
    ASSERT_EQ(undisturbed.exit_code, 0) << undisturbed.err;
    for (const char* word : {"batches", "weights", "test"}) {
      EXPECT_EQ(line_of(resumed, word), line_of(undisturbed, word));
    }
    expect_same_report(name, "undisturbed");
    exit_code_ = *code;
  }
  mutable int exit_code_ = -1;
};

TEST_F(EmbedResume, InOneProcess) {
  expect_resumption("stopped", {}, {});

  EXPECT_EQ(exit_code_, 130);
}

TEST_F(EmbedResume, InProcessesOfThisHost) {
  expect_resumption("local", {}, {"--set", "cluster.launch=local"});

  EXPECT_EQ(exit_code_, 130);
}

TEST_F(EmbedResume, OnHostsThatShareNoFolder) {
  if (const auto why = NetworkHosts::unavailable(); !why.empty()) {
    GTEST_SKIP() << why;
  }
  const auto build = built() + "/build";
  const NetworkHosts hosts(2, folder(), {output("apart"), build, folder() + "/there"});
  ASSERT_EQ(hosts.problem(), "");

  expect_resumption("apart", hosts.at_launcher(), settings_of(hosts));

  EXPECT_EQ(exit_code_, 130);
  EXPECT_FALSE(std::filesystem::exists(hosts.own_folder(0, 0) + "/checkpoints"));
}

TEST_F(EmbedResume, InAnAllocationOfSlurm) {
  if (const auto why = testing::SlurmCluster::unavailable(); !why.empty()) {
    GTEST_SKIP() << why;
  }
  const testing::SlurmCluster cluster(folder() + "/slurm");
  ASSERT_EQ(cluster.problem(), "");

  expect_resumption("allocated", cluster.command({"salloc", "--quiet", "--nodes=2"}),
                    {"--set", "cluster.launch=slurm"}, [](const WatchedRun& run) {
                      for (const auto& process : testing::processes_of(run.mark())) {
                        std::error_code error;
                        const auto program = std::filesystem::read_symlink(
                            fmt::format("/proc/{}/exe", process.pid), error);
                        if (process.name.empty() && program.filename() == "troupe") {
                          return process.pid;
                        }
                      }
                      return run.pid();
                    });
}

}  // namespace
}  // namespace troupe
