#include "launcher/report.hpp"

#include "launcher/peak_memory.hpp"
#include "launcher/seconds.hpp"
#include "launcher/version.hpp"
#include "runtime/base/files.hpp"
#include "runtime/base/json_text.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <chrono>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fstream>
#include <span>
#include <thread>
#include <unistd.h>

namespace troupe {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson optional_number(const std::optional<double>& value) {
  return value ? OrderedJson(*value) : OrderedJson();
}

OrderedJson scores_json(const std::optional<Scores>& scores) {
  if (!scores) {
    return nullptr;
  }
  OrderedJson json{{"labelled", scores->labelled},
                   {"accuracy", optional_number(scores->accuracy)},
                   {"f1", optional_number(scores->f1)},
                   {"auc", optional_number(scores->auc)}};
  for (const auto& [name, value] : scores->more) {
    json[name] = value;
  }
  return json;
}

OrderedJson epoch_json(const EpochRecord& epoch) {
  OrderedJson json{{"epoch", epoch.epoch + 1},
                   {"loss", epoch.loss},
                   {"seconds", epoch.seconds},
                   {"eval_seconds", epoch.eval_seconds}};
  for (const auto& counter : net::EpochCounters::counters()) {
    if (!counter.is_time()) {
      json[std::string(counter.name)] = epoch.counters.*counter.member;
    }
  }
  json["wait_share"] = epoch.wait_share();
  json["remote_share"] = epoch.remote_share();
  json["remote_share_of_hops"] = epoch.remote_share_of_hops();
  json["cache_hit_rate"] = optional_number(epoch.cache_hit_rate());
  json["cache_hit_rate_at_best"] = optional_number(epoch.cache_hit_rate_at_best());
  json["valid"] = scores_json(epoch.valid);
  json["best"] = epoch.best;
  return json;
}

/// Seconds per stage, summed over ranks and epochs; sampling and collecting overlap each other and
/// training.
OrderedJson stages_json(const RunRecord& record) {
  net::EpochCounters sum;
  double evaluate = 0;
  for (const auto& epoch : record.epochs) {
    sum_counters(sum, epoch.counters);
    evaluate += epoch.eval_seconds;
  }
  OrderedJson json;
  for (const auto& counter : net::EpochCounters::counters()) {
    if (counter.is_time()) {
      json[fmt::format("{}_seconds", counter.stage())] =
          static_cast<double>(sum.*counter.member) * 1e-9;
    }
  }
  json["evaluate_seconds"] = evaluate;
  return json;
}

OrderedJson traffic_json(const Traffic& traffic) {
  OrderedJson json;
  for (const auto& counter : net::LinkTotals::counters()) {
    if (counter.member == &net::LinkTotals::store_copied_bytes ||
        counter.member == &net::LinkTotals::scratch_bytes) {
      continue;  // in their own places
    }
    json[std::string(counter.name)] = traffic.*counter.member;
  }
  return json;
}

std::string cpu_model() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name")) {
      const auto colon = line.find(':');
      return colon == std::string::npos ? line : line.substr(colon + 2);
    }
  }
  return "unknown";
}

OrderedJson hardware_json(const Report& report) {
  return {{"cpu", cpu_model()},
          {"cores", std::thread::hardware_concurrency()},
          {"threads", report.threads},
          {"devices", report.devices.empty() ? OrderedJson() : OrderedJson(report.devices)},
          {"memory_bytes", static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                               static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE))},
          {"peak_memory_bytes", peak_memory_bytes()}};
}

OrderedJson digests_json(const Report& report, const Job& job) {
  const auto& record = report.record;
  // Without a built-in model there are no parameters, and no outputs; with stale reads they depend on timing.
  const bool ended = report.status == "done" || report.trained;
  const bool done = ended && record.parameters != Digest() && job.train.staleness == 0;
  // Of the best epoch of a user program, which has no parameters here, only the program knows.
  const bool tables = done || (ended && record.parameters == Digest());
  OrderedJson tensors = OrderedJson::object();
  OrderedJson best_tensors = OrderedJson::object();
  for (const auto& table : record.tensors) {
    tensors[table.name] = to_string(table.rows);
    best_tensors[table.name] = to_string(table.best);
  }
  return {
      {"batches", record.batches ? OrderedJson(to_string(*record.batches)) : OrderedJson()},
      {"outputs", done ? OrderedJson(to_string(record.outputs)) : OrderedJson()},
      {"parameters", done ? OrderedJson(to_string(record.parameters)) : OrderedJson()},
      {"best_parameters", done ? OrderedJson(to_string(record.best_parameters)) : OrderedJson()},
      {"tensors", tables ? tensors : OrderedJson()},
      {"best_tensors", done ? best_tensors : OrderedJson()}};
}

std::string own_host() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

}  // namespace

RunStart start_of_run(const Job& job, const std::string& command) {
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  RunStart run{.start = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now)),
               .command = command,
               .build = build_text(),
               .hosts = {}};
  if (job.cluster.launch == "ssh" || job.cluster.launch == "slurm") {
    for (const auto& host : job.cluster.named) {
      run.hosts.push_back(host.address);
    }
  } else {
    run.hosts.push_back(own_host());
  }
  return run;
}

std::string report_json(const Report& report, const Job& job) {
  const auto& record = report.record;
  const auto build = build_info();
  OrderedJson json;
  json["status"] = report.status;
  if (!report.error.empty()) {
    json["error"] = report.error;
  }
  json["start"] = report.start.start;
  json["command"] = report.start.command;
  json["hosts"] = report.start.hosts;
  json["seconds_per_step"] = optional_number(report.seconds_per_step);
  json["digests"] = digests_json(report, job);
  json["scores"] = {{"valid", scores_json(record.valid)}, {"test", scores_json(record.test)}};
  json["best_epoch"] = record.best_epoch ? OrderedJson(*record.best_epoch + 1) : OrderedJson();
  json["epochs"] = OrderedJson::array();
  for (const auto& epoch : record.epochs) {
    json["epochs"].push_back(epoch_json(epoch));
  }
  json["seconds"] = {
      {"load", report.load_seconds}, {"run", report.run_seconds}, {"total", report.total_seconds}};
  json["stages"] = stages_json(record);
  json["traffic"] = traffic_json(report.traffic);
  json["notes"] = report.notes;
  json["sampling_version"] = sampling_version;
  json["store_copied_bytes"] = report.traffic.store_copied_bytes;
  json["scratch_bytes"] = report.traffic.scratch_bytes;
  json["job"] = json_of_text(job.json);
  json["build"] = {{"version", build.version},
                   {"id", build.id},
                   {"compiler", build.compiler},
                   {"build_type", build.build_type}};
  json["hardware"] = hardware_json(report);
  return text_of_json(json, {.indent = 2}) + "\n";
}

Status write_report(const Report& report, const Job& job, const std::filesystem::path& file) {
  const auto text = report_json(report, job);
  auto written = write_file_atomically(file, std::as_bytes(std::span(text)));
  return written
             ? written
             : Status(Error(
                   written.error().code(),
                   fmt::format(
                       "report: {}\ntry: a folder with room, which may be written, in place of {}",
                       written.error().what(), parent_directory(file).string())));
}

Status write_end(Report& report, const Job& job, const StepTimes& steps,
                 std::optional<MetricsLog>& metrics) {
  report.total_seconds = seconds_since(report.began);
  report.seconds_per_step = steps.median();
  const auto logged = metrics ? metrics->end({.status = report.status,
                                              .seconds = report.total_seconds,
                                              .seconds_per_step = report.seconds_per_step})
                              : ok_status();
  const auto written = write_report(report, job, job.output / "report.json");
  return logged ? written : logged;
}

}  // namespace troupe
