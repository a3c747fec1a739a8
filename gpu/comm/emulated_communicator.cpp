#include "gpu/comm/emulated_communicator.hpp"

#include "gpu/comm/communicator.hpp"

#include <cstring>
#include <fmt/format.h>
#include <random>
#include <vector>

namespace troupe::gpu {

void EmulatedCommunicator::exchange(EmulatedStream& on, std::span<float> vector, float* received) {
  const Share own = even_share(vector.size(), world(), rank_);
  group_->launch(on, rank_, group_->begin(rank_, "exchange", vector.size(), vector.data()),
                 [own, received](std::size_t peer, const float* from) {
                   if (own.size > 0) {
                     std::memcpy(received + peer * own.size, from + own.first,
                                 own.size * sizeof(float));
                   }
                 });
}

void EmulatedCommunicator::gather(EmulatedStream& on, const float* mine, std::size_t count,
                                  float* all) {
  group_->launch(on, rank_, group_->begin(rank_, "gather", count, mine),
                 [count, all](std::size_t peer, const float* from) {
                   if (count > 0) {
                     std::memcpy(all + peer * count, from, count * sizeof(float));
                   }
                 });
}

void EmulatedCommunicator::add(EmulatedStream& on, std::span<float> vector) {
  const std::size_t count = vector.size();
  const std::size_t ranks = world();
  const auto all = on.array<float>(ranks * count);
  group_->launch(on, rank_, group_->begin(rank_, "add", count, vector.data()),
                 [count, all = all.data()](std::size_t peer, const float* from) {
                   if (count > 0) {
                     std::memcpy(all + peer * count, from, count * sizeof(float));
                   }
                 });
  on.launch([count, ranks, all = all.data(), to = vector.data()] {
    for (std::size_t i = 0; i < count; ++i) {
      float sum = 0;
      for (std::size_t k = 0; k < ranks; ++k) {
        sum += all[(i + k) % ranks * count + i];
      }
      to[i] = sum;
    }
  });
}

EmulatedNetwork::EmulatedNetwork() {
  std::random_device random;
  token_ = std::uint64_t{random()} << 32U | random();
  name_ = fmt::format("emulated devices of network {:016x}", token_);
}

CommunicatorId EmulatedNetwork::make_id() {
  const std::lock_guard lock(mutex_);
  std::erase_if(groups_, [](const auto& entry) { return entry.second.expired(); });
  return {token_, ++made_};
}

Result<std::shared_ptr<EmulatedGroup>> EmulatedNetwork::group(const CommunicatorId& id,
                                                              std::size_t world) {
  const std::lock_guard lock(mutex_);
  if (id.size() != 2 || id[0] != token_ || id[1] == 0 || id[1] > made_) {
    return Error(Errc::invalid_argument,
                 fmt::format("emulated communicator: expected an id of the {}, found one of {} "
                             "words",
                             name_, id.size()));
  }
  auto& known = groups_[id[1]];
  auto group = known.lock();
  if (!group) {
    group = std::make_shared<EmulatedGroup>(world, id[1]);
    known = group;
  }
  if (group->world() != world) {
    return Error(
        Errc::invalid_argument,
        fmt::format("emulated communicator: expected {} ranks, found {}", group->world(), world));
  }
  return group;
}

namespace {

class EmulatedMean final : public DeviceMean {
 public:
  EmulatedMean(std::shared_ptr<EmulatedGroup> group, std::size_t rank, EmulatedStream on,
               SumOrder order)
      : group_(group), comm_(std::move(group), rank), on_(std::move(on)), order_(order) {}
  EmulatedMean(const EmulatedMean&) = delete;
  EmulatedMean& operator=(const EmulatedMean&) = delete;
  ~EmulatedMean() override { EmulatedMean::abort(); }

  Result<bool> ready() override {
    TROUPE_RETURN_IF_ERROR(group_->check(comm_.rank()));
    return true;
  }
  void launch(Work work) override {
    const auto divisor = static_cast<float>(work.weight);
    EmulatedStream on = on_;  // whose errors stay with this work
    if (order_ == SumOrder::by_rank) {
      exact_mean(on, comm_, work.vector, divisor);
    } else {
      fast_mean(on, comm_, work.vector, divisor);
    }
    work.after();
    const auto end = on.record();
    if (on.failed()) {
      abort();
      return work.done(on.status());
    }
    group_->launched(comm_.rank(), end, std::move(work.done));
  }
  void abort() override {
    group_->abort(comm_.rank(), Error(Errc::cancelled, "emulated communicator: aborted"));
  }

 private:
  std::shared_ptr<EmulatedGroup> group_;
  EmulatedCommunicator comm_;
  EmulatedStream on_;
  SumOrder order_;
};

class EmulatedMeans final : public DeviceMeans {
 public:
  EmulatedMeans(std::shared_ptr<EmulatedNetwork> network, EmulatedStream on, SumOrder order)
      : network_(std::move(network)), on_(std::move(on)), order_(order) {}

  DevicePlace place() const override {
    return {network_->name(), fmt::format("{}", fmt::ptr(&on_.device()))};
  }
  Result<CommunicatorId> make_id() override { return network_->make_id(); }
  Result<std::shared_ptr<DeviceMean>> join(const CommunicatorId& id, Rank rank,
                                           std::uint32_t world) override {
    TROUPE_ASSIGN_OR_RETURN(auto group, network_->group(id, world));
    TROUPE_RETURN_IF_ERROR(group->join(raw(rank), on_.shared_device()));
    return std::shared_ptr<DeviceMean>(
        std::make_shared<EmulatedMean>(std::move(group), raw(rank), on_, order_));
  }

 private:
  std::shared_ptr<EmulatedNetwork> network_;
  EmulatedStream on_;
  SumOrder order_;
};

}  // namespace

std::unique_ptr<DeviceMeans> emulated_means(std::shared_ptr<EmulatedNetwork> network,
                                            EmulatedStream on, SumOrder order) {
  return std::make_unique<EmulatedMeans>(std::move(network), std::move(on), order);
}

}  // namespace troupe::gpu
