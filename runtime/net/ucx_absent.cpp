// In place of UCX in a build without it.
#ifndef TROUPE_HAVE_UCX
#include "runtime/net/ucx.hpp"
#include "runtime/net/ucx_port.hpp"

namespace troupe::net {
namespace {

Error not_built() {
  return {Errc::unimplemented,
          "this build has no UCX\ntry: install libucx-dev and build again, or use \"tcp\""};
}

}  // namespace

bool ucx_built() {
  return false;
}

Result<std::string> ucx_here() {
  return not_built();
}

Result<std::shared_ptr<UcxPort>> UcxPort::open(TcpIo::State&) {
  return not_built();
}

}  // namespace troupe::net
#endif
