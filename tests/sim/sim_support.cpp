#include "tests/sim/sim_support.hpp"

#include "launcher/prepare_store.hpp"
#include "launcher/read_job.hpp"
#include "runtime/job/job_file.hpp"
#include "runtime/run/checkpoint.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/folded_cora.hpp"
#include "tests/support/scratch_folder.hpp"

#include <fmt/format.h>
#include <memory>
#include <utility>

namespace troupe::testing {

Result<Job> cora_job(const std::filesystem::path& output, std::vector<std::string> overrides) {
  const auto text = fmt::format(R"({{
    "dataset": {{ "path": "{}" }},
    "sample": {{ "fanout": [5, 5], "batch_size": 32 }},
    "features": {{ "normalize": "row" }},
    "model": {{ "kind": "graphsage", "layers": 2, "hidden": 16, "dropout": 0.5, "input_dropout": 0.5 }},
    "train": {{ "epochs": 2, "optimizer": {{ "kind": "adam", "lr": 0.01, "weight_decay": 5e-4 }} }},
    "seed": 1,
    "output": "{}"
  }})",
                                folded_cora().string(), output.string());
  TROUPE_ASSIGN_OR_RETURN(
      auto reading,
      parse_job(text, std::filesystem::path(TROUPE_SOURCE_DIR) / "examples", overrides));
  if (!reading.problems.empty()) {
    return Error(Errc::invalid_argument, to_string(reading.problems));
  }
  return std::move(reading.job);
}

Result<RunResult> run_whole(Job job, ClusterHooks hooks) {
  TROUPE_ASSIGN_OR_RETURN(const auto store, prepare_store(job, [](const std::string&) {}));
  if (!fit_to_graph_or_print(job, store.info())) {
    return Error(Errc::invalid_argument, "the job does not fit its data");
  }
  TROUPE_ASSIGN_OR_RETURN(const auto cluster,
                          SimulatedCluster::create(job, store, std::move(hooks)));
  return cluster->run();
}

Result<RunRecord> run_job(Job job, ClusterHooks hooks) {
  TROUPE_ASSIGN_OR_RETURN(auto ended, run_whole(std::move(job), std::move(hooks)));
  return std::move(ended.record);
}

RunSetup setup_with_checkpoints(const SimulatedCluster& cluster,
                                const std::filesystem::path& folder, bool resume) {
  CheckpointFolderOptions options;
  options.dir = folder;
  options.layout = cluster.layout();
  options.flush = Flush::no;
  const auto keeper = std::make_shared<CheckpointFolder>(std::move(options));
  RunSetup setup;
  setup.write_checkpoint = [keeper](const Checkpoint& kept) { return keeper->write(kept); };
  setup.newest_checkpoint = [keeper]() -> Result<std::shared_ptr<const Checkpoint>> {
    std::vector<SkippedCheckpoint> skipped;
    auto found = keeper->latest(skipped);
    if (!found && found.error().code() != Errc::not_found) {
      return std::move(found).error();
    }
    return found ? std::make_shared<const Checkpoint>(std::move(found->checkpoint)) : nullptr;
  };
  if (resume) {
    setup.resume = *setup.newest_checkpoint();
    EXPECT_NE(setup.resume, nullptr) << "no whole checkpoint in " << folder;
  }
  return setup;
}

Result<RunRecord> run_cora(const std::filesystem::path& output, std::vector<std::string> overrides,
                           ClusterHooks hooks) {
  TROUPE_ASSIGN_OR_RETURN(auto job, cora_job(output, std::move(overrides)));
  return run_job(std::move(job), std::move(hooks));
}

}  // namespace troupe::testing
