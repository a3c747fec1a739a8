#include "runtime/feature/future_rows.hpp"

#include "tests/support/expect.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <random>
#include <set>

namespace troupe {
namespace {

using Ids = std::vector<std::uint64_t>;

constexpr std::uint64_t row_bytes = 8;

PooledVector<NodeId> nodes_of(const Ids& ids) {
  PooledVector<NodeId> nodes;
  for (const auto id : ids) {
    nodes.push_back(static_cast<NodeId>(id));
  }
  return nodes;
}

FutureRows rows_with(std::uint64_t room, std::uint32_t lookahead = 4) {
  return FutureRows({.room = room, .row_bytes = row_bytes, .lookahead = lookahead});
}

/// A row that tells its node.
bool insert(FutureRows& rows, std::uint64_t id, std::uint8_t level = 0) {
  const auto row = std::bit_cast<std::array<std::byte, row_bytes>>(~id);
  return rows.insert(static_cast<NodeId>(id), level, row, static_cast<OriginalId>(id + 1000));
}

bool has(const FutureRows& rows, std::uint64_t id) {
  const auto at = rows.find(static_cast<NodeId>(id));
  if (!at) {
    return false;
  }
  std::array<std::byte, row_bytes> row{};
  std::ranges::copy(rows.row(*at), row.begin());
  EXPECT_EQ(std::bit_cast<std::uint64_t>(row), ~id);
  EXPECT_EQ(raw(rows.original_id(*at)), id + 1000);
  return true;
}

Ids kept(const FutureRows& rows, std::uint64_t ids) {
  Ids found;
  for (std::uint64_t id = 0; id < ids; ++id) {
    if (has(rows, id)) {
      found.push_back(id);
    }
  }
  return found;
}

TEST(FutureRows, KeepTheRowsThatAreReadFirst) {
  auto rows = rows_with(2);
  rows.expect(1, nodes_of({10}));
  rows.expect(2, nodes_of({11}));
  rows.expect(3, nodes_of({12, 10}));

  EXPECT_TRUE(insert(rows, 12));
  EXPECT_TRUE(insert(rows, 11));
  EXPECT_TRUE(insert(rows, 10)) << "in the place of 12, which is read last";
  EXPECT_FALSE(has(rows, 12));
  EXPECT_FALSE(insert(rows, 12));
  EXPECT_FALSE(insert(rows, 10)) << "it is kept already";

  rows.forget(1);  // now 10 is read as late as 12
  EXPECT_FALSE(insert(rows, 12));
  rows.forget(2);  // and 11 never
  EXPECT_TRUE(insert(rows, 12));
  EXPECT_EQ(kept(rows, 20), (Ids{10, 12}));
}

TEST(FutureRows, WithoutAReaderTheHottestStay) {
  auto rows = rows_with(2);
  EXPECT_TRUE(insert(rows, 0, 7));
  EXPECT_TRUE(insert(rows, 1, 200));
  EXPECT_FALSE(insert(rows, 2, 7)) << "as hot as the coldest";
  EXPECT_TRUE(insert(rows, 2, 8));
  EXPECT_EQ(kept(rows, 5), (Ids{1, 2}));

  rows.expect(9, nodes_of({3, 2}));
  EXPECT_TRUE(insert(rows, 3, 0)) << "read by a known batch, in the place of the hottest";
  EXPECT_EQ(kept(rows, 5), (Ids{2, 3}));
  EXPECT_FALSE(insert(rows, 1, 255));
}

TEST(FutureRows, WithoutRoomOrLookAheadKeepNothingOrTheHottest) {
  auto none = rows_with(0);
  none.expect(1, nodes_of({4}));
  EXPECT_FALSE(insert(none, 4, 255));
  none.forget(1);
  EXPECT_EQ(none.tracked(), 0U);

  auto one = rows_with(1, 0);
  EXPECT_TRUE(insert(one, 4, 3));
  EXPECT_TRUE(insert(one, 5, 4));
  EXPECT_EQ(kept(one, 9), Ids{5});
}

TEST(FutureRows, ATurnThatIsKnownStaysAsItIsAndARowMayBeNamedTwice) {
  auto rows = rows_with(1);
  rows.expect(1, nodes_of({4, 4, 5}));
  rows.expect(1, nodes_of({6}));
  EXPECT_EQ(rows.tracked(), 2U);
  insert(rows, 6, 255);
  EXPECT_TRUE(insert(rows, 4));

  rows.forget(1);
  rows.forget(1);

  EXPECT_EQ(rows.tracked(), 1U) << "the row that is kept";
  EXPECT_TRUE(insert(rows, 6, 1));
}

TEST(FutureRows, TurnsFarFromTheNewestAreForgotten) {
  auto rows = rows_with(4, 32);
  const auto window = rows.window();
  EXPECT_GE(window, 64U);
  rows.expect(1000, nodes_of({1}));
  rows.expect(1000 + window - 1, nodes_of({2}));
  EXPECT_TRUE(rows.knows(1000));

  rows.expect(1000 + window, nodes_of({3}));
  EXPECT_FALSE(rows.knows(1000)) << "it never came";
  EXPECT_TRUE(rows.knows(1000 + window - 1));

  rows.expect(7, nodes_of({4}));  // all ranks were rolled back
  EXPECT_FALSE(rows.knows(1000 + window));
  EXPECT_TRUE(rows.knows(7));
  EXPECT_EQ(rows.tracked(), 1U);
}

/// What the rows are to do, as plainly as can be.
class PlainRows {
 public:
  explicit PlainRows(std::uint64_t room) : room_(room) {}

  void expect(Turn turn, const Ids& ids, std::uint32_t window) {
    if (turns_.contains(turn)) {
      return;
    }
    std::erase_if(turns_, [&](const auto& of) {
      return of.first + window <= turn || turn + window <= of.first;
    });
    turns_[turn] = {ids.begin(), ids.end()};
  }
  void forget(Turn turn) { turns_.erase(turn); }

  /// Larger is worse: next reader, then coldness.
  std::pair<Turn, int> badness(std::uint64_t id, std::uint8_t level) const {
    for (const auto& [turn, ids] : turns_) {
      if (ids.contains(id)) {
        return {turn, 0};
      }
    }
    return {~Turn{0}, -level};
  }
  std::pair<Turn, int> worst() const {
    std::pair<Turn, int> worst{};
    for (const auto& [id, level] : kept_) {
      worst = std::max(worst, badness(id, level));
    }
    return worst;
  }
  bool is_kept(std::uint64_t id) const { return kept_.contains(id); }

  /// Checks the step from what was kept before to what `rows` keep now.
  void check_insert(const FutureRows& rows, std::uint64_t id, std::uint8_t level, bool taken) {
    const bool full = kept_.size() == room_;
    const bool wanted = !is_kept(id) && room_ > 0 && (!full || badness(id, level) < worst());
    ASSERT_EQ(taken, wanted) << "row " << id;
    if (!taken) {
      return;
    }
    Ids gone;
    for (const auto& [other, of] : kept_) {
      if (!has(rows, other)) {
        gone.push_back(other);
        EXPECT_EQ(badness(other, of), worst()) << "row " << other;
      }
    }
    ASSERT_EQ(gone.size(), full ? 1U : 0U);
    for (const auto other : gone) {
      kept_.erase(other);
    }
    kept_[id] = level;
    ASSERT_TRUE(has(rows, id));
    ASSERT_EQ(rows.kept(), kept_.size());
  }
  std::uint64_t tracked() const {
    std::set<std::uint64_t> all;
    for (const auto& [turn, ids] : turns_) {
      all.insert(ids.begin(), ids.end());
    }
    for (const auto& [id, level] : kept_) {
      all.insert(id);
    }
    return all.size();
  }

 private:
  std::uint64_t room_;
  std::map<Turn, std::set<std::uint64_t>> turns_;
  std::map<std::uint64_t, std::uint8_t> kept_;
};

/// Turns come out of order, never, or again after a roll-back.
TEST(FutureRows, DoWhatThePlainOnesDo) {
  for (std::uint32_t seed = 0; seed < 24; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const std::uint64_t room = std::array<std::uint64_t, 4>{0, 1, 5, 40}[seed % 4];
    const std::uint32_t lookahead = std::array<std::uint32_t, 3>{1, 20, 90}[seed % 3];
    auto rows = rows_with(room, lookahead);
    PlainRows plain(room);
    Turn now = 5000;
    const auto expect_some = [&] {
      const Turn turn = now + random() % (lookahead + 1);
      Ids ids(random() % 12);
      std::ranges::generate(ids, [&] { return random() % 60; });
      plain.expect(turn, ids, rows.window());
      rows.expect(turn, nodes_of(ids));
    };
    for (int step = 0; step < 3000 && !::testing::Test::HasFatalFailure(); ++step) {
      const auto what = random() % 100;
      if (what < 25) {
        expect_some();
      } else if (what < 90) {
        const auto id = random() % 60;
        const auto level = static_cast<std::uint8_t>(random() % 5 * 60);
        plain.check_insert(rows, id, level, insert(rows, id, level));
      } else if (what < 99) {
        plain.forget(now);
        rows.forget(now);
        ++now;
      } else {
        now -= std::min<Turn>(now, random() % (random() % 2 == 0 ? 10 : 400));  // roll-back
      }
      ASSERT_EQ(rows.tracked(), plain.tracked());
    }
  }
}

/// The fewest rows that any cache has to read, by trying all.
class FewestReads {
 public:
  FewestReads(std::vector<Ids> batches, std::size_t room)
      : batches_(std::move(batches)), room_(room) {}

  std::uint64_t from(std::size_t batch, std::uint32_t cached) {
    if (batch == batches_.size()) {
      return 0;
    }
    const auto [known, is_new] = known_.try_emplace({batch, cached}, 0);
    if (!is_new) {
      return known->second;
    }
    std::uint32_t at_hand = cached;
    std::uint64_t reads = 0;
    for (const auto id : batches_[batch]) {
      const auto bit = std::uint32_t{1} << id;
      reads += (cached & bit) == 0 ? 1 : 0;
      at_hand |= bit;
    }
    std::uint64_t best = ~std::uint64_t{0};
    for (std::uint32_t keep = at_hand;; keep = (keep - 1) & at_hand) {
      if (static_cast<std::size_t>(std::popcount(keep)) <= room_) {
        best = std::min(best, from(batch + 1, keep));
      }
      if (keep == 0) {
        break;
      }
    }
    return known_[{batch, cached}] = reads + best;
  }

 private:
  std::vector<Ids> batches_;
  std::size_t room_;
  std::map<std::pair<std::size_t, std::uint32_t>, std::uint64_t> known_;
};

TEST(FutureRows, LeaveTheFewestReadsWhereAllIsKnown) {
  constexpr std::uint64_t ids = 7;
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    std::mt19937_64 random(seed);
    const std::size_t room = seed % 5;
    std::vector<Ids> batches(10);
    for (auto& batch : batches) {
      std::set<std::uint64_t> some;
      while (some.size() < 2 + seed % 2) {
        some.insert(random() % ids);
      }
      batch.assign(some.begin(), some.end());
    }
    const auto all = batches;
    auto rows = rows_with(room, 16);
    for (std::size_t turn = 0; turn < batches.size(); ++turn) {
      rows.expect(turn, nodes_of(batches[turn]));
    }

    std::uint64_t reads = 0;
    for (std::size_t turn = 0; turn < batches.size(); ++turn) {
      std::erase_if(batches[turn], [&](std::uint64_t id) { return has(rows, id); });
      reads += batches[turn].size();
      rows.forget(turn);
      std::ranges::for_each(batches[turn], [&](std::uint64_t id) { insert(rows, id); });
    }

    EXPECT_EQ(reads, FewestReads(all, room).from(0, 0)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace troupe
