// troupe_gpu_stages: measures the stages of batches on a device.
#include "launcher/read_job.hpp"

#include "bench/gpu/stages.hpp"
#include "bench/support/bench_data.hpp"

#include <nlohmann/json.hpp>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <fmt/format.h>
#include <fstream>
#include <string>

namespace {

using namespace troupe;
using namespace troupe::bench;

struct Arguments {
  JobArguments job;
  std::string device = "cuda";
  std::string out;
  DeviceBenchOptions measure;
};

int failed(const Error& error) {
  fmt::print(stderr, "troupe_gpu_stages: {}\n", error.what());
  return static_cast<int>(exit_code_of(error.code()));
}

int run(Arguments arguments) {
  auto device = parse_device(arguments.device);
  if (!device) {
    return failed(device.error());
  }
  arguments.measure.device = *std::move(device);
  const auto job = read_job_or_print(arguments.job);
  if (!job) {
    return static_cast<int>(ExitCode::usage);
  }
  const auto data = open_bench_data(*job);
  if (!data) {
    return failed(data.error());
  }
  const auto result = measure_device(*data, arguments.measure);
  if (!result) {
    return failed(result.error());
  }
  if (!arguments.out.empty()) {
    std::ofstream(arguments.out) << result->dump(2) << '\n';
  }
  fmt::print("{}", device_table(*result));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Measures sampling, gathering and training steps on a device.", "troupe_gpu_stages");
  Arguments arguments;
  arguments.measure.batch_sizes = {256, 1024, 8192};
  app.add_option("JOB", arguments.job.file, "the job file")->required();
  app.add_option("--set", arguments.job.overrides, "override a value")
      ->take_all()
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE");
  app.add_option("--device", arguments.device, "cuda, cuda:N or emulated:1")->capture_default_str();
  app.add_option("--batch-sizes", arguments.measure.batch_sizes, "seeds of a batch")
      ->delimiter(',')
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--repeats", arguments.measure.repeats, "measurements of each kind")
      ->check(CLI::Range(1U, 10000U))
      ->capture_default_str();
  app.add_option("--warm-ups", arguments.measure.warm_ups, "before them")->capture_default_str();
  app.add_option("--limit-bytes", arguments.measure.limit_bytes, "copied to measure the memory")
      ->check(CLI::Range(std::size_t{1} << 22, std::size_t{1} << 36))
      ->capture_default_str();
  app.add_option("--out", arguments.out, "where the results go, as JSON");
  CLI11_PARSE(app, argc, argv);
  try {
    return run(std::move(arguments));
  } catch (const std::exception& error) {
    fmt::print(stderr, "troupe_gpu_stages: internal error: {}\n", error.what());
    return static_cast<int>(ExitCode::failed);
  }
}
