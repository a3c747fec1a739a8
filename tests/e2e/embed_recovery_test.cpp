// A user program that loses processes, and goes on from its last checkpoint by itself.
#include "tests/e2e/embed_long_run.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/network_hosts.hpp"
#include "tests/support/watched_run.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fmt/format.h>
#include <signal.h>
#include <string>

namespace troupe {
namespace {

using namespace std::chrono_literals;
using testing::line_of;
using testing::WatchedRun;
using testing::Words;

class EmbedRecovery : public testing::EmbedLongRun {
 protected:
  static Words local(const Words& more = {}) {
    Words words = {"--set", "cluster.launch=local"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  static testing::ProcessResult result_of(WatchedRun& run) {
    testing::ProcessResult result;
    result.exit_code = run.wait_for_end(90s).value_or(-1);
    result.out = run.text();
    return result;
  }
  /// -1: it did not come within 10 s.
  static pid_t wait_for_process(WatchedRun& run, const std::string& name) {
    pid_t found = -1;
    run.wait_until([&] { return (found = testing::find_process(run.mark(), name)) > 0; }, 10s);
    return found;
  }
  /// Step of the newest checkpoint that is whole; 0: there is none.
  std::uint64_t newest_checkpoint(const std::string& name) const {
    std::uint64_t newest = 0;
    for (const auto& entry : std::filesystem::directory_iterator(output(name) + "/checkpoints")) {
      const auto step = entry.path().filename().string();
      if (step.starts_with("step-") && step.find('.') == std::string::npos) {
        newest = std::max<std::uint64_t>(newest, std::stoull(step.substr(5)));
      }
    }
    return newest;
  }
  static void kill_process(WatchedRun& run, const std::string& name) {
    ASSERT_TRUE(testing::signal_process(wait_for_process(run, name), SIGKILL)) << "no " << name;
  }
  void expect_results(const std::string& name, const testing::ProcessResult& ran) const {
    const auto& undisturbed = run_once("undisturbed", longer({}));
    ASSERT_EQ(ran.exit_code, 0) << ran.out;
    for (const char* word : {"batches", "weights", "test"}) {
      EXPECT_EQ(line_of(ran, word), line_of(undisturbed, word)) << ran.out;
    }
    expect_same_report(name, "undisturbed");
  }
  /// Ends a process of a run in its 45th epoch; checkpoints are made after 20 and 40.
  void expect_recovery(const std::string& name, const Words& settings, const std::string& victim,
                       const Words& before = {}) const {
    auto words = before;
    const auto command = program_command(name, longer(settings));
    words.insert(words.end(), command.begin(), command.end());
    WatchedRun run(words, folder(), mark_);
    ASSERT_TRUE(run.wait_for_line("epoch 45:", 60s)) << run.text();
    ASSERT_NO_FATAL_FAILURE(kill_process(run, victim));

    const auto ran = result_of(run);

    EXPECT_TRUE(run.find(victim + " is lost: killed by signal 9 (Killed)")) << run.text();
    EXPECT_TRUE(run.find("all ranks start again, resuming from ")) << run.text();
    expect_results(name, ran);
  }
  std::string mark_ = testing::new_run_mark();

  static std::string rows_trainer() { return TROUPE_ROWS_TRAINER; }
  Words rows_command(const std::string& out, const Words& settings, const Words& arguments) const {
    Words options = {"--set", "train.epochs=12",
                     "--set", "checkpoint.every.epochs=2",
                     "--set", "dataset.path=" + testing::folded_cora().string()};
    options.insert(options.end(), settings.begin(), settings.end());
    options.insert(options.end(), {"--", rows_trainer()});
    options.insert(options.end(), arguments.begin(), arguments.end());
    return command(out, options);
  }
};

TEST_F(EmbedRecovery, AnyProcessMayBeLost) {
  for (const std::string victim : {"host 0", "host 1"}) {
    SCOPED_TRACE(victim);
    expect_recovery("lost_" + victim.substr(5), local(), victim);
  }
}

TEST_F(EmbedRecovery, RanksGoBackInEveryPlacement) {
  for (const auto& [placement, victim] :
       {std::pair("worker", "host 1"), std::pair("server_client", "rank 1")}) {
    SCOPED_TRACE(placement);
    expect_recovery(placement, local({"--set", std::string("cluster.placement=") + placement}),
                    victim);
  }
}

TEST_F(EmbedRecovery, OnHostsThatShareNoFolder) {
  if (const auto why = testing::NetworkHosts::unavailable(); !why.empty()) {
    GTEST_SKIP() << why;
  }
  const testing::NetworkHosts hosts(2, folder(),
                                    {output("apart"), built() + "/build", folder() + "/there"});
  ASSERT_EQ(hosts.problem(), "");
  auto settings = settings_of(hosts);
  settings.insert(
      settings.end(),
      {"--set", fmt::format("cluster.ssh.env=[\"{}\"]", testing::environment_entry(mark_)), "--set",
       "checkpoint.copies=2"});

  expect_recovery("apart", settings, "host 1", hosts.at_launcher());

  const auto checkpoints = testing::texts_below(output("apart") + "/checkpoints");
  EXPECT_FALSE(checkpoints.empty());
  EXPECT_EQ(testing::texts_below(hosts.own_folder(0, 0) + "/checkpoints"), checkpoints);
}

TEST_F(EmbedRecovery, LossesOneAfterAnother) {
  WatchedRun run(program_command("thrice", longer(local())), folder());
  for (const auto& [epoch, victim] :
       {std::pair("epoch 25:", "host 1"), std::pair("epoch 65:", "host 0"),
        std::pair("epoch 105:", "host 1")}) {
    ASSERT_TRUE(run.wait_for_line(epoch, 60s)) << run.text();
    ASSERT_NO_FATAL_FAILURE(kill_process(run, victim));
  }

  expect_results("thrice", result_of(run));
}

TEST_F(EmbedRecovery, WithoutACheckpointRanksBeginAtTheBeginning) {
  auto words = longer(local());
  words[3] = "checkpoint.every.epochs=1000";
  WatchedRun run(program_command("none", words), folder());
  ASSERT_TRUE(run.wait_for_line("epoch 15:", 60s)) << run.text();
  ASSERT_NO_FATAL_FAILURE(kill_process(run, "host 1"));

  const auto ran = result_of(run);

  EXPECT_TRUE(run.find("all ranks start again from the beginning: there is no checkpoint"));
  expect_results("none", ran);
}

TEST_F(EmbedRecovery, AnInterruptedRunIsNotStartedAgain) {
  WatchedRun run(program_command("ended", longer(local())), folder());
  ASSERT_TRUE(run.wait_for_line("epoch 25:", 60s)) << run.text();
  ASSERT_TRUE(testing::stop_process(wait_for_process(run, "host 1")));  // no checkpoint then
  kill(run.pid(), SIGINT);
  ASSERT_TRUE(run.wait_for_line("stopping after the current step", 10s)) << run.text();
  ASSERT_NO_FATAL_FAILURE(kill_process(run, "host 1"));

  EXPECT_EQ(run.wait_for_end(60s), 130) << run.text();
  EXPECT_FALSE(run.find("all ranks start again")) << run.text();
  const auto newest = newest_checkpoint("ended");
  EXPECT_GE(newest, 60U) << "of epoch 20";
  EXPECT_TRUE(
      run.find(fmt::format("/checkpoints/step-{} with the same command and --resume", newest)))
      << run.text();
}

TEST_F(EmbedRecovery, ARunThatIsInterruptedWhileRanksStartAgainEndsAtOnce) {
  auto words = longer(local());
  words.insert(words.end(), {"--", "/bin/sh", "-c", "sleep 3; exec \"$@\"", "sh", program()});
  WatchedRun run(command("again", words), folder());
  ASSERT_TRUE(run.wait_for_line("epoch 25:", 60s)) << run.text();
  ASSERT_NO_FATAL_FAILURE(kill_process(run, "host 1"));
  ASSERT_TRUE(run.wait_for_line("all ranks start again", 20s)) << run.text();

  kill(run.pid(), SIGINT);

  EXPECT_EQ(run.wait_for_end(15s), 130) << run.text();
  EXPECT_TRUE(run.find("with the same command and --resume")) << run.text();
}

TEST_F(EmbedRecovery, AProgramThatDiesInEveryAttemptEndsTheRun) {
  WatchedRun run(rows_command("dies", local(), {"17"}), folder());

  EXPECT_EQ(run.wait_for_end(120s), 4) << run.text();
  EXPECT_TRUE(run.find("the ranks have started again 8 times without a new checkpoint"))
      << run.text();
}

TEST_F(EmbedRecovery, RowsThatRanksWroteGoBackWithThem) {
  const auto undisturbed = run(rows_command("rows", {}, {}));
  ASSERT_EQ(undisturbed.exit_code, 0) << undisturbed.out << undisturbed.err;
  ASSERT_EQ(line_of(undisturbed, "counted"), "counted 1680 seeds, 840 of them mine");
  ASSERT_EQ(line_of(undisturbed, "steps").substr(0, 6), "steps ") << undisturbed.out;
  for (const std::string placement : {"collocated", "server_client"}) {
    for (const std::string every : {"2", "1000"}) {
      SCOPED_TRACE(placement + " " + every);
      const auto name = "rows_" + placement + every;

      const auto ran = run(rows_command(name,
                                        local({"--set", "cluster.placement=" + placement, "--set",
                                               "checkpoint.every.epochs=" + every}),
                                        {"17", output(name + ".died")}));

      EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.err;
      EXPECT_EQ(line_of(ran, "counted"), line_of(undisturbed, "counted")) << ran.out << ran.err;
      EXPECT_EQ(line_of(ran, "steps"), line_of(undisturbed, "steps")) << "of " << name;
      EXPECT_NE(ran.err.find("all ranks start again"), std::string::npos) << ran.err;
    }
  }
}

/// Whether a checkpoint is being made that has begun this file.
bool is_writing(const std::string& checkpoints, const std::string& file) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(checkpoints, error)) {
    if (entry.path().filename().string().find(".tmp-") != std::string::npos &&
        std::filesystem::exists(entry.path() / file, error)) {
      return true;
    }
  }
  return false;
}

TEST_F(EmbedRecovery, ALauncherKilledAsItWritesTensorsIsResumedFromTheCheckpointBefore) {
  const auto undisturbed = run(rows_command("written", {}, {}));
  ASSERT_EQ(undisturbed.exit_code, 0) << undisturbed.out << undisturbed.err;
  for (const std::string file : {"blobs.bin", "tensors-0.bin", "tensors-1.bin"}) {
    SCOPED_TRACE(file);
    const auto name = "killed_" + file;
    const auto checkpoints = output(name) + "/checkpoints";
    const Words settings = {"--set", "checkpoint.every.steps=1"};
    const auto first = rows_command(name, local(settings), {});
    const auto again = rows_command(name, local({settings[0], settings[1], "--resume"}), {});
    bool unfinished = false;
    for (int i = 0; i < 10 && !unfinished; ++i) {  // it may be done before the signal comes
      WatchedRun killed(i == 0 ? first : again, folder());
      ASSERT_TRUE(killed.wait_for_line("epoch ", 60s)) << killed.text();
      const auto until = testing::TestClock::now() + 30s;
      while (!is_writing(checkpoints, file)) {
        ASSERT_LT(testing::TestClock::now(), until) << killed.text();
      }
      kill(killed.pid(), SIGKILL);
      EXPECT_TRUE(killed.wait_for_all(60s).empty());
      unfinished = is_writing(checkpoints, file);
    }
    ASSERT_TRUE(unfinished);
    const auto resumed = run(again);
    EXPECT_EQ(resumed.exit_code, 0) << resumed.out << resumed.err;
    EXPECT_NE(resumed.out.find("resuming from " + output(name) + "/checkpoints/step-"),
              std::string::npos)
        << resumed.out;
    EXPECT_EQ(line_of(resumed, "counted"), line_of(undisturbed, "counted"));
    EXPECT_EQ(line_of(resumed, "steps"), line_of(undisturbed, "steps"));
  }
}

TEST_F(EmbedRecovery, LearnedRowsGoBackWithTheRanks) {
  const Words table = {"--set", "embedding.node.dim=4"};
  const auto undisturbed = run(rows_command("learned", table, {}));
  ASSERT_EQ(undisturbed.exit_code, 0) << undisturbed.out << undisturbed.err;
  const auto expected = report("learned")["digests"]["tensors"];
  ASSERT_TRUE(expected.contains("node")) << expected;
  for (const std::string placement : {"collocated", "worker", "server_client"}) {
    for (const std::string every : {"2", "1000"}) {
      SCOPED_TRACE(placement + " " + every);
      const auto name = "learned_" + placement + every;
      auto settings = local(
          {"--set", "cluster.placement=" + placement, "--set", "checkpoint.every.epochs=" + every});
      settings.insert(settings.end(), table.begin(), table.end());

      const auto ran = run(rows_command(name, settings, {"17", output(name + ".died")}));

      EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.err;
      EXPECT_NE(ran.err.find("all ranks start again"), std::string::npos) << ran.err;
      EXPECT_EQ(report(name)["digests"]["tensors"], expected);
      EXPECT_EQ(line_of(ran, "rows"), line_of(undisturbed, "rows"));
    }
  }
}

TEST_F(EmbedRecovery, AHolderThatHasLostWhatWasWrittenTakesTheRanksBack) {
  WatchedRun run(rows_command("held",
                              local({"--set", "cluster.placement=server_client", "--set",
                                     "train.epochs=200", "--set", "checkpoint.every.epochs=20"}),
                              {}),
                 folder());
  ASSERT_TRUE(run.wait_for_line("epoch 45", 60s)) << run.text();
  ASSERT_NO_FATAL_FAILURE(kill_process(run, "server 1"));

  const auto ran = result_of(run);

  EXPECT_EQ(ran.exit_code, 0) << ran.out;
  EXPECT_TRUE(run.find("server 1 is lost: killed by signal 9 (Killed)")) << run.text();
  EXPECT_TRUE(run.find("all ranks start again, resuming from ")) << run.text();
  EXPECT_EQ(line_of(ran, "counted"), "counted 28000 seeds, 14000 of them mine");
}

}  // namespace
}  // namespace troupe
