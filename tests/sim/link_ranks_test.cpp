// Ranks of links among all nodes in whole runs: those of every layout, and those that the rows themselves give.
#include "launcher/prepare_store.hpp"
#include "launcher/read_job.hpp"
#include "runtime/nn/decoder.hpp"
#include "tests/sim/heterogeneous_run.hpp"
#include "tests/sim/link_files.hpp"
#include "tests/sim/sim_support.hpp"
#include "tests/support/expect.hpp"

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

/// Mean of 1 / rank, counted one by one.
double slow_mrr(ConstMatrix rows, const TestLinks& links, const LinkScore& score_of) {
  const auto score = [&](std::int64_t u, std::int64_t v) {
    return score_of(rows.row(static_cast<std::size_t>(u)), rows.row(static_cast<std::size_t>(v)));
  };
  double sum = 0;
  double count = 0;
  for (const auto& [u, v] : links.test) {
    const double own = score(u, v);
    for (const bool of_source : {false, true}) {
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
  ASSERT_TRUE(result.outputs && result.record.test);
  const auto dot = [](std::span<const float> u, std::span<const float> v) {
    return std::transform_reduce(u.begin(), u.end(), v.begin(), 0.0, std::plus<>(),
                                 [](float a, float b) { return double{a} * b; });
  };
  EXPECT_NEAR(*result.record.test->by_name("mrr"),
              slow_mrr(result.outputs->view(), test_links(), dot), 1e-3);
  EXPECT_EQ(result.record.test->labelled, 120U);
  EXPECT_TRUE(result.record.test->auc) << "of drawn ones, as without ranks among all";
}

TEST_F(LinkRanksOfRuns, OfAPerceptronAreThoseOfTheRowsThemselves) {
  ASSERT_OK_AND_ASSIGN(const auto result,
                       run({"task.kind=unsupervised", "cluster.hosts=2", "partition.parts=3",
                            "task.decoder.kind=mlp", "task.decoder.hidden=8"}));
  ASSERT_TRUE(result.outputs && result.record.test && result.state);
  const auto cols = result.outputs->cols();
  const auto& best = result.state->best;
  ASSERT_GT(best.size(), 16 * cols + 17);
  const auto parts =
      nn::perceptron_of({.kind = "mlp", .hidden = 8}, cols, std::span(best).last(16 * cols + 17));
  const auto perceptron = [&](std::span<const float> u, std::span<const float> v) {
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
  EXPECT_NEAR(*result.record.test->by_name("mrr"),
              slow_mrr(result.outputs->view(), test_links(), perceptron), 1e-3);
}

TEST_F(LinkRanksOfRuns, NeedLinksAndExactRows) {
  for (const auto& [setting, found] : std::vector<std::pair<std::string, std::string>>{
           {"eval.mode=sampled", "/eval/ranks: expected \"given\" where batches are scored"},
           {"task.kind=node", "/eval/ranks: expected \"given\" unless links are predicted"}}) {
    const auto read = testing::cora_job(
        scratch_.path() / "out",
        and_more(files_, {"task.negatives.kind=triplet", "eval.ranks=all", setting}));
    ASSERT_FALSE(read.ok());
    EXPECT_NE(std::string(read.error().what()).find(found), std::string::npos)
        << read.error().what();
  }
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
