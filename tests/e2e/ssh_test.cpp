// Hosts reached by ssh: machines made of network namespaces, with links that can be cut.
#include "tests/support/eavesdropper.hpp"
#include "tests/support/fault_cell.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/network_hosts.hpp"
#include "tests/support/scratch_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <optional>

namespace troupe {
namespace {

using namespace std::chrono_literals;
using testing::NetworkHosts;
using testing::WatchedRun;
using Words = std::vector<std::string>;

constexpr int ssh_epochs = 12;

class Ssh : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto why = NetworkHosts::unavailable(); !why.empty()) {
      GTEST_SKIP() << why;
    }
    hosts_.emplace(2, folder());
    ASSERT_EQ(hosts_->problem(), "");
  }
  std::string folder() const { return scratch_.path().string(); }
  std::string output() const { return folder() + "/out"; }
  static std::string hosts_setting(const Words& lines) {
    return fmt::format("cluster.hosts=[\"{}\"]", fmt::join(lines, "\",\""));
  }
  Words two_hosts() const {
    auto settings = hosts_->ssh_settings();
    settings.push_back(hosts_setting({NetworkHosts::address(0), NetworkHosts::address(1)}));
    settings.push_back(fmt::format("cluster.ssh.env=[\"{}\"]", testing::environment_entry(mark_)));
    return settings;
  }
  void start(const Words& settings, int epochs_of_run = ssh_epochs) {
    auto words = hosts_->at_launcher();
    const auto job = testing::fault_job(output(), epochs_of_run);
    words.insert(words.end(), job.begin(), job.end());
    for (const auto& setting : settings) {
      words.insert(words.end(), {"--set", setting});
    }
    run_.emplace(words, folder(), mark_);
  }
  /// It ends well, with the digests, and leaves no process on any host.
  void expect_digests(const std::string& digests) {
    const auto exit_code = run_->wait_for_end(120s);
    ASSERT_EQ(exit_code, 0) << run_->text();
    EXPECT_EQ(testing::digests_in(output()), digests);
    EXPECT_TRUE(run_->wait_for_all(10s).empty());
  }
  void expect_failure(const Words& texts, std::chrono::seconds within) {
    ASSERT_EQ(run_->wait_for_end(within), 4) << run_->text();
    for (const auto& text : texts) {
      EXPECT_TRUE(run_->find(text)) << text << " in:\n" << run_->text();
    }
    EXPECT_TRUE(run_->wait_for_all(10s).empty());
  }

  const testing::ScratchFolder scratch_;
  const std::string mark_ = testing::new_run_mark();
  std::optional<NetworkHosts> hosts_;
  std::optional<WatchedRun> run_;
};

TEST_F(Ssh, TwoHostsGiveTheDigestsOfOneProcess) {
  start(two_hosts());

  expect_digests(testing::undisturbed_digests(ssh_epochs));
}

TEST_F(Ssh, TwoHostsPredictWhatOneProcessDoes) {
  const auto predict = [&](const std::string& name, const Words& settings) {
    auto words = hosts_->at_launcher();
    const auto job = testing::fault_job_predicts(output(), 2, folder() + "/" + name);
    words.insert(words.end(), job.begin(), job.end());
    for (const auto& setting : settings) {
      words.insert(words.end(), {"--set", setting});
    }
    run_.emplace(words, folder(), mark_);
    EXPECT_EQ(run_->wait_for_end(120s), 0) << run_->text();
    EXPECT_TRUE(run_->wait_for_all(10s).empty());
    return testing::file_text(folder() + "/" + name + "/predictions.npy");
  };
  start({}, 2);
  ASSERT_EQ(run_->wait_for_end(60s), 0) << run_->text();

  const auto one = predict("one", {});

  EXPECT_EQ(one, testing::file_text(output() + "/predictions.npy"));
  EXPECT_EQ(predict("hosts", two_hosts()), one);
}

TEST_F(Ssh, AHostFileSaysPerHostHowItIsReachedAndHowManyRanksItHas) {
  const auto work = folder() + "/there";
  std::filesystem::create_directories(work);
  std::ofstream(folder() + "/hosts") << fmt::format(
      "# two machines\n{0} slots=1 user=root port=2222 key={2} dir={3} env={4}\n"
      "\n{1} 2 user=root port=2222 key={2} env={4}  # two ranks\n",
      NetworkHosts::address(0), NetworkHosts::address(1), hosts_->key(), work,
      testing::environment_entry(mark_));
  auto settings = hosts_->ssh_settings();
  std::erase_if(settings, [](const auto& s) { return s.find(".key=") != std::string::npos; });
  settings.push_back("cluster.ssh.port=1");  // the lines say better
  settings.push_back("cluster.host_file=" + folder() + "/hosts");
  // The same three ranks in one process.
  auto alone = testing::fault_job(folder() + "/alone", ssh_epochs);
  alone.insert(alone.end(), {"--set", "cluster.hosts=3", "--set", "partition.parts=2"});
  ASSERT_EQ(testing::run_process(alone, folder()).exit_code, 0);

  start(settings);
  ASSERT_TRUE(run_->wait_for_line("step 1/", 60s)) << run_->text();
  const auto pid = testing::find_process(mark_, "host 0");
  const auto cwd = std::filesystem::read_symlink(fmt::format("/proc/{}/cwd", pid));

  EXPECT_EQ(cwd, work);
  expect_digests(testing::digests_in(folder() + "/alone"));
}

/// Text of a file of /proc, or of any other; zeros become spaces.
std::string words_in(const std::filesystem::path& file) {
  std::string text = testing::file_text(file);
  std::ranges::replace(text, '\0', ' ');
  return text;
}

TEST_F(Ssh, ValuesOfTheEnvironmentStandInNoCommandLineAndNoFileOfTheRun) {
  std::ofstream(folder() + "/hosts")
      << fmt::format("{} env=TROUPE_TEST_KEY=open-sesame\n{} env=OTHER=open-sesame\n",
                     NetworkHosts::address(0), NetworkHosts::address(1));
  auto settings = hosts_->ssh_settings();
  settings.push_back(fmt::format("cluster.ssh.env=[\"{}\"]", testing::environment_entry(mark_)));
  settings.push_back("cluster.host_file=" + folder() + "/hosts");
  settings.push_back("checkpoint.every.epochs=4");

  start(settings);
  ASSERT_TRUE(run_->wait_for_line("step 1/", 60s)) << run_->text();
  const auto pid = testing::find_process(mark_, "host 0");
  EXPECT_NE(words_in(fmt::format("/proc/{}/environ", pid)).find("TROUPE_TEST_KEY=open-sesame"),
            std::string::npos);
  for (const auto& process : std::filesystem::directory_iterator("/proc")) {
    EXPECT_EQ(words_in(process.path() / "cmdline").find("open-sesame"), std::string::npos)
        << process.path();
  }

  expect_digests(testing::undisturbed_digests(ssh_epochs));
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(output())) {
    if (entry.is_regular_file()) {
      ++files;
      EXPECT_EQ(words_in(entry.path()).find("open-sesame"), std::string::npos) << entry.path();
    }
  }
  EXPECT_GT(files, 5U);
}

TEST_F(Ssh, AKeyThatIsNotAcceptedEndsTheRunWithTheReasonOfSsh) {
  const auto other = folder() + "/other";
  testing::run_process({"/usr/bin/env", "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", other},
                       folder());
  auto settings = two_hosts();
  settings.push_back("cluster.ssh.key=" + other);
  start(settings);

  expect_failure({"Permission denied", "agent of host"}, 40s);
}

TEST_F(Ssh, AnUnreachableHostEndsTheRunWithItsName) {
  auto settings = two_hosts();
  settings.push_back(hosts_setting({NetworkHosts::address(0), NetworkHosts::nobody()}));
  start(settings);

  expect_failure({"agent of host 1", NetworkHosts::nobody()}, 60s);
}

TEST_F(Ssh, ALinkCutForLessThanALossTakesNothing) {
  start(two_hosts());
  ASSERT_TRUE(run_->wait_for_line("epoch  4/12", 60s)) << run_->text();

  hosts_->cut(1);
  run_->wait_until([] { return false; }, 500ms);
  hosts_->heal(1);

  expect_digests(testing::undisturbed_digests(ssh_epochs));
  EXPECT_FALSE(run_->find("is lost")) << run_->text();
}

TEST_F(Ssh, AHostCutOffForLongerIsLostAndStartedAgainOnceItIsReachable) {
  start(two_hosts());
  ASSERT_TRUE(run_->wait_for_line("epoch  4/12", 60s)) << run_->text();

  hosts_->cut(1);
  ASSERT_TRUE(run_->wait_for_line("agent of host 1 is lost", 5s)) << run_->text();
  run_->wait_until([] { return false; }, 1s);
  hosts_->heal(1);

  expect_digests(testing::undisturbed_digests(ssh_epochs));
  EXPECT_TRUE(run_->find("host 1 is lost: its agent is lost")) << run_->text();
}

TEST_F(Ssh, TwoHostsThatReachTheLauncherButNotEachOtherEndTheRunWithTheirNames) {
  auto settings = two_hosts();
  settings.push_back("cluster.recovery_deadline=3");
  start(settings, 100 * ssh_epochs);
  ASSERT_TRUE(run_->wait_for_line("epoch    2/", 60s)) << run_->text();

  hosts_->separate(0, 1);

  expect_failure({}, 15s);
  // The hosts tell the director, and their requests fail, after the same time: either may come first.
  EXPECT_TRUE(run_->find("both reach the director, but not each other") ||
              run_->find("not connected again within 3000 ms"))
      << run_->text();
}

/// A word of the job, which the director tells every process.
const char* const word_of_job = "batch_size";

TEST_F(Ssh, NobodyCanReadAlongBetweenHosts) {
  const testing::Eavesdropper between(word_of_job, hosts_->middle());
  ASSERT_EQ(between.problem(), "");
  start(two_hosts());

  expect_digests(testing::undisturbed_digests(ssh_epochs));
  EXPECT_GT(between.packets(), 1000U);
  EXPECT_EQ(between.found(), 0U);
  EXPECT_TRUE(run_->find("TLS between machines")) << run_->text();
  EXPECT_FALSE(run_->find("not encrypted")) << run_->text();
}

TEST_F(Ssh, ItIsSaidWhereSomebodyCouldReadAlong) {
  const testing::Eavesdropper between(word_of_job, hosts_->middle());
  ASSERT_EQ(between.problem(), "");
  auto settings = two_hosts();
  settings.push_back("cluster.tls=false");
  start(settings);

  expect_digests(testing::undisturbed_digests(ssh_epochs));
  EXPECT_GT(between.found(), 0U) << "the test above shows nothing";
  EXPECT_TRUE(run_->find("links between machines are not encrypted")) << run_->text();
}

TEST_F(Ssh, LinksAreEncryptedWithACertificateThatComesWithTheToken) {
  auto settings = two_hosts();
  settings.push_back("cluster.tls=true");
  start(settings);

  expect_digests(testing::undisturbed_digests(ssh_epochs));
  EXPECT_FALSE(std::filesystem::exists(output() + "/token")) << "no key lies anywhere";
}

TEST_F(Ssh, ASlowLinkChangesNothing) {
  if (!hosts_->slow(1, "200mbit")) {
    GTEST_SKIP() << "the kernel, or the machine, has no tc with tbf";
  }
  start(two_hosts());

  expect_digests(testing::undisturbed_digests(ssh_epochs));
}

TEST_F(Ssh, AKilledRunLeavesNoProcessOnAnyHost) {
  start(two_hosts(), 100 * ssh_epochs);
  ASSERT_TRUE(run_->wait_for_line("epoch    2/", 60s)) << run_->text();
  const auto all = testing::processes_of(mark_);
  ASSERT_TRUE(std::ranges::any_of(all, [](const auto& p) { return p.name == "host 1"; }));

  kill(run_->pid(), SIGKILL);
  run_->wait_for_end(5s);

  EXPECT_TRUE(run_->wait_for_all(10s).empty());
}

}  // namespace
}  // namespace troupe
