#include "launcher/prepare_store.hpp"

#include "runtime/base/staged_directory.hpp"
#include "runtime/job/job_file.hpp"
#include "tests/runtime/graph/store_fixture.hpp"
#include "tests/support/expect.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <string>
#include <vector>

namespace troupe {
namespace {

using namespace testing;
namespace fs = std::filesystem;

/// A job whose data are four nodes in a folder of NumPy files.
class PrepareStore : public ::testing::Test {
 protected:
  void SetUp() override {
    save_npy<std::int32_t>(data_ / "edge_index.npy", {2, 3}, {0, 1, 2, 1, 2, 3});
  }
  Result<PartitionedStore> prepare() {
    const auto text = fmt::format(R"({{"dataset": {{"path": "{}"}}, "sample": {{"fanout": [2]}},
                                       "output": "{}"}})",
                                  data_.string(), (temp_ / "out").string());
    TROUPE_ASSIGN_OR_RETURN(const auto reading, parse_job(text, "base", {}));
    EXPECT_TRUE(reading.problems.empty()) << to_string(reading.problems);
    return prepare_store(reading.job, [this](const std::string& line) { said_.push_back(line); });
  }

  TempDir temp_;
  fs::path data_ = temp_ / "data";
  fs::path stores_ = temp_ / "out" / "store";
  std::vector<std::string> said_;
};

TEST_F(PrepareStore, WhatKilledRunsLeftOfStoresOfOtherDataIsRemoved) {
  fs::create_directories(stores_ / "graph-0123456789abcdef.tmp-a1B2c3" / "nodes-node");
  fs::create_directories(stores_ / "parts-0123456789abcdef.tmp-a1B2c3" / "part-0");
  fs::create_directories(stores_ / "notes.tmp-a1B2c3");
  ASSERT_OK_AND_ASSIGN(const auto held, StagedDirectory::create(stores_ / "graph-0"));

  ASSERT_OK(prepare());

  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(stores_)) {
    names.push_back(entry.path().filename().string());
  }
  EXPECT_EQ(names.size(), 4U) << "graph, parts, the held one and somebody's own";
  EXPECT_TRUE(fs::exists(held.path()));
  EXPECT_TRUE(fs::exists(stores_ / "notes.tmp-a1B2c3"));
}

TEST_F(PrepareStore, AnImportsNotesAreSaid) {
  save_npy<std::int64_t>(data_ / "y.npy", {4}, {0, 1, 1'000'000, 1});
  ASSERT_OK(prepare());
  EXPECT_EQ(std::ranges::count_if(said_,
                                  [](const std::string& line) {
                                    return line.starts_with("note: node type node has 1000001 ");
                                  }),
            1);
}

}  // namespace
}  // namespace troupe
