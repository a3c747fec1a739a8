#pragma once
/// \file ucx_api.hpp
/// UCX's library, loaded when it is wanted: a program runs where it is not installed. For the
/// sources of UCX links only.
#ifdef TROUPE_HAVE_UCX
#include "runtime/base/result.hpp"

#include <mutex>
#include <ucp/api/ucp.h>

namespace troupe::net {

/// The functions of the library that are used.
/// Guarantees: loading leaves the signal handlers of the process and the thread's signal stack as
///   they were; what UCX says before it ends the program goes to standard error
struct UcxApi {
  /// Held while a context or worker is made or destroyed: the library's own settings and tables are
  /// those of the whole process.
  static std::mutex& library_lock();
  /// \requires library_lock() is held
  /// \errors failed_precondition: not installed, or not one that has these functions
  static Result<UcxApi> load();

  decltype(&::ucp_config_read) config_read = nullptr;
  decltype(&::ucp_config_modify) config_modify = nullptr;
  decltype(&::ucp_config_release) config_release = nullptr;
  decltype(&::ucp_init_version) init_version = nullptr;
  decltype(&::ucp_cleanup) cleanup = nullptr;
  decltype(&::ucp_get_version) get_version = nullptr;
  decltype(&::ucp_get_version_string) get_version_string = nullptr;
  decltype(&::ucp_worker_create) worker_create = nullptr;
  decltype(&::ucp_worker_destroy) worker_destroy = nullptr;
  decltype(&::ucp_worker_get_address) worker_get_address = nullptr;
  decltype(&::ucp_worker_release_address) worker_release_address = nullptr;
  decltype(&::ucp_worker_get_efd) worker_get_efd = nullptr;
  decltype(&::ucp_worker_arm) worker_arm = nullptr;
  decltype(&::ucp_worker_progress) worker_progress = nullptr;
  decltype(&::ucp_worker_set_am_recv_handler) worker_set_am_recv_handler = nullptr;
  decltype(&::ucp_ep_create) ep_create = nullptr;
  decltype(&::ucp_ep_close_nbx) ep_close_nbx = nullptr;
  decltype(&::ucp_am_send_nbx) am_send_nbx = nullptr;
  decltype(&::ucp_am_recv_data_nbx) am_recv_data_nbx = nullptr;
  decltype(&::ucp_am_data_release) am_data_release = nullptr;
  decltype(&::ucp_request_free) request_free = nullptr;
  decltype(&::ucs_status_string) status_string = nullptr;
};

}  // namespace troupe::net
#endif
