#include "runtime/net/tcp_io.hpp"

#include "runtime/net/ucx_port.hpp"

#include <vector>

namespace troupe::net {

void TcpIo::State::run_at(Clock::time_point t, std::function<void()> f) {
  const std::lock_guard guard(mutex);
  if (ending) {
    return;
  }
  const auto place = timers.emplace(std::pair(t, sequence++), std::move(f)).first;
  if (place == timers.begin()) {
    asio::post(context, [self = shared_from_this()] { self->arm(); });
  }
}

void TcpIo::State::arm() {
  const std::lock_guard guard(mutex);
  if (timers.empty()) {
    return;
  }
  timer.expires_at(timers.begin()->first.first);
  timer.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
    if (!error) {
      self->run_due();
    }
  });
}

void TcpIo::State::run_due() {
  const auto now = Clock::now();
  for (;;) {
    std::function<void()> next;
    {
      const std::lock_guard guard(mutex);
      if (timers.empty() || timers.begin()->first.first > now) {
        break;
      }
      next = std::move(timers.begin()->second);
      timers.erase(timers.begin());
    }
    next();
  }
  arm();
}

void TcpIo::State::drop_timers() {
  timer.cancel();
  decltype(timers) dropped;
  const std::lock_guard guard(mutex);
  dropped.swap(timers);  // let go after the lock: it is declared before it
}

void TcpIo::State::end() {
  for (bool again = true; again;) {  // the end of one thing may begin another
    decltype(open) now;
    now.swap(open);
    again = !now.empty();
    for (const auto& [key, weak] : now) {
      if (const auto thing = weak.lock()) {
        thing->io_ends();
      }
    }
  }
  {
    const std::lock_guard guard(mutex);
    ending = true;
  }
  drop_timers();
  work.reset();
}

TcpIo::TcpIo() : state_(std::make_shared<State>()) {
  state_->thread = std::thread([state = state_.get()] {
    state->context.run();
    state->ucx.reset();
  });
}

TcpIo::~TcpIo() {
  TROUPE_ASSERT(state_->thread.get_id() != std::this_thread::get_id(),
                "the network thread cannot end itself");
  state_->post([state = state_] { state->end(); });
  state_->thread.join();  // what is open was closed: there is nothing left to run
}

void TcpIo::at(Clock::time_point t, std::function<void()> f) {
  state_->run_at(t, std::move(f));
}

std::size_t TcpIo::ucx_strangers() const {
  return state_->ucx_strangers;
}

std::size_t TcpIo::open_sockets() const {
  return state_->sockets;
}

}  // namespace troupe::net
