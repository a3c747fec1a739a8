#include "runtime/run/metrics_log.hpp"

#include "runtime/base/files.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/run/record_json.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <fstream>
#include <limits>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace troupe {
namespace {

using OrderedJson = nlohmann::ordered_json;

/// Whether a line is one of ours and not past `point`.
Result<bool> stays(std::string_view text, const MetricsPoint& point) {
  TROUPE_ASSIGN_OR_RETURN(const auto json, open_json(text, "line"));
  const JsonValue line(json, "");
  TROUPE_ASSIGN_OR_RETURN(const auto kind, line.string("kind"));
  if (kind == "start" || kind == "end") {
    return kind == "start";
  }
  if (kind == "step") {
    TROUPE_ASSIGN_OR_RETURN(const auto step, line.integer("global_step", any_integer));
    return step <= point.global_step;
  }
  TROUPE_ASSIGN_OR_RETURN(const auto epoch, line.integer("epoch", any_integer));
  if (kind == "eval") {
    TROUPE_ASSIGN_OR_RETURN(const auto last, line.boolean("last"));
    return !last && epoch <= point.epochs;
  }
  return kind == "epoch" && epoch <= point.epochs;
}

/// Bytes of the lines before the first that is past `point`, torn or not ours.
std::uint64_t size_up_to(std::ifstream& in, const MetricsPoint& point) {
  std::uint64_t size = 0;
  for (std::string line; std::getline(in, line) && !in.eof();) {  // at the end: without newline
    const auto kept = stays(line, point);
    if (!kept.ok() || !*kept) {
      break;
    }
    size += line.size() + 1;
  }
  return size;
}

}  // namespace

MetricsPoint metrics_point(const Checkpoint& checkpoint) {
  const auto& epochs = checkpoint.record.epochs;
  const auto over = std::ranges::count_if(epochs, [](const auto& epoch) { return epoch.over; });
  return {checkpoint.training.global_step, static_cast<std::uint32_t>(over)};
}

Result<MetricsLog> MetricsLog::open(const std::filesystem::path& file, const MetricsPoint& from) {
  const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) {
    return file_error(file, "cannot open", errno);
  }
  MetricsLog log(file, fd);
  TROUPE_RETURN_IF_ERROR(log.rewind(from));
  return log;
}

MetricsLog::~MetricsLog() {
  if (fd_ >= 0) {
    ::close(fd_);
  }
}

MetricsLog::MetricsLog(MetricsLog&& other) noexcept
    : file_(std::move(other.file_)), fd_(std::exchange(other.fd_, -1)) {}

Status MetricsLog::rewind(const MetricsPoint& to) {
  std::ifstream in(file_, std::ios::binary);
  if (!in) {
    return file_error(file_, "cannot read", errno);
  }
  const auto size = size_up_to(in, to);
  if (::ftruncate(fd_, static_cast<off_t>(size)) != 0) {
    return file_error(file_, "cannot cut", errno);
  }
  return ok_status();
}

Status MetricsLog::append(const std::string& line) {
  struct stat before {};
  if (::fstat(fd_, &before) != 0) {
    return file_error(file_, "cannot read its size", errno);
  }
  std::string_view rest = line;
  while (!rest.empty()) {
    const auto n = ::write(fd_, rest.data(), rest.size());
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n < 0) {
      auto failed = file_error(file_, "cannot write", errno);
      // What this leaves if it fails too is cut off when the log is opened again.
      [[maybe_unused]] const auto ignored = ::ftruncate(fd_, before.st_size);
      return failed;
    }
    rest.remove_prefix(static_cast<std::size_t>(n));
  }
  return ok_status();
}

Status MetricsLog::start(const RunStart& run) {
  struct stat found {};
  if (::fstat(fd_, &found) != 0) {
    return file_error(file_, "cannot read its size", errno);
  }
  if (found.st_size > 0) {
    return ok_status();
  }
  const OrderedJson json{{"kind", "start"},
                         {"start", run.start},
                         {"command", run.command},
                         {"build", run.build},
                         {"hosts", run.hosts}};
  return append(text_of_json(json) + "\n");
}

Status MetricsLog::end(const RunSummary& run) {
  OrderedJson json{{"kind", "end"},
                   {"status", run.status},
                   {"seconds", number_to_json(run.seconds, JsonStyle::plain)},
                   {"seconds_per_step", nullptr}};
  if (run.seconds_per_step) {
    json["seconds_per_step"] = *run.seconds_per_step;
  }
  return append(text_of_json(json) + "\n");
}

Status MetricsLog::step(const StepReport& report) {
  const OrderedJson json{{"kind", "step"},
                         {"epoch", report.epoch + 1},
                         {"step", report.step},
                         {"global_step", report.global_step},
                         {"loss", number_to_json(report.loss, JsonStyle::plain)},
                         {"lr", number_to_json(report.lr, JsonStyle::plain)},
                         {"seconds_per_step", number_to_json(report.seconds, JsonStyle::plain)}};
  return append(text_of_json(json) + "\n");
}

Status MetricsLog::epoch(const EpochRecord& record) {
  OrderedJson json{{"kind", "epoch"}};
  json.update(epoch_to_json(record));
  return append(text_of_json(json) + "\n");
}

Status MetricsLog::eval(const EvalMetrics& eval) {
  const auto& [epoch, last, role, seconds, scores] = eval;
  OrderedJson json{{"kind", "eval"},
                   {"epoch", epoch + 1},
                   {"last", last},
                   {"role", role},
                   {"seconds", number_to_json(seconds, JsonStyle::plain)}};
  json.update(scores_to_json(scores, JsonStyle::plain));
  return append(text_of_json(json) + "\n");
}

}  // namespace troupe
