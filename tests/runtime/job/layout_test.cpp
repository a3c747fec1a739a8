#include "runtime/job/layout.hpp"

#include "tests/support/expect.hpp"

#include <algorithm>

namespace troupe {
namespace {

Job laid_out(const std::string& launch, const std::string& placement) {
  Job job;
  job.cluster.launch = launch;
  job.cluster.placement = placement;
  job.cluster.hosts = 2;
  job.cluster.trainers_per_host = 2;
  job.cluster.samplers_per_trainer = 2;
  job.partition.parts = 3;
  return job;
}

std::vector<std::string> names(const Layout& layout, const std::vector<ProcessId>& ids) {
  std::vector<std::string> found;
  for (const auto id : ids) {
    found.push_back(layout.at(id).name);
  }
  return found;
}
using Names = std::vector<std::string>;
using Parts = std::vector<PartId>;

TEST(Layout, CollocatedIsOneProcessPerHost) {
  const auto layout = make_layout(laid_out("simulate", "collocated"));

  ASSERT_EQ(layout.processes.size(), 2U);
  EXPECT_EQ(layout.processes[0].serves, (Parts{PartId{0}, PartId{2}}));
  EXPECT_EQ(layout.processes[1].serves, (Parts{PartId{1}}));
  EXPECT_EQ(layout.processes[1].ranks, (std::vector<Rank>{Rank{2}, Rank{3}}));
  EXPECT_TRUE(layout.processes[0].directs);
  EXPECT_FALSE(layout.processes[1].directs);
  EXPECT_TRUE(layout.samplers_of(Rank{2}).empty());
  EXPECT_EQ(layout.process_of(Rank{2}), ProcessId{1});
}

TEST(Layout, WorkersAreSamplerProcessesThatReadTheirHostsParts) {
  const auto layout = make_layout(laid_out("simulate", "worker"));

  ASSERT_EQ(layout.processes.size(), 2U + 4U * 2U);
  EXPECT_EQ(names(layout, layout.samplers_of(Rank{3})),
            (Names{"sampler 0 of rank 3", "sampler 1 of rank 3"}));
  const auto& sampler = layout.at(layout.samplers_of(Rank{3}).back());
  EXPECT_EQ(sampler.host, HostId{1});
  EXPECT_EQ(sampler.maps, (Parts{PartId{1}}));
  EXPECT_TRUE(sampler.serves.empty());
  EXPECT_EQ(names(layout, layout.evaluators()), (Names{"host 0", "host 1"}));
}

TEST(Layout, ServersHoldThePartsAndClientsTheRanks) {
  auto job = laid_out("simulate", "server_client");
  job.cluster.servers = 3;
  const auto layout = make_layout(job);

  EXPECT_EQ(layout.hosts, 5U);
  EXPECT_EQ(names(layout, layout.evaluators()), (Names{"server 0", "server 1", "server 2"}));
  EXPECT_EQ(names(layout, layout.samplers_of(Rank{3})), (Names{"server 0"}));
  EXPECT_EQ(layout.at(layout.process_of(Rank{3})).name, "rank 3");
  EXPECT_EQ(layout.at(layout.process_of(Rank{3})).host, HostId{1});
  EXPECT_TRUE(layout.at(layout.process_of(Rank{3})).maps.empty());
  EXPECT_EQ(layout.at(layout.evaluators()[2]).host, HostId{4});
}

TEST(Layout, ServersOfRanksCanBeListed) {
  auto job = laid_out("simulate", "server_client");
  job.cluster.servers = 2;
  job.cluster.server_ranks = {1, 1, 1, 0};
  const auto layout = make_layout(job);

  EXPECT_EQ(names(layout, layout.samplers_of(Rank{0})), (Names{"server 1"}));
  EXPECT_EQ(names(layout, layout.samplers_of(Rank{3})), (Names{"server 0"}));
}

TEST(Layout, TheNearestServerIsOneAtTheSameAddress) {
  auto job = laid_out("ssh", "server_client");  // two ranks on each of two hosts
  job.cluster.servers = 3;
  job.cluster.nearest_server = true;
  for (const std::string address : {"a", "b", "b", "c", "b"}) {  // servers are the last three
    job.cluster.named.push_back({.address = address});
  }

  std::vector<std::uint32_t> servers;
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    servers.push_back(server_of_rank(job.cluster, rank));
  }

  EXPECT_EQ(servers, (std::vector<std::uint32_t>{0, 1, 0, 2}))
      << "there is none on a, and two on b which take turns";
}

TEST(Layout, ReplicasLieOnTheNextHostsAndTheFirstScores) {
  auto job = laid_out("simulate", "collocated");
  job.cluster.hosts = 4;
  job.cluster.replicas = 2;
  job.partition.parts = 4;
  const auto layout = make_layout(job);

  EXPECT_EQ(names(layout, layout.servers_of(PartId{3})), (Names{"host 3", "host 0"}));
  EXPECT_EQ(names(layout, layout.servers_of(PartId{0})), (Names{"host 0", "host 1"}));
}

TEST(Layout, MoreReplicasThanHostsAreAsManyAsHosts) {
  auto job = laid_out("simulate", "collocated");
  job.cluster.replicas = 5;

  EXPECT_EQ(make_layout(job).servers_of(PartId{2}).size(), 2U);
}

TEST(Layout, RealProcessesHaveADirectorAndAnAgentPerHost) {
  for (const std::string placement : {"collocated", "worker", "server_client"}) {
    const auto layout = make_layout(laid_out("local", placement));

    EXPECT_EQ(layout.director(), ProcessId{0}) << placement;
    EXPECT_FALSE(layout.processes[0].works()) << placement;
    for (std::uint32_t h = 0; h < layout.hosts; ++h) {
      const auto agent = layout.agent_of(static_cast<HostId>(h));
      ASSERT_TRUE(agent) << placement;
      EXPECT_TRUE(layout.at(*agent).agent && !layout.at(*agent).works()) << placement;
    }
  }
}

TEST(Layout, EveryRankAndPartIsSomewhereOnce) {
  for (const std::string placement : {"collocated", "worker", "server_client"}) {
    for (std::uint32_t hosts : {1U, 2U, 3U, 5U}) {
      auto job = laid_out("local", placement);
      job.cluster.hosts = hosts;
      const auto layout = make_layout(job);

      for (std::uint32_t p = 0; p < 3; ++p) {
        EXPECT_EQ(layout.servers_of(static_cast<PartId>(p)).size(), 1U);
      }
      for (std::uint32_t r = 0; r < job.cluster.world(); ++r) {
        EXPECT_EQ(std::ranges::count_if(layout.processes,
                                        [&](const ProcessPlan& process) {
                                          return std::ranges::count(process.ranks,
                                                                    static_cast<Rank>(r)) == 1;
                                        }),
                  1);
      }
    }
  }
}

}  // namespace
}  // namespace troupe
