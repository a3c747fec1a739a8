#include "runtime/job/partition_conflicts.hpp"

#include "runtime/job/job_file.hpp"
#include "tests/support/expect.hpp"

namespace troupe {
namespace {

PartitionInfo store_of_metis() {
  PartitionInfo store;
  store.method = "metis";
  store.parts = 4;
  store.options = {{"balance", "edges"}, {"imbalance", "1.03"}, {"objective", "cut"},
                   {"recursive", "no"},  {"seed", "7"},         {"tries", "1"}};
  return store;
}

/// Keys of the section that conflict with the store.
std::vector<std::string> conflicting(const std::string& section) {
  const auto reading = parse_job(
      R"({"dataset": {"path": "d"}, "sample": {"fanout": [3, 2]}, "partition": )" + section + "}",
      "base", {});
  EXPECT_OK(reading);
  EXPECT_EQ(to_string(reading->problems), "");
  std::vector<std::string> keys;
  for (const auto& conflict : partition_conflicts(reading->job.partition, store_of_metis())) {
    keys.push_back(conflict.key);
  }
  return keys;
}

using Keys = std::vector<std::string>;

TEST(PartitionConflicts, KeysThatAreNotWrittenDoNotConflict) {
  EXPECT_EQ(conflicting("{}"), Keys());
  EXPECT_EQ(conflicting(R"({"method": "metis", "seed": 7})"), Keys());
}

TEST(PartitionConflicts, EachKeyThatDiffersIsNamed) {
  EXPECT_EQ(conflicting(R"({"method": "ldg", "parts": 3})"), (Keys{"method", "parts"}));
  EXPECT_EQ(conflicting(R"({"order": "original", "halo": 1, "halo_features": true})"),
            (Keys{"order", "halo", "halo_features"}));
  EXPECT_EQ(conflicting(R"({"seed": 8, "balance": ["train"], "imbalance": 1.1,
                            "objective": "volume", "recursive": false, "tries": 4})"),
            (Keys{"balance", "imbalance", "objective", "seed", "tries"}));
}

TEST(PartitionConflicts, AKeyThatTheMethodDoesNotUseDoesNotConflict) {
  EXPECT_EQ(conflicting(R"({"passes": 9})"), Keys());
}

TEST(PartitionConflicts, BothValuesAreGiven) {
  PartitionJob job;
  job.parts = 3;
  job.given_keys = {"parts"};

  const auto conflicts = partition_conflicts(job, store_of_metis());

  ASSERT_EQ(conflicts.size(), 1U);
  EXPECT_EQ(conflicts[0].job, "3");
  EXPECT_EQ(conflicts[0].store, "4");
}

}  // namespace
}  // namespace troupe
