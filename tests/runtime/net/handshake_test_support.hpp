#pragma once
/// \file handshake_test_support.hpp
/// Two ends of a handshake, and everything that went between them.
#include "runtime/net/handshake_wire.hpp"

#include <gtest/gtest.h>

namespace troupe::net {

using Wire8 = std::vector<std::byte>;

inline Token token_of(char digit) {
  return *Token::parse(std::string(64, digit));
}

inline HandshakeOptions options_of(std::uint32_t process) {
  HandshakeOptions options;
  options.token = token_of('7');
  options.job = "papers-7f3a";
  options.transport = "tcp";
  options.self = {ProcessId{process}, 1, "host-" + std::to_string(process) + ":7000"};
  return options;
}

/// What an end says of its state.
struct Outcome {
  bool done = false;
  std::string error;  ///< "code: sentence"
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

inline Outcome outcome_of(Handshake& end) {
  const auto state = end.feed({});
  return {
      end.done(),
      state.ok() ? "" : std::string(to_string(state.error().code())) + ": " + state.error().what()};
}

struct Exchange {
  std::unique_ptr<Handshake> dialling = Handshake::dial(options_of(1));
  std::unique_ptr<Handshake> accepting = Handshake::accept(options_of(2));
  /// What was sent, one entry a message, the dialling end's and the accepting end's.
  std::vector<Wire8> dialled{};
  std::vector<Wire8> accepted{};

  /// Carries messages over until nobody has one. \param change may alter message `n`, counted from 0
  /// over both directions
  template <class Change>
  void run(Change change) {
    std::size_t number = 0;
    for (bool busy = true; busy;) {
      busy = false;
      for (const bool from_dialling : {true, false}) {
        auto message = (from_dialling ? dialling : accepting)->output();
        if (message.empty()) {
          continue;
        }
        busy = true;
        (from_dialling ? dialled : accepted).push_back(message);
        change(number++, message);
        (void)(from_dialling ? accepting : dialling)->feed(message);
      }
    }
  }
  void run() {
    run([](std::size_t, Wire8&) {});
  }
  Outcome dialling_end() { return outcome_of(*dialling); }
  Outcome accepting_end() { return outcome_of(*accepting); }
};

inline Exchange exchange_of(HandshakeOptions dialling, HandshakeOptions accepting) {
  return {Handshake::dial(std::move(dialling)), Handshake::accept(std::move(accepting))};
}

inline bool begins(const std::string& text, std::string_view start) {
  return text.starts_with(start);
}
inline bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace troupe::net
