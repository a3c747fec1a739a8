#pragma once
/// \file embed_fixture.hpp
/// Tests that run the examples of user programs, built once for all.
#include "tests/support/embedded_program.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/process.hpp"
#include "tests/support/scratch_folder.hpp"

#include <filesystem>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace troupe::testing {

using Words = std::vector<std::string>;

/// The line of a program's output that begins with `word`; "[host 0] " may stand before it.
inline std::string line_of(const ProcessResult& run, const std::string& word) {
  std::istringstream lines(run.out);
  for (std::string line; std::getline(lines, line);) {
    line.erase(0, line.starts_with('[') ? line.find("] ") + 2 : 0);
    if (line.starts_with(word + " ")) {
      return line;
    }
  }
  return "no line " + word;
}

class Embed : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { shared_ = std::make_unique<ScratchFolder>(); }
  static void TearDownTestSuite() {
    shared_.reset();
    results_.clear();
  }
  void SetUp() override {
    ASSERT_TRUE(std::filesystem::exists(program()))
        << "it was not built: " << embedded_programs().problems;
  }

  /// Of the installed files and the built programs (tests/support/embedded_program.hpp).
  static const std::string& built() { return embedded_programs().folder; }
  static std::string program() { return built() + "/build/my_trainer"; }
  /// Of a suite's outputs.
  static std::string folder() { return shared_->path().string(); }
  static std::string output(const std::string& name) { return folder() + "/" + name; }

  /// `troupe run` of the example's job, up to the program's arguments.
  std::vector<std::string> command(const std::string& out,
                                   const std::vector<std::string>& options) const {
    std::vector<std::string> words = {built() + "/installed/bin/troupe", "run",
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
    return run_process(words, folder());
  }
  /// A run that several tests compare with, made by the first one.
  const ProcessResult& run_once(const std::string& out,
                                const std::vector<std::string>& options) const {
    const auto [at, is_new] = results_.try_emplace(out);
    if (is_new) {
      at->second = run(program_command(out, options));
    }
    return at->second;
  }
  /// Of a run on two hosts.
  void expect_results_of_simulation(const ProcessResult& there) const {
    const auto& simulated = run_once("simulated", {});
    ASSERT_EQ(simulated.exit_code, 0) << simulated.err;
    ASSERT_EQ(there.exit_code, 0) << there.out << there.err;
    for (const char* word : {"batches", "weights", "test"}) {
      EXPECT_EQ(line_of(there, word), line_of(simulated, word)) << there.out;
    }
  }

 private:
  static inline std::unique_ptr<ScratchFolder> shared_;
  static inline std::map<std::string, ProcessResult> results_;
};

}  // namespace troupe::testing
