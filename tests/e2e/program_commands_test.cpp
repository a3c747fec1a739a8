// Commands beside runs: check, inspect, hotness, import.
#include "tests/e2e/program_fixture.hpp"
#include "tests/support/checked_memory.hpp"
#include "tests/support/expect.hpp"

#include <filesystem>
#include <fmt/format.h>
#include <fstream>

namespace troupe {
namespace {

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

TEST_F(Program, CheckRefusesWhatARunWould) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> jobs = {
      {{"sample.on=device"}, "sample.on: \"device\": cluster.device is \"cpu\""},
      {{"features.cache.policy=hotness", "features.cache.ratio=0.1"}, "/partition/order: expected"},
      {{"sample.drop_last=true", "sample.seed_order=local", "sample.batch_size=100"},
       "/sample/drop_last: expected false where 140 seeds, shared by 2 ranks, fill no batch"},
      {{"partition.method=file", "partition.file=nope.npy"},
       "/partition/file: expected a file, found none at "},
      {{"cluster.launch=local", "cluster.listen=nonsense"}, "/cluster/listen: expected"}};
  for (const auto& [settings, text] : jobs) {
    std::vector<std::string> words{quick_job(), "--set", "output=" + output()};
    for (const auto& setting : settings) {
      words.insert(words.end(), {"--set", setting});
    }
    for (const std::string command : {"check", "run"}) {
      auto all = words;
      all.insert(all.begin(), command);
      if (command == "check") {
        all.insert(all.end(), {"--measure", "0"});
      }
      const auto refused = troupe(all);
      EXPECT_EQ(refused.exit_code, 2) << command << ' ' << text << '\n' << refused.err;
      EXPECT_NE(refused.err.find(text), std::string::npos) << command << '\n' << refused.err;
    }
  }
}

TEST_F(Program, CheckNamesWhyAJobIsForUserProgramsAlone) {
  const std::vector<std::string> words{quick_job(), "--set", "output=" + output(), "--set",
                                       "features.collect=false"};
  const auto with_command = [&](const char* command) {
    auto all = words;
    all.insert(all.begin(), command);
    return troupe(all);
  };
  const auto check = with_command("check");
  EXPECT_EQ(check.exit_code, 0) << check.err;
  EXPECT_NE(check.out.find("which the job's batches are for: /features/collect is false"),
            std::string::npos)
      << check.out;
  EXPECT_NE(check.out.find("`troupe run JOB` alone refuses it"), std::string::npos) << check.out;
  EXPECT_EQ(with_command("run").exit_code, 2);
}

TEST_F(Program, ARunThatIsRefusedLeavesTheFinishedOneWhole) {
  const auto overwrite = [&](const std::string& setting) {
    return troupe(
        {"run", quick_job(), "--set", "output=" + output(), "--set", setting, "--overwrite"});
  };
  ASSERT_EQ(overwrite("train.epochs=2").exit_code, 0);
  const auto whole = report();

  EXPECT_EQ(overwrite("sample.on=device").exit_code, 2);

  EXPECT_EQ(report(), whole);
  for (const char* file : {"model.safetensors", "predictions.npy", "node_ids.npy"}) {
    EXPECT_TRUE(std::filesystem::exists(output() + "/" + file)) << file;
  }
  EXPECT_EQ(overwrite("train.epochs=1").exit_code, 0);
  EXPECT_EQ(report()["epochs"].size(), 1U);
}

TEST_F(Program, CheckNamesTheHostsThatKeepCheckpoints) {
  const auto check = troupe({"check", example("quickstart.json"), "--measure", "0", "--set",
                             "output=" + output(), "--set", "cluster.launch=ssh", "--set",
                             R"(cluster.hosts=["127.0.0.1", "192.0.2.7", "192.0.2.8"])", "--set",
                             "checkpoint.copies=3"});

  ASSERT_EQ(check.exit_code, 0) << check.err;
  EXPECT_NE(check.out.find("\ncheckpoints: kept here and on 192.0.2.7, 192.0.2.8\n"),
            std::string::npos)
      << check.out;
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

TEST_F(Program, OptionsWithoutEffectAreRefused) {
  const auto store = folder() + "/store";
  ASSERT_EQ(troupe({"import", "--from", "npy", example("data/cora"), store}).exit_code, 0);
  const auto expect_refused = [&](std::vector<std::string> arguments, const std::string& text) {
    const auto refused = troupe(std::move(arguments));
    EXPECT_NE(refused.exit_code, 0) << text;
    EXPECT_NE((refused.out + refused.err).find(text), std::string::npos) << refused.err;
  };
  expect_refused({"inspect", store, "--type", "node"}, "--type: expected --node or --global");
  expect_refused({"inspect", store, "--node", "-1"}, "expected a number from 0 on, found -1");
  expect_refused({"inspect", store + "/graph.json"},
                 "expected the folder of a store, found a file");
  expect_refused({"hotness", store, "--links"}, "--links: expected links to train in the split");
  expect_refused({"check", quick_job(), "--measure", "nan"}, "--measure: expected a number");
  expect_refused({"simulate", "--seed", "18446744073709551615", "--count", "3"},
                 "--count: expected seeds below 2^64");
  expect_refused({"batches", quick_job(), "--out", ""}, "expected the name of a folder to make");
}

TEST_F(Program, TemporaryFoldersAreThoseOfTmpdir) {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"simulate", "--seed", "1"}, {"check", quick_job(), "--set", "output=" + output()}}) {
    auto words = command(arguments);
    words.insert(words.begin(), {"/usr/bin/env", "TMPDIR=" + folder() + "/none"});
    const auto failed = testing::run_process(words, folder());
    EXPECT_EQ(failed.exit_code, 3) << failed.err;
    EXPECT_NE(failed.err.find("TMPDIR: expected a folder for temporary files"), std::string::npos)
        << failed.err;
    std::filesystem::create_directory(folder() + "/temporary");
    words[1] = "TMPDIR=" + folder() + "/temporary";
    EXPECT_EQ(testing::run_process(words, folder()).exit_code, 0);
    EXPECT_TRUE(std::filesystem::remove(folder() + "/temporary")) << "it is empty";
  }
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

}  // namespace
}  // namespace troupe
