// What only links over UCX do: which way frames go, who is let in, what the process keeps.
#include "runtime/net/ucx_link.hpp"

#include "runtime/net/ucx_port.hpp"
#include "tests/runtime/net/link_world.hpp"
#include "tests/runtime/net/sizes.hpp"

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/stat.h>
#include <thread>

namespace troupe::net {
namespace {

constexpr OfferSeal seal{{std::byte{1}, std::byte{2}}, false};

/// Of the peer, which dialled.
Frame sealed_offer(UcxOffer offer) {
  auto frame = to_frame(offer.address.empty() ? nullptr : &offer, seal.of_peer());
  EXPECT_OK(frame);
  return *std::move(frame);
}

Frame offer_frame(std::size_t address_bytes) {
  auto frame = make_frame(
      TrafficClass::control, 0,
      address_bytes == 0 ? std::vector<std::size_t>{} : std::vector<std::size_t>{address_bytes}, 9);
  frame.head.method = offer_method;
  return frame;
}

/// On the network thread, and waits for it.
template <class F>
void on_thread(TcpIo& io, F f) {
  std::promise<void> done;
  io.at(io.now(), [&] {
    f();
    done.set_value();
  });
  done.get_future().wait();
}

/// A UCX link over a simulated one; its peer is played by the test.
class UcxOffers : public ::testing::Test {
 protected:
  void make(UcxUse use) {
    auto [near, far] = make_sim_link(driver_, {});
    peer_ = far;
    at_peer_ = std::make_shared<Recorder>();
    peer_->start(at_peer_);
    TcpOptions options;
    options.ucx = use;
    options.say = [this](const std::string& line) { said_ += line + "\n"; };
    on_thread(io_, [&, near = near] {
      link_ = UcxLink::make(io_.state(), near, "link to process 7", options, seal);
    });
  }
  void start() { link_->start(at_link_); }
  void TearDown() override {
    link_->close(Error(Errc::cancelled, "end of the test"));
    EXPECT_TRUE(at_peer_->wait([](auto& r) { return r.downs.size() == 1; }));
  }
  Error down() {
    EXPECT_TRUE(at_link_->wait([](auto& r) { return r.downs.size() == 1; }));
    return at_link_->downs.empty() ? Error(Errc::internal, "") : at_link_->downs[0];
  }

  std::string said_;  ///< on the network thread
  RealTimeDriver driver_;
  TcpIo io_;
  std::shared_ptr<Link> peer_;
  std::shared_ptr<Recorder> at_peer_;
  std::shared_ptr<Link> link_;
  std::shared_ptr<Recorder> at_link_ = std::make_shared<Recorder>();
};

TEST_F(UcxOffers, APeerWithoutUcxGetsFramesOverTcpInTheOrderSent) {
  make(UcxUse::if_possible);
  link_->send(make_frame(TrafficClass::rows, 1, {10}));
  start();
  ASSERT_TRUE(at_peer_->wait([](auto& r) { return r.frames.size() == 1; }));
  EXPECT_EQ(at_peer_->frames[0].head.method, offer_method);

  peer_->send(sealed_offer({}));
  link_->send(make_frame(TrafficClass::rows, 2, {mib}));
  link_->send(make_frame(TrafficClass::rows, 3, {10}));
  peer_->send(make_frame(TrafficClass::rows, 4, {10}));

  ASSERT_TRUE(at_peer_->wait([](auto& r) { return r.frames.size() == 4; }));
  EXPECT_EQ(at_peer_->frames[1].head.request, 1U);
  EXPECT_TRUE(at_link_->wait([](auto& r) { return r.frames.size() == 1; }));
}

TEST_F(UcxOffers, AnotherVersionOfUcxMeansTcp) {
  make(UcxUse::if_possible);
  start();
  ASSERT_TRUE(at_peer_->wait([](auto& r) { return r.frames.size() == 1; }));
  ASSERT_OK_AND_ASSIGN(auto other, read_offer(at_peer_->frames[0], seal));  // its own
  if (!other) {
    GTEST_SKIP() << "no UCX here";
  }
  other->version += 1;
  peer_->send(sealed_offer(*other));
  link_->send(make_frame(TrafficClass::rows, 2, {10}));
  EXPECT_TRUE(at_peer_->wait([](auto& r) { return r.frames.size() == 2; }));
  on_thread(io_, [this] {
    EXPECT_NE(said_.find("link to process 7: frames go over TCP, not UCX: "), std::string::npos)
        << said_;
  });
}

TEST_F(UcxOffers, TheOffersOfAnEndAreNotThePeers) {
  make(UcxUse::if_possible);
  start();
  ASSERT_TRUE(at_peer_->wait([](auto& r) { return r.frames.size() == 1; }));
  peer_->send(Frame(at_peer_->frames[0]));
  EXPECT_EQ(down().code(), Errc::data_corruption);
}

/// Whoever is on the way can compute a checksum, and not a seal.
TEST(UcxOffer, IsTakenWithTheSealOfItsLinkOnly) {
  UcxOffer offer;
  offer.key.fill(std::byte{3});
  offer.version = 7;
  offer.place = {8, 9};
  offer.address.assign(79, std::byte{4});
  const auto frame = sealed_offer(offer);

  ASSERT_OK_AND_ASSIGN(const auto same, read_offer(frame, seal.of_peer()));
  EXPECT_EQ(same->address, offer.address);
  EXPECT_EQ(same->key, offer.key);
  EXPECT_ERROR(read_offer(frame, seal), Errc::data_corruption, "seal");
  EXPECT_ERROR(read_offer(frame, {{std::byte{9}}, true}), Errc::data_corruption, "seal");
  for (std::size_t word = 0; word < frame.meta.size(); ++word) {
    auto changed = frame;
    changed.meta[word] ^= 1;
    EXPECT_ERROR(read_offer(changed, seal.of_peer()), Errc::data_corruption, "seal");
  }
  auto without = frame;
  without.segments.clear();
  EXPECT_ERROR(read_offer(without, seal.of_peer()), Errc::data_corruption, "seal");
  auto changed = frame;
  changed.segments[0] = Segment::of(std::vector<std::byte>(79, std::byte{5}));
  EXPECT_ERROR(read_offer(changed, seal.of_peer()), Errc::data_corruption, "seal");
}

TEST_F(UcxOffers, AnAddressThatWasChangedOnTheWayClosesTheLink) {
  make(UcxUse::if_possible);
  start();
  peer_->send(offer_frame(79));
  EXPECT_EQ(down().code(), Errc::data_corruption);
}

TEST_F(UcxOffers, WhereUcxIsRequiredAPeerWithoutItIsRefusedWithAReason) {
  make(UcxUse::required);
  start();
  peer_->send(sealed_offer({}));
  const auto why = down();
  EXPECT_EQ(why.code(), Errc::failed_precondition);
  EXPECT_NE(why.what().find("link to process 7: "), std::string::npos) << why.what();
  EXPECT_NE(why.what().find("try: "), std::string::npos) << why.what();
}

TEST_F(UcxOffers, ThereIsOneOfAtMost16KiB) {
  make(UcxUse::if_possible);
  start();
  peer_->send(offer_frame((std::size_t{16} << 10) + 1));
  EXPECT_EQ(down().code(), Errc::data_corruption);
}

TEST_F(UcxOffers, ASecondOneClosesTheLink) {
  make(UcxUse::if_possible);
  start();
  peer_->send(sealed_offer({}));
  peer_->send(sealed_offer({}));
  EXPECT_EQ(down().code(), Errc::data_corruption);
}

TEST_F(UcxOffers, AFrameBeforeThisEndHasMadeItsOwnClosesTheLink) {
  make(UcxUse::if_possible);
  peer_->send(make_frame(TrafficClass::rows, 4, {10}));
  ASSERT_TRUE(at_peer_->wait([](auto& r) { return r.downs.size() == 1; }));
  start();
  EXPECT_EQ(down().code(), Errc::data_corruption);
}

TEST(UcxHandshake, AnEndThatUsesTcpOnlyIsRefused) {
  AcceptedLinks accepted;
  TcpIo io;
  TcpOptions with;
  with.ucx = UcxUse::if_possible;
  ASSERT_OK_AND_ASSIGN(const auto listener, TcpListener::open(io, "127.0.0.1:0", test_handshake(2),
                                                              {.tcp = with}, accepted.on_link()));
  EXPECT_ERROR(dial(*make_tcp_dialer(io, listener->address(), test_handshake(1), {})),
               Errc::peer_lost, "different transports");
}

// ---- with UCX ----

class Ucx : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto here = ucx_here(); !here.ok()) {
      GTEST_SKIP() << here.error().what();
    }
  }
};

TEST_F(Ucx, FramesDoNotPassTheTcpConnection) {
  TcpWorld w({.heartbeat = 10s}, nullptr, UcxUse::required);
  StartedEnds ends(w.connect_through_proxy());
  std::atomic<std::size_t> passed = 0;
  w.proxy().set_tamper([&](bool, std::span<std::byte> block) { passed += block.size(); });
  const auto sent = make_frame(TrafficClass::rows, 1, {64 * mib});
  ends.a->send(Frame(sent));
  ASSERT_TRUE(ends.at_b->wait([](auto& r) { return r.frames.size() == 1; }));
  EXPECT_TRUE(same_contents(ends.at_b->frames[0], sent));
  EXPECT_LT(passed, 64 * std::size_t{1024});
}

TEST_F(Ucx, ACutInTheMiddleOfAFrameEndsBothEndsAndTheNextLinkWorks) {
  TcpWorld w({}, nullptr, UcxUse::required);
  for (int i = 0; i < 20; ++i) {
    StartedEnds ends(w.connect_through_proxy());
    ends.a->send(make_frame(TrafficClass::control, 1, {10}));
    ends.a->send(make_frame(TrafficClass::rows, 2, {64 * mib}));
    ends.b->send(make_frame(TrafficClass::rows, 2, {64 * mib}));
    ASSERT_TRUE(ends.at_b->wait([](auto& r) { return !r.frames.empty(); }));
    w.cut();
    ASSERT_TRUE(ends.both_down());
    EXPECT_EQ(ends.at_b->downs[0].code(), Errc::peer_lost) << ends.at_b->downs[0].what();
  }
  StartedEnds ends(w.connect_through_proxy());
  ends.a->send(make_frame(TrafficClass::rows, 1, {mib}));
  EXPECT_TRUE(ends.at_b->wait([](auto& r) { return r.frames.size() == 1; }));
}

/// One end of a lane.
struct LaneEnd final : UcxLaneEvents {
  void fill(TcpBatch& batch) override { batch.fill(writer); }
  void on_sent() override {}
  void on_frames(std::vector<Frame>& got) override { frames += static_cast<int>(got.size()); }
  void on_lane_error(Error why) override { error = why.what(); }
  PieceWriter writer;
  std::atomic<int> frames = 0;
  std::string error;
};

TEST_F(Ucx, WhatDoesNotNameTheKeyOfALinkIsDroppedAndCounted) {
  TcpIo io;
  std::shared_ptr<UcxPort> port;
  std::array<LaneEnd, 3> ends;
  std::array<std::shared_ptr<UcxLane>, 3> lanes;  // a receiver, a stranger, one that knows the key
  on_thread(io, [&] {
    auto opened = UcxPort::open(*io.state());
    ASSERT_OK(opened);
    port = *opened;
    for (std::size_t i = 0; i < 3; ++i) {
      auto lane = port->lane(ends.at(i), {});
      ASSERT_OK(lane);
      lanes.at(i) = *lane;
    }
    auto offer = lanes[0]->offer();
    EXPECT_OK(lanes[2]->connect(offer));
    offer.key[3] ^= std::byte{1};
    EXPECT_OK(lanes[1]->connect(offer));
    for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
      for (const std::size_t bytes : {std::size_t{10}, mib}) {
        ends.at(i).writer.push(make_frame(TrafficClass::rows, 1, {bytes}));
      }
      lanes.at(i)->pump();
    }
  });
  EXPECT_TRUE(eventually([&] { return io.ucx_strangers() >= 2 && ends[0].frames == 2; }));
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(ends[0].frames, 2);
  on_thread(io, [&] {
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(ends.at(i).error, "");
      lanes.at(i)->shut(std::move(ends.at(i).writer));
    }
    port.reset();
  });
}

TEST_F(Ucx, SignalHandlersStayThoseOfTheProgram) {
  for (const int number : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTERM, SIGINT}) {
    struct sigaction before {};
    struct sigaction after {};
    ASSERT_EQ(sigaction(number, nullptr, &before), 0);
    EXPECT_OK(ucx_here());
    ASSERT_EQ(sigaction(number, nullptr, &after), 0);
    EXPECT_EQ(before.sa_sigaction, after.sa_sigaction) << number;
  }
}

TEST_F(Ucx, SharedMemoryAndSocketsAreTheUsersAlone) {
  TcpWorld w({}, nullptr, UcxUse::required);
  StartedEnds ends(w.connect());
  ends.a->send(make_frame(TrafficClass::rows, 1, {mib}));
  ASSERT_TRUE(ends.at_b->wait([](auto& r) { return r.frames.size() == 1; }));
  std::size_t segments = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const auto target = std::filesystem::read_symlink(entry.path(), gone).string();
    struct stat status {};
    if (target.starts_with("/dev/shm/ucx") && stat(entry.path().c_str(), &status) == 0) {
      EXPECT_EQ(status.st_mode & 077, 0U) << target;
      ++segments;
    }
  }
  EXPECT_GT(segments, 0U);
}

TEST_F(Ucx, NoFileOfSharedMemoryIsThereWhileALinkIsUp) {
  TcpWorld w({}, nullptr, UcxUse::required);
  StartedEnds ends(w.connect());
  ends.a->send(make_frame(TrafficClass::rows, 1, {mib}));
  ASSERT_TRUE(ends.at_b->wait([](auto& r) { return r.frames.size() == 1; }));
  // Only what this process has: a killed one may have left a file between its making and its removal.
  std::size_t segments = 0;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("/dev/shm/ucx_") != std::string::npos) {
      EXPECT_TRUE(line.ends_with("(deleted)")) << line;
      ++segments;
    }
  }
  EXPECT_GT(segments, 0U);
}

}  // namespace
}  // namespace troupe::net
