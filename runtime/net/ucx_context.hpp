#pragma once
/// \file ucx_context.hpp
/// The UCX of a process: its library and its settings. For the sources of UCX links only.
#ifdef TROUPE_HAVE_UCX
#include "runtime/net/ucx_api.hpp"
#include "runtime/net/ucx_port.hpp"

#include <memory>
#include <string>

namespace troupe::net {

/// Guarantees: leaves no file of shared memory behind, whatever ends the process: UCX unlinks each
///   one before it is used
class UcxContext final : public UcxPort, public std::enable_shared_from_this<UcxContext> {
 public:
  static Result<std::shared_ptr<UcxContext>> open(TcpIo::State* io);
  UcxContext(TcpIo::State* io, const UcxApi& api) : io_(io), api_(api) {}
  ~UcxContext() override;
  Result<std::shared_ptr<UcxLane>> lane(UcxLaneEvents& events, const FrameLimits& limits) override;
  const std::string& what() const override { return what_; }

  const UcxApi& api() const { return api_; }
  ucp_context_h handle() const { return context_; }
  TcpIo::State& io() const { return *io_; }
  /// \returns failed_precondition, with what UCX says
  Error error(const char* call, ucs_status_t status) const;

 private:
  Status start();
  Status set_options(ucp_config_t* config);

  TcpIo::State* const io_;
  const UcxApi api_;
  ucp_context_h context_ = nullptr;
  std::string what_;
};

}  // namespace troupe::net
#endif
