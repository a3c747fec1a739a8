#pragma once
/// \file endpoint.hpp
/// Requests and answers over one link: windows and the queues in front of them on the requesting
/// side, admission on the serving side. Knows no actors; `actors/` puts proxies and a reply sink on
/// top.
#include "runtime/net/link.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

namespace troupe::net {

struct EndpointOptions {
  /// Requests plus expected replies in flight, per traffic class: gradients wait at the peer for
  /// slower ranks, which may need rows over this very link, so no class may use up another's
  /// window.
  std::uint64_t window_bytes = std::uint64_t{64} << 20;
  /// The least window of the control class. Commands are small and few, but the answer to one may
  /// wait for another: an epoch of one rank for the epoch of the next. They must not wait here.
  std::uint64_t control_window_bytes = std::uint64_t{64} << 20;
  /// Window of the gradients class; 0: as the others. It must hold all shares of one step that
  /// travel over the link: a sum is answered only when every share is in, so a share that waits for
  /// the window would wait for ever.
  std::uint64_t gradient_window_bytes = 0;
  /// Frames that wait for their class's window, per class; past it: overloaded. 0: nothing waits.
  std::uint64_t queue_bytes = std::uint64_t{64} << 20;
  std::uint64_t serving_bytes =
      std::uint64_t{256}
      << 20;  ///< requests plus largest replies being served; past it: overloaded
  Clock::duration deadline = std::chrono::seconds(60);  ///< of a request, from its submission
};

struct EndpointStats {
  std::uint64_t requests = 0;    ///< sent
  std::uint64_t replies = 0;     ///< received, failures included
  std::uint64_t served = 0;      ///< answers sent, but not refusals
  std::uint64_t refused = 0;     ///< the peer's requests over serving_bytes
  std::uint64_t dropped = 0;     ///< received: late or unexpected replies, repeated requests
  std::uint64_t overloaded = 0;  ///< refused here: window and queue full
  std::uint64_t expired = 0;     ///< answered with deadline_exceeded
  std::uint64_t bytes_sent = 0;  ///< frames
  std::uint64_t bytes_received = 0;
  std::uint64_t max_in_flight_bytes = 0;  ///< largest of any class
  std::uint64_t max_queued_bytes = 0;     ///< largest of any class
};

/// Gets requests and notices from the peer.
/// Threads: called on the link's thread, with no lock held.
class RequestHandler {
 public:
  virtual ~RequestHandler() = default;
  /// A request (answer it with reply() or fail(), on any thread, once) or a notice (request id 0).
  virtual void on_request(Frame frame) = 0;
  /// The peer says that its exported actor `target` died.
  virtual void on_target_down(std::uint64_t target, const Error& why) = 0;
  /// The link is gone. Every pending request was answered before.
  virtual void on_link_down(const Error& why) = 0;
};

/// Both halves of one end of a link.
/// Threads:    all members from any thread
/// Guarantees: every request gets exactly one answer: the reply, a failure from the peer,
///   `overloaded`, `deadline_exceeded`, or the reason of the link's end; never under a lock, never
///   on the caller's stack except `overloaded` and a link already down. An item larger than the
///   whole window (or queue) passes alone. Replies are never refused. Requests of one class leave
///   in the order of their request() calls
class Endpoint final : public LinkEvents, public std::enable_shared_from_this<Endpoint> {
 public:
  using Answer = std::function<void(Result<Frame>)>;

  Endpoint(std::shared_ptr<Link> link, std::shared_ptr<RequestHandler> handler,
           EndpointOptions options);
  ~Endpoint() override;

  void start();           ///< starts the link
  void close(Error why);  ///< closes the link; on_link_down follows

  /// Sends a request: sets kind, request id and max_reply_bytes.
  /// \param reply_bytes expected answer, charged to the window
  /// \param deadline from now, instead of the one of the options: for requests that take long by
  ///   nature, such as an epoch
  void request(Frame frame, std::uint64_t reply_bytes, Answer answer,
               std::optional<Clock::duration> deadline = std::nullopt);
  void notify(Frame frame);  ///< one-way; not charged: for small control messages only

  /// Answers request `to` (its header as it came). Ignored if `to` was answered before or the link
  /// is down.
  void reply(const FrameHeader& to, Frame frame);
  void fail(const FrameHeader& to, const Error& why);
  /// Tells the peer that the exported actor `target` died.
  void announce_down(std::uint64_t target, const Error& why);

  EndpointStats stats() const;

  void on_frame(Frame frame) override;
  void on_down(const Error& why) override;

 private:
  struct State;
  void arm_tick();                         // under the lock
  void tick(Clock::time_point scheduled);  // answers what is past its deadline
  void on_answer(Frame frame);
  void on_request(Frame frame);
  bool admit(const Frame& frame);  // under the lock
  void answer_peer(const FrameHeader& to, FrameKind kind, Frame frame);

  std::unique_ptr<State> state_;
};

/// An Error as the message of a `failure` or `down` frame, and back. The sentence is cut to 4 KiB
/// on both sides; a code that this program does not know becomes `internal`, a message that cannot
/// be read `data_corruption`.
void encode_error(const Error& error, Frame& frame);
Error decode_error(const Frame& frame);

}  // namespace troupe::net
