// Whole runs whose batches are random walks, taken by a user program: the same bits whatever the layout.
#include "runtime/sample/walks/walk_pairs.hpp"
#include "tests/sim/session_support.hpp"
#include "tests/support/npy_reader.hpp"

#include <filesystem>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

namespace troupe {
namespace {

using testing::Overrides;
using testing::with;

class WalkSessions : public testing::SessionTest {
 protected:
  static Overrides job(const Overrides& more = {}) {
    return with({"task.kind=walk", "sample.fanout=[1]", "model.layers=1", "train.epochs=2",
                 "task.walk.length=6", "task.walk.per_seed=3", "sample.batch_size=32"},
                more);
  }
};

Status take_walks(Session& session) {
  for (auto e = session.first_epoch(); e < session.epochs(); ++e) {
    for (const Batch& batch : session.epoch(e)) {
      EXPECT_TRUE(batch.sampled->walks);
      EXPECT_EQ(batch.sampled->num_edges(), 0U);
      EXPECT_EQ(batch.rows[0].features.rows(), batch.sampled->num_nodes());
    }
  }
  return session.status();
}

TEST_F(WalkSessions, LayoutsDoNotChangeTheBatches) {
  for (const Overrides& way :
       std::vector<Overrides>{{},
                              {"task.walk.restart=0.25", "sample.edge_dir=out"},
                              {"task.walk.p=4", "task.walk.q=0.25", "task.walk.restart=0.1"}}) {
    const auto expected = run(job(way), take_walks);
    ASSERT_OK(expected.status);
    for (const auto& layout : testing::session_layouts()) {
      SCOPED_TRACE(layout.back());
      const auto spread = run(job(with(way, layout)), take_walks);
      EXPECT_OK(spread.status);
      EXPECT_EQ(to_string(spread.batches), to_string(expected.batches));
    }
  }
}

TEST_F(WalkSessions, EverySeedBeginsItsWalksAndStepsFollowEdges) {
  std::mutex mutex;
  std::multiset<std::uint64_t> begun;
  std::set<std::pair<std::uint64_t, std::uint64_t>> steps;
  const auto ran = run(job({"cluster.hosts=2", "train.epochs=1"}), [&](Session& session) -> Status {
    for (const Batch& batch : session.epoch(0)) {
      const auto& walks = *batch.sampled->walks;
      const auto& ids = batch.rows[0].original_ids;
      const std::lock_guard guard(mutex);
      for (std::size_t at = 0; at < walks.nodes.size(); ++at) {
        if (at % walks.columns() == 0) {
          begun.insert(raw(ids[walks.nodes[at]]));
        } else if (walks.nodes[at] != BatchWalks::no_node) {
          steps.emplace(raw(ids[walks.nodes[at - 1]]), raw(ids[walks.nodes[at]]));
        }
      }
      EXPECT_EQ(walk_pairs(walks, 1).centers.size() % 2, 0U);
    }
    return session.status();
  });
  ASSERT_OK(ran.status);
  EXPECT_EQ(begun.size(), 3 * 140U);
  for (const auto seed : begun) {
    ASSERT_EQ(begun.count(seed), 3U);
  }
  const auto edges = testing::read_npy(std::filesystem::path(TROUPE_SOURCE_DIR) / "examples" /
                                       "data" / "cora" / "edge_index.npy")
                         .as<std::int64_t>();
  std::set<std::pair<std::uint64_t, std::uint64_t>> there;
  for (std::size_t e = 0; e < edges.size() / 2; ++e) {
    there.emplace(edges[edges.size() / 2 + e], edges[e]);
  }
  for (const auto& step : steps) {
    ASSERT_TRUE(there.contains(step)) << step.first << " " << step.second;
  }
}

}  // namespace
}  // namespace troupe
