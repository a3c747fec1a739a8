// Shared memory between the processes of a host: files without a name, so that the kernel frees them
// with the last process, whatever ends it. The cells of process_faults_test.cpp look at it as well.
#include "tests/support/shared_memory.hpp"

#include "tests/support/fault_cell.hpp"
#include "tests/support/scratch_folder.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>
#include <signal.h>
#include <thread>

namespace troupe {
namespace {

using namespace std::chrono_literals;

TEST(SharedMemoryOfARun, IsGoneWhenAllItsProcessesAreKilledAtOnce) {
  const testing::ScratchFolder scratch;
  const auto folder = scratch.path().string();
  const testing::SharedMemory memory(folder);
  if (!memory.problem().empty()) {
    GTEST_SKIP() << memory.problem();
  }
  auto words = memory.words();
  const auto job = testing::fault_job(folder + "/out", 4000);
  words.insert(words.end(), job.begin(), job.end());
  for (const char* setting :
       {"cluster.launch=local", "cluster.placement=worker", "cluster.transport=auto"}) {
    words.insert(words.end(), {"--set", setting});
  }
  testing::WatchedRun run(words, folder);
  ASSERT_TRUE(run.wait_for_line("epoch    3/4000", 60s)) << run.text();
  if (!run.find("links: UCX")) {
    GTEST_SKIP() << "no shared memory: " << run.text();
  }
  EXPECT_GT(memory.bytes(), 0U);
  EXPECT_GT(memory.files(), 0U);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(memory.folder()), {}), 0);
  const auto all = testing::processes_of(run.mark());
  EXPECT_GT(all.size(), 6U) << "two hosts with an agent and two samplers each, and the launcher";
  const auto sockets = testing::sockets_of(all);
  EXPECT_EQ(testing::still_open(sockets).size(), sockets.size());

  for (const auto& process : all) {
    kill(process.pid, SIGKILL);
  }
  run.wait_for_end(10s);

  EXPECT_TRUE(run.wait_for_all(10s).empty());
  const auto is_left = [&] { return memory.files() > 0 || !testing::still_open(sockets).empty(); };
  for (int i = 0; is_left() && i < 500; ++i) {  // of threads that still end
    std::this_thread::sleep_for(10ms);
  }
  EXPECT_EQ(memory.bytes(), 0U);
  EXPECT_EQ(memory.files(), 0U);
  EXPECT_TRUE(testing::still_open(sockets).empty());
}

}  // namespace
}  // namespace troupe
