#pragma once
/// \file fake_means.hpp
/// A communicator that behaves as NCCL does, for tests of who launches when: vectors are in host memory, means
/// of all ranks belong together by the order of their launches and end only when all ranks have launched
/// theirs; ranks that launch different ones lock up; who aborts ends alone, with an error.
#include "runtime/base/even_share.hpp"
#include "runtime/run/device_mean.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace troupe::testing {

/// What the ranks of a run share.
/// Threads: one
class FakeNetwork {
 public:
  explicit FakeNetwork(std::uint64_t seed = 1) : random_(seed) {}

  struct Launched {
    DeviceMean::Work work;
    std::uint64_t tag = 0;  ///< By which a test tells launches apart; the same on all ranks
  };
  struct Group {
    explicit Group(std::size_t world) : joined(world), gone(world), queues(world) {}
    std::vector<bool> joined;
    std::vector<bool> gone;
    std::vector<std::vector<Launched>> queues;  ///< Under way, by rank
    std::vector<std::uint64_t> tags;            ///< Of means that have ended
  };

  CommunicatorId make_id() { return {7, ++made_}; }
  std::shared_ptr<Group> group(const CommunicatorId& id, std::size_t world) {
    auto& group = groups_[id];
    group = group ? group : std::make_shared<Group>(world);
    return group;
  }
  std::uint64_t made() const { return made_; }
  const std::map<CommunicatorId, std::shared_ptr<Group>>& groups() const { return groups_; }
  /// What the launches that follow are, for the order of launches.
  std::uint64_t tag = 0;

  /// Ends one of the means that all ranks have launched. \returns there is none
  bool end_one() {
    for (auto& [id, group] : groups_) {
      if (can_end(*group)) {
        end(*group);
        return true;
      }
    }
    return false;
  }
  /// Some mean waits that will never end unless its rank aborts.
  bool locked_up() const {
    return std::ranges::any_of(groups_, [](const auto& entry) {
      const Group& group = *entry.second;
      return std::ranges::all_of(group.queues, [](const auto& queue) { return !queue.empty(); }) &&
             !can_end(group);
    });
  }

 private:
  static bool can_end(const Group& group) {
    for (std::size_t rank = 0; rank < group.queues.size(); ++rank) {
      const auto& queue = group.queues[rank];
      if (group.gone[rank] || queue.empty() || queue.front().tag != group.queues[0].front().tag ||
          queue.front().work.vector.size() != group.queues[0].front().work.vector.size()) {
        return false;
      }
    }
    return true;
  }
  void end(Group& group) {
    std::vector<DeviceMean::Work> works;
    for (auto& queue : group.queues) {
      works.push_back(std::move(queue.front().work));
      group.tags.push_back(queue.front().tag);
      queue.erase(queue.begin());
    }
    std::vector<float> mean(works.front().vector.size());
    for (const auto& work : works) {
      for (std::size_t i = 0; i < mean.size(); ++i) {
        mean[i] += work.vector[i];
      }
    }
    for (auto& value : mean) {
      value /= static_cast<float>(works.front().weight);
    }
    std::ranges::shuffle(works, random_);
    for (const auto& work : works) {
      std::ranges::copy(mean, work.vector.begin());
      work.after();
      work.done(ok_status());
    }
  }

  std::mt19937_64 random_;
  std::uint64_t made_ = 0;
  std::map<CommunicatorId, std::shared_ptr<Group>> groups_;
};

class FakeMean final : public DeviceMean {
 public:
  FakeMean(FakeNetwork& network, std::shared_ptr<FakeNetwork::Group> group, std::size_t rank)
      : network_(network), group_(std::move(group)), rank_(rank) {}
  FakeMean(const FakeMean&) = delete;
  FakeMean& operator=(const FakeMean&) = delete;
  ~FakeMean() override { FakeMean::abort(); }

  Result<bool> ready() override {
    if (std::ranges::find(group_->gone, true) != group_->gone.end()) {
      return Error(Errc::peer_lost, "fake communicator: a rank has left");
    }
    return bool{group_->joined[rank_]};
  }
  void launch(Work work) override {
    if (group_->gone[rank_]) {
      return work.done(Error(Errc::cancelled, "fake communicator: aborted"));
    }
    group_->queues[rank_].push_back({std::move(work), network_.tag});
  }
  void abort() override {
    group_->gone[rank_] = true;
    for (auto& launched : std::exchange(group_->queues[rank_], {})) {
      launched.work.done(Error(Errc::cancelled, "fake communicator: aborted"));
    }
  }

 private:
  FakeNetwork& network_;
  std::shared_ptr<FakeNetwork::Group> group_;
  std::size_t rank_;
};

class FakeMeans final : public DeviceMeans {
 public:
  FakeMeans(FakeNetwork& network, DevicePlace place)
      : network_(network), place_(std::move(place)) {}
  DevicePlace place() const override { return place_; }
  Result<CommunicatorId> make_id() override { return network_.make_id(); }
  Result<std::shared_ptr<DeviceMean>> join(const CommunicatorId& id, Rank rank,
                                           std::uint32_t world) override {
    if (refuses) {
      return Error(Errc::cuda_failure, "fake communicator: refused");
    }
    auto group = network_.group(id, world);
    group->joined[raw(rank)] = true;
    return std::shared_ptr<DeviceMean>(
        std::make_shared<FakeMean>(network_, std::move(group), raw(rank)));
  }
  bool refuses = false;

 private:
  FakeNetwork& network_;
  DevicePlace place_;
};

}  // namespace troupe::testing
