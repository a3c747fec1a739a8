#include "runtime/job/seed_rules.hpp"

#include <fmt/format.h>

namespace troupe {

void check_seed_files(const Job& job, ProblemList& problems) {
  for (const auto& [role, files] : job.dataset.seeds) {
    if (files.ids.empty()) {
      problems.add({fmt::format("/dataset/seeds/times/{}", role),
                    fmt::format("dataset.seeds.{} beside it", role), "none", ""});
    }
  }
  if (job.dataset.seeds.empty() && !job.dataset.seeds_type.empty()) {
    problems.add(
        {"/dataset/seeds/type", "a file of seeds, such as dataset.seeds.train", "none", ""});
  }
  if (!job.dataset.seeds.empty() && job.cluster.launch == "ssh" && job.cluster.ssh.copy) {
    problems.add(
        {"/cluster/ssh/copy", "false with dataset.seeds", "true",
         "bringing them to hosts is not built yet; put the whole store and the files where "
         "the job names them on every host"});
  }
  const bool files = !job.eval.negative_files.empty() || !job.eval.candidate_files.empty();
  if ((files || job.task.embeds()) && job.cluster.launch == "ssh" && job.cluster.ssh.copy) {
    problems.add(
        {"/cluster/ssh/copy",
         files ? "false with files of links to evaluate" : "false with task.kind \"unsupervised\"",
         "true",
         "bringing them to hosts is not built yet; put the whole store and the files where "
         "the job names them on every host"});
  }
}

}  // namespace troupe
