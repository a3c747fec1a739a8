// The program as its users meet it: commands, output, exit codes, reports.
#include "runtime/wire/membership.hpp"
#include "runtime/wire/messages.hpp"
#include "tests/runtime/graph/store_fixture.hpp"
#include "tests/support/checked_memory.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/process.hpp"
#include "tests/support/scratch_folder.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <set>
#include <signal.h>

namespace troupe {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

class Program : public ::testing::Test {
 protected:
  std::vector<std::string> command(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), TROUPE_PROGRAM);
    return arguments;
  }
  testing::ProcessResult troupe(std::vector<std::string> arguments) const {
    return testing::run_process(command(std::move(arguments)), folder());
  }
  /// Run inside the scratch folder, so that the default output lies there.
  std::vector<std::string> command_there(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"/usr/bin/env", "-C", folder(), TROUPE_PROGRAM});
    return arguments;
  }
  std::string folder() const { return scratch_.path().string(); }
  std::string example(const std::string& name) const {
    return std::string(TROUPE_SOURCE_DIR) + "/examples/" + name;
  }
  std::string output() const { return folder() + "/out"; }
  json report() const {
    std::ifstream in(output() + "/report.json");
    return json::parse(in, nullptr, false);
  }
  std::string write_file(const std::string& name, const std::string& text) const {
    const auto path = folder() + "/" + name;
    std::ofstream(path) << text;
    return path;
  }

  testing::ScratchFolder scratch_;
};

TEST_F(Program, QuickstartTrainsToTheAccuracyOfItsRecipe) {
  const auto run = troupe({"run", example("quickstart.json"), "--set", "output=" + output()});

  ASSERT_EQ(run.exit_code, 0) << run.err;
  const auto r = report();
  EXPECT_EQ(r["status"], "done");
  EXPECT_GE(r["scores"]["test"]["accuracy"], 0.785);
  EXPECT_EQ(r["epochs"].size(), 30U);
  EXPECT_GT(r["epochs"][0]["remote_share"], 0.3);
  EXPECT_GT(r["traffic"]["bytes"], 100'000);
  for (const char* key : {"batches", "parameters", "best_parameters"}) {
    EXPECT_EQ(r["digests"][key].get<std::string>().size(), 32U) << key;
  }
  for (const char* key : {"loss", "seconds", "seeds", "edges", "wait_share", "remote_share",
                          "cache_hit_rate", "cache_hit_rate_at_best"}) {
    EXPECT_TRUE(r["epochs"][29].contains(key)) << key;
  }
  for (const auto& counter : net::EpochCounters::counters()) {
    const std::string name(counter.name);
    EXPECT_EQ(r["epochs"][29].contains(name), !counter.is_time()) << name;
    if (counter.is_time()) {
      EXPECT_TRUE(r["stages"].contains(std::string(counter.stage()) + "_seconds")) << name;
    }
  }
  EXPECT_GT(r["epochs"][29]["rows"], r["epochs"][29]["rows_remote"]);
  EXPECT_EQ(r["traffic"].size(), net::LinkTotals::counters().size() - 2);
  EXPECT_GT(r["scratch_bytes"], 0);
  EXPECT_GT(r["store_copied_bytes"], 4'000'000) << "there is room for a small store";
  for (const char* key : {"stages", "traffic", "job", "build", "hardware", "sampling_version"}) {
    EXPECT_TRUE(r.contains(key)) << key;
  }
  EXPECT_NE(run.out.find("epoch 30/30"), std::string::npos);
  EXPECT_EQ(run.out.find('\r'), std::string::npos) << "live output in a pipe";
}

TEST_F(Program, AMappedStoreIsNotCopiedAndChangesNothing) {
  const auto digest_with = [&](const char* memory, const char* launch, bool copied) {
    const auto run =
        troupe({"run", example("quickstart.json"), "--set", "output=" + output(), "--set",
                "train.epochs=1", "--overwrite", "--set", std::string("dataset.memory=") + memory,
                "--set", std::string("cluster.launch=") + launch});
    EXPECT_EQ(run.exit_code, 0) << run.err;
    const auto r = report();
    EXPECT_EQ(r["store_copied_bytes"] > 0, copied) << memory << ", " << launch;
    return r["digests"]["parameters"].get<std::string>();
  };
  const auto expected = digest_with("mapped", "simulate", false);
  EXPECT_EQ(digest_with("copied", "simulate", true), expected);
  EXPECT_EQ(digest_with("mapped", "local", false), expected);
  EXPECT_EQ(digest_with("auto", "local", true), expected);
}

TEST_F(Program, PreparedStoresAreReused) {
  const std::vector<std::string> arguments = {
      "run", example("quickstart.json"), "--set", "output=" + output(), "--set", "train.epochs=1"};
  const auto first = troupe(arguments);
  auto again = arguments;
  again.emplace_back("--overwrite");
  const auto second = troupe(again);

  EXPECT_NE(first.out.find("importing"), std::string::npos);
  EXPECT_NE(first.out.find("partitioning"), std::string::npos);
  EXPECT_EQ(second.exit_code, 0);
  EXPECT_EQ(second.out.find("importing"), std::string::npos);
  EXPECT_EQ(second.out.find("partitioning"), std::string::npos);
}

TEST_F(Program, AFolderWithADocumentIsImportedAgainWhereAnArrayOfItChanged) {
  const auto data = std::filesystem::path(folder()) / "data";
  std::filesystem::create_directories(data / "rows");
  testing::save_npy<std::int64_t>(data / "pairs.npy", {2, 3}, {0, 1, 2, /* to */ 1, 2, 0});
  testing::save_npy<std::int64_t>(data / "train.npy", {2}, {0, 2});
  testing::save_npy<std::int64_t>(data / "y.npy", {3}, {0, 1, 1});
  testing::write_all(data / "arrays.json", R"({
    "node_types": {"n": {"features": "rows/x.npy", "labels": "y.npy"}},
    "edge_types": {"e": {"source": "n", "destination": "n", "edges": "pairs.npy"}},
    "splits": {"": {"train": {"n": "train.npy"}}}})");
  const auto run_with = [&](float first) {
    testing::save_npy<float>(data / "rows" / "x.npy", {3, 1}, {first, 2, 3});
    return troupe({"run", example("quickstart.json"), "--overwrite", "--set", "output=" + output(),
                   "--set", "train.epochs=1", "--set", "dataset.path=" + data.string()});
  };
  const auto first = run_with(1);
  EXPECT_EQ(first.exit_code, 0) << first.err;
  EXPECT_NE(first.out.find("importing"), std::string::npos);
  const auto same = run_with(1);
  EXPECT_EQ(same.exit_code, 0) << same.err;
  EXPECT_EQ(same.out.find("importing"), std::string::npos) << same.out;
  const auto other = run_with(4);
  EXPECT_EQ(other.exit_code, 0) << other.err;
  EXPECT_NE(other.out.find("importing"), std::string::npos) << other.out;
}

TEST_F(Program, AFinishedRunIsNotReplacedUnlessAsked) {
  const std::vector<std::string> arguments = {
      "run", example("quickstart.json"), "--set", "output=" + output(), "--set", "train.epochs=1"};
  ASSERT_EQ(troupe(arguments).exit_code, 0);
  const auto model = std::filesystem::path(output()) / "model.safetensors";
  const auto written = std::filesystem::last_write_time(model);

  const auto second = troupe(arguments);
  auto both = arguments;
  both.insert(both.end(), {"--overwrite", "--resume"});

  EXPECT_EQ(second.exit_code, 3);
  EXPECT_NE(second.err.find("expected a folder without a finished run, found one in " + output()),
            std::string::npos)
      << second.err;
  EXPECT_EQ(std::filesystem::last_write_time(model), written);
  EXPECT_EQ(troupe(both).exit_code, 2);
  auto over = arguments;
  over.emplace_back("--overwrite");
  EXPECT_EQ(troupe(over).exit_code, 0);
  EXPECT_NE(std::filesystem::last_write_time(model), written);
}

TEST_F(Program, RunsIntoTheDefaultOutputStandBesideEachOtherAndShareTheStore) {
  const auto words = command_there({"run", example("quickstart.json"), "--set", "train.epochs=1"});
  const auto first = testing::run_process(words, folder());
  const auto second = testing::run_process(words, folder());

  EXPECT_NE(first.out.find("report in runs/quickstart/report.json"), std::string::npos)
      << first.out << first.err;
  EXPECT_NE(second.out.find("report in runs/quickstart-2/report.json"), std::string::npos)
      << second.out << second.err;
  EXPECT_EQ(second.out.find("importing"), std::string::npos) << second.out;
  EXPECT_EQ(second.out.find("partitioning"), std::string::npos) << second.out;
  std::ifstream in(folder() + "/runs/quickstart-2/report.json");
  const auto report = json::parse(in, nullptr, false);
  EXPECT_EQ(report["job"]["output"], "runs/quickstart-2");
}

TEST_F(Program, TheNewestUnfinishedRunIsResumedByDefault) {
  const auto arguments =
      command_there({"run", example("quickstart.json"), "--set", "train.epochs=40"});
  ASSERT_EQ(testing::run_process(arguments, folder()).exit_code, 0);
  {
    testing::Process run(arguments, folder());
    ASSERT_TRUE(run.wait_for_output("epoch  3/40", 60s));
    run.signal(SIGINT);
    ASSERT_EQ(run.wait().exit_code, 130);
  }
  auto again = arguments;
  again.emplace_back("--resume");

  const auto resumed = testing::run_process(again, folder());

  EXPECT_NE(resumed.out.find("resuming from runs/quickstart-2/checkpoints/step-"),
            std::string::npos)
      << resumed.out << resumed.err;
  EXPECT_NE(resumed.out.find("report in runs/quickstart-2/report.json"), std::string::npos);
}

TEST_F(Program, OnlyOneRunAtATimeWritesToAnOutput) {
  const std::vector<std::string> arguments = {"run",   example("quickstart.json"),
                                              "--set", "output=" + output(),
                                              "--set", "train.epochs=100000"};
  testing::Process run(command(arguments), folder());
  ASSERT_TRUE(run.wait_for_output("epoch      1/100000", 60s));

  const auto owner = fmt::format("in use by pid {} on ", run.pid());
  const auto second = troupe(arguments);

  run.signal(SIGKILL);
  run.wait();
  EXPECT_EQ(second.exit_code, 3);
  EXPECT_NE(second.err.find(owner), std::string::npos) << second.err;
}

TEST_F(Program, ReportAndMetricsNameTheRunAndEveryEvaluation) {
  const auto run = troupe({"run", example("quickstart.json"), "--set", "output=" + output(),
                           "--set", "train.epochs=5", "--set", "eval.every=2"});

  ASSERT_EQ(run.exit_code, 0) << run.err;
  const auto r = report();
  const auto start = r["start"].get<std::string>();
  EXPECT_EQ(start.size(), 20U) << start;
  EXPECT_EQ(start.back(), 'Z') << start;
  EXPECT_NE(r["command"].get<std::string>().find(" run "), std::string::npos);
  EXPECT_NE(r["command"].get<std::string>().find(" --set eval.every=2"), std::string::npos);
  EXPECT_EQ(r["hosts"].size(), 1U);
  EXPECT_GT(r["seconds_per_step"], 0);
  EXPECT_GE(r["seconds"]["total"], r["seconds"]["run"]);
  std::vector<json> lines;
  std::ifstream in(output() + "/metrics.jsonl");
  for (std::string line; std::getline(in, line);) {
    lines.push_back(json::parse(line, nullptr, false));
  }
  std::string kinds;
  for (const auto& line : lines) {
    kinds += line["kind"].get<std::string>() + " ";
    if (line["kind"] == "eval") {
      EXPECT_GT(line["seconds"], 0);
      EXPECT_TRUE(line["auc"].is_null());
    }
  }
  EXPECT_EQ(kinds, "start eval epoch epoch eval epoch epoch eval epoch eval eval end ");
  EXPECT_EQ(lines.front()["start"], r["start"]);
  EXPECT_EQ(lines.front()["command"], r["command"]);
  EXPECT_EQ(lines.back()["seconds_per_step"], r["seconds_per_step"]);
}

TEST_F(Program, JsonProgressIsOneObjectPerLine) {
  const auto run = troupe({"run", example("quickstart.json"), "--log", "json", "--set",
                           "output=" + output(), "--set", "train.epochs=3"});

  ASSERT_EQ(run.exit_code, 0) << run.err;
  std::istringstream lines(run.out);
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const auto event = json::parse(line, nullptr, false);
    ASSERT_TRUE(event.is_object()) << line;
    EXPECT_EQ(event["epoch"], count + 1);
  }
  EXPECT_EQ(count, 3U);
}

TEST_F(Program, BinaryLogitsTrainOnTwoClasses) {
  const auto run = troupe({"run", example("tolokers.json"), "--set", "output=" + output(), "--set",
                           "train.loss=bce_logits", "--set", "train.epochs=5"});

  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_GE(report()["scores"]["test"]["auc"], 0.7);
  EXPECT_LT(report()["epochs"][4]["loss"], report()["epochs"][0]["loss"]);
}

TEST_F(Program, AllProblemsOfAJobFileAreReportedAtOnce) {
  const auto job = write_file("bad.json", R"({
    "dataset": { "path": "nowhere" },
    "sample": { "fanout": [5, 5, 5], "batchsize": 7 },
    "model": { "layers": 2 },
    "train": { "epochs": "many" }
  })");

  const auto run = troupe({"run", job});

  EXPECT_EQ(run.exit_code, 2);
  for (const char* text :
       {"/dataset/path", "/sample/batchsize", "batch_size", "/train/epochs", "/sample/fanout"}) {
    EXPECT_NE(run.err.find(text), std::string::npos) << text << " is not in:\n" << run.err;
  }
}

TEST_F(Program, UsageErrorsExitWithTwo) {
  EXPECT_EQ(troupe({}).exit_code, 2);
  EXPECT_EQ(troupe({"fly"}).exit_code, 2);
  EXPECT_EQ(troupe({"run"}).exit_code, 2);
  EXPECT_EQ(troupe({"run", folder() + "/none.json"}).exit_code, 2);
}

TEST_F(Program, MisspeltWordsOfTheCommandLineGetTheNearestName) {
  const auto expect = [&](const std::vector<std::string>& words, const std::string& text) {
    const auto result = troupe(words);
    EXPECT_EQ(result.exit_code, 2) << text;
    EXPECT_NE(result.err.find(text), std::string::npos) << result.err;
  };
  expect({"rnu", "job.json"}, "troupe: expected a command, found rnu; did you mean run?");
  expect({"generate", "rmta"},
         "troupe generate: expected a command, found rmta; did you mean rmat?");
  expect({"run", example("quickstart.json"), "--resme"},
         "troupe run: expected an option, found --resme; did you mean --resume?");
  expect({"partition", "a", "b", "--methd=x"}, "did you mean --method?");
  expect({"partition", "a", "b", "--method", "metsi"}, "metis");
  expect({"run"}, "JOB is required");
}

TEST_F(Program, WhatIsCheapIsCheckedBeforeDataAreImported) {
  const auto expect = [&](int code, const std::vector<std::string>& words,
                          const std::string& text) {
    auto arguments = words;
    arguments.insert(arguments.begin() + 1,
                     {example("quickstart.json"), "--set", "output=" + output()});
    const auto result = troupe(arguments);
    EXPECT_EQ(result.exit_code, code) << result.err;
    EXPECT_NE(result.err.find(text), std::string::npos) << result.err;
    EXPECT_FALSE(std::filesystem::exists(output())) << text;
  };
  const auto plain = write_file("plain", "no program");
  expect(3, {"predict", "--model", folder() + "/none"}, "--model: expected a file, found none at ");
  expect(2, {"run", "--set", "cluster.launch=local", "--", folder() + "/none"},
         "/none: No such file");
  expect(2, {"run", "--set", "cluster.launch=local", "--", "no-such-program"},
         "No such file in PATH");
  expect(2, {"run", "--set", "cluster.launch=local", "--", plain}, "expected an executable file");
  expect(2,
         {"run", "--set", "cluster.launch=ssh", "--set",
          R"(cluster.hosts=["127.0.0.1", "no-such-host.invalid"])"},
         "can resolve, found no-such-host.invalid;");
}

TEST_F(Program, MorePartsThanNodesAreRefused) {
  const auto run = troupe({"run", example("quickstart.json"), "--set", "output=" + output(),
                           "--set", "partition.parts=2709"});

  EXPECT_EQ(run.exit_code, 2) << run.err;
  EXPECT_NE(run.err.find("2708"), std::string::npos) << run.err;
}

TEST_F(Program, HelpHasAnExampleEverywhereAndTheExitCodes) {
  const auto help = troupe({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_NE(help.out.find("130 interrupted"), std::string::npos);
  for (const char* name : {"run", "predict", "batches", "check", "import", "partition",
                           "add-features", "hotness", "inspect"}) {
    const auto one = troupe({name, "--help"});
    EXPECT_EQ(one.exit_code, 0) << name;
    EXPECT_NE(one.out.find(std::string("Example: troupe ") + name), std::string::npos) << one.out;
  }
  EXPECT_NE(troupe({"--version"}).out.find("troupe 0."), std::string::npos);
}

TEST_F(Program, CheckPrintsThePlanAndWithFullTheJobAndWritesNothing) {
  const std::vector<std::string> words{"check", example("quickstart.json"), "--set",
                                       "output=" + output()};
  const auto check = troupe(words);
  ASSERT_EQ(check.exit_code, 0) << check.err;
  for (const char* text : {"host 0", "host 1", "holder", "sampler", "collector", "trainer",
                           "memory", "time per epoch, without evaluation: ", "measured in 2 s"}) {
    EXPECT_NE(check.out.find(text), std::string::npos) << text << " is not in:\n" << check.out;
  }
  EXPECT_EQ(check.out.find("\"batches_in_flight\""), std::string::npos) << check.out;
  EXPECT_FALSE(std::filesystem::exists(output()));

  auto more = words;
  more.insert(more.end(), {"--full", "--measure", "0"});
  const auto full = troupe(more);
  ASSERT_EQ(full.exit_code, 0) << full.err;
  const auto job = full.out.find("\"seed_order\": \"global\"");
  EXPECT_NE(job, std::string::npos) << full.out;
  EXPECT_LT(full.out.find("host 0"), job);
  EXPECT_NE(full.out.find("not measured"), std::string::npos) << full.out;
}

TEST_F(Program, CheckPrintsWhatADeviceHolds) {
  const auto check = [&](const std::string& device, const std::string& budget) {
    return troupe({"check", example("quickstart.json"), "--measure", "0", "--set",
                   "output=" + output(), "--set", "partition.parts=1", "--set", "cluster.hosts=1",
                   "--set", "cluster.device=" + device, "--set",
                   "features.cache.device_budget=" + budget});
  };
  const auto tenth = check("emulated:1", "10%");
  ASSERT_EQ(tenth.exit_code, 0) << tenth.err;
  for (const char* text :
       {"memory of a device with 1 rank, at most: ", " of 4.0 GiB",
        "  neighbor lists: ", "  original ids and labels: ",
        "  rows of features (device_budget 10%, of 3.7 MiB): 379.0 KiB", "  batches in flight: ",
        "  activations and their gradients: ", "  parameters and optimizer: ",
        "pinned memory of the host: 3.3 MiB of rows", "  pinned for devices: 3.3 MiB"}) {
    EXPECT_NE(tenth.out.find(text), std::string::npos) << text << " is not in:\n" << tenth.out;
  }
  EXPECT_NE(check("emulated:1", "auto").out.find("pinned memory of the host: 0 B of rows"),
            std::string::npos);
  const auto small = check("emulated:1,6MiB", "100%");
  EXPECT_EQ(small.exit_code, 1) << small.err;
  EXPECT_NE(small.err.find("a device has too little memory: at most "), std::string::npos);
  EXPECT_NE(small.err.find("rows of features (device_budget 100%, of 3.7 MiB) 3.7 MiB"),
            std::string::npos)
      << small.err;
  EXPECT_EQ(check("emulated:1,6MiB", "0").exit_code, 0);
}

TEST_F(Program, CheckTakesTheTimeOfAnEpochFromTheReportOfTheSameJob) {
  const std::vector<std::string> settings{"--set", "train.epochs=2", "--set", "output=" + output()};
  std::vector<std::string> run{"run", example("quickstart.json")};
  run.insert(run.end(), settings.begin(), settings.end());
  ASSERT_EQ(troupe(run).exit_code, 0);
  const auto check = [&](const std::string& setting) {
    return troupe({"check", example("quickstart.json"), "--measure", "0", "--set",
                   "output=" + output(), "--set", setting})
        .out;
  };

  EXPECT_NE(check("train.epochs=30").find("as " + output() + "/report.json has it"),
            std::string::npos);
  EXPECT_EQ(check("model.hidden=32").find("report.json"), std::string::npos);
}

#ifndef __SANITIZE_ADDRESS__  // which takes memory of its own
TEST_F(Program, TheMemoryThatCheckNamesIsEnough) {
  for (const std::string name : {"quickstart", "local_worker"}) {
    const auto memory = testing::check_and_run(example(name + ".json"), {}, folder());
    EXPECT_TRUE(memory.holds() && memory.close())
        << name << ": said " << memory.said_bytes << ", measured " << memory.peak_bytes << "\n"
        << memory.output;
  }
}
#endif

TEST_F(Program, InspectFindsANodeByEitherId) {
  const auto store = folder() + "/store";
  const auto parts = folder() + "/parts";
  EXPECT_EQ(troupe({"import", "--from", "npy", example("data/cora"), store}).exit_code, 0);
  EXPECT_EQ(troupe({"partition", store, parts, "--parts", "3", "--order", "original"}).exit_code,
            0);
  const auto by_node = troupe({"inspect", parts, "--node", "17"});
  ASSERT_EQ(by_node.exit_code, 0) << by_node.err;
  const auto at = by_node.out.find("node 17: global id ");
  ASSERT_NE(at, std::string::npos) << by_node.out;
  const auto global = std::to_string(std::stoull(by_node.out.substr(at + 19)));
  const auto by_global = troupe({"inspect", parts, "--global", global});
  EXPECT_EQ(by_global.out, by_node.out);
  EXPECT_NE(by_node.out.find("5 in-neighbours"), std::string::npos) << by_node.out;

  const auto missing = troupe({"inspect", parts, "--node", "2708"});
  EXPECT_EQ(missing.exit_code, 3);
  EXPECT_NE(missing.err.find("expected an id below 2708"), std::string::npos) << missing.err;
  EXPECT_EQ(troupe({"inspect", parts, "--node", "1", "--global", "1"}).exit_code, 2);
}

TEST_F(Program, InspectDrawsDegreesAndSizes) {
  const auto store = folder() + "/store";
  const auto parts = folder() + "/parts";
  EXPECT_EQ(troupe({"import", "--from", "npy", example("data/cora"), store}).exit_code, 0);
  EXPECT_EQ(troupe({"partition", store, parts, "--parts", "3"}).exit_code, 0);
  for (const auto& from : {store, parts}) {
    const auto plots = from + "-plots";
    const auto drawn = troupe({"inspect", from, "--plots", plots});
    ASSERT_EQ(drawn.exit_code, 0) << drawn.err;
    const std::filesystem::path made(plots);
    EXPECT_GT(std::filesystem::file_size(made / "degrees.svg"), 1000U);
    EXPECT_EQ(std::filesystem::exists(made / "sizes.svg"), from == parts);
    EXPECT_EQ(troupe({"inspect", from, "--plots", plots}).exit_code, 3) << "the folder exists";
  }
}

TEST_F(Program, HotnessPrintsWhatCachesHoldAndWritesTheProbabilities) {
  const auto store = folder() + "/store";
  EXPECT_EQ(troupe({"import", "--from", "npy", example("data/cora"), store}).exit_code, 0);
  const auto out = folder() + "/hot.npy";
  const auto hotness =
      troupe({"hotness", store, "--fanout", "10,10", "--batch-size", "64", "--out", out});
  ASSERT_EQ(hotness.exit_code, 0) << hotness.err;
  EXPECT_NE(hotness.out.find("1664 of 2708 can be in one"), std::string::npos) << hotness.out;
  EXPECT_EQ(std::filesystem::file_size(out), 128 + 2708 * sizeof(float));
  const auto missing = troupe({"hotness", store, "--split", "other"});
  EXPECT_EQ(missing.exit_code, 3);
  EXPECT_NE(missing.err.find("other"), std::string::npos) << missing.err;
}

TEST_F(Program, ImportPartitionAndInspectWorkTogether) {
  const auto store = folder() + "/store";
  const auto parts = folder() + "/parts";

  EXPECT_EQ(troupe({"import", "--from", "npy", example("data/cora"), store}).exit_code, 0);
  EXPECT_EQ(troupe({"partition", store, parts, "--parts", "3"}).exit_code, 0);
  const auto inspect = troupe({"inspect", parts, "--verify"});
  const auto run =
      troupe({"run", example("quickstart.json"), "--set", "output=" + output(), "--set",
              "dataset.path=" + parts, "--set", "partition.parts=3", "--set", "train.epochs=1"});

  EXPECT_EQ(inspect.exit_code, 0) << inspect.err;
  EXPECT_NE(inspect.out.find("3 parts by random"), std::string::npos) << inspect.out;
  EXPECT_NE(inspect.out.find("2708"), std::string::npos);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(troupe({"import", example("data/cora"), store}).exit_code, 3) << "it exists";
}

TEST_F(Program, ImportSaysWhatItDidNotTakeAndRefusesOptionsThatCannotAct) {
  const auto source = folder() + "/ogb";
  std::filesystem::create_directories(source + "/raw");
  const auto write = [&](const std::string& name, const std::string& text) {
    std::ofstream(source + "/raw/" + name) << text;
  };
  write("num-node-list.csv", "2\n");
  write("num-edge-list.csv", "1\n");
  write("edge.csv", "0,1\n");
  write("node-feat.csv", "1\n3\n");
  write("node_year.csv", "2010\n2011\n");

  const auto import =
      troupe({"import", "--from", "ogb", "--feature-dtype", "u8", source, folder() + "/store"});
  const auto refused = troupe({"import", "--from", "edgelist", "--normalize", "row",
                               source + "/raw/edge.csv", folder() + "/other"});

  EXPECT_EQ(import.exit_code, 0) << import.err;
  EXPECT_NE(import.out.find("features 1 x u8"), std::string::npos) << import.out;
  EXPECT_NE(import.out.find("not taken: raw/node_year.csv\n"), std::string::npos) << import.out;
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.err.find("--normalize"), std::string::npos) << refused.err;
}

TEST_F(Program, ImportTakesWeightsAndTimesOfAnEdgeListByTheirColumns) {
  const auto edges = folder() + "/edges.txt";
  std::ofstream(edges) << "0 1 0.5 120\n2 1 2 -3\n";

  const auto import = troupe({"import", "--from", "edgelist", "--weight-column", "2",
                              "--time-column", "3", edges, folder() + "/store"});
  const auto refused =
      troupe({"import", "--from", "edgelist", "--weights", "2", edges, folder() + "/other"});

  EXPECT_EQ(import.exit_code, 0) << import.err;
  EXPECT_TRUE(std::filesystem::exists(folder() + "/store/edges-edge/in/weights.npy"));
  EXPECT_TRUE(std::filesystem::exists(folder() + "/store/edges-edge/in/times.npy"));
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.err.find("--weights: expected a format that reads it"), std::string::npos)
      << refused.err;
}

TEST_F(Program, ImportTakesNamedColumnsOfSeveralEdgeLists) {
  const auto edges = folder() + "/edges.txt";
  std::ofstream(edges) << "0 1 0.5 120\n2 1 2 -3\n1 3 1e-3 0\n";

  const auto import = troupe({"import", "--from", "edgelist", "--edge-columns", "rate=2,day=3:i32",
                              edges, edges, folder() + "/store"});
  const auto refused = troupe(
      {"import", "--from", "edgelist", "--named-columns", "day", edges, folder() + "/other"});

  EXPECT_EQ(import.exit_code, 0) << import.err;
  EXPECT_NE(import.out.find("edges edge: 6 (node -> node), columns rate f32, day i32"),
            std::string::npos)
      << import.out;
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.err.find("--named-columns: expected a format that reads it (ogb, dgl, "
                             "graphbolt), got edgelist"),
            std::string::npos)
      << refused.err;
}

TEST_F(Program, ADifferentPartitionSectionThanTheStoresIsAnError) {
  const auto store = folder() + "/store";
  const auto parts = folder() + "/parts";
  ASSERT_EQ(troupe({"import", example("data/cora"), store}).exit_code, 0);
  ASSERT_EQ(troupe({"partition", store, parts, "--parts", "3"}).exit_code, 0);

  const auto run = troupe({"run", example("quickstart.json"), "--set", "output=" + output(),
                           "--set", "dataset.path=" + parts});

  const auto by_key = [&](const std::string& setting) {
    const auto job = write_file("job.json", fmt::format(R"({{
      "dataset": {{ "path": "{}" }}, "sample": {{ "fanout": [5, 5] }},
      "model": {{ "layers": 2 }}, "train": {{ "epochs": 1 }}, "output": "{}" }})",
                                                        parts, output()));
    return troupe({"run", job, "--set", setting});
  };
  const auto seed = by_key("partition.seed=5");
  const auto same = by_key("partition.parts=3");

  EXPECT_EQ(run.exit_code, 3);
  EXPECT_NE(run.err.find("/partition/parts: the job has 2, the store 3"), std::string::npos)
      << run.err;
  EXPECT_EQ(seed.exit_code, 3);
  EXPECT_NE(seed.err.find("/partition/seed: the job has 5, the store 0"), std::string::npos)
      << seed.err;
  EXPECT_EQ(same.exit_code, 0) << same.err;
}

TEST_F(Program, ACorruptStoreIsRefusedWithTheFilesName) {
  const auto store = folder() + "/store";
  const auto parts = folder() + "/parts";
  ASSERT_EQ(troupe({"import", example("data/cora"), store}).exit_code, 0);
  ASSERT_EQ(troupe({"partition", store, parts, "--parts", "2"}).exit_code, 0);
  const auto victim = parts + "/part-1/nodes-node/features.npy";
  {
    std::fstream file(victim, std::ios::in | std::ios::out | std::ios::binary);
    ASSERT_TRUE(file.is_open());
    file.seekp(5000);
    file.put('\x7f');
  }

  const auto run = troupe({"run", example("quickstart.json"), "--set", "output=" + output(),
                           "--set", "dataset.path=" + parts});

  EXPECT_EQ(run.exit_code, 3) << run.out;
  EXPECT_NE(run.err.find("features.npy"), std::string::npos) << run.err;
}

TEST_F(Program, CtrlCStopsSoonAndSaysHowToGoOn) {
  testing::Process run(command({"run", example("quickstart.json"), "--set", "output=" + output(),
                                "--set", "train.epochs=100000"}),
                       folder());
  ASSERT_TRUE(run.wait_for_output("epoch      3/100000", 60s));
  const auto began = std::chrono::steady_clock::now();

  run.signal(SIGINT);
  const auto result = run.wait();

  EXPECT_LT(std::chrono::steady_clock::now() - began, 10s);
  EXPECT_EQ(result.exit_code, 130);
  EXPECT_NE(result.err.find("interrupted; go on from " + output() + "/checkpoints/step-"),
            std::string::npos)
      << result.err;
  EXPECT_NE(result.err.find("--resume"), std::string::npos) << result.err;
  EXPECT_EQ(report()["status"], "interrupted");
}

/// The metrics of a run without times and amounts of work, which of an interrupted epoch count only
/// what was done since.
std::vector<json> metrics_of(const std::string& output) {
  std::vector<json> lines;
  std::ifstream in(output + "/metrics.jsonl");
  for (std::string line; std::getline(in, line);) {
    auto value = json::parse(line, nullptr, false);
    std::erase_if(*value.get_ptr<json::object_t*>(), [](const auto& entry) {
      static const std::set<std::string> results = {"kind",     "epoch", "step", "global_step",
                                                    "loss",     "lr",    "best", "valid",
                                                    "accuracy", "last",  "role", "world"};
      return !results.contains(entry.first);
    });
    lines.push_back(std::move(value));
  }
  return lines;
}

TEST_F(Program, AnInterruptedRunGoesOnToTheBitsOfTheUndisturbedOne) {
  const auto job = [&](const std::string& name) {
    return command({"run", example("quickstart.json"), "--set", "output=" + folder() + "/" + name,
                    "--set", "train.epochs=12", "--set", "log_every=1"});
  };
  ASSERT_EQ(testing::run_process(job("whole"), folder()).exit_code, 0);
  const auto whole = json::parse(std::ifstream(folder() + "/whole/report.json"));
  auto again = job("out");
  {
    testing::Process run(again, folder());
    ASSERT_TRUE(run.wait_for_output("epoch  2/12", 60s));
    run.signal(SIGTERM);
    ASSERT_EQ(run.wait().exit_code, 130);
  }
  again.emplace_back("--resume");

  const auto rest = testing::run_process(again, folder());

  ASSERT_EQ(rest.exit_code, 0) << rest.err;
  EXPECT_NE(rest.out.find("resuming from"), std::string::npos) << rest.out;
  EXPECT_EQ(report()["digests"], whole["digests"]);
  EXPECT_EQ(report()["scores"], whole["scores"]);
  EXPECT_TRUE(metrics_of(output()) == metrics_of(folder() + "/whole"));
  EXPECT_EQ(metrics_of(output()).size(), 1U + 12U * 3U + 12U * 2U + 2U + 1U);
}

/// What of a report does not depend on the time it took, as pointers and values.
std::map<std::string, json> lasting(json report) {
  for (const char* key : {"seconds", "stages", "traffic", "hardware", "notes", "start", "command",
                          "seconds_per_step", "scratch_bytes"}) {
    report.erase(key);
  }
  for (auto& epoch : report["epochs"]) {
    for (const char* key :
         {"seconds", "eval_seconds", "wait_share", "cache_hit_rate", "cache_hit_rate_at_best"}) {
      epoch.erase(key);
    }
  }
  std::map<std::string, json> values;
  const auto flat = report.flatten();
  for (const auto& entry : flat.items()) {
    values.emplace(entry.key(), entry.value());
  }
  return values;
}

TEST_F(Program, AResumedRunReportsWhatTheUndisturbedOneDoes) {
  const std::vector<std::string> arguments = {"run",   example("quickstart.json"),
                                              "--set", "output=" + output(),
                                              "--set", "train.epochs=60",
                                              "--set", "eval.every=10",
                                              "--set", "checkpoint.every.epochs=11",
                                              "--set", "checkpoint.keep=10"};
  const auto undisturbed = troupe(arguments);
  ASSERT_EQ(undisturbed.exit_code, 0) << undisturbed.err;
  const auto right = report();
  std::uint64_t best = 0;
  for (const auto& epoch : right["epochs"]) {
    best = epoch["best"] ? epoch["epoch"].get<std::uint64_t>() : best;
  }
  EXPECT_EQ(right["best_epoch"], best);
  std::vector<std::uint64_t> steps;
  const auto folder = std::filesystem::path(output()) / "checkpoints";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    steps.push_back(std::stoull(entry.path().filename().string().substr(5)));
  }
  std::ranges::sort(steps);
  ASSERT_GE(steps.size(), 2U);

  // After epoch 22, which is not evaluated, and after epoch 11, which is.
  for (const std::size_t kept : {2U, 1U}) {
    for (const auto step : steps) {
      if (step > steps[kept - 1]) {
        std::filesystem::remove_all(folder / fmt::format("step-{}", step));
      }
    }
    auto again = arguments;
    again.emplace_back("--resume");
    const auto resumed = troupe(again);
    ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
    EXPECT_NE(resumed.out.find(fmt::format("step-{}", steps[kept - 1])), std::string::npos)
        << resumed.out;

    EXPECT_EQ(lasting(report()), lasting(right)) << "after epoch " << 11 * kept;
  }
}

TEST_F(Program, AKilledRunGoesOnAndATornCheckpointIsSkippedByName) {
  auto job = command({"run", example("quickstart.json"), "--set", "output=" + output(), "--set",
                      "train.epochs=12", "--set", "checkpoint.every.steps=1", "--set",
                      "checkpoint.keep=3"});
  ASSERT_EQ(testing::run_process(job, folder()).exit_code, 0);
  const auto digests = report()["digests"];
  std::filesystem::remove_all(output());
  {
    testing::Process run(job, folder());
    ASSERT_TRUE(run.wait_for_output("epoch  4/12", 60s));
    run.signal(SIGKILL);
    run.wait();
  }
  std::uint64_t newest = 0;
  std::string step;  // killed while it was replaced, it is under its other name
  for (const auto& entry : std::filesystem::directory_iterator(output() + "/checkpoints")) {
    const auto name = entry.path().filename().string();
    const auto number = std::stoull(name.substr(5));
    const auto plain = "step-" + std::to_string(number);
    if (number >= newest && (name == plain || (name == plain + ".old" && step != plain))) {
      newest = number;
      step = name;
    }
  }
  ASSERT_GT(newest, 0U);
  const auto torn = output() + "/checkpoints/" + step + "/optimizer.safetensors";
  std::filesystem::resize_file(torn, std::filesystem::file_size(torn) / 2);
  job.emplace_back("--resume");

  const auto rest = testing::run_process(job, folder());

  ASSERT_EQ(rest.exit_code, 0) << rest.err;
  EXPECT_NE(rest.err.find("skipped checkpoint " + step + ": "), std::string::npos) << rest.err;
  EXPECT_EQ(report()["digests"], digests);
}

TEST_F(Program, ResumingIsRefusedWithoutACheckpointOrWithAnotherJob) {
  const auto run = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {
        "run",   example("quickstart.json"), "--set", "output=" + output(),
        "--set", "train.epochs=2",           "--set", "checkpoint.every.epochs=1"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return troupe(arguments);
  };
  const auto nothing = run({"--resume"});
  ASSERT_EQ(run({}).exit_code, 0);
  const auto other = run({"--resume", "--set", "seed=77"});

  EXPECT_EQ(nothing.exit_code, 3) << nothing.out;
  EXPECT_NE(nothing.err.find("checkpoint"), std::string::npos) << nothing.err;
  EXPECT_EQ(other.exit_code, 3) << other.out;
  EXPECT_NE(other.err.find("/seed: was 1, is 77"), std::string::npos) << other.err;
}

TEST_F(Program, ResumingIsRefusedWhereTheStoreWasMadeAnew) {
  const auto input = folder() + "/input";
  const auto store = folder() + "/store";
  std::filesystem::copy(example("data/cora"), input);
  ASSERT_EQ(troupe({"import", input, store}).exit_code, 0);
  const auto run = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {
        "run",   example("quickstart.json"), "--set", "output=" + output(),
        "--set", "dataset.path=" + store,    "--set", "train.epochs=2",
        "--set", "checkpoint.every.epochs=1"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return troupe(arguments);
  };
  ASSERT_EQ(run({}).exit_code, 0);
  const auto same = run({"--resume"});
  std::filesystem::remove_all(store);
  {
    std::fstream labels(input + "/y.npy", std::ios::in | std::ios::out | std::ios::binary);
    labels.seekp(128);
    const char found = static_cast<char>(labels.peek());
    labels.seekp(128);
    labels.put(found == 1 ? '\2' : '\1');
  }
  ASSERT_EQ(troupe({"import", input, store}).exit_code, 0);
  const auto other = run({"--resume"});

  EXPECT_EQ(same.exit_code, 0) << same.err;
  EXPECT_EQ(other.exit_code, 3) << other.out;
  EXPECT_NE(other.err.find("checkpoint: expected the store"), std::string::npos) << other.err;
}

}  // namespace
}  // namespace troupe
