#include "launcher/processes/neighbourhood.hpp"

#include "runtime/net/error_codes.hpp"
#include "runtime/wire/link_totals.hpp"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <future>
#include <iterator>
#include <thread>
#include <vector>

namespace troupe {
namespace {

using std::chrono::milliseconds;

}  // namespace

/// Dials for a gate, but not before open(): then everything is exported that the peer may ask for.
class Neighbourhood::GateDialer final : public net::Dialer {
 public:
  using Done = std::function<void(Result<std::shared_ptr<net::Link>>)>;
  GateDialer(net::Timers& timers, std::shared_ptr<net::Dialer> dialer)
      : timers_(timers), dialer_(std::move(dialer)) {}
  void dial(Done done) override {
    std::unique_lock guard(mutex_);
    if (!open_) {
      waiting_ = std::move(done);
      return;
    }
    const auto first = std::exchange(first_, nullptr);
    guard.unlock();
    go(first, std::move(done));
  }
  /// \param first  a link that is there already, for the first dial; may be null
  void open(std::shared_ptr<net::Link> first) {
    std::unique_lock guard(mutex_);
    open_ = true;
    if (!waiting_) {
      first_ = std::move(first);
      return;
    }
    auto done = std::exchange(waiting_, nullptr);
    guard.unlock();
    go(first, std::move(done));
  }

 private:
  void go(const std::shared_ptr<net::Link>& first, Done done) {
    if (first) {
      timers_.at(timers_.now(), [first, done = std::move(done)] { done(first); });
    } else {
      dialer_->dial(std::move(done));
    }
  }

  net::Timers& timers_;
  const std::shared_ptr<net::Dialer> dialer_;
  std::mutex mutex_;
  bool open_ = false;
  std::shared_ptr<net::Link> first_;
  Done waiting_;
};

Neighbourhood::Neighbourhood(caf::actor_system& system, NeighbourhoodOptions options)
    : system_(system), options_(std::move(options)) {
  options_.tcp.say = options_.say;
}

Neighbourhood::~Neighbourhood() {
  listener_.reset();
}

net::HandshakeOptions Neighbourhood::handshake() const {
  net::HandshakeOptions options;
  options.token = options_.token;
  options.job = options_.job;
  options.self.process = options_.self.process;
  options.self.incarnation = options_.self.incarnation;
  options.self.address = listener_ ? listener_->address() : "";
  return options;
}

Result<std::shared_ptr<Neighbourhood>> Neighbourhood::open(caf::actor_system& system,
                                                           NeighbourhoodOptions options) {
  const std::shared_ptr<Neighbourhood> made(new Neighbourhood(system, std::move(options)));
  auto handshake = made->handshake();
  handshake.admit = [weak = made->weak_from_this()](const net::PeerIdentity& peer) -> Status {
    const auto self = weak.lock();
    return self ? self->admit(peer) : Status(Error(Errc::cancelled, "the process ends"));
  };
  TROUPE_ASSIGN_OR_RETURN(
      made->listener_,
      net::TcpListener::open(made->io_, made->options_.listen, std::move(handshake),
                             {.tcp = made->options_.tcp, .say = made->options_.say},
                             [weak = made->weak_from_this()](const std::shared_ptr<net::Link>& link,
                                                             const net::PeerIdentity& peer) {
                               if (const auto self = weak.lock()) {
                                 self->accept(link, peer);
                               } else {
                                 link->close(Error(Errc::cancelled, "the process ends"));
                               }
                             }));
  return made;
}

std::string Neighbourhood::address() const {
  return listener_->address();
}

void Neighbourhood::set_gate_options(const GateOptions& options, const net::TcpOptions& tcp) {
  const std::lock_guard guard(mutex_);
  options_.gate = options;
  options_.tcp = tcp;
  options_.tcp.say = options_.say;
}

// ---- who may connect ----

Status Neighbourhood::admit(const net::PeerIdentity& peer) const {
  const net::ProcessInstance instance{peer.process, peer.incarnation};
  if (options_.admit) {
    return options_.admit(instance);
  }
  const std::lock_guard guard(mutex_);
  const auto found = neighbours_.find(instance.process);
  if (found != neighbours_.end() && instance.incarnation < found->second.incarnation) {
    return Error(Errc::fenced, fmt::format("{}: its incarnation {} is over, now {}",
                                           options_.name(instance.process), instance.incarnation,
                                           found->second.incarnation));
  }
  return ok_status();
}

void Neighbourhood::accept(const std::shared_ptr<net::Link>& link, const net::PeerIdentity& peer) {
  const net::ProcessInstance instance{peer.process, peer.incarnation};
  expect(instance, "");
  if (const auto found = gate(instance)) {
    found->attach(link);
  } else {
    link->close(Error(Errc::cancelled, "it was replaced meanwhile"));
  }
}

// ---- gates ----

std::shared_ptr<net::Dialer> Neighbourhood::dialer(const net::ProcessInstance& peer,
                                                   const std::string& address) {
  auto options = handshake();
  options.expect_process = peer.process;
  options.expect_incarnation = peer.incarnation;
  return net::make_tcp_dialer(io_, address, std::move(options), options_.tcp, options_.say);
}

std::shared_ptr<Gate> Neighbourhood::make_gate(const net::ProcessInstance& peer,
                                               std::shared_ptr<GateDialer> dialer,
                                               net::Clock::duration recovery) {
  auto options = options_.gate;
  options.endpoint.timers = &io_;
  options.endpoint.recovery_deadline = recovery;
  const auto here = options_.name(options_.self.process);
  const auto there = options_.name(peer.process);
  options.endpoint.name =
      fmt::format("link of {} and {}", std::min(here, there), std::max(here, there));
  if (dialer) {
    options.endpoint.source = std::make_shared<net::Reconnector>(
        io_, std::move(dialer),
        net::ReconnectOptions{.jitter = 0.5, .seed = raw(options_.self.process)});
  }
  options.on_end = [weak = weak_from_this(), peer](const Error& why) {
    if (const auto self = weak.lock()) {
      self->gate_ended(peer, why);
    }
  };
  return Gate::make(system_, nullptr, options);
}

/// Gates that were dropped and have closed by now are needed for the totals alone.
/// \returns those, to be freed without the lock
std::vector<std::shared_ptr<Gate>> Neighbourhood::take_closed() {
  const auto closing = std::stable_partition(
      dropped_.begin(), dropped_.end(),
      [](const auto& gate) { return !gate->wait_closed(std::chrono::milliseconds(0)); });
  std::vector<std::shared_ptr<Gate>> closed(std::make_move_iterator(closing),
                                            std::make_move_iterator(dropped_.end()));
  dropped_.erase(closing, dropped_.end());
  for (const auto& gate : closed) {
    add(closed_totals_, gate->stats());
  }
  return closed;
}

void Neighbourhood::expect(const net::ProcessInstance& peer, const std::string& address) {
  std::vector<std::shared_ptr<Gate>> closed;
  std::shared_ptr<Gate> old;
  std::shared_ptr<Gate> made;
  std::shared_ptr<GateDialer> dials;
  std::unique_lock telling(telling_);
  {
    const std::lock_guard guard(mutex_);
    auto& neighbour = neighbours_[peer.process];
    if (closed_ || peer.incarnation < neighbour.incarnation ||
        (peer.incarnation == neighbour.incarnation && neighbour.gate)) {
      return;
    }
    closed = take_closed();
    old = std::move(neighbour.gate);
    if (old) {
      dropped_.push_back(old);
    }
    if (!address.empty()) {
      dials = std::make_shared<GateDialer>(io_, dialer(peer, address));
    }
    made = make_gate(peer, dials, options_.gate.endpoint.recovery_deadline);
    neighbour = {peer.incarnation, made};
  }
  options_.connected(peer.process, made);
  telling.unlock();
  if (dials) {
    dials->open(nullptr);
  }
  if (old) {
    old->close(
        Error(Errc::peer_lost, options_.name(peer.process) + ": another has taken its place"));
  }
}

Result<std::shared_ptr<Gate>> Neighbourhood::connect(const net::ProcessInstance& peer,
                                                     const std::string& address,
                                                     milliseconds deadline,
                                                     net::Clock::duration recovery) {
  const auto until = net::Clock::now() + deadline;
  const auto dials = dialer(peer, address);
  for (milliseconds pause{10};; pause = std::min(2 * pause, milliseconds{1000})) {
    auto promise = std::make_shared<std::promise<Result<std::shared_ptr<net::Link>>>>();
    auto future = promise->get_future();
    dials->dial([promise](Result<std::shared_ptr<net::Link>> link) {
      promise->set_value(std::move(link));
    });
    auto link = future.get();  // the dialer has a deadline of its own
    if (link) {
      std::shared_ptr<Gate> gate;
      const auto again = std::make_shared<GateDialer>(io_, dials);
      {
        const std::lock_guard guard(mutex_);
        gate = make_gate(peer, again, recovery);
        neighbours_[peer.process] = {peer.incarnation, gate};
      }
      options_.connected(peer.process, gate);
      again->open(*std::move(link));
      return gate;
    }
    if (net::is_final_refusal(link.error().code())) {
      return std::move(link).error();
    }
    if (net::Clock::now() + pause > until) {
      return Error(Errc::deadline_exceeded,
                   fmt::format("{}: not connected within {} ms: {}", address, deadline.count(),
                               link.error().what()));
    }
    std::this_thread::sleep_for(pause);
  }
}

void Neighbourhood::gate_ended(const net::ProcessInstance& peer, const Error& why) {
  {
    const std::lock_guard guard(mutex_);
    const auto found = neighbours_.find(peer.process);
    if (closed_ || found == neighbours_.end() || found->second.incarnation != peer.incarnation ||
        !found->second.gate) {
      return;  // it was dropped, or replaced
    }
  }
  options_.lost(peer, why);
}

std::shared_ptr<Gate> Neighbourhood::gate(const net::ProcessInstance& instance) const {
  const std::lock_guard guard(mutex_);
  const auto found = neighbours_.find(instance.process);
  return found != neighbours_.end() && found->second.incarnation == instance.incarnation
             ? found->second.gate
             : nullptr;
}

void Neighbourhood::drop(const net::ProcessInstance& instance, const Error& why) {
  std::vector<std::shared_ptr<Gate>> closed;
  std::shared_ptr<Gate> gate;
  {
    const std::lock_guard guard(mutex_);
    auto& neighbour = neighbours_[instance.process];
    if (instance.incarnation < neighbour.incarnation) {
      return;
    }
    closed = take_closed();
    neighbour.incarnation = instance.incarnation + 1;  // the next that may come
    gate = std::exchange(neighbour.gate, nullptr);
    if (gate) {
      dropped_.push_back(gate);
    }
  }
  if (gate) {
    gate->close(why);
  }
}

// ---- the end ----

net::LinkTotals Neighbourhood::totals() const {
  const std::lock_guard guard(mutex_);
  auto totals = closed_totals_;
  for (const auto& [id, neighbour] : neighbours_) {
    if (neighbour.gate) {
      add(totals, neighbour.gate->stats());
    }
  }
  for (const auto& gate : dropped_) {
    add(totals, gate->stats());
  }
  return totals;
}

void Neighbourhood::close(const Error& why) {
  std::vector<std::shared_ptr<Gate>> gates;
  {
    const std::lock_guard guard(mutex_);
    closed_ = true;
    gates = std::exchange(dropped_, {});
    for (auto& [id, neighbour] : neighbours_) {
      if (neighbour.gate) {
        gates.push_back(neighbour.gate);
      }
    }
  }
  listener_->close();
  for (const auto& gate : gates) {
    gate->close(why);
  }
  for (const auto& gate : gates) {
    gate->wait_closed(std::chrono::seconds(2));
  }
  const std::lock_guard guard(mutex_);
  neighbours_.clear();
}

}  // namespace troupe
