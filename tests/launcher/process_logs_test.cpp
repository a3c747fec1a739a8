#include "launcher/processes/process_logs.hpp"

#include "tests/support/expect.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/scratch_folder.hpp"

namespace troupe {
namespace {

TEST(ProcessLogs, HaveAFileForEachProcess) {
  const testing::ScratchFolder scratch;
  const auto dir = scratch.path() / "out" / "logs";
  ProcessLogs logs(dir);

  for (const char* line : {"[host 0] a", "[rank 1] b", "[host 0] [rank 1] c", "an agent",
                           "[../x] d", "[] e", "[host 0]"}) {
    logs.add(line);
  }

  EXPECT_EQ(testing::file_text(dir / "host-0.log"), "a\n[rank 1] c\n");
  EXPECT_EQ(testing::file_text(dir / "rank-1.log"), "b\n");
  EXPECT_EQ(testing::file_text(dir / "agents.log"), "an agent\n[../x] d\n[] e\n[host 0]\n");
  EXPECT_FALSE(std::filesystem::exists(scratch.path() / "out" / "x.log"));
}

}  // namespace
}  // namespace troupe
