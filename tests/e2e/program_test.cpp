// Runs of the program: output, exit codes, reports, and errors before the start.
#include "runtime/wire/membership.hpp"
#include "runtime/wire/messages.hpp"
#include "tests/e2e/program_fixture.hpp"
#include "tests/runtime/graph/store_fixture.hpp"
#include "tests/support/expect.hpp"

#include <chrono>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <signal.h>

namespace troupe {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

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
        troupe({"run", quick_job(), "--set", "output=" + output(), "--set", "train.epochs=1",
                "--overwrite", "--set", std::string("dataset.memory=") + memory, "--set",
                std::string("cluster.launch=") + launch});
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
      "run", quick_job(), "--set", "output=" + output(), "--set", "train.epochs=1"};
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
    return troupe({"run", quick_job(), "--overwrite", "--set", "output=" + output(), "--set",
                   "train.epochs=1", "--set", "dataset.path=" + data.string()});
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
      "run", quick_job(), "--set", "output=" + output(), "--set", "train.epochs=1"};
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
  const auto words = command_there({"run", quick_job(), "--set", "train.epochs=1"});
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
  const auto arguments = command_there({"run", quick_job(), "--set", "train.epochs=40"});
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
  const std::vector<std::string> arguments = {
      "run", quick_job(), "--set", "output=" + output(), "--set", "train.epochs=100000"};
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
  const auto run = troupe({"run", quick_job(), "--set", "output=" + output(), "--set",
                           "train.epochs=5", "--set", "eval.every=2"});

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
  const auto run = troupe({"run", quick_job(), "--log", "json", "--set", "output=" + output(),
                           "--set", "train.epochs=3"});

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
  expect({"run", quick_job(), "--resme"},
         "troupe run: expected an option, found --resme; did you mean --resume?");
  expect({"partition", "a", "b", "--methd=x"}, "did you mean --method?");
  expect({"partition", "a", "b", "--method", "metsi"}, "metis");
  expect({"run"}, "JOB is required");
}

TEST_F(Program, WhatIsCheapIsCheckedBeforeDataAreImported) {
  const auto expect = [&](int code, const std::vector<std::string>& words,
                          const std::string& text) {
    auto arguments = words;
    arguments.insert(arguments.begin() + 1, {quick_job(), "--set", "output=" + output()});
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
  expect(2, {"run", "--", "./none"}, "cannot start ./none: No such file; try: its whole path");
  expect(2, {"run", "--", "none"}, "No such file in PATH; try: ./none if it is in this folder");
  expect(2,
         {"run", "--set", "cluster.launch=ssh", "--set",
          R"(cluster.hosts=["127.0.0.1", "no-such-host.invalid"])"},
         "can resolve, found no-such-host.invalid;");
  for (const auto* command : {"run", "check"}) {
    expect(2,
           {command, "--set", "cluster.launch=ssh", "--set",
            R"(cluster.hosts=["127.0.0.1", "localhost"])", "--set", "checkpoint.copies=2"},
           "checkpoint.copies: expected at most 1, on this host and on those of cluster.hosts that "
           "are others, found 2");
  }
}

TEST_F(Program, ARunThatItsDataRefuseLeavesNoLock) {
  const auto result =
      troupe({"run", quick_job(), "--set", "output=" + output(), "--set", "dataset.split=none"});

  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_TRUE(std::filesystem::exists(output() + "/store")) << "the data were imported";
  EXPECT_FALSE(std::filesystem::exists(output() + "/run.lock"));
}

TEST_F(Program, ClosedStandardDescriptorsAreNotTakenByFiles) {
  auto words =
      command({"run", quick_job(), "--set", "output=" + output(), "--set", "train.epochs=1"});
  words.insert(words.begin(), {"/bin/sh", "-c", "exec \"$@\" <&- >&- 2>&-", "sh"});

  EXPECT_EQ(testing::run_process(words, folder()).exit_code, 0);

  std::ifstream in(output() + "/run.lock");
  std::string line;
  std::getline(in, line);
  EXPECT_TRUE(line.starts_with("pid ")) << line;
  EXPECT_EQ(report()["status"], "done");
}

TEST_F(Program, OutputThatCannotBeWrittenIsAnError) {
  auto words = command({"check", quick_job(), "--measure", "0"});
  words.insert(words.begin(), {"/bin/sh", "-c", "exec \"$@\" > /dev/full", "sh"});

  const auto result = testing::run_process(words, folder());

  EXPECT_EQ(result.exit_code, 3) << result.err;
  EXPECT_NE(result.err.find("standard output: expected to write all lines"), std::string::npos)
      << result.err;
}

TEST_F(Program, AWorkingFolderThatIsGoneIsReported) {
  std::filesystem::create_directory(folder() + "/gone");
  std::vector<std::string> words = {"/bin/sh", "-c", "cd \"$0\" && rmdir \"$0\" && exec \"$@\"",
                                    folder() + "/gone"};
  const auto run = command({"run", quick_job()});
  words.insert(words.end(), run.begin(), run.end());

  const auto result = testing::run_process(words, folder());

  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_NE(result.err.find("expected a working folder"), std::string::npos) << result.err;
}

TEST_F(Program, ASubmissionThatFailsLeavesTheRunBeforeItToBeResumed) {
  std::filesystem::create_directory(folder() + "/bin");
  const auto sbatch = write_file("bin/sbatch", "#!/bin/sh\nexit 1\n");
  std::filesystem::permissions(sbatch, std::filesystem::perms::owner_all);
  auto words = command_there({"submit", quick_job(), "--set", "cluster.launch=slurm"});
  words.insert(words.begin(),
               {"/bin/sh", "-c", "PATH=\"$0:$PATH\" exec \"$@\"", folder() + "/bin"});

  const auto result = testing::run_process(words, folder());

  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_FALSE(std::filesystem::exists(folder() + "/runs/quickstart/submit.sbatch"));
  EXPECT_TRUE(std::filesystem::exists(folder() + "/runs/quickstart/run.lock")) << result.err;
}

TEST_F(Program, MorePartsThanNodesAreRefused) {
  const auto run =
      troupe({"run", quick_job(), "--set", "output=" + output(), "--set", "partition.parts=2709"});

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

}  // namespace
}  // namespace troupe
