// `troupe generate`: a graph made up, imported, cut and looked at, by the program alone.
#include "tests/support/expect.hpp"
#include "tests/support/process.hpp"
#include "tests/support/scratch_folder.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

namespace troupe {
namespace {

class Generate : public ::testing::Test {
 protected:
  /// Runs the program; `command` is split at spaces, and "@" stands for the test's folder.
  testing::ProcessResult troupe(const std::string& command) const {
    std::vector<std::string> arguments{TROUPE_PROGRAM};
    std::istringstream words(command);
    for (std::string word; words >> word;) {
      if (word.starts_with('@')) {
        word.replace(0, 1, folder());
      }
      arguments.push_back(word);
    }
    return testing::run_process(arguments, folder());
  }
  testing::ProcessResult rmat(const std::string& out, const std::string& more = "") const {
    return troupe("generate rmat @/" + out +
                  " --nodes 1000 --edges 5000 --features 4 --classes 3 --train 50 " + more);
  }
  std::string folder() const { return scratch_.path().string(); }
  std::string read(const std::string& file) const {
    std::ifstream in(folder() + "/" + file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  testing::ScratchFolder scratch_;
};

TEST_F(Generate, AGraphGoesThroughImportPartitionAndInspect) {
  const auto made = rmat("graph", "--symmetrize");
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_NE(made.out.find("1000 nodes, 10000 edges"), std::string::npos) << made.out;

  ASSERT_EQ(troupe("import --from npy @/graph @/store").exit_code, 0);
  ASSERT_EQ(troupe("partition @/store @/parts").exit_code, 0);
  const auto seen = troupe("inspect @/parts --verify");
  EXPECT_EQ(seen.exit_code, 0) << seen.err;
  EXPECT_NE(seen.out.find("10000"), std::string::npos) << seen.out;
  EXPECT_NE(seen.out.find("train 50"), std::string::npos) << seen.out;
}

TEST_F(Generate, TheNumberOfThreadsDoesNotChangeTheFiles) {
  ASSERT_EQ(rmat("one", "--threads 1").exit_code, 0);
  ASSERT_EQ(rmat("three", "--threads 3").exit_code, 0);

  for (const std::string file : {"indptr", "indices64", "x", "y", "train_idx"}) {
    EXPECT_EQ(read("one/" + file + ".npy"), read("three/" + file + ".npy")) << file;
    EXPECT_NE(read("one/" + file + ".npy"), "") << file;
  }
}

TEST_F(Generate, ArgumentsThatCannotBeAreUsageErrorsByName) {
  const auto quadrants = rmat("graph", "--a 0.7");
  EXPECT_EQ(quadrants.exit_code, 2);
  EXPECT_NE(quadrants.err.find("a + b + c: expected less than 1"), std::string::npos)
      << quadrants.err;

  const auto seeds = troupe("generate rmat @/graph --nodes 10 --edges 1 --train 11");
  EXPECT_EQ(seeds.exit_code, 2);
  EXPECT_NE(seeds.err.find("train: expected at most 10"), std::string::npos) << seeds.err;

  EXPECT_EQ(rmat("graph", "--threads -1").exit_code, 2);
  EXPECT_EQ(troupe("generate rmat @/graph --edges 1").exit_code, 2);
  EXPECT_EQ(troupe("generate").exit_code, 2);
  EXPECT_FALSE(std::filesystem::exists(folder() + "/graph"));
}

TEST_F(Generate, AnExistingFolderIsADataError) {
  ASSERT_EQ(rmat("graph").exit_code, 0);

  const auto again = rmat("graph");

  EXPECT_EQ(again.exit_code, 3);
  EXPECT_NE(again.err.find("exists"), std::string::npos) << again.err;
}

TEST_F(Generate, HelpHasAnExample) {
  const auto help = troupe("generate rmat --help");

  EXPECT_EQ(help.exit_code, 0);
  EXPECT_NE(help.out.find("Example: troupe generate rmat"), std::string::npos) << help.out;
  for (const char* option : {"--nodes", "--edges", "--a ", "--b ", "--c ", "--symmetrize",
                             "--features", "--classes", "--train", "--seed"}) {
    EXPECT_NE(help.out.find(option), std::string::npos) << option;
  }
}

}  // namespace
}  // namespace troupe
