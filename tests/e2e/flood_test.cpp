// A process that is lost comes back while strangers hold all places for handshakes at every port.
#include "tests/support/flood.hpp"

#include "tests/support/fault_cell.hpp"
#include "tests/support/scratch_folder.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <optional>

namespace troupe {
namespace {

using namespace std::chrono_literals;

constexpr int flood_epochs = 16;

class LocalFlood : public ::testing::TestWithParam<bool> {};

TEST_P(LocalFlood, DoesNotKeepAHostFromComingBack) {
  const testing::ScratchFolder scratch;
  const auto output = scratch.path().string() + "/out";
  auto words = testing::fault_job(output, flood_epochs);
  words.insert(words.end(), {"--set", "cluster.launch=local"});
  testing::WatchedRun run(words, scratch.path().string());
  ASSERT_TRUE(run.wait_for_line("epoch  3/16", 60s)) << run.text();
  std::optional<testing::Flood> flood;
  flood.emplace(
      [mark = run.mark()] { return testing::listening_ports(testing::processes_of(mark)); },
      testing::Flood::Options{.dripping = GetParam()});
  ASSERT_TRUE(run.wait_until([&] { return flood->opened() >= 500; }, 20s)) << flood->opened();

  ASSERT_TRUE(testing::signal_process(testing::find_process(run.mark(), "host 1"), SIGKILL));
  ASSERT_TRUE(run.wait_for_line("host 1 is lost", 10s)) << run.text();
  const auto lost = run.find("host 1 is lost");
  const bool back = run.wait_until([&] { return run.find("epoch ", lost->at).has_value(); }, 6s);

  EXPECT_TRUE(back) << run.text();
  flood.reset();
  ASSERT_EQ(run.wait_for_end(60s), 0) << run.text();
  EXPECT_EQ(testing::digests_in(output), testing::undisturbed_digests(flood_epochs));
}

INSTANTIATE_TEST_SUITE_P(Local, LocalFlood, ::testing::Bool(),
                         [](const auto& each) { return each.param ? "Dripping" : "Silent"; });

}  // namespace
}  // namespace troupe
