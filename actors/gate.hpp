#pragma once
/// \file gate.hpp
/// One end of a link, as actors see it: a proxy for each remote actor, and the serving half for
/// what is exported to the peer. Nothing above knows where an actor lives.
#include "runtime/net/endpoint.hpp"
#include "runtime/net/served_targets.hpp"

#include <caf/actor.hpp>
#include <caf/fwd.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace troupe {

/// Where an actor is found behind a gate: what it is, and which of them.
enum class Role : std::uint32_t {
  holder = 1,
  trainer = 2,
  evaluator = 3,
  supervisor = 5,
  batch_server = 6,
  registrar = 7,
  member = 8,
  agent = 9,
};
struct Address {
  Role role;
  std::uint32_t index = 0;  ///< part, rank or process
  std::uint64_t word() const {
    return std::uint64_t{static_cast<std::uint32_t>(role)} << 32 | index;
  }
};

struct GateOptions {
  net::EndpointOptions endpoint;
  /// Deadline of requests whose answer waits for work without a bound of its own (epochs,
  /// inference, gradients): signs of life and the director's ProgressWatch cover those.
  net::Clock::duration long_deadline = std::chrono::hours(24 * 365);
  /// The job's generation as this host knows it: goes into every frame; a trainer's frame of a lower
  /// one is answered `fenced`. Shared by the gates of a host; null: not checked.
  std::shared_ptr<const std::atomic<std::uint32_t>> generation = nullptr;
  /// Called once when the link is down for good, before pending requests are answered and the proxies
  /// die, so that who hears of it finds no handles any more; may be empty.
  std::function<void(const Error&)> on_end = {};
};

/// Lifecycle:  make() one at each end, exports and proxies at any time; close() before the actor
///   system ends
/// Threads:    all members from any thread
/// Guarantees: every request through a proxy gets exactly one answer. When the link is lost for good,
///   pending requests are answered with peer_lost and the proxies die, so monitors and links fire as
///   for a local actor. When an exported actor dies, requests that it left open are answered, and the
///   peer's proxy for it dies; a new proxy reaches what is exported there next. While the link is
///   interrupted all of this waits
class Gate final : public net::RequestHandler, public std::enable_shared_from_this<Gate> {
 public:
  /// \param link  null: attach() brings the first one, or the options' source does
  static std::shared_ptr<Gate> make(caf::actor_system& system, std::shared_ptr<net::Link> link,
                                    const GateOptions& options);
  ~Gate() override;

  /// The stand-in for the peer's actor at `address`; the same one each time. It has no mailbox:
  /// sending to it encodes on the sender's thread.
  caf::actor proxy(Address address);
  /// Lets the peer reach `actor` at `address`.
  void export_actor(Address address, const caf::actor& actor);
  /// Goes on over a new link in place of a lost one (the side that accepts).
  void attach(const std::shared_ptr<net::Link>& link) { endpoint_->attach(link); }
  void close(const Error& why);
  /// Waits until everything that close() brings about has happened; false if that took longer. Not
  /// from the link's thread.
  bool wait_closed(std::chrono::milliseconds timeout);
  net::EndpointStats stats() const;

  void on_request(net::Frame&& frame) override;
  void on_ending(const Error& why) override;
  void on_link_down(const Error& why) override;

 private:
  class Proxy;
  class ReplySink;
  Gate(caf::actor_system& system, const GateOptions& options);
  void target_down(std::uint64_t target, const Error& why);
  void request(caf::strong_actor_ptr proxy, std::uint64_t target, caf::mailbox_element& what);
  void answer(std::uint64_t id, const caf::message& content);
  void export_died(std::uint64_t target, std::uint64_t incarnation, const Error& why);
  void take_actor_down(const net::Frame& frame);
  void fail_orphans(const std::vector<net::FrameHeader>& orphans, const Error& why);
  bool is_fenced(const net::FrameHeader& head) const;

  caf::actor_system& system_;
  const GateOptions options_;
  std::shared_ptr<net::Endpoint> endpoint_;

  mutable std::mutex mutex_;   ///< no actor is called under it: bounces re-enter
  std::optional<Error> down_;  ///< why the link is gone
  bool closed_ = false;        ///< and everybody was told
  std::condition_variable closed_changed_;
  caf::strong_actor_ptr sink_;
  std::map<std::uint64_t, caf::actor> proxies_;
  net::ServedTargets<caf::actor> served_;
  std::map<std::uint64_t, std::uint64_t> downs_seen_;  ///< last ActorDown, by the peer's address
};

}  // namespace troupe
