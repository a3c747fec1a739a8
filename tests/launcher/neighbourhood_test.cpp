// The links of processes to each other, over loopback: two and three of them in this one.
#include "launcher/processes/neighbourhood.hpp"

#include "actors/error.hpp"
#include "actors/message.hpp"
#include "runtime/net/handshake_wire.hpp"
#include "runtime/wire/messages.hpp"
#include "tests/runtime/net/socket_proxy.hpp"
#include "tests/support/expect.hpp"

#include <caf/all.hpp>

#include <algorithm>
#include <condition_variable>
#include <fmt/format.h>
#include <functional>
#include <future>

namespace troupe {
namespace {

using namespace std::chrono_literals;
using net::ProcessInstance;

constexpr Address echo_address{Role::trainer, 0};

/// Answers with the incarnation of the process that it is in.
caf::behavior echo(caf::event_based_actor* /*self*/, ProcessInstance instance) {
  return {[instance](const Ref<net::Ping>&) {
    return Ref<net::Pong>(net::Pong{raw(instance.process) * 100ULL + instance.incarnation, false});
  }};
}

net::Token some_token() {
  static const net::Token token = *net::Token::random();
  return token;
}

/// A process: its neighbourhood, an actor that all may ask, and what it was told.
class Process {
 public:
  using Change = std::function<void(NeighbourhoodOptions&)>;
  explicit Process(std::uint32_t id, std::uint32_t incarnation = 1, const Change& change = {})
      : instance_{static_cast<ProcessId>(id), incarnation},
        system_(config_),
        echo_(system_.spawn(echo, instance_)) {
    NeighbourhoodOptions options;
    options.token = some_token();
    options.self = instance_;
    options.tcp.heartbeat = 50ms;
    options.tcp.lost_after = 400ms;
    options.gate.endpoint.recovery_deadline = 600ms;
    options.name = [](ProcessId of) { return fmt::format("process {}", raw(of)); };
    options.connected = [this](ProcessId other, const std::shared_ptr<Gate>& gate) {
      gate->export_actor(echo_address, echo_);
      note([&] {
        gates_[other] = gate;
        ++connects_;
      });
    };
    options.lost = [this](const ProcessInstance& of, const Error& why) {
      note([&] {
        lost_.push_back(fmt::format("{}.{} {}: {}", raw(of.process), of.incarnation,
                                    to_string(why.code()), why.what()));
      });
    };
    options.say = [this](const std::string& line) { note([&] { said_.push_back(line); }); };
    if (change) {
      change(options);
    }
    auto opened = Neighbourhood::open(system_, std::move(options));
    EXPECT_OK(opened);
    around = *std::move(opened);
  }
  ~Process() { end(); }
  void end() {
    if (around) {
      around->close(Error(Errc::cancelled, "it ends"));
      caf::anon_send_exit(echo_, caf::exit_reason::kill);
      gates_.clear();
      around.reset();
    }
  }

  ProcessInstance instance() const { return instance_; }
  std::string address() const { return around->address(); }
  /// The incarnation of the process that answers, times 100: its number. 0: none answers.
  std::uint64_t ask(std::uint32_t id) {
    std::shared_ptr<Gate> gate;
    wait([&] {
      gate = gates_[static_cast<ProcessId>(id)];
      return gate != nullptr;
    });
    return gate ? ask(*gate) : 0;
  }
  std::uint64_t ask(Gate& gate) {
    caf::scoped_actor self(system_);
    std::uint64_t who = 0;
    self->request(gate.proxy(echo_address), 5s, Ref<net::Ping>(net::Ping{}))
        .receive([&](const Ref<net::Pong>& pong) { who = pong->global_step; },
                 [&](const caf::error&) {});
    return who;
  }
  Result<std::shared_ptr<Gate>> connect(const ProcessInstance& peer, const std::string& address,
                                        std::chrono::milliseconds deadline = 5s) {
    return around->connect(peer, address, deadline, 600ms);
  }
  bool wait_connects(int count) {
    return wait([&] { return connects_ >= count; });
  }
  /// The first loss that it was told; "none" after a while.
  std::string first_loss(std::chrono::milliseconds most = 10s) {
    std::unique_lock guard(mutex_);
    return changed_.wait_for(guard, most, [&] { return !lost_.empty(); }) ? lost_.front() : "none";
  }
  bool wait_said(const std::string& part) {
    return wait([&] {
      return std::ranges::any_of(
          said_, [&](const auto& line) { return line.find(part) != std::string::npos; });
    });
  }
  std::size_t said_count() const {
    const std::lock_guard guard(mutex_);
    return said_.size();
  }
  int connects() const {
    const std::lock_guard guard(mutex_);
    return connects_;
  }

  std::shared_ptr<Neighbourhood> around;

 private:
  template <class F>
  void note(F what) {
    {
      const std::lock_guard guard(mutex_);
      what();
    }
    changed_.notify_all();
  }
  template <class F>
  bool wait(F until) {
    std::unique_lock guard(mutex_);
    return changed_.wait_for(guard, 10s, until);
  }

  const ProcessInstance instance_;
  caf::actor_system_config config_;
  caf::actor_system system_;
  caf::actor echo_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<ProcessId, std::shared_ptr<Gate>> gates_;
  int connects_ = 0;
  std::vector<std::string> lost_;
  std::vector<std::string> said_;
};

// ---- connecting ----

TEST(Neighbourhood, ConnectsAndBothReachTheOther) {
  Process director(0);
  Process member(3);

  ASSERT_OK_AND_ASSIGN(const auto gate, member.connect(director.instance(), director.address()));

  EXPECT_EQ(member.ask(*gate), 1U);
  EXPECT_EQ(director.ask(3), 301U);
  EXPECT_EQ(member.connects(), 1);
  EXPECT_EQ(director.connects(), 1);
}

TEST(Neighbourhood, ConnectsOnceAndIsNotInterrupted) {
  for (int i = 0; i < 20; ++i) {
    Process director(0);
    Process member(3);
    ASSERT_OK_AND_ASSIGN(const auto gate, member.connect(director.instance(), director.address()));
    for (int k = 0; k < 3; ++k) {
      EXPECT_EQ(member.ask(*gate), 1U);
      EXPECT_EQ(director.ask(3), 301U);
      std::this_thread::sleep_for(1ms);
    }
    EXPECT_EQ(member.around->totals().interruptions, 0U);
    EXPECT_EQ(director.around->totals().interruptions, 0U);
  }
}

TEST(Neighbourhood, NothingIsAskedBeforeTheGateIsKnown) {
  for (int i = 0; i < 5; ++i) {
    Process low(1);
    Process high(2, 1, [](auto& options) {
      options.connected = [connected = options.connected](auto id, const auto& gate) {
        std::this_thread::sleep_for(30ms);  // longer than it takes to connect
        connected(id, gate);
      };
    });
    std::uint64_t who = 0;
    std::thread asking([&] { who = low.ask(2); });
    high.around->expect(low.instance(), low.address());
    asking.join();
    EXPECT_EQ(who, 201U);
  }
}

TEST(Neighbourhood, OfTwoThatExpectEachOtherOneDials) {
  Process low(1);
  Process high(2);

  low.around->expect(high.instance(), "");
  high.around->expect(low.instance(), low.address());
  high.around->expect(low.instance(), low.address());  // a repeat

  EXPECT_EQ(low.ask(2), 201U);
  EXPECT_EQ(high.ask(1), 101U);
  EXPECT_EQ(low.connects(), 1);
  EXPECT_EQ(high.connects(), 1);
}

TEST(Neighbourhood, ThreeReachEachOther) {
  Process a(1), b(2), c(3);
  b.around->expect(a.instance(), a.address());
  c.around->expect(a.instance(), a.address());
  c.around->expect(b.instance(), b.address());

  EXPECT_EQ(a.ask(2), 201U);
  EXPECT_EQ(a.ask(3), 301U);
  EXPECT_EQ(b.ask(1), 101U);
  EXPECT_EQ(b.ask(3), 301U);
  EXPECT_EQ(c.ask(1), 101U);
  EXPECT_EQ(c.ask(2), 201U);
}

TEST(Neighbourhood, RequestsFromBeforeTheLinkArrive) {
  Process low(1);
  Process high(2);
  low.around->expect(high.instance(), "");  // nobody dials yet
  std::uint64_t who = 0;
  std::thread asking([&] { who = low.ask(2); });
  std::this_thread::sleep_for(50ms);

  high.around->expect(low.instance(), low.address());
  asking.join();

  EXPECT_EQ(who, 201U);
}

TEST(Neighbourhood, TotalsCountWhatWasAskedOverLinksThatAreGone) {
  Process a(1), b(2);
  b.around->expect(a.instance(), a.address());
  EXPECT_EQ(b.ask(1), 101U);
  const auto before = b.around->totals();

  b.around->drop(a.instance(), Error(Errc::peer_lost, "dropped"));

  EXPECT_EQ(before.requests, 1U);
  EXPECT_GT(before.bytes, 0U);
  EXPECT_EQ(b.around->totals().requests, before.requests);
}

TEST(Neighbourhood, KeepsTheTotalsOfClosedGatesAlone) {
  std::mutex mutex;
  std::map<ProcessId, std::weak_ptr<Gate>> gates;
  std::condition_variable changed;
  const auto gate_of = [&](std::uint32_t id) {
    std::unique_lock guard(mutex);
    changed.wait_for(guard, 10s, [&] { return gates.contains(static_cast<ProcessId>(id)); });
    return gates[static_cast<ProcessId>(id)].lock();
  };
  const auto kept = [&] {
    const std::lock_guard guard(mutex);
    return std::ranges::count_if(gates, [](const auto& gate) { return !gate.second.expired(); });
  };
  Process a(1, 1, [&](auto& options) {
    options.connected = [&](ProcessId other, const std::shared_ptr<Gate>& gate) {
      const std::lock_guard guard(mutex);
      gates[other] = gate;
      changed.notify_all();
    };
  });
  constexpr std::uint32_t peers = 6;
  for (std::uint32_t id = 10; id < 10 + peers; ++id) {
    Process peer(id);
    ASSERT_OK(peer.connect(a.instance(), a.address()));
    const auto gate = gate_of(id);
    ASSERT_NE(gate, nullptr);
    EXPECT_EQ(a.ask(*gate), id * 100ULL + 1);
    a.around->drop(peer.instance(), Error(Errc::peer_lost, "dropped"));
  }

  for (int tries = 0; kept() > 0 && tries < 1000; ++tries) {
    std::this_thread::sleep_for(10ms);
    a.around->drop({ProcessId{9}, 1}, Error(Errc::peer_lost, "unknown"));
  }

  EXPECT_EQ(kept(), 0);
  EXPECT_EQ(a.around->totals().requests, peers);
}

TEST(Neighbourhood, AGateMayBeClosedAsSoonAsItIsThere) {
  Process director(0, 1, [](auto& options) {
    options.connected = [](ProcessId, const std::shared_ptr<Gate>& gate) {
      gate->close(Error(Errc::cancelled, "the run is over"));
    };
  });
  Process member(3);

  ASSERT_OK_AND_ASSIGN(const auto gate, member.connect(director.instance(), director.address()));

  EXPECT_EQ(member.ask(*gate), 0U);
  EXPECT_EQ(member.first_loss().substr(0, 14), "0.1 cancelled:");
}

// ---- who does not get in ----

TEST(Neighbourhood, AnotherTokenIsRefusedUntilTheDeadlineAndToldOnBothSides) {
  Process director(0);
  Process stranger(3, 1, [](auto& options) { options.token = *net::Token::random(); });

  EXPECT_ERROR(stranger.connect(director.instance(), director.address(), 300ms),
               Errc::deadline_exceeded, "different tokens");

  EXPECT_TRUE(director.wait_said("token"));
  EXPECT_TRUE(stranger.wait_said("retrying"));
  EXPECT_EQ(stranger.said_count(), 1U) << "once per director";
  EXPECT_EQ(director.said_count(), 1U) << "once per peer";
  EXPECT_EQ(director.connects(), 0);
}

TEST(Neighbourhood, AnotherJobWithTheSameTokenIsRefusedAtOnce) {
  Process director(0, 1, [](auto& options) { options.job = "one"; });
  Process other(3, 1, [](auto& options) { options.job = "two"; });

  EXPECT_ERROR(other.connect(director.instance(), director.address(), 30s), Errc::unauthenticated,
               "belongs to job 'one', the dialling end to job 'two'");

  EXPECT_TRUE(director.wait_said("give both ends the same job file"));
  EXPECT_EQ(director.connects(), 0);
}

TEST(Neighbourhood, AStrangerInTheDirectorsPlaceDoesNotEndWhoJoins) {
  auto stranger = std::make_unique<testing::RefusingPort>(
      net::handshake::encode(net::handshake::Refused{net::handshake::Reason::token, {0, 0}}));
  const auto address = stranger->address();
  Process member(3);
  auto connected = std::async(std::launch::async, [&] {
    return member.connect({ProcessId{0}, 1}, address, 20s);
  });
  while (stranger->answered() < 3 && connected.wait_for(1ms) != std::future_status::ready) {
  }
  stranger.reset();

  Process director(0, 1, [&](auto& options) { options.listen = address; });

  ASSERT_OK_AND_ASSIGN(const auto gate, connected.get());
  EXPECT_EQ(member.ask(*gate), 1U);
  EXPECT_TRUE(member.wait_said("refused without a proof"));
  EXPECT_EQ(member.said_count(), 1U);
}

TEST(Neighbourhood, WhomAdmitRefusesIsToldWhy) {
  Process director(0, 1, [](auto& options) {
    options.admit = [](const ProcessInstance& instance) {
      return instance.incarnation == 2
                 ? ok_status()
                 : Status(Error(Errc::fenced, "process 3: its incarnation is over"));
    };
  });
  Process old(3, 1);
  Process current(3, 2);

  EXPECT_ERROR(old.connect(director.instance(), director.address()), Errc::fenced,
               "its incarnation is over");
  EXPECT_OK(current.connect(director.instance(), director.address()));
}

TEST(Neighbourhood, AnAddressWhereSomebodyElseListensIsRefused) {
  Process director(0);
  Process member(3);

  EXPECT_ERROR(member.connect({ProcessId{0}, 2}, director.address()), Errc::fenced, "");
  EXPECT_ERROR(member.connect({ProcessId{1}, 1}, director.address()), Errc::fenced, "");
}

TEST(Neighbourhood, WhereNobodyListensTheDeadlineEndsItWithTheReason) {
  Process member(3);
  std::string nowhere;
  {
    Process gone(0);
    nowhere = gone.address();
  }

  const auto result = member.connect({ProcessId{0}, 1}, nowhere, 200ms);

  EXPECT_ERROR(result, Errc::deadline_exceeded, nowhere + ": not connected within 200 ms");
  EXPECT_ERROR(result, Errc::deadline_exceeded, "refused");
}

TEST(Neighbourhood, ListensNowhereIfThePortIsTaken) {
  Process first(1);
  caf::actor_system_config config;
  caf::actor_system system(config);
  NeighbourhoodOptions options;
  options.token = some_token();
  options.listen = first.address();
  options.name = [](ProcessId) { return ""; };

  EXPECT_ERROR(Neighbourhood::open(system, options), Errc::failed_precondition, first.address());
}

// ---- incarnations ----

TEST(Neighbourhood, AnIncarnationThatWasDroppedIsFencedAndTold) {
  Process a(1), b(2);
  b.around->expect(a.instance(), a.address());
  ASSERT_EQ(a.ask(2), 201U);

  a.around->drop(b.instance(), Error(Errc::peer_lost, "process 2 is lost"));

  const auto loss = b.first_loss();
  EXPECT_EQ(loss.substr(0, 11), "1.1 fenced:") << loss;
  EXPECT_NE(loss.find("incarnation 1 is over, now 2"), std::string::npos) << loss;
  EXPECT_EQ(a.first_loss(100ms), "none") << "who drops it knows";
  EXPECT_ERROR(b.connect(a.instance(), a.address()), Errc::fenced, "");
}

TEST(Neighbourhood, TheNextIncarnationTakesThePlaceOfADroppedOne) {
  Process a(1);
  {
    Process b(2, 1);
    b.around->expect(a.instance(), a.address());
    ASSERT_EQ(a.ask(2), 201U);
    a.around->drop(b.instance(), Error(Errc::peer_lost, "process 2 is lost"));
  }
  Process next(2, 2);
  next.around->expect(a.instance(), a.address());

  ASSERT_TRUE(a.wait_connects(2));
  EXPECT_EQ(a.ask(2), 202U);
  EXPECT_EQ(next.ask(1), 101U);
}

TEST(Neighbourhood, AHigherIncarnationReplacesALowerOneThatIsStillThere) {
  Process a(1);
  Process old(2, 1);
  old.around->expect(a.instance(), a.address());
  ASSERT_EQ(a.ask(2), 201U);

  Process next(2, 2);
  next.around->expect(a.instance(), a.address());

  ASSERT_TRUE(a.wait_connects(2));
  EXPECT_EQ(a.ask(2), 202U);
  const auto loss = old.first_loss();
  EXPECT_EQ(loss.substr(0, 11), "1.1 fenced:") << loss;
  EXPECT_EQ(a.first_loss(100ms), "none") << "it was replaced, not lost";
}

TEST(Neighbourhood, ALowerIncarnationDoesNotReplaceAHigherOne) {
  Process a(1);
  Process next(2, 2);
  next.around->expect(a.instance(), a.address());
  ASSERT_EQ(a.ask(2), 202U);
  Process old(2, 1);

  EXPECT_ERROR(old.connect(a.instance(), a.address()), Errc::fenced,
               "its incarnation 1 is over, now 2");

  a.around->expect(old.instance(), old.address());
  a.around->drop(old.instance(), Error(Errc::peer_lost, "late news"));
  EXPECT_EQ(a.ask(2), 202U);
  EXPECT_EQ(a.connects(), 1);
}

// ---- losses ----

TEST(Neighbourhood, AClosedProcessIsLostAtOnceToTheOthers) {
  Process a(1);
  Process b(2);
  b.around->expect(a.instance(), a.address());
  ASSERT_EQ(a.ask(2), 201U);

  b.end();

  EXPECT_EQ(a.first_loss().substr(0, 14), "2.1 cancelled:");
}

TEST(Neighbourhood, ACutLinkComesBackAndNothingIsLost) {
  Process a(1);
  testing::SocketProxy wire(testing::port_of(a.address()));
  Process b(2);
  b.around->expect(a.instance(), wire.address());
  ASSERT_EQ(a.ask(2), 201U);

  wire.cut();

  EXPECT_EQ(a.ask(2), 201U);
  EXPECT_EQ(b.ask(1), 101U);
  EXPECT_EQ(a.first_loss(100ms), "none");
  EXPECT_GE(b.around->totals().interruptions, 1U);
}

TEST(Neighbourhood, AfterTheRecoveryTimeASilentOneIsLostToBothWithItsName) {
  Process a(1);
  auto wire = std::make_unique<testing::SocketProxy>(testing::port_of(a.address()));
  Process b(2);
  b.around->expect(a.instance(), wire->address());
  ASSERT_EQ(a.ask(2), 201U);
  wire->stall(true);  // nobody is told

  const auto at_a = a.first_loss();
  const auto at_b = b.first_loss();

  EXPECT_EQ(at_a.substr(0, 14), "2.1 peer_lost:") << at_a;
  EXPECT_EQ(at_b.substr(0, 14), "1.1 peer_lost:") << at_b;
  EXPECT_NE(at_a.find("link of process 1 and process 2"), std::string::npos) << at_a;
  EXPECT_EQ(a.ask(2), 0U);
}

TEST(Neighbourhood, OneThatIsExpectedAndNeverComesIsLost) {
  Process a(1);

  a.around->expect({ProcessId{2}, 1}, "");

  EXPECT_EQ(a.first_loss().substr(0, 14), "2.1 peer_lost:");
}

TEST(Neighbourhood, ClosingTellsNobodyHereAndAsksNothingMore) {
  Process a(1);
  Process b(2);
  b.around->expect(a.instance(), a.address());
  ASSERT_EQ(b.ask(1), 101U);

  a.around->close(Error(Errc::cancelled, "over"));

  EXPECT_EQ(b.first_loss().substr(0, 14), "1.1 cancelled:");
  EXPECT_EQ(a.first_loss(50ms), "none");
  a.around->expect({ProcessId{9}, 1}, "");
  EXPECT_EQ(a.connects(), 1);
}

}  // namespace
}  // namespace troupe
