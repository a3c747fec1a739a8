#pragma once
/// \file ucx_link.hpp
/// A link whose frames travel over UCX beside the TCP link that proved who the peer is. For the
/// sources of links only; all others use `Link`.
#include "runtime/net/outbox.hpp"
#include "runtime/net/ucx_offer.hpp"
#include "runtime/net/ucx_port.hpp"

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace troupe::net {

/// The TCP link stays for signs of life, goodbyes and the peer's death, which shared memory does not
/// tell. Each end, when it is started, offers over it where its UCX is to be found; whoever has got
/// the offer sends frames over UCX or, if it cannot, over TCP. So the two directions decide alone, and
/// nothing is sent to an end that was not started.
/// Lifecycle:  make(), on the network thread; else that of Link
/// Threads:    those of Link
class UcxLink final : public Link,
                      public LinkEvents,
                      public UcxLaneEvents,
                      public std::enable_shared_from_this<UcxLink> {
 public:
  /// \param tcp  authenticated, not started
  static std::shared_ptr<Link> make(std::shared_ptr<TcpIo::State> io, std::shared_ptr<Link> tcp,
                                    std::string name, const TcpOptions& options,
                                    const OfferSeal& seal);
  UcxLink(std::shared_ptr<TcpIo::State> io, std::shared_ptr<Link> tcp, std::string name,
          const TcpOptions& options, const OfferSeal& seal);

  void start(std::shared_ptr<LinkEvents> events) override;
  void send(Frame&& frame) override;
  void close(Error why) override;
  Clock::time_point now() const override { return Clock::now(); }
  void after(Clock::duration delay, std::function<void()> f) override;

  // Of the TCP link.
  void on_frame(Frame&& frame) override;
  void on_down(const Error& why) override;
  // Of the lane.
  void fill(TcpBatch& batch) override;
  void on_sent() override;
  void on_frames(std::vector<Frame>& frames) override;
  void on_lane_error(Error why) override;

 private:
  enum class Way { unknown, tcp, ucx };
  void open_lane();
  void begin(std::shared_ptr<LinkEvents> events);
  void take_offer(const Frame& frame);
  void say_tcp(const std::string& why);
  void go(Way way);
  void pump();
  void finish();
  void drop_frames();
  void close_later(Error why);
  void close_tcp();
  void tell_down();

  const std::shared_ptr<TcpIo::State> io_;
  const std::shared_ptr<Link> tcp_;
  const std::string name_;
  const FrameLimits limits_;
  const bool required_;
  const std::function<void(const std::string&)> say_;
  const OfferSeal seal_;  ///< of this end

  std::mutex mutex_;  // guards what follows up to closing_
  Way way_ = Way::unknown;
  Outbox outbox_;         // while the way is unknown, all wait here
  bool pumping_ = false;  // pump() is queued, or a batch is under way
  std::optional<Error> closing_;

  PieceWriter writer_;
  PieceWriter dropped_;  ///< after the end, until what of it is under way is out
  std::shared_ptr<UcxLane> lane_;
  std::optional<Error> no_lane_;
  std::shared_ptr<LinkEvents> events_;
  bool started_ = false;
  bool down_ = false;      // for whoever uses the link
  bool tcp_down_ = false;  // or told to
};

}  // namespace troupe::net
