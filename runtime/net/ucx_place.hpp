#pragma once
/// \file ucx_place.hpp
/// Whether two processes can share memory as UCX does it.
#include <cstdint>

namespace troupe::net {

/// UCX wakes a peer by a socket with an abstract name, which is looked up in the network namespace, and
/// finds its memory below /proc and in /dev/shm. Where these differ it says nothing and the peer sleeps
/// on.
struct UcxPlace {
  std::uint64_t machine = 0;  ///< of its boot id
  std::uint64_t space = 0;    ///< of its namespaces of network and processes, and of its /dev/shm
  friend bool operator==(const UcxPlace&, const UcxPlace&) = default;
};

/// Of this process; 0 where the system does not tell.
UcxPlace ucx_place();

/// On one machine, but apart.
inline bool is_apart(const UcxPlace& one, const UcxPlace& other) {
  return one.machine == other.machine && one.space != other.space;
}

}  // namespace troupe::net
