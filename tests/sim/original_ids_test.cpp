// Original ids of a batch's nodes travel only in jobs in which something reads them.
#include "actors/local_messages.hpp"
#include "actors/message.hpp"
#include "launcher/batch_files.hpp"
#include "launcher/batch_source.hpp"
#include "runtime/base/executor.hpp"
#include "runtime/feature/tensor_rows.hpp"
#include "tests/sim/heterogeneous_support.hpp"
#include "tests/sim/session_support.hpp"

#include <caf/all.hpp>

#include <atomic>

namespace troupe {
namespace {

/// Row requests that holders got from other hosts.
struct RowRequestsSeen {
  std::atomic<std::uint64_t> all{0};
  std::atomic<std::uint64_t> with_original_ids{0};
};

caf::behavior counting_holder(caf::event_based_actor* self, const caf::actor& holder,
                              RowRequestsSeen* seen) {
  return {
      [=](const Ref<HopRequest>& request) { return self->delegate(holder, request); },
      [=](const Ref<StoreTensor>& request) { return self->delegate(holder, request); },
      [=](const Ref<RowRequest>& request) {
        ++seen->all;
        seen->with_original_ids += request->with_original_ids ? 1U : 0U;
        return self->delegate(holder, request);
      },
  };
}

class OriginalIdsRun : public testing::SessionTest {
 protected:
  struct Ran {
    RunRecord record;
    std::uint64_t requests = 0;
    std::uint64_t with_original_ids = 0;
  };
  Result<Ran> train(Job job) {
    RowRequestsSeen seen;
    ClusterHooks hooks;
    hooks.wrap_holder = [&seen](caf::actor_system& system, PartId, caf::actor holder) {
      return system.spawn(counting_holder, holder, &seen);
    };
    Ran ran;
    TROUPE_ASSIGN_OR_RETURN(ran.record, testing::run_job(std::move(job), std::move(hooks)));
    ran.requests = seen.all;
    ran.with_original_ids = seen.with_original_ids;
    return ran;
  }
  Result<Job> cora(const std::string& digest, const std::string& dropout) {
    return testing::cora_job(
        folder_.path(),
        testing::with(testing::two_hosts, {"digest=" + digest, "model.dropout=" + dropout,
                                           "model.input_dropout=" + dropout}));
  }
  Result<Job> heterogeneous(const std::string& digest, const std::string& dropout) {
    return testing::heterogeneous_job(
        folder_.path() / "graph", folder_.path() / "out",
        testing::with(testing::two_hosts, {"digest=" + digest, "model.dropout=" + dropout,
                                           "model.input_dropout=" + dropout}));
  }
  /// A job whose batches nothing reads ids of learns the same without them.
  template <class MakeJob>
  void expect_ids_where_read(MakeJob make) {
    ASSERT_OK_AND_ASSIGN(auto job, make("off", "0"));
    ASSERT_OK_AND_ASSIGN(const auto none, train(job));
    EXPECT_GT(none.requests, 0U);
    EXPECT_EQ(none.with_original_ids, 0U);

    ASSERT_OK_AND_ASSIGN(job, make("full", "0"));
    ASSERT_OK_AND_ASSIGN(const auto digested, train(job));
    EXPECT_GT(digested.with_original_ids, 0U);
    EXPECT_EQ(digested.record.parameters, none.record.parameters);
    EXPECT_EQ(digested.record.outputs, none.record.outputs);

    ASSERT_OK_AND_ASSIGN(job, make("off", "0.3"));
    ASSERT_OK_AND_ASSIGN(const auto dropping, train(job));
    EXPECT_GT(dropping.with_original_ids, 0U);
    EXPECT_NE(dropping.record.parameters, none.record.parameters);

    ASSERT_OK_AND_ASSIGN(job, make("ids", "0.3"));
    ASSERT_OK_AND_ASSIGN(const auto both, train(job));
    EXPECT_EQ(both.record.parameters, dropping.record.parameters);
  }
};

TEST_F(OriginalIdsRun, AreRequestedOnlyForDropoutAndDigests) {
  expect_ids_where_read([&](auto... settings) { return cora(settings...); });
}

TEST_F(OriginalIdsRun, AreRequestedOnlyForDropoutAndDigestsOfHeterogeneousGraphsToo) {
  ASSERT_OK(testing::write_heterogeneous_store(folder_.path() / "graph"));
  expect_ids_where_read([&](auto... settings) { return heterogeneous(settings...); });
}

TEST_F(OriginalIdsRun, ASessionAlwaysHasThem) {
  const auto all_there = [](const Batch& batch) {
    return batch.rows[0].original_ids.size() == batch.sampled->nodes[0].ids.size();
  };
  const auto ran = run(
      testing::with(testing::two_hosts, {"digest=off", "model.dropout=0", "model.input_dropout=0"}),
      [&](Session& session) -> Status {
        for (const Batch& batch : session.epoch(0)) {
          EXPECT_TRUE(all_there(batch));
        }
        const std::vector<NodeId> nodes{NodeId{3}, NodeId{1}};
        TROUPE_ASSIGN_OR_RETURN(const auto rows, session.read_rows(nodes, NodeTypeId{0}));
        EXPECT_EQ(rows.original_ids.size(), 2U);
        NeighborRequest request{.nodes = nodes, .fanout = {2}, .with_rows = true};
        TROUPE_ASSIGN_OR_RETURN(const auto batch, session.sample_neighbors(request));
        EXPECT_TRUE(all_there(*batch));
        return ok_status();
      });
  EXPECT_OK(ran.status);
}

TEST_F(OriginalIdsRun, BatchesForFilesAlwaysHaveThem) {
  ASSERT_OK_AND_ASSIGN(auto job, cora("off", "0"));
  ASSERT_OK_AND_ASSIGN(const auto store, prepare_store(job, [](const std::string&) {}));
  ASSERT_TRUE(fit_to_graph_or_print(job, store.info()));
  ASSERT_OK_AND_ASSIGN(const auto source, BatchSource::open(job, store));
  ASSERT_OK_AND_ASSIGN(const auto batch, source.batch(0, 1));
  EXPECT_EQ(batch.rows[0].original_ids.size(), batch.sampled->nodes[0].ids.size());
}

TEST_F(OriginalIdsRun, BatchesForFilesMayBeIdsAlone) {
  ASSERT_OK_AND_ASSIGN(auto job, cora("full", "0"));
  job.features.collect = false;
  ASSERT_OK_AND_ASSIGN(const auto store, prepare_store(job, [](const std::string&) {}));
  ASSERT_TRUE(fit_to_graph_or_print(job, store.info(), JobTrainer::own));
  ASSERT_OK_AND_ASSIGN(const auto source, BatchSource::open(job, store));
  const auto folder = folder_.path() / "batches";
  std::filesystem::create_directory(folder);
  const BatchesRequest request{.epoch = 0, .count = 1, .digest = job.digest};
  InlineExecutor executor;

  ASSERT_OK_AND_ASSIGN(const auto written, write_batches(folder, source, request, executor));

  const auto exists = [&](const char* name) {
    return std::filesystem::exists(folder / "batch-0" / name);
  };
  EXPECT_TRUE(exists("seeds.npy"));
  EXPECT_TRUE(exists("nodes-node/ids.npy"));
  EXPECT_FALSE(exists("nodes-node/features.npy"));
  EXPECT_FALSE(exists("labels.npy"));
  EXPECT_NE(batches_json(job, source, request, written).find("\"features\": 0"), std::string::npos);
}

}  // namespace
}  // namespace troupe
