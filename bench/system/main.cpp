// troupe_bench: measures the data path of a job, beside the limits of the machine.
#include "launcher/read_job.hpp"

#include "bench/support/bench_data.hpp"
#include "bench/system/measurements.hpp"
#include "bench/system/results_text.hpp"

#include <nlohmann/json.hpp>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>

namespace {

using namespace troupe;
using namespace troupe::bench;

struct Arguments {
  JobArguments job;
  std::string out;
  std::string commit = "unknown";
  MeasureOptions measure;
};

int failed(const Error& error) {
  fmt::print(stderr, "troupe_bench: {}\n", error.what());
  return static_cast<int>(exit_code_of(error.code()));
}

/// The program beside this one in the build folder.
std::filesystem::path built_troupe() {
  std::error_code unreadable;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", unreadable);
  return self.parent_path().parent_path() / "launcher" / "troupe";
}

int run(const Arguments& arguments) {
  const auto job = read_job_or_print(arguments.job);
  if (!job) {
    return static_cast<int>(ExitCode::usage);
  }
  const auto data = open_bench_data(*job);
  if (!data) {
    return failed(data.error());
  }
  auto result = measure(*data, arguments.measure);
  if (!result) {
    return failed(result.error());
  }
  (*result)["commit"] = arguments.commit;
  if (!arguments.out.empty()) {
    std::ofstream(arguments.out) << result->dump(2) << '\n';
  }
  fmt::print("{}", results_text(*result));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Measures the data path of a job beside the limits of the machine.", "troupe_bench");
  Arguments arguments;
  arguments.measure.troupe = built_troupe();
  app.add_option("JOB", arguments.job.file, "the job file")->required();
  app.add_option("--set", arguments.job.overrides, "override a value")
      ->take_all()
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE");
  app.add_option("--out", arguments.out, "where the results go, as JSON");
  app.add_option("--commit", arguments.commit, "what was built, for the results");
  app.add_option("--only", arguments.measure.only, "measure one thing")
      ->check(CLI::IsMember(
          {"kernels", "in_place", "pipeline", "requests", "training", "start", "learned_rows"}));
  app.add_option("--troupe", arguments.measure.troupe, "program whose start is measured")
      ->check(CLI::ExistingFile);
  app.add_option("--epochs", arguments.measure.epochs, "after one to warm up")
      ->check(CLI::Range(1U, 1000U))
      ->capture_default_str();
  app.add_option("--threads", arguments.measure.threads, "where many threads are measured")
      ->check(CLI::Range(1U, 1024U))
      ->capture_default_str();
  app.add_option("--learned-rows", arguments.measure.learned_rows,
                 "rows of the tables of learned rows, each of 64 numbers and as much state")
      ->check(CLI::Range(std::uint64_t{1000}, std::uint64_t{1} << 32))
      ->capture_default_str();
  app.footer(
      "Example: troupe_bench bench/system/data_path.json --set dataset.path=/tmp/rmat/parts1 "
      "--out /tmp/result.json");
  CLI11_PARSE(app, argc, argv);
  try {
    return run(arguments);
  } catch (const std::exception& error) {
    fmt::print(stderr, "troupe_bench: internal error: {}\n", error.what());
    return static_cast<int>(ExitCode::failed);
  }
}
