#pragma once
/// \file route_ranks.hpp
/// Ranks of a run that reduce their vectors step by step, with messages and ends of batches in an order that
/// a seed draws: what trainers do, without actors.
#include "runtime/run/reduction_route.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/fake_means.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace troupe::testing {

struct RouteRun {
  std::uint32_t world = 4;
  std::size_t size = 9;
  std::uint64_t steps = 6;
  std::uint64_t seed = 1;
  bool devices = true;
};

class RouteRanks {
 public:
  explicit RouteRanks(const RouteRun& run) : run_(run), random_(run.seed), network_(run.seed) {
    for (std::uint32_t r = 0; r < run.world; ++r) {
      auto means = run.devices ? std::make_shared<FakeMeans>(
                                     network_, DevicePlace{"a network", fmt::format("{}", r)})
                               : nullptr;
      ranks_.push_back(std::make_unique<OneRank>(static_cast<Rank>(r), run, std::move(means)));
      ranks_.back()->reducer.decide_with(decide_of(*ranks_.back()));
    }
  }

  /// \returns nothing can happen any more
  bool step() {
    std::vector<std::size_t> able;  // ranks whose batch may end
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      if (!ranks_[r]->busy && ranks_[r]->position < run_.steps) {
        able.push_back(r);
      }
    }
    EXPECT_FALSE(network_.locked_up()) << "seed " << run_.seed;
    const auto choices = able.size() + messages_.size() + 1;
    const auto first = random_() % choices;
    for (std::size_t k = 0; k < choices; ++k) {
      const auto choice = (first + k) % choices;
      if (choice < able.size()) {
        end_batch(*ranks_[able[choice]]);
        return true;
      }
      if (choice < able.size() + messages_.size()) {
        deliver(choice - able.size());
        return true;
      }
      if (network_.end_one()) {
        return true;
      }
    }
    return false;
  }
  void finish() {
    while (step()) {
    }
    for (const auto& rank : ranks_) {
      EXPECT_EQ(rank->position, run_.steps) << "a rank waits for ever; seed " << run_.seed;
      EXPECT_EQ(rank->errors, 0) << "seed " << run_.seed;
    }
  }
  /// A rank is lost: another takes its place, and all go back to the first step that some rank had not made.
  void lose(std::size_t lost) {
    std::uint64_t back = run_.steps;
    for (const auto& rank : ranks_) {
      back = std::min(back, rank->position);
    }
    ++generation_;
    messages_.clear();
    // Not all at once: those that have not heard of it wait for the others meanwhile.
    auto means = ranks_[lost]->means;
    auto states = ranks_[lost]->states;
    ranks_[lost] = nullptr;
    ranks_[lost] = std::make_unique<OneRank>(static_cast<Rank>(lost), run_, std::move(means));
    ranks_[lost]->states = std::move(states);
    for (auto& rank : ranks_) {
      rank->route.begin_generation();
      rank->reducer = GradientReducer(run_.world, generation_);
      rank->reducer.decide_with(decide_of(*rank));
      rank->busy = false;
      rank->errors = 0;
      rank->position = back;
      rank->states.resize(back + 1);
      rank->parameters = rank->states.back();
    }
  }

  const std::vector<float>& parameters(std::size_t rank) const { return ranks_[rank]->parameters; }
  /// Steps whose mean devices have made.
  std::uint64_t by_devices(std::size_t rank) const { return ranks_[rank]->launched.size(); }
  const std::vector<std::uint64_t>& launched(std::size_t rank) const {
    return ranks_[rank]->launched;
  }
  ReductionRoute& route(std::size_t rank) { return ranks_[rank]->route; }
  FakeMeans& means(std::size_t rank) { return *ranks_[rank]->means; }
  const FakeNetwork& network() const { return network_; }
  bool over() const {
    return std::ranges::all_of(ranks_,
                               [&](const auto& rank) { return rank->position == run_.steps; });
  }

 private:
  struct OneRank {
    OneRank(Rank r, const RouteRun& run, std::shared_ptr<FakeMeans> makes)
        : rank(r),
          means(makes),
          route(r, run.world, std::move(makes)),
          reducer(run.world),
          parameters(run.size),
          states{parameters} {}
    Rank rank;
    std::shared_ptr<FakeMeans> means;
    std::vector<float> gradient;  ///< Outlives the communicator
    ReductionRoute route;
    GradientReducer reducer;
    std::optional<Reduction> reduction;
    std::uint64_t position = 0;  ///< Steps made
    bool busy = false;           ///< With the step of that number
    int errors = 0;
    std::vector<float> parameters;
    std::vector<std::vector<float>> states;  ///< By steps made
    std::vector<std::uint64_t> launched;
  };
  struct Message {
    std::size_t to = 0;
    Rank from{};
    GradientReducer::Share share = nullptr;
    GradientReducer::Sum sum = nullptr;
  };

  GradientReducer::Decide decide_of(OneRank& rank) {
    return [&rank](std::span<const GradientReducer::Share> shares, net::GradientSum& sum) {
      if (raw(rank.rank) == 0) {
        rank.route.decide(shares, sum);
      }
    };
  }
  /// Of a rank in a step; 0 now and then, and once for all ranks.
  std::uint64_t weight_of(const OneRank& rank) const {
    const auto drawn = (rank.position * 7 + raw(rank.rank) * 3) % 5;
    return rank.position == 4 ? 0 : drawn;
  }
  void end_batch(OneRank& rank) {
    rank.busy = true;
    const auto weight = weight_of(rank);
    rank.gradient.assign(run_.size, 0);
    for (std::size_t i = 0; weight > 0 && i < run_.size; ++i) {
      rank.gradient[i] = static_cast<float>(weight) * rank.parameters[i] / 3 +
                         1.0F / static_cast<float>(1 + i + 10 * raw(rank.rank) + rank.position);
    }
    const bool stays = rank.route.by_devices();
    const std::size_t size = stays ? 0 : run_.size;
    rank.reduction.emplace(rank.rank, run_.world, size);
    Contribution mine;
    mine.weight = weight;
    mine.offer = rank.route.offer();
    if (!stays && weight > 0) {
      mine.values = Segment::of(std::vector<float>(rank.gradient));
    }
    const auto began =
        rank.reducer.begin(rank.position, gradient_slice(size, run_.world, rank.rank).size);
    ASSERT_OK(began);
    for (std::uint32_t owner = 0; owner < run_.world; ++owner) {
      messages_.push_back({owner, rank.rank,
                           std::make_shared<const net::GradientChunk>(rank.reduction->share(
                               static_cast<Rank>(owner), mine, generation_, rank.position))});
    }
    if (*began) {
      give(rank, **began);
    }
  }
  void give(const OneRank& owner, const GradientReducer::Sum& sum) {
    for (std::uint32_t to = 0; to < run_.world; ++to) {
      messages_.push_back({to, owner.rank, nullptr, sum});
    }
  }
  void deliver(std::size_t place) {
    const Message message = messages_[place];
    messages_.erase(messages_.begin() + static_cast<std::ptrdiff_t>(place));
    OneRank& rank = *ranks_[message.to];
    if (message.share) {
      const auto sum = rank.reducer.add(message.share);
      ASSERT_OK(sum);
      if (*sum) {
        give(rank, **sum);
      }
      return;
    }
    ASSERT_OK(rank.reduction->take(message.from, *message.sum));
    if (rank.reduction->done()) {
      take_sum(rank, std::move(*rank.reduction).take_result());
    }
  }
  void take_sum(OneRank& rank, const Reduced& sum) {
    const auto next = rank.route.take(rank.position, sum);
    ASSERT_OK(next);
    if (*next == ReductionRoute::Next::apply) {
      return apply(rank, sum.values, sum.weight);
    }
    rank.launched.push_back(rank.position);
    network_.tag = rank.position;
    rank.route.communicator()->launch(
        {.vector = rank.gradient,
         .weight = sum.weight,
         .after = [] {},
         .done =
             [this, &rank, weight = sum.weight](const Status& status) {
               if (status) {
                 apply(rank, rank.gradient, weight);
               } else {
                 ++rank.errors;
               }
             }});
  }
  void apply(OneRank& rank, std::span<const float> mean, std::uint64_t weight) const {
    for (std::size_t i = 0; weight > 0 && i < run_.size; ++i) {
      rank.parameters[i] -= mean[i];
    }
    ++rank.position;
    rank.states.push_back(rank.parameters);
    rank.busy = false;
  }

  RouteRun run_;
  std::mt19937_64 random_;
  FakeNetwork network_;
  std::uint32_t generation_ = 0;
  std::vector<std::unique_ptr<OneRank>> ranks_;
  std::vector<Message> messages_;
};

}  // namespace troupe::testing
