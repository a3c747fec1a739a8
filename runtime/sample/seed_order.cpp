#include "runtime/sample/seed_order.hpp"

#include "runtime/base/assert.hpp"
#include "runtime/base/permutation.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

namespace troupe {
namespace {

/// StreamName::hop of the order of batches of several edge types.
constexpr std::uint8_t hop_of_groups = 2;

}  // namespace

SeedOrder::SeedOrder(std::shared_ptr<const SeedList> seeds, std::uint64_t batch_size,
                     std::uint64_t job_seed, bool shuffle, SeedShares shares, ShortBatch last)
    : seeds_(std::move(seeds)),
      shares_(std::move(shares)),
      batch_size_(batch_size),
      job_seed_(job_seed),
      shuffle_(shuffle),
      last_(last) {
  TROUPE_ASSERT(seeds_ != nullptr, "a seed order needs a seed list");
  TROUPE_ASSERT(batch_size_ >= 1, "batch size", batch_size_);
  const auto fewer = [](const auto& a, const auto& b) { return a.size() < b.size(); };
  TROUPE_ASSERT(std::ranges::adjacent_find(shares_, fewer) == shares_.end(),
                "shares grow from rank to rank");
}

SeedOrder::SeedOrder(std::shared_ptr<const LinkList> links, std::uint64_t batch_size,
                     std::uint64_t job_seed, bool shuffle, SeedShares shares, ShortBatch last)
    : SeedOrder(std::make_shared<const SeedList>(), batch_size, job_seed, shuffle,
                std::move(shares), last) {
  links_ = std::move(links);
  TROUPE_ASSERT(links_ != nullptr, "a seed order needs a list of links");
  TROUPE_ASSERT(links_->groups().empty() || shares_.empty(), "shares of links of several types",
                links_->groups().size(), shares_.size());
}

std::uint64_t SeedOrder::num_seeds() const {
  return links_ ? links_->size() : seeds_->global.size();
}

std::uint64_t SeedOrder::num_batches() const {
  std::uint64_t batches = 0;
  if (links_ && !links_->groups().empty()) {
    for (const auto& group : links_->groups()) {
      batches += batches_of(group.count);
    }
    return batches;
  }
  if (shares_.empty()) {
    return batches_of(num_seeds());
  }
  for (const auto& share : shares_) {
    batches += batches_of(share.size());
  }
  return batches;
}

std::uint64_t SeedOrder::num_steps(std::uint32_t world) const {
  TROUPE_ASSERT(world >= 1, "ranks", world);
  return num_batches() / world + (num_batches() % world != 0 ? 1 : 0);
}

SeedOrder::Place SeedOrder::place_of(std::uint32_t epoch, std::uint64_t number) const {
  if (!links_ || links_->groups().empty()) {
    const auto rank = shares_.empty() ? 0 : number % shares_.size();
    return {.first = 0,
            .count = shares_.empty() ? num_seeds() : shares_[rank].size(),
            .batch = shares_.empty() ? number : number / shares_.size(),
            .type = links_ ? raw(links_->edge_type()) : raw(seeds_->node_type)};
  }
  const StreamName name{
      .domain = Domain::seed_order, .type = 0, .hop = hop_of_groups, .epoch = epoch, .batch = 0};
  const Permutation order(stream_key(job_seed_, name), num_batches());
  auto batch = shuffle_ ? order(number) : number;
  for (const auto& group : links_->groups()) {
    if (batch < batches_of(group.count)) {
      return {group.first, group.count, batch, raw(group.edge_type)};
    }
    batch -= batches_of(group.count);
  }
  TROUPE_ASSERT(false, "a batch of a group", number);
  return {};
}

PooledVector<std::uint64_t> SeedOrder::positions(std::uint32_t epoch, std::uint64_t number) const {
  TROUPE_ASSERT(number < num_batches(), "batch past the end", number, num_batches());
  const auto rank = shares_.empty() ? 0 : number % shares_.size();
  const auto place = place_of(epoch, number);
  const auto first = place.batch * batch_size_;
  const auto count = std::min(batch_size_, place.count - first);
  const StreamName name{.domain = Domain::seed_order,
                        .type = place.type,
                        .hop = static_cast<std::uint8_t>(shares_.empty() ? 0 : 1),
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
    at = place.first + (shares_.empty() ? at : shares_[rank][at]);
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
