#pragma once
/// \file ucx_worker.hpp
/// The UCX worker of a process, moved along by the network thread. For the sources of UCX links only.
#ifdef TROUPE_HAVE_UCX
#include "runtime/net/ucx_api.hpp"
#include "runtime/net/ucx_port.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace troupe::net {

class UcxStreamLane;

/// Threads:    the network thread
/// Guarantees: leaves no file of shared memory behind, whatever ends the process: UCX unlinks each
///   one before it is used
class UcxWorker final : public UcxPort, public std::enable_shared_from_this<UcxWorker> {
 public:
  static Result<std::shared_ptr<UcxWorker>> open(TcpIo::State& io);
  UcxWorker(TcpIo::State& io, const UcxApi& api);
  ~UcxWorker() override;
  Result<std::shared_ptr<UcxLane>> lane(UcxLaneEvents& events, const FrameLimits& limits) override;
  const std::string& what() const override { return what_; }

  // For lanes.
  const UcxApi& api() const { return api_; }
  ucp_worker_h handle() const { return worker_; }
  TcpIo::State& io() const { return io_; }
  void touch(UcxStreamLane& lane);  ///< its settle() is called soon
  void drain();                     ///< progresses until there is nothing to do now
  void forget_key(const UcxKey& key) { lanes_.erase(key); }
  void forget(UcxStreamLane& lane);           ///< it may be destroyed
  void keep_to_the_end(UcxStreamLane& lane);  ///< and work for it no more
  Error error(const char* call, ucs_status_t status) const;

 private:
  Status start();
  Status set_options(ucp_config_t* config);
  static ucs_status_t on_message(void* self, const void* header, std::size_t header_bytes,
                                 void* data, std::size_t bytes, const ucp_am_recv_param_t* param);
  bool progress();
  void settle();
  void run();
  void schedule();
  void wait();

  TcpIo::State& io_;
  const UcxApi api_;
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  asio::posix::stream_descriptor readable_;
  std::string what_;
  std::vector<std::byte> address_;
  std::map<UcxKey, UcxStreamLane*> lanes_;  ///< that may receive
  std::map<UcxStreamLane*, std::shared_ptr<UcxStreamLane>> all_;
  std::vector<std::shared_ptr<UcxStreamLane>> touched_;
  std::vector<std::shared_ptr<UcxStreamLane>> kept_;
  bool scheduled_ = false;
  bool waiting_ = false;
};

}  // namespace troupe::net
#endif
