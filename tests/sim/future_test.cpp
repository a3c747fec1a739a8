// The rows that a cache leaves to be read where it knows the next batches, beside those of one that keeps
// the hottest.
#include "launcher/read_job.hpp"
#include "runtime/base/executor.hpp"
#include "runtime/generate/powerlaw.hpp"
#include "runtime/job/job_file.hpp"
#include "tests/sim/sim_support.hpp"
#include "tests/support/expect.hpp"

#include <chrono>
#include <fmt/format.h>
#include <string>
#include <vector>

namespace troupe {
namespace {

/// Takes the batches of three epochs on two hosts, more slowly than they can be made.
class KnownFuture : public ::testing::Test {
 protected:
  void SetUp() override {
    PowerlawOptions options;
    options.nodes = 20'000;
    options.edges = 200'000;
    options.features = 4;
    options.classes = 2;
    options.train = SplitSize(4'000);
    InlineExecutor executor;
    ASSERT_OK_AND_ASSIGN(const auto graph, powerlaw_graph(options));
    ASSERT_OK(generate::write_store(graph, options, executor, scratch_.path() / "graph"));
  }

  Result<RunRecord> take(const std::vector<std::string>& settings) const {
    const auto text = fmt::format(
        R"({{ "dataset": {{ "path": "graph" }}, "cluster": {{ "hosts": 2 }},
              "partition": {{ "parts": 2, "method": "hash", "order": "hotness" }},
              "sample": {{ "fanout": [5, 5], "batch_size": 32 }}, "train": {{ "epochs": 3 }},
              "output": "{}" }})",
        (scratch_.path() / "out").string());
    TROUPE_ASSIGN_OR_RETURN(auto reading, parse_job(text, scratch_.path(), settings));
    if (!reading.problems.empty()) {
      return Error(Errc::invalid_argument, to_string(reading.problems));
    }
    ClusterHooks hooks;
    hooks.take_only = true;
    hooks.pause = [](Rank, std::uint64_t) { return std::chrono::milliseconds(2); };
    return testing::run_job(std::move(reading.job), hooks);
  }
  static std::uint64_t remote(const RunRecord& record) {
    return record.epochs.back().counters.rows_remote;
  }

  testing::ScratchFolder scratch_;
};

TEST_F(KnownFuture, LeavesLessToReadThanTheHottestRows) {
  ASSERT_OK_AND_ASSIGN(const auto hottest,
                       take({"features.cache.policy=hotness", "features.cache.ratio=0.1"}));
  ASSERT_OK_AND_ASSIGN(const auto next,
                       take({"features.cache.policy=future", "features.cache.ratio=0.1"}));

  EXPECT_EQ(next.batches, hottest.batches);
  EXPECT_LE(static_cast<double>(remote(next)), 0.86 * static_cast<double>(remote(hottest)))
      << remote(next) << " of " << remote(hottest);
}

}  // namespace
}  // namespace troupe
