#pragma once
/// \file endpoint_test_support.hpp
/// Two endpoints over a simulated link on a virtual clock.
#include "runtime/net/endpoint.hpp"
#include "runtime/net/sim_network.hpp"
#include "tests/runtime/net/net_test_support.hpp"
#include "tests/support/expect.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace troupe::net {

using namespace std::chrono_literals;

/// Keeps requests until the test answers them.
class Handler final : public RequestHandler {
 public:
  void on_request(Frame&& frame) override { requests.push_back(std::move(frame)); }
  void on_link_down(const Error& why) override { downs.push_back(why); }

  std::vector<Frame> requests;
  std::vector<Error> downs;
};

inline Frame request_frame(std::size_t bytes, TrafficClass traffic = TrafficClass::rows) {
  Frame frame = make_frame(traffic, 0, {bytes - sizeof(FrameHeader)}, 0);
  frame.head.target = 42;
  frame.head.method = 2;
  return frame;
}

/// A client and a server endpoint over a simulated link on a virtual clock.
struct Ends {
  explicit Ends(EndpointOptions client_options = {}, EndpointOptions server_options = {},
                const SimLinkOptions& link_options = {.latency = 10us}) {
    const auto links = make_sim_link(driver, link_options);
    client = std::make_shared<Endpoint>(links.first, at_client, client_options);
    server = std::make_shared<Endpoint>(links.second, at_server, server_options);
    client->start();
    server->start();
  }
  ~Ends() {
    client->close(Error(Errc::cancelled, "end of the test"));
    run(1h);
  }
  void run(Clock::duration d = 1ms) { driver.run_until(driver.now() + d); }

  /// Submits; the answer is filed under `name`.
  void ask(int name, Frame frame, std::uint64_t reply_bytes,
           std::optional<Clock::duration> deadline = {}) {
    client->request(
        std::move(frame), reply_bytes,
        [this, name](Result<Frame> answer) {
          order.push_back(name);
          EXPECT_TRUE(answers.emplace(name, std::move(answer)).second)
              << "answered twice: " << name;
        },
        deadline);
  }
  std::string answer_of(int name) {
    const auto place = answers.find(name);
    return place == answers.end() ? "none" : testing::error_text(place->second);
  }
  /// Answers the oldest request at the server that was not answered yet.
  void serve(std::size_t reply_size = 4) {
    server->reply(at_server->requests.at(served).head,
                  make_frame(TrafficClass::rows, 0, {reply_size}));
    ++served;
    run();
  }

  VirtualDriver driver;
  std::shared_ptr<Handler> at_client = std::make_shared<Handler>();
  std::shared_ptr<Handler> at_server = std::make_shared<Handler>();
  std::shared_ptr<Endpoint> client, server;
  std::map<int, Result<Frame>> answers;
  std::vector<int> order;
  std::size_t served = 0;
};

}  // namespace troupe::net
