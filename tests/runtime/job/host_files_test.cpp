#include "runtime/job/host_files.hpp"

#include "runtime/graph/graph_json.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/scratch_folder.hpp"

#include <fstream>

namespace troupe {
namespace {

Job placed_job(const std::string& placement) {
  Job job;
  job.cluster.launch = "ssh";
  job.cluster.placement = placement;
  job.cluster.hosts = 2;
  job.partition.parts = 12;
  return job;
}

std::vector<std::string> files_of(const Job& job, std::uint32_t host) {
  GraphInfo graph;
  graph.files = {{"splits/default.train.npy", 10, "a"}};
  PartitionInfo partition;
  partition.parts = job.partition.parts;
  graph.files.push_back({"nodes-n/names.txt", 30, "c"});  // which no process of a host reads
  for (const char* path : {"part-0/nodes-n/features.npy", "part-1/nodes-n/features.npy",
                           "part-10/nodes-n/features.npy", "part-11/nodes-n/features.npy"}) {
    partition.files.push_back({path, 20, "b"});
  }
  std::vector<std::string> paths;
  for (const auto& file :
       store_files_of_host(make_layout(job), static_cast<HostId>(host), graph, partition,
                           {.lists = job.partition.replicated_topology})) {
    paths.push_back(file.path);
  }
  return paths;
}
using Paths = std::vector<std::string>;

TEST(HostFiles, AreItsPartsAndWhatEveryHostReads) {
  const auto job = placed_job("collocated");

  EXPECT_EQ(files_of(job, 0), (Paths{"splits/default.train.npy", "part-0/nodes-n/features.npy",
                                     "part-10/nodes-n/features.npy"}));
  EXPECT_EQ(files_of(job, 1), (Paths{"splits/default.train.npy", "part-1/nodes-n/features.npy",
                                     "part-11/nodes-n/features.npy"}));
}

TEST(HostFiles, OfAHostWithSamplerProcessesAreTheSame) {
  EXPECT_EQ(files_of(placed_job("worker"), 1), files_of(placed_job("collocated"), 1));
}

TEST(HostFiles, OfServersAreParts) {
  auto job = placed_job("server_client");
  job.cluster.servers = 1;

  EXPECT_EQ(files_of(job, 0), (Paths{"splits/default.train.npy"}));
  EXPECT_EQ(files_of(job, 2).size(), 5U);
}

TEST(HostFiles, ReplicasAreOnSeveralHosts) {
  auto job = placed_job("collocated");
  job.cluster.replicas = 2;

  EXPECT_EQ(files_of(job, 0).size(), 5U);
  EXPECT_EQ(files_of(job, 1).size(), 5U);
}

TEST(HostFiles, WithReplicatedTopologyAllListsAndNothingElseOfOtherParts) {
  const auto job = placed_job("collocated");
  PartitionInfo partition;
  partition.parts = 2;
  for (const char* path : {"part-0/nodes-n/features.npy", "part-0/nodes-n/original_ids.npy",
                           "part-0/nodes-n/halo_ids.npy", "part-0/nodes-n/directory.npy",
                           "part-0/edges-e/in/offsets.npy", "part-0/edges-e/in/neighbours.npy",
                           "part-0/edges-e/in/edge_ids.npy", "part-0/edges-e/in/features.npy",
                           "part-0/edges-e/in/halo_offsets.npy"}) {
    partition.files.push_back({path, 20, "b"});
  }
  const auto files = [&](bool all_lists) {
    Paths paths;
    for (const auto& file :
         store_files_of_host(make_layout(job), HostId{1}, {}, partition, {.lists = all_lists})) {
      paths.push_back(file.path);
    }
    return paths;
  };
  EXPECT_EQ(files(false), Paths{});
  EXPECT_EQ(files(true), (Paths{"part-0/nodes-n/original_ids.npy", "part-0/nodes-n/directory.npy",
                                "part-0/edges-e/in/offsets.npy", "part-0/edges-e/in/neighbours.npy",
                                "part-0/edges-e/in/edge_ids.npy"}));
}

TEST(HostFiles, WhereClassesAreCountedTheLabelsOfAllPartsAreOnEveryHost) {
  PartitionInfo partition;
  partition.parts = 2;
  for (const char* path :
       {"part-0/nodes-n/labels.npy", "part-0/nodes-n/targets.npy", "part-0/nodes-n/features.npy",
        "part-1/nodes-n/labels.npy", "part-1/nodes-n/features.npy"}) {
    partition.files.push_back({path, 20, "b"});
  }
  const auto job = placed_job("collocated");
  Paths paths;
  for (const auto& file :
       store_files_of_host(make_layout(job), HostId{1}, {}, partition, {.labels = true})) {
    paths.push_back(file.path);
  }
  EXPECT_EQ(paths, (Paths{"part-0/nodes-n/labels.npy", "part-1/nodes-n/labels.npy",
                          "part-1/nodes-n/features.npy"}));
}

TEST(HostFiles, FeaturesThatCameLaterAreThereWithTheirManifests) {
  const testing::ScratchFolder scratch;
  const auto write = [&](const std::string& path, const std::string& text) {
    std::filesystem::create_directories((scratch.path() / path).parent_path());
    std::ofstream(scratch.path() / path) << text;
  };
  NodeTypeInfo node;
  node.name = "n";
  node.count = 4;
  node.features = FeatureInfo{DType::u8, 1, 1.0F};
  GraphInfo graph;
  graph.node_types = {node};
  PartitionInfo partition;
  partition.parts = 4;
  partition.ranges.first_node = {{0, 1, 2, 3, 4}};
  partition.features_later = true;
  write("graph.json", graph_to_json(graph));
  write("partition.json", partition_to_json(partition, graph));
  for (const std::string part : {"part-0/", "part-3/"}) {
    write(part + "features.json",
          features_to_json({{part + "nodes-n/features.npy", 20, std::string(32, 'b')}}));
  }
  auto job = placed_job("collocated");
  job.partition.parts = 4;
  ASSERT_OK_AND_ASSIGN(const auto store, PartitionedStore::open(scratch.path(), {}));

  const auto added = [&](std::uint32_t host) {
    Paths paths;
    const auto files = added_files_of_host(make_layout(job), static_cast<HostId>(host), store);
    EXPECT_OK(files);
    for (const auto& file : *files) {
      paths.push_back(file.path);
    }
    return paths;
  };
  EXPECT_EQ(added(0), (Paths{"part-0/nodes-n/features.npy", "part-0/features.json"}));
  EXPECT_EQ(added(1), (Paths{"part-3/nodes-n/features.npy", "part-3/features.json"}));
  write("part-2/features.json", "torn");
  EXPECT_ERROR(added_files_of_host(make_layout(job), HostId{0}, store), Errc::data_corruption,
               "part-2/features.json");
}

TEST(HostFiles, PartsAreEachNamedOnce) {
  auto job = placed_job("worker");
  job.partition.parts = 4;

  EXPECT_EQ(parts_of_host(make_layout(job), HostId{1}),
            (std::vector<PartId>{PartId{1}, PartId{3}}));
}

}  // namespace
}  // namespace troupe
