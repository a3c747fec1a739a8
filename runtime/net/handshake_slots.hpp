#pragma once
/// \file handshake_slots.hpp
/// Places of a listener for connections whose peer has not proved yet that it knows the token.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace troupe::net {

/// Closes the oldest connection when a new one needs its place. Before the proof a listener cannot tell
/// strangers from members, but a member needs its place for two round trips only: it is done before
/// strangers have opened as many newer connections as there are places.
/// Threads:    one
/// Guarantees: at most `places` places are held, and beyond loopback half of them by one address
class HandshakeSlots : public std::enable_shared_from_this<HandshakeSlots> {
 public:
  using Close = std::function<void()>;
  explicit HandshakeSlots(std::size_t places) : places_(places) {}

  /// Makes room for a connection from an address: calls `close` of the one that gives way, if any.
  /// \returns whether one did
  bool make_room(const std::string& host, bool on_loopback);
  /// A place until the result is dropped. \requires make_room()
  /// \param close  drops the result; called once at most
  std::shared_ptr<void> take(const std::string& host, Close close);
  /// Closes all.
  void close_all();
  std::size_t held() const { return held_.size(); }

 private:
  struct Held {
    std::string host;
    Close close;
  };
  using Number = std::uint64_t;
  void close(Number number);

  const std::size_t places_;
  Number next_ = 0;
  std::map<Number, Held> held_;  ///< the oldest first
};

}  // namespace troupe::net
