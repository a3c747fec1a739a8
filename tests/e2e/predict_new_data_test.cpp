// `troupe predict` on data that the model was not trained on: without labels, without a split, of other nodes.
#include "tests/e2e/program_fixture.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/npy_reader.hpp"
#include "tests/support/npy_writer.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <fmt/format.h>
#include <string>
#include <utility>
#include <vector>

namespace troupe {
namespace {

using Keys = std::vector<std::string>;
using Ids = std::vector<std::int64_t>;

/// Users like items of their third, and view others; features say little of them.
class PredictNewData : public Program {
 protected:
  static constexpr std::int64_t users = 60;
  static constexpr std::int64_t items = 45;

  void SetUp() override {
    std::filesystem::create_directory(folder() + "/arrays");
    write_nodes();
    write_edges();
    write_data("data", R"(, "labels": "classes.npy")",
               R"("splits": {"": {"train": {"user": "train_users.npy"},
                                  "val": {"user": "val_users.npy"},
                                  "test": {"user": "test_users.npy"}}},
                  "links": {"": {"train": {"likes": {"ends": "likes.npy", "labels": "likes_labels.npy"}},
                                 "val": {"likes": {"ends": "val.npy", "labels": "val_labels.npy"}},
                                 "test": {"likes": {"ends": "test.npy", "labels": "test_labels.npy"}}}})");
    write_data("bare", "", "");
    write_file("job.json", R"({
      "dataset": {"path": "data"}, "partition": {"parts": 2}, "cluster": {"hosts": 2},
      "sample": {"fanout": [5, 5], "batch_size": 64},
      "model": {"kind": "rgcn", "layers": 2, "hidden": 16},
      "train": {"epochs": 3}, "eval": {"mode": "exact"}, "seed": 3})");
  }

  static void write_floats(const std::string& file, std::uint64_t rows, std::uint64_t cols) {
    std::vector<float> values;
    for (std::uint64_t i = 0; i < rows * cols; ++i) {
      values.push_back(static_cast<float>((i / cols * 7 + i % cols * 3) % 11) / 8);
    }
    const std::array<std::uint64_t, 2> shape{rows, cols};
    const auto header = npy_header({'f', 4}, shape);
    const std::array pieces{std::as_bytes(std::span(header)), std::as_bytes(std::span(values))};
    ASSERT_OK(write_new_file(file, pieces));
  }
  std::string array(const std::string& name) const { return folder() + "/arrays/" + name; }
  void write_nodes() const {
    write_floats(array("user.npy"), users, 6);
    write_floats(array("more_users.npy"), users + 9, 6);
    write_floats(array("item.npy"), items, 5);
    Ids classes;
    std::vector<Ids> roles(3);
    for (std::int64_t user = 0; user < users; ++user) {
      classes.push_back(user % 3);
      roles[user % 5 == 0 ? 1 : user % 5 == 1 ? 2 : 0].push_back(user);
    }
    testing::write_column(array("classes.npy"), classes);
    testing::write_column(array("train_users.npy"), roles[0]);
    testing::write_column(array("val_users.npy"), roles[1]);
    testing::write_column(array("test_users.npy"), roles[2]);
    std::ranges::transform(classes, classes.begin(), [](auto label) { return label % 2; });
    testing::write_column(array("two_classes.npy"), classes);
    std::ranges::fill(classes, -1);
    testing::write_column(array("no_classes.npy"), classes);
  }
  void write_edges() const {
    const std::vector<std::string> names{"likes", "val", "test"};
    std::vector<Ids> ends(3);
    std::vector<Ids> labels(3);
    Ids views;
    for (std::int64_t i = 0; i < 600; ++i) {
      const auto user = i * 7 % users;
      const auto item = (3 * (i * i % 15) + user % 3) % items;
      const std::size_t role = i % 9 == 4 ? 1 : i % 9 == 7 ? 2 : 0;
      ends[role].insert(ends[role].end(), {user, item});
      labels[role].push_back((user % 3 + item % 2) % 3);
      views.insert(views.end(), {i % users, i * 11 % items});
    }
    for (std::size_t role = 0; role < names.size(); ++role) {
      testing::write_numbers(array(names[role] + ".npy"), 2, ends[role]);
      testing::write_column(array(names[role] + "_labels.npy"), labels[role]);
    }
    testing::write_numbers(array("views.npy"), 2, views);
  }
  /// \param of_users  keys of the type of nodes, after the first; \param more  keys of the data
  void write_data(const std::string& name, const std::string& of_users, const std::string& more,
                  const std::string& user_rows = "user.npy") const {
    std::filesystem::copy(folder() + "/arrays", folder() + "/" + name);
    write_file(name + "/arrays.json", fmt::format(
                                          R"({{"node_types": {{
        "user": {{"features": "{}"{}}}, "item": {{"features": "item.npy"}}}},
      "edge_types": {{
        "likes": {{"source": "user", "destination": "item", "edges": "likes.npy", "reverse_edges": true}},
        "views": {{"source": "user", "destination": "item", "edges": "views.npy"}}}}{}{}}})",
                                          user_rows, of_users, more.empty() ? "" : ", ", more));
  }

  testing::ProcessResult with_job(const std::string& command, const Keys& keys,
                                  const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words{command, folder() + "/job.json"};
    for (const auto& key : keys) {
      words.insert(words.end(), {"--set", key});
    }
    words.insert(words.end(), {"--set", "output=" + output()});
    words.insert(words.end(), more.begin(), more.end());
    return troupe(words);
  }
  testing::ProcessResult predict(const std::string& data, Keys keys,
                                 std::vector<std::string> more) const {
    keys.push_back("dataset.path=" + folder() + "/" + data);
    more.insert(more.end(), {"--model", output() + "/model.safetensors"});
    return with_job("predict", keys, more);
  }
  /// Predicts into a folder of the data's name.
  void expect_predicted(const std::string& data, const Keys& keys, std::vector<std::string> more,
                        const std::string& text) const {
    more.insert(more.end(), {"--out", folder() + "/of_" + data});
    const auto done = predict(data, keys, more);
    ASSERT_EQ(done.exit_code, 0) << data << ": " << done.err;
    EXPECT_NE(done.out.find(text), std::string::npos) << data << ": " << done.out;
  }
  void expect_refused(const std::string& data, const Keys& keys,
                      const std::vector<std::string>& more, int exit_code,
                      const std::string& text) const {
    const auto refused = predict(data, keys, more);
    EXPECT_EQ(refused.exit_code, exit_code) << text;
    EXPECT_NE(refused.err.find(text), std::string::npos) << text << ": " << refused.err;
    EXPECT_FALSE(std::filesystem::exists(output() + "/predict")) << text;
  }
  std::string file(const std::string& data, const std::string& name) const {
    return testing::file_text(folder() + "/of_" + data + "/" + name);
  }
  /// Files of both folders are the same bytes.
  void expect_same(const std::string& data, const std::string& other,
                   const std::vector<std::string>& names) const {
    for (const auto& name : names) {
      EXPECT_EQ(file(data, name), file(other, name)) << other << ": " << name;
    }
  }
  std::vector<float> outputs(const std::string& data) const {
    return testing::read_npy(folder() + "/of_" + data + "/predictions.npy").as<float>();
  }
};

TEST_F(PredictNewData, ClassesOfNodesNeedNoLabelsAndNoSplit) {
  ASSERT_EQ(with_job("run", {}).exit_code, 0);
  write_data("unlabeled", R"(, "labels": "no_classes.npy")", "");
  write_data("larger", "", "", "more_users.npy");

  const std::vector<std::string> all{"--nodes", "all"};
  const std::vector<std::string> files{"predictions.npy", "node_ids.npy"};
  expect_predicted("data", {}, all, "logits of 60 nodes, 3 columns");
  for (const std::string data : {"bare", "unlabeled"}) {
    expect_predicted(data, {"eval.split=hard"}, all, "logits of 60 nodes, 3 columns");
    expect_same("data", data, files);
    expect_predicted(data, {}, {"--nodes", "all", "--embeddings", "--node-type", "item"},
                     "embeddings of 45 nodes, 16 columns");
  }
  expect_predicted("larger", {}, all, "logits of 69 nodes, 3 columns");
  auto larger = outputs("larger");
  larger.resize(3 * users);
  EXPECT_EQ(larger, outputs("data"));
}

TEST_F(PredictNewData, WhatTheDataContradictOrLackIsRefused) {
  ASSERT_EQ(with_job("run", {}).exit_code, 0);
  write_data("other", R"(, "labels": "two_classes.npy")", "");

  expect_refused("other", {}, {"--nodes", "all"}, 2,
                 "expected a model of out_dim 2, which the labels of \"user\" nodes in ");
  expect_refused("bare", {}, {}, 3, "--nodes is not given, and by default test\ntry: --nodes all");
  expect_refused("bare", {}, {"--nodes", "train"}, 3, "split \"\": expected one of none");
  expect_refused("data", {"eval.split=hard"}, {}, 2, "/eval/split: expected a split of the data");
  const auto checked = with_job("check", {"dataset.path=" + folder() + "/bare"});
  EXPECT_EQ(checked.exit_code, 2);
  EXPECT_NE(checked.err.find("/dataset/split: expected data with a split, found none"),
            std::string::npos)
      << checked.err;
}

TEST_F(PredictNewData, NumbersOfNodesNeedNoLabels) {
  write_data("numbers", R"(, "labels": {"numbers": "classes.npy"})",
             R"("splits": {"": {"train": {"user": "train_users.npy"}}})");
  const Keys keys{"train.loss=mse"};
  auto training = keys;
  training.push_back("dataset.path=" + folder() + "/numbers");
  const auto trained = with_job("run", training);
  ASSERT_EQ(trained.exit_code, 0) << trained.err;

  for (const std::string data : {"numbers", "bare"}) {
    expect_predicted(data, keys, {"--nodes", "all"}, "numbers of 60 nodes, 1 columns");
  }

  expect_same("numbers", "bare", {"predictions.npy", "node_ids.npy"});
}

TEST_F(PredictNewData, EdgesArePredictedForPairsAndForAllEdges) {
  const Keys keys{"task.kind=edge", "task.classes=3", "task.reverse=rev_likes"};
  ASSERT_EQ(with_job("run", keys).exit_code, 0);

  const std::vector<std::string> files{"predictions.npy", "links.npy"};
  for (const auto& [links, text] : {std::pair(array("test.npy"), "logits of 66 links, 3 columns"),
                                    std::pair(std::string("all"), "logits of 467 links")}) {
    expect_predicted("data", keys, {"--links", links}, text);
    expect_predicted("bare", keys, {"--links", links, "--edge-type", "likes"}, text);
    expect_same("data", "bare", files);
  }
  auto edges = testing::read_npy(array("likes.npy")).as<std::int64_t>();
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs;
  for (std::size_t i = 0; i < edges.size(); i += 2) {
    pairs.emplace_back(edges[i], edges[i + 1]);
  }
  std::ranges::sort(pairs);
  edges.clear();
  for (const auto& [user, item] : pairs) {
    edges.insert(edges.end(), {user, item});
  }
  EXPECT_EQ(testing::read_npy(folder() + "/of_bare/links.npy").as<std::int64_t>(), edges);

  expect_refused("bare", keys, {"--links", "all"}, 2,
                 "--edge-type: expected the edge type of the model's links, which the data have no "
                 "split of, one of \"likes\", \"views\", found \"\"");
  expect_refused("bare", keys, {"--links", "all", "--edge-type", "lieks"}, 2, "found \"lieks\"");
  expect_refused("bare", keys, {"--links", "test", "--edge-type", "likes"}, 3, "\"test\"");
}

TEST_F(PredictNewData, LinksAreScoredAndFoundWithoutNegativesToDraw) {
  const Keys keys{"task.kind=link", "task.reverse=rev_likes"};
  auto training = keys;
  training.insert(training.end(),
                  {"task.negatives.kind=binary", "task.negatives.by=degree", "train.epochs=2"});
  const auto trained = with_job("run", training);
  ASSERT_EQ(trained.exit_code, 0) << trained.err;

  expect_predicted("data", keys, {"--links", array("test.npy")}, "scores of 66 links, 1 column");
  expect_predicted("bare", keys, {"--links", array("test.npy"), "--edge-type", "likes"},
                   "scores of 66 links, 1 column");
  expect_same("data", "bare", {"predictions.npy", "links.npy"});
  // The links to train of the one are the edges of the other.
  const std::vector<std::string> top{"--nodes", "all", "--top", "5"};
  expect_predicted("data", keys, top, "the 5 best of 45 \"item\" nodes for each of 60");
  expect_predicted("bare", keys, {"--nodes", "all", "--top", "5", "--edge-type", "likes"},
                   "the 5 best of 45 \"item\" nodes for each of 60");
  expect_same("data", "bare", {"predictions.npy", "partners.npy", "node_ids.npy"});
  expect_predicted("bare", keys, {"--nodes", "all", "--edge-type", "likes"},
                   "embeddings of 60 nodes, 16 columns");
  expect_refused("data", keys, {"--nodes", "all", "--edge-type", "likes"}, 2,
                 "--edge-type: expected --links or --top");
}

TEST_F(PredictNewData, LinksOfSeveralTypesAreNamedByTheModel) {
  const Keys keys{"task.kind=unsupervised", "task.edges=[\"likes\", \"views\"]",
                  "task.decoder.kind=distmult"};
  write_data("same", "", "");
  auto training = keys;
  training.insert(training.end(),
                  {"task.negatives.kind=binary", "dataset.path=" + folder() + "/same"});
  const auto trained = with_job("run", training);
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  const Keys of_links{"task.kind=link", "task.decoder.kind=distmult"};

  for (const std::string type : {"likes", "views"}) {
    const std::vector<std::string> pairs{"--links", array("test.npy"), "--edge-type", type};
    expect_predicted("same", keys, pairs, "scores of 66 links, 1 column");
    expect_predicted("bare", of_links, pairs, "scores of 66 links, 1 column");
    expect_same("same", "bare", {"predictions.npy", "links.npy"});
  }
  expect_refused("bare", of_links, {"--links", array("test.npy"), "--edge-type", "rev_likes"}, 2,
                 "--edge-type: expected \"likes\" or \"views\"");
}

TEST_F(PredictNewData, ASplitThatIsNotThereIsAnErrorOfTheJob) {
  for (const auto* command : {"run", "check"}) {
    const auto refused = with_job(command, {"eval.split=hrad"});
    EXPECT_EQ(refused.exit_code, 2) << command;
    EXPECT_NE(refused.err.find("/eval/split: expected a split of the data with seeds to validate "
                               "or test, of \"\", found \"hrad\""),
              std::string::npos)
        << refused.err;
    const auto type = with_job(
        command, {"task.kind=unsupervised", "task.edges=lieks", "task.negatives.kind=binary"});
    EXPECT_EQ(type.exit_code, 2) << command;
    EXPECT_NE(type.err.find("/task/edges: expected one of the graph's 3 edge types"),
              std::string::npos)
        << type.err;
  }
}

}  // namespace
}  // namespace troupe
