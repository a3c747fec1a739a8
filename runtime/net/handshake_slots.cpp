#include "runtime/net/handshake_slots.hpp"

#include <algorithm>
#include <utility>

namespace troupe::net {

bool HandshakeSlots::make_room(const std::string& host, bool on_loopback) {
  const auto of_host = [&host](const auto& held) { return held.second.host == host; };
  const auto share = std::max<std::size_t>(places_ / 2, 1);
  if (!on_loopback &&
      static_cast<std::size_t>(std::count_if(held_.begin(), held_.end(), of_host)) >= share) {
    close(std::find_if(held_.begin(), held_.end(), of_host)->first);
    return true;
  }
  if (held_.size() < places_) {
    return false;
  }
  close(held_.begin()->first);
  return true;
}

std::shared_ptr<void> HandshakeSlots::take(const std::string& host, Close close) {
  const auto number = next_++;
  held_.emplace(number, Held{host, std::move(close)});
  return {nullptr, [weak = weak_from_this(), number](void*) {
            if (const auto self = weak.lock()) {
              self->held_.erase(number);
            }
          }};
}

void HandshakeSlots::close(Number number) {
  auto held = held_.extract(number);
  held.mapped().close();
}

void HandshakeSlots::close_all() {
  while (!held_.empty()) {
    close(held_.begin()->first);
  }
}

}  // namespace troupe::net
