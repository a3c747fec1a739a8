// Asio and nothing else, on one thread at each end: what links are measured against.
#include "bench/net/load.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

#include <array>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

namespace troupe::bench {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using ErrorCode = boost::system::error_code;

constexpr std::size_t block_bytes = std::size_t{64} << 10;

/// The first 8 bytes of a request say how long the reply is.
std::array<std::byte, request_bytes> request_of(std::size_t reply_bytes) {
  std::array<std::byte, request_bytes> request{};
  std::memcpy(request.data(), &reply_bytes, sizeof reply_bytes);
  return request;
}

/// One connection at the server: takes what has come, answers all of it in one write.
class Answering : public std::enable_shared_from_this<Answering> {
 public:
  explicit Answering(tcp::socket socket) : socket_(std::move(socket)), in_(block_bytes) {
    socket_.set_option(tcp::no_delay(true));
  }
  void read() {
    socket_.async_read_some(asio::buffer(in_.data() + used_, in_.size() - used_),
                            [self = shared_from_this()](const ErrorCode& error, std::size_t n) {
                              if (!error) {
                                self->answer(n);
                              }
                            });
  }

 private:
  void answer(std::size_t n) {
    used_ += n;
    std::vector<asio::const_buffer> replies;
    std::size_t at = 0;
    std::size_t small = 0;
    for (; used_ - at >= request_bytes; at += request_bytes) {
      std::size_t bytes = 0;
      std::memcpy(&bytes, in_.data() + at, sizeof bytes);
      if (bytes > reply_.size()) {
        reply_.resize(bytes);
      }
      bytes > request_bytes ? replies.push_back(asio::buffer(reply_.data(), bytes))
                            : static_cast<void>(small += bytes);
    }
    if (small > 0) {
      reply_.resize(std::max(reply_.size(), small));
      replies.push_back(asio::buffer(reply_.data(), small));
    }
    std::memmove(in_.data(), in_.data() + at, used_ - at);
    used_ -= at;
    asio::async_write(socket_, replies,
                      [self = shared_from_this()](const ErrorCode& error, std::size_t) {
                        if (!error) {
                          self->read();
                        }
                      });
  }
  tcp::socket socket_;
  std::vector<std::byte> in_;
  std::size_t used_ = 0;
  std::vector<std::byte> reply_;
};

class RawServer final : public Server {
 public:
  RawServer() : acceptor_(io_, tcp::endpoint(asio::ip::address_v4::loopback(), 0)) {
    accept();
    thread_ = std::thread([this] { io_.run(); });
  }
  ~RawServer() override {
    io_.stop();
    thread_.join();
  }
  std::string address() const override {
    return "127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port());
  }

 private:
  void accept() {
    acceptor_.async_accept([this](const ErrorCode& error, tcp::socket socket) {
      if (!error) {
        std::make_shared<Answering>(std::move(socket))->read();
        accept();
      }
    });
  }
  asio::io_context io_{1};
  tcp::acceptor acceptor_;
  std::thread thread_;
};

class RawClient final : public Client {
 public:
  RawClient(const std::string& address, bool per_message)
      : per_message_(per_message), socket_(io_) {
    const auto colon = address.rfind(':');
    socket_.connect({asio::ip::make_address(address.substr(0, colon)),
                     static_cast<std::uint16_t>(std::stoi(address.substr(colon + 1)))});
    socket_.set_option(tcp::no_delay(true));
  }

  double run(const Load& load) override {
    load_ = load;
    Progress progress(load);
    progress_ = &progress;
    const auto request = request_of(load.reply_bytes);
    requests_.clear();
    for (std::size_t i = 0; i < std::max<std::size_t>(load.depth, 1024); ++i) {
      requests_.insert(requests_.end(), request.begin(), request.end());
    }
    // As many places for large replies as are under way, as whoever keeps them needs.
    places_.assign(load.reply_bytes > block_bytes ? load.depth : 1,
                   std::vector<std::byte>(std::max(load.reply_bytes, block_bytes)));
    place_ = 0;
    used_ = 0;
    to_send_ = load.depth;
    write();
    read();
    io_.restart();
    io_.run();
    return progress.rate();
  }

 private:
  void write() {
    if (to_send_ == 0 || writing_) {
      return;
    }
    writing_ = true;
    const std::size_t n = per_message_ ? 1 : std::exchange(to_send_, 0);
    to_send_ -= per_message_ ? 1U : 0U;
    asio::async_write(socket_, asio::buffer(requests_.data(), n * request_bytes),
                      [this](const ErrorCode&, std::size_t) {
                        writing_ = false;
                        write();
                      });
  }
  void read() {
    if (progress_->done()) {
      return;
    }
    auto& in = places_[place_];
    const std::size_t most = per_message_ ? load_.reply_bytes - used_ : in.size() - used_;
    socket_.async_read_some(asio::buffer(in.data() + used_, most),
                            [this](const ErrorCode& error, std::size_t n) {
                              if (!error) {
                                take(n);
                              }
                            });
  }
  void take(std::size_t n) {
    used_ += n;
    for (; used_ >= load_.reply_bytes; used_ -= load_.reply_bytes) {
      to_send_ += progress_->next() ? 1U : 0U;
      place_ = (place_ + 1) % places_.size();
    }
    write();
    read();
  }

  const bool per_message_;
  asio::io_context io_{1};
  tcp::socket socket_;
  Load load_;
  Progress* progress_ = nullptr;
  std::vector<std::byte> requests_;
  std::vector<std::vector<std::byte>> places_;
  std::size_t place_ = 0;
  std::size_t used_ = 0;  // of the place
  std::size_t to_send_ = 0;
  bool writing_ = false;
};

}  // namespace

std::unique_ptr<Server> serve_raw() {
  return std::make_unique<RawServer>();
}

std::unique_ptr<Client> make_raw_client(const std::string& address, bool per_message) {
  return std::make_unique<RawClient>(address, per_message);
}

}  // namespace troupe::bench
