#include "tests/support/checked_memory.hpp"

#include "tests/support/process.hpp"

#include <cmath>
#include <map>
#include <sstream>

namespace troupe::testing {
namespace {

std::uint64_t bytes_said(const std::string& output) {
  const std::string before = "memory of the largest process, at most: ";
  const auto at = output.find(before);
  if (at == std::string::npos) {
    return 0;
  }
  std::istringstream words(output.substr(at + before.size()));
  double number = 0;
  std::string unit;
  words >> number >> unit;
  const std::map<std::string, int> powers = {{"B", 0}, {"KiB", 10}, {"MiB", 20}, {"GiB", 30}};
  const auto power = powers.find(unit);
  return power == powers.end() ? 0 : static_cast<std::uint64_t>(std::ldexp(number, power->second));
}

}  // namespace

CheckedMemory check_and_run(const std::string& job, const std::vector<std::string>& settings,
                            const std::string& folder) {
  std::vector<std::string> more{job, "--set", "train.epochs=1", "--set", "output=" + folder};
  for (const auto& setting : settings) {
    more.insert(more.end(), {"--set", setting});
  }
  std::vector<std::string> check{TROUPE_PROGRAM, "check", "--measure", "0"};
  std::vector<std::string> run{TROUPE_PROGRAM, "run", "--overwrite"};
  check.insert(check.end(), more.begin(), more.end());
  run.insert(run.end(), more.begin(), more.end());
  CheckedMemory memory;
  const auto checked = run_process(check, folder);
  memory.output = checked.out + checked.err;
  if (checked.exit_code != 0) {
    return memory;
  }
  memory.said_bytes = bytes_said(checked.out);
  const auto ran = run_process(run, folder);
  if (ran.exit_code == 0) {
    memory.peak_bytes = ran.peak_bytes;
  } else {
    memory.output = ran.out + ran.err;
  }
  return memory;
}

}  // namespace troupe::testing
