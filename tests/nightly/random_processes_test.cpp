// Random jobs that the program runs in processes of their own, where it is interrupted, or it or one of them is killed. The
// results, metrics and scores are those of the undisturbed run in one process.
#include "tests/sim/random_jobs.hpp"
#include "tests/support/fault_cell.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/run_outputs.hpp"
#include "tests/support/watched_run.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <signal.h>

namespace troupe {
namespace {

using namespace std::chrono_literals;
using testing::Settings;

/// A job file, and the commands that run it.
class RandomProcesses : public ::testing::Test {
 protected:
  static constexpr std::uint32_t jobs = 60;

  void begin(std::uint32_t number) {
    drawn_ = testing::Drawn(number);
    picked_ = random_.pick(drawn_);
    out_ = (scratch_.path() / std::to_string(number)).string();
    job_ = out_ + ".json";
    std::ofstream(job_) << picked_.text;
    said_ = fmt::format("job {}: {}", number, fmt::join(picked_.job, " "));
  }
  std::vector<std::string> command(const std::string& output, const Settings& layout) const {
    std::vector<std::string> words{TROUPE_PROGRAM, "run", job_};
    for (const auto& setting : testing::together(picked_.job, layout)) {
      words.insert(words.end(), {"--set", setting});
    }
    words.insert(words.end(), {"--set", "output=" + output, "--set", "log_every=1"});
    return words;
  }
  /// Runs the job in processes and disturbs it once.
  /// \returns the exit code
  int disturbed(const std::vector<std::string>& words);
  /// Until it is done, from the last checkpoint where there is one.
  int completed(std::vector<std::string> words, int exit_code);
  void expect_same(const std::string& found, const std::string& expected) const;
  /// Of the model of the undisturbed run, in another layout.
  void expect_same_predictions(const Settings& layout);
  std::uint32_t run_all();

  const testing::ScratchFolder scratch_;
  const testing::RandomJobs random_;
  testing::Drawn drawn_{0};
  testing::RandomJobs::Picked picked_;
  std::string out_;
  std::string job_;
  std::string said_;
  std::uint32_t predicted_ = 0;  ///< models that could
};

int RandomProcesses::disturbed(const std::vector<std::string>& words) {
  const auto after = 1 + drawn_.below(12);
  const auto act = drawn_.below(3);
  const auto victim = drawn_.below(1000);
  testing::WatchedRun run(words, scratch_.path().string());
  const auto progress = [&] {
    return std::ranges::count_if(run.lines(),
                                 [](const auto& line) { return line.text.starts_with("epoch"); });
  };
  run.wait_until([&] { return progress() >= after; }, 60s);
  auto processes = testing::processes_of(run.mark());
  std::erase_if(processes, [&](const auto& process) { return process.pid == run.pid(); });
  const bool member = act == 2 && !processes.empty();
  const auto pid = member ? processes[victim % processes.size()].pid : run.pid();
  said_ += fmt::format("\nafter {} lines {} {}", after, act == 0 ? "interrupted" : "killed",
                       member ? processes[victim % processes.size()].name : "the launcher");
  testing::signal_process(pid, act == 0 ? SIGINT : SIGKILL);
  const auto code = run.wait_for_end(90s);
  EXPECT_TRUE(code.has_value()) << said_ << "\nno end within 90 s:\n" << run.text();
  EXPECT_TRUE(run.wait_for_all(20s).empty()) << said_ << "\nprocesses are left:\n" << run.text();
  return code.value_or(-1);
}

int RandomProcesses::completed(std::vector<std::string> words, int exit_code) {
  if (exit_code == 0) {
    return 0;
  }
  words.emplace_back(testing::checkpoints_of(out_ + "/two").empty() ? "--overwrite" : "--resume");
  const auto again = testing::run_process(words, scratch_.path().string());
  if (again.exit_code == 3 && again.err.find("partition: balance") != std::string::npos) {
    return again.exit_code;  // links are no nodes to balance by
  }
  EXPECT_EQ(again.exit_code, 0) << said_ << "\n" << words.back() << "\n" << again.err;
  return again.exit_code;
}

void RandomProcesses::expect_same(const std::string& found, const std::string& expected) const {
  EXPECT_EQ(testing::digests_in(found), testing::digests_in(expected)) << said_;
  const auto metrics = testing::metrics_of(found);
  const auto right = testing::metrics_of(expected);
  EXPECT_EQ(metrics.size(), right.size()) << said_;
  const auto [at, there] = std::ranges::mismatch(metrics, right);
  EXPECT_TRUE(at == metrics.end() || there == right.end())
      << said_ << "\nfound " << *at << "\nexpected " << *there;
  const auto scores = [](const std::string& output) {
    return nlohmann::json::parse(testing::file_text(output + "/report.json")).at("scores").dump();
  };
  EXPECT_EQ(scores(found), scores(expected)) << said_;
}

void RandomProcesses::expect_same_predictions(const Settings& layout) {
  const std::vector<std::vector<std::string>> asked{
      {"--nodes", "all"}, {"--nodes", "all", "--embeddings"}, {"--links", "test"}};
  const auto& what = asked[drawn_.below(static_cast<std::uint32_t>(asked.size()))];
  const auto predict = [&](const Settings& in, const std::string& to) {
    auto words = command(out_ + "/one", in);
    words[1] = "predict";
    words.insert(words.end(), what.begin(), what.end());
    words.insert(words.end(), {"--model", out_ + "/one/model.safetensors", "--out", out_ + to});
    return testing::run_process(words, scratch_.path().string());
  };
  const auto one = predict(picked_.alone, "/predicted_one");
  const auto other = predict(layout, "/predicted_other");
  EXPECT_EQ(other.exit_code, one.exit_code)
      << said_ << fmt::format("\npredict {}\n", fmt::join(what, " ")) << one.err << other.err;
  if (one.exit_code == 0 && other.exit_code == 0) {
    ++predicted_;
    EXPECT_TRUE(testing::texts_below(out_ + "/predicted_other") ==
                testing::texts_below(out_ + "/predicted_one"))
        << said_ << fmt::format("\npredict {}", fmt::join(what, " "));
  } else {
    EXPECT_EQ(one.exit_code, 2) << said_ << "\n" << one.err;
  }
}

/// \returns the jobs that were disturbed
std::uint32_t RandomProcesses::run_all() {
  std::uint32_t ran = 0;
  for (std::uint32_t number = 3000; number < 3000 + jobs; ++number) {
    begin(number);
    const auto one =
        testing::run_process(command(out_ + "/one", picked_.alone), scratch_.path().string());
    if (one.exit_code != 0) {
      continue;
    }
    auto layout = drawn_.once_in(2) ? picked_.spread : picked_.elsewhere;
    layout.emplace_back("cluster.launch=local");
    layout.push_back(testing::RandomJobs::checkpoints_of(drawn_));
    layout.push_back(testing::RandomJobs::replicas_of(picked_, drawn_));
    layout.push_back(fmt::format("checkpoint.keep={}", 1 + drawn_.below(3)));
    said_ += fmt::format("\n{}", fmt::join(layout, " "));
    const auto words = command(out_ + "/two", layout);
    const auto code = disturbed(words);
    if (code == 2 || completed(words, code) != 0) {
      continue;
    }
    expect_same(out_ + "/two", out_ + "/one");
    expect_same_predictions(layout);
    ++ran;
  }
  return ran;
}

TEST_F(RandomProcesses, HaveTheResultsMetricsAndScoresOfTheUndisturbedRun) {
  const auto ran = run_all();
  std::printf("%u of %u jobs were disturbed, the models of %u predicted\n", ran, jobs, predicted_);
  EXPECT_GE(ran, jobs / 4) << "the settings of others do not go together";
}

}  // namespace
}  // namespace troupe
