#pragma once
/// \file network_hosts.hpp
/// Hosts on one machine: network namespaces with an address and an SSH server each, on a bridge in a
/// namespace of its own, so that nothing of the machine's network is touched or in the way.
/// Needs root, `ip`, and OpenSSH's client and server.
#include "tests/support/process.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace troupe::testing {

/// Lifecycle: made in the constructor, removed in the destructor with all that runs there; what a
///            killed test left is removed by the next
/// Threads:   one
class NetworkHosts {
 public:
  using Words = std::vector<std::string>;

  /// Why there can be none; empty: there can.
  static std::string unavailable();
  /// \param folder  for keys and logs
  /// \param own  folders that every host has for itself, empty at first; else all share the machine's
  NetworkHosts(std::size_t count, std::string folder, Words own = {});
  ~NetworkHosts();
  NetworkHosts(const NetworkHosts&) = delete;
  NetworkHosts& operator=(const NetworkHosts&) = delete;

  /// What went wrong in the constructor; empty: nothing.
  const std::string& problem() const { return problem_; }
  static std::string address(std::size_t host);
  /// An address that nobody has.
  static std::string nobody() { return "10.77.0.250"; }
  static std::string launcher_address() { return "10.77.0.1"; }
  std::string key() const { return folder_ + "/id"; }
  static const char* port() { return "2222"; }
  /// Settings of a job that starts hosts by ssh.
  Words ssh_settings() const;
  /// Before a command: runs it on the machine of the launcher, or on a host.
  Words at_launcher() const { return {"ip", "netns", "exec", name_ + "d"}; }
  Words at(std::size_t host) const { return {"ip", "netns", "exec", space(host)}; }

  /// Network namespace in which all that hosts and launcher say to each other passes.
  std::string middle() const { return name_ + "d"; }

  /// The two reach the launcher, but not each other.
  void separate(std::size_t a, std::size_t b) {
    ip({"ip", "-n", space(a), "route", "add", "blackhole", address(b) + "/32"});
    ip({"ip", "-n", space(b), "route", "add", "blackhole", address(a) + "/32"});
  }
  void cut(std::size_t host) { set_link(host, "down"); }
  void heal(std::size_t host) { set_link(host, "up"); }
  /// No packet of a connection passes any more, whichever end sends it; new connections do.
  /// \param port  of the host's end. \returns false: the kernel cannot
  bool drop_connection(std::size_t host, std::uint16_t port);
  /// Where the host's own folder lies on this machine.
  std::string own_folder(std::size_t host, std::size_t index) const;
  /// Runs a command by ssh.
  ProcessResult on(std::size_t host, const Words& words) const;
  /// False: the kernel cannot.
  bool slow(std::size_t host, const std::string& rate);

 private:
  std::string space(std::size_t host) const { return name_ + std::to_string(host); }
  bool ip(const Words& words);
  bool must(const Words& words);
  void make_host(std::size_t host);
  std::string own_mounts(std::size_t host) const;
  void set_link(std::size_t host, const char* state);

  std::string folder_;
  std::string name_;
  std::size_t count_;
  Words own_;
  std::string problem_;
};

}  // namespace troupe::testing
