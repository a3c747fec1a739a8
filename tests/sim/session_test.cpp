// Sessions on whole simulated clusters: a trainer of a user's own gets the built-in trainer's batches, on any
// number of hosts, and all that a session offers besides.
#include "actors/session_rank.hpp"
#include "tests/sim/session_support.hpp"
#include "tests/support/store_writer.hpp"

#include <atomic>
#include <mutex>
#include <stdexcept>
#include <thread>

namespace troupe {
namespace {

using namespace std::chrono_literals;
using testing::one_host;
using testing::Overrides;
using testing::RankFunction;
using testing::take_all;
using testing::two_hosts;
using testing::with;
using Sessions = testing::SessionTest;

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

TEST_F(Sessions, BatchesInFlightGrowWhileTheProgramWaits) {
  const auto in_flight = [&](const std::string& batches) {
    std::mutex mutex;
    std::uint64_t most = 0;
    SessionSetup setup;
    setup.on_epoch = [&](const net::RankEpoch& epoch) {
      const std::lock_guard guard(mutex);
      most = std::max(most, epoch.result.counters.batches_in_flight);
      return ok_status();
    };
    // One rank, which waits for nothing but its batches.
    const auto ran =
        run({"cluster.placement=server_client", "cluster.servers=1", "sample.batch_size=1",
             "train.epochs=1", "cluster.network.latency_us=5000",
             "cluster.batches_in_flight=" + batches},
            take_all, std::move(setup));
    EXPECT_OK(ran.status);
    return most;
  };
  EXPECT_GT(in_flight("auto"), 6U);
  EXPECT_EQ(in_flight("2"), 2U);
}

TEST_F(Sessions, BatchesMayComeWithoutFeaturesAndLabels) {
  const auto ids = with(two_hosts, {"digest=ids"});
  const auto whole = run(ids, take_all);
  const auto look = [](Session& session) -> Status {
    const std::vector<NodeId> nodes{NodeId{5}, NodeId{2}};
    std::uint64_t edges = 0;
    for (std::uint32_t e = 0; e < session.epochs(); ++e) {
      for (const Batch& batch : session.epoch(e)) {
        EXPECT_EQ(batch.rows[0].features.view().size(), 0U);
        EXPECT_TRUE(batch.labels.empty());
        EXPECT_EQ(batch.rows[0].original_ids.size(), batch.sampled->nodes[0].ids.size());
        edges += batch.sampled->num_edges();
      }
    }
    EXPECT_GT(edges, 0U);
    TROUPE_ASSIGN_OR_RETURN(const auto rows, session.read_rows(nodes));
    EXPECT_EQ(rows.features.cols(), session.columns());
    EXPECT_EQ(rows.labels.size(), 2U);
    TROUPE_ASSIGN_OR_RETURN(
        const auto around,
        session.sample_neighbors({.nodes = nodes, .fanout = {2}, .with_rows = true}));
    EXPECT_EQ(around->rows[0].features.cols(), session.columns());
    return session.status();
  };
  const auto bare = run(with(ids, {"features.collect=false"}), look);
  const auto full = run(with(two_hosts, {"features.collect=false"}), look);

  ASSERT_OK(whole.status);
  ASSERT_OK(bare.status);
  ASSERT_OK(full.status);
  EXPECT_EQ(bare.batches, whole.batches) << "the same ids";
  EXPECT_NE(full.batches, bare.batches) << "full covers that there are no rows";
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
    EXPECT_EQ(session.columns(), 64U);
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

TEST_F(Sessions, EpochsThatGoBackAreRefused) {
  const Overrides one_rank;  // of several, the first that fails cancels what the others do
  const auto ran = run(one_rank, [](Session& session) -> Status {
    for (const std::uint32_t e : {1U, 1U, 0U}) {
      const bool goes_back = e == 0;
      std::uint64_t turns = 0;
      for (const Batch& batch : session.epoch(e)) {
        static_cast<void>(batch);
        ++turns;
      }
      EXPECT_EQ(turns, goes_back ? 0 : session.steps_per_epoch());
      EXPECT_EQ(session.status().ok(), !goes_back);
    }
    return session.status();
  });

  EXPECT_ERROR(ran.status, Errc::failed_precondition,
               "expected epoch(1) or a later one, got epoch(0)");
  EXPECT_EQ(ran.steps, 10U);
}

TEST_F(Sessions, ATurnOfAnEpochAfterTheNextOneBeganIsAnError) {
  const Overrides one_rank;
  std::uint64_t turns = 0;
  const auto nested = run(one_rank, [&](Session& session) -> Status {
    for (const Batch& outer : session.epoch(0)) {
      static_cast<void>(outer);
      for (const Batch& inner : session.epoch(1)) {
        static_cast<void>(inner);
        ++turns;
      }
    }
    return session.status();
  });
  EXPECT_ERROR(nested.status, Errc::failed_precondition,
               "epoch(0): its turns ended when epoch() was called again");
  EXPECT_EQ(turns, 5U) << "those of the inner loop";

  turns = 0;
  const auto late = run(one_rank, [&](Session& session) -> Status {
    for (const auto& range : {session.epoch(0), session.epoch(1)}) {
      for (const Batch& batch : range) {
        static_cast<void>(batch);
        ++turns;
      }
    }
    return session.status();
  });
  EXPECT_ERROR(late.status, Errc::failed_precondition, "epoch(0): its turns ended");
  EXPECT_EQ(turns, 0U);
}

TEST_F(Sessions, CallsOnAnotherThreadAreErrors) {
  const auto ran = run(two_hosts, [](Session& session) -> Status {
    std::thread([&] {
      EXPECT_ERROR(session.read_rows(std::vector<NodeId>{NodeId{1}}), Errc::failed_precondition,
                   "expected a call on the thread of its rank");
      EXPECT_ERROR(session.barrier(20s), Errc::failed_precondition, "on another thread");
    }).join();
    return Status(ok_status());
  });
  EXPECT_ERROR(ran.status, Errc::failed_precondition, "on another thread");
}

TEST_F(Sessions, LongVectorsOfAnotherLengthFailThemAll) {
  for (const bool mean : {false, true}) {
    std::atomic<int> failed{0};
    const auto ran = run(two_hosts, [&](Session& session) -> Status {
      std::vector<float> values(session.rank() == Rank{0} ? 300000 : session_piece, 1);
      const bool reduced =
          mean ? session.all_reduce_mean(values, 1).ok() : session.all_reduce(values).ok();
      failed += reduced ? 0 : 1;
      return session.all_reduce(std::span(values).first(300000 - session_piece));
    });
    EXPECT_ERROR(ran.status, Errc::invalid_argument,
                 "expected vectors of one length, rank 0 has 300000 numbers, rank 1 has 262144");
    EXPECT_EQ(failed, 2);
  }
}

TEST_F(Sessions, RanksInDifferentEpochsAllFailWithBothNames) {
  std::mutex mutex;
  std::vector<Status> found;
  const auto ran = run(two_hosts, [&](Session& session) -> Status {
    for (const Batch& batch : session.epoch(raw(session.rank()))) {
      static_cast<void>(batch);
    }
    const std::lock_guard guard(mutex);
    found.push_back(session.status());
    return session.status();
  });

  EXPECT_ERROR(ran.status, Errc::invalid_argument, "the same calls in the same order");
  for (const char* name : {"end_step of epoch(0)", "end_step of epoch(1)"}) {
    EXPECT_NE(testing::what_of(ran.status).find(name), std::string::npos) << name;
  }
  ASSERT_EQ(found.size(), 2U);
  EXPECT_FALSE(found[0].ok());
  EXPECT_FALSE(found[1].ok());
}

TEST_F(Sessions, ABatchThatDoesNotComeInTimeEndsTheRunWithTheSettingsName) {
  longest_step_s_ = 0.02;
  const auto ran = run(with(two_hosts, {"cluster.network.latency_us=200000"}), take_all);

  EXPECT_ERROR(ran.status, Errc::deadline_exceeded, "within 20 ms, got none");
  EXPECT_NE(testing::what_of(ran.status).find("cluster.step_deadline"), std::string::npos);
}

/// A ring without features and labels; without seeds also without a split.
Result<std::filesystem::path> write_ring(const std::filesystem::path& folder, std::uint64_t nodes,
                                         const std::vector<std::uint64_t>& seeds) {
  std::vector<std::uint64_t> sources;
  std::vector<std::uint64_t> destinations;
  for (std::uint64_t i = 0; i < nodes; ++i) {
    sources.push_back(i);
    destinations.push_back((i + 1) % nodes);
  }
  testing::GraphContents ring;
  NodeTypeInfo type;
  type.name = "node";
  type.count = nodes;
  ring.info.node_types.push_back(type);
  EdgeTypeInfo edges;
  edges.name = "edge";
  edges.count = nodes;
  ring.info.edge_types.push_back(edges);
  ring.nodes.resize(1);
  ring.in_lists = {testing::build_in_lists({sources, destinations}, nodes, nodes)};
  if (!seeds.empty()) {
    ring.info.splits = {{"public", {{"train", {NodeTypeId{}, seeds.size()}}}}};
    ring.seeds[{"public", "train"}] = seeds;
  }
  TROUPE_RETURN_IF_ERROR(testing::write_graph_store(ring, folder / "ring"));
  return folder / "ring";
}

TEST_F(Sessions, AGraphWithoutFeaturesLabelsAndSplitsWillDo) {
  ASSERT_OK_AND_ASSIGN(const auto ring, write_ring(folder_.path(), 40, {}));
  const auto overrides =
      with(two_hosts, {"dataset.path=" + ring.string(), "partition.method=random"});

  const auto ran = run(overrides, [](Session& session) -> Status {
    EXPECT_EQ(session.columns(), 0U);
    EXPECT_EQ(session.classes(), 0U);
    EXPECT_EQ(session.steps_per_epoch(), 0U);
    for (const Batch& batch : session.epoch(0)) {
      ADD_FAILURE() << "a batch of " << batch.sampled->num_nodes();
    }
    TROUPE_ASSIGN_OR_RETURN(const auto seeds, session.seeds("train"));
    EXPECT_TRUE(seeds.global.empty());
    EXPECT_ERROR(session.seeds("test"), Errc::not_found, "");
    NeighborRequest request{.nodes = {NodeId{3}}, .fanout = {-1}, .with_rows = true};
    TROUPE_ASSIGN_OR_RETURN(const auto batch, session.sample_neighbors(request));
    EXPECT_EQ(batch->sampled->num_edges(), 1U);
    return session.status();
  });

  EXPECT_OK(ran.status);
}

TEST_F(Sessions, BatchesNeedNoFeaturesAndLabels) {
  ASSERT_OK_AND_ASSIGN(const auto ring, write_ring(folder_.path(), 40, {1, 11, 21, 31}));
  const auto overrides = with(two_hosts, {"dataset.path=" + ring.string(), "dataset.split=public",
                                          "partition.method=random"});

  const auto ran = run(overrides, [](Session& session) -> Status {
    for (const Batch& batch : session.epoch(0)) {
      EXPECT_TRUE(batch.labels.empty());
      EXPECT_EQ(batch.rows[0].features.cols(), 0U);
      EXPECT_EQ(batch.sampled->num_edges(), 2 * batch.sampled->seed_index.size());
    }
    return session.status();
  });

  EXPECT_OK(ran.status);
  EXPECT_EQ(ran.steps, 1U);
}

TEST_F(Sessions, DigestOffGivesNone) {
  const auto ran = run(with(two_hosts, {"digest=off"}), take_all);

  EXPECT_OK(ran.status);
  EXPECT_EQ(ran.batches, Digest{});
}

// ---- the graph ----

TEST_F(Sessions, SharesOfTheRanksCoverAllEdgesOnceAndDifferByOne) {
  std::mutex mutex;
  std::map<std::uint64_t, std::uint64_t> shares;  // first, count
  std::uint64_t edges = 0;
  const auto ran = run({"cluster.hosts=3"}, [&](Session& session) -> Status {
    TROUPE_ASSIGN_OR_RETURN(const auto share, session.edges());
    EXPECT_ERROR(session.edges(EdgeTypeId{1}), Errc::invalid_argument, "expected < 1, got 1");
    const std::lock_guard guard(mutex);
    edges = session.graph().edge_types[0].count;
    shares[raw(share.first)] = share.count;
    return ok_status();
  });

  ASSERT_OK(ran.status);
  ASSERT_EQ(shares.size(), 3U);
  std::uint64_t next = 0;
  for (const auto& [first, count] : shares) {
    EXPECT_EQ(first, next);
    EXPECT_LE(count - edges / 3, 1U);
    next += count;
  }
  EXPECT_EQ(next, edges);
}

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
    EXPECT_ERROR(sample({.nodes = {NodeId{0}}, .fanout = {-2}}), Errc::invalid_argument,
                 "expected fanouts from -1 (all neighbors) to 1048576, got -2 for hop 1");
    EXPECT_ERROR(sample({.nodes = {NodeId{0}}, .fanout = {3, (1 << 20) + 1}}),
                 Errc::invalid_argument, "got 1048577 for hop 2");
    EXPECT_ERROR(sample({.nodes = {NodeId{0}}, .fanout = {}}), Errc::invalid_argument, "0 fanouts");
    EXPECT_ERROR(session.read_rows(stranger), Errc::invalid_argument, "got 2708");
    EXPECT_ERROR(session.read_rows(stranger, NodeTypeId{1}), Errc::invalid_argument, "node type");
    return ok_status();
  });

  EXPECT_OK(ran.status) << "such requests do not end a run";
}

// ---- writable tensors ----

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
        const auto host = static_cast<ProcessId>(rank);
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

}  // namespace
}  // namespace troupe
