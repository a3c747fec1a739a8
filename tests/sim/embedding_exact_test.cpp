// Exact inference over learned rows, in a run and from what it leaves.
#include "launcher/prepare_store.hpp"
#include "launcher/read_job.hpp"
#include "runtime/run/node_request.hpp"
#include "runtime/run/table_source.hpp"
#include "tests/sim/heterogeneous_support.hpp"
#include "tests/sim/sim_support.hpp"
#include "tests/support/expect.hpp"

#include <fmt/format.h>
#include <memory>
#include <string>
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
        InferenceTask{std::make_shared<const SeedList>(std::move(found.nodes)), embeddings};
    TROUPE_ASSIGN_OR_RETURN(const auto cluster,
                            SimulatedCluster::create(ready.job, ready.store, std::move(hooks)));
    RunSetup setup;
    const auto& state = *trained.state;
    setup.parameters = state.best.empty() ? state.parameters : state.best;
    if (with_rows) {
      setup.tables = std::make_shared<const TableFiles>(rows(), files_);
    }
    TROUPE_ASSIGN_OR_RETURN(const auto result, cluster->run(std::move(setup)));
    const auto flat = result.outputs->view().flat();
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
  ASSERT_EQ(trained.outputs->rows(), seeds.original.size());
  for (std::size_t i = 0; i < seeds.original.size(); ++i) {
    const auto row = trained.outputs->view().row(i);
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

}  // namespace
}  // namespace troupe
