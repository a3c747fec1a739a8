// `troupe batches`: the files hold what a run of the same job trains on.
#include "runtime/base/digest.hpp"
#include "tests/sim/heterogeneous_support.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/npy_reader.hpp"
#include "tests/support/process.hpp"
#include "tests/support/scratch_folder.hpp"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <map>
#include <signal.h>
#include <string>
#include <vector>

namespace troupe {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Words = std::vector<std::string>;

class Batches : public ::testing::Test {
 protected:
  testing::ProcessResult troupe(const std::string& command, const Words& settings,
                                const Words& more = {}) const {
    Words arguments{TROUPE_PROGRAM, command, job_, "--set", "output=" + path("out")};
    for (const auto& setting : settings) {
      arguments.insert(arguments.end(), {"--set", setting});
    }
    arguments.insert(arguments.end(), more.begin(), more.end());
    return testing::run_process(arguments, path(""));
  }
  /// Content of batches.json; null if the command failed.
  json batches(const std::string& out, const Words& settings, Words more = {}) const {
    more.insert(more.end(), {"-o", path(out)});
    const auto done = troupe("batches", settings, more);
    EXPECT_EQ(done.exit_code, 0) << done.err;
    return read_json(out + "/batches.json");
  }
  /// Batch digest of a run's report.
  json digest_of_run(Words settings, const std::string& epochs) const {
    settings.push_back("train.epochs=" + epochs);
    fs::remove(path("out/report.json"));  // else the run is refused
    const auto ran = troupe("run", settings);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return read_json("out/report.json")["digests"]["batches"];
  }
  void expect_refused(int exit_code, const std::string& text, const Words& settings,
                      Words more) const {
    more.insert(more.end(), {"--out", path("refused")});
    const auto refused = troupe("batches", settings, more);
    EXPECT_EQ(refused.exit_code, exit_code) << text;
    EXPECT_NE(refused.err.find(text), std::string::npos) << refused.err;
    EXPECT_FALSE(fs::exists(path("refused"))) << text;
  }

  std::string path(const std::string& name) const { return (scratch_.path() / name).string(); }
  json read_json(const std::string& name) const {
    return json::parse(testing::file_text(scratch_.path() / name), nullptr, false);
  }
  testing::NpyArray array(const std::string& name) const {
    return testing::read_npy(scratch_.path() / name);
  }
  /// Every file below a folder but batches.json, which has the job, by its path.
  std::map<std::string, std::string> arrays_below(const std::string& name) const {
    return testing::texts_below(scratch_.path() / name, ".npy");
  }
  /// Every batch's digest, made of its files alone, is the one in batches.json.
  void expect_digests_of_files(const std::string& out, const json& list) const;

  std::string job_ = TROUPE_SOURCE_DIR "/examples/quickstart.json";
  testing::ScratchFolder scratch_;
};

template <class T>
void add_array(DigestBuilder& digest, const std::vector<T>& values) {
  digest.add_array(std::span<const T>(values));
}

/// The definition of digest_batch(), over files.
class FileDigest {
 public:
  explicit FileDigest(fs::path folder) : folder_(std::move(folder)) {}

  std::string of(const json& list) {
    add_array(digest_, values<std::int64_t>("seeds"));
    const auto first_type = list["edge_types"][0]["name"].get<std::string>();
    const auto hops = values<std::uint32_t>("edges-" + first_type + "/row_begin").size() - 1;
    for (std::size_t hop = 0; hop < hops; ++hop) {
      for (const auto& type : list["edge_types"]) {
        add_hop(type, hop);
      }
    }
    for (const auto& type : list["node_types"]) {
      add_array(digest_, values<float>("nodes-" + type["name"].get<std::string>() + "/features"));
    }
    for (const auto& type : list["edge_types"]) {
      if (type["features"] > 0) {
        add_array(digest_, values<float>("edges-" + type["name"].get<std::string>() + "/features"));
      }
    }
    add_array(digest_, values<std::int64_t>("labels"));
    add_array(digest_, values<float>("targets"));
    return to_string(digest_.digest());
  }

 private:
  /// Empty if there is no such file.
  template <class T>
  std::vector<T> values(const std::string& name) const {
    const auto file = folder_ / (name + ".npy");
    return fs::exists(file) ? testing::read_npy(file).as<T>() : std::vector<T>();
  }
  template <class T>
  void add_slice(const std::vector<T>& all, std::size_t first, std::size_t end) {
    if (!all.empty()) {
      digest_.add_array(std::span<const T>(all).subspan(first, end - first));
    }
  }
  void add_hop(const json& type, std::size_t hop) {
    const auto folder = "edges-" + type["name"].get<std::string>() + "/";
    const auto ids =
        values<std::int64_t>("nodes-" + type["sources_of"].get<std::string>() + "/ids");
    const auto rows = values<std::uint32_t>(folder + "row_begin");
    const auto offsets = values<std::uint32_t>(folder + "offsets");
    const auto sources = values<std::uint32_t>(folder + "sources");
    std::vector<std::uint32_t> counts;
    for (auto row = rows.at(hop); row < rows.at(hop + 1); ++row) {
      counts.push_back(offsets.at(row + 1) - offsets.at(row));
    }
    add_array(digest_, counts);
    const auto first = offsets.at(rows.at(hop));
    const auto end = offsets.at(rows.at(hop + 1));
    std::vector<std::int64_t> drawn;
    for (auto edge = first; edge < end; ++edge) {
      drawn.push_back(ids.at(sources.at(edge)));
    }
    add_array(digest_, drawn);
    add_slice(values<std::int64_t>(folder + "edge_ids"), first, end);
    add_slice(values<std::int64_t>(folder + "times"), first, end);
    add_slice(values<float>(folder + "weights"), first, end);
  }

  fs::path folder_;
  DigestBuilder digest_;
};

void Batches::expect_digests_of_files(const std::string& out, const json& list) const {
  ASSERT_TRUE(list.is_object());
  ASSERT_GT(list["batches"].size(), 0U);
  for (const auto& batch : list["batches"]) {
    const auto folder = "batch-" + std::to_string(batch["number"].get<int>());
    EXPECT_EQ(FileDigest(scratch_.path() / out / folder).of(list), batch["digest"]) << folder;
  }
}

TEST_F(Batches, FilesHoldWhatOneAndTwoRanksTrainOn) {
  for (const std::string ranks : {"1", "2"}) {
    const Words settings{"cluster.hosts=" + ranks, "sample.batch_size=32"};
    const auto list = batches("of" + ranks, settings);

    EXPECT_EQ(list["digest"], digest_of_run(settings, "1")) << ranks;
    EXPECT_EQ(list["batches"].size(), 5U);
    expect_digests_of_files("of" + ranks, list);
  }
}

TEST_F(Batches, FilesHaveTheShapesOfTheDocumentation) {
  const auto list = batches("b", {"sample.batch_size=32"}, {"--count", "1"});

  ASSERT_TRUE(list.is_object());
  const auto seeds = array("b/batch-0/seeds.npy");
  const auto ids = array("b/batch-0/nodes-node/ids.npy");
  const auto nodes = ids.size();
  EXPECT_EQ(seeds.descr, "<i8");
  EXPECT_EQ(seeds.shape, (std::vector<std::size_t>{32}));
  EXPECT_EQ(list["batches"][0]["nodes"], nodes);
  EXPECT_EQ(array("b/batch-0/nodes-node/features.npy").shape,
            (std::vector<std::size_t>{nodes, 1433}));
  const auto hop_end = array("b/batch-0/nodes-node/hop_end.npy").as<std::size_t>();
  ASSERT_EQ(hop_end.size(), 3U);
  EXPECT_EQ(hop_end.back(), nodes);
  const auto places = array("b/batch-0/seed_index.npy").as<std::size_t>();
  const auto original = ids.as<std::size_t>();
  for (std::size_t i = 0; i < places.size(); ++i) {
    EXPECT_EQ(original.at(places[i]), seeds.as<std::size_t>()[i]);
  }
  for (const auto source : array("b/batch-0/edges-edge/sources.npy").as<std::size_t>()) {
    EXPECT_LT(source, nodes);
  }
  EXPECT_FALSE(fs::exists(path("b/batch-0/nodes-node/trees.npy")));
  EXPECT_FALSE(fs::exists(path("b/batch-0/edges-edge/weights.npy")));
}

TEST_F(Batches, PartsHostsAndThreadsChangeNoByte) {
  const auto one = batches("one", {"cluster.hosts=1", "partition.parts=1", "cluster.threads=1"});
  const auto files = arrays_below("one");
  ASSERT_GT(files.size(), 5U);

  for (const Words& layout :
       std::vector<Words>{{"cluster.hosts=3", "partition.parts=5", "cluster.threads=4"},
                          {"partition.halo=1", "partition.halo_features=true"},
                          {"cluster.launch=local"}}) {
    const auto list = batches("other", layout);
    EXPECT_EQ(list["batches"], one["batches"]) << layout.front();
    EXPECT_EQ(arrays_below("other"), files) << layout.front();
    fs::remove_all(path("other"));
  }
}

TEST_F(Batches, DigestsOfEpochsOneAfterTheOtherAreTheRuns) {
  const auto first = batches("first", {});
  const auto second = batches("second", {}, {"--epoch", "2"});
  const auto some = batches("some", {}, {"--epoch", "2", "--count", "2"});

  EXPECT_NE(second["digest"], first["digest"]);
  Digest running;
  for (const auto& list : {first, second}) {
    for (const auto& batch : list["batches"]) {
      ASSERT_OK_AND_ASSIGN(const auto next, parse_digest(batch["digest"].get<std::string>()));
      running = chain(running, next);
    }
  }
  EXPECT_EQ(to_string(running), digest_of_run({}, "2"));
  ASSERT_EQ(some["batches"].size(), 2U);
  EXPECT_EQ(some["batches"][1], second["batches"][1]);
  EXPECT_FALSE(fs::exists(path("some/batch-2")));
}

TEST_F(Batches, ALocalSeedOrderIsThatOfTheRanks) {
  const Words settings{"cluster.hosts=2", "partition.parts=2", "sample.seed_order=local"};

  EXPECT_EQ(batches("b", settings)["digest"], digest_of_run(settings, "1"));
  EXPECT_NE(batches("global", {})["digest"], read_json("b/batches.json")["digest"]);
}

TEST_F(Batches, HeterogeneousGraphsHaveFilesForEveryType) {
  ASSERT_OK(testing::write_heterogeneous_store(scratch_.path() / "graph"));
  job_ = path("job.json");
  std::ofstream(job_) << testing::heterogeneous_job_text(path("graph"), path("out"));
  const std::string data = R"(sample.edge_data=["ids", "weights", "times"])";
  const std::string along_weights =
      R"(sample.fanout={"*": [-1, 0], "writes": [4, 3], "rev_writes": [3, 2]})";

  for (const Words& way : std::vector<Words>{{data},
                                             {data, "sample.disjoint=true"},
                                             {data, "sample.edge_dir=out"},
                                             {"sample.frontier=all"},
                                             {data, "sample.choice=weighted", along_weights}}) {
    SCOPED_TRACE(way.back());
    auto settings = way;
    settings.insert(settings.end(), {"cluster.hosts=2", "partition.parts=4"});
    const auto list = batches("b", settings);
    EXPECT_EQ(list["digest"], digest_of_run(settings, "1"));
    expect_digests_of_files("b", list);
    const bool has_data = way.front() == data;
    const fs::path batch = path("b/batch-0");
    EXPECT_EQ(fs::exists(batch / "edges-writes/weights.npy"), has_data);
    EXPECT_FALSE(fs::exists(batch / "edges-writes/times.npy"));
    EXPECT_EQ(fs::exists(batch / "edges-rev_appears/times.npy"), has_data);
    fs::remove_all(path("b"));
  }
}

TEST_F(Batches, FeaturesOfEdgesAreThoseOfTheirIds) {
  ASSERT_OK(testing::write_heterogeneous_store(scratch_.path() / "graph"));
  job_ = path("job.json");
  std::ofstream(job_) << testing::heterogeneous_job_text(path("graph"), path("out"));
  for (const std::string dir : {"in", "out"}) {
    Words settings{R"(sample.edge_data=["features", "ids"])", "sample.edge_dir=" + dir,
                   "partition.parts=3", "cluster.hosts=2"};
    const auto list = batches("b-" + dir, settings);
    expect_digests_of_files("b-" + dir, list);
    settings.emplace_back("cluster.launch=local");
    EXPECT_EQ(list["digest"], digest_of_run(settings, "1")) << "in processes";
    const auto rows = array("b-" + dir + "/batch-0/edges-writes/features.npy");
    const auto ids = array("b-" + dir + "/batch-0/edges-writes/edge_ids.npy").as<std::int64_t>();
    ASSERT_EQ(rows.shape, (std::vector<std::size_t>{ids.size(), 2}));
    ASSERT_FALSE(ids.empty());
    for (std::size_t i = 0; i < ids.size(); ++i) {
      EXPECT_EQ(rows.as<float>()[2 * i], static_cast<float>(ids[i]));
    }
  }
  const auto without = batches("without", {});
  EXPECT_EQ(without["edge_types"][0]["features"], 0);
  EXPECT_FALSE(fs::exists(path("without/batch-0/edges-writes/features.npy")));
}

TEST_F(Batches, NamedColumnsAreWrittenAsTheyWereImported) {
  ASSERT_OK(testing::write_heterogeneous_store(scratch_.path() / "graph"));
  job_ = path("job.json");
  std::ofstream(job_) << testing::heterogeneous_job_text(path("graph"), path("out"));
  Words settings{R"(features.columns=["nodes-author/at", "edges-writes/kind"])",
                 R"(sample.edge_data=["ids"])", "partition.parts=3", "cluster.hosts=2"};
  const auto list = batches("b", settings);
  settings.emplace_back("cluster.launch=local");
  EXPECT_EQ(list["digest"], digest_of_run(settings, "1")) << "in processes";
  const auto places = array("b/batch-0/nodes-author/columns/at.npy");
  const auto ids = array("b/batch-0/nodes-author/ids.npy").as<std::int64_t>();
  EXPECT_EQ(places.descr, "<f8");
  ASSERT_EQ(places.shape, (std::vector<std::size_t>{ids.size(), 2}));
  for (std::size_t i = 0; i < ids.size(); ++i) {
    EXPECT_EQ(places.as<double>()[2 * i + 1], static_cast<double>(ids[i]) * 3);
  }
  const auto kinds = array("b/batch-0/edges-writes/columns/kind.npy");
  const auto edges = array("b/batch-0/edges-writes/edge_ids.npy").as<std::int64_t>();
  EXPECT_EQ(kinds.descr, "|u1");
  ASSERT_EQ(kinds.shape, (std::vector<std::size_t>{edges.size(), 3}));
  for (std::size_t i = 0; i < edges.size(); ++i) {
    EXPECT_EQ(kinds.as<std::uint8_t>()[3 * i], edges[i] % 256);
  }
  EXPECT_FALSE(fs::exists(path("b/batch-0/nodes-author/columns/age.npy"))) << "not asked for";
  EXPECT_FALSE(fs::exists(path("b/batch-0/nodes-paper/columns")));
  const auto shown = testing::run_process({TROUPE_PROGRAM, "inspect", path("graph")}, path(""));
  EXPECT_NE(shown.out.find("classes, columns age i64, at f64 [2]\n"), std::string::npos)
      << shown.out;
  EXPECT_NE(shown.out.find("(author -> paper), columns kind u8 [3]\n"), std::string::npos);
}

TEST_F(Batches, AStoreForBothDirectionsHasFeaturesOfInEdgesAlone) {
  ASSERT_OK(testing::write_heterogeneous_store(scratch_.path() / "graph"));
  const auto parted = testing::run_process({TROUPE_PROGRAM, "partition", "--parts", "2",
                                            "--complete-for", "both", path("graph"), path("parts")},
                                           path(""));
  ASSERT_EQ(parted.exit_code, 0) << parted.err;
  job_ = path("job.json");
  std::ofstream(job_) << testing::heterogeneous_job_text(path("parts"), path("out"));
  const std::string features = R"(sample.edge_data=["features"])";

  EXPECT_GT(batches("in", {features})["batches"].size(), 0U);
  expect_refused(3, "/sample/edge_data: the store", {features, "sample.edge_dir=out"}, {});
}

TEST_F(Batches, DisjointBatchesHaveTrees) {
  const auto list = batches("b", {"sample.disjoint=true"}, {"--count", "1"});

  ASSERT_TRUE(list.is_object());
  const auto trees = array("b/batch-0/nodes-node/trees.npy").as<std::size_t>();
  const auto places = array("b/batch-0/seed_index.npy").as<std::size_t>();
  EXPECT_EQ(trees.size(), list["batches"][0]["nodes"]);
  for (std::size_t seed = 0; seed < places.size(); ++seed) {
    EXPECT_EQ(trees.at(places[seed]), seed);
  }
}

TEST_F(Batches, AJobThatTheBuiltInTrainerRefusesHasBatches) {
  const Words settings{"train.loss=bce_logits"};
  ASSERT_EQ(troupe("run", settings).exit_code, 2) << "seven classes";

  EXPECT_EQ(batches("b", settings)["count"], 5U);
}

TEST_F(Batches, WithoutDigestsTheirPlacesAreNull) {
  const auto list = batches("b", {"digest=off"}, {"--count", "1"});

  ASSERT_TRUE(list.is_object());
  EXPECT_TRUE(list["digest"].is_null());
  EXPECT_TRUE(list["batches"][0]["digest"].is_null());
}

TEST_F(Batches, RefusesWhatItCannotWrite) {
  expect_refused(2, "--count: expected at most 5, the batches of an epoch, found 6", {},
                 {"--count", "6"});
  expect_refused(2, "--count", {}, {"--count", "0"});
  expect_refused(2, "--epoch", {}, {"--epoch", "0"});
  expect_refused(2, "--epoch", {}, {"--epoch", "2147483648"});
  expect_refused(2, "found \"ssh\"", {"cluster.launch=ssh", R"(cluster.hosts=["10.0.0.1"])"}, {});
  expect_refused(2, "/dataset/split", {"dataset.split=none"}, {});
  EXPECT_EQ(troupe("batches", {}).exit_code, 2) << "--out is required";
}

TEST_F(Batches, ASignalWhileFilesAreWrittenLeavesNothing) {
  job_ = TROUPE_SOURCE_DIR "/examples/amazon_computers.json";
  const auto begun = [&] {
    for (const auto& entry : fs::directory_iterator(scratch_.path())) {
      const auto name = entry.path().filename().string();
      if (name.starts_with("b.tmp-") && fs::exists(entry.path() / "batch-20")) {
        return true;
      }
    }
    return false;
  };

  for (int i = 0; i < 4; ++i) {
    testing::Process process({TROUPE_PROGRAM, "batches", job_, "--set", "output=" + path("out"),
                              "--set", "sample.batch_size=1", "-o", path("b")},
                             path(""));
    while (!begun() && !process.has_ended()) {
    }
    process.signal(SIGTERM);
    EXPECT_EQ(process.wait().exit_code, 130);
    for (const auto& entry : fs::directory_iterator(scratch_.path())) {
      const auto name = entry.path().filename().string();
      EXPECT_FALSE(name.starts_with("b")) << name;
    }
  }
}

TEST_F(Batches, AFolderThatExistsIsLeftAsItIs) {
  fs::create_directory(path("there"));

  const auto refused = troupe("batches", {}, {"--out", path("there")});

  EXPECT_EQ(refused.exit_code, 3);
  EXPECT_NE(refused.err.find("--out: "), std::string::npos) << refused.err;
  EXPECT_TRUE(fs::is_empty(path("there")));
  EXPECT_FALSE(fs::exists(path("out/store"))) << "nothing was imported";
}

}  // namespace
}  // namespace troupe
