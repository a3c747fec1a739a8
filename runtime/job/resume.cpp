#include "runtime/job/resume.hpp"

#include "runtime/base/json_text.hpp"
#include "runtime/job/job_file.hpp"
#include "runtime/job/layout.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe {
namespace {

using Json = nlohmann::json;
constexpr std::size_t shown_differences = 5;

/// A key that older programs wrote, at a value that means what is so without it.
bool means_nothing(std::string_view pointer, std::string_view was) {
  return pointer == "/sample/edge_ids" && was == "false";
}

/// A GPU has other bits than a CPU, which emulated devices share.
bool computes_alike(const std::string& was, const std::string& is) {
  const auto on_gpu = [](const std::string& device) { return device.find("cuda") != device.npos; };
  return on_gpu(was) == on_gpu(is);
}

/// Whether batches depend on the parts that lie where each rank samples.
bool depends_on_place(const Job& job) {
  return job.sample.seed_order == "local" || job.task.own_candidates;
}

bool may_differ(std::string_view pointer, const Json& now, bool placed) {
  static constexpr std::array<std::string_view, 12> free = {
      "/cluster/",        "/partition/",
      "/checkpoint/",     "/output",
      "/log_every",       "/trace",
      "/dataset/memory",  "/eval/predictions",
      "/sample/on",       "/sample/device_lists",
      "/features/cache/", "/sample/cache/"};
  const bool by_place = std::ranges::any_of(
      free, [&](std::string_view prefix) { return pointer.starts_with(prefix); });
  if (placed && pointer.starts_with("/partition/")) {
    return false;
  }
  const bool more_epochs = pointer == "/train/epochs" &&
                           now.value("/train/schedule/kind"_json_pointer, "constant") == "constant";
  return by_place || more_epochs;
}

struct WrittenJob {  // NOLINT(bugprone-exception-escape): of JSON when it is moved
  std::uint64_t world = 0;
  std::vector<std::vector<PartId>> near;  ///< as parts_of_ranks(), where place matters
  Json complete;  ///< with the defaults of keys that the writer did not know
};

/// \param placed  whether place matters
/// \errors data_corruption: its hosts cannot be read
Result<WrittenJob> read_written(const std::string& job, bool placed) {
  TROUPE_ASSIGN_OR_RETURN(const auto reading, parse_job(job, {}, {}));
  for (const auto& problem : reading.problems) {
    const auto& pointer = problem.pointer;
    if (pointer == "/cluster/hosts" || pointer == "/cluster/trainers_per_host" ||
        pointer == "/cluster/processes" ||
        (placed && (pointer.starts_with("/cluster/") || pointer.starts_with("/partition/")))) {
      return Error(Errc::data_corruption, "checkpoint: the job in it cannot be read: " +
                                              to_string(std::span(&problem, 1)));
    }
  }
  const auto complete = json_of_text(reading.job.json);
  WrittenJob old;
  old.world = reading.job.cluster.world();
  old.complete = complete.is_object() ? complete.flatten() : Json::object();
  if (placed) {
    old.near = parts_of_ranks(make_layout(reading.job));
  }
  return old;
}

std::string text_of(const Json& flat, const std::string& pointer) {
  return flat.contains(pointer) ? text_of_json(flat.at(pointer)) : "nothing";
}

/// Texts of JSON; 2 and 2.0 are one number.
bool same_value(const std::string& was, const std::string& is) {
  if (was == is) {
    return true;
  }
  const auto then = json_of_text(was);
  return then.is_number() && then == json_of_text(is);
}

/// An older program did what the default of a key says that came later.
std::string old_text_of(const Json& old_flat, const Json& complete, const std::string& pointer) {
  return text_of(old_flat.contains(pointer) ? old_flat : complete, pointer);
}

/// \returns the first rank that samples where other parts lie, or nothing
std::string other_parts(const std::vector<std::vector<PartId>>& was,
                        const std::vector<std::vector<PartId>>& is) {
  const auto text = [](const std::vector<PartId>& parts) {
    std::string list;
    for (const auto part : parts) {
      list += fmt::format("{}{}", list.empty() ? "" : ", ", raw(part));
    }
    return list.empty() ? std::string("none") : list;
  };
  for (std::size_t rank = 0; rank < std::min(was.size(), is.size()); ++rank) {
    if (was[rank] != is[rank]) {
      return fmt::format("parts where rank {} samples, whose nodes it prefers: were {}, are {}",
                         rank, text(was[rank]), text(is[rank]));
    }
  }
  return "";
}

}  // namespace

Status check_resumable(const std::string& written, const Job& job) {
  const auto then = json_of_text(written);
  const auto now = json_of_text(job.json);
  if (!then.is_object() || !now.is_object()) {
    return Error(Errc::data_corruption, "checkpoint: the job in it is no JSON object");
  }
  std::vector<std::string> differences;
  const bool placed = depends_on_place(job);
  TROUPE_ASSIGN_OR_RETURN(const auto old, read_written(written, placed));
  try {
    if (old.world != job.cluster.world()) {
      differences.push_back(
          fmt::format("number of ranks: was {}, is {}", old.world, job.cluster.world()));
    } else if (placed) {
      if (auto other = other_parts(old.near, parts_of_ranks(make_layout(job))); !other.empty()) {
        differences.push_back(std::move(other));
      }
    }
    const auto old_flat = then.flatten();
    const auto new_flat = now.flatten();
    std::set<std::string> pointers;
    for (const auto* flat : {&old_flat, &new_flat}) {
      for (const auto& entry : flat->items()) {
        pointers.insert(entry.key());
      }
    }
    for (const auto& pointer : pointers) {
      const auto was = old_text_of(old_flat, old.complete, pointer);
      const auto is = text_of(new_flat, pointer);
      const bool free = pointer == "/cluster/device"
                            ? computes_alike(was, is) || job.checkpoint.other_device
                            : may_differ(pointer, now, placed);
      if (!same_value(was, is) && !free && !means_nothing(pointer, was)) {
        differences.push_back(fmt::format("{}: was {}, is {}", pointer, was, is));
      }
    }
  } catch (const Json::exception& error) {
    return Error(Errc::data_corruption,
                 fmt::format("checkpoint: the job in it cannot be read: {}", error.what()));
  }
  if (differences.empty()) {
    return ok_status();
  }
  std::string shown;
  for (std::size_t i = 0; i < std::min(differences.size(), shown_differences); ++i) {
    shown += "\n  " + differences[i];
  }
  return Error(
      Errc::failed_precondition,
      fmt::format("checkpoint: written by a job that differs in {} value{}:{}\ntry: the same "
                  "job, or another output folder",
                  differences.size(), differences.size() == 1 ? "" : "s", shown));
}

Status check_epochs_left(const std::string& written, const Job& job, TrainedUntil until) {
  const auto then = json_of_text(written);
  const auto flat = then.is_object() ? then.flatten() : Json::object();
  const auto was = flat.value("/train/epochs", Json());
  const auto is = job.train.epochs;
  const bool lowered = was.is_number_unsigned() && was > Json(is);
  const bool beyond = until.epoch > is || (until.epoch == is && until.steps > 0);
  if (!lowered || !beyond) {
    return ok_status();
  }
  const auto enough = until.epoch + (until.steps > 0 ? 1U : 0U);
  return Error(Errc::failed_precondition,
               fmt::format("checkpoint: expected one of the first {} epochs, as /train/epochs "
                           "says, found one after {} steps of epoch {}\ntry: train.epochs {} or "
                           "more, or another output folder",
                           is, until.steps, until.epoch + 1, enough));
}

}  // namespace troupe
