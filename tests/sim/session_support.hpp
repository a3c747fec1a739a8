#pragma once
/// \file session_support.hpp
/// Runs functions as the ranks of sessions on simulated clusters, over the data that the repository ships.
#include "launcher/prepare_store.hpp"
#include "launcher/read_job.hpp"
#include "launcher/session_cluster.hpp"
#include "runtime/run/checkpoint.hpp"
#include "tests/sim/sim_support.hpp"
#include "tests/support/expect.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <vector>

namespace troupe::testing {

using RankFunction = SessionCluster::RankFunction;
using Overrides = std::vector<std::string>;

inline const Overrides two_hosts = {"partition.parts=2", "cluster.hosts=2"};
inline const Overrides one_host = {"partition.parts=2", "cluster.trainers_per_host=2"};

inline Overrides with(Overrides overrides, const Overrides& more) {
  overrides.insert(overrides.end(), more.begin(), more.end());
  return overrides;
}

/// Checkpoints on disk, because those that a session gives are read from its holders.
class KeptCheckpoints {
 public:
  explicit KeptCheckpoints(const std::filesystem::path& dir) {
    options_.dir = dir;
    options_.flush = Flush::no;
  }
  void keep_by(SessionSetup& setup) {
    setup.write_checkpoint = [this](const Checkpoint& checkpoint) {
      return CheckpointFolder(options_).write(checkpoint);
    };
  }
  /// Null: there is none.
  std::shared_ptr<const Checkpoint> latest() const {
    std::vector<SkippedCheckpoint> skipped;
    auto found = CheckpointFolder(options_).latest(skipped);
    EXPECT_TRUE(skipped.empty()) << skipped.front().why.what();
    return found ? std::make_shared<const Checkpoint>(std::move(found->checkpoint)) : nullptr;
  }
  std::filesystem::path folder(std::uint64_t step) const {
    return options_.dir / fmt::format("step-{}", step);
  }

 private:
  CheckpointFolderOptions options_;
};

/// Runs on Cora: 140 seeds in batches of 32, on two ranks 3 steps per epoch.
class SessionTest : public ::testing::Test {
 protected:
  Result<std::unique_ptr<SessionCluster>> create(const Overrides& overrides,
                                                 SessionSetup setup = {}) {
    TROUPE_ASSIGN_OR_RETURN(auto job, cora_job(folder_.path(), overrides));
    TROUPE_ASSIGN_OR_RETURN(const auto store, prepare_store(job, [](const std::string&) {}));
    if (!fit_to_graph_or_print(job, store.info(), JobTrainer::own)) {
      return Error(Errc::invalid_argument, "the job does not fit its data");
    }
    job.checkpoint.seconds = checkpoint_seconds_;
    job.cluster.step_deadline_s = std::min(job.cluster.step_deadline_s, longest_step_s_);
    return SessionCluster::create(job, store, std::move(setup));
  }
  SessionOutcome run(const Overrides& overrides, const RankFunction& fn, SessionSetup setup = {}) {
    auto cluster = create(overrides, std::move(setup));
    if (!cluster) {
      return {.status = cluster.error(), .batches = {}, .steps = 0};
    }
    (*cluster)->start(fn);
    return (*cluster)->wait();
  }

  ScratchFolder folder_;
  double checkpoint_seconds_ = 0;  ///< shorter than a job file may say
  double longest_step_s_ = 3600;
};

/// Numbers of rows that a session has read.
template <class T>
std::vector<T> values_of(const Result<BatchColumn>& column) {
  EXPECT_OK(column);
  if (!column) {
    return {};
  }
  const auto values = column->as<T>();
  return {values.begin(), values.end()};
}

/// Layouts that no kind of batch may be seen in.
inline std::vector<Overrides> session_layouts() {
  return {{"cluster.hosts=2"},
          {"cluster.hosts=2", "partition.parts=5"},
          {"cluster.hosts=3", "partition.parts=2"},
          {"cluster.trainers_per_host=2", "cluster.samplers_per_trainer=2"},
          {"cluster.hosts=2", "partition.parts=2", "partition.halo=1"},
          {"cluster.hosts=2", "partition.topology=replicated"},
          {"cluster.hosts=2", "cluster.placement=worker"},
          {"cluster.hosts=2", "cluster.placement=server_client"},
          {"cluster.hosts=2", "sample.cache.budget=1MB"},
          {"cluster.hosts=2", "features.cache.policy=future", "features.cache.ratio=0.1"},
          {"cluster.hosts=2", "cluster.replicas=2", "cluster.threads=1"},
          {"cluster.hosts=2", "cluster.network.latency_us=200", "cluster.window=65536",
           "cluster.batches_in_flight=16"}};
}

inline Status take_all(Session& session) {
  for (auto e = session.first_epoch(); e < session.epochs(); ++e) {
    std::uint64_t turns = 0;
    for (const Batch& batch : session.epoch(e)) {
      EXPECT_EQ(batch.labels.size(), batch.sampled->seed_index.size());
      ++turns;
    }
    EXPECT_EQ(turns, session.status() ? session.steps_per_epoch() : turns);
  }
  return session.status();
}

inline std::vector<NodeId> all_nodes() {
  std::vector<NodeId> nodes;
  for (std::uint64_t i = 0; i < 2708; ++i) {
    nodes.push_back(static_cast<NodeId>(i));
  }
  return nodes;
}

}  // namespace troupe::testing
