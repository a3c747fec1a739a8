#include "bench/system/start.hpp"

#include "launcher/processes/piped_child.hpp"

#include <nlohmann/json.hpp>

#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <optional>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

namespace troupe::bench {
namespace {

namespace fs = std::filesystem;

/// A folder that goes away with this object.
class ScratchFolder {
 public:
  static Result<ScratchFolder> make() {
    auto name = (fs::temp_directory_path() / "troupe-start-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
      return Error(Errc::failed_precondition,
                   fmt::format("{}: cannot make a temporary folder", name));
    }
    return ScratchFolder(name);
  }
  ScratchFolder(ScratchFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    if (!path_.empty()) {
      fs::remove_all(path_, ignored);
    }
  }
  const fs::path& path() const { return path_; }

 private:
  explicit ScratchFolder(fs::path path) : path_(std::move(path)) {}
  fs::path path_;
};

/// A job whose first step costs nearly nothing, so that what is measured is the start.
std::string job_text(const StartOptions& options) {
  const nlohmann::ordered_json job{
      {"dataset", {{"path", fs::absolute(options.store).string()}}},
      {"cluster", nlohmann::ordered_json::parse(options.cluster)},
      {"sample", {{"fanout", {2}}}},
      {"model", {{"kind", "graphsage"}, {"hidden", 16}}},
      {"eval", {{"every", 0}, {"mode", "sampled"}, {"max_batches", 1}, {"predictions", false}}},
      {"digest", "off"},
      {"log_every", 1}};
  return job.dump();
}

struct OneStart {
  double joined = 0;
  double first_step = 0;
};

/// Reads what the program prints until a step is in it.
/// \returns the seconds until then, none if its output ended before
std::optional<double> wait_for_step(int output, const Stopwatch& watch, std::string& printed) {
  std::vector<char> block(4096);
  while (printed.find("\"event\":\"step\"") == std::string::npos) {
    const auto got = read(output, block.data(), block.size());
    if (got <= 0) {
      return std::nullopt;
    }
    printed.append(block.data(), static_cast<std::size_t>(got));
  }
  return watch.seconds();
}

void read_to_end(int output) {
  std::vector<char> block(4096);
  while (read(output, block.data(), block.size()) > 0) {
  }
}

Result<OneStart> start_once(const StartOptions& options, const fs::path& folder) {
  const auto job = folder / "job.json";
  std::ofstream(job) << job_text(options);
  const Stopwatch watch;
  TROUPE_ASSIGN_OR_RETURN(
      auto child,
      PipedChild::start({options.troupe.string(), "run", job.string(), "--log", "json",
                         "--overwrite", "--set", "output=" + (folder / "run").string()}));
  std::string printed;
  const auto first_step = wait_for_step(child.peer(), watch, printed);
  read_to_end(child.peer());
  const auto end = child.wait();
  if (!first_step || !end.success) {
    return Error(Errc::failed_precondition,
                 fmt::format("{}: expected a run with steps, found {}: {}{}",
                             options.troupe.string(), end.how, end.errors, printed));
  }
  std::ifstream in(folder / "run" / "report.json");
  const auto report = nlohmann::json::parse(in, nullptr, false);
  return OneStart{report.at("seconds").at("load").get<double>(), *first_step};
}

}  // namespace

Result<StartCost> measure_start(const StartOptions& options) {
  TROUPE_ASSIGN_OR_RETURN(const auto folder, ScratchFolder::make());
  std::vector<double> joined;
  std::vector<double> first_step;
  for (std::uint32_t i = 0; i <= options.repeats; ++i) {
    TROUPE_ASSIGN_OR_RETURN(const auto cost, start_once(options, folder.path()));
    if (i > 0) {
      joined.push_back(cost.joined);
      first_step.push_back(cost.first_step);
    }
  }
  return StartCost{stats_of(std::move(joined)), stats_of(std::move(first_step))};
}

}  // namespace troupe::bench
