#ifdef TROUPE_HAVE_UCX
#include "runtime/net/ucx_worker.hpp"

#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <sys/statvfs.h>
#include <utility>

namespace troupe::net {
namespace {

constexpr unsigned progress_in_a_row = 64;  // then sockets, timers and other links have their turn
constexpr unsigned longest_drain = 10'000;
/// A worker takes about 1 MiB of shared memory; where there is none left, writing to it ends a process.
constexpr std::uint64_t least_shared_memory = std::uint64_t{16} << 20;

Status check_shared_memory() {
  struct statvfs found {};
  if (::statvfs("/dev/shm", &found) != 0) {
    return Error(Errc::failed_precondition, std::string("UCX: /dev/shm: ") + std::strerror(errno));
  }
  const auto free = std::uint64_t{found.f_bavail} * found.f_frsize;
  if (free < least_shared_memory) {
    return Error(
        Errc::failed_precondition,
        fmt::format("UCX: expected {} MiB free in /dev/shm, found {}; try: a larger one, or "
                    "cluster.transport \"tcp\"",
                    least_shared_memory >> 20, free >> 20));
  }
  return ok_status();
}

}  // namespace

UcxWorker::UcxWorker(std::shared_ptr<UcxContext> context, UcxWorkerUser& user)
    : context_(std::move(context)), user_(user), readable_(context_->io().context) {}

Status UcxWorker::start() {
  TROUPE_RETURN_IF_ERROR(check_shared_memory());
  {
    const std::lock_guard guard(UcxApi::library_lock());
    ucp_worker_params_t params{};
    params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    params.thread_mode = UCS_THREAD_MODE_SERIALIZED;
    if (const auto status = api().worker_create(context_->handle(), &params, &worker_);
        status != UCS_OK) {
      worker_ = nullptr;
      return context_->error("ucp_worker_create", status);
    }
  }
  auto made = make();
  if (!made) {
    end();
  }
  return made;
}

Status UcxWorker::make() {
  ucp_am_handler_param_t handler{};
  handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                       UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
  handler.id = message_id;
  handler.flags = UCP_AM_FLAG_PERSISTENT_DATA;
  handler.cb = &UcxWorker::on_message;
  handler.arg = this;
  auto status = api().worker_set_am_recv_handler(worker_, &handler);
  if (status != UCS_OK) {
    return context_->error("ucp_worker_set_am_recv_handler", status);
  }
  int descriptor = -1;
  if (status = api().worker_get_efd(worker_, &descriptor); status != UCS_OK) {
    return context_->error("ucp_worker_get_efd", status);
  }
  boost::system::error_code failed;
  readable_.assign(descriptor, failed);
  if (failed) {
    return Error(Errc::failed_precondition, "UCX: its descriptor: " + failed.message());
  }
  ucp_address_t* address = nullptr;
  std::size_t bytes = 0;
  if (status = api().worker_get_address(worker_, &address, &bytes); status != UCS_OK) {
    return context_->error("ucp_worker_get_address", status);
  }
  const auto* begin = reinterpret_cast<const std::byte*>(address);
  address_.assign(begin, begin + bytes);
  api().worker_release_address(worker_, address);
  return ok_status();
}

void UcxWorker::end() {
  if (worker_ == nullptr) {
    return;
  }
  if (readable_.is_open()) {
    readable_.release();  // it is UCX's
  }
  const std::lock_guard guard(UcxApi::library_lock());
  api().worker_destroy(worker_);
  worker_ = nullptr;
}

ucs_status_t UcxWorker::on_message(void* self, const void* header, std::size_t header_bytes,
                                   void* data, std::size_t bytes,
                                   const ucp_am_recv_param_t* param) {
  auto& worker = *static_cast<UcxWorker*>(self);
  return worker.user_.on_message(header, header_bytes, data, bytes,
                                 (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0);
}

void UcxWorker::settle() {
  if (std::exchange(touched_, false)) {
    user_.settle();
  }
}

void UcxWorker::drain() {
  for (unsigned i = 0; worker_ != nullptr && i < longest_drain && (progress() || touched_); ++i) {
    settle();
  }
}

void UcxWorker::schedule(std::shared_ptr<void> keep) {
  if (worker_ != nullptr && !std::exchange(scheduled_, true)) {
    asio::post(io().context, [this, keep = std::move(keep)] {
      scheduled_ = false;
      run(keep);
    });
  }
}

void UcxWorker::run(const std::shared_ptr<void>& keep) {
  for (unsigned i = 0; worker_ != nullptr && i < progress_in_a_row; ++i) {
    const bool worked = progress();
    settle();
    if (!worked && !touched_) {
      break;
    }
  }
  if (worker_ == nullptr) {
    return;  // it was ended
  }
  if (touched_ || api().worker_arm(worker_) != UCS_OK) {
    return schedule(keep);
  }
  wait(keep);
}

void UcxWorker::wait(const std::shared_ptr<void>& keep) {
  if (!std::exchange(waiting_, true)) {
    readable_.async_wait(asio::posix::stream_descriptor::wait_read,
                         [this, keep](const boost::system::error_code& error) {
                           waiting_ = false;
                           if (!error) {
                             schedule(keep);
                           }
                         });
  }
}

}  // namespace troupe::net
#endif
