#pragma once
/// \file endpoint.hpp
/// Requests and answers between two peers: windows and the queues in front of them on the requesting
/// side, admission on the serving side, and going on over a new link when one breaks. Knows no
/// actors; `actors/` puts proxies and a reply sink on top.
#include "runtime/base/once_function.hpp"
#include "runtime/net/link.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace troupe::net {

class Endpoint;

/// Brings an endpoint a new link: a `Reconnector` on the dialling side.
/// Threads: called on the link's thread, with no lock held.
class LinkSource {
 public:
  virtual ~LinkSource() = default;
  /// `by` was interrupted and takes a new link (Endpoint::attach) until then.
  virtual void wanted(std::weak_ptr<Endpoint> by, Clock::time_point until) = 0;
};

/// Requests have numbers from 1 to this one: the upper bits of CAF's message ids are flags.
inline constexpr std::uint64_t largest_request = (std::uint64_t{1} << 60) - 1;

struct EndpointOptions {
  /// Requests plus the most that their replies may take in flight, per traffic class: gradients wait
  /// at the peer for slower ranks, which may need rows over this very link, so no class may use up
  /// another's window.
  std::uint64_t window_bytes = std::uint64_t{64} << 20;
  /// The least window of the control class. Commands are small and few, but the answer to one may
  /// wait for another: an epoch of one rank for the epoch of the next. They must not wait here.
  /// Therefore an item larger than this window passes beside them, one such item at a time.
  std::uint64_t control_window_bytes = std::uint64_t{64} << 20;
  /// Window of the gradients class; 0: as the others. It must hold all shares of one step that
  /// travel over the link: a sum is answered only when every share is in, so a share that waits for
  /// the window would wait for ever.
  std::uint64_t gradient_window_bytes = 0;
  /// Window of each of the two classes of learned rows; 0: as the others.
  std::uint64_t learned_window_bytes = 0;
  /// Frames that wait for their class's window, per class; past it: overloaded. 0: nothing waits.
  std::uint64_t queue_bytes = std::uint64_t{64} << 20;
  std::uint64_t serving_bytes =
      std::uint64_t{256}
      << 20;  ///< requests plus largest replies being served; past it: overloaded
  Clock::duration deadline = std::chrono::seconds(60);  ///< of a request, from its submission

  /// How long an interrupted endpoint waits for a new link. 0: it ends with its link.
  Clock::duration recovery_deadline{};
  /// Time while there is no link; must outlive the endpoint. Required with a recovery_deadline.
  Timers* timers = nullptr;
  /// Asked for a new link at each interruption; null on the side that accepts.
  std::shared_ptr<LinkSource> source{};
  std::string name = "link";        ///< in errors, e.g. "link host 0 to host 2"
  std::uint64_t first_request = 1;  ///< Number of the first request, at least 1
};

/// What the window of one traffic class let through.
struct ClassStats {
  std::uint64_t max_charged_bytes = 0;  ///< Requests in flight, with the most that replies may take
  /// Requests in flight at one time, with their answers as they came. A request that is past its
  /// deadline is no longer in flight, although its answer may still come.
  std::uint64_t max_in_flight_bytes = 0;
  /// Largest request, with its answer as it came, whose charge was larger than the window.
  std::uint64_t largest_alone_bytes = 0;
  std::uint64_t max_queued_bytes = 0;      ///< Frames that waited for the window
  std::uint64_t largest_queued_bytes = 0;  ///< Largest of these frames
};

struct EndpointStats {
  std::uint64_t requests = 0;       ///< sent, each counted once
  std::uint64_t resent = 0;         ///< sent again over a new link
  std::uint64_t replies = 0;        ///< received, failures included
  std::uint64_t served = 0;         ///< answers sent, but not refusals
  std::uint64_t refused = 0;        ///< the peer's requests over serving_bytes or largest_request
  std::uint64_t too_large = 0;      ///< answers kept: larger than the peer's requests announced
  std::uint64_t asked_again = 0;    ///< requests sent again because their answers are too large
  std::uint64_t oversized = 0;      ///< received: answers over the announced bytes, not passed on
  std::uint64_t dropped = 0;        ///< received: late or unexpected replies, requests being served
  std::uint64_t overloaded = 0;     ///< refused here: window and queue full
  std::uint64_t expired = 0;        ///< answered with deadline_exceeded
  std::uint64_t interruptions = 0;  ///< links lost or replaced, the last one not counted
  std::uint64_t bytes_sent = 0;     ///< frames
  std::uint64_t bytes_received = 0;
  std::array<ClassStats, traffic_classes> classes{};  ///< by TrafficClass

  std::uint64_t max_in_flight_bytes() const;  ///< largest of any class
  std::uint64_t max_queued_bytes() const;     ///< largest of any class
};

/// The window of a class, as an Endpoint with these options has it.
std::uint64_t window_of(const EndpointOptions& options, TrafficClass traffic);
/// Compares the bytes that were really in flight and queued with the windows and the queues.
/// \errors internal: a class, what it may have and what it had; or how many answers were larger than
///   their requests announced
Status check_windows(const EndpointOptions& options, const EndpointStats& stats);

/// Gets requests from the peer.
/// Threads: called with no lock held, on the link's thread; on_link_down after an interruption on a
///   timer's thread, on_resumed on the thread of attach().
class RequestHandler {
 public:
  virtual ~RequestHandler() = default;
  /// A request: answer it with reply() or fail(), on any thread, once. One that was answered while
  /// the link broke comes again, with the same id.
  virtual void on_request(Frame&& frame) = 0;
  /// There will be no link any more; pending requests are answered after this.
  virtual void on_ending(const Error& /*why*/) {}
  /// There is no link any more and there will be none. Every pending request was answered before.
  virtual void on_link_down(const Error& why) = 0;
  /// The link broke; requests wait for another one.
  virtual void on_interrupted(const Error& /*why*/) {}
  /// There is a new link, and what was open has been sent again; may come late.
  virtual void on_resumed() {}
};

/// Both halves of one end of a link, or of one link after the other.
/// Threads:    all members from any thread
/// Guarantees: every request gets exactly one answer: the reply, a failure from the peer,
///   `overloaded`, `deadline_exceeded`, or the reason of the end; never under a lock, never on the
///   caller's stack except `overloaded` and an endpoint already down. An item larger than the whole
///   window (or queue) passes alone, in the control class beside others. Replies are never refused.
///   Requests of one class leave in the order of their request() calls
/// Large answers: a reply that is larger than the request announced is kept at the serving side, for
///   its own `deadline` at most. The requester receives its size, charges that to the window and
///   sends the request again. A peer that sends more than it announced ends that request, with
///   data_corruption
/// Recovery:   with a recovery_deadline a link that goes down interrupts the endpoint, unless one
///   side closed it on purpose (`cancelled`) or a frame over the limits would come again
///   (`invalid_argument`). Requests stay, new ones queue, deadlines run. attach() sends what is
///   unanswered again, with the same ids: requests must be idempotent. An interrupted endpoint is
///   kept alive by a timer until the recovery deadline
class Endpoint final : public std::enable_shared_from_this<Endpoint> {
 public:
  using Answer = OnceFunction<void(Result<Frame>)>;

  Endpoint(std::shared_ptr<Link> link, std::shared_ptr<RequestHandler> handler,
           EndpointOptions options);
  ~Endpoint();

  /// Starts the link. Without one (null, and a recovery_deadline) it is interrupted from the start.
  void start();
  void close(Error why);  ///< for good; on_link_down follows

  /// Goes on over `link`, which was not started. A link that is still up is replaced; what comes
  /// late from it is ignored. False after close() or the end: then `link` is closed.
  bool attach(const std::shared_ptr<Link>& link);
  bool interrupted() const;  ///< waits for attach()
  /// Why there is no new link yet, for the error if there will be none. Ends the endpoint if another
  /// attempt cannot help: unauthenticated, fenced, unimplemented, invalid_argument.
  void not_connected(const Error& why);

  /// Sends a request: sets kind, request id and max_reply_bytes.
  /// \param reply_bytes the largest answer that is taken, as a frame; charged to the window. Where
  ///   the size cannot be known an estimate: a larger answer takes one round trip more
  /// \param deadline from now, instead of the one of the options: for requests that take long by
  ///   nature, such as an epoch
  void request(Frame&& frame, std::uint64_t reply_bytes, Answer answer,
               std::optional<Clock::duration> deadline = std::nullopt);

  /// Answers request `to` (its header as it came). Ignored if `to` was answered before or the
  /// endpoint is down; while interrupted the answer is dropped, and the peer asks again.
  void reply(const FrameHeader& to, Frame&& frame);
  void fail(const FrameHeader& to, const Error& why);

  EndpointStats stats() const;

 private:
  struct State;
  class Port;
  void listen();                           // under the lock: starts the link
  void arm_tick(Clock::time_point first);  // under the lock
  void tick(Clock::time_point scheduled);  // answers what is past its deadline
  void on_frame(std::uint64_t link_number, Frame&& frame);
  void on_answer(std::uint64_t link_number, Frame&& frame);
  void on_request(std::uint64_t link_number, Frame&& frame);
  void take_size(std::uint64_t id, std::uint64_t bytes);   // under the lock
  bool admit(const Frame& frame);                          // under the lock
  void refuse(const FrameHeader& head, const Error& why);  // under the lock
  void keep_answer(std::uint64_t id, Frame&& frame);       // under the lock
  void give_kept(std::uint64_t id);                        // under the lock
  void drop_kept(std::uint64_t id);
  void answer_peer(const FrameHeader& to, FrameKind kind, Frame&& frame);
  void on_down(std::uint64_t link_number, const Error& why);
  void interrupt(const Error& why);  // under the lock
  void give_up(std::uint64_t link_number);
  void finish(std::unique_lock<std::mutex> guard, const Error& why);  // answers all, lets go

  std::unique_ptr<State> state_;
};

/// An Error as the message of a `failure` frame, and back. The sentence is cut to 4 KiB
/// on both sides; a code that this program does not know becomes `internal`, a message that cannot
/// be read `data_corruption`.
void encode_error(const Error& error, Frame& frame);
Error decode_error(const Frame& frame);

}  // namespace troupe::net
