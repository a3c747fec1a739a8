// Shares of nodes and edges that programs name, and look-up of original ids, on sessions of any layout.
#include "tests/sim/heterogeneous_support.hpp"
#include "tests/sim/session_support.hpp"

#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace troupe {
namespace {

using testing::Overrides;
using testing::with;

class SessionSplits : public testing::SessionTest {
 protected:
  /// The ids that each rank has, by rank.
  using Shares = std::map<std::uint32_t, std::vector<std::uint64_t>>;
  Shares shares(const Overrides& overrides,
                const std::function<Result<std::vector<std::uint64_t>>(Session&)>& of_rank) {
    std::mutex mutex;
    Shares found;
    const auto ran = run(overrides, [&](Session& session) -> Status {
      TROUPE_ASSIGN_OR_RETURN(auto ids, of_rank(session));
      const std::lock_guard guard(mutex);
      found[raw(session.rank())] = std::move(ids);
      return ok_status();
    });
    EXPECT_OK(ran.status);
    return found;
  }
  /// Every id is in one share; sizes differ by one.
  static void expect_shares(const Shares& shares, std::multiset<std::uint64_t> ids) {
    const auto fewest = ids.size() / shares.size();
    for (const auto& [rank, share] : shares) {
      EXPECT_LE(share.size() - fewest, 1U) << "rank " << rank;
      for (const auto id : share) {
        const auto found = ids.find(id);
        ASSERT_NE(found, ids.end()) << id;
        ids.erase(found);
      }
    }
    EXPECT_TRUE(ids.empty());
  }
};

std::vector<std::uint64_t> raw_originals(const SeedList& list) {
  std::vector<std::uint64_t> ids;
  for (const auto id : list.original) {
    ids.push_back(raw(id));
  }
  return ids;
}

TEST_F(SessionSplits, GlobalIdsAreThoseOfTheRowsWithTheSameOriginalIds) {
  for (const Overrides& layout :
       std::vector<Overrides>{{"cluster.hosts=2", "partition.parts=5"},
                              {"cluster.hosts=2", "cluster.replicas=2"},
                              {"cluster.hosts=2", "cluster.placement=server_client"}}) {
    const auto ran = run(layout, [&](Session& session) -> Status {
      std::vector<OriginalId> ids;
      for (std::uint64_t i = 0; i < 300; ++i) {
        ids.push_back(OriginalId{(i * 911) % 2708});
      }
      ids.push_back(ids.front());
      TROUPE_ASSIGN_OR_RETURN(const auto nodes, session.find_nodes(ids));
      TROUPE_ASSIGN_OR_RETURN(const auto rows, session.read_rows(nodes));
      EXPECT_EQ(rows.original_ids, ids);
      TROUPE_ASSIGN_OR_RETURN(const auto none, session.find_nodes({}));
      EXPECT_TRUE(none.empty());
      EXPECT_ERROR(session.find_nodes(std::vector{OriginalId{2708}}), Errc::invalid_argument,
                   "nodes: expected original ids of node below 2708, got 2708");
      EXPECT_ERROR(session.find_nodes({}, NodeTypeId{1}), Errc::invalid_argument,
                   "node type: expected < 1, got 1");
      return ok_status();
    });
    EXPECT_OK(ran.status);
  }
}

TEST_F(SessionSplits, OfIdsMasksAndRolesCoverAllOnce) {
  std::vector<OriginalId> ids;
  std::vector<std::uint8_t> mask(2708);
  std::multiset<std::uint64_t> all;
  for (std::uint64_t i = 0; i < 500; ++i) {
    const std::uint64_t id = (i * 37) % 2708;
    ids.push_back(OriginalId{id});
    mask[id] = 1;
    all.insert(id);
  }
  const Overrides three{"cluster.hosts=3", "partition.parts=3"};
  for (const auto way : {SplitWay::even, SplitWay::local}) {
    const auto of_list = shares(three, [&](Session& s) -> Result<std::vector<std::uint64_t>> {
      TROUPE_ASSIGN_OR_RETURN(const auto share, s.split_nodes(ids, way));
      TROUPE_ASSIGN_OR_RETURN(const auto global, s.find_nodes(share.original));
      EXPECT_TRUE(std::ranges::equal(share.global, global));
      return raw_originals(share);
    });
    expect_shares(of_list, all);
    const auto of_mask = shares(three, [&](Session& s) -> Result<std::vector<std::uint64_t>> {
      TROUPE_ASSIGN_OR_RETURN(const auto share, s.split_nodes(mask, way));
      return raw_originals(share);
    });
    expect_shares(of_mask, all);
    for (const std::string role : {"train", "val", "test"}) {
      std::multiset<std::uint64_t> seeds;
      const auto even = shares(three, [&](Session& s) -> Result<std::vector<std::uint64_t>> {
        TROUPE_ASSIGN_OR_RETURN(const auto share, s.seeds(role));
        return raw_originals(share);
      });
      for (const auto& [rank, share] : even) {
        seeds.insert(share.begin(), share.end());
      }
      expect_shares(shares(three,
                           [&](Session& s) -> Result<std::vector<std::uint64_t>> {
                             TROUPE_ASSIGN_OR_RETURN(const auto share, s.split_seeds(role, way));
                             return raw_originals(share);
                           }),
                    seeds);
    }
  }
}

TEST_F(SessionSplits, LocalSharesLieInTheRanksParts) {
  const Overrides two{"cluster.hosts=2", "partition.parts=2"};
  std::vector<OriginalId> ids;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    ids.push_back(OriginalId{i});
  }
  std::mutex mutex;
  std::map<std::uint32_t, double> near;
  const auto ran = run(two, [&](Session& session) -> Status {
    TROUPE_ASSIGN_OR_RETURN(const auto share, session.split_nodes(ids, SplitWay::local));
    const auto half = session.graph().node_types[0].count / 2;  // parts are halves, within one node
    double own = 0;
    for (const auto node : share.global) {
      own += (raw(node) < half) == (raw(session.rank()) == 0) ? 1 : 0;
    }
    const std::lock_guard guard(mutex);
    near[raw(session.rank())] = own / static_cast<double>(share.global.size());
    return ok_status();
  });
  ASSERT_OK(ran.status);
  EXPECT_GT(near.at(0), 0.9);
  EXPECT_GT(near.at(1), 0.9);
}

TEST_F(SessionSplits, OfDerivedEdgesAreIdsThatCanBeFound) {
  const auto graph = folder_.path() / "graph";
  ASSERT_OK(testing::write_heterogeneous_store(graph));
  const Overrides job{"dataset.path=" + graph.string(), "cluster.hosts=2", "partition.parts=2"};
  std::mutex mutex;
  std::map<std::uint16_t, std::set<std::uint64_t>> covered;
  std::map<std::uint16_t, std::uint64_t> counts;
  const auto ran = run(job, [&](Session& session) -> Status {
    for (std::uint16_t t = 0; t < session.graph().edge_types.size(); ++t) {
      const auto type = static_cast<EdgeTypeId>(t);
      TROUPE_ASSIGN_OR_RETURN(const auto share, session.edges(type));
      std::vector<EdgeId> ids;
      for (std::uint64_t i = 0; i < share.count; ++i) {
        ids.push_back(EdgeId{raw(share.first) + i});
      }
      if (session.graph().edge_types[t].name == "rev_writes") {  // all of them are there
        TROUPE_ASSIGN_OR_RETURN(const auto ends, session.find_edges(ids, type));
        EXPECT_EQ(ends.sources.size(), ids.size());
        TROUPE_ASSIGN_OR_RETURN(const auto near, session.split_edges(ids, SplitWay::local, type));
        EXPECT_EQ(near.size(), (ids.size() + 1 - raw(session.rank())) / 2);
        const std::vector<std::uint8_t> every(session.graph().edge_types[t].count, 1);
        TROUPE_ASSIGN_OR_RETURN(const auto half, session.split_edges(every, SplitWay::even, type));
        EXPECT_EQ(half, ids);
        EXPECT_ERROR(session.split_edges(std::vector<std::uint8_t>(3), SplitWay::even, type),
                     Errc::invalid_argument, "mask of rev_writes: expected");
      }
      const std::lock_guard guard(mutex);
      counts[t] = session.graph().edge_types[t].count;
      for (const auto id : ids) {
        EXPECT_TRUE(covered[t].insert(raw(id)).second);
      }
    }
    return ok_status();
  });
  ASSERT_OK(ran.status);
  for (const auto& [type, count] : counts) {
    EXPECT_GE(covered[type].size(), count) << type;
  }
}

/// A link of a share: its edge type and its original ends.
using OwnLink = std::tuple<std::uint16_t, std::uint64_t, std::uint64_t>;

std::vector<OwnLink> own_links(const LinkList& links) {
  std::vector<OwnLink> found;
  std::uint64_t next = 0;
  for (const auto& group : links.groups()) {
    EXPECT_EQ(group.first, next) << "groups follow each other";
    next += group.count;
    for (auto i = group.first; i < next; ++i) {
      const auto link = links.at(i);
      found.emplace_back(raw(group.edge_type), raw(link.original_source),
                         raw(link.original_destination));
    }
  }
  EXPECT_EQ(next, links.size());
  return found;
}

/// How many links lie in the parts of a rank, which are halves of each node type, within one node.
std::uint64_t links_near(const LinkList& links, const GraphInfo& graph, Rank rank, EdgeDir dir) {
  std::uint64_t near = 0;
  for (const auto& group : links.groups()) {
    const auto& type = graph.edge_types[raw(group.edge_type)];
    for (auto i = group.first; i < group.first + group.count; ++i) {
      const auto link = links.at(i);
      const bool in = dir == EdgeDir::in;
      const auto half = graph.node_types[raw(in ? type.destination : type.source)].count / 2;
      near += (raw(in ? link.destination : link.source) < half) == (raw(rank) == 0) ? 1U : 0U;
    }
  }
  return near;
}

TEST_F(SessionSplits, OfLinksOfSeveralTypesCoverAllOnceNearTheirLists) {
  const auto graph = folder_.path() / "graph";
  ASSERT_OK(testing::write_heterogeneous_store(graph));
  for (const auto dir : {EdgeDir::in, EdgeDir::out}) {
    const Overrides job{"dataset.path=" + graph.string(),
                        "cluster.hosts=2",
                        "partition.parts=2",
                        "task.kind=link",
                        "dataset.split=both",
                        "task.negatives.kind=binary",
                        R"(task.reverse=["rev_writes","rev_appears"])",
                        std::string("sample.edge_dir=") + (dir == EdgeDir::in ? "in" : "out")};
    std::mutex mutex;
    std::map<SplitWay, std::vector<OwnLink>> covered;
    std::map<SplitWay, std::uint64_t> near;
    const auto ran = run(job, [&](Session& session) -> Status {
      for (const auto way : {SplitWay::even, SplitWay::local}) {
        TROUPE_ASSIGN_OR_RETURN(const auto share, session.split_links("train", way));
        EXPECT_EQ(share.size(), 120U);
        EXPECT_EQ(share.groups().size(), 2U);
        const auto found = own_links(share);
        const std::lock_guard guard(mutex);
        covered[way].insert(covered[way].end(), found.begin(), found.end());
        near[way] += links_near(share, session.graph(), session.rank(), dir);
      }
      return ok_status();
    });
    ASSERT_OK(ran.status);
    for (auto& [way, links] : covered) {
      std::ranges::sort(links);
    }
    EXPECT_EQ(covered[SplitWay::even].size(), 240U);
    EXPECT_EQ(covered[SplitWay::local], covered[SplitWay::even]);
    EXPECT_GT(near[SplitWay::local], 210U);
    EXPECT_LT(near[SplitWay::even], 180U);
  }
}

}  // namespace
}  // namespace troupe
