#include "runtime/nn/schedule.hpp"

#include "runtime/nn/clip.hpp"
#include "tests/runtime/nn/nn_support.hpp"
#include "tests/support/expect.hpp"

#include <gtest/gtest.h>

namespace troupe::nn {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

void expect_rates(const ScheduleOptions& options, const std::vector<double>& truth) {
  const auto epochs = static_cast<std::uint32_t>(truth.size());
  for (std::uint32_t epoch = 0; epoch < epochs; ++epoch) {
    EXPECT_NEAR(learning_rate(options, truth[0], epoch, epochs), truth[epoch], 1e-15) << epoch;
  }
}

TEST(LearningRate, MatchesTheGoldens) {
  expect_rates({.kind = "cosine", .end_lr = 0.001}, golden_truth("optim/lr_cosine"));
  expect_rates({.kind = "step", .step_epochs = 7, .factor = 0.5}, golden_truth("optim/lr_step"));
}

TEST(LearningRate, LinearFallsEvenlyAndConstantStays) {
  expect_rates({.kind = "linear", .end_lr = 0.2}, {1.0, 0.8, 0.6, 0.4});
  expect_rates({}, {0.5, 0.5, 0.5});
}

TEST(CheckSchedule, RefusesWhatMakesNoRate) {
  EXPECT_OK(check_schedule({}));
  EXPECT_ERROR(check_schedule({.kind = "sawtooth"}), Errc::invalid_argument, "\"sawtooth\"");
  EXPECT_ERROR(check_schedule({.kind = "step"}), Errc::invalid_argument, "step_epochs");
  EXPECT_ERROR(check_schedule({.kind = "linear", .end_lr = -1}), Errc::invalid_argument,
               "end_lr: expected a number from 0, got -1");
  EXPECT_ERROR(check_schedule({.kind = "step", .step_epochs = 1, .factor = NAN}),
               Errc::invalid_argument, "factor");
}

TEST(Clip, MatchesTheGoldens) {
  std::vector<float> all;
  for (const std::string name : {"g0", "g1", "g2"}) {
    const auto values = golden_floats("optim/clip/" + name);
    all.insert(all.end(), values.begin(), values.end());
  }
  for (const auto& [limit, name] : {std::pair(1.0, "at_1"), std::pair(100.0, "at_100")}) {
    const std::string path = std::string("optim/clip/") + name + "_";
    const double length = gradient_length(all);
    std::vector<float> clipped = all;
    for (float& value : clipped) {
      value *= static_cast<float>(clip_factor(length, limit));
    }

    EXPECT_NEAR(length, golden_truth(path + "norm")[0], 2e-6 * length);
    std::size_t first = 0;
    for (const std::string gradient : {"g0", "g1", "g2"}) {
      const auto truth = golden_truth(path + gradient);
      expect_close<float>(std::span(clipped).subspan(first, truth.size()), truth, 2e-6, gradient);
      first += truth.size();
    }
  }
}

TEST(Clip, LengthCoversManyChunksAndNoElements) {
  EXPECT_EQ(gradient_length({}), 0);
  EXPECT_DOUBLE_EQ(gradient_length(std::vector<float>(100000, 2.0F)), 2 * std::sqrt(100000.0));
}

TEST(Clip, NanStaysAndShortGradientsAreLeftAlone) {
  EXPECT_EQ(clip_factor(0, 1), 1);
  EXPECT_EQ(clip_factor(0.5, 1), 1);
  EXPECT_NEAR(clip_factor(4, 1), 0.25, 1e-6);
  EXPECT_TRUE(std::isnan(clip_factor(NAN, 1)));
  EXPECT_EQ(clip_factor(HUGE_VAL, 1), 0);
}

}  // namespace
}  // namespace troupe::nn
