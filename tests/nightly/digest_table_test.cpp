// The same bits wherever the processes are: placements, transports, numbers of hosts, losses. Prints the
// table of docs/failure.md.
#include "tests/support/fault_cell.hpp"
#include "tests/support/scratch_folder.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>

namespace troupe {
namespace {

using namespace std::chrono_literals;
using testing::WatchedRun;
using Words = std::vector<std::string>;

constexpr int table_epochs = 12;

struct Placed {
  const char* name;
  const char* victim;  ///< a process that every such run has
};
constexpr Placed placements[] = {{"collocated", "host 0"},
                                 {"worker", "sampler 0 of rank 0"},
                                 {"server_client", "server 0"},
                                 {"explicit", "feeder-0"}};

/// One process with the part, one with the rank, one that makes its batches; on each host.
std::string listed(int hosts) {
  Words lines;
  for (int h = 0; h < hosts; ++h) {
    lines.push_back(fmt::format("\"host={0} name=keeper-{0} parts={0}\"", h));
    lines.push_back(fmt::format("\"host={0} name=trainer-{0} ranks={0}\"", h));
    lines.push_back(fmt::format("\"host={0} name=feeder-{0} maps={0} samples_for={0}\"", h));
  }
  return fmt::format("cluster.processes=[{}]", fmt::join(lines, ","));
}

Words job_of(const std::string& output, int hosts, const Words& settings) {
  auto words = testing::fault_job(output, table_epochs);
  words.insert(words.end(), {"--overwrite", "--set", fmt::format("cluster.hosts={}", hosts),
                             "--set", fmt::format("partition.parts={}", hosts)});
  for (const auto& setting : settings) {
    words.insert(words.end(), {"--set", setting});
  }
  return words;
}

struct Transport {
  const char* name;
  Words settings;
};

class DigestTable : public ::testing::TestWithParam<int> {
 protected:
  std::string output() const { return (scratch_.path() / "out").string(); }
  /// \returns the digests; empty: the run did not end well
  std::string digests_of(const Words& settings, const char* victim) {
    WatchedRun run(job_of(output(), GetParam(), settings), scratch_.path().string());
    if (victim != nullptr && run.wait_for_line("epoch  3/12", 60s)) {
      const auto pid = testing::find_process(run.mark(), victim);
      EXPECT_GT(pid, 0) << victim << '\n' << run.text();
      if (pid > 0) {
        kill(pid, SIGKILL);
      }
    }
    const auto code = run.wait_for_end(120s);
    EXPECT_EQ(code, 0) << run.text();
    EXPECT_EQ(victim != nullptr, run.find("is lost").has_value()) << run.text();
    EXPECT_TRUE(run.wait_for_all(10s).empty());
    return code == 0 ? testing::digests_in(output()) : "";
  }
  const testing::ScratchFolder scratch_;
};

TEST_P(DigestTable, IsTheSameInAllItsCells) {
  const auto hosts = GetParam();
  ASSERT_EQ(testing::run_process(job_of(output(), hosts, {"cluster.launch=simulate"}),
                                 scratch_.path().string())
                .exit_code,
            0);
  const auto expected = testing::digests_in(output());
  ASSERT_NE(expected, "");
  std::printf("| %d ranks | simulate | | | %s |\n", hosts, expected.c_str());
  const Transport transports[] = {{"tcp", {"cluster.transport=tcp"}},
                                  {"tcp, TLS", {"cluster.transport=tcp", "cluster.tls=true"}},
                                  {"auto", {}}};
  for (const auto& placed : placements) {
    for (const auto& transport : transports) {
      for (const bool killed : {false, true}) {
        auto settings = transport.settings;
        settings.insert(settings.end(),
                        {"cluster.launch=local", std::string("cluster.placement=") + placed.name});
        if (placed.name == std::string("server_client")) {
          settings.push_back(fmt::format("cluster.servers={}", hosts));
        } else if (placed.name == std::string("explicit")) {
          settings.push_back(listed(hosts));
        }
        const auto found = digests_of(settings, killed ? placed.victim : nullptr);
        EXPECT_EQ(found, expected) << placed.name << ' ' << transport.name << ' ' << killed;
        std::printf("| %d ranks | %s | %s | %s | %s |\n", hosts, placed.name, transport.name,
                    killed ? placed.victim : "", found == expected ? "same" : "OTHER");
        std::fflush(stdout);
      }
    }
  }
}

/// Devices gather rows of their own parts, and of other processes', of which one is lost.
TEST_P(DigestTable, IsTheSameWhereDevicesGatherRows) {
  const auto hosts = GetParam();
  ASSERT_EQ(testing::run_process(job_of(output(), hosts, {"cluster.launch=simulate"}),
                                 scratch_.path().string())
                .exit_code,
            0);
  const auto expected = testing::digests_in(output());
  for (const char* const budget : {"0", "10%"}) {
    for (const char* const victim : std::vector<const char*>{nullptr, "host 0"}) {
      const auto found = digests_of({"cluster.launch=local", "cluster.device=emulated:1",
                                     fmt::format("features.cache.device_budget={}", budget)},
                                    victim);
      EXPECT_EQ(found, expected) << budget << ' ' << (victim == nullptr ? "" : victim);
      std::printf("| %d ranks | collocated | emulated device, budget %s | %s | %s |\n", hosts,
                  budget, victim == nullptr ? "" : victim, found == expected ? "same" : "OTHER");
      std::fflush(stdout);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, DigestTable, ::testing::Values(1, 2, 4));

}  // namespace
}  // namespace troupe
