#pragma once
/// \file neighbourhood.hpp
/// The links of one process to the others: listens, dials, and keeps a gate for each process that is
/// there.
#include "actors/gate.hpp"
#include "runtime/net/tcp.hpp"
#include "runtime/net/token.hpp"
#include "runtime/wire/membership.hpp"

#include <caf/fwd.hpp>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace troupe {

/// Callbacks come on the network thread or on that of a call here, with no lock held.
struct NeighbourhoodOptions {
  net::Token token;
  std::string job;  ///< `Job::file_digest`: processes of another job are refused
  net::ProcessInstance self;
  std::string listen = "127.0.0.1:0";
  net::TcpOptions tcp;
  GateOptions gate;  ///< of links to others; names, timers and sources are filled in
  std::function<std::string(ProcessId)> name;
  /// Whether a process that proved the token may connect; empty: if it is no older than known.
  std::function<Status(const net::ProcessInstance&)> admit = {};
  /// There is a gate to a process, in place of an earlier one; nothing has passed it yet.
  std::function<void(ProcessId, std::shared_ptr<Gate>)> connected;
  /// A gate has ended by itself: no link within its recovery deadline.
  std::function<void(const net::ProcessInstance&, const Error&)> lost;
  std::function<void(const std::string&)> say;  ///< a line about a refusal, here or by a peer
};

/// Lifecycle:  open(); close() before the actor system ends, then the destructor
/// Threads:    all members from any thread
class Neighbourhood : public std::enable_shared_from_this<Neighbourhood> {
 public:
  /// \errors those of net::TcpListener::open
  static Result<std::shared_ptr<Neighbourhood>> open(caf::actor_system& system,
                                                     NeighbourhoodOptions options);
  ~Neighbourhood();

  std::string address() const;
  /// For gates made from now on.
  void set_gate_options(const GateOptions& options, const net::TcpOptions& tcp);

  /// Makes sure that there is a gate to an incarnation of a process; one to an earlier incarnation is dropped.
  /// \param address  where to dial; empty: the other side does
  void expect(const net::ProcessInstance& peer, const std::string& address);
  /// Connects to a process and blocks until it is there or `deadline` is over.
  /// \param recovery  how long the gate survives without a link
  /// \errors those of net::make_tcp_dialer; deadline_exceeded, with the last of them
  Result<std::shared_ptr<Gate>> connect(const net::ProcessInstance& peer,
                                        const std::string& address,
                                        std::chrono::milliseconds deadline,
                                        net::Clock::duration recovery);
  /// The gate to this very incarnation of a process; null: there is none.
  std::shared_ptr<Gate> gate(const net::ProcessInstance& instance) const;
  /// Closes the gate to an incarnation of a process, and refuses it from now on. `lost` is not called.
  void drop(const net::ProcessInstance& instance, const Error& why);
  net::LinkTotals totals() const;
  /// Closes all; waits for that, but not for ever.
  void close(const Error& why);

 private:
  struct Neighbour {
    std::uint32_t incarnation = 0;
    std::shared_ptr<Gate> gate;
  };
  class GateDialer;
  Neighbourhood(caf::actor_system& system, NeighbourhoodOptions options);
  net::HandshakeOptions handshake() const;
  std::vector<std::shared_ptr<Gate>> take_closed();  // under the lock
  Status admit(const net::PeerIdentity& peer) const;
  void accept(const std::shared_ptr<net::Link>& link, const net::PeerIdentity& peer);
  std::shared_ptr<net::Dialer> dialer(const net::ProcessInstance& peer, const std::string& address);
  std::shared_ptr<Gate> make_gate(const net::ProcessInstance& peer,
                                  std::shared_ptr<GateDialer> dialer,
                                  net::Clock::duration recovery);
  void gate_ended(const net::ProcessInstance& peer, const Error& why);

  caf::actor_system& system_;
  net::TcpIo io_;
  std::unique_ptr<net::TcpListener> listener_;
  std::mutex telling_;  ///< held until `connected` has returned; taken before `mutex_`
  mutable std::mutex mutex_;
  NeighbourhoodOptions options_;
  std::map<ProcessId, Neighbour> neighbours_;
  std::vector<std::shared_ptr<Gate>> dropped_;  ///< Closing; close() waits for them
  net::LinkTotals closed_totals_;               ///< Of gates that were dropped and are closed
  bool closed_ = false;
};

}  // namespace troupe
