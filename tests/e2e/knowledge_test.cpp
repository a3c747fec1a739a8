// examples/knowledge: a knowledge graph with the output that its README shows, and learned rows of real processes: interrupted,
// killed, resumed.
#include "tests/sim/link_files.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/npy_reader.hpp"
#include "tests/support/process.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/watched_run.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace troupe {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using nlohmann::json;

const fs::path knowledge_folder = fs::path(TROUPE_SOURCE_DIR) / "examples" / "knowledge";

class KnowledgeExample : public ::testing::Test {
 protected:
  using Triple = std::array<std::int64_t, 3>;

  void SetUp() override {
    const auto made = troupe({"import", "--from", "triples", "--relations", "one",
                              (knowledge_folder / "family").string(), store_});
    ASSERT_EQ(made.exit_code, 0) << made.err;
  }

  testing::ProcessResult troupe(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), TROUPE_PROGRAM);
    return testing::run_process(arguments, scratch_.path().string());
  }
  /// \param settings  as "key=value"
  std::vector<std::string> command(const std::string& output,
                                   const std::vector<std::string>& settings = {}) const {
    std::vector<std::string> arguments{
        TROUPE_PROGRAM,           "run",   (knowledge_folder / "family.json").string(),    "--set",
        "dataset.path=" + store_, "--set", "output=" + (scratch_.path() / output).string()};
    for (const auto& setting : settings) {
      arguments.emplace_back("--set");
      arguments.push_back(setting);
    }
    return arguments;
  }
  testing::ProcessResult run(const std::vector<std::string>& arguments) const {
    return testing::run_process(arguments, scratch_.path().string());
  }
  json report(const std::string& output) const {
    std::ifstream in(scratch_.path() / output / "report.json");
    return json::parse(in, nullptr, false);
  }
  /// `troupe predict` with the model of the run into "out".
  testing::ProcessResult predict(const std::vector<std::string>& more) const {
    std::vector<std::string> arguments{
        "predict", (knowledge_folder / "family.json").string(),
        "--set",   "dataset.path=" + store_,
        "--set",   "output=" + (scratch_.path() / "out").string(),
        "--model", (scratch_.path() / "out" / "model.safetensors").string()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return troupe(arguments);
  }
  testing::NpyArray predicted(const char* file) const {
    return testing::read_npy(scratch_.path() / "out" / "predict" / file);
  }
  std::set<Triple> triples_of(const std::string& role) const {
    EXPECT_EQ(predict({"--links", role}).exit_code, 0);
    const auto ids = predicted("links.npy").as<std::int64_t>();
    std::set<Triple> found;
    for (std::size_t i = 0; i < ids.size(); i += 3) {
      found.insert({ids[i], ids[i + 1], ids[i + 2]});
    }
    return found;
  }
  /// Digests and scores: all that must not depend on how a run went.
  void expect_same(const std::string& output, const std::string& other) const {
    EXPECT_EQ(report(output)["digests"], report(other)["digests"]);
    EXPECT_EQ(report(output)["scores"], report(other)["scores"]);
    EXPECT_FALSE(report(other)["digests"]["tensors"].empty());
  }

  testing::ScratchFolder scratch_;
  std::string store_ = (scratch_.path() / "store").string();
};

TEST_F(KnowledgeExample, GivesTheOutputOfTheReadme) {
  const auto text = testing::file_text(knowledge_folder / "README.md");
  const auto begin = text.find("valid mrr");
  const auto end = text.find("```", begin);
  ASSERT_NE(end, std::string::npos);

  const auto ran = run(command("out"));
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_NE(ran.out.find(text.substr(begin, end - begin)), std::string::npos)
      << text.substr(begin, end - begin) << "\nfound\n"
      << ran.out;
  EXPECT_NEAR(report("out")["scores"]["test"]["hits@1"].get<double>(), 0.635, 0.0005);
  EXPECT_NEAR(report("out")["scores"]["test"]["hits@10"].get<double>(), 0.869, 0.0005);

  const auto rows = predict({"--nodes", "all"});
  EXPECT_EQ(rows.exit_code, 0) << rows.err;
  EXPECT_NE(rows.out.find("learned rows of 334 \"entity\" nodes"), std::string::npos) << rows.out;
  const auto scores = predict({"--links", "test"});
  EXPECT_EQ(scores.exit_code, 0) << scores.err;
  EXPECT_NE(scores.out.find("scores of 141 triples, 1 column, in "), std::string::npos)
      << scores.out;

  const auto rotate = run(command(
      "rotate", {"task.score.kind=rotate", "train.margin=3", "embedding.entity.init.scale=0.5",
                 "task.regularization.kind=none", "task.regularization.factor=0"}));
  ASSERT_EQ(rotate.exit_code, 0) << rotate.err;
  EXPECT_NEAR(report("rotate")["scores"]["test"]["mrr"].get<double>(), 0.580, 0.0005);
}

TEST_F(KnowledgeExample, TriplesAreCompletedByTheBestEntities) {
  ASSERT_EQ(run(command("out")).exit_code, 0);
  const auto test = triples_of("test");
  auto others = triples_of("train");  // that ranks leave out
  others.merge(triples_of("val"));
  double hits = 0;
  for (const std::string end : {"tail", "head"}) {
    SCOPED_TRACE(end);
    const auto all =
        predict({"--links", "test", "--complete", end, "--top", "334", "--leave-out", "none"});
    ASSERT_EQ(all.exit_code, 0) << all.err;
    EXPECT_NE(all.out.find("the 334 best " + end +
                           "s of 334 \"entity\" nodes for each of 141 triples, in "),
              std::string::npos)
        << all.out;
    const auto queries = predicted("queries.npy").as<std::int64_t>();
    const auto ranked = predicted("partners.npy").as<std::int64_t>();
    ASSERT_EQ(queries.size(), 2 * 141U);
    ASSERT_EQ(ranked.size(), 334 * 141U);
    std::vector<std::int64_t> expected;  // with --leave-out train val
    for (std::size_t i = 0; i < 141; ++i) {
      std::set<std::int64_t> named;
      std::vector<std::int64_t> new_ones;
      const auto with = [&](std::int64_t entity) {
        return end == "tail" ? Triple{queries[2 * i], queries[2 * i + 1], entity}
                             : Triple{entity, queries[2 * i], queries[2 * i + 1]};
      };
      for (std::size_t place = 0; place < 334; ++place) {
        const auto entity = ranked[i * 334 + place];
        named.insert(entity);
        if (!others.contains(with(entity))) {
          new_ones.push_back(entity);
        }
      }
      hits += test.contains(with(new_ones.at(0))) ? 1 : 0;
      EXPECT_EQ(named.size(), 334U);
      new_ones.resize(5);
      expected.insert(expected.end(), new_ones.begin(), new_ones.end());
    }
    const auto best = predict(
        {"--links", "test", "--complete", end, "--top", "5", "--leave-out", "train", "val"});
    ASSERT_EQ(best.exit_code, 0) << best.err;
    EXPECT_EQ(predicted("partners.npy").as<std::int64_t>(), expected);
    // A file of the same queries gives the same.
    const auto file = (scratch_.path() / (end + ".npy")).string();
    testing::write_numbers(file, 2, queries);
    ASSERT_EQ(predict({"--links", file, "--complete", end, "--top", "5", "--leave-out", "train",
                       "val", "--set", "partition.parts=3"})
                  .exit_code,
              0);
    EXPECT_EQ(predicted("partners.npy").as<std::int64_t>(), expected);
  }
  // The best that is new is a triple to test at least as often as the one that was asked for ranks first.
  const auto first = report("out")["scores"]["test"]["hits@1"].get<double>();
  EXPECT_GE(hits / (2 * 141), first - 1e-9);
  EXPECT_LE(hits / (2 * 141), first + 0.15);
}

TEST_F(KnowledgeExample, NamesAreReadAndWritten) {
  ASSERT_EQ(run(command("out", {"train.epochs=2"})).exit_code, 0);
  const auto named = [&] {
    return testing::file_text(scratch_.path() / "out" / "predict" / "triples.tsv");
  };
  const auto file = [&](const std::string& text) {
    const auto path = (scratch_.path() / "asked.txt").string();
    std::ofstream(path) << text;
    return path;
  };
  for (const std::string end : {"tail", "head"}) {
    SCOPED_TRACE(end);
    const std::vector<std::string> more{"--complete", end, "--top", "2", "--names"};
    const auto best = [&](const std::string& links) {
      std::vector<std::string> arguments{"--links", links};
      arguments.insert(arguments.end(), more.begin(), more.end());
      return predict(arguments);
    };
    ASSERT_EQ(best("test").exit_code, 0);
    std::istringstream lines(named());
    std::string asked;
    std::string expected;
    std::string scored;
    for (int i = 0; i < 6; ++i) {
      std::string line;
      std::getline(lines, line);
      const auto triple = line.substr(0, line.rfind('\t'));
      expected += line + '\n';
      scored += triple + '\n';
      if (i % 2 == 0) {
        asked += (end == "tail" ? triple.substr(0, triple.rfind('\t'))
                                : triple.substr(triple.find('\t') + 1)) +
                 '\n';
      }
    }
    ASSERT_EQ(best(file(asked)).exit_code, 0);
    EXPECT_EQ(named(), expected);
    // The triples themselves have these scores.
    ASSERT_EQ(predict({"--links", file(scored), "--names"}).exit_code, 0);
    EXPECT_EQ(named(), expected);
  }
  // Where all that are left are fewer, the lines are fewer.
  ASSERT_EQ(predict({"--links", file("v6mc0\tsibling_of\n"), "--top", "334", "--names"}).exit_code,
            0);
  const auto all = named();
  EXPECT_LT(std::ranges::count(all, '\n'), 334) << "those of train are left out";
  EXPECT_GT(std::ranges::count(all, '\n'), 300);
  // Without names, and refused, no file of other predictions is left.
  ASSERT_EQ(predict({"--links", "test"}).exit_code, 0);
  EXPECT_EQ(named(), "");
  const auto entities = predict({"--nodes", file("v6mc0\n"), "--names"});
  ASSERT_EQ(entities.exit_code, 0) << entities.err;
  EXPECT_TRUE(
      testing::file_text(scratch_.path() / "out" / "predict" / "nodes.tsv").starts_with("v6mc0\t"));
  const auto unknown = predict({"--links", file("v6mc0\tlikes\n"), "--top", "2", "--names"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_NE(unknown.err.find("line 1: expected a relation of the graph, found \"likes\""),
            std::string::npos)
      << unknown.err;
}

TEST_F(KnowledgeExample, RowsAreOfTheNamesThatTheirImportNumbered) {
  ASSERT_EQ(run(command("out", {"train.epochs=1"})).exit_code, 0);
  ASSERT_EQ(predict({"--links", "test", "--names"}).exit_code, 0);
  const auto rows = testing::file_text(scratch_.path() / "out" / "predict" / "triples.tsv");

  // A store that was partitioned has the names, too.
  const auto whole = store_;
  store_ = (scratch_.path() / "parts").string();
  ASSERT_EQ(troupe({"partition", whole, store_, "--parts", "2"}).exit_code, 0);
  const auto of_parts = predict({"--links", "test", "--names"});
  ASSERT_EQ(of_parts.exit_code, 0) << of_parts.err;
  EXPECT_EQ(testing::file_text(scratch_.path() / "out" / "predict" / "triples.tsv"), rows);
  EXPECT_EQ(troupe({"inspect", store_, "--verify"}).exit_code, 0);

  // The same triples in another order: other numbers.
  const auto turned = scratch_.path() / "turned";
  fs::create_directory(turned);
  for (const auto& file : fs::directory_iterator(knowledge_folder / "family")) {
    std::istringstream text(testing::file_text(file.path()));
    std::vector<std::string> lines;
    for (std::string line; std::getline(text, line);) {
      lines.push_back(line);
    }
    std::ofstream out(turned / file.path().filename());
    for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
      out << *line << '\n';
    }
  }
  store_ = (scratch_.path() / "other").string();
  const auto made =
      troupe({"import", "--from", "triples", "--relations", "one", turned.string(), store_});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const auto other = predict({"--links", "test"});
  EXPECT_EQ(other.exit_code, 3);
  EXPECT_NE(other.err.find("expected learned rows of the nodes of "), std::string::npos)
      << other.err;
}

TEST_F(KnowledgeExample, BatchesNameTheEndThatCandidatesReplace) {
  const auto folder = (scratch_.path() / "batches").string();
  const auto made = troupe(
      {"batches", (knowledge_folder / "family.json").string(), "--set", "dataset.path=" + store_,
       "--set", "output=" + (scratch_.path() / "out").string(), "--count", "2", "--out", folder});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const auto batches = json::parse(testing::file_text(folder + "/batches.json"))["batches"];
  EXPECT_EQ(batches[0]["replaced"], "tail");
  EXPECT_EQ(batches[1]["replaced"], "head");
  EXPECT_EQ(batches[0]["links_of"], "triple");
  EXPECT_EQ(batches[0]["link_sources_of"], "entity");
  EXPECT_EQ(batches[0]["link_destinations_of"], "entity");
}

TEST_F(KnowledgeExample, SaysWhichTriplesItCannotComplete) {
  ASSERT_EQ(run(command("out", {"train.epochs=1"})).exit_code, 0);
  const auto file = [&](const char* name, std::uint64_t cols,
                        const std::vector<std::int64_t>& ids) {
    testing::write_numbers(scratch_.path() / name, cols, ids);
    return (scratch_.path() / name).string();
  };
  const auto triples = file("triples.npy", 3, {0, 1, 2});
  const auto far = file("far.npy", 2, {0, 99});
  for (const auto& [more, text] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{}, "--top: expected --links with \"knowledge\""},
           {{"--nodes", "all"}, "--top: expected --links with \"knowledge\""},
           {{"--links", triples}, "triples.npy: expected head and relation per row, [triples, 2]"},
           {{"--links", triples, "--complete", "head"}, "expected relation and tail per row"},
           {{"--links", far}, "far.npy"},
           {{"--links", far, "--complete", "both"}, "--complete"}}) {
    auto arguments = more;
    arguments.insert(arguments.end(), {"--top", "3"});
    const auto refused = predict(arguments);
    EXPECT_NE(refused.exit_code, 0) << text;
    EXPECT_NE(refused.err.find(text), std::string::npos) << text << ": " << refused.err;
  }
}

TEST_F(KnowledgeExample, LearnsTheSameRowsInProcessesOfTheirOwn) {
  ASSERT_EQ(run(command("whole")).exit_code, 0);
  const auto local =
      run(command("local", {"cluster.launch=local", "partition.parts=3", "cluster.hosts=2"}));
  ASSERT_EQ(local.exit_code, 0) << local.err;
  expect_same("whole", "local");
}

TEST_F(KnowledgeExample, AnInterruptedRunOfProcessesGoesOnToTheSameRows) {
  const std::vector<std::string> job{"cluster.launch=local", "train.epochs=150",
                                     "checkpoint.every.epochs=1", "checkpoint.keep=2"};
  ASSERT_EQ(run(command("whole", job)).exit_code, 0);
  {
    testing::WatchedRun interrupted(command("out", job), scratch_.path().string());
    ASSERT_TRUE(interrupted.wait_for_line("epoch   7/150", 30s)) << interrupted.text();
    ASSERT_TRUE(testing::signal_process(interrupted.pid(), SIGINT));
    ASSERT_EQ(interrupted.wait_for_end(30s), 130) << interrupted.text();
    EXPECT_TRUE(interrupted.wait_for_all(5s).empty());
  }

  auto arguments = command("out", job);
  arguments.emplace_back("--resume");
  const auto rest = run(arguments);

  ASSERT_EQ(rest.exit_code, 0) << rest.err;
  EXPECT_NE(rest.out.find("resuming from"), std::string::npos) << rest.out;
  expect_same("whole", "out");
}

TEST_F(KnowledgeExample, AKilledHostCostsNoBit) {
  const std::vector<std::string> job{"cluster.launch=local", "train.epochs=150",
                                     "checkpoint.every.epochs=1"};
  ASSERT_EQ(run(command("whole", job)).exit_code, 0);

  testing::WatchedRun watched(command("out", job), scratch_.path().string());
  ASSERT_TRUE(watched.wait_for_line("epoch   7/150", 30s)) << watched.text();
  ASSERT_TRUE(testing::signal_process(testing::find_process(watched.mark(), "host 1"), SIGKILL));
  ASSERT_EQ(watched.wait_for_end(60s), 0) << watched.text();

  EXPECT_TRUE(watched.wait_for_all(5s).empty());
  EXPECT_NE(watched.text().find("host 1"), std::string::npos) << watched.text();
  expect_same("whole", "out");
}

}  // namespace
}  // namespace troupe
