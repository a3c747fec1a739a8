// A user's own program: installs Troupe, builds examples/embed against it with find_package, and runs it.
#include "tests/support/expect.hpp"
#include "tests/support/process.hpp"
#include "tests/support/scratch_folder.hpp"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <signal.h>

namespace troupe {
namespace {

using namespace std::chrono_literals;
using testing::ProcessResult;

/// The line of a program's output that begins with `word`.
std::string line_of(const ProcessResult& run, const std::string& word) {
  std::istringstream lines(run.out);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(word + " ")) {
      return line;
    }
  }
  return "no line " + word;
}

class Embed : public ::testing::Test {
 protected:
  /// Once for all tests: installs, configures and builds.
  static void SetUpTestSuite() {
    shared_ = std::make_unique<testing::ScratchFolder>();
    const auto prefix = folder() + "/installed";
    step({TROUPE_CMAKE, "--install", TROUPE_BUILD_DIR, "--prefix", prefix});
    step({TROUPE_CMAKE, "-S", std::string(TROUPE_SOURCE_DIR) + "/examples/embed", "-B",
          folder() + "/build", "-DCMAKE_PREFIX_PATH=" + prefix});
    step({TROUPE_CMAKE, "--build", folder() + "/build"});
  }
  static void TearDownTestSuite() { shared_.reset(); }
  void SetUp() override {
    ASSERT_TRUE(std::filesystem::exists(program())) << "it was not built: " << problems_;
  }

  static void step(const std::vector<std::string>& command) {
    const auto done = testing::run_process(command, folder());
    if (done.exit_code != 0) {
      problems_ += done.out + done.err;
    }
  }
  static std::string folder() { return shared_->path().string(); }
  static std::string program() { return folder() + "/build/my_trainer"; }
  std::string output(const std::string& name) const { return folder() + "/" + name; }

  /// `troupe run` of the example's job, up to the program's arguments.
  std::vector<std::string> command(const std::string& out,
                                   const std::vector<std::string>& options) const {
    std::vector<std::string> words = {folder() + "/installed/bin/troupe", "run",
                                      std::string(TROUPE_SOURCE_DIR) + "/examples/embed/cora.json",
                                      "--set", "output=" + output(out)};
    words.insert(words.end(), options.begin(), options.end());
    return words;
  }
  std::vector<std::string> program_command(const std::string& out,
                                           std::vector<std::string> options) const {
    options.insert(options.end(), {"--", program()});
    return command(out, options);
  }
  ProcessResult run(const std::vector<std::string>& words) const {
    return testing::run_process(words, folder());
  }

 private:
  static std::unique_ptr<testing::ScratchFolder> shared_;
  static std::string problems_;
};

std::unique_ptr<testing::ScratchFolder> Embed::shared_;
std::string Embed::problems_;

TEST_F(Embed, TheSameProgramRunsOnOneAndTwoHostsWithTheSameResults) {
  const auto two = run(program_command("two", {}));
  const auto one = run(
      program_command("one", {"--set", "cluster.hosts=1", "--set", "cluster.trainers_per_host=2"}));
  const auto built_in = run(command("built-in", {"--set", "eval.every=0"}));

  ASSERT_EQ(two.exit_code, 0) << two.err;
  ASSERT_EQ(one.exit_code, 0) << one.err;
  ASSERT_EQ(built_in.exit_code, 0) << built_in.err;
  EXPECT_NE(two.out.find("2 ranks on 2 simulated hosts"), std::string::npos) << two.out;
  EXPECT_NE(one.out.find("2 ranks on 1 simulated hosts"), std::string::npos) << one.out;
  for (const char* word : {"batches", "weights", "test"}) {
    EXPECT_EQ(line_of(one, word), line_of(two, word));
  }
  const auto digest = line_of(two, "batches").substr(8);
  EXPECT_NE(line_of(built_in, "batches").find(digest), std::string::npos) << built_in.out;
  EXPECT_GE(std::stod("0" + line_of(two, "test accuracy").substr(14)), 0.77) << two.out;
}

TEST_F(Embed, OneRankAloneTrainsToo) {
  const auto run_alone = run(program_command("alone", {"--set", "cluster.hosts=1"}));

  ASSERT_EQ(run_alone.exit_code, 0) << run_alone.err;
  EXPECT_GE(std::stod("0" + line_of(run_alone, "test accuracy").substr(14)), 0.77);
}

TEST_F(Embed, AnInterruptedRunGoesOnToTheSameResults) {
  const std::vector<std::string> longer = {"--set", "train.epochs=300", "--set",
                                           "checkpoint.every.epochs=50"};
  const auto undisturbed = run(program_command("undisturbed", longer));
  ASSERT_EQ(undisturbed.exit_code, 0) << undisturbed.err;

  testing::Process first(program_command("stopped", longer), folder());
  EXPECT_TRUE(first.wait_for_output("epoch 3:", 60s));
  first.signal(SIGINT);
  const auto stopped = first.wait();
  auto again = longer;
  again.emplace_back("--resume");
  const auto resumed = run(program_command("stopped", again));

  EXPECT_EQ(stopped.exit_code, 130) << stopped.err;
  EXPECT_NE(stopped.err.find("with the same command and --resume"), std::string::npos);
  EXPECT_EQ(stopped.out.find("epoch 300:"), std::string::npos);
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_NE(resumed.out.find("resuming from"), std::string::npos);
  for (const char* word : {"batches", "weights", "test"}) {
    EXPECT_EQ(line_of(resumed, word), line_of(undisturbed, word));
  }
}

TEST_F(Embed, AProgramStartedByItselfSaysHowToStartIt) {
  const auto alone = run({program()});

  EXPECT_EQ(alone.exit_code, 2);
  EXPECT_NE(alone.err.find("try: troupe run JOB -- "), std::string::npos) << alone.err;
}

TEST_F(Embed, MistakesOnTheCommandLineAreTold) {
  auto nothing = command("none", {"--"});
  auto missing = command("none", {"--", folder() + "/no_such_program"});
  auto json = command("none", {"--log", "json", "--", program()});
  auto bad_key = program_command("none", {"--set", "sample.fanouts=[5]"});
  auto none_to_resume = program_command("none", {"--resume"});

  EXPECT_EQ(run(nothing).exit_code, 2);
  EXPECT_NE(run(missing).err.find("no_such_program: No such file"), std::string::npos);
  EXPECT_EQ(run(json).exit_code, 2);
  EXPECT_NE(run(bad_key).err.find("/sample/fanouts"), std::string::npos);
  const auto resumed = run(none_to_resume);
  EXPECT_EQ(resumed.exit_code, 3);
  EXPECT_NE(resumed.err.find("expected a checkpoint that is whole"), std::string::npos);
}

TEST_F(Embed, ProgramArgumentsAndItsFailureComeThrough) {
  auto other_rate = program_command("rate", {"--set", "train.epochs=1"});
  const auto as_is = run(other_rate);
  other_rate.emplace_back("5");
  const auto slower = run(other_rate);
  auto checkpoints_of_another = command(
      "rate",
      {"--set", "train.epochs=1", "--set", "checkpoint.every.epochs=1", "--set", "eval.every=0"});
  ASSERT_EQ(run(checkpoints_of_another).exit_code, 0);
  const auto refused = run(program_command("rate", {"--resume"}));

  EXPECT_NE(line_of(as_is, "weights"), line_of(slower, "weights"));
  EXPECT_EQ(line_of(as_is, "batches"), line_of(slower, "batches"));
  EXPECT_EQ(refused.exit_code, 3);
  EXPECT_NE(refused.err.find("skipped checkpoint step-3"), std::string::npos) << refused.err;
}

}  // namespace
}  // namespace troupe
