#include "runtime/job/walk_positives.hpp"

#include "runtime/base/saturating.hpp"
#include "runtime/job/fanout.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <string>

namespace troupe {

std::uint32_t default_window(const TaskJob& task) {
  return task.from_walks ? 5 : 0;
}

std::uint64_t most_pairs_of_walk(const WalkJob& walk) {
  // A walk that returns to its seed before each step has the seed again as often.
  const std::uint64_t places =
      walk.restart > 0 ? 2 * std::uint64_t{walk.length} + 1 : walk.length + std::uint64_t{1};
  return places * 2 * std::min(walk.window, walk.length);
}

void check_walk_positives(const Job& job, ProblemList& problems) {
  const auto& task = job.task;
  const auto refuse = [&](const char* key, const char* expected, const std::string& found) {
    if (!problems.has(key)) {
      problems.add({key, fmt::format("{} with task.positives \"walks\"", expected), found, ""});
    }
  };
  if (!task.from_walks) {
    return;
  }
  if (!task.embeds()) {
    problems.add({"/task/positives", fmt::format("\"edges\" with task.kind \"{}\"", task.kind),
                  "\"walks\"", "set task.kind to \"unsupervised\""});
    return;
  }
  if (!task.edges.empty()) {
    refuse("/task/edges", "\"\"", fmt::format("\"{}\", task.walk.along names types", task.edges));
  }
  if (task.walk.window == 0) {
    refuse("/task/walk/window", "1 or more", "0");
  }
  if (job.sample.choice != "uniform" && job.sample.choice != "weighted") {
    refuse("/sample/choice", "\"uniform\" or \"weighted\"",
           fmt::format("\"{}\", which is not built yet for it", job.sample.choice));
  }
  if (job.sample.time.given()) {
    refuse(job.sample.time.key(), "none", "times, which are not built yet for it");
  }
  const auto walks = times(job.sample.batch_size, task.walk.per_seed);
  const auto ends = times(times(walks, most_pairs_of_walk(task.walk)), 2 + task.negatives.drawn());
  if (ends >> 31 != 0) {
    refuse("/sample/batch_size", "fewer than 2^31 ends of pairs and drawn ones in a batch",
           fmt::format("{} walks of {} steps", walks, task.walk.length));
  }
}

Result<EdgeTypeId> walked_type(const Job& job, const GraphInfo& graph) {
  const auto& along = job.task.walk.along;
  const auto& types = graph.edge_types;
  if (along.empty() && types.size() == 1) {
    return EdgeTypeId{0};
  }
  const std::string name = along.empty() ? "" : along.front();
  const auto found = std::ranges::find(types, name, &EdgeTypeInfo::name);
  if (found == types.end()) {
    return Error(Errc::invalid_argument,
                 fmt::format("/task/walk/along: expected some of the graph's {} edge types ({}), "
                             "found \"{}\"",
                             types.size(), quoted_list(edge_type_names(graph)), name));
  }
  return static_cast<EdgeTypeId>(found - types.begin());
}

NodeTypeId type_of_pairs(const Job& job, const GraphInfo& graph, EdgeTypeId first_step) {
  return graph.edge_types[raw(first_step)].list_type(job.sample.edge_dir);
}

}  // namespace troupe
