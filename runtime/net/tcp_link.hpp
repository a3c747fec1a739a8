#pragma once
/// \file tcp_link.hpp
/// A link over one connected and authenticated socket. For the sources of TCP links only; all others
/// use `Link`.
#include "runtime/net/outbox.hpp"
#include "runtime/net/tcp_batch.hpp"
#include "runtime/net/tcp_stream.hpp"

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace troupe::net {

/// Lifecycle: make(), on the network thread. From then on it gives signs of life; it reads, and
///   expects them, from start() on. After close() a goodbye is sent and the socket lingers until the
///   peer has closed too, for a second at most
/// Threads:   those of Link; writing and reading are the network thread's
class TcpLink final : public Link,
                      public TcpOpenThing,
                      public std::enable_shared_from_this<TcpLink> {
 public:
  /// \param early  bytes of the link that came with the end of the handshake
  static std::shared_ptr<Link> make(std::shared_ptr<TcpIo::State> io,
                                    std::unique_ptr<TcpStream> stream, std::string name,
                                    const TcpOptions& options, std::span<const std::byte> early);

  TcpLink(std::shared_ptr<TcpIo::State> io, std::unique_ptr<TcpStream> stream, std::string name,
          const TcpOptions& options);
  void start(std::shared_ptr<LinkEvents> events) override;
  void send(Frame&& frame) override;
  void close(Error why) override;
  Clock::time_point now() const override { return Clock::now(); }
  void after(Clock::duration delay, std::function<void()> f) override;
  void io_ends() override;

 private:
  enum class Phase { up, saying_goodbye, draining, closed };
  using ErrorCode = boost::system::error_code;

  void begin(std::shared_ptr<LinkEvents> events);
  // Writing.
  void pump();
  bool fill();
  void write();
  void on_written(const ErrorCode& error, std::size_t bytes);
  void send_heartbeat();
  // Reading.
  void read();
  void on_read(const ErrorCode& error, std::size_t bytes, std::size_t direct);
  Status take(std::size_t bytes, std::size_t direct);
  Status feed(std::size_t placed, std::span<const std::byte> rest);
  void deliver(Status status);
  // Watching, and the end.
  void watch();
  void check(Clock::time_point expected);
  void finish();
  void say_goodbye();
  void shut();
  void tell_down();

  const std::shared_ptr<TcpIo::State> io_;
  const std::string name_;
  const TcpOptions options_;

  std::mutex mutex_;  // guards what follows up to closing_
  Outbox outbox_;
  bool pumping_ = false;  // pump() is queued, or a write is under way
  std::optional<Error> closing_;

  Phase phase_ = Phase::up;
  bool no_goodbye_ = false;  // the peer said one, or the socket is broken
  const std::unique_ptr<TcpStream> stream_;
  PieceWriter writer_;
  bool writing_ = false;
  PieceWriter dropped_;  ///< after the end, until what of it is being written is out
  TcpBatch batch_;
  bool reading_ = false;
  std::optional<PieceReader> reader_;  // always, but for replacing it
  std::vector<std::byte> scratch_;
  std::vector<Frame> frames_;  // of one read
  std::vector<std::byte> early_;
  std::shared_ptr<LinkEvents> events_;
  bool started_ = false;
  asio::steady_timer timer_;
  Clock::time_point last_sent_;
  Clock::time_point last_heard_;
};

}  // namespace troupe::net
