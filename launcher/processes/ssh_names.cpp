#include "launcher/processes/ssh_names.hpp"

#include "launcher/processes/local_address.hpp"
#include "launcher/processes/tool_output.hpp"

#include <fmt/format.h>
#include <sstream>
#include <utility>
#include <vector>

namespace troupe {

SshName find_ssh_name(const SshJob& ssh, const std::string& name) {
  if (has_address(name)) {
    return {name, true};
  }
  std::vector<std::string> words = {"ssh", "-G"};
  words.insert(words.end(), ssh.options.begin(), ssh.options.end());
  words.insert(words.end(), {"--", name});
  const auto printed = tool_output(words);
  std::istringstream lines(printed ? *printed : "");
  SshName found;
  for (std::string key, value; lines >> key && std::getline(lines >> std::ws, value);) {
    const bool passes_on = (key == "proxyjump" || key == "proxycommand") && value != "none";
    if (key == "hostname" && value != name && has_address(value)) {
      found.address = value;
    }
    found.known = found.known || passes_on || !found.address.empty();
  }
  return found;
}

Result<std::string> address_towards_hosts(const ClusterJob& cluster) {
  std::string own;
  for (const auto& host : cluster.named) {
    const auto there = find_ssh_name(cluster.ssh, host.address).address;
    if (!there.empty() && !is_own_address(there)) {
      return local_address_towards(there);
    }
    own = own.empty() ? there : own;
  }
  if (own.empty()) {
    return Error(Errc::not_found,
                 fmt::format("cluster.listen: expected HOST:PORT where the hosts reach this one, "
                             "found nothing, and no host's name has an address here; try: "
                             "cluster.listen=ADDRESS:0, and listen= on each host's line"));
  }
  return local_address_towards(own);
}

std::string listen_address_there(const SshJob& ssh, const HostSpec& host,
                                 const std::string& director) {
  if (!host.listen.empty()) {
    return host.listen;
  }
  const auto found = find_ssh_name(ssh, host.address).address;
  const auto& at = found.empty() ? host.address : found;
  const auto towards = host_of_address(director);
  return is_loopback(at) && !is_loopback(towards) ? towards : at;
}

}  // namespace troupe
