#include "runtime/run/inference_progress.hpp"

#include <gtest/gtest.h>

namespace troupe {
namespace {

InferenceReport report_of(std::uint32_t process, std::uint32_t layer, std::uint64_t done) {
  return {static_cast<ProcessId>(process), layer, 2, done, 100};
}

TEST(InferenceProgress, ExtrapolatesWhatIsLeft) {
  InferenceProgress progress;
  EXPECT_FALSE(progress.state(0));

  progress.report(report_of(1, 0, 10), 5.0);
  ASSERT_TRUE(progress.state(6.0));
  EXPECT_FALSE(progress.state(6.0)->left);  // one report shows no speed

  progress.report(report_of(1, 1, 60), 10.0);
  const auto state = progress.state(10.0);
  ASSERT_TRUE(state && state->left);
  EXPECT_EQ(state->layer, 1U);
  EXPECT_EQ(state->layers, 2U);
  EXPECT_DOUBLE_EQ(state->share, 0.6);
  EXPECT_DOUBLE_EQ(state->seconds, 5.0);
  EXPECT_DOUBLE_EQ(*state->left, 4.0);  // 50 in 5 s, 40 to do
}

TEST(InferenceProgress, CountsTheSlowestProcess) {
  InferenceProgress progress;
  progress.report(report_of(1, 1, 70), 0.0);
  progress.report(report_of(2, 0, 20), 0.5);

  EXPECT_EQ(progress.state(1.0)->layer, 0U);
  EXPECT_DOUBLE_EQ(progress.state(1.0)->share, 0.2);
}

TEST(InferenceProgress, EndsWhenAllIsDoneAndBeginsAgainWithLess) {
  InferenceProgress progress;
  progress.report(report_of(1, 0, 50), 0.0);
  progress.report(report_of(2, 0, 50), 0.0);
  progress.report(report_of(1, 1, 100), 2.0);
  EXPECT_TRUE(progress.state(2.0));
  progress.report(report_of(2, 1, 100), 2.0);
  EXPECT_FALSE(progress.state(2.0));

  progress.report(report_of(1, 0, 50), 9.0);
  ASSERT_TRUE(progress.state(9.5));
  EXPECT_DOUBLE_EQ(progress.state(9.5)->seconds, 0.5);
  progress.end();
  EXPECT_FALSE(progress.state(9.5));
}

TEST(InferenceProgress, SurvivesWorkOfNothing) {
  InferenceProgress progress;
  progress.report({ProcessId{1}, 0, 1, 0, 0}, 1.0);
  EXPECT_FALSE(progress.state(2.0));
}

TEST(InferenceWork, GrowsWithRowsAndEdges) {
  const nn::InferStage wide;
  nn::InferStage own_rows;
  own_rows.neighbor_rows = false;
  EXPECT_EQ(inference_work(wide, 100, 60, 0, 10), 10U * 120U);
  EXPECT_EQ(inference_work(wide, 100, 60, 3, 0), 3U * (100U + 500U));
  EXPECT_LT(inference_work(own_rows, 100, 60, 3, 10), inference_work(wide, 100, 60, 3, 10));
}

}  // namespace
}  // namespace troupe
