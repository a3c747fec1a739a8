// The same load between actors: through a proxy, with the messages that read feature rows.
#include "actors/error.hpp"
#include "actors/gate.hpp"
#include "actors/message.hpp"
#include "runtime/feature/row_request.hpp"
#include "runtime/wire/messages.hpp"

#include "bench/net/linking.hpp"
#include "bench/net/load.hpp"
#include "bench/system/actor_system.hpp"

#include <caf/all.hpp>

#include <future>

namespace troupe::bench {
namespace {

using namespace net;

constexpr Address answering{Role::holder, 0};

GateOptions gate_options() {
  GateOptions options;
  options.endpoint = wide_open();
  return options;
}

/// Rows of 64 bytes, so many as are asked for, which are there already.
struct Answers {
  const char* name = "bench.answers";
  Segment rows;
};

caf::behavior answers(caf::stateful_actor<Answers>* self) {
  return {[self](const Ref<RowRequest>& request) {
    const auto bytes = request->num_nodes() * request_bytes;
    auto& rows = self->state.rows;
    if (rows.bytes.size() != bytes) {
      rows = Segment::of(std::vector<std::byte>(bytes));
    }
    RowReply reply;
    reply.rows = rows;
    reply.sections.push_back({.nodes = request->num_nodes(), .row_bytes = request_bytes});
    return Ref<RowReply>(std::move(reply));
  }};
}

class ProxiedServer final : public Server {
 public:
  explicit ProxiedServer(bool ucx) {
    const auto actor = actors_.keep(actors_.system().spawn(answers));
    listener_ = value_or_exit(
        TcpListener::open(io_, "127.0.0.1:0", handshake(2), {.tcp = options_of(ucx)},
                          [this, actor](const std::shared_ptr<Link>& link, const PeerIdentity&) {
                            const auto gate = Gate::make(actors_.system(), nullptr, recovering());
                            gate->export_actor(answering, actor);
                            gate->attach(link);
                            gates_.push_back(gate);
                          }));
  }
  ~ProxiedServer() override {
    for (const auto& gate : gates_) {
      gate->close(Error(Errc::cancelled, "measured"));
      gate->wait_closed(std::chrono::seconds(10));
    }
  }
  std::string address() const override { return listener_->address(); }

 private:
  GateOptions recovering() {
    auto options = gate_options();
    options.endpoint.timers = &io_;
    options.endpoint.recovery_deadline = std::chrono::milliseconds(1);
    return options;
  }
  TcpIo io_;
  ActorSystem actors_;
  std::vector<std::shared_ptr<Gate>> gates_;
  std::unique_ptr<TcpListener> listener_;
};

/// Keeps so many requests under way.
struct Asking {
  const char* name = "bench.asking";
};
using Asker = caf::stateful_actor<Asking>;

void ask(Asker* self, const caf::actor& proxy, const Ref<RowRequest>& request, Progress* progress,
         std::promise<void>* done) {
  self->request(proxy, caf::infinite, request)
      .then(
          [=](const Ref<RowReply>&) {
            if (progress->next()) {
              ask(self, proxy, request, progress, done);
            } else if (progress->done()) {
              done->set_value();
              self->quit();
            }
          },
          [](const caf::error& error) { exit_with(from_caf(error)); });
}

class ProxyClient final : public Client {
 public:
  ProxyClient(const std::string& address, bool ucx)
      : gate_(Gate::make(actors_.system(), connect(io_, address, ucx), gate_options())) {}
  ~ProxyClient() override {
    gate_->close(Error(Errc::cancelled, "measured"));
    gate_->wait_closed(std::chrono::seconds(10));
  }
  double run(const Load& load) override {
    RowRequest request;
    request.sections.push_back({.nodes = std::vector<NodeId>(load.reply_bytes / request_bytes),
                                .row_bytes = request_bytes});
    Progress progress(load);
    std::promise<void> done;
    const auto proxy = gate_->proxy(answering);
    const Ref<RowRequest> message(std::move(request));
    actors_.system().spawn([&, proxy, message](Asker* self) {
      for (std::size_t i = 0; i < load.depth; ++i) {
        ask(self, proxy, message, &progress, &done);
      }
    });
    done.get_future().wait();
    return progress.rate();
  }

 private:
  TcpIo io_;
  ActorSystem actors_;
  const std::shared_ptr<Gate> gate_;
};

}  // namespace

std::unique_ptr<Server> serve_proxied(bool ucx) {
  return std::make_unique<ProxiedServer>(ucx);
}

std::unique_ptr<Client> make_proxy_client(const std::string& address, bool ucx) {
  return std::make_unique<ProxyClient>(address, ucx);
}

}  // namespace troupe::bench
