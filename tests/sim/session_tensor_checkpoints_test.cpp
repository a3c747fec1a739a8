// Tensors by name in checkpoints: kept part by part, and put back into any number of parts.
#include "tests/sim/session_support.hpp"

#include <atomic>
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <thread>

namespace troupe {
namespace {

using namespace std::chrono_literals;
using testing::KeptCheckpoints;
using testing::one_host;
using testing::Overrides;
using testing::RankFunction;
using testing::two_hosts;
using testing::values_of;
using testing::with;

using Ids = std::vector<std::uint64_t>;

class SessionTensorCheckpoints : public testing::SessionTest {
 protected:
  SessionOutcome keep(const Overrides& overrides, const RankFunction& fn) {
    SessionSetup setup;
    kept_.keep_by(setup);
    return run(with(overrides, {"checkpoint.every.steps=2"}), fn, std::move(setup));
  }
  SessionOutcome resume(const Overrides& overrides, const RankFunction& fn) {
    SessionSetup setup;
    setup.resume = kept_.latest();
    return run(overrides, fn, std::move(setup));
  }
  KeptCheckpoints kept_{folder_.path() / "checkpoints"};
};

/// All kept_layouts that a checkpoint may come from or go to.
const std::vector<Overrides> kept_layouts = {
    two_hosts,
    one_host,
    {"cluster.hosts=2", "partition.parts=5"},
    {"cluster.hosts=2", "partition.parts=2", "cluster.replicas=2"},
    {"cluster.hosts=2", "partition.parts=3", "cluster.placement=server_client"}};

constexpr std::uint64_t many_rows = (std::uint64_t{5} << 32) + 11;
constexpr std::uint64_t high_row = (std::uint64_t{1} << 32) + 7;
constexpr std::uint64_t higher_row = std::uint64_t{5} << 32;

/// Global ids of nodes, which depend on the parts.
Result<std::vector<NodeId>> nodes_of(Session& session, const std::vector<std::uint64_t>& original) {
  std::vector<OriginalId> ids;
  for (const auto id : original) {
    ids.push_back(static_cast<OriginalId>(id));
  }
  return session.find_nodes(ids);
}

/// Makes one of every kind of tensor; writes before the end of each step, if `writes`, and after the last checkpoint.
Status one_of_each(Session& session, bool writes) {
  TROUPE_ASSIGN_OR_RETURN(auto nodes, session.make_tensor("n", {.dtype = DType::i32}));
  TROUPE_ASSIGN_OR_RETURN(auto edges,
                          session.make_tensor("e", {.of = TensorOf::edges, .dtype = DType::u8}));
  TROUPE_ASSIGN_OR_RETURN(auto gone, session.make_tensor("gone"));
  TROUPE_RETURN_IF_ERROR(session.delete_tensor("gone"));
  TROUPE_ASSIGN_OR_RETURN(
      auto rows,
      session.make_tensor(
          "r", {.of = TensorOf::rows, .rows = 3, .init = {.kind = "uniform", .scale = 2}}));
  TROUPE_ASSIGN_OR_RETURN(auto many, session.make_tensor("many", {.of = TensorOf::rows,
                                                                  .rows = many_rows,
                                                                  .shape = {2},
                                                                  .init = {.kind = "normal"}}));
  TROUPE_ASSIGN_OR_RETURN(const auto node, nodes_of(session, {7, 8, 2000}));
  const auto before = values_of<float>(many.read(Ids{high_row + 1, higher_row + 1}));
  const auto start = values_of<float>(rows.read(Ids{0}));
  for (const Batch& batch : session.epoch(session.first_epoch())) {
    static_cast<void>(batch);
    if (writes && session.rank() == Rank{0}) {
      TROUPE_RETURN_IF_ERROR(
          nodes.write<std::int32_t>(std::vector{node[0], node[2]}, std::vector{-7, 2000}));
      TROUPE_RETURN_IF_ERROR(edges.write<std::uint8_t>(Ids{10000}, std::vector<std::uint8_t>{9}));
      TROUPE_RETURN_IF_ERROR(rows.write<float>(Ids{1}, std::vector<float>{0.25F}));
      TROUPE_RETURN_IF_ERROR(many.write<float>(Ids{high_row}, std::vector<float>{1, 2}));
    }
    if (writes && session.rank() == Rank{1} && session.global_step() == 0) {
      TROUPE_RETURN_IF_ERROR(many.write<float>(Ids{higher_row, 0}, std::vector<float>{3, 4, 5, 6}));
      TROUPE_RETURN_IF_ERROR(
          many.add<float>(Ids{higher_row, higher_row}, std::vector<float>{1, 0, 0, 1}));
    }
    TROUPE_RETURN_IF_ERROR(session.end_step());
  }
  TROUPE_RETURN_IF_ERROR(session.status());
  TROUPE_RETURN_IF_ERROR(session.barrier(20s));
  EXPECT_EQ(values_of<std::int32_t>(nodes.read(node)), (std::vector<std::int32_t>{-7, 0, 2000}));
  EXPECT_EQ(values_of<std::uint8_t>(edges.read(Ids{10000})), std::vector<std::uint8_t>{9});
  EXPECT_EQ(values_of<float>(rows.read(Ids{1})), std::vector<float>{0.25F});
  EXPECT_EQ(values_of<float>(rows.read(Ids{0})), start);
  EXPECT_NE(start, std::vector<float>{0});
  EXPECT_EQ(values_of<float>(many.read(Ids{higher_row, high_row, 0})),
            (std::vector<float>{4, 5, 1, 2, 5, 6}));
  EXPECT_EQ(values_of<float>(many.read_range(high_row, 1)), (std::vector<float>{1, 2}));
  EXPECT_EQ(values_of<float>(many.read(Ids{high_row + 1, higher_row + 1})), before)
      << "as they start";
  TROUPE_RETURN_IF_ERROR(session.barrier(20s));
  if (writes && session.rank() == Rank{0}) {  // the checkpoint does not have this
    TROUPE_RETURN_IF_ERROR(nodes.write<std::int32_t>(std::vector{node[1]}, std::vector{1}));
    TROUPE_RETURN_IF_ERROR(many.write<float>(Ids{high_row + 1}, std::vector<float>{1, 2}));
  }
  return session.barrier(20s);
}

TEST_F(SessionTensorCheckpoints, AreOfOneStepAndGoIntoAnyNumberOfParts) {
  for (std::size_t i = 0; i < kept_layouts.size(); ++i) {
    SCOPED_TRACE(i);
    std::filesystem::remove_all(kept_.folder(2));
    ASSERT_OK(keep(kept_layouts[i], [](Session& s) { return one_of_each(s, true); }).status);
    const auto kept = kept_.latest();
    ASSERT_NE(kept, nullptr);
    EXPECT_EQ(kept->training.global_step, 2U);
    ASSERT_NE(kept->tensors, nullptr);
    EXPECT_EQ(kept->training.blobs.size(), 4U);
    for (const auto& [name, bytes] : kept->training.blobs) {
      EXPECT_TRUE(bytes.empty()) << name;
    }
    std::uint64_t bytes = 0;
    for (std::uint32_t part = 0; part < kept->tensors->parts(); ++part) {
      bytes += std::filesystem::file_size(kept_.folder(2) / fmt::format("tensors-{}.bin", part));
    }
    EXPECT_LT(bytes, 400'000U) << "blocks that were written, of rows of more than 160 GB";

    const auto resumed = resume(kept_layouts[(i + 1) % kept_layouts.size()],
                                [](Session& s) { return one_of_each(s, false); });

    EXPECT_OK(resumed.status);
  }
}

/// What ranks write to tensors while a checkpoint is written is not in the checkpoint.
TEST_F(SessionTensorCheckpoints, AreOfTheirStepHoweverLateTheyAreRead) {
  std::mutex mutex;
  std::condition_variable changed;
  bool over = false;
  SessionSetup setup;
  setup.write_checkpoint = [&](const Checkpoint& checkpoint) {
    std::unique_lock lock(mutex);
    EXPECT_TRUE(changed.wait_for(lock, 20s, [&] { return over; }));
    SessionSetup writer;
    kept_.keep_by(writer);
    return writer.write_checkpoint(checkpoint);
  };
  const auto count = [](Session& session, auto after) -> Status {
    TROUPE_ASSIGN_OR_RETURN(auto steps, session.make_tensor("steps", {.dtype = DType::i64}));
    const std::vector<std::int64_t> one{1};
    TROUPE_ASSIGN_OR_RETURN(const auto node, nodes_of(session, {0, 1, 2, 1000, 1001}));
    const std::vector mine{node[raw(session.rank())], node[3 + raw(session.rank())]};
    for (const Batch& batch : session.epoch(session.first_epoch())) {
      static_cast<void>(batch);
      TROUPE_RETURN_IF_ERROR(steps.add<std::int64_t>(mine, std::vector<std::int64_t>{1, 1}));
      TROUPE_RETURN_IF_ERROR(session.end_step());
    }
    TROUPE_RETURN_IF_ERROR(session.barrier(20s));
    EXPECT_EQ(values_of<std::int64_t>(steps.read(node)),
              (std::vector<std::int64_t>{3, 3, 0, 3, 3}));
    after();
    return session.barrier(20s);
  };
  const auto ran = run(
      with(two_hosts, {"checkpoint.every.steps=2"}),
      [&](Session& session) {
        return count(session, [&] {
          const std::lock_guard guard(mutex);
          over = true;
          changed.notify_all();
        });
      },
      std::move(setup));
  ASSERT_OK(ran.status);

  EXPECT_OK(resume({"cluster.hosts=2", "partition.parts=3"}, [&](Session& session) {
              return count(session, [] {});  // two steps from the checkpoint, one more
            }).status);
}

TEST_F(SessionTensorCheckpoints, OfReplicasAreReadFromTheOneThatLives) {
  SessionSetup setup;
  SessionCluster* cluster = nullptr;
  setup.write_checkpoint = [&](const Checkpoint& checkpoint) {
    EXPECT_TRUE(cluster->cluster().kill(ProcessId{0}, "holder of part 1"));
    SessionSetup writer;
    kept_.keep_by(writer);
    return writer.write_checkpoint(checkpoint);
  };
  ASSERT_OK_AND_ASSIGN(const auto created,
                       create({"cluster.hosts=2", "partition.parts=2", "cluster.replicas=2",
                               "checkpoint.every.steps=3"},
                              std::move(setup)));
  cluster = created.get();
  const auto work = [](Session& session) -> Status {
    TROUPE_ASSIGN_OR_RETURN(auto tensor, session.make_tensor("t"));
    const std::vector<float> values{1, 2, 3};
    if (session.first_epoch() == 0 && session.global_step() == 0 && session.rank() == Rank{0}) {
      TROUPE_RETURN_IF_ERROR(tensor.write<float>(Ids{0, 1500, 2707}, values));
    }
    for (const Batch& batch : session.epoch(0)) {
      static_cast<void>(batch);
      TROUPE_RETURN_IF_ERROR(session.end_step());
    }
    TROUPE_RETURN_IF_ERROR(session.status());
    return ok_status();
  };
  created->start(work);
  static_cast<void>(created->wait());

  const auto kept = kept_.latest();
  ASSERT_NE(kept, nullptr);
  EXPECT_EQ(kept->training.global_step, 3U);
  EXPECT_OK(resume(one_host, [](Session& session) -> Status {
              TROUPE_ASSIGN_OR_RETURN(auto tensor, session.make_tensor("t"));
              for (const Batch& batch : session.epoch(0)) {
                static_cast<void>(batch);
              }
              EXPECT_EQ(values_of<float>(tensor.read(Ids{0, 1500, 2707, 1})),
                        (std::vector<float>{1, 2, 3, 0}));
              return session.barrier(20s);
            }).status);
}

TEST_F(SessionTensorCheckpoints, WithoutAReplicaALostHolderEndsTheRunAndKeepsTheOneBefore) {
  SessionSetup setup;
  kept_.keep_by(setup);
  ASSERT_OK_AND_ASSIGN(const auto cluster,
                       create(with(one_host, {"checkpoint.every.steps=1"}), std::move(setup)));
  cluster->start([&](Session& session) -> Status {
    TROUPE_ASSIGN_OR_RETURN(auto tensor, session.make_tensor("t"));
    for (const Batch& batch : session.epoch(0)) {
      static_cast<void>(batch);
      if (session.global_step() == 2 && session.rank() == Rank{0}) {
        const auto give_up = std::chrono::steady_clock::now() + 20s;
        while (!std::filesystem::exists(kept_.folder(2) / "manifest.json") &&
               std::chrono::steady_clock::now() < give_up) {
          std::this_thread::sleep_for(5ms);
        }
        EXPECT_TRUE(cluster->cluster().kill(ProcessId{0}, "holder of part 1"));
      }
      TROUPE_RETURN_IF_ERROR(session.end_step());
    }
    return session.status();
  });

  EXPECT_ERROR(cluster->wait().status, Errc::peer_lost, "keeping tensors");
  const auto kept = kept_.latest();
  ASSERT_NE(kept, nullptr);
  EXPECT_EQ(kept->training.global_step, 2U);
}

TEST_F(SessionTensorCheckpoints, OfAnotherProgramOrDamagedAsTheyAreLoadedAreRefused) {
  const auto make = [](const TensorOptions& options) {
    return [options](Session& session) -> Status {
      TROUPE_ASSIGN_OR_RETURN(auto tensor, session.make_tensor("t", options));
      if (session.global_step() == 0 && session.rank() == Rank{0}) {
        TROUPE_RETURN_IF_ERROR(tensor.write<float>(Ids{2707}, std::vector<float>{2}));
      }
      for (const Batch& batch : session.epoch(session.first_epoch())) {
        static_cast<void>(batch);
      }
      return session.status();
    };
  };
  const TensorOptions noise{.init = {.kind = "normal", .std = 0.5}};
  ASSERT_OK(keep(two_hosts, make(noise)).status);

  EXPECT_ERROR(resume(two_hosts, make({})).status, Errc::failed_precondition,
               "expected a start of normal of 0.5 from seed 1, as in the checkpoint, found zeros");
  EXPECT_ERROR(resume(two_hosts, make({.init = {.kind = "normal", .std = 2}})).status,
               Errc::failed_precondition, "found normal of 2 from seed 1");
  SessionSetup setup;
  setup.resume = kept_.latest();
  const auto file = kept_.folder(2) / "tensors-1.bin";
  std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
  bytes.seekp(-3, std::ios::end);
  bytes.put('x');
  bytes.close();
  EXPECT_ERROR(run(one_host, make(noise), std::move(setup)).status, Errc::data_corruption,
               "tensors-1.bin");
}

}  // namespace
}  // namespace troupe
