// Degrees and ends of edges that sessions ask for: those of the store's lists, whatever the layout.
#include "runtime/graph/store.hpp"
#include "runtime/partition/partitioner.hpp"
#include "tests/sim/heterogeneous_support.hpp"
#include "tests/sim/session_support.hpp"

#include <atomic>
#include <map>
#include <set>

namespace troupe {
namespace {

using testing::Overrides;
using testing::with;
using Degrees = std::vector<std::uint64_t>;

/// Edges of a type by their original ids, between original ids.
using PlainEdges = std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>>;

class EdgeSessions : public testing::SessionTest {
 protected:
  void SetUp() override {
    ASSERT_OK(testing::write_heterogeneous_store(graph_));
    ASSERT_OK_AND_ASSIGN(edges_, edges_of(graph_));
  }
  static Result<std::vector<PlainEdges>> edges_of(const std::filesystem::path& path) {
    TROUPE_ASSIGN_OR_RETURN(const auto store, GraphStore::open(path, {}));
    std::vector<PlainEdges> all;
    for (const auto& type : store.graph()->edges) {
      auto& edges = all.emplace_back();
      for (std::uint64_t node = 0; node + 1 < type.in.offsets.size(); ++node) {
        for (auto i = type.in.offsets[node]; i < type.in.offsets[node + 1]; ++i) {
          edges[type.in.edge_ids[i]] = {raw(type.in.neighbours[i]), node};
        }
      }
    }
    return all;
  }
  Overrides job(const Overrides& more = {}) const {
    return with({"dataset.path=" + graph_.string(), "train.epochs=1"}, more);
  }
  /// Original ids of all nodes of a type by global id.
  static Result<std::vector<std::uint64_t>> originals(Session& session, NodeTypeId type) {
    std::vector<NodeId> nodes;
    for (std::uint64_t i = 0; i < session.graph().node_types[raw(type)].count; ++i) {
      nodes.push_back(NodeId{i});
    }
    TROUPE_ASSIGN_OR_RETURN(const auto rows, session.read_rows(nodes, type));
    std::vector<std::uint64_t> ids;
    for (const auto id : rows.original_ids) {
      ids.push_back(raw(id));
    }
    return ids;
  }
  Status expect_ends(Session& session, std::uint16_t type) const {
    const auto& info = session.graph().edge_types[type];
    TROUPE_ASSIGN_OR_RETURN(const auto sources, originals(session, info.source));
    TROUPE_ASSIGN_OR_RETURN(const auto destinations, originals(session, info.destination));
    std::vector<EdgeId> ids;
    for (const auto& [id, edge] : edges_[type]) {
      ids.push_back(EdgeId{id});
    }
    std::ranges::reverse(ids);
    ids.push_back(ids.front());
    TROUPE_ASSIGN_OR_RETURN(const auto ends,
                            session.find_edges(ids, static_cast<EdgeTypeId>(type)));
    EXPECT_EQ(ends.sources.size(), ids.size());
    EXPECT_EQ(ends.destinations.size(), ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const std::pair found{sources[raw(ends.sources[i])], destinations[raw(ends.destinations[i])]};
      EXPECT_EQ(found, edges_[type].at(raw(ids[i]))) << info.name << ", edge " << raw(ids[i]);
    }
    return ok_status();
  }
  Status expect_degrees(Session& session, std::uint16_t type, EdgeDir dir) const {
    const auto& info = session.graph().edge_types[type];
    TROUPE_ASSIGN_OR_RETURN(const auto ids, originals(session, info.list_type(dir)));
    std::vector<NodeId> nodes;
    Degrees expected;
    for (std::uint64_t i = 0; i < 2 * ids.size(); ++i) {
      const auto node = i * 7 % ids.size();
      nodes.push_back(NodeId{node});
      expected.push_back(
          static_cast<std::uint64_t>(std::ranges::count_if(edges_[type], [&](const auto& edge) {
            return (dir == EdgeDir::in ? edge.second.second : edge.second.first) == ids[node];
          })));
    }
    TROUPE_ASSIGN_OR_RETURN(const auto degrees,
                            session.degrees(nodes, static_cast<EdgeTypeId>(type), dir));
    EXPECT_EQ(degrees, expected) << info.name;
    return ok_status();
  }

  std::filesystem::path graph_ = folder_.path() / "graph";
  std::vector<PlainEdges> edges_;
};

TEST_F(EdgeSessions, EveryLayoutGivesTheDegreesAndEndsOfTheStore) {
  for (const auto& layout : testing::session_layouts()) {
    SCOPED_TRACE(layout.back());
    std::atomic<std::uint64_t> types{0};
    const auto ran = run(job(layout), [&](Session& session) -> Status {
      for (std::uint16_t type = 0; type < session.graph().edge_types.size(); ++type) {
        TROUPE_RETURN_IF_ERROR(expect_ends(session, type));
        TROUPE_RETURN_IF_ERROR(expect_degrees(session, type, EdgeDir::in));
        ++types;
      }
      return ok_status();
    });
    EXPECT_OK(ran.status);
    EXPECT_GE(types, 4U);
  }
}

TEST_F(EdgeSessions, DirectionsThatThePartsHaveAreAnswered) {
  const auto parts = folder_.path() / "both";
  PartitionOptions options;
  options.parts = 3;
  options.complete_for = CompleteFor::both;
  ASSERT_OK_AND_ASSIGN(const auto store, GraphStore::open(graph_, {}));
  ASSERT_OK(partition_store(store, options, parts));
  const auto both = with(job(), {"dataset.path=" + parts.string(), "cluster.hosts=2"});
  EXPECT_OK(run(both, [&](Session& session) -> Status {
              for (std::uint16_t type = 0; type < 4; ++type) {
                TROUPE_RETURN_IF_ERROR(expect_degrees(session, type, EdgeDir::in));
                TROUPE_RETURN_IF_ERROR(expect_degrees(session, type, EdgeDir::out));
                TROUPE_RETURN_IF_ERROR(expect_ends(session, type));
              }
              return ok_status();
            }).status);
  for (const auto dir : {EdgeDir::in, EdgeDir::out}) {
    const auto layout = job({"cluster.hosts=2", fmt::format("sample.edge_dir={}", to_string(dir))});
    const auto ran = run(layout, [&](Session& session) -> Status {
      TROUPE_RETURN_IF_ERROR(expect_degrees(session, 0, dir));
      TROUPE_RETURN_IF_ERROR(expect_ends(session, 0));
      const auto other = dir == EdgeDir::in ? EdgeDir::out : EdgeDir::in;
      const std::vector<NodeId> nodes{NodeId{1}, NodeId{100}};
      EXPECT_ERROR(session.degrees(nodes, EdgeTypeId{0}, other), Errc::failed_precondition,
                   fmt::format("no whole lists for direction {}\ntry: partition the graph with "
                               "--complete-for both",
                               to_string(other)));
      return session.status();
    });
    EXPECT_OK(ran.status);
  }
}

TEST_F(EdgeSessions, QuestionsAboutWhatIsNotThereAreRefused) {
  const auto ran = run(job({"cluster.hosts=2"}), [&](Session& session) -> Status {
    const auto invalid = Errc::invalid_argument;
    const auto types = session.graph().edge_types.size();
    const auto strange_type = static_cast<EdgeTypeId>(types);
    EXPECT_ERROR(session.degrees({}, strange_type), invalid,
                 fmt::format("edge type: expected < {0}, got {0}", types));
    EXPECT_ERROR(session.find_edges({}, strange_type), invalid, "edge type: expected <");
    const auto& type = session.graph().edge_types[0];
    const auto count = session.graph().node_types[raw(type.destination)].count;
    EXPECT_ERROR(session.degrees(std::vector{NodeId{0}, NodeId{count}}), invalid,
                 fmt::format("nodes: expected global ids below {0}, got {0}", count));
    const auto end = type.end_of_edge_ids();
    EXPECT_ERROR(
        session.find_edges(std::vector{EdgeId{0}, EdgeId{end}}), invalid,
        fmt::format("edges: expected original ids of type {0} below {1}, got {1}", type.name, end));
    EXPECT_ERROR(session.find_edges(std::vector{EdgeId{~std::uint64_t{0}}}), invalid,
                 "got 18446744073709551615");
    TROUPE_ASSIGN_OR_RETURN(const auto degrees, session.degrees({}));
    EXPECT_TRUE(degrees.empty());
    TROUPE_ASSIGN_OR_RETURN(const auto ends, session.find_edges({}));
    EXPECT_TRUE(ends.sources.empty() && ends.destinations.empty());
    return session.status();
  });
  EXPECT_OK(ran.status) << "such questions do not end a run";
}

TEST_F(EdgeSessions, EdgesThatTheImportLeftOutAreNamed) {
  const auto path = folder_.path() / "loops";
  InlineExecutor executor;
  ASSERT_OK_AND_ASSIGN(auto writer, StoreWriter::create(path, {}, executor));
  ASSERT_OK_AND_ASSIGN(const auto node, writer.add_node_type({"node", 40, {}, {}}));
  ASSERT_OK_AND_ASSIGN(
      const auto edge,
      writer.add_edge_type({"edge", node, node, {.symmetrize = true, .drop_self_loops = true}}));
  std::vector<std::uint64_t> from;
  std::vector<std::uint64_t> to;
  for (std::uint64_t i = 0; i < 40; ++i) {  // edge 5 is a loop
    from.push_back(i);
    to.push_back(i == 5 ? i : (i + 1) % 40);
  }
  ASSERT_OK(writer.add_edges(edge, from, to));
  ASSERT_OK(writer.set_seeds("", "train", node, {0, 1, 2, 3}));
  ASSERT_OK(writer.finish());
  const Overrides overrides{"dataset.path=" + path.string(), "cluster.hosts=2",
                            "partition.method=random", "train.epochs=1"};
  const auto ran = run(overrides, [&](Session& session) -> Status {
    TROUPE_ASSIGN_OR_RETURN(const auto ids, originals(session, NodeTypeId{0}));
    TROUPE_ASSIGN_OR_RETURN(const auto ends,
                            session.find_edges(std::vector{EdgeId{79}, EdgeId{4}, EdgeId{44}}));
    const auto original = [&](NodeId id) { return ids[raw(id)]; };
    EXPECT_EQ(original(ends.sources[0]), 0U) << "the reverse of edge 39";
    EXPECT_EQ(original(ends.destinations[0]), 39U);
    EXPECT_EQ(original(ends.sources[1]), 4U);
    EXPECT_EQ(original(ends.sources[2]), 5U);
    EXPECT_ERROR(session.find_edges(std::vector{EdgeId{6}, EdgeId{5}}), Errc::not_found,
                 "edge 5 of type edge is not in the graph");
    EXPECT_ERROR(session.find_edges(std::vector{EdgeId{45}}), Errc::not_found, "edge 45");
    EXPECT_ERROR(session.find_edges(std::vector{EdgeId{80}}), Errc::invalid_argument, "got 80");
    return session.status();
  });
  EXPECT_OK(ran.status);
}

TEST_F(EdgeSessions, LostHoldersAnswerWhenTheyAreBack) {
  ASSERT_OK_AND_ASSIGN(const auto cluster, create(job({"cluster.hosts=2", "partition.parts=2"})));
  cluster->start([&](Session& session) -> Status {
    const auto rank = raw(session.rank());
    EXPECT_TRUE(cluster->cluster().kill(static_cast<ProcessId>(rank),
                                        "holder of part " + std::to_string(rank)));
    TROUPE_RETURN_IF_ERROR(expect_ends(session, 0));
    return expect_degrees(session, 0, EdgeDir::in);
  });
  EXPECT_OK(cluster->wait().status);
}

}  // namespace
}  // namespace troupe
