#ifdef TROUPE_HAVE_UCX
#include "runtime/net/ucx_context.hpp"

#include "runtime/net/ucx.hpp"
#include "runtime/net/ucx_lane.hpp"

#include <array>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <sys/uio.h>
#include <unistd.h>
#include <utility>

namespace troupe::net {
namespace {

/// Whether a process may read another's memory: the kernel offers it and is not set to refuse.
bool can_read_processes() {
  std::uint64_t from = 1;
  std::uint64_t to = 0;
  const iovec local{&to, sizeof to};
  const iovec remote{&from, sizeof from};
  int scope = 0;
  std::ifstream("/proc/sys/kernel/yama/ptrace_scope") >> scope;
  return scope == 0 &&
         process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(sizeof from);
}

bool has_rdma() {
  std::error_code none;
  return std::filesystem::directory_iterator("/sys/class/infiniband", none) !=
         std::filesystem::directory_iterator();
}

/// sysv is left out: its segments outlive a killed process. tcp too: that is what links have.
std::string transports() {
  std::string names = "posix";
  names += can_read_processes() ? ",cma" : "";
  names += has_rdma() ? ",ib" : "";
  return names;
}

}  // namespace

UcxContext::~UcxContext() {
  if (context_ != nullptr) {
    const std::lock_guard guard(UcxApi::library_lock());
    api_.cleanup(context_);
  }
}

Error UcxContext::error(const char* call, ucs_status_t status) const {
  return {Errc::failed_precondition,
          fmt::format("UCX: {}: {}\ntry: \"tcp\"", call, api_.status_string(status))};
}

Result<std::shared_ptr<UcxContext>> UcxContext::open(TcpIo::State* io) {
  std::shared_ptr<UcxContext> context;  // destroyed after the lock is let go
  const std::lock_guard guard(UcxApi::library_lock());
  TROUPE_ASSIGN_OR_RETURN(const auto api, UcxApi::load());
  context = std::make_shared<UcxContext>(io, api);
  TROUPE_RETURN_IF_ERROR(context->start());
  return context;
}

/// What a version of UCX does not know of these is without effect.
Status UcxContext::set_options(ucp_config_t* config) {
  const auto names = transports();
  const std::array<std::pair<const char*, std::string>, 8> options{{
      {"TLS", names},
      {"KEEPALIVE_INTERVAL", "inf"},  // the TCP connection beside it tells
      {"USE_PROC_LINK", "y"},
      {"MM_HUGETLB_MODE", "n"},
      {"MM_ERROR_HANDLING", "y"},
      {"MM_RX_BUFS_GROW", "64"},  // of 8 KiB, per link
      // Else endpoints that may fail never read the peer's memory. A read that comes too late takes
      // bytes that its link, which is over, throws away.
      {"MEMORY_INVALIDATE", "y"},
      {"REG_METHODS", "direct"},  // no cache of registrations, hence no hooks in malloc
  }};
  for (const auto& [name, value] : options) {
    if (const auto status = api_.config_modify(config, name, value.c_str()); status != UCS_OK) {
      return error(name, status);
    }
  }
  what_ = fmt::format("UCX {}: {}", api_.get_version_string(), names);
  return ok_status();
}

Status UcxContext::start() {
  ucp_config_t* config = nullptr;
  if (const auto status = api_.config_read(nullptr, nullptr, &config); status != UCS_OK) {
    return error("its settings", status);
  }
  auto configured = set_options(config);
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_NAME;
  params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
  params.name = "troupe";
  auto status = UCS_OK;
  if (configured) {
    status = api_.init_version(UCP_API_MAJOR, UCP_API_MINOR, &params, config, &context_);
  }
  api_.config_release(config);
  TROUPE_RETURN_IF_ERROR(std::move(configured));
  return status == UCS_OK ? ok_status() : Status(error("ucp_init", status));
}

Result<std::shared_ptr<UcxLane>> UcxContext::lane(UcxLaneEvents& events,
                                                  const FrameLimits& limits) {
  TROUPE_ASSIGN_OR_RETURN(auto lane, UcxStreamLane::open(shared_from_this(), events, limits));
  return std::shared_ptr<UcxLane>(std::move(lane));
}

Result<std::shared_ptr<UcxPort>> UcxPort::open(TcpIo::State& io) {
  TROUPE_ASSIGN_OR_RETURN(auto context, UcxContext::open(&io));
  return std::shared_ptr<UcxPort>(std::move(context));
}

bool ucx_built() {
  return true;
}

Result<std::string> ucx_here() {
  TROUPE_ASSIGN_OR_RETURN(const auto context, UcxContext::open(nullptr));
  return context->what();
}

}  // namespace troupe::net
#endif
