// What `troupe run` leaves in its output folder, and `troupe predict`.
#include "tests/support/expect.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/npy_reader.hpp"
#include "tests/support/process.hpp"
#include "tests/support/scratch_folder.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace troupe {
namespace {

using nlohmann::json;

class ProgramOutputs : public ::testing::Test {
 protected:
  /// Runs the program; `command` is split at spaces, "@" stands for the test's folder and "%" for the
  /// examples.
  testing::ProcessResult troupe(const std::string& command) const {
    std::vector<std::string> arguments{TROUPE_PROGRAM};
    const std::map<char, std::string> folders = {{'@', folder()},
                                                 {'%', TROUPE_SOURCE_DIR "/examples"}};
    std::istringstream words(command);
    for (std::string word; words >> word;) {
      for (const auto& [sign, folder_of] : folders) {
        if (const auto at = word.find(sign); at != std::string::npos) {
          word.replace(at, 1, folder_of);
        }
      }
      arguments.push_back(word);
    }
    return testing::run_process(arguments, folder());
  }
  testing::ProcessResult run(const std::string& more = "") const {
    return troupe("run %/quickstart.json --set output=@/out --set train.epochs=4 " + more);
  }
  testing::ProcessResult predict(const std::string& more) const {
    return troupe("predict %/quickstart.json --set output=@/out --model @/out/model.safetensors " +
                  more);
  }
  void expect_refused(const std::string& more, int exit_code, const std::string& text) const {
    const auto refused = predict(more);
    EXPECT_EQ(refused.exit_code, exit_code) << more;
    EXPECT_NE(refused.err.find(text), std::string::npos) << more << ": " << refused.err;
    EXPECT_FALSE(exists("out/predict")) << more;
  }
  std::string folder() const { return scratch_.path().string(); }
  bool exists(const std::string& name) const {
    return std::filesystem::exists(scratch_.path() / name);
  }
  std::string read(const std::string& name) const {
    return testing::file_text(scratch_.path() / name);
  }
  json read_json(const std::string& name) const { return json::parse(read(name), nullptr, false); }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(scratch_.path() / name, std::ios::binary) << text;
  }
  testing::NpyArray array(const std::string& name) const {
    return testing::read_npy(scratch_.path() / name);
  }

  testing::ScratchFolder scratch_;
};

TEST_F(ProgramOutputs, PredictionsOfTheTestSeedsGiveTheReportedAccuracy) {
  ASSERT_EQ(run().exit_code, 0);

  const auto ids = array("out/node_ids.npy").as<std::size_t>();
  const auto predictions = array("out/predictions.npy");
  const auto logits = predictions.as<float>();
  const auto labels =
      testing::read_npy(std::string(TROUPE_SOURCE_DIR) + "/examples/data/cora/y.npy")
          .as<std::size_t>();
  ASSERT_EQ(predictions.shape, (std::vector<std::size_t>{1000, 7}));
  ASSERT_EQ(ids.size(), 1000U);
  double right = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto row = logits.begin() + static_cast<std::ptrdiff_t>(i * 7);
    const auto best = static_cast<std::size_t>(std::max_element(row, row + 7) - row);
    right += best == labels[ids[i]] ? 1 : 0;
  }
  EXPECT_EQ(right / 1000, read_json("out/report.json")["scores"]["test"]["accuracy"]);
}

TEST_F(ProgramOutputs, PredictGivesTheBytesOfTheRunOnAnyCluster) {
  ASSERT_EQ(run().exit_code, 0);

  const auto same = predict("");
  const auto other = predict("--out @/other --set cluster.hosts=1 --set partition.parts=4");

  ASSERT_EQ(same.exit_code, 0) << same.err;
  ASSERT_EQ(other.exit_code, 0) << other.err;
  for (const std::string file : {"predictions.npy", "node_ids.npy"}) {
    EXPECT_EQ(read("out/predict/" + file), read("out/" + file));
    EXPECT_EQ(read("other/" + file), read("out/" + file));
  }
  const auto digest = read_json("out/report.json")["digests"]["best_parameters"];
  EXPECT_NE(same.out.find("parameters " + digest.get<std::string>()), std::string::npos)
      << same.out;
}

TEST_F(ProgramOutputs, PredictComputesInOneProcessWhereAllAreOnThisHost) {
  ASSERT_EQ(run().exit_code, 0);

  expect_refused("--set cluster.launch=slurm", 2, "inside an allocation");
  const auto local = predict("--set cluster.launch=local");
  const auto listed = predict(
      "--set cluster.launch=simulate --set "
      "cluster.hosts=[\"10.0.0.1\",\"10.0.0.2\"] --out @/listed");

  ASSERT_EQ(local.exit_code, 0) << local.err;
  EXPECT_NE(local.out.find("in one process"), std::string::npos) << local.out;
  EXPECT_EQ(read("out/predict/predictions.npy"), read("out/predictions.npy"));
  EXPECT_EQ(listed.exit_code, 0) << listed.err;
}

TEST_F(ProgramOutputs, PredictTakesAnyListOfNodesEachOnce) {
  ASSERT_EQ(run().exit_code, 0);
  write("nodes.txt", "2707\n0\n2707\n1300\n");

  const auto listed = predict("--nodes @/nodes.txt --out @/some");
  const auto again = predict("--nodes @/some/node_ids.npy --out @/again");
  const auto roles = predict("--nodes train val --out @/roles --embeddings");

  ASSERT_EQ(listed.exit_code, 0) << listed.err;
  EXPECT_NE(listed.out.find("1 of the ids were given before"), std::string::npos) << listed.out;
  EXPECT_EQ(array("some/node_ids.npy").as<int>(), (std::vector<int>{2707, 0, 1300}));
  EXPECT_EQ(array("some/predictions.npy").shape, (std::vector<std::size_t>{3, 7}));
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(read("again/predictions.npy"), read("some/predictions.npy"));
  ASSERT_EQ(roles.exit_code, 0) << roles.err;
  EXPECT_EQ(array("roles/predictions.npy").shape, (std::vector<std::size_t>{640, 64}));
}

TEST_F(ProgramOutputs, NodesThatCannotBeAreRefusedByName) {
  ASSERT_EQ(run("--set train.epochs=1").exit_code, 0);
  write("far.txt", "1\n2708\n");
  write("negative.txt", "-1\n");
  write("empty.txt", "");

  expect_refused("--nodes @/far.txt", 2, "line 2: expected a node id from 0 to 2707, found");
  expect_refused("--nodes @/negative.txt", 2, "line 1: expected a node id from 0 to 2707");
  expect_refused("--nodes @/empty.txt", 2, "expected at least one");
  expect_refused("--nodes @/none.npy", 3, "none.npy");
  expect_refused("--nodes everyone", 2, "found \"everyone\"");
  expect_refused("--nodes test --names", 3, "--names: expected names of \"node\" nodes in ");
}

TEST_F(ProgramOutputs, OptionsAreCheckedBeforeTheData) {
  write("model", "of no use yet");
  write("file", "no folder");
  const std::string command = "predict %/quickstart.json --set output=@/new --model @/model ";
  for (const auto& [more, text] : std::vector<std::pair<std::string, std::string>>{
           {"--top 3", "--top: expected a job that learns links"},
           {"--links test", "--links: expected a job that learns links"},
           {"--learned", "--learned: expected a job with \"embedding\""},
           {"--nodes @/none.npy", "--nodes: expected a file, found none at "},
           {"--embeddings --set model.layers=1 --set sample.fanout=[5]", "--embeddings: "},
           {"--out @/file", "--out: "}}) {
    const auto refused = troupe(command + more);
    EXPECT_NE(refused.exit_code, 0) << more;
    EXPECT_NE(refused.err.find(text), std::string::npos) << more << ": " << refused.err;
    EXPECT_FALSE(exists("new")) << more;
  }
}

TEST_F(ProgramOutputs, AReportIsWrittenBesideItsPlaceUnderANewName) {
  std::filesystem::create_directory(scratch_.path() / "out");
  write("precious", "text");
  std::filesystem::create_symlink(scratch_.path() / "precious",
                                  scratch_.path() / "out" / "report.json.partial");
  ASSERT_EQ(run("--set train.epochs=1").exit_code, 0);
  EXPECT_EQ(read("precious"), "text");
  EXPECT_FALSE(std::filesystem::is_symlink(scratch_.path() / "out" / "report.json"));
  EXPECT_EQ(read_json("out/report.json")["status"], "done");
}

/// As on a full disk.
TEST_F(ProgramOutputs, AModelThatCannotBeWrittenLeavesScoresAndDigests) {
  const std::string checkpoint = "--set checkpoint.every.epochs=1 ";
  ASSERT_EQ(run(checkpoint + "--set train.epochs=1").exit_code, 0);
  std::filesystem::remove(scratch_.path() / "out" / "model.safetensors");
  std::filesystem::create_directories(scratch_.path() / "out" / "model.safetensors" / "no file");
  const auto failed = run(checkpoint + "--set train.epochs=2 --resume");
  EXPECT_EQ(failed.exit_code, 3);
  EXPECT_NE(failed.err.find("training has ended, but its model is lost; the newest checkpoint is "),
            std::string::npos)
      << failed.err;
  EXPECT_NE(failed.err.find("then --resume"), std::string::npos) << failed.err;
  EXPECT_NE(failed.out.find("\nparameters "), std::string::npos) << failed.out;
  const auto report = read_json("out/report.json");
  EXPECT_EQ(report["status"], "failed");
  EXPECT_TRUE(report["digests"]["best_parameters"].is_string());
  EXPECT_TRUE(report["scores"]["test"]["accuracy"].is_number());
}

TEST_F(ProgramOutputs, ALossThatIsNotFiniteEndsTheRunAtItsStep) {
  const auto failed = run(
      "--set checkpoint.every.steps=1 --set train.optimizer.lr=1000 --set train.optimizer.kind=sgd "
      "--set train.optimizer.weight_decay=1000 --set train.epochs=100");

  EXPECT_EQ(failed.exit_code, 3);
  EXPECT_NE(failed.err.find("training: the loss of step "), std::string::npos) << failed.err;
  EXPECT_NE(failed.err.find("train.clip"), std::string::npos) << failed.err;
}

TEST_F(ProgramOutputs, ResumingWithAnotherModelNamesTheKey) {
  ASSERT_EQ(run("--set checkpoint.every.epochs=1 --set train.epochs=1").exit_code, 0);

  const auto refused = run("--set checkpoint.every.epochs=1 --set model.hidden=9 --resume");

  EXPECT_EQ(refused.exit_code, 3);
  EXPECT_NE(refused.err.find("/model/hidden: was 64, is 9"), std::string::npos) << refused.err;
  EXPECT_EQ(refused.err.find("is skipped"), std::string::npos) << refused.err;
}

TEST_F(ProgramOutputs, ModelsThatDoNotFitTheJobAreRefused) {
  ASSERT_EQ(run("--set train.epochs=1").exit_code, 0);
  write("torn.safetensors", read("out/model.safetensors").substr(0, 1000));

  expect_refused("--set model.hidden=32", 2, "expected a model of hidden 32, found 64");
  expect_refused("--set model.kind=gcn", 2, "expected a model of kind gcn, found graphsage");
  expect_refused("--model @/torn.safetensors", 2, "--model");  // given twice
  const auto torn =
      troupe("predict %/quickstart.json --set output=@/out --model @/torn.safetensors");
  EXPECT_EQ(torn.exit_code, 3);
  EXPECT_NE(torn.err.find("torn.safetensors"), std::string::npos) << torn.err;
  const auto none = troupe("predict %/quickstart.json --set output=@/out --model @/none");
  EXPECT_EQ(none.exit_code, 3);
  EXPECT_NE(none.err.find("none"), std::string::npos) << none.err;
  EXPECT_EQ(troupe("predict %/quickstart.json").exit_code, 2) << "--model is required";
}

TEST_F(ProgramOutputs, EmbeddingsNeedALayerBeforeTheLast) {
  const std::string one = "--set sample.fanout=[5] --set model.layers=1";
  ASSERT_EQ(run("--set train.epochs=1 " + one).exit_code, 0);

  expect_refused("--embeddings " + one, 2, "expected a model of 2 layers or more");
  EXPECT_EQ(predict(one).exit_code, 0);
}

TEST_F(ProgramOutputs, IsolatedNodesHavePredictionsToo) {
  ASSERT_EQ(
      troupe("generate rmat @/graph --nodes 500 --edges 100 --features 4 --classes 3 --train 50")
          .exit_code,
      0);
  write("job.json", R"({"dataset": {"path": "graph"}, "sample": {"fanout": [3, 3]},
                        "cluster": {"hosts": 2}, "train": {"epochs": 1}})");
  const auto trained = troupe("run @/job.json --set output=@/out");
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_FALSE(exists("out/predictions.npy")) << "there are no test seeds";

  const auto all =
      troupe("predict @/job.json --set output=@/out --model @/out/model.safetensors --nodes all");

  ASSERT_EQ(all.exit_code, 0) << all.err;
  EXPECT_EQ(array("out/predict/predictions.npy").shape, (std::vector<std::size_t>{500, 3}));
  for (const float value : array("out/predict/predictions.npy").as<float>()) {
    ASSERT_EQ(value, value) << "not a number";
  }
}

/// A model without layers compares rows as they are: features, and learned columns after them.
TEST_F(ProgramOutputs, RowsWithoutLayersAreThoseOfTheRun) {
  const std::string job =
      " --set task.kind=unsupervised --set task.negatives.kind=triplet --set train.loss=bce "
      "--set eval.metric=auc --set model.layers=0 "
      "--set model.dropout=0 --set model.input_dropout=0 --set sample.fanout=[0] "
      "--set embedding.node.dim=6 --set output=@/out ";
  const std::string model = job + "--model @/out/model.safetensors ";
  ASSERT_EQ(troupe("run %/quickstart.json --set train.epochs=2" + job).exit_code, 0);
  const auto rows = array("out/predictions.npy");
  ASSERT_EQ(rows.shape, (std::vector<std::size_t>{2708, 1433 + 6}));

  const auto all = troupe("predict %/quickstart.json --nodes all" + model);
  ASSERT_EQ(all.exit_code, 0) << all.err;
  EXPECT_NE(all.out.find("rows of 2708 \"node\" nodes, 1439 columns"), std::string::npos)
      << all.out;
  for (const std::string file : {"predictions.npy", "node_ids.npy"}) {
    EXPECT_TRUE(read("out/predict/" + file) == read("out/" + file)) << file;
  }

  write("nodes.txt", "2707\n0\n");
  const auto learned = troupe(
      "predict %/quickstart.json --learned --nodes @/nodes.txt --out @/learned "
      "--set cluster.hosts=1 --set partition.parts=3" +
      model);
  ASSERT_EQ(learned.exit_code, 0) << learned.err;
  EXPECT_NE(learned.out.find("learned rows of 2 \"node\" nodes, 6 columns"), std::string::npos);
  const auto found = array("learned/predictions.npy").as<float>();
  const auto expected = rows.as<float>();
  ASSERT_EQ(found.size(), 12U);
  for (std::size_t c = 0; c < 6; ++c) {
    EXPECT_EQ(found[c], expected[2707 * 1439 + 1433 + c]);
    EXPECT_EQ(found[6 + c], expected[1433 + c]);
  }

  const auto other = troupe("predict %/quickstart.json --nodes all --node-type paper" + model);
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_NE(
      other.err.find("--node-type: expected \"node\", found \"paper\"; others are not compared"),
      std::string::npos)
      << other.err;
  const auto both = troupe("predict %/quickstart.json --nodes all --embeddings --learned" + model);
  EXPECT_EQ(both.exit_code, 2);
}

/// Beside a model with layers the rows that it reads.
TEST_F(ProgramOutputs, LearnedRowsOfAModelWithLayers) {
  const std::string rows = "--set embedding.node.dim=4 ";
  ASSERT_EQ(run(rows + "--set train.epochs=1").exit_code, 0);
  expect_refused("--learned", 2, "--learned: expected a job with \"embedding\", found none");
  const auto learned = predict(rows + "--learned --nodes all");
  ASSERT_EQ(learned.exit_code, 0) << learned.err;
  EXPECT_EQ(array("out/predict/predictions.npy").shape, (std::vector<std::size_t>{2708, 4}));
  const auto values = array("out/predict/predictions.npy").as<float>();
  EXPECT_GT(std::ranges::count_if(values, [](float value) { return value != 0; }), 2708 * 3);

  std::filesystem::resize_file(scratch_.path() / "out" / "learned-1.bin", 100);
  const auto torn = predict(rows + "--learned --nodes all --out @/torn");
  EXPECT_NE(torn.exit_code, 0);
  EXPECT_NE(torn.err.find("learned-1.bin"), std::string::npos) << torn.err;
  EXPECT_FALSE(exists("torn"));
}

/// Without links of a split edges are what is known.
TEST_F(ProgramOutputs, PartnersOfPairsOnWalksAreNoNeighbors) {
  const std::string job =
      "%/deepwalk/cora.json --set output=@/out --set train.epochs=1 --set task.walk.length=5 "
      "--set task.walk.window=2 --set task.walk.per_seed=1 ";
  const auto ran = troupe("run " + job);
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const std::string top =
      "predict " + job + "--model @/out/model.safetensors --nodes all --top 5 --leave-out ";
  ASSERT_EQ(troupe(top + "train").exit_code, 0);
  const auto ends = testing::read_npy(TROUPE_SOURCE_DIR "/examples/data/cora/edge_index.npy");
  const auto nodes = ends.as<std::int32_t>();
  std::set<std::pair<std::int64_t, std::int64_t>> edges;
  for (std::size_t i = 0; i < nodes.size() / 2; ++i) {
    edges.emplace(nodes[i], nodes[nodes.size() / 2 + i]);
  }
  const auto partners = array("out/predict/partners.npy").as<std::int64_t>();
  ASSERT_EQ(partners.size(), 2708U * 5);
  for (std::size_t i = 0; i < partners.size(); ++i) {
    EXPECT_FALSE(edges.contains({static_cast<std::int64_t>(i / 5), partners[i]})) << i / 5;
  }
  const auto none = troupe(top + "val");
  EXPECT_NE(none.out.find("--leave-out val: the split \"\" has no links of these types"),
            std::string::npos)
      << none.out;
}

TEST_F(ProgramOutputs, AnOutputFolderHoldsNoPredictionsOfAnEarlierRun) {
  ASSERT_EQ(run("--set train.epochs=1").exit_code, 0);
  EXPECT_TRUE(exists("out/predictions.npy") && exists("out/node_ids.npy"));
  EXPECT_FALSE(exists("out/trace.json"));

  ASSERT_EQ(run("--overwrite --set train.epochs=1 --set eval.predictions=false").exit_code, 0);

  EXPECT_FALSE(exists("out/predictions.npy") || exists("out/node_ids.npy"));
}

TEST_F(ProgramOutputs, ATraceIsWrittenIfAskedForAndChangesNoDigest) {
  ASSERT_EQ(run().exit_code, 0);
  const auto plain = read_json("out/report.json")["digests"];

  ASSERT_EQ(run("--overwrite --set trace=true").exit_code, 0);

  EXPECT_EQ(read_json("out/report.json")["digests"], plain);
  const auto trace = read_json("out/trace.json");
  EXPECT_EQ(trace["otherData"]["dropped_events"], 0);
  EXPECT_GT(trace["traceEvents"].size(), 500U);
}

TEST_F(ProgramOutputs, EveryProcessWritesATraceOfItsOwn) {
  ASSERT_EQ(run().exit_code, 0);
  const auto plain = read_json("out/report.json")["digests"];

  ASSERT_EQ(run("--overwrite --set trace=true --set cluster.launch=local").exit_code, 0);

  EXPECT_EQ(read_json("out/report.json")["digests"], plain);
  EXPECT_GT(read_json("out/trace.json")["traceEvents"].size(), 4U);
  for (const std::string file : {"out/trace-host-0.json", "out/trace-host-1.json"}) {
    EXPECT_GT(read_json(file)["traceEvents"].size(), 200U) << file;
  }
}

TEST_F(ProgramOutputs, ATraceOfARunThatFailsIsWrittenToo) {
  const auto failed =
      run("--set trace=true --set train.optimizer.kind=sgd --set train.optimizer.lr=1000 "
          "--set train.optimizer.weight_decay=1000");

  ASSERT_NE(failed.exit_code, 0);
  EXPECT_TRUE(read_json("out/trace.json").is_object());
}

}  // namespace
}  // namespace troupe
