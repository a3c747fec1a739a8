// Who gives way at a listener that is full of connections without a proof.
#include "runtime/net/handshake_slots.hpp"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace troupe::net {
namespace {

class HandshakeSlotsTest : public ::testing::Test {
 protected:
  /// A new connection, which holds its place until it is closed or leaves.
  void connect(const std::string& name, const std::string& host, bool on_loopback = false) {
    slots_->make_room(host, on_loopback);
    places_[name] = slots_->take(host, [this, name] {
      closed_.push_back(name);
      places_.erase(name);
    });
  }
  using Names = std::vector<std::string>;

  const std::shared_ptr<HandshakeSlots> slots_ = std::make_shared<HandshakeSlots>(4);
  std::map<std::string, std::shared_ptr<void>> places_;
  Names closed_;
};

TEST_F(HandshakeSlotsTest, OnLoopbackTheOldestGivesWayWhenAllAreTaken) {
  for (const auto* name : {"a", "b", "c", "d", "e", "f"}) {
    connect(name, "127.0.0.1", true);
  }
  EXPECT_EQ(closed_, (Names{"a", "b"}));
  EXPECT_EQ(slots_->held(), 4U);
}

TEST_F(HandshakeSlotsTest, TheOldestGivesWayWhateverItsAddress) {
  connect("a", "10.0.0.1");
  connect("b", "10.0.0.2");
  connect("c", "10.0.0.2");
  connect("d", "10.0.0.3");
  connect("e", "10.0.0.4");
  EXPECT_EQ(closed_, Names{"a"});
}

TEST_F(HandshakeSlotsTest, BeyondLoopbackAnAddressOverHalfGivesUpItsOwnOldest) {
  connect("a", "10.0.0.1");
  for (const auto* name : {"b", "c", "d", "e"}) {
    connect(name, "10.0.0.2");
  }
  EXPECT_EQ(closed_, (Names{"b", "c"}));
  EXPECT_TRUE(places_.contains("a"));
}

TEST_F(HandshakeSlotsTest, WhoHasLeftGivesItsPlace) {
  for (const auto* name : {"a", "b", "c", "d"}) {
    connect(name, "127.0.0.1", true);
  }
  places_.erase("c");
  connect("e", "127.0.0.1", true);
  EXPECT_EQ(closed_, Names{});
  slots_->close_all();
  EXPECT_EQ(closed_, (Names{"a", "b", "d", "e"}));
  EXPECT_EQ(slots_->held(), 0U);
}

TEST_F(HandshakeSlotsTest, APlaceMayOutliveThem) {
  auto slots = std::make_shared<HandshakeSlots>(1);
  const auto place = slots->take("10.0.0.1", [] {});
  slots.reset();
}

}  // namespace
}  // namespace troupe::net
