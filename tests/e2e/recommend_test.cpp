// From a table of ratings with names to recommended items with names: import, training, prediction.
#include "tests/e2e/program_fixture.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/npy_reader.hpp"

#include <fmt/format.h>
#include <map>
#include <set>
#include <sstream>

namespace troupe {
namespace {

/// Each user rates items of one genre, those of the first ratings and then others, later ones to test.
class Recommend : public Program {
 protected:
  static constexpr int users = 60;
  static constexpr int genres = 4;
  static constexpr int items_of_genre = 12;
  static constexpr int ratings_of_user = 10;

  void SetUp() override {
    std::string text = "user_id,item_id,rating,timestamp\r\n";
    for (int turn = 0; turn < ratings_of_user; ++turn) {
      for (int user = 0; user < users; ++user) {
        const auto item = item_of(user, (user / genres * 5 + turn) % items_of_genre);
        text += fmt::format("u{},{},{},{}\r\n", 1000 + 7 * user, item, 3 + turn % 3,
                            turn * users + user);
        if (turn < 8) {
          trained_[fmt::format("u{}", 1000 + 7 * user)].insert(item);
        }
      }
    }
    write_file("ratings.csv", text);
    write_file("job.json", R"({
      "dataset": {"path": "shop"}, "partition": {"parts": 2}, "cluster": {"hosts": 2},
      "task": {"kind": "link", "reverse": "rev_rates", "negatives": {"kind": "triplet"}},
      "sample": {"fanout": [10, 10], "batch_size": 32},
      "embedding": {"user": {"dim": 16}, "item": {"dim": 16}},
      "model": {"kind": "rgcn", "layers": 2, "hidden": 32},
      "train": {"epochs": 6, "optimizer": {"kind": "adam", "lr": 0.01}},
      "eval": {"mode": "exact", "ranks": "all", "metric": "mrr"}, "seed": 3})");
  }
  static std::string genre_of(int user) { return fmt::format("genre{}", user % genres); }
  static std::string item_of(int user, int number) {
    return fmt::format("{}/{}", genre_of(user), number);
  }
  testing::ProcessResult import(std::vector<std::string> more, const std::string& store) const {
    std::vector<std::string> arguments{"import",          "--from", "edgelist", "--types",
                                       "user,rates,item", "--ids",  "text",     "--header"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    arguments.insert(arguments.end(), {folder() + "/ratings.csv", folder() + "/" + store});
    return troupe(arguments);
  }
  testing::ProcessResult predict(std::vector<std::string> more) const {
    std::vector<std::string> arguments{"predict", folder() + "/job.json",
                                       "--model", output() + "/model.safetensors",
                                       "--set",   "output=" + output()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return troupe(arguments);
  }

  std::map<std::string, std::set<std::string>> trained_;  ///< Items by user
};

TEST_F(Recommend, ATableOfRatingsBecomesNamesOfItems) {
  const auto imported = import({"--weight-column", "2", "--time-column", "3", "--reverse-edges",
                                "--edge-split-times", "480,540"},
                               "shop");
  ASSERT_EQ(imported.exit_code, 0) << imported.err;
  EXPECT_NE(imported.out.find("nodes user: 60\nnodes item: 48\n"
                              "edges rates: 480 (user -> item)\n"
                              "edges rev_rates: 480 (item -> user)\n"
                              "split \"\": links rates test 60 train 480 val 60\n"),
            std::string::npos)
      << imported.out;

  const auto ran = troupe({"run", folder() + "/job.json", "--set", "output=" + output()});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const auto epochs = report()["epochs"];
  EXPECT_LT(epochs.back()["loss"].get<double>(), 0.8 * epochs[0]["loss"].get<double>());
  const double chance = 0.09;  // of a rank among 48 items, mean of 1 / rank
  EXPECT_GT(report()["scores"]["test"]["mrr"].get<double>(), 2 * chance);

  write_file("users.txt", "u1007\nu1000\n\nu1007\n");
  const auto top = predict({"--nodes", folder() + "/users.txt", "--top", "5", "--names"});
  ASSERT_EQ(top.exit_code, 0) << top.err;
  EXPECT_NE(top.out.find("the 5 best of 48 \"item\" nodes for each of 2 \"user\" nodes, in " +
                         output() + "/predict/partners.tsv"),
            std::string::npos)
      << top.out;
  std::istringstream lines(testing::file_text(output() + "/predict/partners.tsv"));
  const auto scores = testing::read_npy(output() + "/predict/predictions.npy").as<float>();
  int of_genre = 0;
  for (std::size_t i = 0; i < 10; ++i) {
    std::string user;
    std::string item;
    float score = 0;
    lines >> user >> item >> score;
    EXPECT_EQ(user, i < 5 ? "u1007" : "u1000");
    EXPECT_EQ(score, scores.at(i));
    EXPECT_FALSE(trained_.at(user).contains(item)) << user << ", " << item;
    of_genre += item.starts_with(genre_of(i < 5 ? 1 : 0)) ? 1 : 0;
  }
  EXPECT_GE(of_genre, 7) << "the genre of the user, by chance 2 or 3 of 10";
  EXPECT_EQ((lines >> std::ws).peek(), std::istringstream::traits_type::eof());

  // The same score as a pair of names, and as one of the items in the store's order.
  std::istringstream first(testing::file_text(output() + "/predict/partners.tsv"));
  std::string user;
  std::string item;
  std::string score;
  first >> user >> item >> score;
  const auto pairs = write_file("pairs.txt", fmt::format("u1000\t{}\n{}\t{}\n", item, user, item));
  const auto linked = predict({"--links", pairs, "--names"});
  ASSERT_EQ(linked.exit_code, 0) << linked.err;
  EXPECT_NE(linked.out.find("scores of 2 links, 1 column, in " + output() + "/predict/links.tsv"),
            std::string::npos)
      << linked.out;
  EXPECT_FALSE(std::filesystem::exists(output() + "/predict/partners.tsv"));
  const auto text = testing::file_text(output() + "/predict/links.tsv");
  EXPECT_TRUE(text.starts_with(fmt::format("u1000\t{}\t", item))) << text;
  EXPECT_TRUE(text.ends_with(fmt::format("\n{}\t{}\t{}\n", user, item, score))) << text;
  ASSERT_EQ(predict({"--links", "test", "--names"}).exit_code, 0);
  std::istringstream of_test(testing::file_text(output() + "/predict/links.tsv"));
  std::string line;
  int tested = 0;
  for (; std::getline(of_test, line); ++tested) {
    EXPECT_TRUE(line.starts_with('u') && line.find("\tgenre") != std::string::npos) << line;
  }
  EXPECT_EQ(tested, 60);

  // Rows of nodes by name.
  const auto rows = predict({"--nodes", folder() + "/users.txt", "--names"});
  ASSERT_EQ(rows.exit_code, 0) << rows.err;
  EXPECT_FALSE(std::filesystem::exists(output() + "/predict/links.tsv"));
  std::istringstream of_users(testing::file_text(output() + "/predict/nodes.tsv"));
  const auto outputs = testing::read_npy(output() + "/predict/predictions.npy").as<float>();
  ASSERT_EQ(outputs.size(), 2U * 32);
  for (std::size_t i = 0; i < 2; ++i) {
    of_users >> user;
    EXPECT_EQ(user, i == 0 ? "u1007" : "u1000");
    for (std::size_t c = 0; c < 32; ++c) {
      float value = 0;
      of_users >> value;
      EXPECT_EQ(value, outputs.at(32 * i + c));
    }
  }

  // Numbers without --names, and no names of earlier predictions beside them.
  write_file("users.txt", "1\n");
  ASSERT_EQ(predict({"--nodes", folder() + "/users.txt", "--top", "5"}).exit_code, 0);
  EXPECT_FALSE(std::filesystem::exists(output() + "/predict/partners.tsv"));
}

TEST_F(Recommend, RefusesNamesThatAreNotThere) {
  ASSERT_EQ(
      import({"--time-column", "3", "--reverse-edges", "--edge-split-times", "480,540"}, "shop")
          .exit_code,
      0);
  ASSERT_EQ(troupe({"run", folder() + "/job.json", "--set", "output=" + output(), "--set",
                    "train.epochs=1"})
                .exit_code,
            0);
  const auto users_file = write_file("users.txt", "u1000\nu1001\n");
  const auto unknown = predict({"--nodes", users_file, "--top", "2", "--names"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_NE(unknown.err.find("users.txt: line 2: expected the name of a \"user\" node, in "
                             "\"u1001\""),
            std::string::npos)
      << unknown.err;
  const auto pairs_file = write_file("pairs.txt", "u1000\tgenre0/1\ngenre0/1\tu1000\n");
  const auto turned = predict({"--links", pairs_file, "--names"});
  EXPECT_EQ(turned.exit_code, 2);
  EXPECT_NE(turned.err.find("pairs.txt: line 2: expected the name of a \"user\" node, found "
                            "\"genre0/1\""),
            std::string::npos)
      << turned.err;

  // Users have numbers then.
  std::filesystem::remove(folder() + "/shop/nodes-user/names.txt");
  write_file("pairs.txt", "0\tgenre0/1\n59\tgenre0/1\n");
  const auto numbered = predict({"--links", pairs_file, "--names"});
  EXPECT_EQ(numbered.exit_code, 0) << numbered.err;
  EXPECT_TRUE(testing::file_text(output() + "/predict/links.tsv").starts_with("0\tgenre0/1\t"));
  write_file("pairs.txt", "60\tgenre0/1\n");
  const auto beyond = predict({"--links", pairs_file, "--names"});
  EXPECT_EQ(beyond.exit_code, 2);
  EXPECT_NE(beyond.err.find("expected the number of a \"user\" node, found \"60\""),
            std::string::npos)
      << beyond.err;
  const auto alone = predict({"--nodes", "all", "--names"});
  EXPECT_EQ(alone.exit_code, 3);
  EXPECT_NE(alone.err.find("--names: expected names of \"user\" nodes in "), std::string::npos)
      << alone.err;
  std::filesystem::remove(folder() + "/shop/nodes-item/names.txt");
  const auto none = predict({"--nodes", "all", "--top", "2", "--names"});
  EXPECT_EQ(none.exit_code, 3);
  EXPECT_NE(none.err.find("--names: expected names of \"user\" or \"item\" nodes in "),
            std::string::npos)
      << none.err;
}

TEST_F(Recommend, ImportRefusesWhatCannotBeOfTwoTypes) {
  const auto both = import({"--symmetrize"}, "a");
  EXPECT_NE(both.exit_code, 0);
  EXPECT_NE(both.err.find("expected one node type to symmetrize"), std::string::npos) << both.err;
  const auto two = troupe({"import", "--from", "edgelist", "--types", "user,item",
                           folder() + "/ratings.csv", folder() + "/b"});
  EXPECT_NE(two.exit_code, 0);
  EXPECT_NE(two.err.find("--types: expected three names"), std::string::npos) << two.err;
}

}  // namespace
}  // namespace troupe
