#pragma once
/// \file linking.hpp
/// How the measured processes connect.
#include "runtime/net/endpoint.hpp"
#include "runtime/net/tcp.hpp"

#include <cstdlib>
#include <fmt/format.h>
#include <future>
#include <memory>
#include <string>

namespace troupe::bench {

[[noreturn]] inline void exit_with(const Error& error) {
  fmt::print(stderr, "{}\n", error.what());
  std::exit(1);
}

template <class T>
T value_or_exit(Result<T> result) {
  if (!result.ok()) {
    exit_with(result.error());
  }
  return *std::move(result);
}

inline net::HandshakeOptions handshake(std::uint32_t process) {
  net::HandshakeOptions options;
  auto token = net::Token::parse(std::string(64, '1'));
  options.token = *std::move(token);
  options.job = "bench";
  options.self = {static_cast<ProcessId>(process), 1, ""};
  return options;
}

inline net::TcpOptions options_of(bool ucx) {
  net::TcpOptions options;
  options.ucx = ucx ? net::UcxUse::required : net::UcxUse::off;
  return options;
}

inline std::shared_ptr<net::Link> connect(net::TcpIo& io, const std::string& address, bool ucx) {
  std::promise<Result<std::shared_ptr<net::Link>>> made;
  net::make_tcp_dialer(io, address, handshake(1), options_of(ucx))
      ->dial([&](Result<std::shared_ptr<net::Link>> link) { made.set_value(std::move(link)); });
  return value_or_exit(made.get_future().get());
}

inline net::EndpointOptions wide_open() {
  net::EndpointOptions options;
  options.window_bytes = std::uint64_t{1} << 30;
  options.serving_bytes = std::uint64_t{1} << 30;
  return options;
}

}  // namespace troupe::bench
