// Ranks of links among all nodes in whole runs: those of every layout, and those that the rows themselves give.
#include "launcher/prepare_store.hpp"
#include "launcher/read_job.hpp"
#include "runtime/base/executor.hpp"
#include "runtime/data/stream_store.hpp"
#include "runtime/job/job_file.hpp"
#include "runtime/nn/decoder.hpp"
#include "tests/sim/heterogeneous_run.hpp"
#include "tests/sim/link_files.hpp"
#include "tests/sim/sim_support.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/folded_cora.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace troupe {
namespace {

using testing::Settings;

Settings and_more(Settings settings, const Settings& more) {
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

void expect_same_ranks(const RunRecord& found, const RunRecord& expected) {
  EXPECT_EQ(found.batches, expected.batches);
  EXPECT_EQ(found.parameters, expected.parameters);
  EXPECT_EQ(found.best_parameters, expected.best_parameters);
  EXPECT_EQ(to_string(found.outputs), to_string(expected.outputs));
  EXPECT_EQ(found.best_epoch, expected.best_epoch);
  ASSERT_TRUE(found.test && expected.test);
  EXPECT_EQ(found.test->auc, expected.test->auc);
  EXPECT_EQ(found.test->more, expected.test->more);
}

struct TestLinks {
  std::vector<std::pair<std::int64_t, std::int64_t>> test;
  std::set<std::pair<std::int64_t, std::int64_t>> known;  ///< of all roles
};

class LinkRanksOfRuns : public ::testing::Test {
 protected:
  void SetUp() override { files_ = testing::write_cora_links(scratch_.path()); }
  Result<RunResult> run(const Settings& settings) const {
    const auto all = and_more(and_more(files_, {"task.negatives.kind=triplet", "eval.ranks=all",
                                                "eval.metric=mrr", "sample.batch_size=128"}),
                              settings);
    TROUPE_ASSIGN_OR_RETURN(auto job, testing::cora_job(scratch_.path() / "out", all));
    return testing::run_whole(std::move(job));
  }
  std::vector<std::pair<std::int64_t, std::int64_t>> links(const char* role) const {
    const auto ends =
        testing::read_npy(scratch_.path() / fmt::format("{}_links.npy", role)).as<std::int64_t>();
    std::vector<std::pair<std::int64_t, std::int64_t>> all;
    for (std::size_t i = 0; i + 1 < ends.size(); i += 2) {
      all.emplace_back(ends[i], ends[i + 1]);
    }
    return all;
  }
  TestLinks test_links() const {
    TestLinks all{.test = links("test"), .known = {}};
    for (const char* role : {"train", "val", "test"}) {
      for (const auto& link : links(role)) {
        all.known.insert(link);
      }
    }
    return all;
  }
  testing::ScratchFolder scratch_;
  Settings files_;
};

TEST_F(LinkRanksOfRuns, AreTheSameInAllLayouts) {
  for (const char* decoder : {"dot", "distmult", "mlp"}) {
    const Settings way{std::string("task.decoder.kind=") + decoder, "task.decoder.hidden=24"};
    ASSERT_OK_AND_ASSIGN(const auto one, run(and_more(way, {"cluster.trainers_per_host=2"})));
    for (const Settings& layout : std::vector<Settings>{
             {"cluster.hosts=2", "partition.parts=1"},
             {"cluster.hosts=2", "partition.parts=2", "cluster.network.latency_us=200"},
             {"cluster.hosts=2", "partition.parts=3", "cluster.threads=1"},
             {"cluster.hosts=2", "partition.parts=5", "partition.method=fennel"},
             {"cluster.hosts=2", "cluster.replicas=2", "partition.parts=2"},
             {"cluster.hosts=2", "cluster.placement=server_client", "cluster.servers=1"},
             {"cluster.hosts=2", "cluster.window=65536", "partition.parts=2"}}) {
      SCOPED_TRACE(decoder + (" " + layout.back()));
      ASSERT_OK_AND_ASSIGN(const auto spread, run(and_more(way, layout)));
      expect_same_ranks(spread.record, one.record);
    }
  }
}

using LinkScore = std::function<double(std::span<const float> u, std::span<const float> v)>;

double product(std::span<const float> u, std::span<const float> v) {
  return std::transform_reduce(u.begin(), u.end(), v.begin(), 0.0, std::plus<>(),
                               [](float a, float b) { return double{a} * b; });
}

/// Mean of 1 / rank, counted one by one.
double slow_mrr(ConstMatrix rows, const TestLinks& links, const LinkScore& score_of,
                const std::vector<ReplacedEnd>& ends = {ReplacedEnd::tail, ReplacedEnd::head}) {
  const auto score = [&](std::int64_t u, std::int64_t v) {
    return score_of(rows.row(static_cast<std::size_t>(u)), rows.row(static_cast<std::size_t>(v)));
  };
  double sum = 0;
  double count = 0;
  for (const auto& [u, v] : links.test) {
    const double own = score(u, v);
    for (const auto end : ends) {
      const bool of_source = end == ReplacedEnd::head;
      double rank = 1;
      for (std::int64_t other = 0; other < 2708; ++other) {
        const auto a = of_source ? other : u;
        const auto b = of_source ? v : other;
        if (!links.known.contains({a, b})) {
          rank += score(a, b) > own ? 1 : 0;
        }
      }
      sum += 1 / rank;
      count += 1;
    }
  }
  return sum / count;
}

/// Every node's row is an output of a run without labels: ranks are counted from these one by one.
TEST_F(LinkRanksOfRuns, AreThoseOfTheRowsThemselves) {
  ASSERT_OK_AND_ASSIGN(const auto result,
                       run({"task.kind=unsupervised", "cluster.hosts=2", "partition.parts=3"}));
  ASSERT_TRUE(result.only_outputs() && result.record.test);
  EXPECT_NEAR(*result.record.test->by_name("mrr"),
              slow_mrr(result.only_outputs()->view(), test_links(), product), 1e-3);
  EXPECT_EQ(result.record.test->labelled, 120U);
  EXPECT_TRUE(result.record.test->auc) << "of drawn ones, as without ranks among all";
}

TEST_F(LinkRanksOfRuns, OfOneEndAreThoseOfTheRowsThemselves) {
  for (const auto& [name, end] :
       {std::pair("source", ReplacedEnd::head), std::pair("destination", ReplacedEnd::tail)}) {
    SCOPED_TRACE(name);
    const Settings way{"task.kind=unsupervised", "cluster.hosts=2",
                       std::string("eval.ends=") + name};
    ASSERT_OK_AND_ASSIGN(const auto result, run(and_more(way, {"partition.parts=3"})));
    ASSERT_TRUE(result.only_outputs() && result.record.test);
    EXPECT_NEAR(*result.record.test->by_name("mrr"),
                slow_mrr(result.only_outputs()->view(), test_links(), product, {end}), 1e-3);
    EXPECT_EQ(result.record.test->labelled, 120U);
    ASSERT_OK_AND_ASSIGN(const auto spread, run(and_more(way, {"partition.parts=2"})));
    expect_same_ranks(spread.record, result.record);
  }
}

/// A perceptron of 8 hidden columns, whose parameters are the last of the best epoch's.
LinkScore perceptron_of(const RunResult& result) {
  const auto cols = result.only_outputs()->cols();
  const auto& best = result.state->best;
  const auto count = 16 * cols + 17;
  EXPECT_GE(best.size(), count);
  const std::vector<float> decoder(best.end() - static_cast<std::ptrdiff_t>(count), best.end());
  return [cols, decoder](std::span<const float> u, std::span<const float> v) {
    const auto parts = nn::perceptron_of({.kind = "mlp", .hidden = 8}, cols, std::span(decoder));
    double sum = 0;
    for (std::size_t h = 0; h < 8; ++h) {
      double between = parts.bias[h];
      for (std::size_t c = 0; c < cols; ++c) {
        between +=
            double{parts.source.row(h)[c]} * u[c] + double{parts.destination.row(h)[c]} * v[c];
      }
      sum += parts.out[h] * std::max(0.0, between);
    }
    return sum;
  };
}

TEST_F(LinkRanksOfRuns, OfAPerceptronAreThoseOfTheRowsThemselves) {
  ASSERT_OK_AND_ASSIGN(const auto result,
                       run({"task.kind=unsupervised", "cluster.hosts=2", "partition.parts=3",
                            "task.decoder.kind=mlp", "task.decoder.hidden=8"}));
  ASSERT_TRUE(result.only_outputs() && result.record.test && result.state);
  EXPECT_NEAR(*result.record.test->by_name("mrr"),
              slow_mrr(result.only_outputs()->view(), test_links(), perceptron_of(result)), 1e-3);
}

/// Keys of rows that are learned and compared as they are.
const Settings& bare_rows() {
  static const Settings keys{"dataset.path=data/cora_learned",
                             "features.normalize=none",
                             "model.layers=0",
                             "model.dropout=0",
                             "model.input_dropout=0",
                             "sample.fanout=[0]",
                             "embedding.node.dim=12",
                             "embedding.node.optimizer.lr=0.1"};
  return keys;
}

TEST_F(LinkRanksOfRuns, OfRowsInPlaceOfFeaturesAreThoseOfAGraphWithoutThem) {
  const auto beside = and_more(bare_rows(), {"dataset.path=" + testing::folded_cora().string()});
  EXPECT_FALSE(run(beside).ok()) << "features beside learned rows";
  ASSERT_OK_AND_ASSIGN(const auto without, run(bare_rows()));

  ASSERT_OK_AND_ASSIGN(const auto replaced,
                       run(and_more(beside, {"embedding.node.features=false"})));

  expect_same_ranks(replaced.record, without.record);
}

TEST_F(LinkRanksOfRuns, WithoutLayersAreTheSameInAllLayouts) {
  for (const char* decoder : {"dot", "distmult", "mlp"}) {
    const auto way = and_more(
        bare_rows(), {std::string("task.decoder.kind=") + decoder, "task.decoder.hidden=24"});
    ASSERT_OK_AND_ASSIGN(const auto one, run(and_more(way, {"cluster.trainers_per_host=2"})));
    EXPECT_EQ(one.record.test->labelled, 120U);
    EXPECT_GT(*one.record.test->by_name("mr"), 1.0);
    for (const Settings& layout : std::vector<Settings>{
             {"cluster.hosts=2", "partition.parts=3", "cluster.network.latency_us=200"},
             {"cluster.hosts=2", "partition.parts=5", "cluster.threads=1"},
             {"cluster.hosts=2", "cluster.replicas=2", "partition.parts=2"},
             {"cluster.hosts=2", "cluster.placement=server_client", "cluster.servers=1"},
             {"cluster.hosts=2", "cluster.window=65536", "partition.parts=2"}}) {
      SCOPED_TRACE(decoder + (" " + layout.back()));
      ASSERT_OK_AND_ASSIGN(const auto spread, run(and_more(way, layout)));
      expect_same_ranks(spread.record, one.record);
      EXPECT_EQ(spread.record.tensors, one.record.tensors);
    }
  }
}

/// Also with what is learned on a device.
TEST_F(LinkRanksOfRuns, WithoutLayersAreThoseOfTheLearnedRows) {
  for (const auto& device : {"cluster.device=cpu", "cluster.device=emulated:1"}) {
    for (const bool perceptron : {false, true}) {
      const auto way =
          and_more(bare_rows(), {"task.kind=unsupervised", "cluster.hosts=2", "partition.parts=3",
                                 "task.decoder.hidden=8", device,
                                 perceptron ? "task.decoder.kind=mlp" : "task.decoder.kind=dot"});
      SCOPED_TRACE(way.back() + " " + device);
      ASSERT_OK_AND_ASSIGN(const auto result, run(way));
      ASSERT_TRUE(result.only_outputs() && result.record.test && result.state);
      EXPECT_EQ(result.only_outputs()->cols(), 12U);
      EXPECT_NEAR(*result.record.test->by_name("mrr"),
                  slow_mrr(result.only_outputs()->view(), test_links(),
                           perceptron ? perceptron_of(result) : LinkScore(product)),
                  1e-3);
      EXPECT_TRUE(result.record.test->auc) << "of drawn ones, as without ranks among all";
    }
  }
}

/// Links between two node types: users and what they bought, in runs that learn a row for each of both.
class RanksOfTwoLearnedTypes : public ::testing::Test {
 protected:
  static constexpr std::uint64_t users = 90;
  static constexpr std::uint64_t items = 50;

  void SetUp() override {
    InlineExecutor executor;
    ASSERT_OK_AND_ASSIGN(auto writer, StoreWriter::create(scratch_.path() / "graph", {}, executor));
    ASSERT_OK_AND_ASSIGN(const auto user, writer.add_node_type({"user", users, {}, {}}));
    ASSERT_OK_AND_ASSIGN(const auto item, writer.add_node_type({"item", items, {}, {}}));
    ASSERT_OK_AND_ASSIGN(const auto buys,
                         writer.add_edge_type({"buys", user, item, {.reverse_edges = true}}));
    std::vector<std::uint64_t> who;
    std::vector<std::uint64_t> what;
    for (std::uint64_t i = 0; i < 600; ++i) {
      who.push_back(i * 37 % users);
      what.push_back((i * i + i / 7) % items);
    }
    ASSERT_OK(writer.add_edges(buys, {.sources = who, .destinations = what}));
    ASSERT_OK(writer.finish());
    for (const auto& [role, first] :
         {std::pair{"train", std::size_t{0}}, std::pair{"val", std::size_t{400}},
          std::pair{"test", std::size_t{500}}}) {
      std::vector<std::int64_t> links;
      for (std::size_t i = 0; i < (first == 0 ? 400U : 100U); ++i) {
        links.push_back(static_cast<std::int64_t>(who[first + i]));
        links.push_back(static_cast<std::int64_t>(what[first + i]));
      }
      const auto file = scratch_.path() / fmt::format("{}.npy", role);
      testing::write_numbers(file, 2, links);
      files_.push_back(fmt::format("dataset.seeds.{}={}", role, file.string()));
    }
  }
  Result<RunRecord> run(const Settings& settings) const {
    const Settings way{"task.kind=link",       "task.negatives.kind=triplet",
                       "eval.ranks=all",       "eval.metric=hits@10",
                       "model.layers=0",       "model.norm=none",
                       "model.dropout=0",      "model.input_dropout=0",
                       "sample.fanout=[0]",    "embedding.user.dim=8",
                       "embedding.item.dim=8", "features.normalize=none",
                       "sample.batch_size=64", "dataset.seeds.type=buys",
                       "eval.mode=exact"};
    TROUPE_ASSIGN_OR_RETURN(
        auto job, testing::heterogeneous_job(scratch_.path() / "graph", scratch_.path() / "out",
                                             and_more(and_more(way, files_), settings)));
    return testing::run_job(std::move(job));
  }
  testing::ScratchFolder scratch_;
  Settings files_;
};

/// After one epoch, so that the best one is the same for all.
TEST_F(RanksOfTwoLearnedTypes, OfDestinationsAreAmongTheirType) {
  const Settings one{"train.epochs=1"};
  ASSERT_OK_AND_ASSIGN(const auto both, run(one));
  ASSERT_OK_AND_ASSIGN(const auto of_items, run(and_more(one, {"eval.ends=destination"})));
  ASSERT_OK_AND_ASSIGN(const auto of_users, run(and_more(one, {"eval.ends=source"})));
  EXPECT_EQ(of_items.parameters, both.parameters);
  EXPECT_EQ(of_items.test->labelled, both.test->labelled);
  EXPECT_LE(*of_items.test->by_name("mr"), items);
  EXPECT_NEAR((*of_items.test->by_name("mr") + *of_users.test->by_name("mr")) / 2,
              *both.test->by_name("mr"), 1e-9);
}

TEST_F(RanksOfTwoLearnedTypes, AreTheSameInAllLayouts) {
  ASSERT_OK_AND_ASSIGN(const auto one, run({"cluster.trainers_per_host=2"}));
  EXPECT_LT(*one.test->by_name("mr"), (users + items) / 2.0) << "ranks are among one type's nodes";
  for (const Settings& layout :
       std::vector<Settings>{{"cluster.hosts=2", "partition.parts=4"},
                             {"cluster.hosts=2", "partition.parts=2", "cluster.threads=1"}}) {
    ASSERT_OK_AND_ASSIGN(const auto spread, run(layout));
    expect_same_ranks(spread, one);
  }
}

TEST_F(LinkRanksOfRuns, NeedLinksAndExactRows) {
  for (const auto& [setting, found] : std::vector<std::pair<std::string, std::string>>{
           {"eval.mode=sampled", "/eval/ranks: expected \"given\" with sampled neighborhoods"},
           {"task.kind=node", "/eval/ranks: expected \"given\" unless links are predicted"}}) {
    const auto read = testing::cora_job(
        scratch_.path() / "out",
        and_more(files_, {"task.negatives.kind=triplet", "eval.ranks=all", setting}));
    ASSERT_FALSE(read.ok());
    EXPECT_NE(std::string(read.error().what()).find(found), std::string::npos)
        << read.error().what();
  }
}

/// A holder has learned rows, and no features beside them, where it counts without layers.
TEST_F(LinkRanksOfRuns, WithoutLayersNeedRowsThatAreLearnedAlone) {
  ASSERT_OK_AND_ASSIGN(
      auto job, testing::cora_job(scratch_.path() / "out",
                                  and_more(and_more(files_, bare_rows()),
                                           {"dataset.path=" + testing::folded_cora().string(),
                                            "task.negatives.kind=triplet", "eval.ranks=all"})));
  ASSERT_OK_AND_ASSIGN(const auto store, prepare_store(job, [](const std::string&) {}));
  const auto problems = to_string(check_against_graph(job, store.info(), JobTrainer::built_in));
  EXPECT_NE(problems.find("/eval/ranks: expected \"given\" where rows without layers have the "
                          "features of \"node\""),
            std::string::npos)
      << problems;
}

TEST(LinkRanksOfTwoTypes, AreTheSameInAllLayouts) {
  const testing::ScratchFolder scratch;
  ASSERT_OK(testing::write_heterogeneous_store(scratch.path() / "graph"));
  const auto run = [&](const Settings& layout) -> Result<RunRecord> {
    const Settings way{"dataset.split=rated",     "task.kind=link",  "task.negatives.kind=triplet",
                       "task.reverse=rev_writes", "eval.mode=exact", "eval.ranks=all",
                       "eval.metric=mr"};
    TROUPE_ASSIGN_OR_RETURN(
        auto job, testing::heterogeneous_job(scratch.path() / "graph", scratch.path() / "out",
                                             and_more(way, layout)));
    return testing::run_job(std::move(job));
  };
  ASSERT_OK_AND_ASSIGN(const auto one, run({"cluster.trainers_per_host=2"}));
  ASSERT_OK_AND_ASSIGN(const auto spread, run({"cluster.hosts=2", "partition.parts=4"}));
  expect_same_ranks(spread, one);
  EXPECT_GT(*one.test->by_name("mr"), 1.0);
}

}  // namespace
}  // namespace troupe
