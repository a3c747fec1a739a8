#include "runtime/net/request_table.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <string>

namespace troupe::net {
namespace {

using Ids = std::vector<std::uint64_t>;

TEST(RequestTable, GivesWhatWasPutUnderANumberUntilItIsTaken) {
  RequestTable<std::string> table;
  EXPECT_EQ(table.find(1), nullptr);
  EXPECT_TRUE(table.empty());

  table.insert(1, "a");
  table.insert(2, "b");

  EXPECT_EQ(table.size(), 2U);
  EXPECT_EQ(*table.find(2), "b");
  EXPECT_EQ(table.take(1), "a");
  EXPECT_EQ(table.find(1), nullptr);
  EXPECT_EQ(*table.find(2), "b");
}

TEST(RequestTable, NumbersWithTheSameLowBitsLieBesideEachOther) {
  RequestTable<std::uint64_t> table;
  Ids ids;
  for (std::uint64_t i = 0; i < 20; ++i) {
    ids.push_back((i << 40) + 63);  // the last place: what follows goes round
    table.insert(ids.back(), std::uint64_t{i});
  }
  for (std::uint64_t i = 0; i < 20; i += 2) {
    EXPECT_EQ(table.take(ids[i]), i);
  }
  for (std::uint64_t i = 0; i < 20; ++i) {
    const auto* found = table.find(ids[i]);
    ASSERT_EQ(found != nullptr, i % 2 == 1) << i;
    EXPECT_TRUE(found == nullptr || *found == i);
  }
}

TEST(RequestTable, ANumberThatStaysOpenIsSteppedOver) {
  RequestTable<std::uint64_t> table;
  table.insert(5, 5);
  for (std::uint64_t id = 6; id < 5000; ++id) {
    table.insert(id, std::uint64_t{id});
    if (id >= 26) {
      EXPECT_EQ(table.take(id - 20), id - 20);
    }
  }
  EXPECT_EQ(*table.find(5), 5U);
  EXPECT_EQ(table.size(), 21U);
}

TEST(RequestTable, NumbersComeInAscendingOrder) {
  RequestTable<int> table;
  for (const std::uint64_t id : {900U, 3U, 70U, 64U, 128U}) {
    table.insert(id, 0);
  }

  EXPECT_EQ(table.ids(), (Ids{3, 64, 70, 128, 900}));
}

TEST(RequestTable, WhatIsTakenIsHeldNoLonger) {
  RequestTable<std::shared_ptr<int>> table;
  const auto held = std::make_shared<int>(1);
  table.insert(1, std::shared_ptr<int>(held));
  table.insert(65, std::shared_ptr<int>(held));  // of the same place
  EXPECT_EQ(held.use_count(), 3);

  table.take(1);
  EXPECT_EQ(held.use_count(), 2);
  table = {};
  EXPECT_EQ(held.use_count(), 1);
}

/// Random numbers from few, many or far apart ones, in phases of filling and emptying.
void compare_with_a_map(std::uint32_t seed, std::uint64_t step) {
  RequestTable<std::unique_ptr<std::uint64_t>> table;
  std::map<std::uint64_t, std::uint64_t> twin;
  std::mt19937 random(seed);
  std::uint64_t next = 1;
  for (int i = 0; i < 4000; ++i) {
    const bool filling = i / 500 % 2 == 0;
    if (twin.empty() || random() % 10 < (filling ? 7 : 3)) {
      next += 1 + random() % step;
      twin.emplace(next, i);
      table.insert(next, std::make_unique<std::uint64_t>(i));
    } else {
      auto victim = std::next(twin.begin(), static_cast<std::ptrdiff_t>(random() % twin.size()));
      ASSERT_EQ(*table.take(victim->first), victim->second);
      ASSERT_EQ(table.find(victim->first), nullptr);
      twin.erase(victim);
    }
    ASSERT_EQ(table.size(), twin.size());
  }
  Ids ids;
  for (const auto& [id, value] : twin) {
    ids.push_back(id);
    ASSERT_NE(table.find(id), nullptr);
    EXPECT_EQ(**table.find(id), value);
  }
  EXPECT_EQ(table.ids(), ids);
}

TEST(RequestTable, DoesWhatAMapDoes) {
  for (std::uint32_t seed = 1; seed <= 10; ++seed) {
    for (const std::uint64_t step : {1U, 3U, 64U, 4096U}) {
      SCOPED_TRACE(fmt::format("seed {}, step {}", seed, step));
      compare_with_a_map(seed, step);
    }
  }
}

TEST(RequestTableDeathTest, ANumberIsOpenOnce) {
  RequestTable<int> table;
  table.insert(1, 1);

  EXPECT_DEATH(table.insert(1, 2), "number of its own");
  EXPECT_DEATH(table.insert(0, 2), "number of its own");
  EXPECT_DEATH(table.take(2), "that is open");
}

}  // namespace
}  // namespace troupe::net
