#include "runtime/job/job_file.hpp"
#include "runtime/job/resume.hpp"
#include "tests/support/expect.hpp"

namespace troupe {
namespace {

using Overrides = std::vector<std::string>;

JobReading read_with(const Overrides& overrides) {
  auto reading =
      parse_job(R"({"dataset": {"path": "d"}, "sample": {"fanout": [3]}})", "base", overrides);
  EXPECT_OK(reading);
  return reading.ok() ? *std::move(reading) : JobReading{};
}

std::string problems_with_seeds(const Overrides& overrides) {
  auto problems = read_with(overrides).problems;
  for (auto& problem : problems) {
    problem.place = {};
  }
  return to_string(problems);
}

TEST(SeedFiles, AreRelativeToTheJobFile) {
  const auto reading = read_with({"dataset.seeds.train=ids/a.npy", "dataset.seeds.val=/b.txt",
                                  "dataset.seeds.times.train=../t.npy", "dataset.seeds.type=n"});

  EXPECT_EQ(to_string(reading.problems), "");
  const auto& seeds = reading.job.dataset.seeds;
  ASSERT_EQ(seeds.size(), 2U);
  EXPECT_EQ(seeds.at("train").ids, "base/ids/a.npy");
  EXPECT_EQ(seeds.at("train").times, "t.npy");
  EXPECT_EQ(seeds.at("val").ids, "/b.txt");
  EXPECT_EQ(seeds.at("val").times, "");
  EXPECT_EQ(reading.job.dataset.seeds_type, "n");
  EXPECT_TRUE(read_with({}).job.dataset.seeds.empty());
}

TEST(SeedFiles, TimesAndTypesNeedThem) {
  EXPECT_EQ(problems_with_seeds({"dataset.seeds.times.val=t.npy"}),
            "/dataset/seeds/times/val: expected dataset.seeds.val beside it, found none\n");
  EXPECT_EQ(problems_with_seeds({"dataset.seeds.type=n"}),
            "/dataset/seeds/type: expected a file of seeds, such as dataset.seeds.train, found "
            "none\n");
  EXPECT_NE(problems_with_seeds({"dataset.seeds.tran=a.npy"}).find("did you mean \"train\"?"),
            std::string::npos);
}

TEST(SeedFiles, AreNotBroughtToHostsYet) {
  const Overrides hosts{"cluster.launch=ssh", "cluster.hosts=[\"a\", \"b\"]",
                        "dataset.seeds.train=a.npy"};
  EXPECT_EQ(problems_with_seeds(hosts), "");
  auto with_copy = hosts;
  with_copy.emplace_back("cluster.ssh.copy=true");
  EXPECT_NE(problems_with_seeds(with_copy).find("not built yet"), std::string::npos);
}

TEST(SeedFiles, ARunDoesNotGoOnWithFilesOfOtherNames) {
  const auto with_one = read_with({"dataset.seeds.train=a.npy"}).job;
  const auto with_other = read_with({"dataset.seeds.train=b.npy"}).job;
  const auto without = read_with({}).job;
  EXPECT_OK(check_resumable(with_one.json, with_one));
  EXPECT_ERROR(check_resumable(with_one.json, with_other), Errc::failed_precondition,
               "/dataset/seeds/train");
  EXPECT_ERROR(check_resumable(without.json, with_one), Errc::failed_precondition,
               "/dataset/seeds/train");
}

}  // namespace
}  // namespace troupe
