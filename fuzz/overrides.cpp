// `--set KEY.KEY=VALUE` lines on a small valid job: problems or a job, never anything else.
#include "runtime/job/job_file.hpp"

#include "fuzz/targets.hpp"

namespace troupe::fuzz {

void run_overrides(Input input) {
  std::vector<std::string> overrides;
  auto text = text_of(input);
  while (!text.empty() && overrides.size() < 16) {
    const auto end = std::min(text.find('\n'), text.size());
    overrides.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  const std::string job = R"({"dataset": {"path": "d"}, "sample": {"fanout": [3, 2]}})";
  const auto reading = parse_job(job, "", overrides);
  require(reading.ok(), "an override never makes the file unreadable");
  if (reading->problems.empty()) {
    const auto again = parse_job(reading->job.json, "", {});
    require(again.ok() && again->problems.empty() && again->job.json == reading->job.json,
            "a job with overrides prints as a job");
  } else {
    require(!to_string(reading->problems).empty(), "problems have a text");
  }
}

}  // namespace troupe::fuzz

TROUPE_FUZZ_TARGET(troupe::fuzz::run_overrides)
