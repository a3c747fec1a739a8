// Slurm's nodes, the command lines for them, and the batch script; without Slurm.
#include "launcher/processes/slurm_allocation.hpp"
#include "launcher/processes/tool_output.hpp"
#include "launcher/submit_script.hpp"
#include "runtime/job/job_file.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/scratch_folder.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace troupe {
namespace {

using Words = std::vector<std::string>;

Job slurm_job(const Words& settings = {}) {
  Words all = {"cluster.launch=slurm"};
  all.insert(all.end(), settings.begin(), settings.end());
  auto reading =
      parse_job(R"({"dataset": {"path": "d"}, "sample": {"fanout": [3, 2]}})", "base", all);
  EXPECT_OK(reading);
  EXPECT_EQ(to_string(reading->problems), "");
  return reading->job;
}

SlurmAllocation two_nodes() {
  return {.job = "7", .nodes = {{"n1", "127.0.0.1"}, {"n2", "127.0.0.1"}}, .own = "n1"};
}

TEST(SlurmNodes, HaveTheAddressesThatSlurmKnows) {
  const auto nodes =
      parse_slurm_nodes("n2\nn10\nn3\n",
                        "NodeName=n10 Arch=x86_64 NodeAddr=10.0.0.10 NodeHostName=a\n"
                        "NodeName=n2 NodeAddr=10.0.0.2 State=IDLE\n");

  EXPECT_EQ(nodes,
            (std::vector<SlurmNode>{{"n2", "10.0.0.2"}, {"n10", "10.0.0.10"}, {"n3", "n3"}}));
}

TEST(SlurmAllocation, OutsideOneTheWaysIntoOneAreNamed) {
  unsetenv("SLURM_JOB_ID");

  EXPECT_ERROR(find_slurm_allocation(), Errc::failed_precondition,
               "try: troupe submit JOB, or salloc");
}

TEST(SlurmAllocation, GivesTheHostsTheirNamesAndTheDirectorAnAddress) {
  auto job = slurm_job({"cluster.hosts=2"});

  ASSERT_OK(use_slurm_allocation(two_nodes(), job));

  ASSERT_EQ(job.cluster.named.size(), 2U);
  EXPECT_EQ(job.cluster.named[0].address, "n1");
  EXPECT_EQ(job.cluster.named[1].address, "n2");
  EXPECT_EQ(job.cluster.listen, "127.0.0.1:0");
  EXPECT_EQ(job.cluster.world(), 2U);
}

TEST(SlurmAllocation, AnAddressThatTheJobNamesIsKept) {
  auto job = slurm_job({"cluster.hosts=2", "cluster.listen=10.0.0.1:7000"});

  ASSERT_OK(use_slurm_allocation(two_nodes(), job));

  EXPECT_EQ(job.cluster.listen, "10.0.0.1:7000");
}

TEST(SlurmAllocation, NodesThatAreNotNeededAreLeftAlone) {
  auto job = slurm_job({"cluster.hosts=1"});

  ASSERT_OK(use_slurm_allocation(two_nodes(), job));

  EXPECT_EQ(job.cluster.named.size(), 1U);
}

TEST(SlurmAllocation, WithFewerNodesThanHostsIsRefused) {
  auto job = slurm_job({"cluster.hosts=3"});

  EXPECT_ERROR(use_slurm_allocation(two_nodes(), job), Errc::failed_precondition,
               "expected at most 2, the nodes of Slurm's job 7, found 3 hosts; try: salloc "
               "--nodes=3");
}

TEST(SrunCommand, RunsOneTaskOnTheNodeBesideOthers) {
  const auto words = srun_command({}, "n2", {"troupe", "agent", "--name", "agent of host 1"});

  const auto srun = std::ranges::find(words, "srun");
  EXPECT_EQ(Words(srun, words.end()),
            (Words{"srun", "--nodes=1", "--ntasks=1", "--nodelist=n2", "--overlap",
                   "--cpu-bind=none", "--mpi=none", "--job-name=troupe-agent", "troupe", "agent",
                   "--name", "agent of host 1"}));
}

TEST(SrunCommand, TakesNothingPerTaskFromTheAllocation) {
  const auto words = srun_command({}, "n2", {"troupe"});

  EXPECT_EQ(words.front(), "env");
  const auto found = std::ranges::find(words, "SLURM_CPUS_PER_TASK");
  ASSERT_NE(found, words.end());
  EXPECT_EQ(*(found - 1), "-u");
}

TEST(SrunCommand, NamesTheContainerAndThenWhatTheUserAdds) {
  SlurmJob slurm;
  slurm.container_image = "troupe.sqsh";
  slurm.container_mounts = "/data:/data:ro,/scratch:/scratch";
  slurm.srun_arguments = {"--container-workdir=/scratch"};

  const auto words = srun_command(slurm, "n1", {"troupe"});

  EXPECT_EQ(
      Words(words.end() - 4, words.end()),
      (Words{"--container-image=troupe.sqsh", "--container-mounts=/data:/data:ro,/scratch:/scratch",
             "--container-workdir=/scratch", "troupe"}));
}

SubmitScript some_script() {
  return {.program = "/opt/troupe",
          .folder = "/home/me/w",
          .job_file = "jobs/cora.json",
          .overrides = {},
          .resume = false,
          .own_program = {}};
}

TEST(SubmitScript, IsTheRunInTheSubmittersFolder) {
  const auto job = slurm_job({"cluster.hosts=2", "cluster.trainers_per_host=4", "output=runs/a",
                              "cluster.slurm.account=gnn", "cluster.slurm.partition=gpu",
                              "cluster.slurm.time=1-0", "cluster.slurm.cpus_per_task=8"});

  EXPECT_EQ(submit_script(some_script(), job), R"sh(#!/bin/bash
#SBATCH --job-name=cora
#SBATCH --account=gnn
#SBATCH --partition=gpu
#SBATCH --time=1-0
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --cpus-per-task=8
#SBATCH --chdir=/home/me/w
#SBATCH --output=/home/me/w/runs/a/slurm-%j.out
#SBATCH --open-mode=append
#SBATCH --signal=B:TERM@60
resume=()
if [ "${SLURM_RESTART_COUNT:-0}" -gt 0 ] && [ -n "$(find runs/a/checkpoints -path '*/step-*/manifest.json' -newer runs/a/submit.sbatch 2> /dev/null)" ]; then
  resume=(--resume)  # Slurm restarts the job, which has made checkpoints
fi
exec /opt/troupe run jobs/cora.json "${resume[@]}"
)sh");
}

TEST(SubmitScript, QuotesWhatASheetOrAShellWouldTakeApart) {
  auto script = some_script();
  script.overrides = {"output=my runs", "train.epochs=3"};
  script.own_program = {"./my trainer", "it's", "$HOME"};
  const auto job = slurm_job(
      {"output=my runs/100%", R"(cluster.slurm.extra_arguments=["--comment=a \"b\" # c"])"});

  const auto text = submit_script(script, job);

  EXPECT_NE(text.find(R"(#SBATCH "--comment=a \"b\" # c")"), std::string::npos) << text;
  EXPECT_NE(text.find(R"(#SBATCH "--output=/home/me/w/my runs/100%%/slurm-%j.out")"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("$(find 'my runs/100%/checkpoints' -path"), std::string::npos) << text;
  EXPECT_NE(text.find(R"(--set 'output=my runs' --set train.epochs=3 "${resume[@]}" -- )"
                      R"('./my trainer' 'it'\''s' '$HOME')"),
            std::string::npos)
      << text;
}

TEST(SubmitScript, WhatTheUserAddsComesLastSoThatItHolds) {
  const auto job = slurm_job({R"(cluster.slurm.extra_arguments=["--signal=B:TERM@300"])"});

  const auto text = submit_script(some_script(), job);

  EXPECT_GT(text.find("--signal=B:TERM@300"), text.find("--signal=B:TERM@60"));
}

TEST(SubmitScript, OverwritesAtTheFirstStartOnly) {
  auto script = some_script();
  script.overwrite = true;

  const auto text = submit_script(script, slurm_job());

  EXPECT_NE(text.find("resume=(--overwrite)\nif "), std::string::npos) << text;
  EXPECT_NE(text.find("  resume=(--resume)"), std::string::npos) << text;
}

TEST(SubmitScript, ResumesItsOwnCheckpointsAndNotThoseThatItReplaces) {
  namespace fs = std::filesystem;
  const testing::ScratchFolder folder;
  auto script = some_script();
  script.program = "/bin/echo";
  script.overwrite = true;
  const auto job = slurm_job({"output=" + folder.path().string()});
  const auto file = folder.path() / "submit.sbatch";
  std::ofstream(file) << submit_script(script, job);
  const auto manifest = folder.path() / "checkpoints" / "step-3" / "manifest.json";
  fs::create_directories(manifest.parent_path());
  std::ofstream(manifest) << "{}";
  const auto submitted = fs::last_write_time(file);
  const auto printed = [&](const std::string& restarts) {
    const auto out = tool_output({"env", "SLURM_RESTART_COUNT=" + restarts, "bash", file.string()});
    return out ? *out : out.error().what();
  };

  fs::last_write_time(manifest, submitted - std::chrono::seconds(10));
  EXPECT_EQ(printed("1"), "run jobs/cora.json --overwrite\n");
  fs::last_write_time(manifest, submitted + std::chrono::seconds(10));
  EXPECT_EQ(printed("1"), "run jobs/cora.json --resume\n");
  EXPECT_EQ(printed("0"), "run jobs/cora.json --overwrite\n");
}

TEST(SubmitScript, ResumesAtOnceIfAskedTo) {
  auto script = some_script();
  script.resume = true;

  const auto text = submit_script(script, slurm_job());

  EXPECT_NE(text.find("exec /opt/troupe run jobs/cora.json --set output=runs/job --resume\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("SLURM_RESTART_COUNT"), std::string::npos) << text;
}

}  // namespace
}  // namespace troupe
