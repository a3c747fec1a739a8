// Whole runs and sessions whose batches have named columns: the same bits whatever the layout.
#include "tests/sim/heterogeneous_run.hpp"
#include "tests/sim/session_support.hpp"
#include "tests/support/npy_reader.hpp"

#include <filesystem>
#include <fmt/format.h>
#include <mutex>
#include <optional>

namespace troupe {
namespace {

using testing::Settings;

constexpr const char* all_columns =
    R"(features.columns=["nodes-author/age", "nodes-author/at", "edges-writes/kind"])";

class ColumnRun : public testing::HeterogeneousRun {
 protected:
  Result<RunRecord> with_columns(const Settings& settings) const {
    Settings all = {"train.epochs=2", all_columns};
    all.insert(all.end(), settings.begin(), settings.end());
    return run(all);
  }
};

TEST_F(ColumnRun, LayoutsChangeNeitherBatchesNorParameters) {
  for (const Settings& way : std::vector<Settings>{
           {}, {"sample.edge_dir=out", "sample.replace=true"}, {"sample.frontier=all"}}) {
    ASSERT_OK_AND_ASSIGN(plain_, with_columns(way));
    for (const Settings& layout :
         std::vector<Settings>{{"partition.parts=1"},
                               {"partition.parts=7", "cluster.samplers_per_trainer=2"},
                               {"partition.halo=2", "partition.halo_features=true"},
                               {"partition.topology=replicated"},
                               {"cluster.window=65536", "cluster.placement=server_client"},
                               {"partition.order=hotness", "features.cache.policy=hotness",
                                "features.cache.budget=20KB"}}) {
      auto both = way;
      both.insert(both.end(), layout.begin(), layout.end());
      ASSERT_OK_AND_ASSIGN(const auto record, with_columns(both));
      expect_same_bits(record, layout.front());
    }
  }
}

TEST_F(ColumnRun, ColumnsChangeTheDigestAndNothingThatIsLearned) {
  ASSERT_OK_AND_ASSIGN(const auto record, with_columns({"train.epochs=6"}));
  EXPECT_NE(record.batches, plain_.batches);
  EXPECT_EQ(record.parameters, plain_.parameters);
  EXPECT_ERROR(with_columns({"sample.cache.budget=1MB"}), Errc::invalid_argument,
               "/sample/cache/budget");
  EXPECT_ERROR(run({R"(features.columns=["nodes-author/agee"])"}), Errc::invalid_argument,
               "does not fit its data");
}

class ColumnSession : public testing::SessionTest {
 protected:
  void SetUp() override { ASSERT_OK(testing::write_heterogeneous_store(folder_.path() / "graph")); }
  testing::Overrides job(const testing::Overrides& more = {}) const {
    return testing::with({"dataset.path=" + (folder_.path() / "graph").string(), "train.epochs=1",
                          R"(sample.edge_data=["ids"])", all_columns},
                         more);
  }
};

void expect_author_rows(const BatchColumn& age, const BatchColumn& at,
                        const PooledVector<OriginalId>& ids) {
  ASSERT_EQ(age.rows, ids.size());
  const auto ages = age.as<std::int64_t>();
  const auto places = at.as<double>();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    EXPECT_EQ(ages[i], 1000 - static_cast<std::int64_t>(raw(ids[i])));
    EXPECT_EQ(places[2 * i], static_cast<double>(raw(ids[i])) / 7);
    EXPECT_EQ(places[2 * i + 1], static_cast<double>(raw(ids[i])) * 3);
  }
}

Status take_columns(Session& session, std::mutex& mutex, std::uint64_t& rows) {
  for (const Batch& batch : session.epoch(0)) {
    const std::lock_guard guard(mutex);
    const auto* age = find_column(batch, NodeTypeId{0}, "age");
    const auto* at = find_column(batch, NodeTypeId{0}, "at");
    const auto* kind = find_column(batch, EdgeTypeId{0}, "kind");
    EXPECT_TRUE(age != nullptr && at != nullptr && kind != nullptr);
    if (kind == nullptr) {
      return session.status();
    }
    expect_author_rows(*age, *at, batch.rows[0].original_ids);
    const auto& ids = batch.sampled->edges[0].edge_ids;
    const auto kinds = kind->as<std::uint8_t>();
    EXPECT_EQ(kinds.size(), 3 * ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
      EXPECT_EQ(kinds[3 * i] + 256U * kinds[3 * i + 1], raw(ids[i]));
    }
    rows += ids.size();
  }
  const std::vector<NodeId> nodes = {NodeId{7}, NodeId{200}, NodeId{7}};
  TROUPE_ASSIGN_OR_RETURN(const auto found, session.read_rows(nodes));
  EXPECT_EQ(found.columns.size(), 2U);
  expect_author_rows(found.columns[0], found.columns[1], found.original_ids);
  TROUPE_ASSIGN_OR_RETURN(const auto ages, session.read_column("age", nodes));
  EXPECT_EQ(ages.rows, 3U);
  EXPECT_EQ(ages.as<std::int64_t>()[1], found.columns[0].as<std::int64_t>()[1]);
  EXPECT_ERROR(session.read_column("agee", nodes), Errc::not_found, "\"agee\" of node type author");
  return session.status();
}

/// Columns of edges are tensors that are read by original edge id, wherever the edges lie.
Status read_edges_by_id(Session& session) {
  TROUPE_ASSIGN_OR_RETURN(auto kind, session.column("kind", EdgeTypeId{0}));
  const auto count = session.graph().edge_types[0].count;
  EXPECT_EQ(kind.rows(), count);
  EXPECT_TRUE(kind.read_only());
  EXPECT_EQ(kind.row_bytes(), 3U);
  std::vector<std::uint64_t> ids;
  for (std::uint64_t i = 0; i < 2 * count; ++i) {
    ids.push_back(i * 131 % count);  // all of them, in another order, each twice or more
  }
  TROUPE_ASSIGN_OR_RETURN(const auto rows, kind.read(ids));
  EXPECT_EQ(rows.rows, ids.size());
  const auto bytes = rows.as<std::uint8_t>();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    EXPECT_EQ(bytes[3 * i] + 256U * bytes[3 * i + 1], ids[i]);
    EXPECT_EQ(bytes[3 * i + 2], 7);
  }
  TROUPE_ASSIGN_OR_RETURN(const auto some, kind.read_range(5, 3));
  EXPECT_EQ(some.as<std::uint8_t>()[0], 5);
  TROUPE_ASSIGN_OR_RETURN(const auto none, kind.read(std::span<const std::uint64_t>()));
  EXPECT_EQ(none.rows, 0U);
  EXPECT_ERROR(kind.read(std::vector<std::uint64_t>{count}), Errc::invalid_argument,
               "expected rows below");
  EXPECT_ERROR(kind.put(std::vector<std::uint64_t>{0}, DType::u8, {}, false),
               Errc::failed_precondition, "read only");
  EXPECT_ERROR(session.column("kinds", EdgeTypeId{0}), Errc::not_found,
               "\"kinds\" of edge type writes");
  EXPECT_ERROR(session.column("kind", EdgeTypeId{99}), Errc::invalid_argument,
               "expected an edge type");
  return ok_status();
}

TEST_F(ColumnSession, ColumnsOfEdgesAreReadByEdgeId) {
  for (const testing::Overrides& layout :
       std::vector<testing::Overrides>{{"cluster.trainers_per_host=2", "partition.parts=1"},
                                       {"cluster.hosts=2", "partition.parts=3"},
                                       {"cluster.hosts=2", "cluster.replicas=2"},
                                       {"cluster.hosts=2", "sample.edge_dir=out"},
                                       {"cluster.hosts=2", "cluster.placement=server_client"}}) {
    SCOPED_TRACE(layout.back());
    const auto ran = run(job(layout), [&](Session& session) -> Status {
      TROUPE_RETURN_IF_ERROR(read_edges_by_id(session));
      const auto file = folder_.path() / fmt::format("kind-{}.npy", raw(session.rank()));
      std::filesystem::remove(file);
      TROUPE_ASSIGN_OR_RETURN(const auto kind, session.column("kind", EdgeTypeId{0}));
      TROUPE_RETURN_IF_ERROR(kind.export_npy(file));
      const auto written = testing::read_npy(file);
      const auto bytes = written.as<std::uint8_t>();
      EXPECT_EQ(bytes.size(), 3 * kind.rows());
      EXPECT_EQ(bytes[3 * 300] + 256U * bytes[3 * 300 + 1], 300U);
      return ok_status();
    });
    ASSERT_OK(ran.status);
  }
}

TEST_F(ColumnSession, BatchesAndRowsHaveThem) {
  std::optional<Digest> digest;
  for (const testing::Overrides& layout :
       std::vector<testing::Overrides>{{"cluster.trainers_per_host=2"},
                                       {"cluster.hosts=2", "partition.parts=3"},
                                       {"cluster.hosts=2", "cluster.placement=server_client"}}) {
    SCOPED_TRACE(layout.back());
    std::mutex mutex;
    std::uint64_t rows = 0;
    const auto ran =
        run(job(layout), [&](Session& session) { return take_columns(session, mutex, rows); });
    ASSERT_OK(ran.status);
    EXPECT_GT(rows, 100U);
    digest = digest.value_or(ran.batches);
    EXPECT_EQ(to_string(ran.batches), to_string(*digest));
  }
}

}  // namespace
}  // namespace troupe
