#include "runtime/job/store_memory.hpp"

#include "runtime/job/job_file.hpp"
#include "runtime/partition/partitioner.hpp"
#include "tests/runtime/graph/store_fixture.hpp"
#include "tests/runtime/partition/partition_fixture.hpp"
#include "tests/support/expect.hpp"

#include <gtest/gtest.h>

namespace troupe {
namespace {

using namespace testing;

class StoreMemoryOfJob : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(write_graph_store(random_graph(40, 200, 2).contents, temp_ / "graph"));
    ASSERT_OK_AND_ASSIGN(const auto graph, GraphStore::open(temp_ / "graph", {}));
    ASSERT_OK(partition_store(graph, {.parts = 2}, temp_ / "parts"));
    auto store = PartitionedStore::open(temp_ / "parts", {});
    ASSERT_OK(store);
    store_ = *std::move(store);
    for (std::uint32_t part = 0; part < 2; ++part) {
      ASSERT_OK_AND_ASSIGN(const auto bytes, store_->part_bytes(static_cast<PartId>(part)));
      part_bytes_.push_back(bytes);
    }
    job_.cluster.launch = "ssh";
    job_.cluster.hosts = 2;
    job_.partition.parts = 2;
  }
  StoreMemory chosen(std::uint64_t free_bytes, HostId host = HostId{0}) {
    const auto memory = store_memory(job_, make_layout(job_), *store_, host, free_bytes);
    EXPECT_OK(memory);
    return *memory;
  }
  /// Copies are made from so many free bytes on, and not with one less.
  void expect_copied_from(std::uint64_t bytes, HostId host = HostId{0}) {
    EXPECT_EQ(chosen(bytes, host), StoreMemory::copied);
    EXPECT_EQ(chosen(bytes - 1, host), StoreMemory::mapped);
  }

  TempDir temp_;
  std::optional<PartitionedStore> store_;
  std::vector<std::uint64_t> part_bytes_;
  Job job_;
};

TEST_F(StoreMemoryOfJob, CopiesWhereHalfOfTheFreeMemoryHoldsTheHostsParts) {
  expect_copied_from(2 * part_bytes_[0], HostId{0});
  expect_copied_from(2 * part_bytes_[1], HostId{1});
  EXPECT_EQ(chosen(0), StoreMemory::mapped) << "not known";
}

TEST_F(StoreMemoryOfJob, CountsTheCopiesOfAllProcessesOfAHost) {
  job_.cluster.placement = "worker";
  job_.cluster.samplers_per_trainer = 3;
  std::uint64_t copies = 0;
  for (const auto& process : make_layout(job_).processes) {
    copies += process.host == HostId{0} ? process.maps.size() : 0;
  }
  ASSERT_GE(copies, 3U);
  expect_copied_from(2 * copies * part_bytes_[0]);
}

TEST_F(StoreMemoryOfJob, CountsAllHostsWhereTheyAreOneMachine) {
  for (const char* launch : {"simulate", "local"}) {
    job_.cluster.launch = launch;
    expect_copied_from(2 * (part_bytes_[0] + part_bytes_[1]));
  }
}

TEST_F(StoreMemoryOfJob, CountsListsOfOtherPartsWhereAllHostsHaveThem) {
  job_.partition.replicated_topology = true;
  expect_copied_from(2 * (part_bytes_[0] + part_bytes_[1]));
}

TEST_F(StoreMemoryOfJob, IsWhatTheJobSaysWhateverIsFree) {
  job_.dataset.memory = StoreMemory::copied;
  EXPECT_EQ(chosen(0), StoreMemory::copied);
  job_.dataset.memory = StoreMemory::mapped;
  EXPECT_EQ(chosen(~std::uint64_t{0}), StoreMemory::mapped);
}

TEST_F(StoreMemoryOfJob, BytesOfPartsAreThoseOfTheirFiles) {
  for (std::uint32_t part = 0; part < 2; ++part) {
    std::uint64_t bytes = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(
             temp_ / "parts" / ("part-" + std::to_string(part)))) {
      bytes += entry.is_regular_file() ? entry.file_size() : 0;
    }
    EXPECT_EQ(part_bytes_[part], bytes);
  }
}

/// Jobs that read a store, with the settings of a cache that needs the order of hotness.
class OrderOfJob : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(write_graph_store(random_graph(40, 200, 2).contents, temp_ / "graph"));
    ASSERT_OK_AND_ASSIGN(const auto graph, GraphStore::open(temp_ / "graph", {}));
    PartitionOptions options{.parts = 2, .order = NodeOrder::hotness};
    options.more.hotness = HotnessOptions{.fanout = {{2}}, .batch_size = 4};
    ASSERT_OK(partition_store(graph, options, temp_ / "hot"));
  }
  JobReading read_cached(const std::string& store, std::vector<std::string> more) {
    more.insert(more.end(), {"features.cache.policy=hotness", "features.cache.ratio=0.1"});
    auto reading = parse_job(R"({"dataset": {"path": ")" + store +
                                 R"("}, "sample": {"fanout": [2]}, "cluster": {"hosts": 2}})",
                             temp_.path(), more);
    EXPECT_OK(reading);
    return *std::move(reading);
  }

  TempDir temp_;
};

TEST_F(OrderOfJob, IsThatOfAPartitionedStore) {
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{}, {"partition.parts=2"}, {"partition.order=hotness"}}) {
    const auto reading = read_cached("hot", more);
    EXPECT_EQ(to_string(reading.problems), "");
    ASSERT_OK_AND_ASSIGN(const auto again, parse_job(reading.job.json, "elsewhere", {}));
    EXPECT_EQ(to_string(again.problems), "");
  }
}

TEST_F(OrderOfJob, IsThatOfDegreesWhereTheStoreIsStillToBePartitioned) {
  const std::string problem =
      "/partition/order: expected \"hotness\", as the cache's policy, found \"degree\"; or policy "
      "\"presample\", which takes any order\n";
  EXPECT_EQ(to_string(read_cached("graph", {}).problems), problem);
  EXPECT_EQ(to_string(read_cached("hot", {"partition.order=degree"}).problems), problem);
  EXPECT_EQ(to_string(read_cached("graph", {"partition.order=hotness"}).problems), "");
  EXPECT_EQ(to_string(read_cached("graph", {"cluster.hosts=1"}).problems), "")
      << "there is no cache with one part";
}

}  // namespace
}  // namespace troupe
