#include "launcher/early_checks.hpp"

#include "tests/support/expect.hpp"
#include "tests/support/scratch_folder.hpp"

#include <fstream>
#include <string>

namespace troupe {
namespace {

class NamedFiles : public ::testing::Test {
 protected:
  std::string made(const std::string& name) const {
    const auto path = folder_.path() / name;
    std::ofstream(path) << "x";
    return path.string();
  }

  testing::ScratchFolder folder_;
  Job job_;
};

TEST_F(NamedFiles, OfScoredLinksAreMissedByTheirKey) {
  job_.eval.negative_files["val"] = {made("val.npy"), "nope.npy"};
  EXPECT_ERROR(check_named_files(job_, JobTrainer::built_in), Errc::not_found,
               "/eval/negatives/val: expected a file, found none at nope.npy");
  EXPECT_OK(check_named_files(job_, JobTrainer::own)) << "user programs do not read them";

  job_.eval.negative_files.clear();
  job_.eval.candidate_files["test"] = {"others.npy"};
  EXPECT_ERROR(check_named_files(job_, JobTrainer::built_in), Errc::not_found,
               "/eval/candidates/test: expected a file, found none at others.npy");

  job_.eval.candidate_files["test"] = {made("others.npy")};
  EXPECT_OK(check_named_files(job_, JobTrainer::built_in));
}

TEST_F(NamedFiles, OfAPartitionIsMissedWhereItsMethodReadsIt) {
  job_.dataset.path = folder_.path();
  job_.partition.more.file = "nope.npy";
  EXPECT_OK(check_named_files(job_, JobTrainer::built_in));
  job_.partition.method = "file";
  EXPECT_ERROR(check_named_files(job_, JobTrainer::own), Errc::not_found,
               "/partition/file: expected a file, found none at nope.npy");
}

}  // namespace
}  // namespace troupe
