#pragma once
/// \file link_world.hpp
/// The transports that the conformance suite runs over. A new one is one more class here and one
/// more entry in all_transports().
#include "runtime/net/reconnect.hpp"
#include "runtime/net/sim_cable.hpp"
#include "runtime/net/tcp.hpp"
#include "tests/runtime/net/net_test_support.hpp"
#include "tests/runtime/net/socket_proxy.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/scratch_folder.hpp"

#include <condition_variable>
#include <deque>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <ostream>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

namespace troupe::net {

using namespace std::chrono_literals;
using LinkEnds = std::pair<std::shared_ptr<Link>, std::shared_ptr<Link>>;

/// Memory that this process uses. 0 under AddressSanitizer, which keeps what was freed.
inline std::size_t resident_bytes() {
#ifdef __SANITIZE_ADDRESS__
  return 0;
#else
  std::size_t size = 0;
  std::size_t resident = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
#endif
}

struct WorldOptions {
  FrameLimits limits{};
  Clock::duration heartbeat = 100ms;
  Clock::duration lost_after = 10s;  ///< sanitizers are slow
};

/// Two processes and what connects them, in real time.
class LinkWorld {
 public:
  virtual ~LinkWorld() = default;
  /// A dialled end and an accepted one, not started.
  virtual LinkEnds connect() = 0;
  virtual std::shared_ptr<Dialer> dialer() = 0;
  /// Takes what is dialled from now on; connect() must not be called any more.
  virtual void on_accept(std::function<void(std::shared_ptr<Link>)> accept) = 0;
  virtual void cut() = 0;  ///< the connections that there are; new ones are possible
  virtual Timers& timers() = 0;
  virtual std::size_t open_sockets() const { return 0; }  ///< of links
};

class SimWorld final : public LinkWorld {
 public:
  explicit SimWorld(const WorldOptions& options)
      : cable_(SimCable::make(driver_, {.limits = options.limits})), limits_(options.limits) {}
  LinkEnds connect() override { return make_sim_link(driver_, {.limits = limits_}); }
  std::shared_ptr<Dialer> dialer() override { return cable_->dialer(); }
  void on_accept(std::function<void(std::shared_ptr<Link>)> accept) override {
    cable_->on_accept(std::move(accept));
  }
  void cut() override {
    cable_->cut(Error(Errc::peer_lost, "the cable is cut"), {.lose_in_flight = true});
    cable_->heal();
  }
  Timers& timers() override { return driver_; }

 private:
  RealTimeDriver driver_;
  std::shared_ptr<SimCable> cable_;
  const FrameLimits limits_;
};

inline Token test_token() {
  auto token = Token::parse(std::string(64, '7'));
  return *std::move(token);
}

inline HandshakeOptions test_handshake(std::uint32_t process) {
  HandshakeOptions options;
  options.token = test_token();
  options.job = "conformance";
  options.self = {static_cast<ProcessId>(process), 1, ""};
  return options;
}

/// A listener with what it accepted, in the order of arrival.
/// Threads: any.
class AcceptedLinks {
 public:
  TcpListener::OnLink on_link() {
    return [this](std::shared_ptr<Link> link, const PeerIdentity& peer) {
      const std::lock_guard guard(mutex_);
      if (take_) {
        return take_(std::move(link));
      }
      links_.emplace_back(std::move(link), peer);
      changed_.notify_all();
    };
  }
  std::pair<std::shared_ptr<Link>, PeerIdentity> next() {
    std::unique_lock guard(mutex_);
    if (!changed_.wait_for(guard, 30s, [&] { return !links_.empty(); })) {
      return {};
    }
    auto link = std::move(links_.front());
    links_.pop_front();
    return link;
  }
  void take(std::function<void(std::shared_ptr<Link>)> take) {
    const std::lock_guard guard(mutex_);
    take_ = std::move(take);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<std::shared_ptr<Link>, PeerIdentity>> links_;
  std::function<void(std::shared_ptr<Link>)> take_;
};

inline Result<std::shared_ptr<Link>> dial(Dialer& dialer) {
  std::promise<Result<std::shared_ptr<Link>>> promise;
  auto future = promise.get_future();
  dialer.dial([&](Result<std::shared_ptr<Link>> link) { promise.set_value(std::move(link)); });
  return future.get();  // the dialer has a deadline
}

inline std::shared_ptr<const TlsContext> test_certificate() {
  auto context = TlsContext::load(*make_job_certificate(1));
  return *std::move(context);
}

/// Two network threads; the second one listens. With a proxy between them.
class TcpWorld final : public LinkWorld {
 public:
  TcpWorld(const WorldOptions& options, std::shared_ptr<const TlsContext> tls,
           UcxUse ucx = UcxUse::off) {
    tcp_.ucx = ucx;
    tcp_.limits = options.limits;
    tcp_.heartbeat = options.heartbeat;
    tcp_.lost_after = options.lost_after;
    tcp_.connect_deadline = 20s;
    tcp_.tls = std::move(tls);
    auto listener = TcpListener::open(far_, "127.0.0.1:0", test_handshake(2), {.tcp = tcp_},
                                      accepted_.on_link());
    EXPECT_OK(listener);
    listener_ = *std::move(listener);
    proxy_ = std::make_unique<testing::SocketProxy>(testing::port_of(listener_->address()));
  }
  ~TcpWorld() override { proxy_.reset(); }

  LinkEnds connect() override {
    auto link = dial(*make_tcp_dialer(near_, listener_->address(), test_handshake(1), tcp_));
    EXPECT_OK(link);
    return {*std::move(link), accepted_.next().first};
  }
  /// As connect(), through the proxy.
  LinkEnds connect_through_proxy() {
    auto link = dial(*dialer());
    EXPECT_OK(link);
    return {*std::move(link), accepted_.next().first};
  }
  std::shared_ptr<Dialer> dialer() override {
    return make_tcp_dialer(near_, proxy_->address(), test_handshake(1), tcp_);
  }
  void on_accept(std::function<void(std::shared_ptr<Link>)> accept) override {
    accepted_.take(std::move(accept));
  }
  void cut() override { proxy_->cut(); }
  Timers& timers() override { return near_; }
  std::size_t open_sockets() const override {
    return near_.open_sockets() + far_.open_sockets() - 1;  // the listener
  }
  testing::SocketProxy& proxy() { return *proxy_; }
  std::uint16_t port() const { return testing::port_of(listener_->address()); }

 private:
  AcceptedLinks accepted_;
  TcpOptions tcp_;
  TcpIo near_;
  TcpIo far_;
  std::unique_ptr<TcpListener> listener_;
  std::unique_ptr<testing::SocketProxy> proxy_;
};

/// A transport under test.
struct Transport {
  std::string name;
  std::function<std::unique_ptr<LinkWorld>(const WorldOptions&)> make;
  friend void PrintTo(const Transport& transport, std::ostream* out) { *out << transport.name; }
};

inline std::vector<Transport> socket_transports() {
  return {{"tcp", [](const auto& o) { return std::make_unique<TcpWorld>(o, nullptr); }},
          {"tcp_with_tls",
           [](const auto& o) { return std::make_unique<TcpWorld>(o, test_certificate()); }}};
}

/// UCX with the TCP connection beside it.
inline Transport ucx_transport() {
  return {"ucx",
          [](const auto& o) { return std::make_unique<TcpWorld>(o, nullptr, UcxUse::required); }};
}

/// Why a transport cannot be tested here; empty: it can.
inline std::string missing_for(const Transport& transport) {
  const auto here = transport.name == "ucx" ? ucx_here() : Result<std::string>("");
  return here.ok() ? "" : here.error().what();
}

inline std::vector<Transport> all_transports() {
  auto all = socket_transports();
  all.push_back(ucx_transport());
  all.insert(all.begin(),
             {"simulated", [](const auto& o) { return std::make_unique<SimWorld>(o); }});
  return all;
}

inline std::string name_of(const ::testing::TestParamInfo<Transport>& info) {
  return info.param.name;
}

/// Two started ends and what they got; closed at the end.
struct StartedEnds {
  explicit StartedEnds(LinkEnds ends)
      : a(std::move(ends.first)),
        b(std::move(ends.second)),
        at_a(std::make_shared<Recorder>(a)),
        at_b(std::make_shared<Recorder>(b)) {
    a->start(at_a);
    b->start(at_b);
  }
  ~StartedEnds() {
    a->close(Error(Errc::cancelled, "end of the test"));
    EXPECT_TRUE(both_down());
  }
  bool both_down() {
    const auto down = [](auto& r) { return r.downs.size() == 1; };
    return at_a->wait(down) && at_b->wait(down);
  }
  std::shared_ptr<Link> a, b;
  std::shared_ptr<Recorder> at_a, at_b;
};

}  // namespace troupe::net
