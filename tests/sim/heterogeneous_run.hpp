#pragma once
/// \file heterogeneous_run.hpp
/// Runs on the small heterogeneous graph in four parts on two hosts, to compare with one that has nothing set.
#include "tests/sim/heterogeneous_support.hpp"
#include "tests/sim/sim_support.hpp"
#include "tests/support/expect.hpp"

#include <numeric>
#include <string>
#include <vector>

namespace troupe::testing {

using Settings = std::vector<std::string>;

/// Layouts that no way of sampling may be seen in.
inline std::vector<Settings> run_layouts() {
  return {
      {"partition.parts=1"},
      {"partition.parts=7", "cluster.samplers_per_trainer=2"},
      {"partition.method=fennel", "cluster.batches_in_flight=1"},
      {"partition.halo=2", "partition.halo_features=true"},
      {"partition.topology=replicated"},
      {"cluster.window=65536", "cluster.network.latency_us=200"},
      {"cluster.placement=worker", "cluster.threads=1"},
      {"features.cache.policy=future", "features.cache.budget=20KB", "features.cache.lookahead=5"},
      {"cluster.replicas=2"}};
}

class HeterogeneousRun : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(write_heterogeneous_store(scratch_.path() / "graph"));
    ASSERT_OK_AND_ASSIGN(plain_, run({}));
  }
  Result<Job> job(const Settings& settings) const {
    // Caches come beside the first epochs, however fast these are.
    Settings all = {"cluster.hosts=2", "partition.parts=4", "train.epochs=6"};
    all.insert(all.end(), settings.begin(), settings.end());
    return heterogeneous_job(scratch_.path() / "graph", scratch_.path() / "out", all);
  }
  Result<RunRecord> run(const Settings& settings) const {
    TROUPE_ASSIGN_OR_RETURN(auto made, job(settings));
    return run_job(std::move(made));
  }
  /// What was learned and seen is that of `plain_`.
  void expect_same_bits(const RunRecord& record, const std::string& what = "") const {
    EXPECT_EQ(record.batches, plain_.batches) << what;
    EXPECT_EQ(record.parameters, plain_.parameters) << what;
    EXPECT_EQ(record.outputs, plain_.outputs) << what;
    const auto& counters = record.epochs.back().counters;
    const auto& before = plain_.epochs.back().counters;
    EXPECT_EQ(counters.frontier.nodes, before.frontier.nodes) << what;
    EXPECT_EQ(counters.rows, before.rows) << what;
  }

  /// The same for `run` with the settings of run_layouts() and `more` after those of `way`.
  template <class Run>
  void expect_same_bits_in_layouts(const Settings& way, const std::vector<Settings>& more,
                                   Run run) {
    auto layouts = run_layouts();
    layouts.insert(layouts.end(), more.begin(), more.end());
    for (const auto& layout : layouts) {
      auto both = way;
      both.insert(both.end(), layout.begin(), layout.end());
      ASSERT_OK_AND_ASSIGN(const auto record, run(both));
      expect_same_bits(record, layout.front());
    }
  }

  ScratchFolder scratch_;
  RunRecord plain_;
};

/// Of all hops of the last epoch: nodes whose neighbours were asked for at other hosts.
inline std::uint64_t remote_nodes(const RunRecord& record) {
  const auto& remote = record.epochs.back().counters.frontier.remote;
  return std::accumulate(remote.begin(), remote.end(), std::uint64_t{0});
}

}  // namespace troupe::testing
