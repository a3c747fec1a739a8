#include "runtime/sample/seed_split.hpp"

#include "runtime/base/assert.hpp"
#include "runtime/base/even_share.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace troupe {

SeedShares even_split(std::uint64_t seeds, std::uint32_t world) {
  TROUPE_ASSERT(world >= 1, "ranks", world);
  SeedShares shares(world);
  for (std::uint32_t r = 0; r < world; ++r) {
    const auto [first, size] = even_share(seeds, world, static_cast<Rank>(r));
    shares[r].resize(size);
    std::iota(shares[r].begin(), shares[r].end(), std::uint64_t{first});
  }
  return shares;
}

SeedShares local_split(std::span<const PartId> owners,
                       std::span<const std::vector<PartId>> parts_of_rank) {
  TROUPE_ASSERT(!parts_of_rank.empty(), "a split needs ranks");
  const auto world = static_cast<std::uint32_t>(parts_of_rank.size());
  std::map<PartId, std::vector<std::uint32_t>> ranks_near;
  for (std::uint32_t r = 0; r < world; ++r) {
    for (const auto part : parts_of_rank[r]) {
      ranks_near[part].push_back(r);
    }
  }
  SeedShares shares(world);
  const auto is_full = [&](std::uint32_t rank) {
    return shares[rank].size() == even_share(owners.size(), world, static_cast<Rank>(rank)).size;
  };
  std::map<PartId, std::size_t> turn;
  std::vector<std::uint64_t> left;
  for (std::uint64_t seed = 0; seed < owners.size(); ++seed) {
    const auto& near = ranks_near[owners[seed]];
    auto& next = turn[owners[seed]];
    std::size_t tried = 0;
    while (tried < near.size() && is_full(near[next % near.size()])) {
      ++next;
      ++tried;
    }
    if (tried == near.size()) {
      left.push_back(seed);
    } else {
      shares[near[next++ % near.size()]].push_back(seed);
    }
  }
  std::uint32_t rank = 0;
  for (const auto seed : left) {
    while (is_full(rank)) {
      ++rank;
    }
    shares[rank].push_back(seed);
  }
  for (auto& share : shares) {
    std::ranges::sort(share);
  }
  return shares;
}

SeedShares local_split_of_groups(std::span<const LinkGroup> groups, std::span<const PartId> owners,
                                 std::span<const std::vector<PartId>> parts_of_rank,
                                 const BatchSizes& batches) {
  const auto world = parts_of_rank.size();
  SeedShares shares(world);
  std::size_t turn = 0;  // the rank that has one link more first
  for (const auto& group : groups) {
    std::vector<std::vector<PartId>> turned(parts_of_rank.begin(), parts_of_rank.end());
    std::rotate(turned.begin(), turned.begin() + static_cast<std::ptrdiff_t>(turn), turned.end());
    const auto of_group = local_split(owners.subspan(group.first, group.count), turned);
    for (std::size_t i = 0; i < world; ++i) {
      for (const auto position : of_group[i]) {
        shares[(turn + i) % world].push_back(group.first + position);
      }
    }
    const auto least = batches.batches_of(group.count / world);
    const auto most = batches.batches_of(group.count / world + 1);
    turn = (turn + (most - least) * (group.count % world)) % world;
  }
  return shares;
}

}  // namespace troupe
