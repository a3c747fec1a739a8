// Runs with seeds from files of the job: the bits of runs over data that were imported with them.
#include "runtime/base/files.hpp"
#include "runtime/graph/npy.hpp"
#include "tests/sim/session_support.hpp"
#include "tests/support/folded_cora.hpp"

#include <array>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace troupe {
namespace {

using testing::Overrides;
using testing::with;

class OwnSeedSessions : public testing::SessionTest {
 protected:
  /// A copy of Cora.
  std::filesystem::path copy(const std::string& name) const {
    const auto to = folder_.path() / name;
    std::filesystem::copy(testing::folded_cora(), to);
    return to;
  }
  static void write(const std::filesystem::path& file, const std::vector<std::uint64_t>& shape,
                    const std::vector<std::int64_t>& values) {
    const auto header = npy_header({'i', 8}, shape);
    const std::array pieces{std::as_bytes(std::span(header)), std::as_bytes(std::span(values))};
    std::filesystem::remove(file);
    ASSERT_OK(write_new_file(file, pieces));
  }
  static std::string key(const char* name, const std::filesystem::path& file) {
    return fmt::format("{}={}", name, file.string());
  }
};

Status take_own_seeds(Session& session) {
  for (auto e = session.first_epoch(); e < session.epochs(); ++e) {
    for (const Batch& batch : session.epoch(e)) {
      EXPECT_GE(batch.sampled->num_seeds(), 0U);
    }
  }
  return session.status();
}

const std::vector<Overrides> own_seed_layouts{
    {"cluster.hosts=2"},
    {"cluster.hosts=2", "partition.parts=5"},
    {"cluster.trainers_per_host=2", "partition.parts=3"},
    {"cluster.hosts=2", "cluster.placement=server_client"}};

TEST_F(OwnSeedSessions, NodesGiveTheBatchesOfDataImportedWithThem) {
  std::vector<std::int64_t> ids;
  for (std::int64_t i = 0; i < 300; ++i) {
    ids.push_back(i * 97 % 2000);  // not in order, and some of the 2,000 twice
    ids.push_back(i % 7);
  }
  const auto imported = copy("imported");
  write(imported / "train_idx.npy", {ids.size()}, ids);
  const auto plain = copy("plain");
  write(folder_.path() / "mine.npy", {ids.size()}, ids);
  const Overrides job{"train.epochs=2", "sample.batch_size=64"};
  const auto own = with(
      job, {key("dataset.path", plain), key("dataset.seeds.train", folder_.path() / "mine.npy")});

  const auto expected = run(with(job, {key("dataset.path", imported)}), take_own_seeds);
  ASSERT_OK(expected.status);
  const auto others = run(with(job, {key("dataset.path", plain)}), take_own_seeds);
  ASSERT_OK(others.status);
  EXPECT_NE(to_string(others.batches), to_string(expected.batches));
  const auto found = run(own, take_own_seeds);
  ASSERT_OK(found.status);
  EXPECT_EQ(to_string(found.batches), to_string(expected.batches));
  for (const auto& layout : own_seed_layouts) {
    SCOPED_TRACE(layout.back());
    const auto spread = run(with(own, layout), take_own_seeds);
    EXPECT_OK(spread.status);
    EXPECT_EQ(to_string(spread.batches), to_string(expected.batches));
  }
}

TEST_F(OwnSeedSessions, LinksGiveTheBatchesOfDataImportedWithThem) {
  std::vector<std::int64_t> ends;
  for (std::int64_t i = 0; i < 400; ++i) {
    ends.push_back(i * 97 % 2000);
    ends.push_back(i * 31 % 500);
  }
  const auto imported = copy("imported");
  write(imported / "train_links.npy", {ends.size() / 2, 2}, ends);
  const auto plain = copy("plain");
  write(folder_.path() / "mine.npy", {ends.size() / 2, 2}, ends);
  const Overrides job{"train.epochs=1", "sample.batch_size=64", "task.kind=link",
                      "task.negatives.kind=binary"};
  const auto own = with(
      job, {key("dataset.path", plain), key("dataset.seeds.train", folder_.path() / "mine.npy")});

  const auto expected = run(with(job, {key("dataset.path", imported)}), take_own_seeds);
  ASSERT_OK(expected.status);
  const auto alone = run(own, take_own_seeds);
  EXPECT_OK(alone.status);
  EXPECT_EQ(to_string(alone.batches), to_string(expected.batches));
  for (const auto& layout : own_seed_layouts) {
    SCOPED_TRACE(layout.back());
    const auto found = run(with(own, layout), take_own_seeds);
    EXPECT_OK(found.status);
    EXPECT_EQ(to_string(found.batches), to_string(expected.batches));
  }
}

TEST_F(OwnSeedSessions, AnotherFileIsOtherData) {
  const auto plain = copy("plain");
  const auto file = folder_.path() / "mine.npy";
  const auto digest = [&](const Overrides& more) {
    auto job = testing::cora_job(folder_.path(), with({key("dataset.path", plain)}, more));
    EXPECT_OK(job);
    auto found = dataset_digest(*job);
    EXPECT_OK(found);
    return *found;
  };
  const Overrides own{key("dataset.seeds.train", file)};
  write(file, {2}, {1, 2});
  const auto first = digest(own);
  EXPECT_EQ(digest(own), first);
  EXPECT_NE(digest({}), first);
  write(file, {2}, {1, 3});
  EXPECT_NE(digest(own), first);
}

}  // namespace
}  // namespace troupe
