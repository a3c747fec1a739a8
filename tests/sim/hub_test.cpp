// A node with more neighbours than the window of a link holds.
#include "launcher/prepare_store.hpp"
#include "launcher/read_job.hpp"
#include "runtime/base/files.hpp"
#include "runtime/graph/npy.hpp"
#include "runtime/job/job_file.hpp"
#include "tests/sim/sim_support.hpp"
#include "tests/support/expect.hpp"

#include <array>
#include <fmt/format.h>
#include <span>
#include <vector>

namespace troupe {
namespace {

constexpr std::uint64_t hub_degree = 400'000;
constexpr std::int64_t seeds = 8;

Status write_array(const std::filesystem::path& file, NpyType type,
                   const std::vector<std::uint64_t>& shape, std::span<const std::byte> data) {
  const auto header = npy_header(type, shape);
  const std::array<std::span<const std::byte>, 2> pieces = {std::as_bytes(std::span(header)), data};
  return write_new_file(file, pieces);
}

/// Node 0 has in-edges from all others; nodes 1 to 8, the seeds, one from node 0.
Status write_star(const std::filesystem::path& dir) {
  std::filesystem::create_directories(dir);
  std::vector<std::int64_t> edges(2 * (hub_degree + seeds));
  for (std::size_t e = 0; e < hub_degree + seeds; ++e) {
    const auto other = static_cast<std::int64_t>(e < hub_degree ? e + 1 : e - hub_degree + 1);
    edges[e] = e < hub_degree ? other : 0;
    edges[hub_degree + seeds + e] = e < hub_degree ? 0 : other;
  }
  std::vector<float> x(hub_degree + 1);
  std::vector<std::int64_t> y(hub_degree + 1);
  for (std::size_t n = 0; n < x.size(); ++n) {
    x[n] = static_cast<float>(n % 1000);
    y[n] = static_cast<std::int64_t>(n % 2);
  }
  std::vector<std::int64_t> train;
  for (std::int64_t n = 1; n <= seeds; ++n) {
    train.push_back(n);
  }
  TROUPE_RETURN_IF_ERROR(write_array(dir / "edge_index.npy", {'i', 8}, {2, hub_degree + seeds},
                                     std::as_bytes(std::span(edges))));
  TROUPE_RETURN_IF_ERROR(
      write_array(dir / "x.npy", {'f', 4}, {x.size(), 1}, std::as_bytes(std::span(x))));
  TROUPE_RETURN_IF_ERROR(
      write_array(dir / "y.npy", {'i', 8}, {y.size()}, std::as_bytes(std::span(y))));
  return write_array(dir / "train_idx.npy", {'i', 8}, {train.size()},
                     std::as_bytes(std::span(train)));
}

struct Taken {
  RunRecord record;
  Traffic traffic;
};

/// All neighbours over two hops, on two hosts.
Result<Taken> take(const std::filesystem::path& dir, const std::vector<std::string>& settings) {
  const auto text = fmt::format(
      R"({{ "dataset": {{ "path": "star" }}, "cluster": {{ "hosts": 2 }}, "partition": {{ "parts": 2 }},
            "sample": {{ "fanout": [-1, -1], "batch_size": 4 }}, "train": {{ "epochs": 1 }},
            "output": "{}" }})",
      (dir / "out").string());
  TROUPE_ASSIGN_OR_RETURN(auto reading, parse_job(text, dir, settings));
  if (!reading.problems.empty()) {
    return Error(Errc::invalid_argument, to_string(reading.problems));
  }
  TROUPE_ASSIGN_OR_RETURN(const auto store, prepare_store(reading.job, [](const std::string&) {}));
  if (!fit_to_graph_or_print(reading.job, store.info())) {
    return Error(Errc::invalid_argument, "the job does not fit its data");
  }
  ClusterHooks hooks;
  hooks.take_only = true;
  TROUPE_ASSIGN_OR_RETURN(const auto cluster, SimulatedCluster::create(reading.job, store, hooks));
  TROUPE_ASSIGN_OR_RETURN(const auto result, cluster->run());
  return Taken{result.record, cluster->traffic()};
}

TEST(Hub, ItsNeighboursComeInPiecesThroughASmallWindow) {
  const testing::ScratchFolder scratch;
  ASSERT_OK(write_star(scratch.path() / "star"));

  ASSERT_OK_AND_ASSIGN(const auto wide, take(scratch.path(), {}));
  ASSERT_OK_AND_ASSIGN(const auto narrow, take(scratch.path(), {"cluster.window=65536"}));

  EXPECT_EQ(narrow.record.batches, wide.record.batches);
  EXPECT_EQ(narrow.record.epochs.at(0).counters.edges, 2 * hub_degree + seeds);
  const auto pieces = hub_degree / (65536 / 4 / 8);
  EXPECT_GE(narrow.traffic.requests, wide.traffic.requests + pieces);
}

TEST(Hub, ThePiecesMayCarryEdgeIds) {
  const testing::ScratchFolder scratch;
  ASSERT_OK(write_star(scratch.path() / "star"));

  ASSERT_OK_AND_ASSIGN(const auto wide, take(scratch.path(), {R"(sample.edge_data=["ids"])"}));
  ASSERT_OK_AND_ASSIGN(const auto narrow, take(scratch.path(), {R"(sample.edge_data=["ids"])",
                                                                "cluster.window=65536"}));

  EXPECT_EQ(narrow.record.batches, wide.record.batches);
}

}  // namespace
}  // namespace troupe
