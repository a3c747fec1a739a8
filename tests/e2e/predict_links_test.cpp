// `troupe predict --links`: what a trained model says of pairs of nodes, beside the scores that its run reports.
#include "tests/e2e/program_fixture.hpp"
#include "tests/sim/link_files.hpp"
#include "tests/support/npy_reader.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace troupe {
namespace {

using Settings = std::vector<std::string>;
using Numbers = std::vector<std::int64_t>;

/// Users like the items of their third: links are labeled by how far the thirds of both ends are apart.
class PredictLinks : public Program {
 protected:
  static constexpr std::int64_t users = 60;
  static constexpr std::int64_t items = 45;

  void SetUp() override {
    Numbers edges;
    std::vector<Numbers> links(4);  // of each role, and false ones to test
    std::vector<Numbers> labels(3);
    for (std::int64_t i = 0; i < 900; ++i) {
      const auto user = i * 7 % users;
      const auto item = i % 10 == 0 ? i % items : (3 * (i * i % 15) + user % 3) % items;
      const std::size_t role = i % 9 == 4 ? 1 : i % 9 == 7 ? 2 : 0;
      if (role == 0) {
        edges.insert(edges.end(), {user, item});
      }
      links[role].insert(links[role].end(), {user, item});
      labels[role].push_back((user % 3 + 3 - item % 3) % 3);
      if (role == 2) {
        links[3].insert(links[3].end(), {user, (item + 1) % items});
      }
    }
    std::filesystem::create_directory(data());
    testing::write_numbers(data() + "/edges.npy", 2, edges);
    const std::vector<std::string> names{"train", "val", "test", "false"};
    for (std::size_t role = 0; role < names.size(); ++role) {
      testing::write_numbers(data() + "/" + names[role] + ".npy", 2, links[role]);
      if (role < labels.size()) {
        testing::write_column(data() + "/" + names[role] + "_labels.npy", labels[role]);
      }
    }
    write_file("data/arrays.json", R"({
      "node_types": {"user": {"count": 60}, "item": {"count": 45}},
      "edge_types": {"likes": {"source": "user", "destination": "item", "edges": "edges.npy",
                               "reverse_edges": true}},
      "links": {"": {"train": {"likes": {"ends": "train.npy", "labels": "train_labels.npy"}},
                     "val": {"likes": {"ends": "val.npy", "labels": "val_labels.npy"}},
                     "test": {"likes": {"ends": "test.npy", "labels": "test_labels.npy"}}}}})");
    write_file("job.json", R"({
      "dataset": {"path": "data"}, "partition": {"parts": 2}, "cluster": {"hosts": 2},
      "sample": {"fanout": [5, 5], "batch_size": 64},
      "embedding": {"user": {"dim": 8}, "item": {"dim": 8}},
      "model": {"kind": "rgcn", "layers": 2, "hidden": 16},
      "train": {"epochs": 6}, "eval": {"mode": "exact"}, "seed": 3})");
  }

  std::string data() const { return folder() + "/data"; }
  std::vector<std::string> with_job(const std::string& command, const Settings& settings) const {
    std::vector<std::string> arguments{command, folder() + "/job.json"};
    for (const auto& setting : settings) {
      arguments.insert(arguments.end(), {"--set", setting});
    }
    arguments.insert(arguments.end(), {"--set", "output=" + output()});
    return arguments;
  }
  testing::ProcessResult run(const Settings& settings) const {
    return troupe(with_job("run", settings));
  }
  testing::ProcessResult predict(const Settings& settings,
                                 const std::vector<std::string>& more) const {
    auto arguments = with_job("predict", settings);
    arguments.insert(arguments.end(), {"--model", output() + "/model.safetensors"});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return troupe(arguments);
  }
  std::vector<float> outputs(const std::string& in = "out/predict") const {
    return testing::read_npy(scratch_.path() / in / "predictions.npy").as<float>();
  }
  Numbers ids(const std::string& in = "out/predict") const {
    return testing::read_npy(scratch_.path() / in / "links.npy").as<std::int64_t>();
  }
  /// The best items of all users have the scores that --links gives them, and are none that the users had.
  void expect_best(const Settings& task, std::size_t k) const {
    const auto top =
        predict(task, {"--nodes", "all", "--top", std::to_string(k), "--out", folder() + "/best"});
    ASSERT_EQ(top.exit_code, 0) << top.err;
    EXPECT_NE(top.out.find("the 5 best of 45 \"item\" nodes for each of 60 \"user\" nodes"),
              std::string::npos)
        << top.out;
    const auto best = testing::read_npy(scratch_.path() / "best" / "partners.npy");
    ASSERT_EQ(best.shape, (std::vector<std::size_t>{users, k}));
    const auto partners = best.as<std::int64_t>();
    const auto ends = testing::read_npy(data() + "/train.npy").as<std::int64_t>();
    std::set<std::pair<std::int64_t, std::int64_t>> known;
    for (std::size_t i = 0; i < ends.size(); i += 2) {
      known.emplace(ends[i], ends[i + 1]);
    }
    Numbers pairs;
    for (std::int64_t user = 0; user < users; ++user) {
      for (std::size_t i = 0; i < k; ++i) {
        const auto item = partners[static_cast<std::size_t>(user) * k + i];
        EXPECT_FALSE(known.contains({user, item})) << user << ", " << item;
        pairs.insert(pairs.end(), {user, item});
      }
    }
    std::filesystem::remove(folder() + "/best.npy");
    testing::write_numbers(folder() + "/best.npy", 2, pairs);
    const auto scored = predict(task, {"--links", folder() + "/best.npy"});
    ASSERT_EQ(scored.exit_code, 0) << scored.err;
    EXPECT_EQ(outputs(), outputs("best"));
  }
  double reported(const char* score) const {
    return report()["scores"]["test"][score].get<double>();
  }
};

/// Share of pairs of a link and a false one in which the link is above; level ones count half.
double auc_of(const std::vector<float>& links, const std::vector<float>& others) {
  double above = 0;
  for (const float link : links) {
    for (const float other : others) {
      above += link > other ? 1 : link == other ? 0.5 : 0;
    }
  }
  return above / static_cast<double>(links.size() * others.size());
}

TEST_F(PredictLinks, ClassesOfEdgesGiveTheReportedAccuracy) {
  const Settings task{"task.kind=edge", "task.classes=3", "task.reverse=rev_likes"};
  const auto ran = run(task);
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const auto predicted = predict(task, {"--links", "test"});
  ASSERT_EQ(predicted.exit_code, 0) << predicted.err;
  EXPECT_NE(predicted.out.find("logits of 100 links, 3 columns, in "), std::string::npos)
      << predicted.out;
  const auto logits = outputs();
  const auto links = ids();
  ASSERT_EQ(logits.size(), 300U);
  ASSERT_EQ(links.size(), 200U);
  double right = 0;
  for (std::size_t i = 0; i < 100; ++i) {
    const auto row = logits.begin() + static_cast<std::ptrdiff_t>(3 * i);
    const auto label = (links[2 * i] % 3 + 3 - links[2 * i + 1] % 3) % 3;
    right += std::max_element(row, row + 3) - row == label ? 1 : 0;
  }
  EXPECT_GT(right, 60) << "it learned something";
  EXPECT_NEAR(right / 100, reported("accuracy"), 1e-6);

  // A file of the same links, elsewhere and with other parts: the same bits in the file's order.
  const auto again = predict(task, {"--links", output() + "/predict/links.npy", "--out",
                                    folder() + "/again", "--set", "partition.parts=3"});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(ids("again"), links);
  EXPECT_EQ(outputs("again"), logits);
}

TEST_F(PredictLinks, ScoresOfLinksGiveTheReportedAuc) {
  const Settings with_layers{"task.kind=link", "task.negatives.kind=triplet",
                             "task.reverse=rev_likes", "eval.negatives.test=data/false.npy",
                             "eval.negatives.val=data/false.npy"};
  for (const Settings& more : std::vector<Settings>{
           {"task.decoder.kind=mlp"},
           {"model.layers=0", "model.kind=graphsage", "sample.fanout=[0]", "model.norm=none",
            "model.dropout=0", "model.input_dropout=0", "task.decoder.kind=distmult"}}) {
    auto task = with_layers;
    task.insert(task.end(), more.begin(), more.end());
    SCOPED_TRACE(more.front());
    auto again = task;
    again.insert(again.end(), {"train.epochs=5"});
    auto command = with_job("run", again);
    command.emplace_back("--overwrite");
    const auto ran = troupe(command);
    ASSERT_EQ(ran.exit_code, 0) << ran.err;
    ASSERT_EQ(predict(task, {"--links", "test"}).exit_code, 0);
    const auto links = outputs();
    const auto others = predict(task, {"--links", data() + "/false.npy"});
    ASSERT_EQ(others.exit_code, 0) << others.err;
    EXPECT_NE(others.out.find("scores of 100 links, 1 column, in "), std::string::npos);
    EXPECT_NEAR(auc_of(links, outputs()), reported("auc"), 1e-6);
    expect_best(task, 5);
  }
}

TEST_F(PredictLinks, OfWalksAreThoseOfTheSplitNotTheirStarts) {
  const Settings of_all{"task.kind=unsupervised",
                        "task.positives=walks",
                        R"(task.walk.along=["likes","rev_likes"])",
                        "task.walk.length=4",
                        "task.walk.window=2",
                        "task.walk.pairs=all",
                        "task.negatives.kind=triplet",
                        "model.layers=0",
                        "model.kind=graphsage",
                        "sample.fanout=[0]",
                        "train.epochs=1"};
  const auto ran = run(of_all);
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const auto starts = predict(of_all, {"--links", "train"});
  EXPECT_EQ(starts.exit_code, 2) << starts.err;
  EXPECT_NE(starts.err.find("--links train: expected a role with links, found nodes that walks"),
            std::string::npos)
      << starts.err;
  ASSERT_EQ(predict(of_all, {"--links", "test"}).exit_code, 0);
  EXPECT_EQ(ids().size(), 200U);
  expect_best(of_all, 5);
}

TEST_F(PredictLinks, SaysWhatItCannotAnswer) {
  const Settings task{"task.kind=edge", "task.classes=3", "task.reverse=rev_likes"};
  ASSERT_EQ(run(task).exit_code, 0);
  testing::write_numbers(folder() + "/far.npy", 2, {0, 45});
  testing::write_numbers(folder() + "/triples.npy", 3, {0, 1, 2});
  for (const auto& [more, text] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--links", folder() + "/far.npy"}, "far.npy"},
           {{"--links", folder() + "/triples.npy"}, "expected the two ends of a link per row"},
           {{"--links", folder() + "/none.npy"}, "none.npy"},
           {{"--links", "test", "--edge-type", "rev_likes"},
            "--edge-type: expected \"likes\", whose links are learned, found \"rev_likes\""},
           {{"--links", "test", "--learned"}, "--links: expected none of --embeddings"},
           {{"--links", "test", "--nodes", "all"}, "--nodes"},
           {{"--links", "test", "--top", "3"}, "--top"},
           {{}, "--nodes is not given, and by default test\ntry: --nodes all, or --links test"},
           {{"--nodes", "all", "--edge-type", "likes"}, "--edge-type: expected --links or --top"},
           {{"--nodes", "all", "--complete", "head"}, "--complete requires --top"},
           {{"--nodes", "all", "--leave-out", "none"}, "--leave-out requires --top"},
           {{"--nodes", "all", "--top", "3", "--leave-out", "none", "train"},
            "--leave-out: expected none alone"},
           {{"--nodes", "all", "--top", "3"},
            "--top: expected a decoder with one score, found 3 classes"}}) {
    const auto refused = predict(task, more);
    EXPECT_NE(refused.exit_code, 0) << text;
    EXPECT_NE((refused.out + refused.err).find(text), std::string::npos)
        << text << ": " << refused.err;
  }
  EXPECT_FALSE(std::filesystem::exists(output() + "/predict"));
}

}  // namespace
}  // namespace troupe
