// Hosts started by hand: `troupe join` against a run that waits for them.
#include "tests/e2e/other_build.hpp"
#include "tests/support/fault_cell.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/folded_cora.hpp"
#include "tests/support/scratch_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <list>
#include <optional>
#include <signal.h>
#include <thread>

namespace troupe {
namespace {

using namespace std::chrono_literals;
using testing::WatchedRun;
using Words = std::vector<std::string>;

constexpr int manual_epochs = 16;

class Manual : public ::testing::Test {
 protected:
  std::string folder() const { return scratch_.path().string(); }
  std::string output() const { return folder() + "/out"; }
  std::string token() const { return output() + "/token"; }

  /// Starts the run, and waits for the address that it prints.
  void start(const Words& settings = {}) {
    auto words = testing::fault_job(output(), epochs_);
    for (const auto& setting : job_settings(settings)) {
      words.insert(words.end(), {"--set", setting});
    }
    run_.emplace(words, folder());
    wait_for_address();
  }
  void wait_for_address() {
    ASSERT_TRUE(run_->wait_for_line("--director ", 60s)) << run_->text();
    director_ = run_->word_after("--director ");
  }
  static Words job_settings(const Words& more) {
    Words settings = {"cluster.launch=manual", "cluster.listen=127.0.0.1:0"};
    settings.insert(settings.end(), more.begin(), more.end());
    return settings;
  }
  /// \param environment  NAME=VALUE each
  WatchedRun& join(const Words& arguments, const Words& environment = {},
                   const std::string& token_file = "", const std::string& program = TROUPE_PROGRAM,
                   const std::string& job_file = "") {
    Words words = {"/usr/bin/env"};
    words.insert(words.end(), environment.begin(), environment.end());
    const auto job = testing::fault_job(output(), epochs_);
    words.insert(words.end(), {program, "join", job_file.empty() ? job[2] : job_file});
    words.insert(words.end(), job.begin() + 3, job.end());
    for (const auto& setting : job_settings({})) {
      words.insert(words.end(), {"--set", setting});
    }
    words.insert(words.end(), {"--director", director_, "--token-file",
                               token_file.empty() ? token() : token_file});
    words.insert(words.end(), arguments.begin(), arguments.end());
    return joins_.emplace_back(words, folder());
  }
  WatchedRun& join_host(int host, const Words& settings = {}) {
    Words words = {"--host-rank", std::to_string(host)};
    for (const auto& setting : settings) {
      words.insert(words.end(), {"--set", setting});
    }
    return join(words);
  }

  void expect_digests() {
    ASSERT_EQ(run_->wait_for_end(60s), 0) << run_->text();
    EXPECT_EQ(testing::digests_in(output()), testing::undisturbed_digests(epochs_));
  }
  static void expect_end(WatchedRun& joined, int exit_code) {
    EXPECT_EQ(joined.wait_for_end(20s), exit_code) << joined.text();
    EXPECT_TRUE(joined.wait_for_all(10s).empty());
  }

  const testing::ScratchFolder scratch_;
  int epochs_ = manual_epochs;
  std::string director_;
  std::optional<WatchedRun> run_;
  std::list<WatchedRun> joins_;
};

TEST_F(Manual, HostsJoinInAnyOrderAndTheDigestsAreThoseOfOneProcess) {
  ASSERT_NO_FATAL_FAILURE(start());

  auto& second = join_host(1);
  auto& first = join_host(0);

  expect_digests();
  expect_end(first, 0);
  expect_end(second, 0);
}

TEST_F(Manual, SettingsOfAHostThatAreTheRunsAreNamedAndHaveNoEffect) {
  ASSERT_NO_FATAL_FAILURE(start());

  auto& first = join_host(0, {"train.optimizer.lr=0.5", "train.epochs=1"});
  auto& second = join_host(1, {"cluster.threads=1"});

  expect_digests();
  expect_end(first, 0);
  expect_end(second, 0);
  EXPECT_TRUE(first.find("not used here: ")) << first.text();
  EXPECT_TRUE(first.find("train.optimizer.lr, train.epochs; try: give them to troupe run"))
      << first.text();
  EXPECT_FALSE(second.find("cluster.threads")) << second.text();
}

/// With a model that one process trained.
class ManualPredict : public Manual {
 protected:
  void SetUp() override {
    epochs_ = 2;
    WatchedRun trained(testing::fault_job(output(), epochs_), folder());
    ASSERT_EQ(trained.wait_for_end(60s), 0) << trained.text();
  }
  Words words(const std::string& name, const Words& settings, const Words& options) const {
    auto words = testing::fault_job_predicts(output(), epochs_, folder() + "/" + name);
    words.insert(words.end(), {"--nodes", "all"});
    words.insert(words.end(), options.begin(), options.end());
    for (const auto& setting : settings) {
      words.insert(words.end(), {"--set", setting});
    }
    return words;
  }
  std::string predictions(const std::string& name) const {
    return testing::file_text(folder() + "/" + name + "/predictions.npy");
  }
  void start_predict(const Words& options = {}) {
    run_.emplace(words("hosts", job_settings({}), options), folder());
    wait_for_address();
  }
};

TEST_F(ManualPredict, OutputsOnHostsAreThoseOfOneProcess) {
  for (const Words& options : std::vector<Words>{{}, {"--embeddings"}}) {
    WatchedRun one(words("one", {}, options), folder());
    ASSERT_EQ(one.wait_for_end(60s), 0) << one.text();
    ASSERT_NO_FATAL_FAILURE(start_predict(options));
    auto& first = join_host(0);
    auto& second = join_host(1);

    ASSERT_EQ(run_->wait_for_end(60s), 0) << run_->text();
    EXPECT_EQ(predictions("hosts"), predictions("one"));
    EXPECT_TRUE(run_->find(options.empty() ? "logits of 2708 nodes" : "embeddings of 2708 nodes"));
    expect_end(first, 0);
    expect_end(second, 0);
  }
}

/// A folder with the job's data without labels and seeds.
Words bare_data(const std::string& folder) {
  std::filesystem::create_directory(folder);
  for (const auto& entry : std::filesystem::directory_iterator(testing::folded_cora())) {
    const auto name = entry.path().filename().string();
    if (name != "y.npy" && !name.ends_with("_idx.npy")) {
      std::filesystem::copy(entry.path(), folder + "/" + name);
    }
  }
  return {"--set", "dataset.path=" + folder};
}

TEST_F(ManualPredict, HostsNeedNoLabelsAndNoSplit) {
  WatchedRun one(words("one", {}, {}), folder());
  ASSERT_EQ(one.wait_for_end(60s), 0) << one.text();
  ASSERT_NO_FATAL_FAILURE(start_predict(bare_data(folder() + "/bare")));
  join_host(0);
  join_host(1);

  ASSERT_EQ(run_->wait_for_end(60s), 0) << run_->text();
  EXPECT_EQ(predictions("hosts"), predictions("one"));
}

TEST_F(ManualPredict, AProcessThatIsStartedAgainGetsTheNodesAgain) {
  WatchedRun one(words("one", {}, {}), folder());
  ASSERT_EQ(one.wait_for_end(60s), 0) << one.text();
  ASSERT_NO_FATAL_FAILURE(start_predict());
  auto& second = join_host(1);
  const auto member = [&] { return testing::find_process(second.mark(), "host 1"); };
  ASSERT_TRUE(second.wait_until([&] { return member() > 0; }, 20s)) << second.text();
  second.wait_until([] { return false; }, 500ms);

  ASSERT_TRUE(testing::signal_process(member(), SIGKILL));
  join_host(0);

  ASSERT_EQ(run_->wait_for_end(60s), 0) << run_->text();
  EXPECT_TRUE(run_->find("host 1 is lost: killed by signal 9")) << run_->text();
  EXPECT_EQ(predictions("hosts"), predictions("one"));
}

TEST_F(ManualPredict, EndsAtASignalAndSoDoItsHosts) {
  ASSERT_NO_FATAL_FAILURE(start_predict());
  auto& first = join_host(0);
  first.wait_until([] { return false; }, 500ms);

  kill(run_->pid(), SIGINT);

  EXPECT_EQ(run_->wait_for_end(20s), 130) << run_->text();
  EXPECT_TRUE(first.wait_for_end(20s).has_value()) << first.text();
  EXPECT_TRUE(first.wait_for_all(10s).empty());
  EXPECT_FALSE(std::filesystem::exists(folder() + "/hosts"));
}

TEST_F(Manual, AHostMayJoinBeforeTheRunThatItBelongsTo) {
  ASSERT_NO_FATAL_FAILURE(start());
  const auto copy = folder() + "/token";
  std::filesystem::copy_file(token(), copy);
  kill(run_->pid(), SIGKILL);
  run_->wait_for_end(5s);
  auto& early = join({"--host-rank", "0"}, {}, copy);
  early.wait_until([] { return false; }, 500ms);

  ASSERT_NO_FATAL_FAILURE(start({"cluster.listen=" + director_}));
  join_host(1);

  expect_digests();
  expect_end(early, 0);
}

TEST_F(Manual, AProcessOfAnotherBuildIsRefusedWithBothBuilds) {
  const auto program = testing::program_of_other_build(TROUPE_PROGRAM, folder());
  ASSERT_NO_FATAL_FAILURE(start());

  auto& other = join({"--host-rank", "0"}, {}, "", program);

  EXPECT_EQ(other.wait_for_end(60s), 3) << other.text();
  EXPECT_TRUE(other.find("found 0.1.0, build 0123456789abcdef, sampling version 1"))
      << other.text();
  EXPECT_TRUE(other.find("expected the program 0.1.0, build ")) << other.text();
}

TEST_F(Manual, AHostWithAnotherJobFileIsRefused) {
  ASSERT_NO_FATAL_FAILURE(start({"seed=9"}));  // what is set here is not in the hosts' copies
  const auto other_file = folder() + "/other.json";
  const std::filesystem::path job = testing::fault_job(output(), manual_epochs)[2];
  std::filesystem::create_directory_symlink(job.parent_path() / "data", folder() + "/data");
  const std::string text = testing::file_text(job);
  const auto at = text.find("\"batch_size\": ");
  ASSERT_NE(at, std::string::npos) << text;
  std::ofstream(other_file) << std::string(text).insert(at + 14, "1");

  auto& other = join({"--host-rank", "0"}, {}, "", TROUPE_PROGRAM, other_file);

  EXPECT_EQ(other.wait_for_end(60s), 4) << other.text();
  EXPECT_TRUE(other.find("give both ends the same job file")) << other.text();
  join_host(0);
  join_host(1);
  EXPECT_EQ(run_->wait_for_end(60s), 0) << run_->text();
}

TEST_F(Manual, TheFileOfTheTokenHasTheCertificatesToo) {
  ASSERT_NO_FATAL_FAILURE(start({"cluster.tls=true"}));
  std::ifstream in(token());
  std::string line;
  std::getline(in, line);
  const auto bare = folder() + "/bare";
  std::ofstream(bare) << line.substr(0, line.find(' ')) << "\n";
  std::filesystem::permissions(bare, std::filesystem::perms::owner_read);
  const auto copy = folder() + "/copy";
  std::filesystem::copy_file(token(), copy);

  auto& without = join({"--host-rank", "0", "--set", "cluster.join_deadline=1"}, {}, bare);
  EXPECT_EQ(without.wait_for_end(60s), 4) << without.text();
  EXPECT_TRUE(without.find("try: TLS at both ends")) << without.text();
  auto& first = join({"--host-rank", "0"}, {}, copy);
  auto& second = join({"--host-rank", "1"}, {}, copy);

  expect_digests();
  expect_end(first, 0);
  expect_end(second, 0);
}

class ManualRank : public Manual, public ::testing::WithParamInterface<const char*> {};

TEST_P(ManualRank, IsTakenFromTheVariableOfALauncher) {
  ASSERT_NO_FATAL_FAILURE(start());

  join({}, {fmt::format("{}=1", GetParam())});
  join({}, {fmt::format("{}=0", GetParam())});

  expect_digests();
}

INSTANTIATE_TEST_SUITE_P(Launchers, ManualRank,
                         ::testing::Values("SLURM_NODEID", "PMI_RANK", "OMPI_COMM_WORLD_RANK",
                                           "RANK"),
                         [](const auto& variable) {
                           std::string name = variable.param;
                           std::erase(name, '_');
                           return name;
                         });

TEST_F(Manual, ALauncherThatHasStartedAnotherNumberOfProcessesIsRefused) {
  ASSERT_NO_FATAL_FAILURE(start());

  auto& joined = join({}, {"RANK=0", "WORLD_SIZE=4"});

  expect_end(joined, 2);
  EXPECT_TRUE(joined.find("WORLD_SIZE: expected 2, the job's hosts, found 4")) << joined.text();
}

TEST_F(Manual, AJobThatNoHostJoinsIsRefusedWithTheWayOut) {
  director_ = "127.0.0.1:1";  // no run is needed for this
  const auto token_file = folder() + "/any-token";
  std::ofstream(token_file) << std::string(64, '0');

  auto& simulated = join({"--set", "cluster.launch=simulate"}, {}, token_file);
  auto& beyond = join({"--host-rank", "2"}, {}, token_file);

  expect_end(simulated, 2);
  EXPECT_TRUE(simulated.find("found \"simulate\"; try: cluster.launch \"manual\""))
      << simulated.text();
  expect_end(beyond, 2);
  EXPECT_TRUE(beyond.find("expected a host rank of 0..1, one of cluster.hosts, found 2"))
      << beyond.text();
}

TEST_F(Manual, AHostThatOthersCouldNotConnectToIsRefused) {
  director_ = "127.0.0.1:1";  // no run is needed for this

  auto& joined = join({"--host-rank", "0", "--listen", "0.0.0.0:0"});

  expect_end(joined, 2);
  EXPECT_TRUE(joined.find("--listen: address \"0.0.0.0:0\": expected one that other processes can"))
      << joined.text();
}

TEST_F(Manual, AWrongTokenIsRefusedOnBothSidesAndDoesNotDisturbTheRun) {
  ASSERT_NO_FATAL_FAILURE(start());
  const auto wrong = folder() + "/wrong";
  std::ofstream(wrong) << std::string(64, 'a') << "\n";
  std::filesystem::permissions(wrong, std::filesystem::perms::owner_read);

  auto& stranger = join({"--host-rank", "0", "--set", "cluster.join_deadline=1"}, {}, wrong);

  EXPECT_EQ(stranger.wait_for_end(20s), 4) << stranger.text();
  EXPECT_TRUE(stranger.find("refused without a proof of the token (unauthenticated), retrying"));
  EXPECT_TRUE(stranger.find("not connected within 1000 ms: cannot connect: " + director_ +
                            ": handshake: the two ends hold different tokens"))
      << stranger.text();
  EXPECT_TRUE(run_->wait_for_line("refused", 5s)) << run_->text();
  join_host(0);
  join_host(1);
  expect_digests();
  EXPECT_EQ(run_->text().find(std::string(64, 'a')), std::string::npos);
}

TEST_F(Manual, AHostThatDoesNotComeIsNamedAtTheDeadline) {
  ASSERT_NO_FATAL_FAILURE(start({"cluster.join_deadline=3"}));
  auto& first = join_host(0);

  EXPECT_EQ(run_->wait_for_end(20s), 4) << run_->text();

  EXPECT_TRUE(run_->find("not all processes are there after 3 s; missing: agent of host 1, host 1"))
      << run_->text();
  expect_end(first, 4);
  EXPECT_TRUE(first.find("agent of host 0: the run failed: not all processes are there after 3 s"))
      << first.text();
}

TEST_F(Manual, AnInterruptedRunEndsItsHostsWithItsExitCode) {
  ASSERT_NO_FATAL_FAILURE(start());
  auto& first = join_host(0);
  auto& second = join_host(1);
  ASSERT_TRUE(run_->wait_for_line("epoch  2/16", 60s)) << run_->text();

  kill(run_->pid(), SIGINT);

  EXPECT_EQ(run_->wait_for_end(20s), 130) << run_->text();
  expect_end(first, 130);
  expect_end(second, 130);
  EXPECT_TRUE(second.find("troupe: agent of host 1: the run was interrupted")) << second.text();
  EXPECT_FALSE(second.find("troupe: host 1: ")) << second.text();
}

TEST_F(Manual, AnAgentThatWasKilledJoinsAgain) {
  ASSERT_NO_FATAL_FAILURE(start());
  join_host(0);
  auto& second = join_host(1);
  ASSERT_TRUE(run_->wait_for_line("epoch  4/16", 60s)) << run_->text();

  kill(second.pid(), SIGKILL);
  EXPECT_TRUE(run_->wait_for_line("agent of host 1 is lost", 10s)) << run_->text();
  EXPECT_TRUE(second.wait_for_all(5s).empty()) << "its processes go with it";
  join_host(1);

  expect_digests();
}

TEST_F(Manual, AHostThatIsThereIsKeptAndTheSecondJoinIsTold) {
  ASSERT_NO_FATAL_FAILURE(start());
  auto& first = join_host(0);
  join_host(1);
  ASSERT_TRUE(run_->wait_for_line("epoch  2/16", 60s)) << run_->text();

  auto& second = join({"--host-rank", "0", "--set", "cluster.join_deadline=0.5"});
  auto& patient = join({"--host-rank", "0"});
  EXPECT_EQ(second.wait_for_end(20s), 4) << second.text();

  EXPECT_TRUE(second.find("waiting for its end: agent of host 0 is there already"))
      << second.text();
  EXPECT_TRUE(second.find("try: another --host-rank")) << second.text();
  expect_digests();
  EXPECT_EQ(patient.wait_for_end(20s), 4) << patient.text();
  EXPECT_FALSE(run_->find("is lost")) << run_->text();
  expect_end(first, 0);
}

TEST_F(Manual, AJoinWithAnotherJobFileIsToldAndDoesNotEndTheRun) {
  ASSERT_NO_FATAL_FAILURE(start());

  auto& other = join({"--host-rank", "2", "--set", "cluster.hosts=3"});

  EXPECT_EQ(other.wait_for_end(20s), 2) << other.text();
  EXPECT_TRUE(other.find("process 3: expected host 0, found a host that joins as agent of host 2"))
      << other.text();
  join_host(0);
  join_host(1);
  expect_digests();
}

TEST_F(Manual, AJoinWithAnotherStoreIsToldAndDoesNotEndTheRun) {
  ASSERT_NO_FATAL_FAILURE(start());
  std::filesystem::path file;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(output() + "/store")) {
    file = entry.path().filename() == "partition.json" ? entry.path() : file;
  }
  std::filesystem::copy_file(file, folder() + "/kept");
  std::ofstream(file, std::ios::app) << " ";

  auto& other = join_host(0);
  EXPECT_EQ(other.wait_for_end(20s), 3) << other.text();
  EXPECT_TRUE(other.find("expected the director's store")) << other.text();

  std::filesystem::copy_file(folder() + "/kept", file,
                             std::filesystem::copy_options::overwrite_existing);
  join_host(0);
  join_host(1);
  expect_digests();
}

TEST_F(Manual, AReplicaServesWhileTheHostOfTheOtherOneIsAway) {
  epochs_ = 24;
  // Ranks ask servers 0 and 2 for batches; both of them have nothing of part 1 but server 2's replica.
  const Words settings = {
      "cluster.placement=server_client", "cluster.servers=3", "cluster.replicas=2",
      "cluster.server_of_rank=[0,2]",    "partition.parts=3", "trace=true"};
  ASSERT_NO_FATAL_FAILURE(start(settings));
  auto& lost = join_host(3, settings);
  for (const int host : {0, 1, 2, 4}) {
    join_host(host, settings);
  }
  // The evaluation after an epoch waits for the lost server, so one epoch's steps must show its replica.
  const std::string begins = "  step 1/9";
  std::string epoch;
  ASSERT_TRUE(run_->wait_until(
      [&] {
        const auto text = run_->lines().empty() ? std::string() : run_->lines().back().text;
        const bool third = run_->find("epoch  3/24").has_value();
        epoch = text.substr(0, text.find(begins));
        return third && text.find(begins) != std::string::npos;
      },
      60s))
      << run_->text();
  ASSERT_GT(testing::find_process(lost.mark(), "server 1"), 0);

  kill(lost.pid(), SIGKILL);
  const bool trained = run_->wait_for_line(epoch + "  step 9/9", 20s);
  EXPECT_TRUE(lost.wait_for_all(5s).empty());
  join_host(3, settings);

  EXPECT_TRUE(trained) << "more steps than batches were asked for in advance";
  expect_digests();
  EXPECT_TRUE(run_->find("server 1 is lost")) << run_->text();
  EXPECT_GT(testing::hops_in_trace(output(), "server-2", 1), 0U);
}

/// A process that is stopped together with its agent.
struct Orphan {
  const char* member;
  int host;
  int hosts;  ///< that join
  Words settings;
};

std::ostream& operator<<(std::ostream& out, const Orphan& orphan) {
  return out << orphan.member;
}

class ManualOrphan : public Manual, public ::testing::WithParamInterface<Orphan> {};

TEST_P(ManualOrphan, ThatItsAgentCannotKillFindsItselfFencedAndEnds) {
  epochs_ = 24;  // it wakes up, and its agent, before the run is over
  const auto& [name, host, hosts, settings] = GetParam();
  ASSERT_NO_FATAL_FAILURE(start(settings));
  WatchedRun* old = nullptr;
  for (int h = 0; h < hosts; ++h) {
    auto& joined = join_host(h, settings);
    old = h == host ? &joined : old;
  }
  ASSERT_TRUE(run_->wait_for_line("epoch  3/24", 60s)) << run_->text();
  const auto member = testing::find_process(old->mark(), name);
  ASSERT_GT(member, 0);
  ASSERT_TRUE(testing::stop_process(old->pid()));
  ASSERT_TRUE(testing::stop_process(member));
  auto& next = join_host(host, settings);
  ASSERT_TRUE(run_->wait_until(
      [&, name = name] { return testing::find_process(next.mark(), name) > 0; }, 15s))
      << run_->text();

  kill(member, SIGCONT);
  const auto runs = [&] { return testing::find_process(old->mark(), GetParam().member) == member; };
  for (int i = 0; runs() && i < 500; ++i) {
    std::this_thread::sleep_for(10ms);
  }
  EXPECT_FALSE(runs()) << "its agent is stopped: nobody else ends it";
  const auto left = testing::processes_of(old->mark());
  EXPECT_TRUE(std::ranges::any_of(
      left, [&](const auto& process) { return process.pid == old->pid() && process.stopped; }));
  kill(old->pid(), SIGCONT);

  expect_digests();
  expect_end(*old, 4);
  const auto line = fmt::format("[{0}] troupe: {0}: fenced, so this process ends: ", name);
  EXPECT_TRUE(old->find(line)) << old->text();
  EXPECT_TRUE(
      old->find(fmt::format("troupe: agent of host {}: fenced, so this process ends: ", host)))
      << old->text();
}

INSTANTIATE_TEST_SUITE_P(
    Of, ManualOrphan,
    ::testing::Values(
        Orphan{"host 1", 1, 2, {"cluster.placement=collocated"}},
        Orphan{"server 1", 3, 4, {"cluster.placement=server_client", "cluster.servers=2"}}),
    [](const auto& orphan) { return testing::name_of_words(orphan.param.member); });

}  // namespace
}  // namespace troupe
