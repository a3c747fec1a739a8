#include "runtime/job/job_file.hpp"

#include "runtime/job/unused_keys.hpp"
#include "tests/runtime/job/contains.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/scratch_folder.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>

namespace troupe {
namespace {

const std::string minimal = R"({"dataset": {"path": "d"}, "sample": {"fanout": [3, 2]}})";

JobReading parse(const std::string& text, const std::vector<std::string>& overrides = {}) {
  auto reading = parse_job(text, "base", overrides);
  EXPECT_OK(reading);
  return reading.ok() ? *std::move(reading) : JobReading{};
}

/// Without their places.
std::string problems_of(const std::string& text, const std::vector<std::string>& overrides = {}) {
  auto problems = parse(text, overrides).problems;
  for (auto& problem : problems) {
    problem.place = {};
  }
  return to_string(problems);
}

/// Problems of the minimal job with one key set to some JSON.
std::string problems_with(const std::string& key, const std::string& json) {
  return problems_of(minimal, {key + "=" + json});
}

TEST(ParseJob, FillsInDefaults) {
  const JobReading reading = parse(minimal);

  EXPECT_EQ(to_string(reading.problems), "");
  EXPECT_EQ(reading.job.dataset.path, "base/d");
  EXPECT_EQ(reading.job.sample.batch_size, 1024U);
  EXPECT_EQ(reading.job.model.layers, 2U);
  EXPECT_EQ(reading.job.model.hidden, 64U);
  EXPECT_EQ(reading.job.cluster.window_bytes, 67108864U);
  EXPECT_EQ(reading.job.train.optimizer.eps, 1e-8);
  EXPECT_EQ(reading.job.train.optimizer.beta2, 0.999);
  EXPECT_EQ(reading.job.output, "runs/job");
  EXPECT_EQ(reading.job.seed, 0U);
}

TEST(ParseJob, DefaultsEqualThoseOfTheJobType) {
  const Job read = parse(minimal).job;
  const Job plain;

  EXPECT_EQ(read.cluster.batches_in_flight, plain.cluster.batches_in_flight);
  EXPECT_EQ(read.cluster.request_deadline_s, plain.cluster.request_deadline_s);
  EXPECT_EQ(read.cluster.placement, plain.cluster.placement);
  EXPECT_EQ(read.partition.parts, plain.partition.parts);
  EXPECT_EQ(read.sample.frontier, plain.sample.frontier);
  EXPECT_EQ(read.train.optimizer.lr, plain.train.optimizer.lr);
  EXPECT_EQ(read.eval.mode, plain.eval.mode);
  EXPECT_EQ(read.digest, plain.digest);
}

TEST(ParseJob, ReadsEveryBuiltValue) {
  const Job job = parse(R"({
    "dataset": {"path": "/abs/x", "split": "mask1", "memory": "copied"},
    "partition": {"parts": 4, "seed": 18446744073709551615},
    "cluster": {"hosts": 3, "placement": "worker", "trainers_per_host": 2, "samplers_per_trainer": 5,
                "batches_in_flight": 6, "threads": 7, "network": {"latency_us": 50, "bandwidth_gbps": 2.5},
                "window": "1MB", "request_deadline": 2},
    "sample": {"fanout": [-1, 0], "batch_size": 9, "replace": true, "edge_dir": "out", "frontier": "all",
               "edge_data": ["times", "ids"]},
    "features": {"normalize": "column"},
    "model": {"aggregator": "sum", "layers": 2, "hidden": 8, "norm": "layer", "l2": true, "dropout": 0.25,
              "input_dropout": 0.5},
    "train": {"epochs": 10, "loss": "bce_logits", "pos_weight": 2.5,
              "optimizer": {"kind": "sgd", "lr": 1, "weight_decay": 0.5, "momentum": 0.9, "nesterov": true}},
    "eval": {"every": 0, "mode": "sampled", "metric": "f1"},
    "digest": "ids", "seed": 12345678901234567890, "output": "elsewhere"})")
                      .job;

  EXPECT_EQ(job.dataset.path, "/abs/x");
  EXPECT_EQ(job.dataset.split, "mask1");
  EXPECT_EQ(job.dataset.memory, StoreMemory::copied);
  EXPECT_EQ(job.partition.parts, 4U);
  EXPECT_EQ(job.partition.seed, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(job.cluster.world(), 6U);
  EXPECT_EQ(job.cluster.samplers_per_trainer, 5U);
  EXPECT_EQ(job.cluster.threads, 7U);
  EXPECT_EQ(job.cluster.network.latency_us, 50);
  EXPECT_EQ(job.cluster.network.bandwidth_gbps, 2.5);
  EXPECT_EQ(job.cluster.window_bytes, 1000000U);
  EXPECT_EQ(job.cluster.request_deadline_s, 2);
  EXPECT_EQ(job.sample.fanout, (std::vector<std::int32_t>{-1, 0}));
  EXPECT_TRUE(job.sample.replace);
  EXPECT_EQ(job.sample.edge_dir, EdgeDir::out);
  EXPECT_EQ(job.sample.frontier, Frontier::all);
  EXPECT_EQ(job.sample.edge_data, (EdgeData{.edge_ids = true, .times = true}));
  EXPECT_EQ(job.features.normalize, Normalize::column);
  EXPECT_EQ(job.model.aggregator, nn::Aggregator::sum);
  EXPECT_TRUE(job.model.layer_norm);
  EXPECT_TRUE(job.model.l2);
  EXPECT_EQ(job.model.dropout, 0.25F);
  EXPECT_EQ(job.model.input_dropout, 0.5F);
  EXPECT_EQ(job.train.epochs, 10U);
  EXPECT_EQ(job.train.loss, "bce_logits");
  EXPECT_EQ(job.train.pos_weight, 2.5);
  EXPECT_EQ(job.train.optimizer.kind, "sgd");
  EXPECT_EQ(job.train.optimizer.momentum, 0.9);
  EXPECT_TRUE(job.train.optimizer.nesterov);
  EXPECT_EQ(job.eval.every, 0U);
  EXPECT_EQ(job.eval.mode, "sampled");
  EXPECT_EQ(job.eval.metric, "f1");
  EXPECT_EQ(job.digest, DigestMode::ids);
  EXPECT_EQ(job.seed, 12345678901234567890U);
  EXPECT_EQ(job.output, "elsewhere");
}

TEST(ParseJob, BatchesInFlightAreANumberOrAuto) {
  const auto batches = [](const std::vector<std::string>& settings) {
    const auto reading = parse(minimal, settings);
    EXPECT_EQ(to_string(reading.problems), "");
    return std::pair(reading.job.cluster.batches_in_flight, reading.job.cluster.prefetch);
  };
  EXPECT_EQ(batches({}), std::pair(0U, 0U)) << "auto";
  EXPECT_EQ(batches({"cluster.batches_in_flight=auto"}), std::pair(0U, 0U));
  EXPECT_EQ(batches({"cluster.batches_in_flight=6"}), std::pair(6U, 6U));
  EXPECT_EQ(batches({"cluster.prefetch=2"}), std::pair(0U, 2U));
  EXPECT_EQ(batches({"cluster.batches_in_flight=6", "cluster.prefetch=auto"}), std::pair(6U, 0U));
  const auto refused = [](const std::string& value) {
    const auto reading = parse(minimal, {"cluster.batches_in_flight=" + value});
    return to_string(reading.problems);
  };
  for (const std::string value : {"0", "1025", "many", "true"}) {
    EXPECT_NE(refused(value).find("expected string or integer, \"auto\" | 1..1024"),
              std::string::npos)
        << value << ": " << refused(value);
  }
}

TEST(ParseJob, PartsFollowHosts) {
  EXPECT_EQ(parse(minimal, {"cluster.hosts=3"}).job.partition.parts, 3U);
  EXPECT_EQ(parse(minimal, {"cluster.hosts=3", "partition.parts=2"}).job.partition.parts, 2U);
}

TEST(ParseJob, PrintsTheWholeJobInSchemaOrderAndReadsItBack) {
  const Job first =
      parse(minimal, {"seed=7", "train.optimizer.lr=0.1", "cluster.window=\"1MiB\""}).job;
  const JobReading second = parse(first.json);

  EXPECT_EQ(to_string(second.problems), "");
  EXPECT_EQ(second.job.json, first.json);
  EXPECT_EQ(second.job.seed, 7U);
  EXPECT_EQ(second.job.train.optimizer.lr, 0.1);
  EXPECT_EQ(second.job.dataset.path, first.dataset.path);
  EXPECT_EQ(second.job.output, first.output);
  EXPECT_EQ(first.json.find("\"budget\""), std::string::npos);  // absent stays absent
  EXPECT_CONTAINS(first.json, "\"fanout\": [3, 2],\n");
  EXPECT_LT(first.json.find("\"dataset\""), first.json.find("\"sample\""));
  EXPECT_LT(first.json.find("\"train\""), first.json.find("\"seed\": 7"));
}

TEST(ParseJob, PrintsEveryKeyThatHasADefault) {
  const std::string json = parse(minimal, {"embedding.node.dim=3"}).job.json;
  for (const JobKey& key : job_keys()) {
    const std::string name = '"' + key.pointer.substr(key.pointer.rfind('/') + 1) + "\": ";
    const bool printed = json.find(name) != std::string::npos;
    EXPECT_TRUE(printed || key.default_value == "absent") << key.pointer;
  }
}

TEST(ParseJob, ReportsAllProblemsAtOnceInSchemaOrder) {
  const std::string text = problems_of(R"({
    "seed": -1, "train": {"epochs": 0, "optimizer": {"lr": "fast"}}, "sampel": {},
    "cluster": {"hosts": 5000}, "dataset": {"split": 3}})");

  EXPECT_EQ(
      text,
      "/dataset/path: expected string, 1..4096 bytes, no control characters, found nothing; this "
      "key is "
      "required\n"
      "/dataset/split: expected string, 0..4096 bytes, no control characters, found 3\n"
      "/cluster/hosts: expected integer or list of strings, 1..1024, or as many names, found 5000\n"
      "/sample/fanout: expected list of integers, or an object of them, 1..16 entries, each "
      "-1..2^20, found nothing; this key is required\n"
      "/train/epochs: expected integer, 1..1000000, found 0\n"
      "/train/optimizer/lr: expected number, > 0, <= 1000, found \"fast\"\n"
      "/seed: expected integer, 0..2^64-1, found -1\n"
      "/sampel: expected a known key, found an unknown one; did you mean \"sample\"?\n");
}

TEST(ParseJob, SaysWhereInTheFileAProblemStands) {
  const std::string text = R"(// line 1
{ "dataset": {"path": "cora"}, /* a
comment */ "sample": { "fanout": [2, {"x": 1}],
    "batchsize": 4 },
  "train": {"ep\u006fchs":
     0}, "seed": -1, "eval": {"every": "\"}{", "every": 1}
})";
  EXPECT_EQ(to_string(parse(text, {"seed=-2", "model.layers=many"}).problems),
            "line 3, column 34: /sample/fanout: expected list of integers, or an object of them, "
            "1..16 entries, each -1..2^20, found [2,{\"x\":1}]\n"
            "line 4, column 5: /sample/batchsize: expected a known key, found an unknown one; did "
            "you mean \"batch_size\"?\n"
            "/model/layers: expected integer, 0..16, found \"many\"\n"
            "line 6, column 6: /train/epochs: expected integer, 1..1000000, found 0\n"
            "line 6, column 48: /eval/every: expected each key once, found it twice; remove one\n"
            "line 6, column 40: /eval/every: expected integer, 0..1000000, found \"\\\"}{\"\n"
            "/seed: expected integer, 0..2^64-1, found -2\n");
}

TEST(ParseJob, LeavesTheSchemaToEditors) {
  const std::string rest = R"("dataset": {"path": "cora"}, "sample": {"fanout": [2]}})";
  const auto named = parse(R"({"$schema": "https://example.org/job.json", )" + rest, {});
  EXPECT_EQ(to_string(named.problems), "");
  EXPECT_EQ(named.job.json, parse("{" + rest, {}).job.json);
  EXPECT_CONTAINS(problems_of(R"({"dataset": {"path": "cora", "$schema": "x"},
                                  "sample": {"fanout": [2]}})"),
                  "/dataset/$schema: expected a known key");
}

TEST(ParseJob, FeaturesOfEdgesGoNeitherWithKeptListsNorWithoutRows) {
  const auto problems = [](const std::vector<std::string>& more) {
    std::vector<std::string> all = {R"(sample.edge_data=["features", "ids"])"};
    all.insert(all.end(), more.begin(), more.end());
    const auto reading = parse_job(
        R"({"dataset": {"path": "."}, "sample": {"fanout": [2]}, "output": "o"})", "", all);
    EXPECT_OK(reading);
    EXPECT_EQ(reading->job.sample.edge_data, (EdgeData{.edge_ids = true, .entries = true}));
    return to_string(reading->problems);
  };
  EXPECT_EQ(problems({}), "");
  EXPECT_CONTAINS(
      problems({"sample.cache.budget=1MB"}),
      "/sample/cache/budget: expected none with \"features\" in sample.edge_data or columns "
      "of edges, found 1000000 bytes; lists that are kept have no rows");
  const auto columns = [&](const std::string& column, const std::string& setting) {
    return problems({R"(features.columns=[")" + column + R"("])", setting});
  };
  EXPECT_EQ(columns("nodes-a/b", "seed=2"), "");
  EXPECT_CONTAINS(columns("nodes-a/b", "features.collect=false"),
                  "/features/columns: expected none with features.collect false, found "
                  "\"nodes-a/b\"");
  EXPECT_CONTAINS(problems({"features.collect=false"}),
                  "/sample/edge_data: expected no \"features\" with features.collect false");
}

TEST(ReadJob, TakesTheNameFromJsoncToo) {
  const testing::ScratchFolder scratch;
  const auto file = scratch.path() / "first.jsonc";
  std::ofstream(file) << R"({"dataset": {"path": "."}, "sample": {"fanout": [2]}} // the end)";
  ASSERT_OK_AND_ASSIGN(const JobReading reading, read_job(file, {}));
  EXPECT_EQ(to_string(reading.problems), "");
  EXPECT_EQ(reading.job.output, "runs/first");
}

TEST(ParseJob, NamesTheNearestKey) {
  EXPECT_CONTAINS(problems_with("sample.batchsize", "4"),
                  "/sample/batchsize: expected a known key, found an unknown one; did you mean "
                  "\"batch_size\"?");
  EXPECT_CONTAINS(problems_with("sample.edge_ids", "true"), "\"edge_data\": [\"ids\"]");
  EXPECT_CONTAINS(problems_with("train.optimizer.rl", "4"), "did you mean \"lr\"?");
  EXPECT_CONTAINS(problems_with("epochs", "4"), "did you mean /train/epochs?");
  EXPECT_CONTAINS(problems_with("model.Hidden", "4"), "did you mean \"hidden\"?");
  EXPECT_CONTAINS(problems_with("eval.zzzzzzzzzz", "4"), "the nearest key here is \"");
}

TEST(ParseJob, NamesTheNearestWord) {
  EXPECT_CONTAINS(problems_with("model.kind", "graphsaeg"), "did you mean \"graphsage\"?");
  EXPECT_CONTAINS(problems_with("eval.metric", "zebra"),
                  "| \"rmse\" | \"mae\" | \"r2\", found \"zebra\"\n");
}

TEST(ParseJob, RefusesValuesOutOfRange) {
  for (const auto& [key, value] : std::vector<std::pair<std::string, std::string>>{
           {"cluster.hosts", "0"},
           {"cluster.hosts", "1025"},
           {"cluster.hosts", "1.5"},
           {"cluster.hosts", "[]"},
           {"partition.parts", "0"},
           {"partition.parts", "-1"},
           {"sample.fanout", "[]"},
           {"sample.fanout", "[3, -2]"},
           {"sample.fanout", "[3, 1048577]"},
           {"sample.fanout", "[3, 2.0]"},
           {"sample.fanout", "3"},
           {"sample.replace", "1"},
           {"model.dropout", "1"},
           {"model.dropout", "0.99999999999"},
           {"model.dropout", "-0.1"},
           {"train.optimizer.lr", "0"},
           {"train.optimizer.lr", "1e-300"},
           {"train.optimizer.betas", "[0.9]"},
           {"train.optimizer.betas", "[0.9, 1]"},
           {"seed", "18446744073709551616"},
           {"seed", "null"},
           {"cluster.window", "64"},
           {"cluster.window", "64 parsecs"},
           {"cluster.window", "99999999999999TB"},
           {"cluster.window", "-64MB"},
           {"dataset.path", "\"\""},
           {"dataset.path", "\"a\\u0000b\""},
           {"output", "\"\""},
           {"partition.balance", "[\"nodes\", \"nodes\"]"},
       }) {
    std::string pointer = "/" + key;
    std::replace(pointer.begin(), pointer.end(), '.', '/');
    const std::string text = problems_with(key, value);
    EXPECT_TRUE(text.starts_with(pointer + ": expected ")) << key << "=" << value << ": " << text;
    EXPECT_EQ(text.find("not built"), std::string::npos) << text;
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  }
}

TEST(ParseJob, TakesByteSizesWithUnits) {
  const auto window = [](const std::string& value) {
    return parse(minimal, {"cluster.window=" + value}).job.cluster.window_bytes;
  };

  EXPECT_EQ(window("65536"), 65536U);
  EXPECT_EQ(window("\"65536B\""), 65536U);
  EXPECT_EQ(window("64MB"), 64000000U);
  EXPECT_EQ(window("64MiB"), 67108864U);
  EXPECT_EQ(window("2 GiB"), 2147483648U);
  EXPECT_EQ(window("100KB"), 100000U);
  EXPECT_EQ(window("100kB"), 100000U);
}

TEST(ParseJob, RefusesSectionsThatAreNoObjects) {
  const std::string text = problems_of(R"({"dataset": "cora", "sample": {"fanout": [1]}})");
  EXPECT_EQ(text, "/dataset: expected an object with keys, found \"cora\"\n");
  EXPECT_EQ(problems_of("[1, 2]"), "the job: expected an object with keys, found [1,2]\n");
}

TEST(ParseJob, RefusesDuplicateKeys) {
  const std::string text = problems_of(
      R"({"dataset": {"path": "a", "path": "b"}, "sample": {"fanout": [2]}, "seed": 1, "seed": 2})");
  EXPECT_EQ(text,
            "/dataset/path: expected each key once, found it twice; remove one\n"
            "/seed: expected each key once, found it twice; remove one\n");
}

TEST(ParseJob, HeadsAreForGatAndDivideTheColumnsBetweenLayers) {
  EXPECT_EQ(problems_with("model.heads", "4"),
            "/model/heads: expected 1 with kind \"graphsage\", found 4; it is for \"gat\", "
            "\"gatv2\", \"rgat\", \"hgt\"\n");
  EXPECT_EQ(problems_with("model", R"({"kind": "gat", "heads": 5, "hidden": 64})"),
            "/model/heads: expected a divisor of hidden, 64, found 5\n");
  EXPECT_EQ(problems_with("model", R"({"kind": "gat", "heads": 8, "hidden": 64})"), "");
  EXPECT_EQ(problems_with("model", R"({"kind": "gat", "heads": 5, "concat": false})"), "");
  EXPECT_EQ(problems_with("model", R"({"kind": "gat", "heads": 8, "out_heads": 3})"), "");
  EXPECT_EQ(problems_with("model", R"({"kind": "hgt", "out_heads": 3})"),
            "/model/out_heads: expected 0 with kind \"hgt\", found 3; it is for \"gat\", "
            "\"gatv2\", \"rgat\"\n");
  EXPECT_EQ(problems_with("model", R"({"kind": "gat", "attention_dropout": 0.6})"), "");
  EXPECT_EQ(problems_with("model", R"({"kind": "hgt", "attention_dropout": 0.5})"),
            "/model/attention_dropout: expected 0 with kind \"hgt\", found 0.5; it is for \"gat\", "
            "\"gatv2\", \"rgat\"\n");
  EXPECT_EQ(problems_with("model", R"({"kind": "gat", "share_weights": true})"),
            "/model/share_weights: expected false with kind \"gat\", found true; it is for "
            "\"gatv2\"\n");
}

TEST(ParseJob, ReadsActivationAndResidual) {
  const auto job =
      parse(minimal, {"model.activation=leaky_relu", "model.slope=0.2", "model.residual=true"}).job;
  EXPECT_EQ(job.model.activation, nn::Activation::leaky_relu);
  EXPECT_EQ(job.model.slope, 0.2F);
  EXPECT_TRUE(job.model.residual);
  EXPECT_TRUE(parse(minimal, {"model.input=linear"}).job.model.linear_input);
  EXPECT_EQ(parse(minimal, {"model.activation=elu"}).job.model.activation, nn::Activation::elu);
}

TEST(ParseJob, SlopeIsForLeakyReluAndResidualForKindsWhoseRowsTravel) {
  EXPECT_EQ(problems_with("model.slope", "0.5"),
            "/model/slope: expected 0.01 unless `activation` is \"leaky_relu\", found 0.5\n");
  EXPECT_EQ(problems_with("model", R"({"kind": "gcn", "residual": true})"),
            "/model/residual: expected false with kind \"gcn\", found true; it is for "
            "\"graphsage\", \"gat\", \"gatv2\", \"gin\", \"rgcn\", \"rgat\"\n");
}

TEST(ParseJob, ScoresOfTriplesReadKeysOfTheirOwn) {
  const auto problems = [](const std::string& kind, const std::string& key) {
    return problems_of(minimal, {"task.kind=knowledge", "task.score.kind=" + kind, key});
  };
  EXPECT_CONTAINS(problems("complex", "task.score.norm=1"),
                  "/task/score/norm: expected none with score \"complex\", found 1; it is for "
                  "\"transe\", \"rotate\"\n");
  EXPECT_CONTAINS(problems("rotate", "task.score.unit=true"),
                  "/task/score/unit: expected false with score \"rotate\", found true; it is for "
                  "\"transe\"\n");
  EXPECT_EQ(problems("rotate", "task.score.norm=1").find("/task/score"), std::string::npos);
  EXPECT_EQ(problems("transe", "task.score.unit=true").find("/task/score"), std::string::npos);
}

TEST(ParseJob, EdgeWeightsNeedTheWeightsOfBatches) {
  EXPECT_EQ(problems_with("model.edge_weights", "true"),
            "/model/edge_weights: expected false without \"weights\" in sample.edge_data, found "
            "true; sample.edge_data [\"weights\"] brings the weights\n");
  EXPECT_EQ(problems_of(minimal, {"model.edge_weights=true", "sample.edge_data=[\"weights\"]"}),
            "");
  EXPECT_CONTAINS(problems_of(minimal, {"model.edge_weights=true", "model.aggregator=max",
                                        "sample.edge_data=[\"weights\"]"}),
                  "which is not built yet for it");
  EXPECT_CONTAINS(problems_of(minimal, {"model.edge_weights=true", "model.kind=gat",
                                        "sample.edge_data=[\"weights\"]"}),
                  "it is for \"graphsage\", \"gcn\", \"gin\"");
}

TEST(ParseJob, EdgeFeaturesNeedThoseOfBatchesAndNoLoops) {
  const std::vector<std::string> good{"model.kind=gatv2", "model.loops=false",
                                      "model.edge_features=true",
                                      "sample.edge_data=[\"features\"]"};
  EXPECT_EQ(problems_of(minimal, good), "");
  EXPECT_EQ(problems_of(minimal, {good[0], good[1], good[2]}),
            "/model/edge_features: expected false without \"features\" in sample.edge_data, found "
            "true; sample.edge_data [\"features\"] brings the features\n");
  EXPECT_CONTAINS(problems_of(minimal, {good[0], good[2], good[3]}),
                  "which is not built yet for it; loops false works");
  for (const char* kind : {"graphsage", "gin", "rgat"}) {
    EXPECT_EQ(problems_of(minimal, {std::string("model.kind=") + kind, good[2], good[3]}), "");
  }
  EXPECT_CONTAINS(problems_of(minimal, {"model.kind=gcn", good[2], good[3]}),
                  "it is for \"graphsage\", \"gat\", \"gatv2\", \"gin\", \"rgat\"");
}

TEST(ParseJob, BasesAreForRgcn) {
  EXPECT_EQ(parse(minimal, {"model.kind=rgcn", "model.bases=3"}).job.model.bases, 3U);
  EXPECT_EQ(problems_with("model.bases", "3"),
            "/model/bases: expected 0 with kind \"graphsage\", found 3; it is for \"rgcn\"\n");
}

TEST(ParseJob, CopiesOfCheckpointsGoToAsManyHostsAsThereAreBySsh) {
  for (const auto* launch : {"simulate", "local", "slurm", "manual"}) {
    EXPECT_CONTAINS(
        problems_of(minimal, {"checkpoint.copies=2", std::string("cluster.launch=") + launch}),
        std::string("/checkpoint/copies: expected 1 with launch \"") + launch +
            "\", found 2; copies go to hosts that are reached by ssh\n");
  }
  const std::vector<std::string> by_ssh{"cluster.launch=ssh", "cluster.hosts=[\"a\", \"b\"]"};
  for (const auto copies : {1U, 2U, 3U}) {
    const auto reading =
        parse(minimal, {by_ssh[0], by_ssh[1], "checkpoint.copies=" + std::to_string(copies)});
    EXPECT_EQ(to_string(reading.problems), "");
    EXPECT_EQ(reading.job.checkpoint.copies, copies);
  }
  EXPECT_EQ(problems_of(minimal, {by_ssh[0], by_ssh[1], "checkpoint.copies=4"}),
            "/checkpoint/copies: expected at most 3, this host and those of cluster.hosts, found "
            "4\n");
}

TEST(ParseJob, EpsFollowsTheOptimizerUnlessItIsGiven) {
  const auto eps = [](std::vector<std::string> settings) {
    return parse(minimal, settings).job.train.optimizer.eps;
  };
  EXPECT_EQ(eps({"train.optimizer.kind=adagrad"}), 1e-10);
  EXPECT_EQ(eps({"train.optimizer.kind=adagrad", "train.optimizer.eps=1e-8"}), 1e-8);
  EXPECT_EQ(eps({"train.optimizer.kind=adamw"}), 1e-8);
  EXPECT_EQ(problems_with("train.optimizer.kind", "adagrad"), "");
  EXPECT_CONTAINS(
      problems_of(minimal, {"train.optimizer.kind=adagrad", "train.optimizer.momentum=0.5"}),
      "/train/optimizer/momentum: expected 0 with kind \"adagrad\"");
}

TEST(ParseJob, ReadsPartitionMethodsWithTheirOptions) {
  const auto job =
      parse(minimal, {"partition.method=fennel", "partition.balance=[\"edges\",\"val\"]",
                      "partition.imbalance=1.1", "partition.passes=10", "dataset.split=mask1"})
          .job;

  EXPECT_EQ(job.partition.method, "fennel");
  EXPECT_EQ(job.partition.more.balance, (std::vector<std::string>{"edges", "val"}));
  EXPECT_EQ(job.partition.more.imbalance, 1.1);
  EXPECT_EQ(job.partition.more.passes, 10U);
  EXPECT_EQ(job.partition.more.split, "mask1");
}

TEST(ParseJob, MethodFileNeedsAFile) {
  EXPECT_EQ(problems_with("partition.method", "file"),
            "/partition/file: expected the .npy file that method \"file\" reads, found none\n");
  EXPECT_EQ(problems_of(minimal, {"partition.method=file", "partition.file=parts.npy"}), "");
}

TEST(ParseJob, AcceptsDefaultsAsValues) {
  EXPECT_EQ(
      problems_of(minimal, {"cluster.heartbeat=1.0", "partition.halo=0", "partition.balance=[]",
                            "features.cache.policy=none", "checkpoint={}"}),
      "");
}

TEST(ParseJob, EveryWordIsBuilt) {
  for (const JobKey& key : job_keys()) {
    std::string path = key.pointer.substr(1);
    std::replace(path.begin(), path.end(), '/', '.');
    for (auto at = key.range.find('"'); at != std::string::npos && key.type == "string";) {
      const auto end = key.range.find('"', at + 1);
      const std::string word = key.range.substr(at, end - at + 1);
      // CPUs have no other products than float32's: tests/runtime/job/precision_rules_test.cpp.
      const std::string text = problems_of(minimal, {path + "=" + word, "cluster.device=cuda"});
      EXPECT_EQ(text.find("not built yet"), std::string::npos) << path << "=" << word;
      at = key.range.find('"', end + 1);
    }
  }
}

TEST(ParseJob, ReadsGcnClippingAndSchedules) {
  ASSERT_OK_AND_ASSIGN(const auto reading,
                       parse_job(minimal, ".",
                                 std::vector<std::string>{
                                     "model.kind=gcn", "train.clip=2.5", "train.schedule.kind=step",
                                     "train.schedule.step_epochs=7", "train.schedule.factor=0.5"}));
  EXPECT_EQ(to_string(reading.problems), "");
  EXPECT_EQ(reading.job.model.kind, "gcn");
  EXPECT_EQ(reading.job.train.clip, 2.5);
  EXPECT_EQ(reading.job.train.schedule.kind, "step");
  EXPECT_EQ(reading.job.train.schedule.step_epochs, 7U);
  EXPECT_EQ(reading.job.train.schedule.factor, 0.5);
  EXPECT_OK(nn::check_schedule(reading.job.train.schedule));
  EXPECT_EQ(problems_of(minimal, {"train.schedule.kind=cosine", "train.schedule.end_lr=1e-4"}), "");
  EXPECT_EQ(problems_of(minimal, {"train.schedule.kind=linear"}), "");
}

TEST(ParseJob, RefusesKeysThatTheScheduleOrTheModelDoesNotUse) {
  EXPECT_EQ(problems_of(minimal, {"train.schedule.kind=step"}),
            "/train/schedule/step_epochs: expected 1 or more with kind \"step\", found 0\n");
  EXPECT_EQ(problems_of(minimal, {"train.schedule.step_epochs=3", "train.schedule.factor=0.5",
                                  "train.schedule.end_lr=0.1"}),
            "/train/schedule/step_epochs: expected 0 with kind \"constant\", found 3\n"
            "/train/schedule/factor: expected 0.1 with kind \"constant\", found 0.5\n"
            "/train/schedule/end_lr: expected 0 with kind \"constant\", found 0.1\n");
  EXPECT_EQ(problems_of(minimal, {"model.kind=gcn", "model.aggregator=max"}),
            "/model/aggregator: expected \"mean\" with kind \"gcn\", found \"max\"; it is for "
            "\"graphsage\"\n");
  EXPECT_CONTAINS(problems_of(minimal, {"train.schedule=cosine"}),
                  "/train/schedule: expected an object with keys, found \"cosine\"");
}

TEST(ParseJob, KeysOfLinksNeedLinks) {
  EXPECT_EQ(problems_of(minimal, {"task.kind=link", "task.negatives.kind=binary",
                                  "task.negatives.per_positive=1024", "task.negatives.strict=true",
                                  "task.negatives.tries=64", "task.exclude=none"}),
            "");
  EXPECT_EQ(
      problems_of(minimal,
                  {"task.negatives.kind=triplet", "task.exclude=none", "task.reverse=back"}),
      "/task/exclude: expected \"batch\" with kind \"node\", found \"none\"; set task.kind to "
      "\"link\"\n"
      "/task/reverse: expected \"\" with kind \"node\", found \"back\"; set task.kind to "
      "\"link\"\n"
      "/task/negatives/kind: expected \"none\" with kind \"node\", found \"triplet\"; set "
      "task.kind to \"link\"\n");
  EXPECT_CONTAINS(problems_with("task.negatives.per_positive", "0"),
                  "/task/negatives/per_positive");
  EXPECT_CONTAINS(problems_with("task.negatives.tries", "65"), "/task/negatives/tries");
  ASSERT_OK_AND_ASSIGN(
      const auto reading,
      parse_job(minimal, ".",
                std::vector<std::string>{"task.kind=link", "task.negatives.kind=triplet",
                                         "task.negatives.per_positive=7", "task.reverse=back"}));
  const auto& task = reading.job.task;
  EXPECT_TRUE(task.links());
  EXPECT_EQ(task.negatives.kind, Negatives::triplet);
  EXPECT_EQ(task.negatives.drawn(), 7U);
  EXPECT_TRUE(task.exclude);
  EXPECT_EQ(task.reverse, "back");
}

TEST(ParseJob, TimesOfSeedsGoWithWhatReadsThem) {
  EXPECT_EQ(problems_of(minimal, {"sample.time.at=-9223372036854775808", "sample.time.window=9",
                                  "sample.time.until=at", "sample.choice=last"}),
            "");
  EXPECT_EQ(
      problems_of(minimal, {"sample.time.window=9"}),
      "/sample/time/window: expected sample.time.at with it, or sample.time.of \"split\", found "
      "none\n");
  EXPECT_EQ(
      problems_of(minimal, {"sample.time.until=at"}),
      "/sample/time/until: expected sample.time.at with it, or sample.time.of \"split\", found "
      "none\n");
  EXPECT_EQ(problems_of(minimal, {"sample.time.of=split", "sample.time.window=9",
                                  "sample.time.until=at", "sample.choice=last"}),
            "");
  EXPECT_EQ(problems_of(minimal, {"sample.time.of=split", "sample.time.at=4"}),
            "/sample/time/at: expected none with sample.time.of \"split\", found 4\n");
  EXPECT_EQ(problems_of(minimal, {"sample.choice=last"}),
            "/sample/time/at: expected a time for choice \"last\", found none\n");
  EXPECT_EQ(problems_of(minimal, {"sample.choice=weighted", "sample.time.at=9"}), "");
  EXPECT_CONTAINS(problems_with("sample.time.at", "1.5"), "/sample/time/at: expected integer");
  EXPECT_CONTAINS(problems_with("sample.time.at", "9223372036854775808"), "/sample/time/at");
  EXPECT_CONTAINS(problems_with("sample.time.window", "0"), "/sample/time/window");
}

TEST(ParseJob, ChecksKeysAgainstEachOther) {
  EXPECT_EQ(problems_with("model.layers", "3"),
            "/sample/fanout: expected 3 entries, one per layer (/model/layers), found 2 entries\n");
  EXPECT_EQ(problems_with("train.optimizer.momentum", "0.5"),
            "/train/optimizer/momentum: expected 0 with kind \"adam\", found 0.5; momentum is for "
            "\"sgd\"\n");
  EXPECT_CONTAINS(
      problems_of(minimal, {"train.optimizer.kind=sgd", "train.optimizer.nesterov=true"}),
      "/train/optimizer/nesterov: expected false");
  EXPECT_EQ(problems_of(minimal, {"train.optimizer.kind=sgd", "train.optimizer.momentum=0.5"}), "");
}

TEST(ParseJob, WeightsOfPositiveTargetsAreForBinaryLogits) {
  EXPECT_EQ(problems_of(minimal, {"train.pos_weight=2"}),
            "/train/pos_weight: expected 1 with loss \"cross_entropy\", found 2; pos_weight is for "
            "\"bce_logits\"\n");
  EXPECT_CONTAINS(problems_of(minimal, {"train.loss=bce_logits", "train.pos_weight=0"}),
                  "/train/pos_weight");
  EXPECT_EQ(problems_of(minimal, {"train.loss=bce_logits", "train.pos_weight=0.5"}), "");
}

TEST(ParseJob, OverridesWinOverTheFileAndLaterOnesOverEarlier) {
  const Job job = parse(minimal, {"sample.fanout=[5]", "train.epochs=3", "train.epochs=4",
                                  "eval.metric=f1", "dataset.split=1", "output=a=b"})
                      .job;

  EXPECT_EQ(job.sample.fanout, (std::vector<std::int32_t>{5}));
  EXPECT_EQ(job.model.layers, 1U);
  EXPECT_EQ(job.train.epochs, 4U);
  EXPECT_EQ(job.eval.metric, "f1");
  EXPECT_EQ(job.dataset.split, "1");
  EXPECT_EQ(job.output, "a=b");
}

TEST(ParseJob, TheFilesDigestIsOfWhatItSaysAlone) {
  const auto digest_of = [](const std::string& text,
                            const std::vector<std::string>& overrides = {}) {
    return parse_job(text, "", overrides)->job.file_digest;
  };
  const auto digest = digest_of(R"({"dataset": {"path": "d"}, "seed": 1})");
  EXPECT_EQ(digest.size(), 32U);
  EXPECT_EQ(digest, digest_of("// a copy\n{\"seed\": 1, \"output\": \"o\", \"$schema\": \"s\",\n"
                              "\"dataset\": {\"path\": \"d\"}}"));
  EXPECT_EQ(digest, digest_of(R"({"dataset": {"path": "d"}, "seed": 1})", {"seed=2"}));
  EXPECT_NE(digest, digest_of(R"({"dataset": {"path": "d"}, "seed": 2})"));
  EXPECT_NE(digest, digest_of(R"({"dataset": {"path": "d"}})"));
  const auto with_key = [&](const std::string& value) {
    return digest_of(R"({"cluster": {"ssh": {"env": ["KEY=)" + value + R"("]}}})");
  };
  EXPECT_EQ(with_key("a"), with_key("b")) << "it travels in clear";
}

TEST(ParseJob, ReportsBadOverridesLikeProblemsOfTheFile) {
  EXPECT_CONTAINS(problems_of(minimal, {"train.epoch=3"}), "/train/epoch: expected a known key");
  EXPECT_CONTAINS(problems_of(minimal, {"train.epochs=many"}),
                  "/train/epochs: expected integer, 1..1000000, found \"many\"");
  EXPECT_CONTAINS(problems_of(minimal, {"train.epochs"}),
                  "expected --set KEY.KEY=VALUE, found --set \"train.epochs\"");
  EXPECT_CONTAINS(problems_of(minimal, {"=3"}), "expected --set KEY.KEY=VALUE");
  EXPECT_CONTAINS(problems_of(minimal, {"a..b=3"}), "expected --set KEY.KEY=VALUE");
  EXPECT_CONTAINS(problems_of(minimal, {"a.b.c.d.e.f.g.h.i=3"}), "expected --set KEY.KEY=VALUE");
  EXPECT_CONTAINS(problems_of(minimal, {"sample.fanout.x=3"}),
                  "/sample/fanout: expected a section");
  EXPECT_CONTAINS(problems_of(minimal, {"output=\xff\xfe"}), "expected UTF-8");
}

TEST(ReadJob, ResolvesTheDatasetAgainstTheFileAndNamesTheOutputAfterIt) {
  const std::filesystem::path examples = std::filesystem::path(TROUPE_SOURCE_DIR) / "examples";
  ASSERT_OK_AND_ASSIGN(const JobReading reading, read_job(examples / "quickstart.json", {}));

  EXPECT_EQ(to_string(reading.problems), "");
  EXPECT_EQ(reading.job.dataset.path, (examples / "data" / "cora").lexically_normal());
  EXPECT_EQ(reading.job.output, "runs/quickstart");
}

TEST(ReadJob, LeavesALinkedFolderAsTheSystemDoes) {
  const testing::ScratchFolder folder;
  const auto& root = folder.path();
  for (const char* made : {"jobs", "disk/graphs/cora", "disk/jobs"}) {
    std::filesystem::create_directories(root / made);
  }
  std::filesystem::create_directory_symlink(root / "disk" / "graphs", root / "jobs" / "linked");
  const auto dataset = [&](const std::string& path) {
    const auto file = root / "jobs" / "job.json";
    std::ofstream(file) << R"({"dataset": {"path": ")" << path
                        << R"("}, "sample": {"fanout": [2]}})";
    const auto reading = read_job(file, {});
    EXPECT_OK(reading);
    EXPECT_EQ(reading ? to_string(reading->problems) : "", "");
    return reading ? reading->job.dataset.path : std::filesystem::path();
  };

  EXPECT_TRUE(std::filesystem::equivalent(dataset("linked/../jobs"), root / "disk" / "jobs"));
  EXPECT_EQ(dataset("linked/cora"), root / "jobs" / "linked" / "cora");
  EXPECT_EQ(dataset("../disk/graphs"), root / "disk" / "graphs");
}

TEST(ReadJob, NamesMissingFilesAndFolders) {
  const std::filesystem::path examples = std::filesystem::path(TROUPE_SOURCE_DIR) / "examples";
  EXPECT_ERROR(read_job(examples / "nothing.json", {}), Errc::not_found,
               "nothing.json: expected a job file, found nothing");
  EXPECT_ERROR(read_job(examples, {}), Errc::not_found, "something that is no file");

  const std::vector<std::string> overrides = {"dataset.path=data/atlantis"};
  ASSERT_OK_AND_ASSIGN(const JobReading reading, read_job(examples / "cora.json", overrides));
  EXPECT_CONTAINS(to_string(reading.problems),
                  "/dataset/path: expected an existing folder, found ");
}

TEST(ReadJobText, MeansPathsFromTheCurrentFolder) {
  const auto of = [](const std::string& dataset) {
    const auto reading = read_job_text(
        R"({"dataset": {"path": ")" + dataset + R"("}, "sample": {"fanout": [2]}})", {});
    EXPECT_OK(reading);
    return reading ? *reading : JobReading{};
  };
  const auto here = of(".");
  EXPECT_EQ(to_string(here.problems), "");
  EXPECT_EQ(here.job.dataset.path, std::filesystem::current_path() / "");
  EXPECT_EQ(here.job.output, "runs/job");
  const auto nowhere = of("atlantis");
  EXPECT_EQ(to_string(nowhere.problems),
            "/dataset/path: expected an existing folder, found " +
                (std::filesystem::current_path() / "atlantis").string() + "\n");
  EXPECT_ERROR(read_job_text("{", {}), Errc::invalid_argument, "line 1");
}

TEST(ReadJob, AllExamplesAreGoodJobs) {
  int count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(TROUPE_SOURCE_DIR) / "examples")) {
    if (entry.path().extension() == ".json") {
      ASSERT_OK_AND_ASSIGN(const JobReading reading, read_job(entry.path(), {}));
      EXPECT_EQ(to_string(reading.problems), "") << entry.path();
      EXPECT_EQ(unused_keys(reading.job), std::vector<UnusedKey>()) << entry.path();
      ++count;
    }
  }
  EXPECT_GE(count, 4);
}

}  // namespace
}  // namespace troupe
