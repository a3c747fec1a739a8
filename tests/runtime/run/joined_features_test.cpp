#include "runtime/run/joined_features.hpp"

#include "runtime/nn/ops/cpu_block_ops.hpp"
#include "tests/runtime/run/learner_support.hpp"

namespace troupe {
namespace {

using testing::matrix_of;
using testing::two_nodes;

std::shared_ptr<const LearnedInputs> learned_rows(std::size_t rows,
                                                  const std::vector<float>& values) {
  auto learned = std::make_shared<LearnedInputs>(1);
  learned->front() = matrix_of(rows, values.size() / rows, values);
  return learned;
}

TEST(JoinedFeatures, LearnedColumnsComeAfterThoseOfFeatures) {
  const auto batch = two_nodes({0, 1}, {0, 1});
  nn::CpuBlockOps ops;
  JoinedFeatures joined(ops);
  ASSERT_OK(joined.join(batch, learned_rows(2, {7, 8, 9, 10, 11, 12})));
  const auto view = joined.views()[0];
  ASSERT_EQ(view.cols, 5U);
  EXPECT_EQ(std::vector<float>(view.data, view.data + 10),
            (std::vector<float>{1.0F, -0.5F, 7, 8, 9, 0.25F, 2.0F, 10, 11, 12}));
  const auto columns = joined.learned_columns(0, matrix_of(2, 5, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
  EXPECT_EQ(std::vector<float>(columns.data(), columns.data() + 6),
            (std::vector<float>{3, 4, 5, 8, 9, 10}));
}

TEST(JoinedFeatures, StandAloneWithoutFeatures) {
  auto batch = two_nodes({0, 1}, {0, 1});
  batch.rows[0].features = Matrix();
  const auto learned = learned_rows(2, {7, 8, 9, 10});
  nn::CpuBlockOps ops;
  JoinedFeatures joined(ops);
  ASSERT_OK(joined.join(batch, learned));
  EXPECT_EQ(joined.views()[0].data, learned->front().data()) << "not copied";
  ASSERT_OK(joined.join(batch, nullptr));
  EXPECT_TRUE(joined.views().empty());
}

TEST(JoinedFeatures, AreOfTheBatchsNodes) {
  const auto batch = two_nodes({0, 1}, {0, 1});
  nn::CpuBlockOps ops;
  JoinedFeatures joined(ops);
  EXPECT_ERROR(joined.join(batch, learned_rows(3, {1, 2, 3})), Errc::failed_precondition,
               "expected those of 2 nodes of type 0");
}

TEST(JoinedFeatures, OfADeviceAreJoinedThere) {
  auto batch = two_nodes({0, 1}, {0, 1});
  batch.on_device = std::make_shared<const BatchOnDevice>();
  nn::CpuBlockOps ops;
  JoinedFeatures joined(ops);
  EXPECT_ERROR(joined.join(batch, learned_rows(2, {7, 8})), Errc::failed_precondition,
               "and features in the memory that is computed in");
}

/// The learner's gradients of learned rows against differences of its loss.
TEST(Learner, GivesTheGradientOfLearnedRows) {
  auto options = testing::small_learner();
  options.model.in_dim = 4;
  const auto learner = testing::make(options);
  const auto batch = two_nodes({0, 1, 0}, {0, 1, 1});
  const std::vector<float> values{0.5F, -1, 2, 0.25F};
  InlineExecutor executor;
  ASSERT_OK_AND_ASSIGN(const auto share,
                       learner->compute(executor, batch, learned_rows(2, values)));
  EXPECT_EQ(share.weight, 3U);
  const auto gradients = learner->take_learned_gradients();
  ASSERT_EQ(gradients.size(), 1U);
  ASSERT_EQ(gradients[0].rows(), 2U);
  ASSERT_EQ(gradients[0].cols(), 2U);
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::array<double, 2> losses{};
    for (const int side : {0, 1}) {
      auto moved = values;
      moved[i] += side == 0 ? -0.01F : 0.01F;
      ASSERT_OK_AND_ASSIGN(const auto at,
                           learner->compute(executor, batch, learned_rows(2, moved)));
      losses[static_cast<std::size_t>(side)] = at.loss_sum;
    }
    EXPECT_NEAR((losses[1] - losses[0]) / 0.02, static_cast<double>(gradients[0].data()[i]), 2e-3)
        << i;
  }
  EXPECT_TRUE(learner->take_learned_gradients().size() <= 1U);
}

TEST(Learner, WithoutLabelledSeedsThereIsNoGradientOfRows) {
  auto options = testing::small_learner();
  options.model.in_dim = 4;
  const auto learner = testing::make(options);
  InlineExecutor executor;
  ASSERT_OK_AND_ASSIGN(const auto share, learner->compute(executor, two_nodes({0, 1}, {-1, -1}),
                                                          learned_rows(2, {1, 2, 3, 4})));
  EXPECT_EQ(share.weight, 0U);
  EXPECT_TRUE(learner->take_learned_gradients().empty());
  EXPECT_ERROR(learner->compute(executor, two_nodes({0}, {0})), Errc::failed_precondition,
               "expected features of 2 \"node\" nodes in 4 columns");
}

}  // namespace
}  // namespace troupe
