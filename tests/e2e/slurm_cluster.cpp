#include "tests/support/slurm_cluster.hpp"

#include "tests/support/file_text.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <netinet/in.h>
#include <random>
#include <signal.h>
#include <sstream>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace troupe::testing {
namespace {

using Words = SlurmCluster::Words;

/// Of this machine; taken by nobody a moment ago.
std::array<int, 3> free_ports() {
  std::array<int, 3> sockets{};
  std::array<int, 3> ports{};
  for (std::size_t i = 0; i < ports.size(); ++i) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    sockets[i] = socket(AF_INET, SOCK_STREAM, 0);
    bind(sockets[i], reinterpret_cast<sockaddr*>(&at), size);
    getsockname(sockets[i], reinterpret_cast<sockaddr*>(&at), &size);
    ports[i] = ntohs(at.sin_port);
  }
  for (const int fd : sockets) {
    close(fd);
  }
  return ports;
}

void write_key(const std::string& file) {
  std::random_device random;
  std::ofstream out(file, std::ios::binary);
  for (int i = 0; i < 64; ++i) {
    out.put(static_cast<char>(random()));
  }
  out.close();
  std::filesystem::permissions(file, std::filesystem::perms::owner_read);
}

}  // namespace

std::string SlurmCluster::unavailable() {
  if (geteuid() != 0) {
    return "a Slurm cluster of its own needs root";
  }
  for (const char* program : {"munged", "slurmctld", "slurmd", "srun", "sbatch", "salloc",
                              "scancel", "scontrol", "sinfo", "setpriv"}) {
    if (!is_installed(program)) {
      return std::string("there is no ") + program + " (packages.txt, [test])";
    }
  }
  return "";
}

SlurmCluster::SlurmCluster(std::string folder) : folder_(std::move(folder)) {
  std::filesystem::create_directories(folder_ + "/state");
  std::filesystem::create_directories(folder_ + "/spool");
  write_key(folder_ + "/munge.key");
  write_configuration();
  const auto at = [this](const char* name) { return folder_ + "/" + name; };
  start(munged_, {"munged", "--force", "--foreground", "--key-file=" + at("munge.key"),
                  "--socket=" + at("munge.sock"), "--pid-file=" + at("munge.pid"),
                  "--log-file=" + at("munge.log"), "--seed-file=" + at("munge.seed")});
  if (!wait_for({"munge", "--no-input", "--socket=" + at("munge.sock")}, "MUNGE:")) {
    problem_ = "munged does not answer: " + testing::file_text(munged_->err_file());
    return;
  }
  start(controller_, {"slurmctld", "-D"});
  start_node(0);
  start_node(1);
  if (!wait_for({"sinfo", "--noheader", "--Format=Nodes,StateCompact"},
                "2                   idle")) {
    problem_ = "the nodes do not become idle: " + testing::file_text(controller_->err_file());
  }
}

SlurmCluster::~SlurmCluster() {
  if (controller_) {
    run({"scancel", "--full", "--signal=KILL", "--user=root"});
    run({"scancel", "--user=root"});
    wait_for({"bash", "-c", "squeue --noheader | wc -l"}, "0\n", 2);  // what is left is killed
  }
  kill_node(0);
  kill_node(1);
}

void SlurmCluster::write_configuration() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  const auto ports = free_ports();
  const char* const settings[] = {"ClusterName=troupe",
                                  "SlurmUser=root",
                                  "SlurmdUser=root",
                                  "AuthType=auth/munge",
                                  "CryptoType=crypto/munge",
                                  "MpiDefault=none",
                                  "ProctrackType=proctrack/linuxproc",
                                  "TaskPlugin=task/none",
                                  "SelectType=select/cons_tres",
                                  "SelectTypeParameters=CR_Core",
                                  "SlurmdParameters=config_overrides",
                                  "SchedulerParameters=sched_interval=1,batch_sched_delay=0",
                                  "ReturnToService=2",
                                  "KillWait=10",
                                  "MessageTimeout=10",
                                  "JobAcctGatherType=jobacct_gather/none"};
  std::ofstream out(folder_ + "/slurm.conf");
  for (const char* setting : settings) {
    out << setting << "\n";
  }
  out << "SlurmctldHost=localhost(127.0.0.1)\nSlurmctldPort=" << ports[0] << "\n";
  for (const char* entry :
       {"AuthInfo=socket={}/munge.sock", "StateSaveLocation={}/state", "SlurmdSpoolDir={}/spool/%n",
        "SlurmctldPidFile={}/slurmctld.pid", "SlurmdPidFile={}/slurmd.%n.pid",
        "SlurmctldLogFile={}/slurmctld.log", "SlurmdLogFile={}/slurmd.%n.log"}) {
    out << fmt::format(fmt::runtime(entry), folder_) << "\n";
  }
  for (int node = 0; node < 2; ++node) {
    out << fmt::format("NodeName=n{} NodeHostname={} NodeAddr=127.0.0.1 Port={} CPUs=2\n", node + 1,
                       name.data(), ports[static_cast<std::size_t>(node) + 1]);
  }
  out << "PartitionName=all Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP\n";
}

Words SlurmCluster::command(const Words& words) const {
  Words all = {"/usr/bin/env", "SLURM_CONF=" + folder_ + "/slurm.conf"};
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

ProcessResult SlurmCluster::run(const Words& words) const {
  return run_process(command(words), folder_);
}

bool SlurmCluster::wait_for(const Words& words, const std::string& output, int seconds) const {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  while (run(words).out.find(output) == std::string::npos) {
    if (std::chrono::steady_clock::now() > until) {
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

void SlurmCluster::start(std::unique_ptr<Process>& daemon, const Words& words) {
  auto all = command({"setpriv", "--pdeathsig", "KILL"});
  all.insert(all.begin() + 1, "PATH=/usr/sbin:/usr/bin:/sbin:/bin");
  all.insert(all.end(), words.begin(), words.end());
  daemon = std::make_unique<Process>(all, folder_);
}

void SlurmCluster::start_node(int node) {
  start(nodes_[node], {"slurmd", "-D", "-N", fmt::format("n{}", node + 1)});
}

std::string SlurmCluster::job_value(const std::string& job, const std::string& key) const {
  std::istringstream words(run({"scontrol", "--oneliner", "show", "job", job}).out);
  for (std::string word; words >> word;) {
    if (word.starts_with(key + "=")) {
      return word.substr(key.size() + 1);
    }
  }
  return "";
}

/// The slurmstepds of a node: what they write goes to its log.
std::vector<pid_t> SlurmCluster::step_daemons(const std::string& node) const {
  std::vector<pid_t> found;
  std::error_code error;
  const auto log = folder_ + "/slurmd." + node + ".log";
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const auto pid = std::atoi(entry.path().filename().c_str());
    if (pid <= 0 ||
        testing::file_text(entry.path() / "cmdline").find("slurmstepd") == std::string::npos) {
      continue;
    }
    for (const auto& file : std::filesystem::directory_iterator(entry.path() / "fd", error)) {
      if (std::filesystem::read_symlink(file.path(), error) == log) {
        found.push_back(pid);
        break;
      }
    }
  }
  return found;
}

void SlurmCluster::kill_node(int node) {
  if (!nodes_[node]) {
    return;
  }
  nodes_[node].reset();
  for (const auto step : step_daemons(fmt::format("n{}", node + 1))) {
    std::error_code error;
    for (const auto& thread :
         std::filesystem::directory_iterator(fmt::format("/proc/{}/task", step), error)) {
      std::istringstream children(testing::file_text(thread.path() / "children"));
      for (pid_t child = 0; children >> child;) {
        kill(child, SIGKILL);
      }
    }
    kill(step, SIGKILL);
  }
}

}  // namespace troupe::testing
