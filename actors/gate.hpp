#pragma once
/// \file gate.hpp
/// One end of a link, as actors see it: a proxy for each remote actor, and the serving half for
/// what is exported to the peer. Nothing above knows where an actor lives.
#include "runtime/net/endpoint.hpp"

#include <caf/actor.hpp>
#include <caf/fwd.hpp>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

namespace troupe {

/// Where an actor is found behind a gate: what it is, and which of them.
enum class Role : std::uint32_t { holder = 1, trainer = 2, evaluator = 3, director = 4 };
struct Address {
  Role role;
  std::uint32_t index = 0;  ///< part, rank or host
  std::uint64_t word() const {
    return std::uint64_t{static_cast<std::uint32_t>(role)} << 32 | index;
  }
};

struct GateOptions {
  net::EndpointOptions endpoint;
  /// Deadline of requests whose answer waits for work without a bound of its own (epochs,
  /// inference, gradients): liveness covers those.
  net::Clock::duration long_deadline = std::chrono::hours(24 * 365);
};

/// Lifecycle:  make() one at each end, exports and proxies at any time; close() before the actor
///   system ends
/// Threads:    all members from any thread
/// Guarantees: every request through a proxy gets exactly one answer. When the link breaks, pending
///   requests are answered with peer_lost and the proxies die, so monitors and links fire as for a
///   local actor. When an exported actor dies, requests that it left open are answered, and the
///   peer's proxy for it dies
class Gate final : public net::RequestHandler, public std::enable_shared_from_this<Gate> {
 public:
  static std::shared_ptr<Gate> make(caf::actor_system& system, std::shared_ptr<net::Link> link,
                                    GateOptions options);
  ~Gate() override;

  /// The stand-in for the peer's actor at `address`; the same one each time. It has no mailbox:
  /// sending to it encodes on the sender's thread.
  caf::actor proxy(Address address);
  /// Lets the peer reach `actor` at `address`.
  void export_actor(Address address, const caf::actor& actor);
  void close(const Error& why);
  /// Waits until everything that close() brings about has happened; false if that took longer. Not
  /// from the link's thread.
  bool wait_closed(std::chrono::milliseconds timeout);
  net::EndpointStats stats() const;

  void on_request(net::Frame frame) override;
  void on_target_down(std::uint64_t target, const Error& why) override;
  void on_link_down(const Error& why) override;

 private:
  class Proxy;
  class ReplySink;
  Gate(caf::actor_system& system, GateOptions options);
  void request(caf::strong_actor_ptr proxy, std::uint64_t target, caf::mailbox_element& what);
  void answer(std::uint64_t id, const caf::message& content);
  void export_died(std::uint64_t target, const Error& why);

  caf::actor_system& system_;
  const GateOptions options_;
  std::shared_ptr<net::Endpoint> endpoint_;

  mutable std::mutex mutex_;  ///< no actor is called under it: bounces re-enter
  bool down_ = false;         ///< the link is gone
  bool closed_ = false;       ///< and everybody was told
  std::condition_variable closed_changed_;
  caf::strong_actor_ptr sink_;
  std::map<std::uint64_t, caf::actor> proxies_;
  std::map<std::uint64_t, caf::actor> exports_;
  std::map<std::uint64_t, net::FrameHeader>
      serving_;  ///< by request id; ordered: it is walked to send frames
};

}  // namespace troupe
