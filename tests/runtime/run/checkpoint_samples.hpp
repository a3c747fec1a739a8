#pragma once
/// \file checkpoint_samples.hpp
/// A checkpoint with something in every field, and exact comparison.
#include "runtime/run/checkpoint.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <limits>

namespace troupe::testing {

inline const nn::ParameterLayout sample_layout = {{"conv1.weight", 0, 2, 3},
                                                  {"conv1.bias", 6, 2, 1}};

inline EpochRecord sample_epoch(std::uint32_t epoch) {
  EpochRecord record{.epoch = epoch,
                     .loss = 0.1 + epoch,
                     .seconds = 1.0 / 3,
                     .eval_seconds = 5e-324,
                     .counters = {},
                     .world = 3,
                     .valid = Scores{.labelled = 7, .accuracy = 0.7, .f1 = 1e22, .auc = -0.0},
                     .best = true,
                     .over = true};
  std::uint64_t number = epoch;
  for (const auto& counter : net::EpochCounters::counters()) {
    record.counters.*counter.member = ++number;
  }
  record.counters.wait_ns = ~std::uint64_t{0};
  record.counters.frontier = {.nodes = {number + 1, number + 2}, .remote = {number + 3, 0}};
  return record;
}

inline Checkpoint sample_checkpoint(std::uint64_t step) {
  const auto inf = std::numeric_limits<double>::infinity();
  Checkpoint checkpoint;
  auto& training = checkpoint.training;
  training = {.epoch = 2,
              .step = 5,
              .global_step = step,
              .loss_sum = std::bit_cast<double>(std::uint64_t{0x7FF8000000000123}),
              .loss_weight = ~std::uint64_t{0} - 1,
              .batches = {0x0123456789ABCDEF, 0xFEDCBA9876543210},
              .parameters = {1, -0.0F, 3, std::numeric_limits<float>::quiet_NaN(), 1e-45F, 6, 7,
                             static_cast<float>(step)},
              .optimizer = {.steps = step, .arrays = {{"exp_avg", {8, 9}}, {"empty", {}}}},
              .best = {8, 7, 6, 5, 4, 3, 2, 1},
              .blobs = {}};
  training.blobs["empty"] = {};
  training.blobs["model of \"ü\"\n"] = {std::byte{0}, std::byte{255}, std::byte{10}};
  auto& record = checkpoint.record;
  record.epochs = {sample_epoch(0), sample_epoch(1)};
  record.epochs[1].valid.reset();
  record.epochs[1].loss = -inf;
  record.epochs[1].over = false;
  record.best_epoch = 0;
  record.valid = Scores{.labelled = 1, .accuracy = {}, .f1 = 0.25, .auc = {}};
  record.test = Scores{.labelled = 2, .accuracy = 1, .f1 = {}, .auc = inf};
  record.batches = Digest{1, 2};
  record.outputs = {3, 4};
  record.parameters = {5, 6};
  record.best_parameters = {7, ~std::uint64_t{0}};
  checkpoint.job = "{\n  \"self_checksum\": \"ü\\\" \"\n}";
  return checkpoint;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}
inline bool same_bits(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}
inline bool same_bits(const std::optional<double>& a, const std::optional<double>& b) {
  return a.has_value() == b.has_value() && (!a || same_bits(*a, *b));
}

inline void expect_same(const std::optional<Scores>& a, const std::optional<Scores>& b) {
  ASSERT_EQ(a.has_value(), b.has_value());
  if (a) {
    EXPECT_EQ(a->labelled, b->labelled);
    EXPECT_TRUE(same_bits(a->accuracy, b->accuracy));
    EXPECT_TRUE(same_bits(a->f1, b->f1));
    EXPECT_TRUE(same_bits(a->auc, b->auc));
  }
}

inline void expect_same(const EpochRecord& a, const EpochRecord& b) {
  EXPECT_EQ(a.epoch, b.epoch);
  EXPECT_TRUE(same_bits(a.loss, b.loss));
  EXPECT_TRUE(same_bits(a.seconds, b.seconds));
  EXPECT_TRUE(same_bits(a.eval_seconds, b.eval_seconds));
  EXPECT_EQ(a.counters, b.counters);
  EXPECT_EQ(a.world, b.world);
  expect_same(a.valid, b.valid);
  EXPECT_EQ(a.best, b.best);
  EXPECT_EQ(a.over, b.over);
}

inline void expect_same(const RunRecord& a, const RunRecord& b) {
  ASSERT_EQ(a.epochs.size(), b.epochs.size());
  for (std::size_t i = 0; i < a.epochs.size(); ++i) {
    expect_same(a.epochs[i], b.epochs[i]);
  }
  EXPECT_EQ(a.best_epoch, b.best_epoch);
  expect_same(a.valid, b.valid);
  expect_same(a.test, b.test);
  EXPECT_EQ(a.batches, b.batches);
  EXPECT_EQ(a.outputs, b.outputs);
  EXPECT_EQ(a.parameters, b.parameters);
  EXPECT_EQ(a.best_parameters, b.best_parameters);
}

inline void expect_same(const Checkpoint& a, const Checkpoint& b) {
  const auto& [epoch, step, global_step, loss_sum, loss_weight, batches, parameters, optimizer,
               best, blobs] = a.training;
  EXPECT_EQ(epoch, b.training.epoch);
  EXPECT_EQ(step, b.training.step);
  EXPECT_EQ(global_step, b.training.global_step);
  EXPECT_TRUE(same_bits(loss_sum, b.training.loss_sum));
  EXPECT_EQ(loss_weight, b.training.loss_weight);
  EXPECT_EQ(batches, b.training.batches);
  EXPECT_TRUE(same_bits(parameters, b.training.parameters));
  EXPECT_EQ(optimizer.steps, b.training.optimizer.steps);
  EXPECT_EQ(optimizer.arrays, b.training.optimizer.arrays);
  EXPECT_TRUE(same_bits(best, b.training.best));
  EXPECT_EQ(blobs, b.training.blobs);
  expect_same(a.record, b.record);
  EXPECT_EQ(a.job, b.job);
}

}  // namespace troupe::testing
