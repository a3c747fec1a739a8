// What a host is to have, and how that is told; without ssh.
#include "launcher/processes/host_copy.hpp"

#include "launcher/processes/piped_child.hpp"
#include "launcher/processes/tool_output.hpp"
#include "runtime/data/npy_import.hpp"
#include "runtime/job/job_file.hpp"
#include "runtime/partition/add_features.hpp"
#include "runtime/partition/partitioner.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/scratch_folder.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <sys/socket.h>

namespace troupe {
namespace {

namespace fs = std::filesystem;

class HostCopyPlanning : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto graph_path = folder() / "graph";
    ASSERT_OK(import_npy(fs::path(TROUPE_SOURCE_DIR) / "examples/data/cora", graph_path));
    ASSERT_OK_AND_ASSIGN(const auto graph, GraphStore::open(graph_path, {}));
    ASSERT_OK(partition_store(graph, {.parts = 2}, folder() / "parts"));
    std::ofstream(folder() / "job.json") << "{}";
    std::ofstream(folder() / "trainer") << "a program";
  }
  fs::path folder() const { return scratch_.path(); }
  Result<HostCopyPlan> plan(const std::string& host_line, const std::string& own_program = "") {
    Job job;
    job.cluster.launch = "ssh";
    job.cluster.hosts = 2;
    job.partition.parts = 2;
    job.cluster.ssh.program = "bin/troupe";
    job.train.class_weights.balanced = balanced_;
    for (const std::string& line : {host_line, std::string("other")}) {
      auto host = parse_host(line);
      EXPECT_OK(host);
      job.cluster.named.push_back(*host);
    }
    TROUPE_ASSIGN_OR_RETURN(const auto store, PartitionedStore::open(folder() / "parts", {}));
    return plan_host_copy(job, store, make_layout(job), HostId{0},
                          {"/here/troupe", folder() / "job.json", own_program});
  }

  const testing::ScratchFolder scratch_;
  bool balanced_ = false;
};

TEST_F(HostCopyPlanning, HasTheJobTheHostsPartsAndTheDescriptionsLast) {
  ASSERT_OK_AND_ASSIGN(const auto found, plan("node1"));

  EXPECT_EQ(found.files.front(), (folder() / "job.json").string());
  EXPECT_EQ(found.descriptions, (std::vector{(folder() / "parts/partition.json").string(),
                                             (folder() / "parts/graph.json").string()}));
  EXPECT_TRUE(std::ranges::any_of(found.files, [](const std::string& file) {
    return file.find("/part-0/") != std::string::npos;
  }));
  EXPECT_FALSE(std::ranges::any_of(found.files, [](const std::string& file) {
    return file.find("/part-1/") != std::string::npos;
  }));
}

TEST_F(HostCopyPlanning, HasTheLabelsOfAllPartsWhereTheseAreCounted) {
  balanced_ = true;
  ASSERT_OK_AND_ASSIGN(const auto found, plan("node1"));

  std::vector<std::string> of_other_part;
  for (const auto& file : found.files) {
    if (file.find("/part-1/") != std::string::npos) {
      of_other_part.push_back(fs::path(file).lexically_relative(folder() / "parts").string());
    }
  }
  EXPECT_EQ(of_other_part, std::vector<std::string>{"part-1/nodes-node/labels.npy"});
}

TEST_F(HostCopyPlanning, FilesAreThere) {
  ASSERT_OK_AND_ASSIGN(auto found, plan("node1"));
  found.files.insert(found.files.end(), found.descriptions.begin(), found.descriptions.end());

  for (const auto& file : found.files) {
    EXPECT_TRUE(fs::is_regular_file(file)) << file;
  }
}

TEST_F(HostCopyPlanning, FeaturesThatCameLaterGoWithTheirManifest) {
  ASSERT_OK_AND_ASSIGN(const auto graph, GraphStore::open(folder() / "graph", {}));
  fs::remove_all(folder() / "parts");
  ASSERT_OK(partition_store(graph, {.parts = 2, .features_later = true}, folder() / "parts"));
  const auto names = [&] {
    std::vector<std::string> found;
    const auto planned = plan("node1");
    EXPECT_OK(planned);
    for (const auto& file : planned->files) {
      if (file.find("features") != std::string::npos) {
        found.push_back(fs::path(file).lexically_relative(folder() / "parts").string());
      }
    }
    return found;
  };
  EXPECT_EQ(names(), std::vector<std::string>());

  InlineExecutor executor;
  ASSERT_OK(add_features(folder() / "graph", folder() / "parts", {}, executor));

  EXPECT_EQ(names(),
            (std::vector<std::string>{"part-0/nodes-node/features.npy", "part-0/features.json"}));
}

TEST_F(HostCopyPlanning, TheProgramLiesWhereTheHostStartsItFrom) {
  ASSERT_OK_AND_ASSIGN(const auto in_folder, plan("node1 dir=/srv"));
  ASSERT_OK_AND_ASSIGN(const auto absolute, plan("node1 dir=/srv program=/opt/troupe"));
  ASSERT_OK_AND_ASSIGN(const auto at_login, plan("node1"));

  EXPECT_EQ(in_folder.program, "/srv/bin/troupe");
  EXPECT_EQ(in_folder.folder, "/srv");
  EXPECT_EQ(absolute.program, "/opt/troupe");
  EXPECT_EQ(at_login.program, "bin/troupe");
}

TEST_F(HostCopyPlanning, AProgramThatIsOnlyANameHasNoPlaceToBeCopiedTo) {
  EXPECT_ERROR(plan("node1 program=troupe"), Errc::invalid_argument,
               "expected a path to copy the program to, found \"troupe\"");
}

TEST_F(HostCopyPlanning, AUsersProgramGoesAlong) {
  const auto own = (folder() / "trainer").string();

  ASSERT_OK_AND_ASSIGN(const auto with_path, plan("node1", own));
  ASSERT_OK_AND_ASSIGN(const auto by_name, plan("node1", "python3"));

  ASSERT_EQ(with_path.placed.size(), 2U);
  EXPECT_EQ(with_path.placed[1].to, own);
  EXPECT_EQ(by_name.placed.size(), 1U);
}

TEST_F(HostCopyPlanning, AMissingUsersProgramIsNamed) {
  EXPECT_ERROR(plan("node1", "./no_such_trainer"), Errc::not_found, "./no_such_trainer");
}

TEST(HostCopyText, SaysWhatWasCopied) {
  EXPECT_EQ(to_string(HostCopy{}), "up to date");
  EXPECT_EQ(to_string(HostCopy{.program = true, .files = 0, .bytes = 34'500'000}),
            "copied 34.5 MB: the program");
  EXPECT_EQ(to_string(HostCopy{.program = false, .files = 1, .bytes = 999}),
            "copied 999 bytes: 1 file");
  EXPECT_EQ(to_string(HostCopy{.program = true, .files = 11, .bytes = 12'340}),
            "copied 12.3 kB: the program and 11 files");
}

TEST(PipedChild, TalksOverItsStandardInputAndOutput) {
  ASSERT_OK_AND_ASSIGN(auto child, PipedChild::start({"sh", "-c", "read x; echo got $x; exit 3"}));
  ASSERT_EQ(send(child.peer(), "it\n", 3, MSG_NOSIGNAL), 3);
  std::array<char, 64> answer{};

  const auto got = recv(child.peer(), answer.data(), answer.size(), MSG_WAITALL);
  const auto end = child.wait();

  EXPECT_EQ(std::string(answer.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0))),
            "got it\n");
  EXPECT_FALSE(end.success);
  EXPECT_EQ(end.how, "exit code 3");
}

TEST(PipedChild, TellsTheEndOfItsErrors) {
  ASSERT_OK_AND_ASSIGN(auto child, PipedChild::start({"sh", "-c", "echo no space >&2; exit 1"}));

  EXPECT_EQ(child.wait().errors, "no space");
}

TEST(PipedChild, ThatDoesNotExistIsNamed) {
  EXPECT_ERROR(PipedChild::start({"/no/such/program"}), Errc::failed_precondition,
               "cannot start /no/such/program: No such file or directory");
}

TEST(ToolOutput, IsWhatTheProgramPrints) {
  ASSERT_OK_AND_ASSIGN(const auto text, tool_output({"printf", "a\\nb\\n"}));

  EXPECT_EQ(text, "a\nb\n");
}

TEST(ToolOutput, OfAProgramThatFailsIsItsError) {
  EXPECT_ERROR(tool_output({"sh", "-c", "echo bad partition >&2; exit 2"}),
               Errc::failed_precondition, "sh: exit code 2: bad partition");
}

}  // namespace
}  // namespace troupe
