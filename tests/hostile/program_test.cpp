// Bad folders, stores and job files through the program: exit code 2 or 3 and a sentence that names
// the file, never a signal, never a store left behind.
#include "tests/hostile/mutations.hpp"
#include "tests/runtime/graph/store_fixture.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/process.hpp"

namespace troupe {
namespace {

using testing::save_npy;
using testing::TempDir;
using Ids = std::vector<std::int64_t>;

/// A good folder: 6 nodes on a ring with features, labels and seeds.
void write_folder(const std::filesystem::path& dir) {
  save_npy<std::int64_t>(dir / "edge_index.npy", {2, 6}, {1, 2, 3, 4, 5, 0, 0, 1, 2, 3, 4, 5});
  save_npy<float>(dir / "x.npy", {6, 2}, std::vector<float>(12, 0.5F));
  save_npy<std::int64_t>(dir / "y.npy", {6}, {0, 1, 0, 1, 0, 1});
  save_npy<std::int64_t>(dir / "train_idx.npy", {3}, {0, 2, 4});
  save_npy<std::int64_t>(dir / "val_idx.npy", {1}, {1});
  save_npy<std::int64_t>(dir / "test_idx.npy", {1}, {3});
}

/// The same graph as lists of in-neighbours.
void write_lists(const std::filesystem::path& dir, const Ids& indptr, const Ids& indices) {
  std::filesystem::remove(dir / "edge_index.npy");
  save_npy(dir / "indptr.npy", {indptr.size()}, indptr);
  save_npy(dir / "indices.npy", {indices.size()}, indices);
}

class HostileProgram : public ::testing::Test {
 protected:
  HostileProgram() { write_folder(in()); }
  std::filesystem::path in() const { return dir_ / "in"; }
  std::string path(const std::string& name) const { return (dir_ / name).string(); }

  testing::ProcessResult troupe(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), TROUPE_PROGRAM);
    return testing::run_process(arguments, dir_.path().string());
  }
  testing::ProcessResult import() const { return troupe({"import", path("in"), path("store")}); }

  /// The import ends with this exit code, a sentence that has all texts, and without a store.
  void expect_refused(int exit_code, const std::vector<std::string>& texts) const {
    const auto result = import();
    EXPECT_EQ(result.exit_code, exit_code) << result.err;
    for (const auto& text : texts) {
      EXPECT_NE(result.err.find(text), std::string::npos) << text << " is not in: " << result.err;
    }
    EXPECT_FALSE(std::filesystem::exists(path("store")));
  }

  std::string job(const std::string& sample, const std::string& dataset) const {
    const auto file = path("job.json");
    testing::write_all(file, R"({"dataset": {"path": ")" + dataset + R"("}, "sample": )" + sample +
                                 R"(, "train": {"epochs": 1}, "output": ")" + path("out") + "\"}");
    return file;
  }

  TempDir dir_;
};

TEST_F(HostileProgram, TheGoodFolderIsImported) {
  const auto result = import();
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

TEST_F(HostileProgram, SeedsOutOfRangeAreRefusedWithFileAndRow) {
  for (const std::int64_t seed : {std::int64_t{6}, std::int64_t{11}, std::int64_t{1} << 32,
                                  std::int64_t{1'000'000'000'000}}) {
    save_npy<std::int64_t>(in() / "train_idx.npy", {3}, {0, 2, seed});
    expect_refused(3, {"train_idx.npy", "row 2", "below 6", std::to_string(seed)});
  }
}

TEST_F(HostileProgram, NegativeSeedsAreRefusedWithFileAndRow) {
  save_npy<std::int64_t>(in() / "val_idx.npy", {2}, {1, -2});
  expect_refused(3, {"val_idx.npy", "row 1", "-2"});
}

TEST_F(HostileProgram, NeighboursOutOfRangeAreRefused) {
  for (const std::int64_t id :
       {std::int64_t{6}, std::int64_t{1'000'000'000'000}, std::int64_t{-1}}) {
    write_lists(in(), {0, 1, 2, 3, 4, 5, 6}, {1, 2, 3, 4, 5, id});
    expect_refused(3, {"indices.npy", "row 5", std::to_string(id)});
  }
  std::filesystem::remove(in() / "indptr.npy");
  save_npy<std::int64_t>(in() / "edge_index.npy", {2, 2}, {1, 2, 0, 77});
  expect_refused(3, {"edge_index.npy", "77"});
}

TEST_F(HostileProgram, RowPointersThatFallAreRefused) {
  write_lists(in(), {0, 1, 5, 3, 4, 5, 6}, {1, 2, 3, 4, 5, 0});
  expect_refused(3, {"indptr.npy", "row 3", "expected at least 5"});
}

TEST_F(HostileProgram, SeedsThatAreNoIntegersAreRefused) {
  save_npy<float>(in() / "train_idx.npy", {2}, {1.0F, 2.5F});
  expect_refused(3, {"train_idx.npy", "expected integers", "<f4"});
}

TEST_F(HostileProgram, NarrowIdsGiveTheSameStore) {
  ASSERT_EQ(import().exit_code, 0);
  save_npy<std::int32_t>(in() / "edge_index.npy", {2, 6}, {1, 2, 3, 4, 5, 0, 0, 1, 2, 3, 4, 5});
  save_npy<std::int32_t>(in() / "train_idx.npy", {3}, {0, 2, 4});
  ASSERT_EQ(troupe({"import", path("in"), path("narrow")}).exit_code, 0);
  for (const auto& name : testing::files_below(dir_ / "store")) {
    EXPECT_EQ(testing::file_text(dir_ / "store" / name), testing::file_text(dir_ / "narrow" / name))
        << name;
  }
}

TEST_F(HostileProgram, FanoutsThatDoNotFitAreRefusedByTheirPointer) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"({"fanout": []})", "/sample/fanout"},
      {R"({"fanout": [-5, 5]})", "/sample/fanout"},
      {R"({"fanout": [2.5]})", "/sample/fanout"},
      {R"({"fanout": 5})", "/sample/fanout"},
      {R"({"fanout": [1e30]})", "/sample/fanout"},
      {R"({"fanout": ["5"]})", "/sample/fanout"},
      {R"({"fanout": [5], "batch_size": -1})", "/sample/batch_size"},
      {R"({"fanout": [5], "batch_size": 0})", "/sample/batch_size"}};
  for (const auto& [sample, pointer] : cases) {
    const auto run = troupe({"run", job(sample, path("in"))});
    EXPECT_EQ(run.exit_code, 2) << sample;
    EXPECT_NE(run.err.find(pointer), std::string::npos) << sample << ": " << run.err;
  }
}

TEST_F(HostileProgram, AStoreThatIsNotCompleteForTheDirectionIsRefused) {
  ASSERT_EQ(import().exit_code, 0);
  ASSERT_EQ(
      troupe({"partition", path("store"), path("parts"), "--parts", "2", "--complete-for", "out"})
          .exit_code,
      0);
  const auto run = troupe({"run", job(R"({"fanout": [2], "edge_dir": "in"})", path("parts"))});
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_NE(run.err.find("/sample/edge_dir"), std::string::npos) << run.err;
  EXPECT_NE(run.err.find("complete for \"out\""), std::string::npos) << run.err;
}

TEST_F(HostileProgram, TheCutOfAPartitionIsPrinted) {
  ASSERT_EQ(import().exit_code, 0);
  const auto cut = troupe({"partition", path("store"), path("parts"), "--parts", "6"});
  EXPECT_EQ(cut.exit_code, 0) << cut.err;
  EXPECT_NE(cut.out.find("6 of 6 edges cut (100.00 %)"), std::string::npos) << cut.out;
}

TEST_F(HostileProgram, TheSameJobTwiceGivesTheSameBatches) {
  std::vector<std::string> digests;
  for (const std::string out : {"out1", "out2"}) {
    const auto run = troupe({"run", job(R"({"fanout": [1, 1], "batch_size": 2})", path("in")),
                             "--set", "output=" + path(out)});
    ASSERT_EQ(run.exit_code, 0) << run.err;
    const auto at = run.out.find("batches ");
    ASSERT_NE(at, std::string::npos) << run.out;
    digests.push_back(run.out.substr(at, run.out.find('\n', at) - at));
  }
  EXPECT_EQ(digests[0], digests[1]);
}

TEST_F(HostileProgram, DamagedFilesOfAFolderNeverCrashTheImport) {
  testing::InputCount count("import by the program");
  for (const auto& name : testing::files_below(in())) {
    const auto good = testing::file_text(in() / name);
    const testing::Octets octets(good.begin(), good.end());
    testing::each_mutation(octets, 4, [&](const testing::Octets& changed) {
      testing::write_all(in() / name, {changed.begin(), changed.end()});
      const auto result = import();
      EXPECT_TRUE(result.exit_code == 0 || result.exit_code == 2 || result.exit_code == 3)
          << name << ": " << result.exit_code << " " << result.err;
      count.add(result.exit_code != 0);
      if (result.exit_code != 0) {
        EXPECT_NE(result.err.find(".npy"), std::string::npos) << result.err;
      }
      std::filesystem::remove_all(path("store"));
    });
    testing::write_all(in() / name, good);
  }
}

TEST_F(HostileProgram, JobFilesThatAreNoneEndWithTwo) {
  const std::string nul("\0\0\0", 3);
  for (const std::string& text :
       {std::string(), nul, std::string("[]"), std::string("nul"), std::string(100'000, '{'),
        std::string("\xff\xfe{\0}", 5), std::string("{\"dataset\": {\"path\": \"\\u0000\"}}")}) {
    testing::write_all(path("bad.json"), text);
    const auto run = troupe({"run", path("bad.json")});
    EXPECT_EQ(run.exit_code, 2) << run.err;
    EXPECT_FALSE(run.err.empty());
  }
  EXPECT_EQ(troupe({"run", path("in")}).exit_code, 2) << "a folder";
}

}  // namespace
}  // namespace troupe
