// Methods of the caller's, in C++.
#include "runtime/partition/partitioner.hpp"
#include "tests/runtime/partition/partition_fixture.hpp"

namespace troupe {
namespace {

using namespace testing;

/// Node i goes to part i mod parts.
Result<Assignment> by_turns(const GraphStore& graph, std::uint32_t parts, Executor& /*executor*/) {
  Assignment assignment;
  for (const auto& type : graph.info().node_types) {
    auto& of_type = assignment.emplace_back();
    for (std::uint64_t i = 0; i < type.count; ++i) {
      of_type.push_back(static_cast<PartId>(i % parts));
    }
  }
  return assignment;
}

class OwnMethod : public ::testing::Test {
 protected:
  Result<PartitionInfo> partition(const std::string& method, Assigner own) {
    TROUPE_ASSIGN_OR_RETURN(const auto store, GraphStore::open(temp_ / "graph", {}));
    return partition_store(store, {.method = method, .parts = 3, .own = std::move(own)},
                           temp_ / "parts");
  }
  void SetUp() override {
    const auto contents = plain_contents({7, 5}, {{0, 1, {{0, 0}, {1, 2}, {6, 4}}}});
    ASSERT_OK(write_graph_store(contents, temp_ / "graph"));
  }

  const TempDir temp_;
};

TEST_F(OwnMethod, DecidesWhereNodesGo) {
  ASSERT_OK_AND_ASSIGN(const auto info, partition("by_turns", by_turns));
  EXPECT_EQ(info.method, "by_turns");
  EXPECT_EQ(info.ranges.first_node[0], (std::vector<std::uint64_t>{0, 3, 5, 7}));
  EXPECT_EQ(info.cut_edges, 2U);  // of 1 -> 2 and 6 -> 4

  ASSERT_OK_AND_ASSIGN(const auto store, PartitionedStore::open(temp_ / "parts", {}));
  for (std::uint32_t p = 0; p < 3; ++p) {
    ASSERT_OK_AND_ASSIGN(const auto part, store.load_part(static_cast<PartId>(p)));
    for (const auto& nodes : part->nodes) {
      for (const auto original : nodes.original_ids) {
        EXPECT_EQ(original % 3, p);
      }
    }
  }
}

TEST_F(OwnMethod, WhatItGivesIsChecked) {
  const auto fails = [&](auto change, const char* text) {
    const auto done =
        partition("mine",
                  [&](const GraphStore& graph, std::uint32_t parts,
                      Executor& executor) -> Result<Assignment> {
                    TROUPE_ASSIGN_OR_RETURN(auto assignment, by_turns(graph, parts, executor));
                    change(assignment);
                    return assignment;
                  });
    EXPECT_ERROR(done, Errc::invalid_argument, text);
    EXPECT_FALSE(std::filesystem::exists(temp_ / "parts"));
  };
  fails([](Assignment& all) { all.pop_back(); },
        "\"mine\": expected parts of 2 node types, found 1");
  fails([](Assignment& all) { all[1].pop_back(); }, "expected parts of 5 nodes of type");
  fails([](Assignment& all) { all[0][3] = PartId{3}; }, "expected parts below 3");
  EXPECT_ERROR(partition("mine",
                         [](const GraphStore&, std::uint32_t, Executor&) -> Result<Assignment> {
                           return Error(Errc::not_found, "no table");
                         }),
               Errc::not_found, "no table");
}

TEST_F(OwnMethod, HasANameOfItsOwn) {
  for (const char* name : {"fennel", "", "a/b"}) {
    EXPECT_ERROR(partition(name, by_turns), Errc::invalid_argument,
                 "expected a name for the method other than");
  }
  EXPECT_ERROR(partition("by_turns", nullptr), Errc::invalid_argument, "expected a method of");
}

}  // namespace
}  // namespace troupe
