// Whole runs whose seeds are links, taken by a program of a user's: the same bits whatever the layout.
#include "runtime/base/files.hpp"
#include "runtime/graph/npy.hpp"
#include "tests/sim/session_support.hpp"
#include "tests/support/folded_cora.hpp"
#include "tests/support/npy_reader.hpp"

#include <array>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace troupe {
namespace {

using testing::Overrides;
using testing::with;

/// Cora with every seventh edge as a link to train on, every 97th to test.
class LinkSessions : public testing::SessionTest {
 protected:
  void SetUp() override {
    data_ = folder_.path() / "cora";
    std::filesystem::copy(testing::folded_cora(), data_);
    const auto ends = testing::read_npy(data_ / "edge_index.npy").as<std::int64_t>();
    const auto edges = ends.size() / 2;
    std::vector<std::int64_t> train;
    std::vector<std::int64_t> test;
    for (std::size_t e = 0; e < edges; ++e) {
      for (auto* list : {e % 7 == 0 ? &train : nullptr, e % 97 == 0 ? &test : nullptr}) {
        if (list != nullptr) {
          list->push_back(ends[e]);
          list->push_back(ends[edges + e]);
        }
      }
    }
    write_links("train_links.npy", train);
    write_links("test_links.npy", test);
    trained_ = train.size() / 2;
  }

  void write_links(const char* name, const std::vector<std::int64_t>& ends) const {
    const std::array<std::uint64_t, 2> shape{ends.size() / 2, 2};
    const auto header = npy_header({'i', 8}, shape);
    const std::array pieces{std::as_bytes(std::span(header)), std::as_bytes(std::span(ends))};
    ASSERT_OK(write_new_file(data_ / name, pieces));
  }

  Overrides job(const Overrides& more = {}) const {
    return with({"dataset.path=" + data_.string(), "task.kind=link", "train.epochs=2",
                 "sample.batch_size=128", "task.negatives.kind=binary",
                 "task.negatives.per_positive=2", "task.negatives.strict=true"},
                more);
  }

  std::filesystem::path data_;
  std::uint64_t trained_ = 0;
};

Status take_links(Session& session) {
  for (auto e = session.first_epoch(); e < session.epochs(); ++e) {
    for (const Batch& batch : session.epoch(e)) {
      EXPECT_TRUE(batch.sampled->links);
      EXPECT_TRUE(batch.labels.empty());
    }
  }
  return session.status();
}

TEST_F(LinkSessions, LayoutsDoNotChangeTheBatches) {
  const auto layouts = testing::session_layouts();
  for (const Overrides& way :
       std::vector<Overrides>{{},
                              {"sample.replace=true", "sample.frontier=all"},
                              {"sample.edge_dir=out", "sample.disjoint=true"},
                              {"task.exclude=none"}}) {
    const auto expected = run(job(way), take_links);
    ASSERT_OK(expected.status);
    for (const auto& layout : layouts) {
      SCOPED_TRACE(layout.back());
      const auto spread = run(job(with(way, layout)), take_links);
      EXPECT_OK(spread.status);
      EXPECT_EQ(to_string(spread.batches), to_string(expected.batches));
    }
  }
}

TEST_F(LinkSessions, EveryLinkIsTrainedOnOnceAnEpochAndNeverSampled) {
  std::mutex mutex;
  std::multiset<std::pair<std::uint64_t, std::uint64_t>> trained;
  std::uint64_t negatives = 0;
  const auto ran = run(job({"cluster.hosts=2", "partition.parts=3", "train.epochs=1"}),
                       [&](Session& session) -> Status {
                         for (const Batch& batch : session.epoch(0)) {
                           const auto& sampled = *batch.sampled;
                           const auto& links = *sampled.links;
                           const auto& ids = batch.rows[0].original_ids;
                           std::set<std::pair<OriginalId, OriginalId>> positives;
                           const std::lock_guard guard(mutex);
                           for (std::size_t i = 0; i < links.sources.size(); ++i) {
                             const auto source = ids[links.sources[i]];
                             const auto destination = ids[links.destinations[i]];
                             trained.emplace(raw(source), raw(destination));
                             positives.emplace(source, destination);
                             positives.emplace(destination, source);
                           }
                           negatives += links.negative_sources.size();
                           const auto& edges = sampled.edges[0];
                           for (std::uint32_t row = 0; row + 1 < edges.offsets.size(); ++row) {
                             for (auto at = edges.offsets[row]; at < edges.offsets[row + 1]; ++at) {
                               EXPECT_FALSE(positives.contains({ids[edges.sources[at]], ids[row]}));
                             }
                           }
                         }
                         return session.status();
                       });

  ASSERT_OK(ran.status);
  EXPECT_EQ(trained.size(), trained_);
  EXPECT_EQ(negatives, 2 * trained_);
}

TEST_F(LinkSessions, LinksOfTheRanksCoverEachRoleOnce) {
  std::mutex mutex;
  std::map<std::string, std::uint64_t> found;
  const auto ran = run(job({"cluster.hosts=3"}), [&](Session& session) -> Status {
    EXPECT_EQ(session.columns(), 64U);
    EXPECT_ERROR(session.seeds("train"), Errc::failed_precondition, "one of links");
    EXPECT_ERROR(session.links("val"), Errc::not_found, "\"test\", \"train\"");
    for (const std::string role : {"train", "test"}) {
      TROUPE_ASSIGN_OR_RETURN(const auto links, session.links(role));
      const std::lock_guard guard(mutex);
      found[role] += links.size();
    }
    return ok_status();
  });

  EXPECT_OK(ran.status);
  EXPECT_EQ(found["train"], trained_);
  EXPECT_GT(found["test"], 0U);
}

TEST_F(LinkSessions, AJobOfNodesHasNoLinks) {
  const auto ran = run({"cluster.hosts=2"}, [](Session& session) -> Status {
    EXPECT_ERROR(session.links("train"), Errc::failed_precondition, "task.kind \"link\"");
    return ok_status();
  });
  EXPECT_OK(ran.status);
}

TEST_F(LinkSessions, JobsThatTheDataDoesNotFitAreRefused) {
  for (const Overrides& wrong : std::vector<Overrides>{
           {"dataset.split=nosuch"}, {"task.reverse=nosuch"}, {"sample.time.of=split"}}) {
    EXPECT_ERROR(create(job(wrong)), Errc::invalid_argument, "does not fit its data");
  }
  EXPECT_ERROR(create({"task.kind=link"}), Errc::invalid_argument, "does not fit its data");
}

}  // namespace
}  // namespace troupe
