// Products in bfloat16 on CPUs and emulated devices: the same bits in every layout, other ones than
// float32's, exact inference in float32. Where the processor has no unit for them the products of rounded
// float32 numbers stand in (ClusterHooks::bf16_without_unit).
#include "runtime/nn/ops/word_products.hpp"
#include "tests/sim/sim_support.hpp"
#include "tests/support/expect.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>
#include <string>
#include <vector>

namespace troupe {
namespace {

using Settings = std::vector<std::string>;

class Bf16Run : public ::testing::Test {
 protected:
  Result<RunRecord> run(Settings settings, const std::string& precision = "bf16") {
    settings.push_back("train.precision=" + precision);
    return testing::run_cora(scratch_.path(), settings, {.bf16_without_unit = true});
  }
  testing::ScratchFolder scratch_;
};

TEST_F(Bf16Run, HasTheSameBitsInEveryLayout) {
  for (const Settings& model :
       {Settings{"model.kind=graphsage", "eval.mode=sampled"}, Settings{"model.kind=gat"}}) {
    std::optional<RunRecord> first;
    for (const Settings& layout :
         std::vector<Settings>{{"cluster.hosts=2"},
                               {"cluster.trainers_per_host=2", "cluster.threads=1"},
                               {"cluster.trainers_per_host=2", "cluster.threads=3"},
                               {"cluster.hosts=2", "cluster.device=emulated:1"},
                               {"cluster.trainers_per_host=2", "cluster.device=emulated:2"}}) {
      Settings both = model;
      both.insert(both.end(), layout.begin(), layout.end());
      SCOPED_TRACE(fmt::format("{}", fmt::join(both, " ")));
      ASSERT_OK_AND_ASSIGN(const auto record, run(both));
      first = first ? first : record;
      EXPECT_EQ(record.batches, first->batches);
      EXPECT_EQ(to_string(record.parameters), to_string(first->parameters));
      EXPECT_EQ(to_string(record.outputs), to_string(first->outputs));
    }
  }
}

TEST_F(Bf16Run, LearnsAsFloat32DoesWithOtherBits) {
  ASSERT_OK_AND_ASSIGN(const auto exact, run({"train.epochs=5"}, "float32"));
  ASSERT_OK_AND_ASSIGN(const auto coarse, run({"train.epochs=5"}));
  EXPECT_EQ(coarse.batches, exact.batches);
  EXPECT_NE(to_string(coarse.parameters), to_string(exact.parameters));
  const auto expected = exact.epochs.back().loss;
  EXPECT_NEAR(coarse.epochs.back().loss, expected, 0.05 * expected);
}

/// The smallest rate changes no parameter: its products with gradients are rounded to 0.
TEST_F(Bf16Run, ExactInferenceStaysFloat32) {
  const Settings same = {"train.optimizer.kind=sgd", "train.optimizer.lr=1e-45", "eval.mode=exact",
                         "train.epochs=1"};
  ASSERT_OK_AND_ASSIGN(const auto exact, run(same, "float32"));
  ASSERT_OK_AND_ASSIGN(const auto coarse, run(same));
  EXPECT_NE(coarse.epochs.back().loss, exact.epochs.back().loss);
  ASSERT_EQ(to_string(coarse.parameters), to_string(exact.parameters));
  EXPECT_EQ(to_string(coarse.outputs), to_string(exact.outputs));
}

TEST_F(Bf16Run, IsRefusedAtTheStartWhereTheProcessorHasNoUnit) {
  for (const char* const device : {"cluster.device=cpu", "cluster.device=emulated:1"}) {
    const auto record = testing::run_cora(
        scratch_.path(), {device, "train.precision=bf16", "train.epochs=1"}, ClusterHooks{});
    if (nn::has_bf16_unit()) {
      EXPECT_OK(record);
    } else {
      EXPECT_ERROR(record, Errc::failed_precondition,
                   "without a unit for bfloat16 (AVX512_BF16 or AMX-BF16)");
    }
  }
}

}  // namespace
}  // namespace troupe
