// The batches of a job are the same however its graph is cut: by every partition method, into 1, 2, 4
// and 7 parts, with one node type and with several.
#include "runtime/graph/npy.hpp"
#include "runtime/partition/assign.hpp"
#include "runtime/partition/methods.hpp"
#include "tests/sim/heterogeneous_support.hpp"
#include "tests/sim/sim_support.hpp"
#include "tests/support/expect.hpp"

#include <fmt/ranges.h>
#include <fstream>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace troupe {
namespace {

using Settings = std::vector<std::string>;

constexpr std::uint64_t papers_of_cora = 2708;
constexpr std::uint32_t part_counts[] = {1, 2, 4, 7};

/// Methods that the program has; without METIS those that it does not need.
std::vector<std::string> built_methods() {
  std::vector<std::string> names;
  for (const auto& method : partition_methods()) {
#ifndef TROUPE_HAVE_METIS
    if (method.metis) {
      continue;
    }
#endif
    names.emplace_back(method.name);
  }
  return names;
}

/// An assignment from elsewhere, for the method `file`: uneven, each part has nodes of every type.
void write_parts(const std::filesystem::path& file, std::uint64_t nodes, std::uint32_t parts) {
  std::vector<std::int64_t> part_of;
  for (std::uint64_t i = 0; i < nodes; ++i) {
    part_of.push_back(static_cast<std::int64_t>(i % 5 == 3 ? 0 : i % parts));
  }
  const std::uint64_t shape[] = {nodes};
  std::ofstream out(file, std::ios::binary);
  out << npy_header({'i', 8}, shape);
  out.write(reinterpret_cast<const char*>(part_of.data()),
            static_cast<std::streamsize>(part_of.size() * sizeof(part_of.front())));
}

class SameBitsOfParts : public ::testing::Test {
 protected:
  using Run = std::function<Result<RunRecord>(const Settings& settings)>;

  /// One epoch on two hosts for every method and number of parts, compared with the first.
  void expect_same(const Run& run) {
    std::optional<RunRecord> first;
    std::set<std::uint64_t> remote;
    for (const auto& method : built_methods()) {
      for (const auto parts : part_counts) {
        const Settings settings = {
            "cluster.hosts=2", "train.epochs=1", "partition.method=" + method,
            fmt::format("partition.parts={}", parts), "partition.file=" + file(parts).string()};
        SCOPED_TRACE(fmt::format("{} into {}", method, parts));

        ASSERT_OK_AND_ASSIGN(const auto record, run(settings));

        ASSERT_TRUE(record.batches);
        first = first ? first : record;
        EXPECT_EQ(to_string(*record.batches), to_string(*first->batches));
        EXPECT_EQ(to_string(record.parameters), to_string(first->parameters));
        EXPECT_EQ(to_string(record.outputs), to_string(first->outputs));
        remote.insert(record.epochs.front().counters.rows_remote);
      }
    }
    EXPECT_GT(remote.size(), built_methods().size()) << "the cuts hardly differ";
  }
  std::filesystem::path file(std::uint32_t parts) const {
    return scratch_.path() / fmt::format("parts-{}.npy", parts);
  }

  testing::ScratchFolder scratch_;
};

TEST_F(SameBitsOfParts, OfAHomogeneousGraph) {
  for (const auto parts : part_counts) {
    write_parts(file(parts), papers_of_cora, parts);
  }

  expect_same([&](const Settings& settings) {
    return testing::run_cora(scratch_.path() / "out", settings);
  });
}

TEST_F(SameBitsOfParts, OfAHeterogeneousGraph) {
  const auto store = scratch_.path() / "graph";
  ASSERT_OK(testing::write_heterogeneous_store(store));
  for (const auto parts : part_counts) {
    const auto name = scratch_.path() / fmt::format("parts-{}", parts);
    write_parts(name.string() + "-author.npy", testing::authors, parts);
    write_parts(name.string() + "-paper.npy", testing::papers, parts);
    write_parts(name.string() + "-venue.npy", testing::venues, parts);
  }

  expect_same([&](const Settings& settings) -> Result<RunRecord> {
    TROUPE_ASSIGN_OR_RETURN(auto job,
                            testing::heterogeneous_job(store, scratch_.path() / "out", settings));
    return testing::run_job(std::move(job));
  });
}

}  // namespace
}  // namespace troupe
