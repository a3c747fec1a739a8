// Losses over seeds, clipping and optimizer steps on a device: the CPU's bits, on a GPU but for losses.
#include "runtime/nn/optimizer.hpp"
#include "runtime/nn/seed_loss_pass.hpp"
#include "runtime/nn/trained_parameters.hpp"
#include "tests/gpu/block_ops_support.hpp"

#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <utility>
#include <vector>

namespace troupe::testing {
namespace {

using nn::testing::random_matrix;
using nn::testing::same_bits;

/// Around warps and chunks, and around the chunks of a gradient's length.
constexpr std::array<std::size_t, 11> some_sizes{0,    1,    7,     31,    32,   33,
                                                 1023, 1024, 16383, 16384, 32769};

std::vector<float> some_values(std::size_t size, std::uint64_t seed) {
  const Matrix values = random_matrix(1, std::max<std::size_t>(size, 1), seed);
  const auto flat = values.view().flat().first(size);
  return {flat.begin(), flat.end()};
}

class LearningOps : public BlockOpsTest {};
class LossOps : public BlockOpsTest {};

INSTANTIATE_TEST_SUITE_P(Devices, LearningOps, ::testing::ValuesIn(tested_devices), name_of_device);
INSTANTIATE_TEST_SUITE_P(Devices, LossOps, ::testing::ValuesIn(tested_devices), name_of_device);

// ---- optimizers ----

std::vector<nn::OptimizerOptions> some_optimizers() {
  return {
      {.kind = "sgd", .lr = 0.1},
      {.kind = "sgd", .lr = 0.1, .weight_decay = 0.01},
      {.kind = "sgd", .lr = 0.1, .weight_decay = 0.01, .momentum = 0.9},
      {.kind = "sgd", .lr = 0.1, .momentum = 0.9, .nesterov = true},
      {.kind = "adam", .lr = 0.01},
      {.kind = "adam", .lr = 0.01, .weight_decay = 5e-4},
      {.kind = "adamw", .lr = 0.01, .weight_decay = 0.1},
      {.kind = "adagrad", .lr = 0.05, .lr_decay = 0.1, .initial_accumulator = 0.25},
  };
}

std::string name_of(const nn::OptimizerOptions& options) {
  return fmt::format("{} with decay {} and momentum {}", options.kind, options.weight_decay,
                     options.momentum);
}

/// Parameters and state after some steps with rates that change.
Results after_steps(Operands& on, const nn::OptimizerOptions& options, std::size_t size,
                    bool clipped) {
  const auto optimizer = *nn::make_optimizer(options, size, &on.ops());
  const auto start = some_values(size, 11);
  const auto parameters = on.copied(std::span<const float>(start));
  for (std::uint64_t t = 1; t <= 4; ++t) {
    const auto host = some_values(size, 100 + t);
    const auto gradient = on.copied(std::span<const float>(host));
    const float* const factor = clipped ? on.ops().clip_factor(gradient, 0.5) : nullptr;
    optimizer->set_lr(options.lr / static_cast<double>(t));
    optimizer->step(parameters, gradient, factor);
    EXPECT_OK(on.ops().finish());
  }
  Results results;
  results.floats.push_back(on.fetched(parameters));
  for (auto& [name, values] : optimizer->state().arrays) {
    results.floats.push_back(std::move(values));
  }
  return results;
}

TEST_P(LearningOps, StepsOfEachOptimizerHaveTheBitsOfTheCpu) {
  for (const auto& options : some_optimizers()) {
    for (const std::size_t size : some_sizes) {
      for (const bool clipped : {false, true}) {
        expect_same([&](Operands& on) { return after_steps(on, options, size, clipped); },
                    fmt::format("{}, {} parameters, clipped {}", name_of(options), size, clipped));
      }
    }
  }
}

TEST_P(LearningOps, AnOptimizersStateGoesFromTheCpuToADeviceAndBack) {
  constexpr std::size_t size = 1023;
  const auto ops = on(3).block_ops();
  for (const auto& options : some_optimizers()) {
    SCOPED_TRACE(name_of(options));
    nn::CpuBlockOps cpu;
    Operands here(cpu);
    Operands there(*ops);
    const auto on_cpu = *nn::make_optimizer(options, size, &cpu);
    const auto on_device = *nn::make_optimizer(options, size, ops.get());
    const auto host = some_values(size, 5);
    const auto gradient = some_values(size, 6);
    const auto parameters = here.copied(std::span<const float>(host));
    on_cpu->step(parameters, gradient);

    ASSERT_OK(on_device->restore(on_cpu->state()));
    EXPECT_EQ(on_device->state().arrays, on_cpu->state().arrays);
    const auto copied = here.fetched(parameters);
    const auto moved = there.copied(std::span<const float>(copied));
    on_device->step(moved, there.copied(std::span<const float>(gradient)));
    on_cpu->step(parameters, gradient);

    EXPECT_TRUE(same_bits(there.fetched(moved), here.fetched(parameters)));
    EXPECT_EQ(on_device->state().steps, 2U);
    EXPECT_EQ(on_device->state().arrays, on_cpu->state().arrays);
  }
}

// ---- clipping, the mean of one rank ----

TEST_P(LearningOps, GradientsAreClippedWithTheBitsOfTheCpu) {
  for (const std::size_t size : some_sizes) {
    const auto gradient = some_values(size, 7);
    for (const double limit : {1e-3, 0.5, 1e6}) {
      expect_same(
          [&](Operands& on) {
            const auto there = on.copied(std::span<const float>(gradient));
            const float* const factor = on.ops().clip_factor(there, limit);
            Results results;
            results.floats.push_back(factor == nullptr
                                         ? std::vector<float>{1.0F}
                                         : on.fetched(std::span<const float>(factor, 1)));
            return results;
          },
          fmt::format("{} numbers, at most {}", size, limit));
    }
  }
}

TEST_P(LearningOps, AGradientThatIsNotANumberIsNotClippedAway) {
  const std::vector<float> gradient = {1.0F, std::numeric_limits<float>::quiet_NaN()};
  const auto ops = on(1).block_ops();
  Operands there(*ops);
  const float* const factor = ops->clip_factor(there.copied(std::span<const float>(gradient)), 0.5);

  EXPECT_TRUE(std::isnan(there.fetched(std::span<const float>(factor, 1)).front()));
}

TEST_P(LearningOps, TheMeanOfOneRankHasNoNegativeZeros) {
  for (const std::size_t size : some_sizes) {
    auto values = some_values(size, 8);
    for (std::size_t i = 0; i < size; i += 3) {
      values[i] = -0.0F;
    }
    expect_same(
        [&](Operands& on) {
          const auto there = on.copied(std::span<const float>(values));
          on.ops().mean_of_one(7.0F, there);
          Results results;
          results.floats.push_back(on.fetched(there));
          return results;
        },
        fmt::format("{} numbers", size));
  }
}

// ---- parameters with what steps them ----

/// Two slices that are trained around one of statistics.
nn::ParameterLayout layout_with_statistics() {
  return {{.name = "weight", .offset = 0, .rows = 5, .cols = 7},
          {.name = "mean", .offset = 35, .rows = 9, .cols = 1, .trained = false},
          {.name = "bias", .offset = 44, .rows = 3, .cols = 1}};
}

struct Trained {
  std::vector<float> parameters;
  std::vector<float> best;
  nn::OptimizerState optimizer;
};

Trained trained_on(nn::BlockOps& ops, const nn::ParameterLayout& layout, bool own) {
  const std::size_t size = nn::num_parameters(layout);
  nn::TrainedParameters trained(
      ops, layout, some_values(size, 1),
      *nn::make_optimizer({.kind = "adamw", .lr = 0.1, .weight_decay = 0.5}, size, &ops), 0.25);
  for (std::uint64_t t = 0; t < 3; ++t) {
    const auto gradient = some_values(size, 50 + t);
    ops.upload(gradient.data(), trained.gradient().data(), size * sizeof(float));
    trained.weigh_statistics(3);
    if (own) {
      trained.own_step(3);
    } else {
      const auto mean = trained.read_gradient();
      trained.step(mean);
    }
    EXPECT_OK(ops.finish());
    if (t == 1) {
      trained.keep_best();
    }
  }
  EXPECT_TRUE(trained.has_best());
  return {trained.read(), trained.read_best(), trained.optimizer().state()};
}

TEST_P(LearningOps, TrainedParametersHaveTheBitsOfTheCpu) {
  const nn::ParameterLayout without = {{.name = "weight", .offset = 0, .rows = 33, .cols = 31}};
  for (const auto& layout : {layout_with_statistics(), without}) {
    for (const bool own : {false, true}) {
      SCOPED_TRACE(fmt::format("{} slices, own {}", layout.size(), own));
      nn::CpuBlockOps cpu;
      const auto ops = on(9).block_ops();
      const Trained expected = trained_on(cpu, layout, own);
      const Trained actual = trained_on(*ops, layout, own);

      EXPECT_TRUE(same_bits(actual.parameters, expected.parameters));
      EXPECT_TRUE(same_bits(actual.best, expected.best));
      EXPECT_NE(actual.best, actual.parameters);
      EXPECT_EQ(actual.optimizer.arrays, expected.optimizer.arrays);
    }
  }
}

TEST_P(LearningOps, TrainedParametersAreRestored) {
  const auto layout = layout_with_statistics();
  const std::size_t size = nn::num_parameters(layout);
  const auto ops = on(2).block_ops();
  nn::TrainedParameters trained(*ops, layout, some_values(size, 1),
                                *nn::make_optimizer({.kind = "sgd"}, size, ops.get()), 0);
  const auto parameters = some_values(size, 2);
  const auto best = some_values(size, 3);

  trained.restore(parameters, best);
  EXPECT_TRUE(same_bits(trained.read(), parameters));
  EXPECT_TRUE(same_bits(trained.read_best(), best));
  EXPECT_TRUE(same_bits(trained.read(35, 9),
                        std::vector(parameters.begin() + 35, parameters.begin() + 44)));

  trained.restore(best, {});
  EXPECT_FALSE(trained.has_best());
  EXPECT_TRUE(same_bits(trained.read_best(), best));
}

TEST(TrainedParametersErrors, OfADeviceWithoutRoomAreSaidAndNothingIsRead) {
  const auto device =
      std::make_shared<gpu::EmulatedDevice>(gpu::EmulatedOptions{.memory_bytes = 1024});
  const auto ops = gpu::make_emulated_block_ops(device);
  const nn::ParameterLayout layout = {{.name = "weight", .offset = 0, .rows = 300, .cols = 1}};
  nn::TrainedParameters trained(*ops, layout, some_values(300, 1),
                                *nn::make_optimizer({.kind = "adam"}, 300, ops.get()), 1);

  trained.own_step(2);
  trained.keep_best();

  EXPECT_ERROR(ops->finish(), Errc::out_of_memory, "expected room for 1200 more bytes");
  EXPECT_EQ(trained.read(), std::vector<float>(300));
  EXPECT_EQ(trained.read_best(), std::vector<float>(300));
}

// ---- losses ----

/// Seeds of a batch: some rows are several seeds', some no seed's.
struct Seeds {
  std::vector<std::uint32_t> row_of_seed;
  std::vector<std::uint64_t> class_weights;  ///< Some of them 0
  std::vector<std::int64_t> labels;
  Matrix targets;
  Matrix rows;
};

Seeds some_seeds(std::size_t count, std::size_t cols) {
  Seeds seeds;
  const std::size_t rows = count / 2 + 1;
  for (std::size_t i = 0; i < count; ++i) {
    seeds.row_of_seed.push_back(static_cast<std::uint32_t>(i * 7 % rows));
    const auto label = static_cast<std::int64_t>(i * 5 % (cols + 1));
    seeds.labels.push_back(label == static_cast<std::int64_t>(cols) ? -1 : label);
  }
  for (std::size_t c = 0; c < cols; ++c) {
    seeds.class_weights.push_back(c % 5 == 3 ? 0 : (std::uint64_t{3} << (c % 39)) + c);
  }
  seeds.targets = random_matrix(count, cols, 4);
  for (std::size_t i = 0; i < seeds.targets.view().size(); ++i) {
    float& target = seeds.targets.data()[i];
    target = i % 5 == 0 ? std::numeric_limits<float>::quiet_NaN() : (target > 0 ? 1.0F : 0.0F);
  }
  seeds.rows = random_matrix(rows, cols, 3);
  for (float& logit : seeds.rows.view().flat()) {
    logit *= 20;
  }
  return seeds;
}

/// A kind of loss, and of numbers its rule.
struct LossCase {
  nn::SeedLossKind kind;
  nn::NumberLoss numbers = {};
  bool weighted = false;  ///< By weights of classes
};

nn::SeedLoss loss_of(const Seeds& seeds, const LossCase& one) {
  nn::SeedLoss loss{.kind = one.kind,
                    .row_of_seed = seeds.row_of_seed,
                    .pos_weight = 1.5F,
                    .of_numbers = one.numbers};
  if (one.weighted) {
    loss.class_weights = seeds.class_weights;
    loss.weight_unit = 6;
  }
  if (one.kind == nn::SeedLossKind::cross_entropy) {
    loss.labels = seeds.labels;
  } else {
    loss.targets = seeds.targets.view();
  }
  return loss;
}

constexpr std::array all_losses{
    LossCase{nn::SeedLossKind::cross_entropy},
    LossCase{nn::SeedLossKind::bce_logits},
    LossCase{nn::SeedLossKind::cross_entropy, {}, true},
    LossCase{nn::SeedLossKind::bce_logits, {}, true},
    LossCase{nn::SeedLossKind::numbers},
    LossCase{nn::SeedLossKind::numbers, {nn::NumberRule::absolute}},
    LossCase{nn::SeedLossKind::numbers, {nn::NumberRule::huber, 7.5}},
};

struct Computed {
  nn::LossResult result;
  std::vector<float> grad;
};

Computed on_cpu(const Seeds& seeds, const LossCase& kind) {
  Matrix grad(seeds.rows.rows(), seeds.rows.cols());
  const auto result = nn::seed_loss(loss_of(seeds, kind), seeds.rows.view(), grad.view());
  const auto flat = std::as_const(grad).view().flat();
  return {result, {flat.begin(), flat.end()}};
}

TEST_P(LossOps, OverSeedsHaveTheBitsOfTheCpuAndNearThemOnAGpu) {
  for (const LossCase& kind : all_losses) {
    for (const std::size_t count : {1U, 2U, 31U, 32U, 33U, 257U, 1023U}) {
      for (const std::size_t cols : {1U, 2U, 33U, 47U}) {
        SCOPED_TRACE(fmt::format("loss {}.{}, weighted {}, {} seeds, {} columns",
                                 static_cast<int>(kind.kind), static_cast<int>(kind.numbers.rule),
                                 kind.weighted, count, cols));
        const Seeds seeds = some_seeds(count, cols);
        const Computed expected = on_cpu(seeds, kind);
        const auto ops = on(count).block_ops();
        Operands there(*ops);
        nn::SeedLossPass loss(*ops);
        const ConstMatrix rows = there.copied(seeds.rows);
        const auto grad = there.fetched(loss.compute(loss_of(seeds, kind), rows));
        ASSERT_OK_AND_ASSIGN(const double sum, loss.sum()());

        EXPECT_EQ(loss.weight(), expected.result.weight);
        if (!GetParam().cuda) {
          EXPECT_TRUE(same_bits(grad, expected.grad));
          EXPECT_EQ(sum, expected.result.sum);
        } else {
          EXPECT_NEAR(sum, expected.result.sum, 1e-12 * std::abs(expected.result.sum));
          nn::testing::expect_close<float>(
              grad, std::vector<double>(expected.grad.begin(), expected.grad.end()), 1e-6, "grad");
        }
      }
    }
  }
}

TEST_P(LossOps, OfUnknownLabelsIsNothing) {
  const std::vector<std::uint32_t> row_of_seed = {1, 0, 1};
  const std::vector<std::int64_t> labels = {-1, -1, -1};
  const auto ops = on(1).block_ops();
  Operands there(*ops);
  nn::SeedLossPass loss(*ops);
  const Matrix rows = random_matrix(2, 3, 1);
  const auto grad = there.fetched(
      loss.compute({.row_of_seed = row_of_seed, .labels = labels}, there.copied(rows)));
  ASSERT_OK_AND_ASSIGN(const double sum, loss.sum()());

  EXPECT_EQ(sum, 0);
  EXPECT_EQ(loss.weight(), 0U);
  EXPECT_TRUE(same_bits(grad, std::vector<float>(6)));
}

/// A set of functions on the CPU computes what a device does: the lists by row are not needed there.
TEST(SeedLoss, OfBlockOperationsOnTheCpuIsTheFunction) {
  const Seeds seeds = some_seeds(33, 4);
  for (const LossCase& kind : all_losses) {
    const Computed expected = on_cpu(seeds, kind);
    nn::CpuBlockOps ops;
    Matrix grad(seeds.rows.rows(), seeds.rows.cols());
    double sum = -1;
    ops.seed_loss({.loss = loss_of(seeds, kind),
                   .rows = seeds.rows.view(),
                   .row_begin = {},
                   .by_row = {},
                   .grad_rows = grad.view(),
                   .sum = &sum});

    EXPECT_EQ(sum, expected.result.sum);
    EXPECT_TRUE(same_bits(std::as_const(grad).view().flat(), expected.grad));
  }
}

}  // namespace
}  // namespace troupe::testing
