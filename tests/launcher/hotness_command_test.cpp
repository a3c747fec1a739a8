#include "launcher/commands.hpp"
#include "tests/runtime/graph/store_fixture.hpp"
#include "tests/support/expect.hpp"

namespace troupe {
namespace {

using namespace testing;

class HotnessCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(write_graph_store(random_graph(20, 60, 1).contents, temp_ / "store"));
    arguments_.store = temp_ / "store";
    arguments_.out = temp_ / "hot.npy";
    arguments_.threads = 1;
  }
  struct Ran {
    ExitCode code;
    std::string out;
    std::string err;
  };
  Ran run() const {
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    const auto code = hotness_command(arguments_);
    std::fflush(stdout);
    return {code, ::testing::internal::GetCapturedStdout(),
            ::testing::internal::GetCapturedStderr()};
  }

  TempDir temp_;
  HotnessArguments arguments_;
};

TEST_F(HotnessCommand, WritesTheFileAndNothingBesideIt) {
  EXPECT_EQ(run().code, ExitCode::done);

  ASSERT_OK_AND_ASSIGN(const auto array, map_npy(arguments_.out));
  EXPECT_EQ(array.shape, std::vector<std::uint64_t>{20});
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(temp_.path()), {}), 2);
}

TEST_F(HotnessCommand, RefusesAFileThatIsThereBeforeTheWork) {
  write_all(arguments_.out, "mine");

  const auto ran = run();

  EXPECT_EQ(ran.code, ExitCode::data);
  EXPECT_EQ(ran.out, "");
  EXPECT_NE(ran.err.find("hot.npy: expected a new file, found that it exists"), std::string::npos)
      << ran.err;
  EXPECT_EQ(file_text(arguments_.out), "mine");
}

TEST_F(HotnessCommand, RefusesAMissingFolderBeforeTheWork) {
  arguments_.out = temp_ / "missing/hot.npy";

  const auto ran = run();

  EXPECT_EQ(ran.code, ExitCode::data);
  EXPECT_EQ(ran.out, "");
  EXPECT_NE(ran.err.find("missing"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace troupe
