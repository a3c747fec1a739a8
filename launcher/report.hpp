#pragma once
/// \file report.hpp
/// `report.json`: what a run was, what came of it, on what machine (design, section 11;
/// docs/report.md lists the keys).
#include "launcher/simulated_cluster.hpp"
#include "runtime/job/job.hpp"
#include "runtime/run/metrics_log.hpp"
#include "runtime/run/run_record.hpp"
#include "runtime/run/step_times.hpp"

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

struct Report {
  std::string status;    ///< "done", "failed", "interrupted"
  std::string error;     ///< the sentence, if failed
  bool trained = false;  ///< To the end, also where the model cannot be written
  std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
  RunStart start;
  double total_seconds = 0;  ///< from the program's start to the report
  std::optional<double> seconds_per_step;
  RunRecord record;
  Traffic traffic;
  std::vector<std::string> notes;  ///< losses and what was done about them
  std::size_t threads = 0;
  std::string devices;  ///< device_text() of the run; empty: CPUs alone
  double load_seconds = 0;
  double run_seconds = 0;
};

/// \param command  the command line
RunStart start_of_run(const Job& job, const std::string& command);

/// The JSON text of the report.
std::string report_json(const Report& report, const Job& job);

/// Writes it to `file`, whole or not at all.
/// \errors those of write_file_atomically()
Status write_report(const Report& report, const Job& job, const std::filesystem::path& file);

/// Ends a run's log and writes its report, with the times up to now.
/// \param steps    of rank 0
/// \param metrics  empty: there is no log
/// \errors those of MetricsLog::end() and write_report()
Status write_end(Report& report, const Job& job, const StepTimes& steps,
                 std::optional<MetricsLog>& metrics);

}  // namespace troupe
