// Exact inference over learned rows, in a run and from what it leaves.
#include "launcher/prepare_store.hpp"
#include "launcher/read_job.hpp"
#include "runtime/run/node_request.hpp"
#include "runtime/run/table_source.hpp"
#include "tests/sim/heterogeneous_support.hpp"
#include "tests/sim/link_files.hpp"
#include "tests/sim/sim_support.hpp"
#include "tests/support/expect.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace troupe {
namespace {

using Settings = std::vector<std::string>;

/// Nodes without features, whose rows are learned.
class LearnedRowsExactly : public ::testing::Test {
 protected:
  static constexpr std::uint32_t dim = 8;

  void SetUp() override { ASSERT_OK(testing::write_featureless_store(graph())); }
  std::filesystem::path graph() const { return scratch_.path() / "graph"; }
  std::filesystem::path rows() const { return scratch_.path() / "rows"; }

  struct Prepared {
    Job job;
    PartitionedStore store;
  };
  Result<Prepared> prepare(const std::filesystem::path& data, bool learned,
                           const Settings& settings) const {
    const auto text =
        fmt::format(R"({{
      "dataset": {{ "path": "{}" }}, {}
      "sample": {{ "fanout": [5, 5], "batch_size": 16 }},
      "model": {{ "kind": "graphsage", "hidden": 8 }},
      "train": {{ "epochs": 3 }},
      "eval": {{ "mode": "exact" }},
      "output": "{}"
    }})",
                    data.string(),
                    learned ? fmt::format(R"("embedding": {{"node": {{"dim": {}}}}},)", dim) : "",
                    (scratch_.path() / "out").string());
    TROUPE_ASSIGN_OR_RETURN(auto reading, parse_job(text, "", settings));
    if (!reading.problems.empty()) {
      return Error(Errc::invalid_argument, to_string(reading.problems));
    }
    TROUPE_ASSIGN_OR_RETURN(auto store, prepare_store(reading.job, [](const std::string&) {}));
    if (!fit_to_graph_or_print(reading.job, store.info())) {
      return Error(Errc::invalid_argument, "the job does not fit its data");
    }
    return Prepared{std::move(reading.job), std::move(store)};
  }
  /// Leaves the rows of the best epoch in rows().
  Result<RunResult> train(const Settings& settings) {
    TROUPE_ASSIGN_OR_RETURN(const auto ready, prepare(graph(), true, settings));
    TROUPE_ASSIGN_OR_RETURN(const auto cluster,
                            SimulatedCluster::create(ready.job, ready.store, ClusterHooks()));
    std::filesystem::create_directories(rows());
    RunSetup setup;
    setup.write_tables = [this](const TableSource& from) -> Status {
      TROUPE_ASSIGN_OR_RETURN(files_, write_table_files(from, rows()));
      return ok_status();
    };
    return cluster->run(std::move(setup));
  }
  /// Outputs of all nodes.
  Result<std::vector<float>> infer(const Prepared& ready, const RunResult& trained, bool with_rows,
                                   bool embeddings = false) const {
    TROUPE_ASSIGN_OR_RETURN(auto found, find_nodes(ready.store, {.sources = {"all"}, .split = ""}));
    ClusterHooks hooks;
    hooks.inference =
        InferenceTask{{std::make_shared<const SeedList>(std::move(found.nodes))}, embeddings};
    TROUPE_ASSIGN_OR_RETURN(const auto cluster,
                            SimulatedCluster::create(ready.job, ready.store, std::move(hooks)));
    RunSetup setup;
    const auto& state = *trained.state;
    setup.parameters = state.best.empty() ? state.parameters : state.best;
    if (with_rows) {
      setup.tables = std::make_shared<const TableFiles>(rows(), files_);
    }
    TROUPE_ASSIGN_OR_RETURN(const auto result, cluster->run(std::move(setup)));
    const auto flat = result.only_outputs()->view().flat();
    return std::vector<float>(flat.begin(), flat.end());
  }
  /// The same rows as features, by original id.
  Result<std::vector<float>> rows_as_features() const {
    std::vector<float> all(300 * dim);
    const TableFiles files(rows(), files_);
    for (std::uint32_t part = 0; part < files.parts(); ++part) {
      TROUPE_RETURN_IF_ERROR(files.read(part, [&](const CopyPiece& piece) {
        EXPECT_TRUE(piece.state.empty());
        EXPECT_TRUE(piece.best.empty());
        for (std::size_t i = 0; i < piece.ids.size(); ++i) {
          const auto row = piece.rows.as<float>().subspan(i * dim, dim);
          std::ranges::copy(row, all.begin() + static_cast<std::ptrdiff_t>(piece.ids[i] * dim));
        }
        return ok_status();
      }));
    }
    return all;
  }

  testing::ScratchFolder scratch_;
  std::vector<FileInfo> files_;
};

TEST_F(LearnedRowsExactly, GiveWhatTheSameRowsAsFeaturesGive) {
  ASSERT_OK_AND_ASSIGN(const auto trained, train({"cluster.hosts=2", "partition.parts=3"}));
  EXPECT_EQ(files_.size(), 3U);
  ASSERT_OK_AND_ASSIGN(const auto learned, prepare(graph(), true, {}));
  ASSERT_OK_AND_ASSIGN(const auto outputs, infer(learned, trained, true));
  ASSERT_EQ(outputs.size(), 300U * 3U);

  ASSERT_OK_AND_ASSIGN(const auto features, rows_as_features());
  const auto twin = scratch_.path() / "twin";
  ASSERT_OK(testing::write_featureless_store(twin, features));
  ASSERT_OK_AND_ASSIGN(const auto plain, prepare(twin, false, {}));
  ASSERT_OK_AND_ASSIGN(const auto expected, infer(plain, trained, false));
  EXPECT_EQ(outputs, expected);
  ASSERT_OK_AND_ASSIGN(const auto hidden, infer(learned, trained, true, true));
  ASSERT_OK_AND_ASSIGN(const auto expected_hidden, infer(plain, trained, false, true));
  EXPECT_EQ(hidden, expected_hidden);

  // The run itself has inferred the same.
  ASSERT_OK_AND_ASSIGN(const auto seeds, learned.store.seeds("", "test"));
  ASSERT_EQ(trained.only_outputs()->rows(), seeds.original.size());
  for (std::size_t i = 0; i < seeds.original.size(); ++i) {
    const auto row = trained.only_outputs()->view().row(i);
    EXPECT_TRUE(std::ranges::equal(
        row, std::span(outputs).subspan(raw(seeds.original[i]) * row.size(), row.size())))
        << i;
  }
}

TEST_F(LearnedRowsExactly, GiveTheSameInAllLayoutsWhateverPartsWroteTheRows) {
  ASSERT_OK_AND_ASSIGN(const auto trained, train({"cluster.hosts=2", "partition.parts=2"}));
  std::vector<float> first;
  for (const Settings& settings :
       {Settings{}, Settings{"partition.parts=5"}, Settings{"cluster.hosts=2", "partition.parts=3"},
        Settings{"cluster.hosts=2", "cluster.replicas=2", "partition.parts=2"},
        Settings{"cluster.hosts=2", "cluster.placement=worker", "partition.parts=4",
                 "cluster.threads=1"},
        Settings{"cluster.hosts=3", "partition.parts=3", "cluster.network.latency_us=200"}}) {
    SCOPED_TRACE(settings.empty() ? "" : settings.back());
    ASSERT_OK_AND_ASSIGN(const auto ready, prepare(graph(), true, settings));
    ASSERT_OK_AND_ASSIGN(const auto outputs, infer(ready, trained, true));
    first = first.empty() ? outputs : first;
    EXPECT_EQ(outputs, first);
  }
}

TEST_F(LearnedRowsExactly, RefuseFilesThatAreNotThoseOfTheModel) {
  ASSERT_OK_AND_ASSIGN(const auto trained, train({"partition.parts=1"}));
  ASSERT_OK_AND_ASSIGN(const auto ready, prepare(graph(), true, {}));
  std::fstream bytes(rows() / "learned-0.bin", std::ios::in | std::ios::out | std::ios::binary);
  bytes.seekp(3000);
  bytes.put('x');
  bytes.close();
  EXPECT_ERROR(infer(ready, trained, true), Errc::data_corruption, "learned-0.bin");
}

TEST(FilesOfLearnedRows, AreNamedInOneLine) {
  const std::vector<FileInfo> files{{"learned-0.bin", 12, "abc"}, {"learned-1.bin", 7, "def"}};
  const auto text = files_text(files);
  EXPECT_EQ(text, "learned-0.bin 12 abc, learned-1.bin 7 def");
  ASSERT_OK_AND_ASSIGN(const auto again, files_of_text(text));
  ASSERT_EQ(again.size(), 2U);
  EXPECT_EQ(again[1].path, "learned-1.bin");
  EXPECT_EQ(again[1].bytes, 7U);
  EXPECT_EQ(again[1].checksum, "def");
  for (const char* wrong : {"learned-0.bin", "learned-0.bin x abc", "learned-1.bin 7 def",
                            "../learned-0.bin 7 def", "learned-0.bin 7 def more"}) {
    EXPECT_ERROR(files_of_text(wrong), Errc::data_corruption, "learned-0.bin");
  }
}

// ---- links ----

using LinkEnds = std::pair<std::int64_t, std::int64_t>;

/// Links within a class: node i with one that is 3 or 9 further.
class LearnedLinksExactly : public LearnedRowsExactly {
 protected:
  void SetUp() override {
    LearnedRowsExactly::SetUp();
    for (const std::string role : {"train", "val", "test"}) {
      auto& links = links_[role];
      std::vector<std::int64_t> ends;
      for (std::int64_t i = role == "train" ? 0 : role == "val" ? 1 : 2; i < 290; i += 3) {
        for (const std::int64_t other : {i + 3, (i + 9) % 300}) {
          links.emplace_back(i, other);
          ends.insert(ends.end(), {i, other});
        }
      }
      testing::write_numbers(scratch_.path() / (role + ".npy"), 2, ends);
    }
  }

  Result<RunResult> learn(const Settings& settings) {
    Settings all{"task.kind=unsupervised",  "task.negatives.kind=triplet",
                 "eval.ranks=all",          "eval.metric=mrr",
                 "train.optimizer.lr=0.01", "embedding.node.init.std=1"};
    for (const auto& [role, links] : links_) {
      all.push_back(
          fmt::format("dataset.seeds.{}={}", role, (scratch_.path() / (role + ".npy")).string()));
    }
    all.insert(all.end(), settings.begin(), settings.end());
    return train(all);
  }
  /// From the rows that the run leaves: each link's ends ranked one by one.
  double slow_mrr(ConstMatrix rows) const {
    std::set<LinkEnds> known;
    for (const auto& [role, links] : links_) {
      known.insert(links.begin(), links.end());
    }
    const auto score = [&](std::int64_t u, std::int64_t v) {
      double sum = 0;
      for (std::size_t c = 0; c < rows.cols; ++c) {
        sum += double{rows.row(static_cast<std::size_t>(u))[c]} *
               rows.row(static_cast<std::size_t>(v))[c];
      }
      return sum;
    };
    double sum = 0;
    for (const auto& [u, v] : links_.at("test")) {
      for (const bool of_source : {false, true}) {
        double rank = 1;
        for (std::int64_t other = 0; other < 300; ++other) {
          const LinkEnds link = of_source ? LinkEnds{other, v} : LinkEnds{u, other};
          if (!known.contains(link)) {
            const auto difference = score(link.first, link.second) - score(u, v);
            rank += difference > 0 ? 1 : difference == 0 ? 0.5 : 0;
          }
        }
        sum += 1 / rank;
      }
    }
    return sum / (2.0 * static_cast<double>(links_.at("test").size()));
  }

  std::map<std::string, std::vector<LinkEnds>> links_;
};

TEST_F(LearnedLinksExactly, AreRankedByTheRowsThatTheyGive) {
  ASSERT_OK_AND_ASSIGN(const auto one, learn({"cluster.trainers_per_host=2", "partition.parts=1"}));
  ASSERT_TRUE(one.only_outputs() && one.record.test);
  EXPECT_EQ(one.only_outputs()->rows(), 300U);
  EXPECT_NEAR(*one.record.test->by_name("mrr"), slow_mrr(one.only_outputs()->view()), 1e-3);
  EXPECT_GT(*one.record.test->auc, 0.5);
  for (const Settings& layout : std::vector<Settings>{
           {"cluster.hosts=2", "partition.parts=3"},
           {"cluster.hosts=2", "partition.parts=2", "cluster.threads=1"},
           {"cluster.hosts=2", "partition.parts=2", "cluster.replicas=2"},
           {"cluster.hosts=2", "cluster.placement=server_client", "partition.parts=2"}}) {
    SCOPED_TRACE(layout.back());
    std::filesystem::remove_all(rows());
    ASSERT_OK_AND_ASSIGN(const auto spread, learn(layout));
    EXPECT_EQ(spread.record.batches, one.record.batches);
    EXPECT_EQ(spread.record.parameters, one.record.parameters);
    EXPECT_EQ(spread.record.tensors, one.record.tensors);
    EXPECT_EQ(spread.record.outputs, one.record.outputs);
    EXPECT_EQ(spread.record.test->more, one.record.test->more);
    EXPECT_TRUE(std::ranges::equal(spread.only_outputs()->view().flat(),
                                   one.only_outputs()->view().flat()));
  }
}

}  // namespace
}  // namespace troupe
