// cluster.slurm, and how many hosts a job of Slurm has.
#include "runtime/job/job_file.hpp"
#include "tests/support/expect.hpp"

namespace troupe {
namespace {

using Words = std::vector<std::string>;

JobReading slurm_job(const Words& settings) {
  Words all = {"cluster.launch=slurm"};
  all.insert(all.end(), settings.begin(), settings.end());
  auto reading =
      parse_job(R"({"dataset": {"path": "d"}, "sample": {"fanout": [3, 2]}})", "base", all);
  EXPECT_OK(reading);
  return reading.ok() ? *std::move(reading) : JobReading{};
}

std::string slurm_problems(const Words& settings) {
  return to_string(slurm_job(settings).problems);
}

TEST(SlurmJob, AsksForANodePerHostAndATaskPerRank) {
  const auto read = slurm_job({"cluster.hosts=3", "cluster.trainers_per_host=4"});

  EXPECT_EQ(to_string(read.problems), "");
  EXPECT_EQ(read.job.cluster.slurm.nodes, 3U);
  EXPECT_EQ(read.job.cluster.slurm.tasks_per_node, 4U);
  EXPECT_TRUE(read.job.cluster.hosts_given);
}

TEST(SlurmJob, AsksForTheServersNodesToo) {
  const auto read =
      slurm_job({"cluster.placement=server_client", "cluster.hosts=3", "cluster.servers=2"});

  EXPECT_EQ(to_string(read.problems), "");
  EXPECT_EQ(read.job.cluster.slurm.nodes, 5U);
}

TEST(SlurmJob, HasAsManyHostsAsNodesWhereNothingElseIsSaid) {
  const auto read = slurm_job({"cluster.slurm.nodes=3"});

  EXPECT_EQ(to_string(read.problems), "");
  EXPECT_EQ(read.job.cluster.hosts, 3U);
  EXPECT_EQ(read.job.partition.parts, 3U);
  EXPECT_TRUE(read.job.cluster.hosts_given);
}

TEST(SlurmJob, NodesAreDividedAmongTrainersAndServers) {
  const auto given =
      slurm_job({"cluster.slurm.nodes=5", "cluster.placement=server_client", "cluster.servers=1"});
  const auto half = slurm_job({"cluster.slurm.nodes=5", "cluster.placement=server_client"});

  EXPECT_EQ(to_string(given.problems) + to_string(half.problems), "");
  EXPECT_EQ(given.job.cluster.hosts, 4U);
  EXPECT_EQ(given.job.cluster.servers, 1U);
  EXPECT_EQ(half.job.cluster.hosts, 3U);
  EXPECT_EQ(half.job.cluster.servers, 2U);
}

TEST(SlurmJob, WithoutEitherTheAllocationIsLeftToSay) {
  EXPECT_FALSE(slurm_job({}).job.cluster.hosts_given);
}

TEST(SlurmJob, RefusesNodesAndHostsThatDiffer) {
  EXPECT_EQ(
      slurm_problems({"cluster.hosts=2", "cluster.slurm.nodes=3"}),
      "/cluster/slurm/nodes: expected 2, the number of hosts and servers, found 3; one of the "
      "two will do\n");
}

TEST(SlurmJob, NodesThatCannotBeDividedAreRefusedByTheirOwnKey) {
  const std::string servers = "cluster.placement=server_client";
  EXPECT_EQ(slurm_problems({servers, "cluster.slurm.nodes=1"}),
            "/cluster/slurm/nodes: expected at least 2: 1 with servers, others with ranks, found "
            "1\n");
  EXPECT_EQ(slurm_problems({servers, "cluster.servers=3", "cluster.slurm.nodes=3"}),
            "/cluster/slurm/nodes: expected at least 4: 3 with servers, others with ranks, found "
            "3\n");
  for (const auto& more : {Words{}, Words{servers}}) {
    auto settings = more;
    settings.emplace_back("cluster.slurm.nodes=1500");
    EXPECT_EQ(slurm_problems(settings),
              "/cluster/slurm/nodes: expected integer, 1..1024, found 1500\n");
  }
}

TEST(SlurmJob, RefusesAListOfHosts) {
  EXPECT_EQ(slurm_problems({R"(cluster.hosts=["n1","n2"])"}),
            "/cluster/hosts: expected a number with launch \"slurm\", found a list; the allocation "
            "names the hosts\n");
}

TEST(SlurmJob, RefusesMountsWithoutAnImage) {
  EXPECT_EQ(slurm_problems({"cluster.slurm.container_mounts=/data:/data"}),
            "/cluster/slurm/container_mounts: expected a container_image with it, found none\n");
}

TEST(SlurmJob, NoWordCanBringALineOfItsOwnIntoAScript) {
  for (const char* setting :
       {"cluster.slurm.extra_arguments=[\"--x\\nrm -rf /\"]", "cluster.slurm.account=\"a\\nb\"",
        "cluster.slurm.time=\"1\\u0000\""}) {
    EXPECT_NE(slurm_problems({setting}), "") << setting;
  }
}

}  // namespace
}  // namespace troupe
