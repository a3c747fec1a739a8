// Resume of interrupted and killed runs.
#include "tests/e2e/program_fixture.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/run_outputs.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <signal.h>
#include <sys/ioctl.h>
#include <thread>
#include <unistd.h>

namespace troupe {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

TEST_F(Program, CtrlCStopsSoonAndSaysHowToGoOn) {
  testing::Process run(
      command({"run", quick_job(), "--set", "output=" + output(), "--set", "train.epochs=100000"}),
      folder());
  ASSERT_TRUE(run.wait_for_output("epoch      3/100000", 60s));
  const auto began = std::chrono::steady_clock::now();

  run.signal(SIGINT);
  const auto result = run.wait();

  EXPECT_LT(std::chrono::steady_clock::now() - began, 10s);
  EXPECT_EQ(result.exit_code, 130);
  EXPECT_NE(result.err.find("interrupted; go on from " + output() + "/checkpoints/step-"),
            std::string::npos)
      << result.err;
  EXPECT_NE(result.err.find("--resume"), std::string::npos) << result.err;
  EXPECT_EQ(report()["status"], "interrupted");
}

/// A pipeline of a shell, whose first part prints its exit code to standard error.
std::vector<std::string> pipeline(const std::vector<std::string>& first,
                                  const std::string& second) {
  std::vector<std::string> words = {
      "/bin/sh", "-c", "trap : INT; (trap : INT; \"$@\"; echo code $? >&2) | " + second, "sh"};
  words.insert(words.end(), first.begin(), first.end());
  return words;
}

TEST_F(Program, AReaderThatEndsStopsTheRunWithACheckpoint) {
  const auto words =
      command({"run", quick_job(), "--set", "output=" + output(), "--set", "train.epochs=100000"});

  const auto result = testing::run_process(pipeline(words, "head -n 9"), folder());

  for (const char* text : {"standard output is a pipe that is no longer read; stopping after",
                           "interrupted; go on from ", "code 130\n"}) {
    EXPECT_NE(result.err.find(text), std::string::npos) << result.err;
  }
  EXPECT_EQ(report()["status"], "interrupted");
}

TEST_F(Program, CtrlCInAPipelineKeepsACheckpoint) {
  auto words = pipeline(
      command({"run", quick_job(), "--set", "output=" + output(), "--set", "train.epochs=100000",
               "--set", "cluster.launch=local", "--set", "log_every=1"}),
      "cat");
  words.insert(words.begin(), "/usr/bin/setsid");
  testing::Process run(words, folder());
  ASSERT_TRUE(run.wait_for_output("epoch      3/100000", 60s));

  kill(-run.pid(), SIGINT);  // all of the pipeline, as a terminal does
  const auto result = run.wait();

  EXPECT_NE(result.err.find("interrupted; go on from "), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("code 130\n"), std::string::npos) << result.err;
  EXPECT_EQ(report()["status"], "interrupted");
}

/// A small pipe that nobody reads.
class UnreadPipe {
 public:
  UnreadPipe() {
    EXPECT_EQ(pipe2(ends_.data(), O_CLOEXEC), 0);
    EXPECT_GE(fcntl(ends_[1], F_SETPIPE_SZ, 4096), 4096);
  }
  ~UnreadPipe() {
    close(ends_[0]);
    close(ends_[1]);
  }
  UnreadPipe(const UnreadPipe&) = delete;
  UnreadPipe& operator=(const UnreadPipe&) = delete;

  /// The command with both of its outputs in the pipe.
  std::vector<std::string> with(std::vector<std::string> words) const {
    words.insert(words.begin(),
                 {"/bin/sh", "-c",
                  fmt::format("exec \"$@\" > /proc/{}/fd/{} 2>&1", getpid(), ends_[1]), "sh"});
    return words;
  }
  /// Waits until it holds some lines, and no more come.
  void wait_until_full(testing::Process& run) const {
    int before = -1;
    for (int held = 0; held < 3000 || held != before;) {
      before = held;
      std::this_thread::sleep_for(500ms);
      ASSERT_EQ(ioctl(ends_[0], FIONREAD, &held), 0);
      ASSERT_FALSE(run.has_ended());
    }
  }

 private:
  std::array<int, 2> ends_{};
};

/// Nothing if it still runs then.
std::optional<int> code_within(testing::Process& run, std::chrono::seconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (!run.has_ended() && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(50ms);
  }
  return run.has_ended() ? std::optional(run.wait().exit_code) : std::nullopt;
}

TEST_F(Program, ASecondCtrlCEndsARunWhoseOutputNobodyReads) {
  const UnreadPipe pipe;
  testing::Process run(pipe.with(command({"run", quick_job(), "--set", "output=" + output(),
                                          "--set", "train.epochs=100000", "--set", "log_every=1"})),
                       folder());
  pipe.wait_until_full(run);

  run.signal(SIGINT);
  std::this_thread::sleep_for(500ms);
  run.signal(SIGINT);

  EXPECT_EQ(code_within(run, 60s), 130);
}

TEST_F(Program, ARunWhoseOutputNobodyReadsTrainsAndEndsAtCtrlC) {
  const UnreadPipe pipe;
  testing::Process run(pipe.with(command({"run", quick_job(), "--set", "output=" + output(),
                                          "--set", "train.epochs=100000", "--set", "log_every=1"})),
                       folder());
  pipe.wait_until_full(run);
  const auto log = output() + "/metrics.jsonl";
  const auto logged = std::filesystem::file_size(log);
  const auto end = std::chrono::steady_clock::now() + 60s;
  while (std::filesystem::file_size(log) == logged && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(50ms);
  }
  EXPECT_GT(std::filesystem::file_size(log), logged);

  run.signal(SIGINT);

  EXPECT_EQ(code_within(run, 20s), 130);
  EXPECT_EQ(report()["status"], "interrupted");
  EXPECT_FALSE(std::filesystem::is_empty(output() + "/checkpoints"));
}

TEST_F(Program, ACommandWhoseOutputNobodyReadsEndsAtCtrlC) {
  const UnreadPipe pipe;
  testing::Process run(
      pipe.with(command({"check", "--full", quick_job(), "--set", "output=" + output()})),
      folder());
  std::this_thread::sleep_for(
      3s);  // its first lines do not fill the pipe, and what follows does not fit

  run.signal(SIGINT);

  EXPECT_EQ(code_within(run, 20s), 130);
}

TEST_F(Program, WithoutItsTerminalARunStopsAsAtCtrlCUnlessItIsToIgnoreThat) {
  const auto job = [&](const char* epochs) {
    return command({"run", quick_job(), "--overwrite", "--set", "output=" + output(), "--set",
                    std::string("train.epochs=") + epochs});
  };
  {
    testing::Process run(job("100000"), folder());
    ASSERT_TRUE(run.wait_for_output("epoch      3/100000", 60s));
    run.signal(SIGHUP);
    const auto result = run.wait();
    EXPECT_EQ(result.exit_code, 130);
    EXPECT_NE(result.err.find("interrupted; go on from "), std::string::npos) << result.err;
    EXPECT_NE(result.err.find("--resume in the place of --overwrite\n"), std::string::npos);
  }
  auto words = job("200");
  words.insert(words.begin(), {"/bin/sh", "-c", "trap '' HUP; exec \"$@\"", "sh"});
  testing::Process run(words, folder());
  ASSERT_TRUE(run.wait_for_output("epoch   3/200", 60s));
  run.signal(SIGHUP);
  EXPECT_EQ(run.wait().exit_code, 0);
}

TEST_F(Program, ARunWhoseModelCannotBeWrittenIsReportedAsFailed) {
  testing::Process run(
      command({"run", quick_job(), "--set", "output=" + output(), "--set", "train.epochs=200"}),
      folder());
  ASSERT_TRUE(run.wait_for_output("epoch   3/200", 60s));

  std::filesystem::create_directories(output() + "/model.safetensors/no file");

  EXPECT_EQ(run.wait().exit_code, 3);
  EXPECT_EQ(report()["status"], "failed");
  EXPECT_NE(report()["error"].get<std::string>().find("model.safetensors"), std::string::npos);
}

TEST_F(Program, ARunThatIsResumedAndStoppedAtOnceNamesTheCheckpointItBeganWith) {
  auto words =
      command({"run", quick_job(), "--set", "output=" + output(), "--set", "train.epochs=100000"});
  {
    testing::Process run(words, folder());
    ASSERT_TRUE(run.wait_for_output("epoch      3/100000", 60s));
    run.signal(SIGINT);
    ASSERT_EQ(run.wait().exit_code, 130);
  }
  words.emplace_back("--resume");
  testing::Process again(words, folder());
  ASSERT_TRUE(again.wait_for_output("resuming from ", 60s));

  again.signal(SIGINT);
  again.signal(SIGINT);
  const auto result = again.wait();

  EXPECT_EQ(result.exit_code, 130);
  EXPECT_NE(result.err.find("interrupted; go on from " + output() + "/checkpoints/step-"),
            std::string::npos)
      << result.err;
}

TEST_F(Program, AnInterruptedRunGoesOnToTheBitsOfTheUndisturbedOne) {
  const auto job = [&](const std::string& name) {
    return command({"run", quick_job(), "--set", "output=" + folder() + "/" + name, "--set",
                    "train.epochs=40", "--set", "log_every=1"});
  };
  ASSERT_EQ(testing::run_process(job("whole"), folder()).exit_code, 0);
  const auto whole = json::parse(std::ifstream(folder() + "/whole/report.json"));
  auto again = job("out");
  {
    testing::Process run(again, folder());
    ASSERT_TRUE(run.wait_for_output("epoch  2/40", 60s));
    run.signal(SIGTERM);
    ASSERT_EQ(run.wait().exit_code, 130);
  }
  again.emplace_back("--resume");

  const auto rest = testing::run_process(again, folder());

  ASSERT_EQ(rest.exit_code, 0) << rest.err;
  EXPECT_NE(rest.out.find("resuming from"), std::string::npos) << rest.out;
  EXPECT_EQ(report()["digests"], whole["digests"]);
  EXPECT_EQ(report()["scores"], whole["scores"]);
  EXPECT_TRUE(testing::metrics_of(output()) == testing::metrics_of(folder() + "/whole"));
  EXPECT_EQ(testing::metrics_of(output()).size(), 1U + 40U * 3U + 40U * 2U + 2U + 1U);
}

TEST_F(Program, FewerEpochsThanTheCheckpointHasAreRefusedAndTheRunStaysWhole) {
  const auto with_epochs = [&](int epochs, std::vector<std::string> more) {
    std::vector<std::string> words = {"run",   quick_job(),
                                      "--set", "output=" + output(),
                                      "--set", "checkpoint.every.steps=8",  // of three an epoch
                                      "--set", fmt::format("train.epochs={}", epochs)};
    words.insert(words.end(), more.begin(), more.end());
    return troupe(words);
  };
  ASSERT_EQ(with_epochs(3, {}).exit_code, 0);
  const auto whole = report();

  for (const int epochs : {1, 2}) {
    const auto resumed = with_epochs(epochs, {"--resume"});
    EXPECT_EQ(resumed.exit_code, 3);
    EXPECT_NE(resumed.err.find("as /train/epochs says, found one after 2 steps of epoch 3\ntry: "
                               "train.epochs 3 or more"),
              std::string::npos)
        << resumed.err;
  }
  EXPECT_EQ(report(), whole);
  EXPECT_EQ(with_epochs(3, {"--resume"}).exit_code, 0);
}

/// A checkpoint of an epoch's last step is made before the epoch's evaluation, with which the resumed run begins.
TEST_F(Program, ARunResumedBeforeAnEvaluationHasTheMetricsOfTheUndisturbedOne) {
  const std::vector<std::string> arguments = {
      "run",   quick_job(),   "--set", "output=" + output(),       "--set", "train.epochs=6",
      "--set", "log_every=1", "--set", "checkpoint.every.steps=3", "--set", "checkpoint.keep=20"};
  const auto undisturbed = troupe(arguments);
  ASSERT_EQ(undisturbed.exit_code, 0) << undisturbed.err;
  const auto whole = folder() + "/whole";
  std::filesystem::rename(output(), whole);
  const auto metrics = testing::metrics_of(whole);
  EXPECT_EQ(metrics.size(), 1U + 6U * 3U + 6U * 2U + 2U + 1U);
  const auto steps = testing::checkpoints_of(whole);
  ASSERT_GE(steps.size(), 1U) << "one that is due while another is written is left out";
  auto again = arguments;
  again.emplace_back("--resume");

  for (const auto& kept : steps) {
    std::filesystem::remove_all(output());
    std::filesystem::copy(whole, output(), std::filesystem::copy_options::recursive);
    for (const auto& [step, path] : testing::checkpoints_of(output())) {
      if (step > kept.first) {
        std::filesystem::remove_all(path);
      }
    }
    const auto resumed = troupe(again);
    ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
    EXPECT_TRUE(testing::metrics_of(output()) == metrics) << "after step " << kept.first;
  }
}

/// What of a report does not depend on the time it took, as pointers and values.
std::map<std::string, json> lasting(json report) {
  for (const char* key : {"seconds", "stages", "traffic", "hardware", "notes", "start", "command",
                          "seconds_per_step", "scratch_bytes"}) {
    report.erase(key);
  }
  for (auto& epoch : report["epochs"]) {
    for (const char* key :
         {"seconds", "eval_seconds", "wait_share", "cache_hit_rate", "cache_hit_rate_at_best"}) {
      epoch.erase(key);
    }
  }
  std::map<std::string, json> values;
  const auto flat = report.flatten();
  for (const auto& entry : flat.items()) {
    values.emplace(entry.key(), entry.value());
  }
  return values;
}

TEST_F(Program, AResumedRunReportsWhatTheUndisturbedOneDoes) {
  const std::vector<std::string> arguments = {"run",   quick_job(),
                                              "--set", "output=" + output(),
                                              "--set", "train.epochs=60",
                                              "--set", "eval.every=10",
                                              "--set", "checkpoint.every.epochs=11",
                                              "--set", "checkpoint.keep=10"};
  const auto undisturbed = troupe(arguments);
  ASSERT_EQ(undisturbed.exit_code, 0) << undisturbed.err;
  const auto right = report();
  std::uint64_t best = 0;
  for (const auto& epoch : right["epochs"]) {
    best = epoch["best"] ? epoch["epoch"].get<std::uint64_t>() : best;
  }
  EXPECT_EQ(right["best_epoch"], best);
  std::vector<std::uint64_t> steps;
  for (const auto& [step, path] : testing::checkpoints_of(output())) {
    steps.push_back(step);
  }
  ASSERT_GE(steps.size(), 2U);
  const auto folder = std::filesystem::path(output()) / "checkpoints";

  // After epoch 22, which is not evaluated, and after epoch 11, which is.
  for (const std::size_t kept : {2U, 1U}) {
    for (const auto step : steps) {
      if (step > steps[kept - 1]) {
        std::filesystem::remove_all(folder / fmt::format("step-{}", step));
      }
    }
    auto again = arguments;
    again.emplace_back("--resume");
    const auto resumed = troupe(again);
    ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
    EXPECT_NE(resumed.out.find(fmt::format("step-{}", steps[kept - 1])), std::string::npos)
        << resumed.out;

    EXPECT_EQ(lasting(report()), lasting(right)) << "after epoch " << 11 * kept;
  }
}

TEST_F(Program, AKilledRunGoesOnAndATornCheckpointIsSkippedByName) {
  auto job = command({"run", quick_job(), "--set", "output=" + output(), "--set", "train.epochs=40",
                      "--set", "checkpoint.every.steps=1", "--set", "checkpoint.keep=3"});
  ASSERT_EQ(testing::run_process(job, folder()).exit_code, 0);
  const auto digests = report()["digests"];
  std::filesystem::remove_all(output());
  {
    testing::Process run(job, folder());
    ASSERT_TRUE(run.wait_for_output("epoch  4/40", 60s));
    for (int i = 0; i < 500 && testing::checkpoints_of(output()).size() < 2; ++i) {
      std::this_thread::sleep_for(10ms);  // a busy disk is steps behind
    }
    run.signal(SIGKILL);
    run.wait();
  }
  std::uint64_t newest = 0;
  std::string step;  // killed while it was replaced, it is under its other name
  for (const auto& entry : std::filesystem::directory_iterator(output() + "/checkpoints")) {
    const auto name = entry.path().filename().string();
    const auto number = std::stoull(name.substr(5));
    const auto plain = "step-" + std::to_string(number);
    if (number >= newest && (name == plain || (name == plain + ".old" && step != plain))) {
      newest = number;
      step = name;
    }
  }
  ASSERT_GT(newest, 0U);
  const auto torn = output() + "/checkpoints/" + step + "/optimizer.safetensors";
  std::filesystem::resize_file(torn, std::filesystem::file_size(torn) / 2);
  job.emplace_back("--resume");

  const auto rest = testing::run_process(job, folder());

  ASSERT_EQ(rest.exit_code, 0) << rest.err;
  EXPECT_NE(rest.err.find("skipped checkpoint " + step + ": "), std::string::npos) << rest.err;
  EXPECT_EQ(report()["digests"], digests);
}

TEST_F(Program, ResumingIsRefusedWithoutACheckpointOrWithAnotherJob) {
  const auto run = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {
        "run",   quick_job(),      "--set", "output=" + output(),
        "--set", "train.epochs=2", "--set", "checkpoint.every.epochs=1"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return troupe(arguments);
  };
  const auto nothing = run({"--resume"});
  ASSERT_EQ(run({}).exit_code, 0);
  const auto other = run({"--resume", "--set", "seed=77"});

  EXPECT_EQ(nothing.exit_code, 3) << nothing.out;
  EXPECT_NE(
      nothing.err.find("expected a checkpoint that is whole, found none\ntry: the same command "
                       "without --resume"),
      std::string::npos)
      << nothing.err;
  EXPECT_EQ(other.exit_code, 3) << other.out;
  EXPECT_NE(other.err.find("/seed: was 1, is 77"), std::string::npos) << other.err;
}

TEST_F(Program, ResumingIsRefusedWhereTheStoreWasMadeAnew) {
  const auto input = folder() + "/input";
  const auto store = folder() + "/store";
  std::filesystem::copy(example("data/cora"), input);
  ASSERT_EQ(troupe({"import", input, store}).exit_code, 0);
  const auto run = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {
        "run",   example("quickstart.json"), "--set", "output=" + output(),
        "--set", "dataset.path=" + store,    "--set", "train.epochs=2",
        "--set", "checkpoint.every.epochs=1"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return troupe(arguments);
  };
  ASSERT_EQ(run({}).exit_code, 0);
  const auto same = run({"--resume"});
  std::filesystem::remove_all(store);
  {
    std::fstream labels(input + "/y.npy", std::ios::in | std::ios::out | std::ios::binary);
    labels.seekp(128);
    const char found = static_cast<char>(labels.peek());
    labels.seekp(128);
    labels.put(found == 1 ? '\2' : '\1');
  }
  ASSERT_EQ(troupe({"import", input, store}).exit_code, 0);
  const auto other = run({"--resume"});

  EXPECT_EQ(same.exit_code, 0) << same.err;
  EXPECT_EQ(other.exit_code, 3) << other.out;
  EXPECT_NE(other.err.find("checkpoint: expected the store"), std::string::npos) << other.err;
}

}  // namespace
}  // namespace troupe
