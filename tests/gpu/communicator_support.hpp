#pragma once
/// \file communicator_support.hpp
/// Emulated devices, one for each rank, that exchange vectors.
#include "gpu/comm/communicator.hpp"
#include "gpu/comm/emulated_communicator.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/links_mean.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace troupe::testing {

/// Element i of a vector, as another kernel leaves it.
struct PutValue {
  float value;
  float* at;
  void operator()(std::size_t i) const { at[i] = value; }
};
struct AddTo {
  const float* from;
  float* to;
  void operator()(std::size_t i) const { to[i] += from[i]; }
};

struct EmulatedRank {
  std::shared_ptr<gpu::EmulatedDevice> device;
  gpu::EmulatedStream on;
  gpu::Array<float> vector;
  std::shared_ptr<DeviceMean> mean = nullptr;
};

class EmulatedRanks {
 public:
  struct LeftOut {
    std::size_t rank = 0;
    std::uint64_t wait = 0;
  };
  EmulatedRanks(std::size_t world, std::size_t size, std::uint64_t seed,
                std::optional<LeftOut> left_out = std::nullopt) {
    for (std::size_t r = 0; r < world; ++r) {
      gpu::EmulatedOptions options{.memory_bytes = 1 << 22, .seed = seed * 31 + r};
      if (left_out && left_out->rank == r) {
        options.left_out_wait = left_out->wait;
      }
      auto device = std::make_shared<gpu::EmulatedDevice>(options);
      gpu::EmulatedStream on(device);
      auto vector = on.array<float>(size);
      ranks_.push_back({std::move(device), std::move(on), std::move(vector)});
    }
  }
  std::size_t world() const { return ranks_.size(); }
  EmulatedRank& operator[](std::size_t rank) { return ranks_[rank]; }
  auto begin() { return ranks_.begin(); }
  auto end() { return ranks_.end(); }

  /// All join a communicator.
  void join(SumOrder order = SumOrder::by_rank) {
    CommunicatorId id;
    for (std::size_t r = 0; r < world(); ++r) {
      const auto means = gpu::emulated_means(network_, ranks_[r].on, order);
      if (r == 0) {
        const auto made = means->make_id();
        ASSERT_OK(made);
        id = *made;
      }
      auto joined = means->join(id, static_cast<Rank>(r), static_cast<std::uint32_t>(world()));
      ASSERT_OK(joined);
      ranks_[r].mean = *std::move(joined);
    }
  }
  /// What is left of their work after an abort: it holds the devices, which hold it.
  void run_rest() {
    for (auto& rank : ranks_) {
      EXPECT_OK(rank.device->schedule().run_all());
    }
  }
  std::vector<float> read(std::size_t rank) {
    auto& of = ranks_[rank];
    std::vector<float> values(of.vector.size());
    of.on.download(of.vector.data(), values.data(), of.vector.size_bytes());
    EXPECT_OK(of.on.finish());
    return values;
  }
  void put(std::size_t rank, const std::vector<float>& values) {
    auto& of = ranks_[rank];
    of.on.upload(values.data(), of.vector.data(), of.vector.size_bytes());
  }

 private:
  std::shared_ptr<gpu::EmulatedNetwork> network_ = std::make_shared<gpu::EmulatedNetwork>();
  std::vector<EmulatedRank> ranks_;
};

inline std::span<float> span_of(const gpu::Array<float>& array) {
  return {array.data(), array.size()};
}

}  // namespace troupe::testing
