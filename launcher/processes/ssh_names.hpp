#pragma once
/// \file ssh_names.hpp
/// Hosts as the configuration of ssh knows them: names that only ssh replaces, and hosts behind other hosts.
#include "runtime/base/result.hpp"
#include "runtime/job/job.hpp"

#include <string>

namespace troupe {

struct SshName {
  std::string address;  ///< name or address that this host can resolve; empty: none
  bool known = false;   ///< ssh reaches it, as far as is known without connecting
};

/// Without a connection; asks ssh where the name does not resolve here.
SshName find_ssh_name(const SshJob& ssh, const std::string& name);

/// Address that the director's process listens at for hosts by ssh: the one towards the first of them that is
/// another host, as the own name may stand for an address that only this host reaches.
/// \errors not_found: no host has an address here, or there is no way to it
Result<std::string> address_towards_hosts(const ClusterJob& cluster);

/// Where the processes of a host by ssh listen: what its line says, else its address. An own loopback address is
/// replaced where the director listens at another.
/// \param director  address of the director's process
std::string listen_address_there(const SshJob& ssh, const HostSpec& host,
                                 const std::string& director);

}  // namespace troupe
