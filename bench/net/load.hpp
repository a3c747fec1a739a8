#pragma once
/// \file load.hpp
/// What is measured: requests of 64 bytes and their replies, so many under way, for a while.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace troupe::bench {

inline constexpr std::size_t request_bytes = 64;

struct Load {
  std::size_t reply_bytes = request_bytes;
  std::size_t depth = 1;
  std::chrono::steady_clock::duration time{};
};

/// Asks one server.
class Client {
 public:
  virtual ~Client() = default;
  /// \returns replies per second
  virtual double run(const Load& load) = 0;
};

/// Answers until it is destroyed.
class Server {
 public:
  virtual ~Server() = default;
  virtual std::string address() const = 0;
};

/// Counts replies and says whether to ask again; done() when all have come.
class Progress {
 public:
  explicit Progress(const Load& load)
      : began_(std::chrono::steady_clock::now()), end_(began_ + load.time), open_(load.depth) {}
  /// A reply came. \returns whether another request is to be sent
  bool next() {
    ++replies_;
    // Reading the clock costs as much as a small message: not for each.
    if (!over_ && replies_ % 16 == 0) {
      over_ = std::chrono::steady_clock::now() >= end_;
    }
    open_ -= over_ ? 1U : 0U;
    return !over_;
  }
  bool done() const { return open_ == 0; }
  double rate() const {
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began_;
    return static_cast<double>(replies_) / took.count();
  }

 private:
  std::chrono::steady_clock::time_point began_;
  std::chrono::steady_clock::time_point end_;
  std::size_t open_;
  std::uint64_t replies_ = 0;
  bool over_ = false;
};

std::unique_ptr<Server> serve_raw();
/// \param per_message  one call of the system for each message, instead of as many as there are
std::unique_ptr<Client> make_raw_client(const std::string& address, bool per_message);

std::unique_ptr<Server> serve_linked(bool endpoints, bool ucx);
std::unique_ptr<Client> make_link_client(const std::string& address, bool ucx);
std::unique_ptr<Client> make_endpoint_client(const std::string& address);

/// Between actors: requests of feature rows of 64 bytes, as many as make the reply.
std::unique_ptr<Server> serve_proxied(bool ucx);
std::unique_ptr<Client> make_proxy_client(const std::string& address, bool ucx);

/// UCX's own program, in two processes of its own: one message each way for one request under way,
/// else messages one way.
std::unique_ptr<Client> make_perftest_client();
bool has_perftest();

}  // namespace troupe::bench
