#include "runtime/net/reconnect.hpp"

#include "runtime/base/philox.hpp"

#include <algorithm>
#include <utility>

namespace troupe::net {

Reconnector::Reconnector(Timers& timers, std::shared_ptr<Dialer> dialer, ReconnectOptions options)
    : timers_(timers), dialer_(std::move(dialer)), options_(options) {
  TROUPE_ASSERT(options.first > Clock::duration::zero() && options.longest >= options.first &&
                    options.jitter >= 0 && options.jitter <= 1,
                "pauses 0 < first <= longest and jitter in 0..1; jitter", options.jitter);
}

std::uint64_t Reconnector::attempts() const {
  const std::lock_guard guard(mutex_);
  return attempts_;
}

void Reconnector::wanted(std::weak_ptr<Endpoint> by, Clock::time_point until) {
  const std::lock_guard guard(mutex_);
  endpoint_ = std::move(by);
  until_ = until;
  if (trying_) {
    return;
  }
  if (timers_.now() - attached_at_ >= options_.longest) {
    pause_ = {};
  }
  trying_ = true;
  plan();
}

void Reconnector::plan() {
  timers_.at(timers_.now() + shortened(pause_), [self = shared_from_this()] { self->attempt(); });
  pause_ = std::clamp(2 * pause_, options_.first, options_.longest);
}

Clock::duration Reconnector::shortened(Clock::duration pause) const {
  const auto word = philox4x32_10(
      {static_cast<std::uint32_t>(attempts_), static_cast<std::uint32_t>(attempts_ >> 32), 0, 0},
      {static_cast<std::uint32_t>(options_.seed),
       static_cast<std::uint32_t>(options_.seed >> 32)})[0];
  const double share = options_.jitter * (static_cast<double>(word) / 4294967296.0);
  return pause -
         Clock::duration(static_cast<Clock::rep>(static_cast<double>(pause.count()) * share));
}

void Reconnector::attempt() {
  std::unique_lock guard(mutex_);
  const auto until = until_;
  const auto weak = endpoint_;
  guard.unlock();
  const auto endpoint = weak.lock();
  const bool needed = endpoint && endpoint->interrupted() && timers_.now() < until;
  guard.lock();
  if (!needed && until == until_) {
    trying_ = false;
    return;
  }
  ++attempts_;
  guard.unlock();
  dialer_->dial([self = shared_from_this()](Result<std::shared_ptr<Link>> link) {
    self->finish_attempt(std::move(link));
  });
}

void Reconnector::finish_attempt(Result<std::shared_ptr<Link>> link) {
  std::shared_ptr<Endpoint> endpoint;
  {
    const std::lock_guard guard(mutex_);
    endpoint = endpoint_.lock();
    if (link) {
      attached_at_ = timers_.now();
      trying_ = false;
    } else {
      plan();
    }
  }
  if (!link) {
    if (endpoint) {
      endpoint->not_connected(link.error());
    }
  } else if (endpoint) {
    endpoint->attach(*std::move(link));
  } else {
    (*link)->close(Error(Errc::cancelled, "nobody needs the new link any more"));
  }
}

}  // namespace troupe::net
