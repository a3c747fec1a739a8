#include "runtime/job/resume.hpp"

#include "runtime/job/job_file.hpp"
#include "tests/support/expect.hpp"

#include <nlohmann/json.hpp>

#include <fmt/format.h>

namespace troupe {
namespace {

/// A job of two ranks, with some settings.
Job overridden(const std::vector<std::string>& overrides) {
  const std::string text = R"({"dataset": {"path": "d"}, "sample": {"fanout": [3, 2]},
                               "cluster": {"hosts": 2}, "train": {"epochs": 4}})";
  const auto reading = parse_job(text, "base", overrides);
  EXPECT_OK(reading);
  EXPECT_EQ(to_string(reading->problems), "");
  return reading->job;
}

Status resumable(const std::vector<std::string>& then, const std::vector<std::string>& now) {
  return check_resumable(overridden(then).json, overridden(now));
}

TEST(Resume, WhereAndHowAJobRunsMayChange) {
  EXPECT_OK(resumable({}, {}));
  EXPECT_OK(resumable({}, {"cluster.window=65536", "cluster.batches_in_flight=1"}));
  EXPECT_OK(resumable({}, {"partition.parts=3", "partition.seed=7"}));
  EXPECT_OK(resumable({}, {"checkpoint.every.steps=3", "checkpoint.keep=1"}));
  EXPECT_OK(resumable({}, {"log_every=1", "trace=true", "output=elsewhere"}));
  EXPECT_OK(resumable({}, {"train.epochs=9"}));
  EXPECT_OK(resumable({"features.cache.device_budget=10%"},
                      {"features.cache.device_budget=0", "sample.device_lists=pinned"}));
  EXPECT_OK(resumable(
      {"features.cache.policy=degree", "features.cache.ratio=0.5"},
      {"features.cache.policy=future", "features.cache.budget=1MB", "features.cache.lookahead=8"}));
  EXPECT_OK(resumable({"features.cache.policy=presample", "features.cache.ratio=0.5"}, {}));
  EXPECT_OK(resumable({}, {"sample.cache.budget=1MB"}));
}

TEST(Resume, TheSameNumberOfRanksMayLieOnOtherHosts) {
  EXPECT_OK(resumable({}, {"cluster.hosts=1", "cluster.trainers_per_host=2"}));
  EXPECT_ERROR(resumable({}, {"cluster.hosts=3"}), Errc::failed_precondition,
               "number of ranks: was 2, is 3");
}

TEST(Resume, WhereBatchesDependOnPartsRanksSampleWhereTheSameOnesLie) {
  const std::string local = "sample.seed_order=local";
  const std::string parts = "partition.parts=3";
  EXPECT_OK(resumable({local, parts}, {local, parts, "cluster.batches_in_flight=1"}));
  EXPECT_OK(resumable({local, parts}, {local, parts, "cluster.launch=local"}));
  EXPECT_OK(resumable({local, parts}, {local, parts, "cluster.placement=worker"}));
  EXPECT_ERROR(
      resumable({local, parts}, {local, parts, "cluster.hosts=1", "cluster.trainers_per_host=2"}),
      Errc::failed_precondition,
      "parts where rank 0 samples, whose nodes it prefers: were 0, 2, are 0, 1, 2");
  EXPECT_ERROR(resumable({local, parts}, {local, parts, "cluster.replicas=2"}),
               Errc::failed_precondition, "were 0, 2, are 0, 1, 2");
  EXPECT_ERROR(resumable({local, parts}, {local, "partition.parts=4"}), Errc::failed_precondition,
               "/partition/parts: was 3, is 4");
  EXPECT_ERROR(resumable({local, parts}, {local, parts, "cluster.placement=server_client",
                                          "cluster.servers=3", "cluster.server_of_rank=[2,0]"}),
               Errc::failed_precondition, "were 0, 2, are 2");
}

TEST(Resume, CandidatesOfOwnPartsAreThoseOfTheSameParts) {
  const auto with = [](const char* from, const char* cluster) {
    const auto reading =
        parse_job(fmt::format(R"({{"dataset": {{"path": "d"}}, "task": {{"kind": "knowledge",
                        "negatives": {{"from": "{}"}}}}, "embedding": {{"entity": {{"dim": 4}}}},
                        "partition": {{"parts": 2}}, "cluster": {{{}}}}})",
                              from, cluster),
                  "base", {});
    EXPECT_OK(reading);
    EXPECT_EQ(to_string(reading->problems), "");
    return reading->job;
  };
  const auto* const two_hosts = R"("hosts": 2)";
  const auto* const one_host = R"("trainers_per_host": 2)";
  EXPECT_OK(check_resumable(with("all", two_hosts).json, with("all", one_host)));
  EXPECT_OK(check_resumable(with("own", two_hosts).json, with("own", two_hosts)));
  EXPECT_ERROR(check_resumable(with("own", two_hosts).json, with("own", one_host)),
               Errc::failed_precondition, "were 0, are 0, 1");
}

TEST(Resume, AJobOfHostsThatCannotBeIsRefusedWherePlacesMatter) {
  auto written = nlohmann::json::parse(overridden({"sample.seed_order=local"}).json);
  written["cluster"]["placement"] = "server_client";
  written["cluster"]["servers"] = 0;
  EXPECT_ERROR(check_resumable(written.dump(), overridden({"sample.seed_order=local"})),
               Errc::data_corruption, "cannot be read");
}

TEST(Resume, ADeviceOfOtherBitsIsRefusedUnlessTheJobTakesIt) {
  const std::string gpu = "cluster.device=cuda";
  const std::string emulated = "cluster.device=emulated:2";
  EXPECT_OK(resumable({}, {emulated, "sample.on=host"}));
  EXPECT_OK(resumable({emulated, "sample.on=device"}, {}));
  EXPECT_OK(resumable({gpu}, {"cluster.device=cuda:0,2"}));
  for (const std::string& other : {std::string("cluster.device=cpu"), emulated}) {
    EXPECT_ERROR(resumable({gpu}, {other}), Errc::failed_precondition,
                 "/cluster/device: was \"cuda\", is");
    EXPECT_ERROR(resumable({other}, {gpu}), Errc::failed_precondition, "/cluster/device");
    EXPECT_OK(resumable({gpu}, {other, "checkpoint.other_device=true"}));
    EXPECT_OK(resumable({other}, {gpu, "checkpoint.other_device=true"}));
  }
}

/// A run writes what "auto" became.
TEST(Resume, WhatAutoBecameIsADeviceLikeAnother) {
  const std::string gpu = "cluster.device=auto:cuda";
  EXPECT_OK(resumable({gpu}, {"cluster.device=cuda"}));
  EXPECT_OK(resumable({"cluster.device=auto:cpu"}, {"cluster.device=cpu"}));
  EXPECT_ERROR(resumable({gpu}, {"cluster.device=auto:cpu"}), Errc::failed_precondition,
               "/cluster/device: was \"auto:cuda\", is \"auto:cpu\"");
  EXPECT_OK(resumable({gpu}, {"cluster.device=auto:cpu", "checkpoint.other_device=true"}));
}

TEST(Resume, WhatResultsDependOnMustBeTheSame) {
  EXPECT_ERROR(resumable({}, {"seed=9"}), Errc::failed_precondition, "/seed: was 0, is 9");
  EXPECT_ERROR(resumable({}, {"sample.batch_size=8"}), Errc::failed_precondition,
               "/sample/batch_size");
  EXPECT_ERROR(resumable({}, {"model.hidden=8"}), Errc::failed_precondition, "/model/hidden");
  EXPECT_ERROR(resumable({}, {"eval.max_batches=1"}), Errc::failed_precondition,
               "/eval/max_batches");
}

TEST(Resume, NumbersAreComparedAsNumbers) {
  const auto with = [](const char* margin) {
    return std::vector<std::string>{"task.kind=link", "task.negatives.kind=triplet",
                                    "train.loss=margin", fmt::format("train.margin={}", margin)};
  };
  EXPECT_OK(resumable(with("2"), with("2.0")));
  EXPECT_OK(resumable(with("2.5e0"), with("2.5")));
  EXPECT_ERROR(resumable(with("2"), with("2.5")), Errc::failed_precondition,
               "/train/margin: was 2, is 2.5");
}

TEST(Resume, FewerEpochsThanAreTrainedAreRefused) {
  const auto left = [](const char* now, TrainedUntil until) {
    return check_epochs_left(overridden({}).json, overridden({now}), until);
  };
  EXPECT_OK(left("train.epochs=2", {.epoch = 1, .steps = 3}));
  EXPECT_OK(left("train.epochs=2", {.epoch = 2, .steps = 0}));
  EXPECT_OK(left("train.epochs=4", {.epoch = 9, .steps = 3})) << "epochs of a user program";
  EXPECT_ERROR(left("train.epochs=2", {.epoch = 2, .steps = 3}), Errc::failed_precondition,
               "expected one of the first 2 epochs, as /train/epochs says, found one after 3 steps "
               "of epoch 3\ntry: train.epochs 3 or more");
  EXPECT_ERROR(left("train.epochs=2", {.epoch = 3, .steps = 0}), Errc::failed_precondition,
               "try: train.epochs 3 or more");
}

TEST(Resume, ProductsOfAnotherPrecisionAreRefused) {
  const std::string gpu = "cluster.device=cuda";
  const std::string tf32 = "train.precision=tf32";
  EXPECT_OK(resumable({gpu, tf32}, {"cluster.device=cuda:1", tf32}));
  EXPECT_ERROR(resumable({gpu}, {gpu, tf32}), Errc::failed_precondition,
               "/train/precision: was \"float32\", is \"tf32\"");
  EXPECT_ERROR(resumable({gpu, tf32}, {gpu, "train.precision=bf16"}), Errc::failed_precondition,
               "/train/precision: was \"tf32\", is \"bf16\"");
  // Another device takes other bits, but not another precision.
  EXPECT_ERROR(resumable({gpu, tf32}, {"cluster.device=cpu", "checkpoint.other_device=true"}),
               Errc::failed_precondition, "/train/precision: was \"tf32\", is \"float32\"");
}

TEST(Resume, GradientsAddedInAnotherWayAreRefused) {
  const std::string gpu = "cluster.device=cuda";
  const std::string fast = "train.reduce=fast";
  EXPECT_OK(resumable({gpu, fast}, {gpu, fast}));
  EXPECT_ERROR(resumable({gpu}, {gpu, fast}), Errc::failed_precondition,
               "/train/reduce: was \"exact\", is \"fast\"");
  EXPECT_ERROR(resumable({gpu, fast}, {gpu}), Errc::failed_precondition,
               "/train/reduce: was \"fast\", is \"exact\"");
}

TEST(Resume, WeightsOfClassesMustBeTheSame) {
  const std::string balanced = "train.class_weights=balanced";
  const std::string some = "train.class_weights=[1,2.5]";
  EXPECT_OK(resumable({balanced}, {balanced, "partition.parts=3"}));
  EXPECT_OK(resumable({some}, {"train.class_weights=[1.0, 2.5]"}));
  EXPECT_ERROR(resumable({}, {balanced}), Errc::failed_precondition,
               "/train/class_weights: was nothing, is \"balanced\"");
  EXPECT_ERROR(resumable({balanced}, {}), Errc::failed_precondition,
               "/train/class_weights: was \"balanced\", is nothing");
  EXPECT_ERROR(resumable({some}, {"train.class_weights=[1,2]"}), Errc::failed_precondition,
               "/train/class_weights/1: was 2.5, is 2");
  EXPECT_ERROR(resumable({some}, {}), Errc::failed_precondition, "/train/class_weights/0");
}

TEST(Resume, KeysThatTheWriterDidNotKnowHadTheirDefaults) {
  auto written = nlohmann::json::parse(overridden({}).json);
  written["model"].erase("heads");
  written["train"].erase("pos_weight");
  written["train"].erase("precision");
  written["train"].erase("reduce");
  written["sample"].erase("choice");

  EXPECT_OK(check_resumable(written.dump(), overridden({})));
  EXPECT_ERROR(check_resumable(written.dump(), overridden({"model.kind=gat", "model.heads=4"})),
               Errc::failed_precondition, "/model/heads: was 1, is 4");
}

TEST(Resume, AKeyThatIsGoneMayHaveHadItsDefault) {
  auto written = nlohmann::json::parse(overridden({}).json);
  written["sample"].erase("edge_data");
  written["sample"]["edge_ids"] = false;
  EXPECT_OK(check_resumable(written.dump(), overridden({})));
  EXPECT_ERROR(check_resumable(written.dump(), overridden({R"(sample.edge_data=["ids"])"})),
               Errc::failed_precondition, "/sample/edge_data");
  written["sample"]["edge_ids"] = true;
  EXPECT_ERROR(check_resumable(written.dump(), overridden({})), Errc::failed_precondition,
               "/sample/edge_ids: was true, is nothing");
}

TEST(Resume, ALengthThatTheScheduleDependsOnMustBeTheSame) {
  const std::string cosine = "train.schedule.kind=cosine";
  EXPECT_ERROR(resumable({cosine}, {cosine, "train.epochs=9"}), Errc::failed_precondition,
               "/train/epochs: was 4, is 9");
}

TEST(Resume, ManyDifferencesAreCountedAndTheFirstShown) {
  EXPECT_ERROR(
      resumable({}, {"seed=9", "sample.batch_size=8", "model.hidden=8", "model.layers=2",
                     "train.optimizer.lr=0.5", "model.dropout=0.1", "sample.replace=true"}),
      Errc::failed_precondition, "differs in 6 values");
}

TEST(Resume, ATextThatIsNoJobIsDataCorruption) {
  EXPECT_ERROR(check_resumable("", overridden({})), Errc::data_corruption, "no JSON object");
  EXPECT_ERROR(check_resumable("[1]", overridden({})), Errc::data_corruption, "no JSON object");
  EXPECT_ERROR(check_resumable(R"({"cluster": {"hosts": "two"}})", overridden({})),
               Errc::data_corruption, "cannot be read");
  EXPECT_ERROR(check_resumable("{}", overridden({})), Errc::failed_precondition, "differs");
}

}  // namespace
}  // namespace troupe
