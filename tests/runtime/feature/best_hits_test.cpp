#include "runtime/feature/best_hits.hpp"

#include "runtime/base/philox.hpp"
#include "tests/support/expect.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <thread>

namespace troupe {
namespace {

using Reads = std::vector<PooledVector<NodeId>>;  // [types]

/// Some rows are read in nearly every batch, most in few.
std::vector<Reads> batches_of(std::uint64_t rows, std::size_t types) {
  DrawStream draw(stream_key(5, {.domain = Domain::generators}), 0);
  std::vector<Reads> batches(40, Reads(types));
  for (auto& batch : batches) {
    for (auto& of_type : batch) {
      for (std::uint64_t row = 0; row < rows; ++row) {
        if (draw.below(static_cast<std::uint32_t>(row + 1)) < 2) {
          of_type.push_back(static_cast<NodeId>(row * 7));
        }
      }
    }
  }
  return batches;
}

/// Counts, sorts and sums: what the class must find without.
std::uint64_t best_hits(const std::vector<Reads>& batches, const std::vector<std::uint64_t>& room) {
  std::uint64_t hits = 0;
  for (std::size_t t = 0; t < room.size(); ++t) {
    std::map<NodeId, std::uint64_t> times;
    for (const auto& batch : batches) {
      for (const auto id : batch[t]) {
        ++times[id];
      }
    }
    std::vector<std::uint64_t> counts;
    for (const auto& [id, count] : times) {
      counts.push_back(count);
    }
    std::ranges::sort(counts, std::greater<>());
    counts.resize(std::min<std::size_t>(counts.size(), room[t]));
    hits += std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  }
  return hits;
}

TEST(BestHits, AreTheReadsOfTheRowsReadMostOften) {
  for (const std::uint64_t room : {0U, 1U, 5U, 50U, 199U, 200U, 1000U}) {
    const auto batches = batches_of(200, 1);
    BestHits best({room});
    std::uint64_t sum = 0;
    std::vector<Reads> so_far;
    for (const auto& batch : batches) {
      sum += best.count(NodeTypeId{0}, batch[0]);
      so_far.push_back(batch);
      EXPECT_EQ(sum, best_hits(so_far, {room})) << room << " rows, " << so_far.size() << " batches";
    }
  }
}

TEST(BestHits, AreThoseOfEachTypeAndOfEachEpoch) {
  const std::vector<std::uint64_t> room{20, 3, 0};
  const auto batches = batches_of(100, 3);
  BestHitsOfEpochs best(room);
  for (const std::uint32_t epoch : {4U, 5U, 2U}) {
    std::uint64_t sum = 0;
    for (const auto& batch : batches) {
      sum += best.count(epoch, batch);
    }
    EXPECT_EQ(sum, best_hits(batches, room)) << epoch;
  }
}

TEST(BestHits, OfTwoEpochsWhoseBatchesMixAreThoseOfEach) {
  const std::vector<std::uint64_t> room{20};
  const auto batches = batches_of(100, 1);
  BestHitsOfEpochs best(room);
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  for (const auto& batch : batches) {
    first += best.count(0, batch);
    second += best.count(1, batch);
  }
  EXPECT_EQ(first, best_hits(batches, room));
  EXPECT_EQ(second, first);
}

TEST(BestHits, DoNotDependOnTheOrderOrOnThreads) {
  const std::vector<std::uint64_t> room{20};
  const auto batches = batches_of(100, 1);
  BestHitsOfEpochs best(room);
  std::vector<std::uint64_t> sums(2);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < 2; ++i) {
      threads.emplace_back([&, i] {
        for (std::size_t b = i; b < batches.size(); b += 2) {
          sums[i] += best.count(0, batches[batches.size() - 1 - b]);
        }
      });
    }
  }
  EXPECT_EQ(sums[0] + sums[1], best_hits(batches, room));
}

}  // namespace
}  // namespace troupe
