// Hosts cut off at every moment, and back after they were given up: prints a table like that of
// docs/failure.md. Hosts are network namespaces.
#include "tests/support/fault_cell.hpp"
#include "tests/support/network_hosts.hpp"
#include "tests/support/scratch_folder.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>
#include <optional>

namespace troupe {
namespace {

using namespace std::chrono_literals;
using testing::NetworkHosts;
using testing::TestClock;
using testing::WatchedRun;
using Words = std::vector<std::string>;

constexpr int cut_epochs = 12;

struct CutRole {
  const char* name;
  std::vector<std::size_t> hosts;  ///< that are cut off
  const char* placement;
};
const CutRole roles[] = {{"host", {1}, "collocated"},
                         {"server", {1}, "server_client"},
                         {"trainer", {0}, "server_client"},
                         {"director", {0, 1}, "collocated"}};

/// A line that is printed right before the moment; empty: as soon as the processes are there.
struct CutMoment {
  const char* name;
  const char* line;
};
constexpr CutMoment moments[] = {{"start", ""},
                                 {"mid-epoch", "epoch  4/12  step 4/9"},
                                 {"evaluation", "epoch  4/12  step 9/9"},
                                 {"checkpoint", "epoch  5/12  step 4/9"},
                                 {"last step", "epoch 12/12  step 8/9"}};

class CutLinks : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto why = NetworkHosts::unavailable(); !why.empty()) {
      GTEST_SKIP() << why;
    }
  }
  void play(const CutRole& role, const CutMoment& moment);
};

Words words_of(const NetworkHosts& hosts, const CutRole& role, const std::string& output,
               const std::string& mark) {
  auto words = hosts.at_launcher();
  const auto job = testing::fault_job(output, cut_epochs);
  words.insert(words.end(), job.begin(), job.end());
  auto settings = hosts.ssh_settings();
  settings.push_back(fmt::format("cluster.ssh.env=[\"{}\"]", testing::environment_entry(mark)));
  const bool serves = role.placement == std::string("server_client");
  settings.push_back(fmt::format("cluster.hosts=[\"{}{}\",\"{}\"]", NetworkHosts::address(0),
                                 serves ? " 2" : "", NetworkHosts::address(1)));
  settings.push_back(std::string("cluster.placement=") + role.placement);
  if (serves) {
    settings.emplace_back("cluster.servers=1");
  }
  settings.emplace_back("partition.parts=2");
  for (const auto& setting : settings) {
    words.insert(words.end(), {"--set", setting});
  }
  return words;
}

void CutLinks::play(const CutRole& role, const CutMoment& moment) {
  const testing::ScratchFolder scratch;
  const auto output = (scratch.path() / "out").string();
  const auto mark = testing::new_run_mark();
  NetworkHosts hosts(2, scratch.path().string());
  ASSERT_EQ(hosts.problem(), "");
  WatchedRun run(words_of(hosts, role, output, mark), scratch.path().string(), mark);
  const bool there =
      *moment.line != '\0'
          ? run.wait_for_line(moment.line, 60s)
          : run.wait_until([&] { return testing::find_process(mark, "agent of host 1") > 0; }, 60s);
  ASSERT_TRUE(there) << run.text();
  const auto cut_at = TestClock::now();
  for (const auto host : role.hosts) {
    hosts.cut(host);
  }
  std::optional<testing::PrintedLine> told;
  run.wait_until(
      [&] {
        told = run.find("is lost", cut_at);
        return told.has_value();
      },
      10s);
  run.wait_until([] { return false; }, 500ms);
  for (const auto host : role.hosts) {
    hosts.heal(host);
  }
  const auto code = run.wait_for_end(120s);
  const auto same = testing::digests_in(output) == testing::undisturbed_digests(cut_epochs);
  EXPECT_EQ(code, 0) << role.name << ' ' << moment.name << '\n' << run.text();
  EXPECT_TRUE(same) << role.name << ' ' << moment.name;
  EXPECT_TRUE(run.wait_for_all(10s).empty());
  const auto noticed =
      told ? fmt::format("{:.2f}", std::chrono::duration<double>(told->at - cut_at).count()) : "–";
  std::printf("| %s | cut | %s | %s | %s |\n", role.name, moment.name,
              code == 0 && same ? "same digests" : "WRONG", noticed.c_str());
  std::fflush(stdout);
}

TEST_F(CutLinks, AreNoticedAndTheRunGoesOnToTheSameDigestsWhenTheyAreBack) {
  std::printf("| what | how | when | outcome | noticed after |\n|---|---|---|---|--:|\n");
  for (const auto& role : roles) {
    for (const auto& moment : moments) {
      play(role, moment);
    }
  }
}

}  // namespace
}  // namespace troupe
