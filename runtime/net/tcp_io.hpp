#pragma once
/// \file tcp_io.hpp
/// The network thread from the inside: what sockets, links, listeners and dialers share. For the
/// sources of TCP links only; brings Asio.
#include "runtime/net/tcp.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>

namespace troupe::net {

/// How long a socket waits, after the last bytes of its own, for the peer to close first.
inline constexpr Clock::duration longest_linger = std::chrono::seconds(1);

namespace asio = boost::asio;
class UcxPort;

/// What is told when the network thread ends.
class TcpOpenThing {
 public:
  virtual ~TcpOpenThing() = default;
  virtual void io_ends() = 0;  ///< on the network thread
};

/// Threads: post(), run_at(), sockets from any thread; all else on the network thread.
struct TcpIo::State : std::enable_shared_from_this<TcpIo::State> {
  State() : context(1), work(context.get_executor()), timer(context) {}

  /// Runs `f` on the network thread, soon; dropped once the thread is ending.
  template <class F>
  void post(F f) {
    const std::lock_guard guard(mutex);
    if (!ending) {
      asio::post(context, std::move(f));
    }
  }
  void run_at(Clock::time_point t, std::function<void()> f);

  void add(const std::shared_ptr<TcpOpenThing>& thing) { open[thing.get()] = thing; }
  void remove(const TcpOpenThing* thing) { open.erase(thing); }

  void end();      ///< tells all that is open; on the network thread
  void arm();      ///< waits for the first timer
  void run_due();  ///< timers
  void drop_timers();

  asio::io_context context;
  asio::executor_work_guard<asio::io_context::executor_type> work;
  std::atomic<std::size_t> sockets{0};
  std::atomic<std::size_t> ucx_strangers{0};

  std::mutex mutex;  // guards what follows up to `timers`
  bool ending = false;
  std::uint64_t sequence = 0;
  std::map<std::pair<Clock::time_point, std::uint64_t>, std::function<void()>> timers;

  asio::steady_timer timer;
  std::map<const TcpOpenThing*, std::weak_ptr<TcpOpenThing>> open;
  /// Opened by the first link that wants it; on the network thread.
  std::optional<Result<std::shared_ptr<UcxPort>>> ucx;
  std::set<std::string> ucx_refusals;  ///< reasons already reported; on the network thread
  std::thread thread;
};

/// Counts one open socket while it lives.
class SocketCount {
 public:
  explicit SocketCount(std::shared_ptr<TcpIo::State> io) : io_(std::move(io)) { ++io_->sockets; }
  ~SocketCount() { --io_->sockets; }
  SocketCount(const SocketCount&) = delete;
  SocketCount& operator=(const SocketCount&) = delete;

 private:
  const std::shared_ptr<TcpIo::State> io_;
};

}  // namespace troupe::net
