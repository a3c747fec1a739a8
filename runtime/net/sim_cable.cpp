#include "runtime/net/sim_cable.hpp"

#include "runtime/net/sim_wire.hpp"

#include <utility>

namespace troupe::net {

class SimCable::CableDialer final : public Dialer {
 public:
  explicit CableDialer(std::shared_ptr<SimCable> cable) : cable_(std::move(cable)) {}
  void dial(std::function<void(Result<std::shared_ptr<Link>>)> done) override {
    cable_->dial(std::move(done));
  }

 private:
  const std::shared_ptr<SimCable> cable_;
};

SimCable::SimCable(SimDriver& driver, SimLinkOptions options)
    : driver_(driver), options_(std::move(options)) {}

std::shared_ptr<SimCable> SimCable::make(SimDriver& driver, SimLinkOptions options) {
  return std::shared_ptr<SimCable>(new SimCable(driver, std::move(options)));
}

std::pair<std::shared_ptr<Link>, std::shared_ptr<Link>> SimCable::connect() {
  const std::lock_guard guard(mutex_);
  wire_ = std::make_shared<SimWire>(driver_, options_);
  if (cut_) {
    wire_->close(Error(Errc::peer_lost, "the cable is cut"));
  }
  return links_of(wire_);
}

void SimCable::on_accept(std::function<void(std::shared_ptr<Link>)> accept) {
  const std::lock_guard guard(mutex_);
  accept_ = std::move(accept);
}

std::shared_ptr<Dialer> SimCable::dialer() {
  return std::make_shared<CableDialer>(shared_from_this());
}

void SimCable::dial(std::function<void(Result<std::shared_ptr<Link>>)> done) {
  const std::lock_guard guard(mutex_);
  driver_.at(driver_.now() + options_.latency,
             [self = shared_from_this(), done = std::move(done)] { self->arrive(done); });
}

void SimCable::arrive(const std::function<void(Result<std::shared_ptr<Link>>)>& done) {
  std::function<void(std::shared_ptr<Link>)> accept;
  LinkPair links;
  Clock::time_point answered;
  {
    const std::lock_guard guard(mutex_);
    answered = driver_.now() + options_.latency;
    if (!cut_ && accept_) {
      accept = accept_;
      wire_ = std::make_shared<SimWire>(driver_, options_);
      links = links_of(wire_);
    }
  }
  if (!accept) {
    driver_.at(answered, [done] {
      done(Error(Errc::peer_lost, "dial: the cable is cut, or nobody accepts at its other end"));
    });
    return;
  }
  accept(std::move(links.second));
  driver_.at(answered, [done, link = std::move(links.first)] { done(link); });
}

void SimCable::cut(Error why, SimCut how) {
  std::shared_ptr<SimWire> wire;
  {
    const std::lock_guard guard(mutex_);
    if (std::exchange(cut_, true)) {
      return;
    }
    wire = wire_;
  }
  if (wire) {
    wire->cut(std::move(why), how);
  }
}

void SimCable::heal() {
  const std::lock_guard guard(mutex_);
  cut_ = false;
}

bool SimCable::is_cut() const {
  const std::lock_guard guard(mutex_);
  return cut_;
}

void SimCable::hold(std::size_t end, bool on) {
  const std::lock_guard guard(mutex_);
  if (wire_) {
    wire_->hold(end, on);
  }
}

void SimCable::corrupt(std::size_t end) {
  const std::lock_guard guard(mutex_);
  if (wire_) {
    wire_->corrupt(end);
  }
}

void SimCable::set_latency(Clock::duration latency) {
  const std::lock_guard guard(mutex_);
  options_.latency = latency;
  if (wire_) {
    wire_->set_latency(latency);
  }
}

void SimCable::set_bandwidth(double bytes_per_second) {
  const std::lock_guard guard(mutex_);
  options_.bytes_per_second = bytes_per_second;
  if (wire_) {
    wire_->set_bandwidth(bytes_per_second);
  }
}

}  // namespace troupe::net
