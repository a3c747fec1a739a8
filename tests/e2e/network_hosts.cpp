#include "tests/support/network_hosts.hpp"

#include "tests/support/file_text.hpp"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fmt/format.h>
#include <signal.h>
#include <sstream>
#include <thread>
#include <unistd.h>

namespace troupe::testing {
namespace {

using Words = NetworkHosts::Words;

constexpr const char* prefix = "trnet-";
constexpr const char* sshd = "/usr/sbin/sshd";

ProcessResult by_path(Words words, const std::string& folder) {
  words.insert(words.begin(), "/usr/bin/env");
  return run_process(words, folder);
}

std::vector<std::string> namespaces() {
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/run/netns", error)) {
    if (const auto name = entry.path().filename().string(); name.starts_with(prefix)) {
      found.push_back(name);
    }
  }
  return found;
}

/// Ends what runs in a namespace of ours, and removes it.
void remove_namespace(const std::string& name, const std::string& folder) {
  std::istringstream pids(by_path({"ip", "netns", "pids", name}, folder).out);
  for (int pid = 0; pids >> pid;) {
    kill(pid, SIGKILL);
  }
  by_path({"ip", "netns", "del", name}, folder);
}

/// Of tests that were killed: their process is no more.
void remove_leftovers(const std::string& folder) {
  for (const auto& name : namespaces()) {
    const auto pid = std::atoi(name.c_str() + std::string(prefix).size());
    if (pid > 0 && kill(pid, 0) != 0) {
      remove_namespace(name, folder);
    }
  }
}

}  // namespace

std::string NetworkHosts::unavailable() {
  if (geteuid() != 0) {
    return "network namespaces need root";
  }
  for (const char* program : {"ip", "ssh", "ssh-keygen"}) {
    if (!is_installed(program)) {
      return std::string("there is no ") + program + " (packages.txt, [test])";
    }
  }
  if (access(sshd, X_OK) != 0) {
    return std::string("there is no ") + sshd + " (packages.txt, [test])";
  }
  const auto folder = std::filesystem::temp_directory_path().string();
  const auto name = fmt::format("{}{}-try", prefix, getpid());
  const auto made = by_path({"ip", "netns", "add", name}, folder);
  if (made.exit_code != 0) {
    return "no network namespaces here: " + made.err;
  }
  remove_namespace(name, folder);
  return "";
}

NetworkHosts::NetworkHosts(std::size_t count, std::string folder, Words own)
    : folder_(std::move(folder)), count_(count), own_(std::move(own)) {
  static std::atomic<int> counter{0};
  name_ = fmt::format("{}{}-{}-", prefix, getpid(), counter++);
  remove_leftovers(folder_);
  const auto launcher = name_ + "d";
  const bool good =
      must({"ip", "netns", "add", launcher}) &&
      must({"ip", "-n", launcher, "link", "set", "lo", "up"}) &&
      must({"ip", "-n", launcher, "link", "add", "bridge", "type", "bridge"}) &&
      must({"ip", "-n", launcher, "addr", "add", launcher_address() + "/24", "dev", "bridge"}) &&
      must({"ip", "-n", launcher, "link", "set", "bridge", "up"}) &&
      must({"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder_ + "/host_key"}) &&
      must({"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key()});
  if (good) {
    std::filesystem::copy_file(key() + ".pub", folder_ + "/authorized");
    std::error_code error;
    std::filesystem::create_directories("/run/sshd", error);
  }
  for (std::size_t host = 0; host < count_ && problem_.empty(); ++host) {
    make_host(host);
  }
}

NetworkHosts::~NetworkHosts() {
  for (std::size_t host = 0; host < count_; ++host) {
    remove_namespace(space(host), folder_);
  }
  remove_namespace(name_ + "d", folder_);
}

std::string NetworkHosts::address(std::size_t host) {
  return "10.77.0." + std::to_string(11 + host);
}

bool NetworkHosts::ip(const Words& words) {
  return by_path(words, folder_).exit_code == 0;
}

bool NetworkHosts::must(const Words& words) {
  const auto done = by_path(words, folder_);
  if (done.exit_code != 0) {
    problem_ = fmt::format("{} {} …: {}", words[0], words[1], done.err);
  }
  return done.exit_code == 0;
}

std::string NetworkHosts::own_folder(std::size_t host, std::size_t index) const {
  return fmt::format("{}/own-{}-{}", folder_, host, index);
}

/// `ip netns exec` has given the host's server a list of mounts of its own.
std::string NetworkHosts::own_mounts(std::size_t host) const {
  std::string script;
  for (std::size_t i = 0; i < own_.size(); ++i) {
    std::filesystem::create_directories(own_folder(host, i));
    std::filesystem::create_directories(own_[i]);
    script += fmt::format("mount --bind '{}' '{}' && ", own_folder(host, i), own_[i]);
  }
  return script + "exec \"$@\"";
}

ProcessResult NetworkHosts::on(std::size_t host, const Words& words) const {
  auto all = at_launcher();
  all.insert(all.end(), {"ssh", "-p", port(), "-i", key(), "-o", "StrictHostKeyChecking=no", "-o",
                         "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR", address(host)});
  all.insert(all.end(), words.begin(), words.end());
  return by_path(all, folder_);
}

void NetworkHosts::make_host(std::size_t host) {
  const auto here = name_ + "d";
  const auto there = space(host);
  const auto port_of_bridge = fmt::format("v{}", host);
  const auto log = fmt::format("{}/sshd-{}.log", folder_, host);
  const bool good =
      must({"ip", "netns", "add", there}) &&
      must({"ip", "-n", here, "link", "add", port_of_bridge, "type", "veth", "peer", "name", "eth0",
            "netns", there}) &&
      must({"ip", "-n", here, "link", "set", port_of_bridge, "master", "bridge"}) &&
      must({"ip", "-n", here, "link", "set", port_of_bridge, "up"}) &&
      must({"ip", "-n", there, "addr", "add", address(host) + "/24", "dev", "eth0"}) &&
      must({"ip", "-n", there, "link", "set", "eth0", "up"}) &&
      must({"ip", "-n", there, "link", "set", "lo", "up"}) &&
      must({"ip",
            "netns",
            "exec",
            there,
            "sh",
            "-c",
            own_mounts(host),
            "sh",
            sshd,
            "-f",
            "/dev/null",
            "-p",
            port(),
            "-E",
            log,
            "-o",
            "HostKey=" + folder_ + "/host_key",
            "-o",
            "AuthorizedKeysFile=" + folder_ + "/authorized",
            "-o",
            "PidFile=none",
            "-o",
            "StrictModes=no",
            "-o",
            "UsePAM=no",
            "-o",
            "SetEnv=SHLVL=2",  // so bash does not read the user's .bashrc, which may take long
            "-o",
            "ListenAddress=" + address(host)});
  for (int i = 0; good && i < 500; ++i) {  // it listens after it has gone to the background
    const std::string text = testing::file_text(log);
    if (text.find("Server listening") != std::string::npos) {
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  problem_ += fmt::format(" host {}: its ssh server does not listen", host);
}

void NetworkHosts::set_link(std::size_t host, const char* state) {
  ip({"ip", "-n", name_ + "d", "link", "set", fmt::format("v{}", host), state});
}

bool NetworkHosts::drop_connection(std::size_t host, std::uint16_t port) {
  const auto number = std::to_string(port);
  bool good =
      ip({"ip", "-n", space(host), "rule", "add", "ipproto", "tcp", "sport", number, "blackhole"});
  for (std::size_t other = 0; other <= count_; ++other) {  // the last one is the launcher
    const auto at = other == count_ ? name_ + "d" : space(other);
    good = good && (other == host || ip({"ip", "-n", at, "rule", "add", "to", address(host),
                                         "ipproto", "tcp", "dport", number, "blackhole"}));
  }
  return good;
}

bool NetworkHosts::slow(std::size_t host, const std::string& rate) {
  return is_installed("tc") &&
         ip({"tc", "-n", name_ + "d", "qdisc", "add", "dev", fmt::format("v{}", host), "root",
             "tbf", "rate", rate, "burst", "16kbit", "latency", "50ms"});
}

Words NetworkHosts::ssh_settings() const {
  return {
      "cluster.launch=ssh", fmt::format("cluster.ssh.port={}", port()), "cluster.ssh.key=" + key(),
      "cluster.ssh.options=[\"-o\",\"StrictHostKeyChecking=no\",\"-o\","
      "\"UserKnownHostsFile=/dev/null\",\"-o\",\"LogLevel=ERROR\",\"-o\",\"ConnectTimeout=3\"]"};
}

}  // namespace troupe::testing
