// Entry point of every test program: runs the tests in one process, ends a test that takes too long, and leaves a record of
// what ran for ./bootstrap.
//
// Environment: TROUPE_TEST_RECORD  file for the record: lines "passed N", "failed N", "skipped N", then
//                                  "failed NAME" and "skipped NAME: REASON". While a test runs, and after a crash in it, its
//                                  only line is "running NAME". No record is written if not set
//              TROUPE_TEST_SECONDS longest time of one test, default 120
#include <gtest/gtest.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

namespace troupe::testing {
namespace {

constexpr unsigned default_seconds = 120;
constexpr int exit_code_of_timeout = 124;

/// Name of the running test, for the signal handler.
std::array<char, 512> running_test{};

void write_error(std::string_view text) {
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
}

/// Ends the process: a test that hangs holds locks and threads that nobody can take back.
void end_at_alarm(int /*signal*/) {
  write_error("\ntimeout of the test ");
  write_error(running_test.data());
  write_error(" (TROUPE_TEST_SECONDS)\n");
  ::_exit(exit_code_of_timeout);
}

std::string full_name(const ::testing::TestInfo& info) {
  return std::string(info.test_suite_name()) + "." + info.name();
}

/// First message of a skipped test, on one line.
std::string skip_reason(const ::testing::TestResult& result) {
  for (int i = 0; i < result.total_part_count(); ++i) {
    const auto& part = result.GetTestPartResult(i);
    if (part.skipped()) {
      std::string text = part.message();
      for (char& c : text) {
        c = c == '\n' ? ' ' : c;
      }
      return text.substr(0, text.find_last_not_of(' ') + 1);
    }
  }
  return "no reason given";
}

/// Limits the time of each test and collects the outcomes.
class Recorder : public ::testing::EmptyTestEventListener {
 public:
  Recorder(unsigned seconds, const char* file)
      : seconds_(seconds), file_(file == nullptr ? "" : file) {}

  void OnTestStart(const ::testing::TestInfo& info) override { watch(full_name(info)); }
  void OnTestSuiteStart(const ::testing::TestSuite& suite) override { watch(suite.name()); }
  void OnTestEnd(const ::testing::TestInfo& info) override {
    ::alarm(0);
    const auto& result = *info.result();
    if (result.Failed()) {
      ++failed_;
      lines_.push_back("failed " + full_name(info));
    } else if (result.Skipped()) {
      ++skipped_;
      lines_.push_back("skipped " + full_name(info) + ": " + skip_reason(result));
    } else {
      ++passed_;
    }
  }
  void OnTestProgramEnd(const ::testing::UnitTest& /*unit*/) override {
    ::alarm(0);
    lines_.insert(lines_.begin(),
                  {"passed " + std::to_string(passed_), "failed " + std::to_string(failed_),
                   "skipped " + std::to_string(skipped_)});
    record(lines_);
  }

 private:
  /// Also covers the preparation of a suite, which comes before its first test.
  void watch(const std::string& name) {
    running_test[name.copy(running_test.data(), running_test.size() - 1)] = '\0';
    ::alarm(seconds_);
    record({"running " + name});
  }
  void record(const std::vector<std::string>& lines) const {
    if (file_.empty()) {
      return;
    }
    std::ofstream out(file_);
    for (const auto& line : lines) {
      out << line << '\n';
    }
  }

  const unsigned seconds_;
  const std::string file_;
  int passed_ = 0;
  int failed_ = 0;
  int skipped_ = 0;
  std::vector<std::string> lines_;
};

}  // namespace
}  // namespace troupe::testing

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  const char* text = std::getenv("TROUPE_TEST_SECONDS");
  const auto seconds = text == nullptr ? 0UL : std::strtoul(text, nullptr, 10);
  std::signal(SIGALRM, troupe::testing::end_at_alarm);
  ::testing::UnitTest::GetInstance()->listeners().Append(new troupe::testing::Recorder(
      seconds == 0 ? troupe::testing::default_seconds : static_cast<unsigned>(seconds),
      std::getenv("TROUPE_TEST_RECORD")));
  return RUN_ALL_TESTS();
}
