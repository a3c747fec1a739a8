#include "runtime/sample/seed_order.hpp"

#include "runtime/base/assert.hpp"
#include "runtime/base/permutation.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

namespace troupe {
namespace {

/// StreamName::hop of the order of batches of several edge types: of the list, of a rank's share.
constexpr std::uint8_t hop_of_groups = 2;
constexpr std::uint8_t hop_of_local_groups = 3;

/// Where a share has links of each edge type. \param share  ascending positions
std::vector<LinkGroup> groups_in(const std::vector<std::uint64_t>& share,
                                 const std::vector<LinkGroup>& groups) {
  std::vector<LinkGroup> found;
  std::uint64_t first = 0;
  for (const auto& group : groups) {
    const auto end = std::ranges::lower_bound(share, group.first + group.count);
    const auto behind = static_cast<std::uint64_t>(end - share.begin());
    found.push_back({group.edge_type, first, behind - first});
    first = behind;
  }
  return found;
}

}  // namespace

SeedOrder::SeedOrder(std::shared_ptr<const SeedList> seeds, std::uint64_t batch_size,
                     std::uint64_t job_seed, bool shuffle, SeedShares shares, ShortBatch last)
    : seeds_(std::move(seeds)),
      shares_(std::move(shares)),
      sizes_{batch_size, last},
      job_seed_(job_seed),
      shuffle_(shuffle) {
  TROUPE_ASSERT(seeds_ != nullptr, "a seed order needs a seed list");
  TROUPE_ASSERT(sizes_.size >= 1, "batch size", sizes_.size);
}

SeedOrder::SeedOrder(std::shared_ptr<const LinkList> links, std::uint64_t batch_size,
                     std::uint64_t job_seed, bool shuffle, SeedShares shares, ShortBatch last)
    : SeedOrder(std::make_shared<const SeedList>(), batch_size, job_seed, shuffle,
                std::move(shares), last) {
  links_ = std::move(links);
  TROUPE_ASSERT(links_ != nullptr, "a seed order needs a list of links");
  const auto& groups = links_->groups();
  if (!groups.empty() && !local()) {
    groups_.push_back(groups);
  }
  for (std::size_t rank = 0; rank < shares_.size() && !groups.empty(); ++rank) {
    groups_.push_back(groups_in(shares_[rank], groups));
  }
}

std::uint64_t SeedOrder::num_seeds() const {
  return links_ ? links_->size() : seeds_->global.size();
}

std::uint64_t SeedOrder::batches_in(std::size_t share) const {
  if (groups_.empty()) {
    return sizes_.batches_of(local() ? shares_[share].size() : num_seeds());
  }
  std::uint64_t batches = 0;
  for (const auto& group : groups_[share]) {
    batches += sizes_.batches_of(group.count);
  }
  return batches;
}

std::uint64_t SeedOrder::num_batches() const {
  std::uint64_t batches = batches_in(0);
  for (std::size_t rank = 1; rank < shares_.size(); ++rank) {
    const auto more = batches_in(rank);
    TROUPE_ASSERT(more <= batches_in(rank - 1) && more + 1 >= batches_in(0),
                  "batches of shares go down by one at most", rank, more);
    batches += more;
  }
  return batches;
}

std::optional<LinkGroup> SeedOrder::links_without_batches() const {
  for (std::size_t g = 0; !groups_.empty() && g < links_->groups().size(); ++g) {
    const auto& group = links_->groups()[g];
    const bool fills_one = std::ranges::any_of(
        groups_, [&](const auto& of_share) { return sizes_.batches_of(of_share[g].count) > 0; });
    if (group.count > 0 && !fills_one) {
      return group;
    }
  }
  return std::nullopt;
}

std::uint64_t SeedOrder::num_steps(std::uint32_t world) const {
  TROUPE_ASSERT(world >= 1, "ranks", world);
  return num_batches() / world + (num_batches() % world != 0 ? 1 : 0);
}

SeedOrder::Place SeedOrder::place_of(std::uint32_t epoch, std::uint64_t number) const {
  const auto share = local() ? number % shares_.size() : 0;
  auto batch = local() ? number / shares_.size() : number;
  if (groups_.empty()) {
    return {.first = 0,
            .count = local() ? shares_[share].size() : num_seeds(),
            .batch = batch,
            .type = links_ ? raw(links_->edge_type()) : raw(seeds_->node_type)};
  }
  const StreamName name{.domain = Domain::seed_order,
                        .type = 0,
                        .hop = local() ? hop_of_local_groups : hop_of_groups,
                        .epoch = epoch,
                        .batch = share};
  const Permutation order(stream_key(job_seed_, name), batches_in(share));
  batch = shuffle_ ? order(batch) : batch;
  for (const auto& group : groups_[share]) {
    const auto of_group = sizes_.batches_of(group.count);
    if (batch < of_group) {
      return {group.first, group.count, batch, raw(group.edge_type)};
    }
    batch -= of_group;
  }
  TROUPE_ASSERT(false, "a batch of a group", number);
  return {};
}

PooledVector<std::uint64_t> SeedOrder::positions(std::uint32_t epoch, std::uint64_t number) const {
  TROUPE_ASSERT(number < num_batches(), "batch past the end", number, num_batches());
  const auto rank = local() ? number % shares_.size() : 0;
  const auto place = place_of(epoch, number);
  const auto first = place.batch * sizes_.size;
  const auto count = std::min(sizes_.size, place.count - first);
  const StreamName name{.domain = Domain::seed_order,
                        .type = place.type,
                        .hop = static_cast<std::uint8_t>(local() ? 1 : 0),
                        .epoch = epoch,
                        .batch = rank};
  const Permutation order(stream_key(job_seed_, name), place.count);
  PooledVector<std::uint64_t> positions(count);
  if (shuffle_) {
    order.fill(first, positions);
  } else {
    std::iota(positions.begin(), positions.end(), first);
  }
  for (auto& at : positions) {
    at += place.first;
    at = local() ? shares_[rank][at] : at;
  }
  return positions;
}

PooledVector<NodeId> SeedOrder::batch(std::uint32_t epoch, std::uint64_t number) const {
  PooledVector<NodeId> nodes;
  const auto at = positions(epoch, number);
  nodes.reserve(at.size());
  for (const std::uint64_t position : at) {
    nodes.push_back(seeds_->global[position]);
  }
  return nodes;
}

OrderedSeeds SeedOrder::no_seeds() const {
  OrderedSeeds seeds;
  seeds.type = seeds_->node_type;
  if (links_) {
    seeds.links.emplace().edge_type = links_->edge_type();
  }
  return seeds;
}

OrderedSeeds SeedOrder::seeds_of(std::uint32_t epoch, std::uint64_t number) const {
  auto seeds = no_seeds();
  const auto at = positions(epoch, number);
  const auto pick = [&at](const auto& all, auto& to) {
    for (std::size_t i = 0; !all.empty() && i < at.size(); ++i) {
      to.push_back(all[at[i]]);
    }
  };
  if (!links_) {
    pick(seeds_->global, seeds.nodes);
    if (with_times_) {
      pick(seeds_->times, seeds.times);
    }
    return seeds;
  }
  auto& links = *seeds.links;
  links.edge_type = links_->edge_type_at(at.front());
  for (const std::uint64_t position : at) {
    const auto link = links_->at(position);
    links.sources.push_back(link.source);
    links.destinations.push_back(link.destination);
  }
  if (with_times_) {
    pick(links_->times(), links.times);
  }
  pick(links_->labels(), links.labels);
  return seeds;
}

}  // namespace troupe
