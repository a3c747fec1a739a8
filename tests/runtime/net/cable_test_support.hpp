#pragma once
/// \file cable_test_support.hpp
/// Two endpoints over a simulated cable that can be cut, on a virtual clock.
#include "runtime/net/endpoint.hpp"
#include "runtime/net/reconnect.hpp"
#include "runtime/net/sim_cable.hpp"
#include "tests/runtime/net/endpoint_test_support.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace troupe::net {

/// Remembers interruptions too.
class RecoveringHandler final : public RequestHandler {
 public:
  void on_request(Frame&& frame) override { requests.push_back(std::move(frame)); }
  void on_link_down(const Error& why) override { downs.push_back(why); }
  void on_interrupted(const Error& why) override { interrupted.push_back(why); }
  void on_resumed() override { ++resumed; }

  std::vector<Frame> requests;
  std::vector<Error> downs;
  std::vector<Error> interrupted;
  int resumed = 0;
};

/// The client dials, the server accepts.
struct Cabled {
  explicit Cabled(EndpointOptions client_options = {}, EndpointOptions server_options = {},
                  const SimLinkOptions& link = {.latency = 10us}, ReconnectOptions reconnect = {}) {
    cable = SimCable::make(driver, link);
    reconnector = std::make_shared<Reconnector>(driver, cable->dialer(), reconnect);
    for (auto* options : {&client_options, &server_options}) {
      options->timers = &driver;
      if (options->recovery_deadline == Clock::duration::zero()) {
        options->recovery_deadline = 10s;
      }
    }
    client_options.source = reconnector;
    client_options.name = "link client to server";
    server_options.name = "link server to client";
    auto links = cable->connect();
    client = std::make_shared<Endpoint>(std::move(links.first), at_client, client_options);
    server = std::make_shared<Endpoint>(std::move(links.second), at_server, server_options);
    cable->on_accept([server = server](std::shared_ptr<Link> l) { server->attach(std::move(l)); });
    client->start();
    server->start();
  }
  ~Cabled() {
    client->close(Error(Errc::cancelled, "end of the test"));
    server->close(Error(Errc::cancelled, "end of the test"));
    run(1h);
  }
  void run(Clock::duration d = 5ms) { driver.run_until(driver.now() + d); }
  void cut(SimCut how = {}) { cable->cut(Error(Errc::peer_lost, "the cable is cut"), how); }

  void ask(int name, Frame frame, std::uint64_t reply_bytes) {
    client->request(std::move(frame), reply_bytes, [this, name](Result<Frame> answer) {
      order.push_back(name);
      EXPECT_TRUE(answers.emplace(name, std::move(answer)).second) << "answered twice: " << name;
    });
  }
  std::string answer_of(int name) const {
    const auto place = answers.find(name);
    return place == answers.end() ? "none" : testing::error_text(place->second);
  }
  void answer(std::size_t i) {
    server->reply(at_server->requests.at(i).head, make_frame(TrafficClass::rows, 0, {i + 1}));
  }
  std::vector<std::uint64_t> ids() const {
    std::vector<std::uint64_t> out;
    for (const auto& frame : at_server->requests) {
      out.push_back(frame.head.request);
    }
    return out;
  }

  VirtualDriver driver;
  std::shared_ptr<SimCable> cable;
  std::shared_ptr<Reconnector> reconnector;
  std::shared_ptr<RecoveringHandler> at_client = std::make_shared<RecoveringHandler>();
  std::shared_ptr<RecoveringHandler> at_server = std::make_shared<RecoveringHandler>();
  std::shared_ptr<Endpoint> client, server;
  std::map<int, Result<Frame>> answers;
  std::vector<int> order;
};

}  // namespace troupe::net
