// The determinism contract (docs/decisions and design, section 4): what must not change the
// batches, what must not change the parameters, and what must.
#include "runtime/base/digest.hpp"
#include "tests/sim/sim_support.hpp"
#include "tests/support/expect.hpp"

#include <fmt/format.h>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace troupe {
namespace {

#ifdef TROUPE_HAVE_METIS
constexpr const char* metis_or_fennel = "metis";
#else
constexpr const char* metis_or_fennel = "fennel";
#endif

using Settings = std::vector<std::string>;

struct SameBitsLayout {
  std::string name;
  std::uint32_t world;
  Settings settings;
};

/// Every way to lay out the same training that the contract names.
std::vector<SameBitsLayout> layouts() {
  std::vector<SameBitsLayout> all;
  const auto add = [&](std::uint32_t world, Settings settings) {
    std::string name;
    for (const auto& setting : settings) {
      name += setting.substr(setting.find('.') + 1) + " ";
    }
    all.push_back({name, world, std::move(settings)});
  };
  for (const char* parts : {"1", "2", "3", "5"}) {
    add(1, {std::string("partition.parts=") + parts});
    add(2, {"cluster.hosts=2", std::string("partition.parts=") + parts});
  }
  for (const char* samplers : {"1", "2", "4"}) {
    add(2, {"cluster.hosts=2", std::string("cluster.samplers_per_trainer=") + samplers});
  }
  for (const char* in_flight : {"1", "16", "auto"}) {
    add(2, {"cluster.hosts=2", std::string("cluster.batches_in_flight=") + in_flight});
  }
  for (const char* threads : {"1", "2"}) {
    add(2, {"cluster.hosts=2", std::string("cluster.threads=") + threads});
  }
  add(2, {"cluster.hosts=2", "cluster.network.latency_us=300"});
  add(2, {"cluster.hosts=2", "cluster.network.latency_us=100", "cluster.network.bandwidth_gbps=1"});
  add(2, {"cluster.hosts=2", "cluster.window=65536", "partition.parts=2"});
  add(2, {"cluster.hosts=2", "cluster.placement=worker"});
  add(2, {"cluster.hosts=2", "features.cache.policy=future", "features.cache.ratio=0.1"});
  add(2, {"cluster.hosts=2", "dataset.memory=copied"});
  add(2, {"cluster.hosts=1", "cluster.trainers_per_host=2", "partition.parts=2"});
  add(2, {"cluster.hosts=2", "partition.seed=9"});
  for (const char* method : {"hash", "ldg", "fennel", metis_or_fennel}) {
    add(2, {"cluster.hosts=2", "partition.parts=3", "partition.balance=[\"edges\",\"train\"]",
            std::string("partition.method=") + method});
  }
  add(3, {"cluster.hosts=3", "partition.parts=2"});
  add(4, {"cluster.hosts=1", "cluster.trainers_per_host=4"});
  add(4, {"cluster.hosts=2", "cluster.trainers_per_host=2", "partition.parts=3"});
  add(4, {"cluster.hosts=4", "cluster.trainers_per_host=1"});
  // Shares of one step that do not fit the window together.
  add(4, {"cluster.hosts=2", "cluster.trainers_per_host=2", "cluster.window=65536"});
  return all;
}

class SameBits : public ::testing::Test {
 protected:
  Result<RunRecord> run(const Settings& settings) {
    return testing::run_cora(scratch_.path(), settings);
  }
  testing::ScratchFolder scratch_;
};

TEST_F(SameBits, LayoutsChangeNeitherBatchesNorParameters) {
  std::optional<Digest> batches;
  std::map<std::uint32_t, RunRecord> by_world;

  for (const auto& layout : layouts()) {
    SCOPED_TRACE(layout.name);
    ASSERT_OK_AND_ASSIGN(const auto record, run(layout.settings));

    ASSERT_TRUE(record.batches);
    batches = batches.value_or(*record.batches);
    EXPECT_EQ(to_string(*record.batches), to_string(*batches));
    const auto& first = by_world.emplace(layout.world, record).first->second;
    EXPECT_EQ(to_string(record.parameters), to_string(first.parameters));
    EXPECT_EQ(to_string(record.best_parameters), to_string(first.best_parameters));
    EXPECT_EQ(to_string(record.outputs), to_string(first.outputs));
    EXPECT_EQ(record.valid->accuracy, first.valid->accuracy);
  }
  EXPECT_EQ(by_world.size(), 4U);
}

/// 140 seeds are shared by two ranks.
TEST_F(SameBits, SharesThatFillNoBatchAreRefusedWhereShortOnesAreDropped) {
  const Settings local{"cluster.hosts=2", "sample.seed_order=local", "sample.drop_last=true",
                       "sample.batch_size=100"};
  EXPECT_ERROR(run(local), Errc::invalid_argument, "does not fit its data");
  auto global = local;
  global[1] = "sample.seed_order=global";
  EXPECT_OK(run(global));
}

TEST_F(SameBits, TheSameHoldsForEveryWayOfSampling) {
  const std::vector<Settings> ways = {
      {"sample.replace=true"},
      {"sample.frontier=all"},
      {"sample.edge_dir=out"},
      {"sample.fanout=[-1,3]"},
      {"sample.disjoint=true"},
      {"sample.disjoint=true", "sample.frontier=all"},
      {R"(sample.edge_data=["ids"])"},
      {"sample.shuffle=false"},
      {"sample.drop_last=true", "sample.batch_size=30"},
      {"model.aggregator=max"},
      {"model.norm=layer", "model.l2=true"},
      {"model.norm=batch", "model.input=linear"},
      {"model.residual=true", "model.activation=elu"},
      {"model.kind=gatv2", "model.heads=2", "model.attention_dropout=0.4"},
      {"model.kind=rgcn", "model.bases=2"},
      {"model.kind=rgat", "model.heads=2"},
      {"model.kind=hgt", "model.heads=2"},
      {"features.normalize=column"}};
  for (const auto& way : ways) {
    SCOPED_TRACE(way.front());
    auto alone = way;
    alone.insert(alone.end(), {"cluster.trainers_per_host=2", "train.epochs=1"});
    auto spread = way;
    spread.insert(spread.end(), {"cluster.hosts=2", "partition.parts=3", "train.epochs=1",
                                 "cluster.samplers_per_trainer=2"});
    ASSERT_OK_AND_ASSIGN(const auto one, run(alone));
    ASSERT_OK_AND_ASSIGN(const auto other, run(spread));

    EXPECT_EQ(to_string(*one.batches), to_string(*other.batches));
    EXPECT_EQ(to_string(one.parameters), to_string(other.parameters));
    EXPECT_EQ(to_string(one.outputs), to_string(other.outputs));
  }
}

/// Models whose operations are not those of the others: softmax over a node's edges, of one type and of all.
TEST_F(SameBits, FourRanksLearnTheSameAttentionInEveryLayout) {
  const std::vector<Settings> layouts_of_four = {
      {"cluster.hosts=1", "cluster.trainers_per_host=4", "partition.parts=1"},
      {"cluster.hosts=1", "cluster.trainers_per_host=4", "partition.parts=5", "cluster.threads=2"},
      {"cluster.hosts=2", "cluster.trainers_per_host=2", "partition.parts=2", "cluster.threads=1"},
      {"cluster.hosts=2", "cluster.trainers_per_host=2", "partition.parts=3",
       "cluster.network.latency_us=300"},
      {"cluster.hosts=4", "cluster.trainers_per_host=1", "partition.parts=5"},
      {"cluster.hosts=4", "cluster.trainers_per_host=1", "partition.parts=2",
       "cluster.window=65536"}};
  for (const char* kind : {"gat", "hgt"}) {
    std::optional<RunRecord> first;
    for (const auto& layout : layouts_of_four) {
      SCOPED_TRACE(fmt::format("{} {} {}", kind, layout[0], layout[2]));
      auto settings = layout;
      settings.insert(settings.end(), {std::string("model.kind=") + kind, "model.heads=4",
                                       "sample.batch_size=16", "model.norm=batch"});
      ASSERT_OK_AND_ASSIGN(const auto record, run(settings));
      if (!first) {
        first = record;
      }
      EXPECT_EQ(record.batches, first->batches);
      EXPECT_EQ(record.parameters, first->parameters);
      EXPECT_EQ(record.best_parameters, first->best_parameters);
      EXPECT_EQ(record.outputs, first->outputs);
    }
  }
}

TEST_F(SameBits, TwoRunsAreEqualAndAnotherSeedDiffers) {
  ASSERT_OK_AND_ASSIGN(const auto one, run({"cluster.hosts=2"}));
  ASSERT_OK_AND_ASSIGN(const auto again, run({"cluster.hosts=2"}));
  ASSERT_OK_AND_ASSIGN(const auto other, run({"cluster.hosts=2", "seed=2"}));

  EXPECT_EQ(to_string(*one.batches), to_string(*again.batches));
  EXPECT_EQ(to_string(one.parameters), to_string(again.parameters));
  EXPECT_NE(to_string(*one.batches), to_string(*other.batches));
  EXPECT_NE(to_string(one.parameters), to_string(other.parameters));
}

TEST_F(SameBits, WhatIsSampledChangesTheBatches) {
  std::map<std::string, std::string> seen;
  for (const char* setting :
       {"seed=1", "sample.fanout=[5,4]", "sample.replace=true", "sample.batch_size=31",
        "sample.frontier=all", "sample.disjoint=true", "features.normalize=none",
        R"(sample.edge_data=["ids"])", "digest=ids"}) {
    ASSERT_OK_AND_ASSIGN(const auto record, run({setting, "train.epochs=1"}));
    const auto [other, fresh] = seen.emplace(to_string(*record.batches), setting);
    EXPECT_TRUE(fresh) << setting << " gives the batches of " << other->second;
  }
}

TEST_F(SameBits, TheFullDigestIsThatOfTheGoldenRun) {
  // Committed: changes only together with sampling_version (design, section 4).
  ASSERT_OK_AND_ASSIGN(const auto record, run({testing::whole_cora}));

  EXPECT_EQ(to_string(*record.batches), "a4dcfbba30969910cadaab5969d5d86b");
}

TEST_F(SameBits, RanksWithoutABatchInTheLastStepChangeNothingElse) {
  // 140 seeds in batches of 64: 3 batches for 4 ranks, so one rank never has any.
  ASSERT_OK_AND_ASSIGN(const auto four,
                       run({"cluster.hosts=4", "sample.batch_size=64", "train.epochs=2"}));
  ASSERT_OK_AND_ASSIGN(const auto one, run({"sample.batch_size=64", "train.epochs=2"}));

  EXPECT_EQ(to_string(*four.batches), to_string(*one.batches));
  EXPECT_EQ(four.epochs[0].counters.seeds, 140U);
}

TEST_F(SameBits, AHostWithoutAPartWorks) {
  ASSERT_OK_AND_ASSIGN(const auto record, run({"cluster.hosts=3", "partition.parts=1"}));
  ASSERT_OK_AND_ASSIGN(const auto other, run({"cluster.hosts=1", "cluster.trainers_per_host=3"}));

  EXPECT_EQ(to_string(*record.batches), to_string(*other.batches));
  EXPECT_EQ(to_string(record.parameters), to_string(other.parameters));
}

TEST_F(SameBits, SampledEvaluationIsRepeatableAndDoesNotTouchTraining) {
  ASSERT_OK_AND_ASSIGN(const auto sampled, run({"eval.mode=sampled", "cluster.hosts=2"}));
  ASSERT_OK_AND_ASSIGN(const auto again, run({"eval.mode=sampled", "cluster.hosts=1",
                                              "cluster.trainers_per_host=2"}));
  ASSERT_OK_AND_ASSIGN(const auto exact, run({"cluster.hosts=2"}));

  EXPECT_EQ(sampled.epochs[0].valid->accuracy, again.epochs[0].valid->accuracy);
  EXPECT_EQ(sampled.epochs[1].valid->labelled, 500U);
  EXPECT_EQ(to_string(sampled.parameters), to_string(exact.parameters));
}

}  // namespace
}  // namespace troupe
