#pragma once
/// \file link_encryption.hpp
/// Which links of a run are encrypted, from its job alone, so that all its processes say the same.
#include "runtime/job/job.hpp"

#include <cstdint>
#include <string>

namespace troupe {

enum class LinkEncryption : std::uint8_t {
  none,
  between_machines,  ///< what stays inside a machine is plain, and may share memory
  all,
};

/// `cluster.tls`; "auto" encrypts what leaves a machine, unless `cluster.trusted_network` says that it
/// need not, or `launch` is "slurm": srun passes on key and token unencrypted, so that who reads along
/// would have them.
LinkEncryption link_encryption(const ClusterJob& cluster);

/// A line for people about links that leave a machine without encryption; empty: there are none.
std::string plain_links_warning(const ClusterJob& cluster);

}  // namespace troupe
