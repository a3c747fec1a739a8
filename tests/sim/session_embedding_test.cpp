// Learned rows in programs of the user's: whatever the layout the same rows, also after an interruption.
#include "tests/sim/session_support.hpp"

#include <atomic>
#include <map>
#include <mutex>
#include <thread>

namespace troupe {
namespace {

using namespace std::chrono_literals;
using testing::all_nodes;
using testing::one_host;
using testing::Overrides;
using testing::RankFunction;
using testing::two_hosts;
using testing::with;

const Overrides with_table = {"embedding.node.dim=3", "embedding.node.init.std=0.5"};

/// What one rank hands in at one step.
struct HandedIn {
  std::vector<NodeId> nodes;
  Matrix rows;
  std::uint64_t terms = 0;
};

/// A loss without much sense: half the squares of the batch's rows, and the labels of the seeds.
HandedIn gradient_of(const Batch& batch, const Matrix& rows) {
  HandedIn mine;
  mine.terms = batch.labels.size();
  const auto& ids = batch.sampled->nodes[0].ids;
  mine.nodes.assign(ids.begin(), ids.end());
  mine.rows = Matrix(rows.rows(), rows.cols());
  std::ranges::copy(rows.view().flat(), mine.rows.view().flat().begin());
  for (std::size_t i = 0; i < batch.labels.size(); ++i) {
    auto row = mine.rows.view().row(batch.sampled->seed_index[i]);
    row[0] += static_cast<float>(batch.labels[i]);
  }
  return mine;
}

/// \param after  called before the end of each step, with what was handed in
Status learn_rows(
    Session& session, const std::function<void(const HandedIn&)>& after = [](const HandedIn&) {}) {
  TROUPE_ASSIGN_OR_RETURN(auto table, session.embedding("node"));
  for (auto e = session.first_epoch(); e < session.epochs(); ++e) {
    for (const Batch& batch : session.epoch(e)) {
      TROUPE_ASSIGN_OR_RETURN(const auto rows, table.rows(batch.sampled->nodes[0].ids));
      const auto mine = gradient_of(batch, rows);
      if (mine.terms > 0) {
        TROUPE_RETURN_IF_ERROR(table.gradient(mine.nodes, mine.rows.view(), mine.terms));
      }
      after(mine);
      TROUPE_RETURN_IF_ERROR(session.end_step());
    }
    TROUPE_RETURN_IF_ERROR(session.status());
  }
  return session.status();
}

class SessionEmbeddings : public testing::SessionTest {
 protected:
  SessionOutcome learn(const Overrides& overrides) {
    return run(with(with_table, overrides), [](Session& session) { return learn_rows(session); });
  }
};

TEST_F(SessionEmbeddings, DependOnTheNumberOfRanksAlone) {
  const std::vector<std::pair<std::uint32_t, Overrides>> layouts = {
      {2, two_hosts},
      {2, one_host},
      {2, {"cluster.hosts=2", "partition.parts=5", "cluster.samplers_per_trainer=2"}},
      {2, {"cluster.hosts=2", "cluster.placement=worker", "partition.parts=3"}},
      {2, {"cluster.hosts=2", "cluster.replicas=2", "partition.parts=2", "cluster.threads=1"}},
      {2, with(two_hosts, {"cluster.network.latency_us=300", "cluster.window=65536"})},
      {1, {}},
      {2, {"cluster.hosts=2", "cluster.placement=server_client", "partition.parts=2"}},
      {1, {"cluster.placement=server_client", "cluster.servers=2", "partition.parts=2"}},
      {3, {"cluster.hosts=3", "partition.parts=3"}},
      {3, {"cluster.trainers_per_host=3", "partition.parts=2"}}};
  std::map<std::uint32_t, std::vector<TensorDigest>> by_world;
  for (const auto& [world, overrides] : layouts) {
    SCOPED_TRACE(overrides.empty() ? "plain" : overrides.front() + " " + overrides.back());
    const auto ran = learn(overrides);
    ASSERT_OK(ran.status);
    ASSERT_EQ(ran.tensors.size(), 1U);
    EXPECT_EQ(ran.tensors[0].name, "node");
    EXPECT_EQ(ran.tensors[0].rows, ran.tensors[0].best);
    const auto& first = by_world.emplace(world, ran.tensors).first->second;
    EXPECT_EQ(to_string(ran.tensors[0].rows), to_string(first[0].rows));
  }
  EXPECT_NE(by_world.at(1)[0].rows, by_world.at(2)[0].rows) << "other ranks, other steps";
}

/// Slow and obvious: all rows in one table, and the steps one after the other.
class OneTable {
 public:
  explicit OneTable(const Matrix& start) : rows_(start.rows(), start.cols()) {
    std::ranges::copy(start.view().flat(), rows_.view().flat().begin());
  }
  void step(const std::vector<HandedIn>& by_rank, float rate) {
    std::map<NodeId, std::vector<float>> sums;
    std::uint64_t terms = 0;
    for (const auto& mine : by_rank) {
      terms += mine.terms;
      for (std::size_t i = 0; i < mine.nodes.size() && mine.terms > 0; ++i) {
        auto& sum = sums.try_emplace(mine.nodes[i], rows_.cols(), 0.0F).first->second;
        std::ranges::transform(sum, mine.rows.view().row(i), sum.begin(), std::plus<>());
      }
    }
    for (const auto& [node, sum] : sums) {
      auto row = rows_.view().row(raw(node));
      for (std::size_t c = 0; c < sum.size(); ++c) {
        row[c] -= rate * (sum[c] / static_cast<float>(terms));
      }
    }
  }
  const Matrix& rows() const { return rows_; }

 private:
  Matrix rows_;
};

TEST_F(SessionEmbeddings, AreThoseOfOneTableInOnePlace) {
  std::mutex mutex;
  std::map<std::uint64_t, std::vector<HandedIn>> steps;
  Matrix start;
  Matrix end;
  const auto ran =
      run(with(with(with_table, two_hosts),
               {"embedding.node.optimizer.kind=sgd", "embedding.node.optimizer.lr=0.5"}),
          [&](Session& session) -> Status {
            TROUPE_ASSIGN_OR_RETURN(auto table, session.embedding("node"));
            const auto nodes = all_nodes();
            if (session.rank() == Rank{0}) {
              TROUPE_ASSIGN_OR_RETURN(start, table.rows(nodes));
            }
            TROUPE_RETURN_IF_ERROR(learn_rows(session, [&](const HandedIn& mine) {
              const std::lock_guard guard(mutex);
              auto& step = steps[session.global_step()];
              step.resize(session.world());
              auto& kept = step[raw(session.rank())];
              kept.nodes = mine.nodes;
              kept.terms = mine.terms;
              kept.rows = Matrix(mine.rows.rows(), mine.rows.cols());
              std::ranges::copy(mine.rows.view().flat(), kept.rows.view().flat().begin());
            }));
            TROUPE_ASSIGN_OR_RETURN(auto rows, table.rows(nodes));
            if (session.rank() == Rank{1}) {
              end = std::move(rows);
            }
            return ok_status();
          });
  ASSERT_OK(ran.status);

  OneTable table(start);
  for (const auto& [step, by_rank] : steps) {
    table.step(by_rank, 0.5F);
  }

  ASSERT_EQ(steps.size(), 6U);
  const auto expected = table.rows().view().flat();
  std::uint64_t moved = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(end.view().flat()[i], expected[i], 1e-5F) << i;
    moved += end.view().flat()[i] != start.view().flat()[i] ? 1U : 0U;
  }
  EXPECT_GT(moved, 100U);
  EXPECT_LT(moved, expected.size()) << "rows that no step names stay";
}

TEST_F(SessionEmbeddings, OfSeveralCallsAreAddedAndEmptySharesChangeNothing) {
  const NodeId node{7};
  const std::vector<NodeId> twice{node, node};
  Matrix ones(2, 3);
  std::ranges::fill(ones.view().flat(), 1.0F);
  const auto ran =
      run(with(with(with_table, two_hosts),
               {"embedding.node.optimizer.kind=sgd", "embedding.node.optimizer.lr=1"}),
          [&](Session& session) -> Status {
            TROUPE_ASSIGN_OR_RETURN(auto table, session.embedding("node"));
            EXPECT_EQ(table.dim(), 3U);
            EXPECT_EQ(table.type(), NodeTypeId{0});
            TROUPE_ASSIGN_OR_RETURN(const auto before, table.rows(twice));
            std::uint64_t turn = 0;
            for (const Batch& batch : session.epoch(0)) {
              static_cast<void>(batch);
              if (turn == 0 && session.rank() == Rank{1}) {
                TROUPE_RETURN_IF_ERROR(table.gradient(twice, ones.view(), 4));
                TROUPE_RETURN_IF_ERROR(
                    table.gradient(std::span(twice).first(1), ones.view().slice(0, 1), 4));
                TROUPE_ASSIGN_OR_RETURN(const auto same, table.rows(twice));
                EXPECT_EQ(same.view().row(0)[0], before.view().row(0)[0]) << "before the step";
              }
              if (turn == 1 && session.rank() == Rank{0}) {  // terms alone
                TROUPE_RETURN_IF_ERROR(table.gradient({}, {}, 5));
              }
              ++turn;
              TROUPE_RETURN_IF_ERROR(session.end_step());
              TROUPE_ASSIGN_OR_RETURN(const auto after, table.rows(twice));
              for (std::size_t c = 0; c < 3; ++c) {
                EXPECT_FLOAT_EQ(after.view().row(1)[c], before.view().row(1)[c] - 0.75F) << turn;
              }
            }
            TROUPE_ASSIGN_OR_RETURN(const auto none, table.rows({}));
            EXPECT_EQ(none.rows(), 0U);
            return session.status();
          });
  EXPECT_OK(ran.status);
}

TEST_F(SessionEmbeddings, RefuseWhatDoesNotFit) {
  const std::vector<NodeId> node{NodeId{7}};
  const std::vector<NodeId> stranger{NodeId{2708}};
  const Matrix row(1, 3);
  const Matrix wide(1, 4);
  const auto ran = run(with(with_table, two_hosts), [&](Session& session) -> Status {
    EXPECT_ERROR(session.embedding("paper"), Errc::not_found,
                 "expected a node type with learned rows (\"node\"), got \"paper\"");
    TROUPE_ASSIGN_OR_RETURN(auto table, session.embedding("node"));
    EXPECT_ERROR(table.rows(stranger), Errc::invalid_argument, "expected global ids below 2708");
    EXPECT_ERROR(table.gradient(node, row.view(), 1), Errc::failed_precondition,
                 "expected a turn of an epoch");
    for (const Batch& batch : session.epoch(0)) {
      static_cast<void>(batch);
      EXPECT_ERROR(table.gradient(stranger, row.view(), 1), Errc::invalid_argument,
                   "expected global ids below 2708");
      EXPECT_ERROR(table.gradient(node, wide.view(), 1), Errc::invalid_argument,
                   "expected 1 rows of 3 columns, got 1 of 4");
      EXPECT_ERROR(table.gradient(node, row.view(), 0), Errc::invalid_argument,
                   "expected at least one term");
      EXPECT_OK(table.gradient(node, row.view(), 2));
      EXPECT_ERROR(table.gradient(node, row.view(), 3), Errc::invalid_argument,
                   "expected 2 terms, as before in this turn, got 3");
    }
    return session.status();
  });
  EXPECT_OK(ran.status);

  const auto without = run(two_hosts, [](Session& session) {
    EXPECT_ERROR(session.embedding("node"), Errc::not_found, "the job has none");
    return testing::take_all(session);
  });
  ASSERT_OK(without.status);
  EXPECT_TRUE(without.tensors.empty());
}

TEST_F(SessionEmbeddings, GoOnFromACheckpointAtAnyStepToTheSameBits) {
  const auto undisturbed = learn(two_hosts);
  ASSERT_OK(undisturbed.status);
  ASSERT_EQ(undisturbed.tensors.size(), 1U);

  for (std::uint64_t step = 1; step <= 6; ++step) {
    SCOPED_TRACE(step);
    CheckpointFolderOptions options;
    options.dir = folder_.path() / fmt::format("kept-{}", step);
    CheckpointFolder folder(options);
    SessionSetup setup;
    setup.write_checkpoint = [&](const Checkpoint& checkpoint) { return folder.write(checkpoint); };
    auto cluster = create(with(with_table, with(two_hosts, {"checkpoint.every.steps=1000"})),
                          std::move(setup));
    ASSERT_OK(cluster);
    (*cluster)->start([&](Session& session) {
      return learn_rows(session, [&](const HandedIn&) {
        if (session.rank() == Rank{0} && session.global_step() + 1 == step) {
          (*cluster)->stop();
        }
      });
    });
    EXPECT_ERROR((*cluster)->wait().status, Errc::cancelled, "asked to end");
    std::vector<SkippedCheckpoint> skipped;
    ASSERT_OK_AND_ASSIGN(auto found, folder.latest(skipped));
    EXPECT_EQ(found.checkpoint.training.global_step, step);

    SessionSetup again;
    again.resume = std::make_shared<const Checkpoint>(std::move(found.checkpoint));
    const auto other = step % 2 == 0 ? one_host : Overrides{"cluster.hosts=2", "partition.parts=3"};
    const auto resumed = run(
        with(with_table, other), [](Session& session) { return learn_rows(session); },
        std::move(again));

    ASSERT_OK(resumed.status);
    EXPECT_EQ(resumed.steps, 6U);
    ASSERT_EQ(resumed.tensors.size(), 1U);
    EXPECT_EQ(to_string(resumed.tensors[0].rows), to_string(undisturbed.tensors[0].rows));
  }
}

TEST_F(SessionEmbeddings, AreCountedInTheRecordOfTheEpoch) {
  std::mutex mutex;
  net::EpochCounters counted;
  SessionSetup setup;
  setup.on_epoch = [&](const net::RankEpoch& epoch) {
    const std::lock_guard guard(mutex);
    const auto& counters = epoch.result.counters;
    counted.nodes += counters.nodes;
    counted.learned_rows += counters.learned_rows;
    counted.learned_bytes += counters.learned_bytes;
    counted.learned_messages += counters.learned_messages;
    counted.learned_ns += counters.learned_ns;
    return ok_status();
  };
  const auto ran = run(
      with(with_table, two_hosts), [](Session& session) { return learn_rows(session); },
      std::move(setup));
  ASSERT_OK(ran.status);
  EXPECT_EQ(counted.learned_rows, counted.nodes) << "each row of each batch";
  const auto bytes = sizeof(NodeId) + 3 * sizeof(float);
  EXPECT_EQ(counted.learned_bytes, 2 * counted.learned_rows * bytes) << "rows and gradients";
  EXPECT_EQ(counted.learned_messages, 6U * 2 * 2 + 6U * 2 * 2 - 2U * 2)
      << "of 6 steps, 2 ranks and 2 parts questions and shares; no questions without a batch";
  EXPECT_GT(counted.learned_ns, 0U);
}

TEST_F(SessionEmbeddings, NeedTheRowsOfTheirCheckpoint) {
  SessionSetup setup;
  auto without = std::make_shared<Checkpoint>();
  without->training.global_step = 3;
  without->training.epoch = 1;
  setup.resume = without;
  const auto ran = run(
      with(with_table, two_hosts), [](Session& session) { return learn_rows(session); },
      std::move(setup));
  EXPECT_ERROR(ran.status, Errc::failed_precondition,
               "checkpoint of step 3: expected learned rows, found none");
}

TEST_F(SessionEmbeddings, AreLostWithTheirHolder) {
  auto cluster = create(with(with_table, two_hosts));
  ASSERT_OK(cluster);
  (*cluster)->start([&](Session& session) -> Status {
    TROUPE_ASSIGN_OR_RETURN(auto table, session.embedding("node"));
    TROUPE_RETURN_IF_ERROR(session.barrier(20s));
    if (session.rank() == Rank{0}) {
      EXPECT_TRUE((*cluster)->cluster().kill(ProcessId{0}, "holder of part 0"));
      EXPECT_TRUE((*cluster)->cluster().kill(ProcessId{1}, "holder of part 1"));
      EXPECT_ERROR(table.rows(all_nodes()), Errc::peer_lost, "learned rows of node");
    }
    return session.status();
  });
  EXPECT_ERROR((*cluster)->wait().status, Errc::peer_lost, "has lost them");
}

}  // namespace
}  // namespace troupe
