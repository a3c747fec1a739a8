// The same load over links, and over endpoints on top of them.
#include "bench/net/linking.hpp"
#include "bench/net/load.hpp"

#include <cstdlib>
#include <fmt/format.h>
#include <future>
#include <vector>

namespace troupe::bench {
namespace {

using namespace net;

Frame request_of(std::size_t reply_bytes) {
  Frame frame;
  frame.meta.resize(request_bytes / 8);
  frame.meta[0] = reply_bytes;
  frame.head.traffic = TrafficClass::rows;
  return frame;
}

/// Small replies are messages, large ones one segment that is there already, as feature rows are.
class Replies {
 public:
  Frame to(const Frame& request) {
    const std::size_t bytes = request.meta.at(0);
    Frame reply;
    reply.head.traffic = request.head.traffic;
    reply.head.request = request.head.request;
    if (bytes <= request_bytes) {
      reply.meta.resize(bytes / 8);
    } else {
      if (rows_.bytes.size() != bytes) {
        rows_ = Segment::of(std::vector<std::byte>(bytes));
      }
      reply.segments.push_back(rows_);
    }
    return reply;
  }

 private:
  Segment rows_;
};

class LinkAnswers final : public LinkEvents {
 public:
  explicit LinkAnswers(std::shared_ptr<Link> link) : link_(std::move(link)) {}
  void on_frame(Frame&& frame) override { link_->send(replies_.to(frame)); }
  void on_down(const Error&) override {}

 private:
  const std::shared_ptr<Link> link_;
  Replies replies_;
};

class EndpointAnswers final : public RequestHandler {
 public:
  void on_request(Frame&& frame) override {
    if (const auto to = endpoint.lock()) {
      to->reply(frame.head, replies_.to(frame));
    }
  }
  void on_link_down(const Error&) override { endpoint.reset(); }
  std::weak_ptr<Endpoint> endpoint;

 private:
  Replies replies_;
};

class LinkedServer final : public Server {
 public:
  LinkedServer(bool endpoints, bool ucx) {
    listener_ = value_or_exit(TcpListener::open(
        io_, "127.0.0.1:0", handshake(2), {.tcp = options_of(ucx)},
        [this, endpoints](std::shared_ptr<Link> link, const PeerIdentity&) {
          if (!endpoints) {
            return link->start(std::make_shared<LinkAnswers>(link));
          }
          const auto answers = std::make_shared<EndpointAnswers>();
          all_.push_back(std::make_shared<Endpoint>(std::move(link), answers, wide_open()));
          answers->endpoint = all_.back();
          all_.back()->start();
        }));
  }
  std::string address() const override { return listener_->address(); }

 private:
  std::vector<std::shared_ptr<Endpoint>> all_;
  TcpIo io_;
  std::unique_ptr<TcpListener> listener_;
};

/// Asks on the network thread: each answer brings the next request.
class LinkedClient : public Client {
 public:
  double run(const Load& load) override {
    Progress progress(load);
    progress_ = &progress;
    reply_bytes_ = load.reply_bytes;
    std::promise<void> done;
    done_ = &done;
    io_.at(io_.now(), [this, depth = load.depth] {
      for (std::size_t i = 0; i < depth; ++i) {
        ask(reply_bytes_);
      }
    });
    done.get_future().wait();
    return progress.rate();
  }

 protected:
  virtual void ask(std::size_t reply_bytes) = 0;
  void answered() {
    if (progress_->next()) {
      ask(reply_bytes_);
    } else if (progress_->done()) {
      done_->set_value();
    }
  }
  TcpIo io_;

 private:
  Progress* progress_ = nullptr;
  std::size_t reply_bytes_ = 0;
  std::promise<void>* done_ = nullptr;
};

class LinkClient final : public LinkedClient {
 public:
  LinkClient(const std::string& address, bool ucx) : link_(connect(io_, address, ucx)) {
    link_->start(std::make_shared<Events>(*this));
  }
  ~LinkClient() override {
    link_->close(Error(Errc::cancelled, "measured"));
    down_.get_future().wait();
  }

 private:
  struct Events final : LinkEvents {
    explicit Events(LinkClient& c) : client(c) {}
    void on_frame(Frame&&) override { client.answered(); }
    void on_down(const Error&) override { client.down_.set_value(); }
    LinkClient& client;
  };
  void ask(std::size_t reply_bytes) override { link_->send(request_of(reply_bytes)); }
  const std::shared_ptr<Link> link_;
  std::promise<void> down_;
};

class EndpointClient final : public LinkedClient {
 public:
  explicit EndpointClient(const std::string& address)
      : endpoint_(std::make_shared<Endpoint>(connect(io_, address, false), handler_, wide_open())) {
    endpoint_->start();
  }
  ~EndpointClient() override {
    endpoint_->close(Error(Errc::cancelled, "measured"));
    handler_->down.get_future().wait();
  }

 private:
  struct Handler final : RequestHandler {
    void on_request(Frame&&) override {}
    void on_link_down(const Error&) override { down.set_value(); }
    std::promise<void> down;
  };
  void ask(std::size_t reply_bytes) override {
    endpoint_->request(request_of(reply_bytes), reply_bytes + sizeof(FrameHeader),
                       [this](const Result<Frame>& answer) { value_of(answer); });
  }
  void value_of(const Result<Frame>& answer) {
    if (!answer.ok()) {
      fmt::print(stderr, "{}\n", answer.error().what());
      std::exit(1);
    }
    answered();
  }
  const std::shared_ptr<Handler> handler_ = std::make_shared<Handler>();
  const std::shared_ptr<Endpoint> endpoint_;
};

}  // namespace

std::unique_ptr<Server> serve_linked(bool endpoints, bool ucx) {
  return std::make_unique<LinkedServer>(endpoints, ucx);
}

std::unique_ptr<Client> make_link_client(const std::string& address, bool ucx) {
  return std::make_unique<LinkClient>(address, ucx);
}

std::unique_ptr<Client> make_endpoint_client(const std::string& address) {
  return std::make_unique<EndpointClient>(address);
}

}  // namespace troupe::bench
