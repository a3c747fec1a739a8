#ifdef TROUPE_HAVE_UCX
#include "runtime/net/ucx_worker.hpp"

#include "runtime/net/ucx.hpp"
#include "runtime/net/ucx_lane.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <openssl/rand.h>
#include <sys/uio.h>
#include <unistd.h>
#include <utility>

namespace troupe::net {
namespace {

constexpr unsigned progress_in_a_row = 64;  // then sockets and timers have their turn
constexpr unsigned longest_drain = 10'000;

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

Error UcxWorker::error(const char* call, ucs_status_t status) const {
  return {Errc::failed_precondition,
          fmt::format("UCX: {}: {}\ntry: \"tcp\"", call, api_.status_string(status))};
}

UcxWorker::UcxWorker(TcpIo::State& io, const UcxApi& api)
    : io_(io), api_(api), readable_(io.context) {}

UcxWorker::~UcxWorker() {
  const std::lock_guard guard(UcxApi::library_lock());
  if (readable_.is_open()) {
    readable_.release();  // UCX's
  }
  if (worker_ != nullptr) {
    api_.worker_destroy(worker_);
  }
  if (context_ != nullptr) {
    api_.cleanup(context_);
  }
}

Result<std::shared_ptr<UcxWorker>> UcxWorker::open(TcpIo::State& io) {
  std::shared_ptr<UcxWorker> worker;  // destroyed after the lock is let go
  const std::lock_guard guard(UcxApi::library_lock());
  TROUPE_ASSIGN_OR_RETURN(const auto api, UcxApi::load());
  worker = std::make_shared<UcxWorker>(io, api);
  TROUPE_RETURN_IF_ERROR(worker->start());
  return worker;
}

Status UcxWorker::set_options(ucp_config_t* config) {
  const auto names = transports();
  const std::array<std::pair<const char*, std::string>, 7> options{{
      {"TLS", names},
      {"KEEPALIVE_INTERVAL", "inf"},  // the TCP connection beside it tells
      {"USE_PROC_LINK", "y"},
      {"MM_HUGETLB_MODE", "n"},
      {"MM_ERROR_HANDLING", "y"},
      {"MM_RX_BUFS_GROW", "128"},  // of 8 KiB, at first
      {"IB_REG_METHODS", "direct"},   // no cache of registrations, hence no hooks in malloc
  }};
  for (const auto& [name, value] : options) {
    if (const auto status = api_.config_modify(config, name, value.c_str()); status != UCS_OK) {
      return error(name, status);
    }
  }
  what_ = fmt::format("UCX {}: {}", api_.get_version_string(), names);
  return ok_status();
}

Status UcxWorker::start() {
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
  if (status != UCS_OK) {
    return error("ucp_init", status);
  }
  ucp_worker_params_t worker_params{};
  worker_params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  worker_params.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  if (status = api_.worker_create(context_, &worker_params, &worker_); status != UCS_OK) {
    return error("ucp_worker_create", status);
  }
  ucp_am_handler_param_t handler{};
  handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                       UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
  handler.id = ucx_message_id;
  handler.flags = UCP_AM_FLAG_PERSISTENT_DATA;
  handler.cb = &UcxWorker::on_message;
  handler.arg = this;
  if (status = api_.worker_set_am_recv_handler(worker_, &handler); status != UCS_OK) {
    return error("ucp_worker_set_am_recv_handler", status);
  }
  int descriptor = -1;
  if (status = api_.worker_get_efd(worker_, &descriptor); status != UCS_OK) {
    return error("ucp_worker_get_efd", status);
  }
  boost::system::error_code failed;
  readable_.assign(descriptor, failed);
  ucp_address_t* address = nullptr;
  std::size_t bytes = 0;
  if (status = api_.worker_get_address(worker_, &address, &bytes); status != UCS_OK) {
    return error("ucp_worker_get_address", status);
  }
  const auto* begin = reinterpret_cast<const std::byte*>(address);
  address_.assign(begin, begin + bytes);
  api_.worker_release_address(worker_, address);
  return ok_status();
}

Result<std::shared_ptr<UcxLane>> UcxWorker::lane(UcxLaneEvents& events, const FrameLimits& limits) {
  UcxOffer offer;
  offer.address = address_;
  if (RAND_bytes(reinterpret_cast<unsigned char*>(offer.key.data()),
                 static_cast<int>(offer.key.size())) != 1) {
    return Error(Errc::internal, "UCX: the system gave no random bytes for a link's key");
  }
  const auto key = offer.key;
  const auto lane = std::make_shared<UcxStreamLane>(*this, events, limits, std::move(offer));
  lanes_.emplace(key, lane.get());
  all_.emplace(lane.get(), lane);
  schedule();
  return std::shared_ptr<UcxLane>(lane);
}

void UcxWorker::forget(UcxStreamLane& lane) {
  if (const auto found = all_.find(&lane); found != all_.end()) {
    touched_.push_back(std::move(found->second));  // destroyed when no call of its own is under way
    all_.erase(found);
    schedule();
  }
}

void UcxWorker::keep_to_the_end(UcxStreamLane& lane) {
  if (const auto found = all_.find(&lane); found != all_.end()) {
    kept_.push_back(std::move(found->second));
    all_.erase(found);
    schedule();
  }
}

ucs_status_t UcxWorker::on_message(void* self, const void* header, std::size_t header_bytes,
                                   void* data, std::size_t bytes,
                                   const ucp_am_recv_param_t* param) {
  auto& worker = *static_cast<UcxWorker*>(self);
  UcxChunkHeader chunk;
  if (header_bytes == sizeof chunk) {
    std::memcpy(&chunk, header, sizeof chunk);
    if (const auto found = worker.lanes_.find(chunk.key); found != worker.lanes_.end()) {
      const bool rendezvous = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0;
      return found->second->on_chunk(chunk.number, {data, bytes, rendezvous});
    }
  }
  ++worker.io_.ucx_strangers;
  return UCS_OK;
}

bool UcxWorker::progress() {
  return api_.worker_progress(worker_) != 0;
}

void UcxWorker::touch(UcxStreamLane& lane) {
  if (const auto found = all_.find(&lane); found != all_.end()) {
    touched_.push_back(found->second);
    schedule();
  }
}

void UcxWorker::settle() {
  for (const auto& lane : std::exchange(touched_, {})) {
    lane->settle();
  }
}

void UcxWorker::drain() {
  for (unsigned i = 0; i < longest_drain && (progress() || !touched_.empty()); ++i) {
    settle();
  }
}

void UcxWorker::schedule() {
  if (!std::exchange(scheduled_, true)) {
    asio::post(io_.context, [this, keep = shared_from_this()] { run(); });
  }
}

void UcxWorker::run() {
  for (unsigned i = 0; i < progress_in_a_row; ++i) {
    const bool worked = progress();
    settle();
    if (!worked && touched_.empty()) {
      break;
    }
  }
  scheduled_ = false;
  if (all_.empty()) {
    boost::system::error_code ignored;
    readable_.cancel(ignored);
    return;
  }
  if (!touched_.empty() || api_.worker_arm(worker_) != UCS_OK) {
    return schedule();
  }
  wait();
}

void UcxWorker::wait() {
  if (!std::exchange(waiting_, true)) {
    readable_.async_wait(asio::posix::stream_descriptor::wait_read,
                         [this, keep = shared_from_this()](const boost::system::error_code& error) {
                           waiting_ = false;
                           if (!error || !all_.empty()) {
                             schedule();
                           }
                         });
  }
}

Result<std::shared_ptr<UcxPort>> UcxPort::open(TcpIo::State& io) {
  TROUPE_ASSIGN_OR_RETURN(auto worker, UcxWorker::open(io));
  return std::shared_ptr<UcxPort>(std::move(worker));
}

Result<std::string> ucx_here() {
  TcpIo::State apart;  // without a thread: nothing runs there
  TROUPE_ASSIGN_OR_RETURN(const auto worker, UcxWorker::open(apart));
  return worker->what();
}

}  // namespace troupe::net
#endif
