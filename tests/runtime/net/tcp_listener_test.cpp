// Dialling and listening: addresses, IPv6, who is there and who is not, refusals at both ends.
#include "runtime/net/handshake_wire.hpp"
#include "runtime/net/tcp_address.hpp"
#include "tests/runtime/net/link_world.hpp"

#include <fmt/format.h>

namespace troupe::net {
namespace {

/// A listener on a network thread of its own, with what it says.
struct Listening {
  explicit Listening(const std::string& address = "127.0.0.1:0",
                     HandshakeOptions handshake = test_handshake(2), TcpListenerOptions o = {}) {
    o.say = [this](const std::string& line) {
      const std::lock_guard guard(mutex);
      said.push_back(line);
      changed.notify_all();
    };
    auto opened =
        TcpListener::open(io, address, std::move(handshake), std::move(o), accepted.on_link());
    EXPECT_OK(opened);
    listener = *std::move(opened);
  }
  bool wait_said(std::size_t count) {
    std::unique_lock guard(mutex);
    return changed.wait_for(guard, 30s, [&] { return said.size() >= count; });
  }
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> said;
  AcceptedLinks accepted;
  TcpIo io;
  std::unique_ptr<TcpListener> listener;
};

Result<std::shared_ptr<Link>> dial_once(TcpIo& io, const std::string& address,
                                        const HandshakeOptions& handshake = test_handshake(1),
                                        const TcpOptions& options = {}) {
  return dial(*make_tcp_dialer(io, address, handshake, options));
}

void expect_frames_pass(const std::shared_ptr<Link>& a, const std::shared_ptr<Link>& b) {
  StartedEnds ends({a, b});
  a->send(make_frame(TrafficClass::rows, 1, {300'000}));
  b->send(make_frame(TrafficClass::rows, 2, {300'000}));
  EXPECT_TRUE(ends.at_a->wait([](auto& r) { return r.frames.size() == 1; }));
  EXPECT_TRUE(ends.at_b->wait([](auto& r) { return r.frames.size() == 1; }));
}

TEST(TcpAddress, IsHostAndPort) {
  const auto same = [](const char* text, const char* host, std::uint16_t port) {
    const auto address = parse_tcp_address(text);
    ASSERT_OK(address);
    EXPECT_EQ(address->host, host);
    EXPECT_EQ(address->port, port);
  };
  same("127.0.0.1:4000", "127.0.0.1", 4000);
  same("node-7.cluster:65535", "node-7.cluster", 65535);
  same("[::1]:0", "::1", 0);
  for (const char* text : {"", "host", ":1", "[]:1", "::1:4000", "host:", "host:x", "host:-1",
                           "host:65536", "host:1 ", "[::1:4000"}) {
    EXPECT_ERROR(parse_tcp_address(text), Errc::invalid_argument, "try: HOST:PORT");
  }
}

TEST(TcpAddress, ToListenAtIsOneThatOthersCanConnectTo) {
  for (const char* text : {"127.0.0.1:4000", "node-7.cluster:0", "[fe80::1]:0", "0.0.0.1:1"}) {
    EXPECT_OK(parse_listen_address(text));
  }
  for (const char* text : {"0.0.0.0:0", "0:4000", "[::]:4000", "[0:0::0]:1"}) {
    EXPECT_ERROR(
        parse_listen_address(text), Errc::invalid_argument,
        fmt::format("address \"{}\": expected one that other processes can connect to", text));
  }
  EXPECT_ERROR(parse_listen_address("host"), Errc::invalid_argument, "try: HOST:PORT");
}

TEST(TcpListener, TellsBothEndsWhoThePeerIs) {
  auto server = test_handshake(2);
  Listening far("127.0.0.1:0", server);
  TcpIo near;
  auto client = test_handshake(7);
  client.self = {ProcessId{7}, 3, "10.0.0.7:4000"};
  client.expect_process = ProcessId{2};
  client.expect_incarnation = 1;
  ASSERT_OK_AND_ASSIGN(const auto link, dial_once(near, far.listener->address(), client));
  const auto [other, peer] = far.accepted.next();
  ASSERT_NE(other, nullptr);
  EXPECT_EQ(peer, client.self);
  expect_frames_pass(link, other);
}

TEST(TcpListener, WorksOverIPv6) {
  Listening far("[::1]:0");
  EXPECT_TRUE(far.listener->address().starts_with("[::1]:")) << far.listener->address();
  TcpIo near;
  ASSERT_OK_AND_ASSIGN(const auto link, dial_once(near, far.listener->address()));
  expect_frames_pass(link, far.accepted.next().first);
}

TEST(TcpListener, ANameIsResolvedAndAllItsAddressesTried) {
  Listening far;
  TcpIo near;
  const auto port = std::to_string(testing::port_of(far.listener->address()));
  ASSERT_OK_AND_ASSIGN(const auto link, dial_once(near, "localhost:" + port));
  expect_frames_pass(link, far.accepted.next().first);
}

TEST(TcpListener, RefusesAddressesThatItCannotTake) {
  Listening far;
  const auto open = [&](const std::string& address) {
    return TcpListener::open(far.io, address, test_handshake(2), {}, far.accepted.on_link());
  };
  EXPECT_ERROR(open("nonsense"), Errc::invalid_argument, "expected a port");
  EXPECT_ERROR(open(far.listener->address()), Errc::failed_precondition,
               "cannot listen on " + far.listener->address() + ": Address already in use");
  EXPECT_ERROR(open("192.0.2.1:0"), Errc::failed_precondition, "Cannot assign");
}

TEST(TcpListener, ItsPortIsFreeAfterClose) {
  Listening far;
  const auto address = far.listener->address();
  far.listener->close();
  EXPECT_OK(TcpListener::open(far.io, address, test_handshake(2), {}, far.accepted.on_link()));
}

TEST(TcpListener, LinksOutliveIt) {
  Listening far;
  TcpIo near;
  ASSERT_OK_AND_ASSIGN(const auto link, dial_once(near, far.listener->address()));
  const auto other = far.accepted.next().first;
  far.listener.reset();
  expect_frames_pass(link, other);
}

TEST(TcpListener, ClosingItDropsHandshakesUnderWay) {
  Listening far;
  const int silent = testing::connect_to(testing::port_of(far.listener->address()));
  ASSERT_GE(silent, 0);
  const auto end = Clock::now() + 30s;
  while (far.io.open_sockets() < 2 && Clock::now() < end) {
    std::this_thread::yield();
  }
  far.listener->close();
  EXPECT_TRUE(testing::closed_by_peer(silent));
  ::close(silent);
  EXPECT_EQ(far.io.open_sockets(), 0U);
}

TEST(TcpDialer, SaysWhyThereIsNoLink) {
  TcpIo io;
  std::string free_address;
  {
    Listening gone;
    free_address = gone.listener->address();
  }
  EXPECT_ERROR(dial_once(io, free_address), Errc::peer_lost,
               "cannot connect to " + free_address + ": " + free_address + ": Connection refused");
  EXPECT_ERROR(dial_once(io, "no port"), Errc::invalid_argument, "no port");
  EXPECT_ERROR(dial_once(io, "host.invalid:1"), Errc::peer_lost, "host.invalid:1: Host not found");
}

/// A listening socket that nobody accepts from.
TEST(TcpDialer, APeerThatNeverAnswersIsGivenUpAtTheDeadline) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(fd, 1), 0);
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  TcpIo io;
  EXPECT_ERROR(dial_once(io, "127.0.0.1:" + std::to_string(ntohs(address.sin_port)),
                         test_handshake(1), {.connect_deadline = 200ms}),
               Errc::deadline_exceeded, "no handshake within 0.2 s");
  ::close(fd);
}

TEST(TcpDialer, IsToldWhenTheNetworkThreadEnds) {
  Listening far;
  auto io = std::make_unique<TcpIo>();
  testing::SocketProxy proxy(testing::port_of(far.listener->address()));
  proxy.stall(true);
  const auto dialer = make_tcp_dialer(*io, proxy.address(), test_handshake(1), {});
  std::promise<std::string> ended;
  dialer->dial([&](const auto& link) { ended.set_value(testing::error_text(link)); });
  io.reset();
  EXPECT_NE(ended.get_future().get().find("cancelled"), std::string::npos);
}

TEST(TcpDialer, RefusalsWithoutAProofAreWorthARetryAndSaidOnce) {
  for (const auto reason : {handshake::Reason::not_a_handshake, handshake::Reason::versions,
                            handshake::Reason::transport, handshake::Reason::token}) {
    testing::RefusingPort stranger(handshake::encode(handshake::Refused{reason, {1, 1}}));
    std::mutex mutex;
    std::vector<std::string> said;
    TcpIo io;
    const auto dialer = make_tcp_dialer(io, stranger.address(), test_handshake(1), {},
                                        [&](const std::string& line) {
                                          const std::lock_guard guard(mutex);
                                          said.push_back(line);
                                        });

    for (int i = 0; i < 3; ++i) {
      const auto link = dial(*dialer);
      EXPECT_ERROR(link, Errc::peer_lost,
                   "cannot connect: " + stranger.address() + ": handshake: ");
    }

    const std::lock_guard guard(mutex);
    ASSERT_EQ(said.size(), 1U);
    EXPECT_NE(said[0].find(stranger.address() + ": refused without a proof of the token ("),
              std::string::npos)
        << said[0];
  }
}

struct Refusal {
  const char* name;
  std::function<void(HandshakeOptions& at_listener, HandshakeOptions& at_dialer)> change;
  Errc code;  ///< at the listener
  const char* text;
  Errc at_dialer = code;
};

class Refusals : public ::testing::TestWithParam<std::tuple<bool, Refusal>> {};

TEST_P(Refusals, ReachBothEndsAndTheListenerLivesOn) {
  const auto& [encrypted, refusal] = GetParam();
  TcpListenerOptions options;
  options.tcp.tls = encrypted ? test_certificate() : nullptr;
  auto at_listener = test_handshake(2);
  auto at_dialer = test_handshake(1);
  refusal.change(at_listener, at_dialer);
  Listening far("127.0.0.1:0", at_listener, options);
  TcpIo near;

  EXPECT_ERROR(dial_once(near, far.listener->address(), at_dialer, options.tcp), refusal.at_dialer,
               refusal.text);

  ASSERT_TRUE(far.wait_said(1));
  EXPECT_NE(far.said[0].find(refusal.text), std::string::npos) << far.said[0];
  EXPECT_NE(far.said[0].find(to_string(refusal.code)), std::string::npos) << far.said[0];
  auto good = test_handshake(1);
  good.token = at_listener.token;
  ASSERT_OK_AND_ASSIGN(const auto link,
                       dial_once(near, far.listener->address(), good, options.tcp));
  expect_frames_pass(link, far.accepted.next().first);
}

Status only_newer(const PeerIdentity& peer) {
  return peer.incarnation > 1 || peer.process == ProcessId{1}
             ? ok_status()
             : Status(Error(Errc::fenced, "incarnation 1 of process 9 was replaced"));
}

INSTANTIATE_TEST_SUITE_P(
    Tcp, Refusals,
    ::testing::Combine(
        ::testing::Bool(),
        ::
            testing::Values(Refusal{"token", [](auto&, auto& d) { d.token = *Token::random(); },
                                    Errc::unauthenticated, "token", Errc::peer_lost},
                            Refusal{"job", [](auto&, auto& d) { d.job = "another"; },
                                    Errc::unauthenticated, "job"},
                            Refusal{
                                "fenced",
                                [](auto& l, auto& d) {
                                  l.admit = only_newer;
                                  d.self.process = ProcessId{9};
                                },
                                Errc::fenced, "incarnation 1 of process 9 was replaced"})),
    [](const auto& param_info) {
      return std::string(std::get<1>(param_info.param).name) +
             (std::get<0>(param_info.param) ? "_with_tls" : "");
    });

}  // namespace
}  // namespace troupe::net
