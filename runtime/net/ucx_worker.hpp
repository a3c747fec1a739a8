#pragma once
/// \file ucx_worker.hpp
/// A UCX worker that the network thread moves along. For the sources of UCX links only.
#ifdef TROUPE_HAVE_UCX
#include "runtime/net/ucx_context.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>

#include <cstddef>
#include <memory>
#include <vector>

namespace troupe::net {

/// Whose worker it is.
class UcxWorkerUser {
 public:
  virtual ~UcxWorkerUser() = default;
  virtual void settle() = 0;  ///< after callbacks of UCX, outside of them
  /// UCX's callback for messages. \returns UCS_INPROGRESS if `data` is kept
  virtual ucs_status_t on_message(const void* header, std::size_t header_bytes, void* data,
                                  std::size_t bytes, bool rendezvous) = 0;
};

/// Lifecycle:  start(); end(), after which UCX holds nothing of its user's any more
/// Threads:    the network thread
class UcxWorker {
 public:
  static constexpr unsigned message_id = 1;  ///< of all active messages
  UcxWorker(std::shared_ptr<UcxContext> context, UcxWorkerUser& user);
  ~UcxWorker() { end(); }
  UcxWorker(const UcxWorker&) = delete;
  UcxWorker& operator=(const UcxWorker&) = delete;
  /// \errors failed_precondition: as UCX says
  Status start();
  void end();

  const UcxApi& api() const { return context_->api(); }
  ucp_worker_h handle() const { return worker_; }
  TcpIo::State& io() const { return context_->io(); }
  const std::vector<std::byte>& address() const { return address_; }

  /// Progresses soon, and settles. \param keep  alive until then
  void schedule(std::shared_ptr<void> keep);
  void touch() { touched_ = true; }  ///< there is something to settle; from within callbacks
  void drain();                      ///< progresses until there is nothing to do now

 private:
  static ucs_status_t on_message(void* self, const void* header, std::size_t header_bytes,
                                 void* data, std::size_t bytes, const ucp_am_recv_param_t* param);
  Status make();
  bool progress() { return api().worker_progress(worker_) != 0; }
  void settle();
  void run(const std::shared_ptr<void>& keep);
  void wait(const std::shared_ptr<void>& keep);

  const std::shared_ptr<UcxContext> context_;
  UcxWorkerUser& user_;
  ucp_worker_h worker_ = nullptr;
  asio::posix::stream_descriptor readable_;
  std::vector<std::byte> address_;
  bool touched_ = false;
  bool scheduled_ = false;
  bool waiting_ = false;
};

}  // namespace troupe::net
#endif
