#ifdef TROUPE_HAVE_UCX
#include "runtime/net/ucx_api.hpp"

#include <array>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <dlfcn.h>
#include <fmt/format.h>
#include <string>
#include <ucs/debug/log_def.h>

namespace troupe::net {
namespace {

/// Handlers of all signals and the signal stack of this thread, put back at the end.
class SignalsKept {
 public:
  SignalsKept() {
    for (std::size_t i = 1; i < actions_.size(); ++i) {
      known_[i] = sigaction(static_cast<int>(i), nullptr, &actions_[i]) == 0;
    }
    stack_known_ = sigaltstack(nullptr, &stack_) == 0;
  }
  ~SignalsKept() {
    for (std::size_t i = 1; i < actions_.size(); ++i) {
      struct sigaction now {};
      if (known_[i] && sigaction(static_cast<int>(i), nullptr, &now) == 0 &&
          now.sa_sigaction != actions_[i].sa_sigaction) {
        sigaction(static_cast<int>(i), &actions_[i], nullptr);
      }
    }
    if (stack_known_) {
      sigaltstack(&stack_, nullptr);
    }
  }
  SignalsKept(const SignalsKept&) = delete;
  SignalsKept& operator=(const SignalsKept&) = delete;

 private:
  std::array<struct sigaction, 32> actions_{};
  std::array<bool, 32> known_{};
  stack_t stack_{};
  bool stack_known_ = false;
};

/// UCX's own would write to standard output. Errors come back from its calls; a peer that goes away
/// is no news.
[[gnu::format(printf, 6, 0)]] ucs_log_func_rc_t say(const char*, unsigned, const char*,
                                                    ucs_log_level_t level,
                                                    const ucs_log_component_config_t*,
                                                    const char* message, va_list arguments) {
  if (level == UCS_LOG_LEVEL_FATAL) {
    std::array<char, 1024> text{};
    std::vsnprintf(text.data(), text.size(), message, arguments);
    std::fprintf(stderr, "troupe: UCX: %s\n", text.data());
  }
  return UCS_LOG_FUNC_RC_STOP;
}

/// Finds functions by name and remembers the first that is missing.
class Finder {
 public:
  explicit Finder(void* library) : library_(library) {}
  template <class F>
  Finder& operator()(F& function, const char* name) {
    function = reinterpret_cast<F>(dlsym(library_, name));
    if (function == nullptr && missing_.empty()) {
      missing_ = name;
    }
    return *this;
  }
  const std::string& missing() const { return missing_; }

 private:
  void* library_;
  std::string missing_;
};

Error cannot_load(const std::string& why) {
  return {Errc::failed_precondition,
          fmt::format("UCX cannot be loaded: {}\ntry: install libucx0, or use \"tcp\"", why)};
}

/// Before anything else in it runs.
void make_quiet(decltype(&ucs_log_push_handler) push, decltype(&ucs_log_num_handlers) handlers,
                decltype(&ucs_global_opts_set_value) set) {
  if (handlers() < 2) {  // its own, and this one
    push(say);
    set("HANDLE_ERRORS", "none");
    set("LOG_LEVEL", "error");
    set("WARN_UNUSED_ENV_VARS", "n");
  }
}

}  // namespace

std::mutex& UcxApi::library_lock() {
  static std::mutex lock;
  return lock;
}

Result<UcxApi> UcxApi::load() {
  const SignalsKept kept;
  // Never unloaded: it keeps hooks and threads that do not stand it.
  void* ucp = dlopen("libucp.so.0", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  void* ucs = dlopen("libucs.so.0", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (ucp == nullptr || ucs == nullptr) {
    const char* why = dlerror();
    return cannot_load(why != nullptr ? why : "no reason given");
  }
  UcxApi api;
  Finder find(ucp);
  find(api.config_read, "ucp_config_read")(api.config_modify, "ucp_config_modify")(
      api.config_release, "ucp_config_release")(api.init_version, "ucp_init_version")(
      api.cleanup, "ucp_cleanup")(api.get_version_string, "ucp_get_version_string")(
      api.get_version, "ucp_get_version")(api.worker_create, "ucp_worker_create")(
      api.worker_destroy, "ucp_worker_destroy")(api.worker_get_address, "ucp_worker_get_address")(
      api.worker_release_address, "ucp_worker_release_address")(
      api.worker_get_efd, "ucp_worker_get_efd")(api.worker_arm, "ucp_worker_arm")(
      api.worker_progress, "ucp_worker_progress")(api.worker_set_am_recv_handler,
                                                  "ucp_worker_set_am_recv_handler")(
      api.ep_create, "ucp_ep_create")(api.ep_close_nbx, "ucp_ep_close_nbx")(
      api.am_send_nbx, "ucp_am_send_nbx")(api.am_recv_data_nbx, "ucp_am_recv_data_nbx")(
      api.am_data_release, "ucp_am_data_release")(api.request_free, "ucp_request_free");
  Finder find_below(ucs);
  decltype(&ucs_log_push_handler) push = nullptr;
  decltype(&ucs_log_num_handlers) handlers = nullptr;
  decltype(&ucs_global_opts_set_value) set = nullptr;
  find_below(api.status_string, "ucs_status_string")(push, "ucs_log_push_handler")(
      handlers, "ucs_log_num_handlers")(set, "ucs_global_opts_set_value");
  for (const auto& missing : {find.missing(), find_below.missing()}) {
    if (!missing.empty()) {
      return cannot_load("expected version 1.13 or later, found one without " + missing);
    }
  }
  make_quiet(push, handlers, set);
  return api;
}

}  // namespace troupe::net
#endif
