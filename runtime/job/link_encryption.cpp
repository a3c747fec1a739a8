#include "runtime/job/link_encryption.hpp"

#include "runtime/net/tcp_address.hpp"

namespace troupe {
namespace {

bool is_loopback(const std::string& listen) {
  const auto address = net::parse_tcp_address(listen);
  return address.ok() && (address->host == "localhost" || address->host == "::1" ||
                          address->host.starts_with("127."));
}

bool leaves_machine(const ClusterJob& cluster) {
  return cluster.launch != "simulate" && cluster.launch != "local" &&
         !(cluster.launch == "manual" && is_loopback(cluster.listen));
}

}  // namespace

LinkEncryption link_encryption(const ClusterJob& cluster) {
  if (cluster.launch == "simulate" || cluster.tls == false) {
    return LinkEncryption::none;
  }
  if (cluster.tls == true) {
    return LinkEncryption::all;
  }
  const bool plain =
      cluster.launch == "local" || cluster.launch == "slurm" || cluster.trusted_network;
  return plain ? LinkEncryption::none : LinkEncryption::between_machines;
}

std::string plain_links_warning(const ClusterJob& cluster) {
  if (!leaves_machine(cluster) || cluster.trusted_network ||
      link_encryption(cluster) != LinkEncryption::none) {
    return "";
  }
  const std::string what =
      "links between machines are not encrypted: who reads along sees features, labels and "
      "parameters";
  return cluster.tls == false
             ? what + "; try: cluster.tls \"auto\", or cluster.trusted_network true if nobody can"
             : what +
                   "; srun would pass on a key unencrypted; say cluster.trusted_network true if "
                   "nobody can";
}

}  // namespace troupe
