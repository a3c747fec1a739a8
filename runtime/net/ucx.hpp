#pragma once
/// \file ucx.hpp
/// Whether links of this process can use UCX: shared memory between the processes of a host, RDMA
/// between hosts. UCX is optional when this is built and, loaded when it is first wanted, when it
/// runs.
#include "runtime/base/result.hpp"

#include <cstdint>
#include <string>

namespace troupe::net {

/// Both ends of a connection must agree on `off` or not; the handshake refuses all else.
enum class UcxUse : std::uint8_t {
  off,
  if_possible,  ///< else frames go over TCP
  required,     ///< a link that cannot use it both ways is closed with failed_precondition
};

bool ucx_built();

/// What UCX would use here, e.g. "UCX 1.13.1: posix, cma". Opens and closes it, which takes
/// milliseconds.
/// \errors unimplemented: built without it; failed_precondition: its library is not installed, or
///   does not start, with its reason
Result<std::string> ucx_here();

}  // namespace troupe::net
