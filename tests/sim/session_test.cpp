// Sessions on whole simulated clusters: a trainer of a user's own gets the built-in trainer's batches, on any
// number of hosts, and its runs go on exactly where they were interrupted.
#include "actors/session_rank.hpp"
#include "launcher/prepare_store.hpp"
#include "launcher/read_job.hpp"
#include "launcher/session_cluster.hpp"
#include "tests/sim/sim_support.hpp"
#include "tests/support/expect.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <numeric>

namespace troupe {
namespace {

using namespace std::chrono_literals;
using RankFunction = SessionCluster::RankFunction;
using Overrides = std::vector<std::string>;

const Overrides two_hosts = {"partition.parts=2", "cluster.hosts=2"};
const Overrides one_host = {"partition.parts=2", "cluster.trainers_per_host=2"};

Overrides with(Overrides overrides, const Overrides& more) {
  overrides.insert(overrides.end(), more.begin(), more.end());
  return overrides;
}

/// Runs on Cora: 140 seeds in batches of 32, on two ranks 3 steps per epoch.
class Sessions : public ::testing::Test {
 protected:
  Result<std::unique_ptr<SessionCluster>> create(const Overrides& overrides,
                                                 SessionSetup setup = {}) {
    TROUPE_ASSIGN_OR_RETURN(auto job, testing::cora_job(folder_.path(), overrides));
    TROUPE_ASSIGN_OR_RETURN(const auto store, prepare_store(job, [](const std::string&) {}));
    fit_to_graph_or_print(job, store.info());
    job.checkpoint.seconds = checkpoint_seconds_;
    job.cluster.step_deadline_s = std::min(job.cluster.step_deadline_s, longest_step_s_);
    return SessionCluster::create(job, store, std::move(setup));
  }
  SessionOutcome run(const Overrides& overrides, const RankFunction& fn, SessionSetup setup = {}) {
    auto cluster = create(overrides, std::move(setup));
    if (!cluster) {
      return {cluster.error(), {}, 0};
    }
    (*cluster)->start(fn);
    return (*cluster)->wait();
  }

  testing::ScratchFolder folder_;
  double checkpoint_seconds_ = 0;  ///< shorter than a job file may say
  double longest_step_s_ = 3600;
};

Status take_all(Session& session) {
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

// ---- batches ----

TEST_F(Sessions, EpochsGiveTheBatchesOfTheBuiltInTrainer) {
  ASSERT_OK_AND_ASSIGN(const auto built_in, testing::run_cora(folder_.path(), two_hosts));
  const Digest expected = built_in.batches.value_or(Digest{});

  for (const auto& layout : {two_hosts, one_host, Overrides{"cluster.hosts=2"},
                             with(two_hosts, {"cluster.batches_in_flight=1"})}) {
    const auto ran = run(layout, take_all);
    ASSERT_OK(ran.status);
    EXPECT_EQ(to_string(ran.batches), to_string(expected));
    EXPECT_EQ(ran.steps, 6U);
  }
}

TEST_F(Sessions, ThreeRanksOnOneOfThreeHostsEachGiveTheirBatchesToo) {
  const Overrides three = {"partition.parts=3", "cluster.hosts=3"};
  ASSERT_OK_AND_ASSIGN(const auto built_in, testing::run_cora(folder_.path(), three));

  const auto ran = run(three, take_all);

  ASSERT_OK(ran.status);
  EXPECT_EQ(to_string(ran.batches), to_string(built_in.batches.value_or(Digest{})));
}

TEST_F(Sessions, SayWhoAndWhereTheyAre) {
  std::atomic<std::uint32_t> ranks{0};
  const auto ran = run(two_hosts, [&](Session& session) {
    ranks += 1U << raw(session.rank());
    EXPECT_EQ(session.world(), 2U);
    EXPECT_EQ(session.role(), "trainer");
    EXPECT_TRUE(session.devices().empty());
    EXPECT_EQ(session.columns(), 1433U);
    EXPECT_EQ(session.classes(), 7U);
    EXPECT_EQ(session.seed(), 1U);
    EXPECT_EQ(session.epochs(), 2U);
    EXPECT_EQ(session.first_epoch(), 0U);
    EXPECT_EQ(session.steps_per_epoch(), 3U);
    EXPECT_EQ(session.graph().node_types.size(), 1U);
    return ok_status();
  });

  EXPECT_OK(ran.status);
  EXPECT_EQ(ranks, 3U);
}

TEST_F(Sessions, ALoopThatIsLeftEarlyEndsItsTurn) {
  const auto ran = run(two_hosts, [](Session& session) {
    for (const Batch& batch : session.epoch(0)) {
      static_cast<void>(batch);
      break;
    }
    for (const Batch& batch : session.epoch(1)) {
      static_cast<void>(batch);
    }
    return ok_status();
  });

  EXPECT_OK(ran.status);
  EXPECT_EQ(ran.steps, 4U);
}

TEST_F(Sessions, ABatchThatDoesNotComeInTimeEndsTheRunWithTheSettingsName) {
  longest_step_s_ = 0.02;
  const auto ran = run(with(two_hosts, {"cluster.network.latency_us=200000"}), take_all);

  EXPECT_ERROR(ran.status, Errc::deadline_exceeded, "within 20 ms, got none");
  EXPECT_NE(testing::what_of(ran.status).find("cluster.step_deadline"), std::string::npos);
}

TEST_F(Sessions, DigestOffGivesNone) {
  const auto ran = run(with(two_hosts, {"digest=off"}), take_all);

  EXPECT_OK(ran.status);
  EXPECT_EQ(ran.batches, Digest{});
}

// ---- the graph ----

TEST_F(Sessions, SeedsOfTheRanksCoverEachRoleOnce) {
  std::mutex mutex;
  std::map<std::string, std::vector<OriginalId>> found;
  const Overrides three = {"partition.parts=2", "cluster.hosts=3"};
  const auto ran = run(three, [&](Session& session) -> Status {
    for (const std::string role : {"train", "val", "test"}) {
      TROUPE_ASSIGN_OR_RETURN(const auto seeds, session.seeds(role));
      EXPECT_EQ(seeds.original.size(), seeds.global.size());
      const std::lock_guard guard(mutex);
      found[role].insert(found[role].end(), seeds.original.begin(), seeds.original.end());
    }
    EXPECT_ERROR(session.seeds("trian"), Errc::not_found, "\"test\", \"train\", \"val\"");
    EXPECT_ERROR(session.edge_seeds("train"), Errc::unimplemented, "seeds(\"train\")");
    return ok_status();
  });

  ASSERT_OK(ran.status);
  for (const auto& [role, size] : {std::pair("train", 140U), {"val", 500U}, {"test", 1000U}}) {
    auto& ids = found[role];
    std::ranges::sort(ids);
    EXPECT_EQ(std::ranges::adjacent_find(ids), ids.end()) << role;
    EXPECT_EQ(ids.size(), size) << role;
  }
}

TEST_F(Sessions, ReadRowsGivesWhatABatchHoldsOfTheSameNodes) {
  const auto ran = run(two_hosts, [](Session& session) -> Status {
    for (const Batch& batch : session.epoch(0)) {
      auto ids = batch.sampled->nodes[0].ids;
      if (ids.empty()) {
        continue;  // the rank has no batch in this step
      }
      ids.push_back(ids.front());  // asked for twice
      TROUPE_ASSIGN_OR_RETURN(const auto rows, session.read_rows(ids));
      EXPECT_EQ(rows.features.rows(), ids.size());
      for (std::size_t i = 0; i < ids.size(); ++i) {
        const std::size_t from = i + 1 == ids.size() ? 0 : i;
        EXPECT_TRUE(std::ranges::equal(rows.features.view().row(i),
                                       batch.rows[0].features.view().row(from)));
        EXPECT_EQ(rows.original_ids[i], batch.rows[0].original_ids[from]);
      }
      for (std::size_t i = 0; i < batch.labels.size(); ++i) {
        EXPECT_EQ(rows.labels[batch.sampled->seed_index[i]], batch.labels[i]);
      }
    }
    return ok_status();
  });

  EXPECT_OK(ran.status);
}

TEST_F(Sessions, SampledNeighboursDependOnTheRequestAlone) {
  std::mutex mutex;
  std::vector<Digest> digests;
  const auto sample = [&](Session& session) -> Status {
    NeighborRequest request{.nodes = {NodeId{5}, NodeId{2000}, NodeId{5}}, .fanout = {4, 3, 2}};
    request.with_rows = true;
    TROUPE_ASSIGN_OR_RETURN(const auto first, session.sample_neighbors(request));
    TROUPE_ASSIGN_OR_RETURN(const auto again, session.sample_neighbors(request));
    request.number = 1;
    TROUPE_ASSIGN_OR_RETURN(const auto other, session.sample_neighbors(request));
    EXPECT_EQ(digest_batch(*first, DigestMode::full), digest_batch(*again, DigestMode::full));
    EXPECT_NE(digest_batch(*first, DigestMode::ids), digest_batch(*other, DigestMode::ids));
    EXPECT_EQ(first->sampled->hops, 3U);
    EXPECT_EQ(first->sampled->seed_index, (std::vector<std::uint32_t>{0, 1, 0}));
    const std::lock_guard guard(mutex);
    digests.push_back(digest_batch(*first, DigestMode::full));
    return ok_status();
  };

  EXPECT_OK(run(two_hosts, sample).status);
  EXPECT_EQ(digests.size(), 2U);
  EXPECT_EQ(digests.front(), digests.back()) << "the ranks differ";
}

TEST_F(Sessions, RequestsForWhatIsNotThereAreRefused) {
  const auto ran = run(two_hosts, [](Session& session) {
    const std::vector<NodeId> stranger = {NodeId{2708}};
    const auto sample = [&](NeighborRequest request) { return session.sample_neighbors(request); };
    EXPECT_ERROR(sample({.nodes = stranger, .fanout = {1}}), Errc::invalid_argument, "got 2708");
    EXPECT_ERROR(sample({.nodes = {NodeId{0}}, .fanout = {-2}}), Errc::invalid_argument, ">= -1");
    EXPECT_ERROR(sample({.nodes = {NodeId{0}}, .fanout = {}}), Errc::invalid_argument, "0 fanouts");
    EXPECT_ERROR(session.read_rows(stranger), Errc::invalid_argument, "got 2708");
    EXPECT_ERROR(session.read_rows(stranger, NodeTypeId{1}), Errc::invalid_argument, "node type");
    return ok_status();
  });

  EXPECT_OK(ran.status) << "such requests do not end a run";
}

// ---- writable tensors ----

std::vector<NodeId> all_nodes() {
  std::vector<NodeId> nodes;
  for (std::uint64_t i = 0; i < 2708; ++i) {
    nodes.push_back(static_cast<NodeId>(i));
  }
  return nodes;
}

TEST_F(Sessions, WrittenAndAddedRowsAreReadByAllRanks) {
  for (const auto& layout : {two_hosts, one_host, with(two_hosts, {"cluster.replicas=2"})}) {
    const auto ran = run(layout, [](Session& session) -> Status {
      const auto nodes = all_nodes();
      const std::size_t half = nodes.size() / 2;
      const auto mine = std::span(nodes).subspan(raw(session.rank()) * half, half);
      TROUPE_RETURN_IF_ERROR(session.make_tensor(7, 2));
      TROUPE_RETURN_IF_ERROR(session.make_tensor(7, 2));
      TROUPE_ASSIGN_OR_RETURN(const auto zeros, session.read_rows(7, nodes));
      EXPECT_TRUE(std::ranges::all_of(zeros.view().flat(), [](float x) { return x == 0; }));
      TROUPE_RETURN_IF_ERROR(session.barrier(20s));
      Matrix rows(half, 2);
      for (std::size_t i = 0; i < half; ++i) {
        rows.view().row(i)[0] = static_cast<float>(raw(mine[i]));
        rows.view().row(i)[1] = -1;
      }
      TROUPE_RETURN_IF_ERROR(session.write_rows(7, mine, rows.view()));
      TROUPE_RETURN_IF_ERROR(session.add_rows(7, mine, rows.view()));
      TROUPE_RETURN_IF_ERROR(session.barrier(20s));
      TROUPE_ASSIGN_OR_RETURN(const auto now, session.read_rows(7, nodes));
      for (std::size_t i = 0; i < nodes.size(); ++i) {
        EXPECT_EQ(now.view().row(i)[0], static_cast<float>(2 * i));
        EXPECT_EQ(now.view().row(i)[1], -2);
      }
      return ok_status();
    });
    EXPECT_OK(ran.status);
  }
}

TEST_F(Sessions, WritesThatCannotBeAreRefused) {
  const auto ran = run(two_hosts, [](Session& session) -> Status {
    const std::vector<NodeId> nodes = {NodeId{1}};
    const auto row = Matrix::zeros(1, 3);
    EXPECT_ERROR(session.write_rows(1, nodes, row.view()), Errc::not_found, "make_tensor first");
    EXPECT_ERROR(session.read_rows(1, nodes), Errc::not_found, "make_tensor first");
    EXPECT_ERROR(session.make_tensor(1, 0), Errc::invalid_argument, "1..65536");
    TROUPE_RETURN_IF_ERROR(session.make_tensor(1, 2));
    EXPECT_ERROR(session.make_tensor(1, 3), Errc::invalid_argument, "2 as before");
    EXPECT_ERROR(session.add_rows(1, nodes, row.view()), Errc::invalid_argument, "2 columns");
    const std::vector<NodeId> stranger = {NodeId{2708}};
    EXPECT_ERROR(session.write_rows(1, stranger, Matrix::zeros(1, 2).view()),
                 Errc::invalid_argument, "got 2708");
    return session.write_rows(1, {}, {});
  });

  EXPECT_OK(ran.status);
}

// ---- all ranks together ----

TEST_F(Sessions, LongVectorsAreReducedInPiecesToTheSameSums) {
  const auto ran = run(two_hosts, [](Session& session) -> Status {
    std::vector<float> values(session_piece * 2 + 3,
                              1.0F + static_cast<float>(raw(session.rank())));
    TROUPE_RETURN_IF_ERROR(session.all_reduce(values));
    EXPECT_TRUE(std::ranges::all_of(values, [](float x) { return x == 3; }));
    const auto weight = session.all_reduce_mean(values, raw(session.rank()));
    EXPECT_EQ(weight.ok() ? *weight : 0, 1U);
    EXPECT_TRUE(std::ranges::all_of(values, [](float x) { return x == 3; }));
    EXPECT_EQ(*session.all_reduce_mean(values, 0), 0U);
    EXPECT_TRUE(std::ranges::all_of(values, [](float x) { return x == 0; }));
    return ok_status();
  });

  EXPECT_OK(ran.status);
}

TEST_F(Sessions, ABarrierWithoutAllRanksNamesThemAndIsNotTheEnd) {
  std::atomic<bool> seen{false};
  const auto ran = run(two_hosts, [&](Session& session) -> Status {
    if (session.rank() == Rank{0}) {
      EXPECT_ERROR(session.barrier(1ms), Errc::deadline_exceeded, "missing ranks 1");
      EXPECT_OK(session.status());
      seen = true;
    }
    while (!seen) {
      std::this_thread::sleep_for(1ms);
    }
    return session.barrier(20s);
  });

  EXPECT_OK(ran.status);
}

TEST_F(Sessions, AFailingRankEndsTheRunOfAll) {
  const auto failing = [&](const std::function<Status()>& fail) {
    std::atomic<bool> cancelled{false};
    auto ran = run(two_hosts, [&](Session& session) -> Status {
      if (session.rank() == Rank{1}) {
        return fail();
      }
      const auto waited = session.barrier(20s);
      cancelled = !waited && waited.error().code() == Errc::cancelled;
      EXPECT_ERROR(session.all_reduce({}), Errc::cancelled, "rank 1");
      return waited;
    });
    EXPECT_TRUE(cancelled);
    return ran.status;
  };

  EXPECT_ERROR(failing([] { return Status(Error(Errc::not_found, "no such file")); }),
               Errc::not_found, "rank 1: no such file");
  EXPECT_ERROR(failing([]() -> Status { throw std::runtime_error("boom"); }), Errc::internal,
               "rank 1: exception: boom");
}

TEST_F(Sessions, ARankThatReturnsEarlyFailsTheOthersByName) {
  const auto ran = run(two_hosts, [](Session& session) -> Status {
    return session.rank() == Rank{1} ? ok_status() : take_all(session);
  });

  EXPECT_ERROR(ran.status, Errc::failed_precondition, "rank 1 has ended");
}

TEST_F(Sessions, AnErrorLeftInTheStatusEndsTheRun) {
  const auto ran = run(two_hosts, [](Session& session) -> Status {
    static_cast<void>(session.end_step());
    return ok_status();
  });

  EXPECT_ERROR(ran.status, Errc::failed_precondition, "end_step outside a turn");
}

// ---- losses ----

TEST_F(Sessions, LostSamplersAndHoldersDoNotChangeTheBatches) {
  const auto undisturbed = run(two_hosts, take_all);
  ASSERT_OK_AND_ASSIGN(const auto cluster, create(two_hosts));
  cluster->start([&](Session& session) -> Status {
    for (std::uint32_t e = 0; e < session.epochs(); ++e) {
      for (const Batch& batch : session.epoch(e)) {
        static_cast<void>(batch);
        const auto rank = raw(session.rank());
        const auto host = static_cast<HostId>(rank);
        EXPECT_TRUE(
            cluster->cluster().kill(host, "sampler 0 of trainer of rank " + std::to_string(rank)));
        EXPECT_TRUE(cluster->cluster().kill(host, "holder of part " + std::to_string(rank)));
      }
    }
    return session.status();
  });

  const auto ran = cluster->wait();

  ASSERT_OK(undisturbed.status);
  ASSERT_OK(ran.status);
  EXPECT_EQ(to_string(ran.batches), to_string(undisturbed.batches));
}

TEST_F(Sessions, RowsThatWereLostWithTheirHolderAreNotTakenForZeros) {
  ASSERT_OK_AND_ASSIGN(const auto cluster, create(one_host));
  cluster->start([&](Session& session) -> Status {
    const auto nodes = all_nodes();
    const auto ones = Matrix::zeros(nodes.size(), 1);
    TROUPE_RETURN_IF_ERROR(session.make_tensor(1, 1));
    TROUPE_RETURN_IF_ERROR(session.barrier(20s));
    if (session.rank() == Rank{0}) {
      EXPECT_TRUE(cluster->cluster().kill(HostId{0}, "holder of part 1"));
      EXPECT_ERROR(session.read_rows(1, nodes), Errc::not_found, "tensor 1");
      return session.write_rows(1, nodes, ones.view());
    }
    return session.barrier(20s);
  });

  EXPECT_ERROR(cluster->wait().status, Errc::failed_precondition, "part 1");
}

// ---- checkpoints ----

/// Remembers per node and in common what depends on every batch in turn.
class Memory {
 public:
  explicit Memory(Session& session) : session_(session) {}

  Status train(const std::function<void()>& before_end_of_step) {
    TROUPE_RETURN_IF_ERROR(session_.make_tensor(3, 1));
    session_.on_save([this] {
      const auto bytes = std::as_bytes(std::span(memory_));
      return std::vector<std::byte>(bytes.begin(), bytes.end());
    });
    session_.on_restore([this](std::span<const std::byte> bytes) {
      std::ranges::copy(bytes, std::as_writable_bytes(std::span(memory_)).begin());
      return ok_status();
    });
    for (auto e = session_.first_epoch(); e < session_.epochs(); ++e) {
      for (const Batch& batch : session_.epoch(e)) {
        TROUPE_RETURN_IF_ERROR(learn(batch));
        before_end_of_step();
        TROUPE_RETURN_IF_ERROR(session_.end_step());
      }
      TROUPE_RETURN_IF_ERROR(session_.status());
      memory_[1] += memory_[0];  // once after every epoch
    }
    return ok_status();
  }

  /// Of all that was learned; the same on all ranks.
  Result<Digest> digest() {
    DigestBuilder digest;
    digest.add_array(std::span<const float>(memory_));
    TROUPE_ASSIGN_OR_RETURN(const auto tensor, session_.read_rows(3, all_nodes()));
    digest.add_array(tensor.view().flat());
    return digest.digest();
  }

 private:
  Status learn(const Batch& batch) {
    const auto x = batch.rows[0].features.view().flat();
    std::vector<float> sum = {std::accumulate(x.begin(), x.end(), 0.0F)};
    TROUPE_RETURN_IF_ERROR(session_.all_reduce_mean(sum, batch.labels.size()));
    memory_[0] = memory_[0] * 0.7F + sum[0];
    std::vector<NodeId> seeds;
    for (const auto at : batch.sampled->seed_index) {
      seeds.push_back(batch.sampled->nodes[0].ids[at]);
    }
    Matrix rows(seeds.size(), 1);
    std::ranges::fill(rows.view().flat(), memory_[0]);
    return session_.add_rows(3, seeds, rows.view());  // a seed is in one rank's batch
  }

  Session& session_;
  std::vector<float> memory_ = {0, 0};
};

struct Learned {
  SessionOutcome outcome;
  Digest digest;
  std::vector<Checkpoint> checkpoints;
};

class SessionCheckpoints : public Sessions {
 protected:
  /// \param stop_at  asks for the end in this step; 0: never
  Learned learn(const Overrides& overrides, std::uint64_t stop_at = 0,
                std::shared_ptr<const Checkpoint> resume = nullptr) {
    Learned learned;
    SessionSetup setup;
    setup.resume = std::move(resume);
    setup.write_checkpoint = [&](const Checkpoint& checkpoint) {
      learned.checkpoints.push_back(checkpoint);
      return ok_status();
    };
    auto cluster = create(overrides, std::move(setup));
    if (!cluster) {
      learned.outcome.status = cluster.error();
      return learned;
    }
    (*cluster)->start([&](Session& session) -> Status {
      Memory learner(session);
      TROUPE_RETURN_IF_ERROR(learner.train([&] {
        if (session.rank() == Rank{0} && session.global_step() + 1 == stop_at) {
          (*cluster)->stop();
        }
      }));
      TROUPE_ASSIGN_OR_RETURN(const auto digest, learner.digest());
      TROUPE_RETURN_IF_ERROR(session.barrier(20s));
      if (session.rank() == Rank{0}) {
        learned.digest = digest;
      }
      return ok_status();
    });
    learned.outcome = (*cluster)->wait();
    return learned;
  }
};

const Overrides rarely = {"checkpoint.every.steps=1000"};

TEST_F(SessionCheckpoints, ARunInterruptedAtAnyStepGoesOnToTheSameBits) {
  const auto undisturbed = learn(two_hosts);
  ASSERT_OK(undisturbed.outcome.status);

  for (std::uint64_t step = 1; step <= 6; ++step) {
    const auto first = learn(with(two_hosts, rarely), step);
    EXPECT_ERROR(first.outcome.status, Errc::cancelled, "asked to end");
    ASSERT_EQ(first.checkpoints.size(), 1U);
    EXPECT_EQ(first.checkpoints[0].training.global_step, step);

    const auto second = learn(with(step % 2 == 0 ? one_host : two_hosts, rarely), 0,
                              std::make_shared<const Checkpoint>(first.checkpoints[0]));

    ASSERT_OK(second.outcome.status);
    EXPECT_EQ(second.outcome.steps, 6U);
    EXPECT_EQ(to_string(second.outcome.batches), to_string(undisturbed.outcome.batches)) << step;
    EXPECT_EQ(to_string(second.digest), to_string(undisturbed.digest)) << step;
  }
}

TEST_F(SessionCheckpoints, ComeWhenTheJobSaysSo) {
  const auto steps_of = [](const Learned& learned) {
    std::vector<std::uint64_t> steps;
    for (const auto& checkpoint : learned.checkpoints) {
      steps.push_back(checkpoint.training.global_step);
    }
    return steps;
  };
  using Steps = std::vector<std::uint64_t>;

  EXPECT_EQ(steps_of(learn(two_hosts)), Steps{});
  EXPECT_EQ(steps_of(learn(with(two_hosts, {"checkpoint.every.steps=2"}))), (Steps{2, 4, 6}));
  EXPECT_EQ(steps_of(learn(with(two_hosts, {"checkpoint.every.epochs=1"}))), (Steps{3, 6}));
  checkpoint_seconds_ = 1e-9;
  EXPECT_EQ(steps_of(learn(two_hosts)), (Steps{1, 2, 3, 4, 5, 6}));
}

TEST_F(SessionCheckpoints, HoldEachRanksBytesAndTheTensors) {
  const auto learned = learn(with(two_hosts, {"checkpoint.every.epochs=2"}));

  ASSERT_EQ(learned.checkpoints.size(), 1U);
  const auto& training = learned.checkpoints[0].training;
  EXPECT_EQ(training.blobs.at("rank 0").size(), 8U);
  EXPECT_EQ(training.blobs.at("rank 1").size(), 8U);
  EXPECT_EQ(training.blobs.at("tensor 3 of node type 0").size(), 2708 * sizeof(float));
  EXPECT_EQ(training.batches, learned.outcome.batches);
  EXPECT_NE(learned.checkpoints[0].job.find("\"batch_size\""), std::string::npos);
}

TEST_F(SessionCheckpoints, AreLostOnlyWithANote) {
  std::atomic<int> notes{0};
  SessionSetup setup;
  setup.write_checkpoint = [](const Checkpoint&) {
    return Status(Error(Errc::failed_precondition, "the disk is full"));
  };
  setup.say = [&](const std::string& text) {
    EXPECT_NE(text.find("the disk is full"), std::string::npos);
    ++notes;
  };

  const auto ran = run(with(two_hosts, {"checkpoint.every.steps=3"}), take_all, std::move(setup));

  EXPECT_OK(ran.status);
  EXPECT_EQ(notes, 2);
}

TEST_F(SessionCheckpoints, OfAnotherTrainerAreRefused) {
  const auto first = learn(with(two_hosts, rarely), 2);
  ASSERT_EQ(first.checkpoints.size(), 1U);
  const auto resume = [&](const RankFunction& fn, Checkpoint checkpoint) {
    SessionSetup setup;
    setup.resume = std::make_shared<const Checkpoint>(std::move(checkpoint));
    return run(two_hosts, fn, std::move(setup)).status;
  };
  const auto take_bytes = [](Session& session) {
    session.on_restore([](std::span<const std::byte>) { return ok_status(); });
    return take_all(session);
  };
  auto without_ranks = first.checkpoints[0];
  without_ranks.training.blobs.clear();

  EXPECT_ERROR(resume(take_all, first.checkpoints[0]), Errc::failed_precondition,
               "it has no restore hook");
  EXPECT_ERROR(resume(take_bytes, first.checkpoints[0]), Errc::failed_precondition,
               "holds tensor 3 of node type 0, which was not made");
  EXPECT_ERROR(resume(take_bytes, without_ranks), Errc::failed_precondition, "holds nothing of it");
  const auto other_columns = [&](Session& session) -> Status {
    TROUPE_RETURN_IF_ERROR(session.make_tensor(3, 2));
    return take_bytes(session);
  };
  EXPECT_ERROR(resume(other_columns, first.checkpoints[0]), Errc::failed_precondition,
               "expected 21664 bytes (2 columns), found 10832");
}

}  // namespace
}  // namespace troupe
