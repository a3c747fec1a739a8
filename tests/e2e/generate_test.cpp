// `troupe generate`: a graph made up, cut, looked at and learned, by the program alone.
#include "tests/support/expect.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/process.hpp"
#include "tests/support/scratch_folder.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

namespace troupe {
namespace {

class Generate : public ::testing::Test {
 protected:
  /// Runs the program; `command` is split at spaces, and "@" stands for the test's folder.
  testing::ProcessResult troupe(const std::string& command) const {
    std::vector<std::string> arguments{TROUPE_PROGRAM};
    std::istringstream words(command);
    for (std::string word; words >> word;) {
      if (word.starts_with('@')) {
        word.replace(0, 1, folder());
      }
      arguments.push_back(word);
    }
    return testing::run_process(arguments, folder());
  }
  testing::ProcessResult rmat(const std::string& out, const std::string& more = "") const {
    return troupe("generate rmat @/" + out +
                  " --nodes 1000 --edges 5000 --features 4 --classes 3 --train 50 " + more);
  }
  /// What takes minutes.
  std::vector<std::string> large(const std::string& out) const {
    return {TROUPE_PROGRAM, "generate", "rmat",       folder() + "/" + out, "--nodes",
            "1000000",      "--edges",  "4000000000", "--threads",          "1"};
  }
  /// Of the test seeds, after a few epochs with the fanouts.
  double accuracy_of_a_run(const std::string& fanout) const {
    std::ofstream(folder() + "/job.json")
        << R"({ "dataset": { "path": "graph" }, "sample": { "fanout": )" << fanout
        << R"(, "batch_size": 128 }, "model": { "hidden": 32, "dropout": 0.3 },
              "train": { "epochs": 10, "optimizer": { "lr": 0.01 } },
              "eval": { "mode": "sampled" }, "output": ")"
        << folder() << "/out\" }";
    const auto ran = troupe("run @/job.json --overwrite");
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    const auto report = nlohmann::json::parse(read("out/report.json"), nullptr, false);
    return report.is_object() ? report["scores"]["test"]["accuracy"].get<double>() : 0;
  }
  std::string folder() const { return scratch_.path().string(); }
  std::string read(const std::string& file) const {
    return testing::file_text(folder() + "/" + file);
  }

  testing::ScratchFolder scratch_;
};

TEST_F(Generate, AGraphGoesThroughPartitionAndInspect) {
  const auto made = rmat("store", "--symmetrize --memory 1MB");
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_NE(made.out.find("edges edge: 10000"), std::string::npos) << made.out;

  ASSERT_EQ(troupe("partition @/store @/parts").exit_code, 0);
  const auto seen = troupe("inspect @/parts --verify");
  EXPECT_EQ(seen.exit_code, 0) << seen.err;
  EXPECT_NE(seen.out.find("10000"), std::string::npos) << seen.out;
  EXPECT_NE(seen.out.find("train 50"), std::string::npos) << seen.out;
}

TEST_F(Generate, NumPyFilesAreImportedToTheSameLists) {
  const auto made = rmat("graph", "--npy --labels learnable");
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_NE(made.out.find("1000 nodes, 5000 edges"), std::string::npos) << made.out;
  ASSERT_EQ(troupe("import --from npy @/graph @/imported").exit_code, 0);
  ASSERT_EQ(rmat("store").exit_code, 0);

  for (const std::string file : {"edges-edge/in/offsets", "edges-edge/in/neighbours",
                                 "nodes-node/features", "nodes-node/labels"}) {
    EXPECT_EQ(read("store/" + file + ".npy"), read("imported/" + file + ".npy")) << file;
    EXPECT_NE(read("store/" + file + ".npy"), "") << file;
  }
}

TEST_F(Generate, TheNumberOfThreadsDoesNotChangeTheFiles) {
  ASSERT_EQ(rmat("one", "--threads 1").exit_code, 0);
  ASSERT_EQ(rmat("three", "--threads 3").exit_code, 0);

  EXPECT_EQ(read("one/graph.json"), read("three/graph.json")) << "it has all checksums";
  EXPECT_NE(read("one/graph.json"), "");
}

TEST_F(Generate, NeighboursTellMoreAboutTheBlocksOfSbmThanFeaturesAlone) {
  ASSERT_EQ(troupe("generate sbm @/graph --nodes 3000 --edges 15000 --classes 6 --symmetrize "
                   "--train 0.2 --val 0.1 --test 0.3")
                .exit_code,
            0);

  const auto with = accuracy_of_a_run("[10, 10]");
  const auto alone = accuracy_of_a_run("[0, 0]");

  EXPECT_GT(with, 0.75);
  EXPECT_LT(alone, 0.5);
}

TEST_F(Generate, LabelsOfAHeterogeneousGraphAreLearned) {
  ASSERT_EQ(troupe("generate heterogeneous @/graph --nodes 4000 --train 0.2 --test 0.3").exit_code,
            0);

  const auto with = accuracy_of_a_run("[5, 5]");
  const auto alone = accuracy_of_a_run("[0, 0]");

  EXPECT_GT(with, 0.75);
  EXPECT_LT(alone, 0.6);
}

TEST_F(Generate, FeaturesThatAreAddedLaterGiveTheRunOfOneStage) {
  ASSERT_EQ(troupe("generate heterogeneous @/graph --nodes 2000 --train 0.2 --test 0.3").exit_code,
            0);
  ASSERT_EQ(troupe("partition @/graph @/one --parts 2").exit_code, 0);
  ASSERT_EQ(troupe("partition @/graph @/two --parts 2 --features later").exit_code, 0);
  std::ofstream(folder() + "/job.json") << R"({ "dataset": { "path": "one" },
    "sample": { "fanout": [5, 5], "batch_size": 128 }, "model": { "hidden": 16 },
    "train": { "epochs": 1 }, "eval": { "mode": "sampled" }, "output": "out" })";
  const auto digests = [this](const std::string& store) {
    const auto ran = troupe("run @/job.json --set dataset.path=" + store +
                            " --set output=" + folder() + "/out-" + store);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    const auto report =
        nlohmann::json::parse(read("out-" + store + "/report.json"), nullptr, false);
    return report.is_object() ? report["digests"] : nlohmann::json();
  };

  ASSERT_EQ(troupe("add-features @/graph @/two --part 1").exit_code, 0);
  const auto early = troupe("run @/job.json --set dataset.path=two");
  EXPECT_EQ(early.exit_code, 3) << early.err;
  EXPECT_NE(early.err.find("expected the features of part 0"), std::string::npos) << early.err;
  EXPECT_NE(early.err.find("try: troupe add-features STORE "), std::string::npos) << early.err;
  const auto seen = troupe("inspect @/two --verify");
  EXPECT_NE(seen.out.find("parts with their features: 1; without: 0"), std::string::npos)
      << seen.out << seen.err;
  ASSERT_EQ(troupe("add-features @/graph @/two --part 0").exit_code, 0);

  const auto one_stage = digests("one");
  ASSERT_TRUE(one_stage.is_object());
  EXPECT_EQ(digests("two"), one_stage);
  EXPECT_EQ(troupe("add-features @/graph @/two").exit_code, 3) << "they are there";
}

TEST_F(Generate, ASchemaIsReadFromAFile) {
  std::ofstream(folder() + "/schema.json") << R"({ "classes": 2,
    "node_types": { "a": { "count": 50, "features": 3, "labels": true }, "b": { "count": 9 } },
    "edge_types": { "to": { "source": "b", "destination": "a", "edges": 200 } } })";

  const auto made = troupe("generate heterogeneous @/graph --schema @/schema.json");

  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_NE(made.out.find("edges to: 200 (b -> a)"), std::string::npos) << made.out;
  EXPECT_EQ(troupe("generate heterogeneous @/x --schema @/schema.json --nodes 9").exit_code, 2);
  EXPECT_EQ(troupe("generate heterogeneous @/x --schema @/none.json").exit_code, 3);
}

TEST_F(Generate, ArgumentsThatCannotBeAreUsageErrorsByName) {
  const auto quadrants = rmat("graph", "--a 0.7");
  EXPECT_EQ(quadrants.exit_code, 2);
  EXPECT_NE(quadrants.err.find("a + b + c: expected less than 1"), std::string::npos)
      << quadrants.err;

  const auto seeds = troupe("generate rmat @/graph --nodes 10 --edges 1 --train 11");
  EXPECT_EQ(seeds.exit_code, 2);
  EXPECT_NE(seeds.err.find("train: expected at most 10"), std::string::npos) << seeds.err;

  const auto share = troupe("generate sbm @/graph --nodes 10 --edges 1 --classes 2 --train 1.5");
  EXPECT_EQ(share.exit_code, 2);
  EXPECT_NE(share.err.find("train: expected a number of nodes such as 140, or a share"),
            std::string::npos)
      << share.err;

  const auto lots = rmat("graph", "--memory lots");
  EXPECT_EQ(lots.exit_code, 2);
  EXPECT_NE(lots.err.find("one of B, KB, KiB, MB"), std::string::npos) << lots.err;
  const auto four = rmat("graph", "--memory 4");
  EXPECT_EQ(four.exit_code, 2);
  EXPECT_NE(four.err.find("expected at least 64KB, got 4 bytes\ntry: a unit"), std::string::npos)
      << four.err;
  EXPECT_EQ(rmat("graph", "--labels other").exit_code, 2);
  EXPECT_EQ(rmat("graph", "--npy --feature-dtype u8").exit_code, 2);
  EXPECT_EQ(rmat("graph", "--threads -1").exit_code, 2);
  const auto negative = troupe("generate rmat @/graph --nodes 10 --edges -1");
  EXPECT_EQ(negative.exit_code, 2);
  EXPECT_NE((negative.out + negative.err).find("expected a number from 0 on, found -1"),
            std::string::npos)
      << negative.err;
  EXPECT_EQ(troupe("generate rmat @/graph --edges 1").exit_code, 2);
  EXPECT_EQ(troupe("generate").exit_code, 2);
  EXPECT_FALSE(std::filesystem::exists(folder() + "/graph"));
}

TEST_F(Generate, BlocksAreWrittenAsNumPyFilesToo) {
  const auto made = troupe("generate sbm @/npy --nodes 100 --edges 300 --classes 2 --npy");
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_EQ(troupe("generate sbm @/store --nodes 100 --edges 300 --classes 2").exit_code, 0);
  ASSERT_EQ(troupe("import --from npy @/npy @/imported").exit_code, 0);
  EXPECT_EQ(testing::file_text(folder() + "/imported/nodes-node/labels.npy"),
            testing::file_text(folder() + "/store/nodes-node/labels.npy"));
}

TEST_F(Generate, AnExistingFolderIsADataError) {
  ASSERT_EQ(rmat("graph").exit_code, 0);

  const auto again = rmat("graph");

  EXPECT_EQ(again.exit_code, 3);
  EXPECT_NE(again.err.find("exists"), std::string::npos) << again.err;
}

TEST_F(Generate, HelpOfEachKindHasAnExampleAndTheSharedOptions) {
  for (const std::string kind : {"rmat", "powerlaw", "sbm", "heterogeneous"}) {
    const auto help = troupe("generate " + kind + " --help");

    EXPECT_EQ(help.exit_code, 0);
    EXPECT_NE(help.out.find("Example: troupe generate " + kind), std::string::npos) << help.out;
    for (const char* option :
         {"--nodes", "--features", "--feature-dtype", "--classes", "--homophily", "--noise",
          "--train", "--val", "--test", "--symmetrize", "--memory", "--seed", "--threads"}) {
      EXPECT_NE(help.out.find(option), std::string::npos) << kind << " " << option;
    }
  }
}

/// Names that begin with `name` in the test's folder.
std::size_t count(const std::string& folder, const std::string& name) {
  const std::filesystem::directory_iterator all(folder);
  return static_cast<std::size_t>(std::count_if(begin(all), end(all), [&](const auto& entry) {
    return entry.path().filename().string().starts_with(name);
  }));
}

/// Waits for a name that begins so.
bool begins(const std::string& folder, const std::string& name) {
  for (int i = 0; i < 2000 && count(folder, name) == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return count(folder, name) > 0;
}

TEST_F(Generate, ASignalEndsACommandAtOnceAndLeavesNothing) {
  for (const int signal : {SIGTERM, SIGINT}) {
    testing::Process process(large("store"), folder());
    ASSERT_TRUE(begins(folder(), "store"));
    process.signal(signal);

    const auto ended = process.wait();

    EXPECT_EQ(ended.exit_code, 130);
    EXPECT_EQ(ended.err, "troupe: interrupted\n");
    EXPECT_EQ(count(folder(), "store"), 0U);
  }
}

TEST_F(Generate, WhatAKilledCommandLeftGoesWithTheNext) {
  {
    testing::Process process(large("store"), folder());
    ASSERT_TRUE(begins(folder(), "store"));
    process.signal(SIGKILL);
    EXPECT_EQ(process.wait().exit_code, 128 + SIGKILL);
  }
  ASSERT_EQ(count(folder(), "store.tmp-"), 1U);

  EXPECT_EQ(rmat("store").exit_code, 0);

  EXPECT_EQ(count(folder(), "store"), 1U);
}

}  // namespace
}  // namespace troupe
